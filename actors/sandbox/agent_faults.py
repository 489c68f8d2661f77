"""What goes wrong between the embedded server and the agent's account, as a scenario plans it."""

from collections.abc import Awaitable, Callable

import anyio

from .server.faults import Call, Delivery, NoFaults
from .server.pb import Proto
from .server.refusals import Code, RefusedError

__all__ = ["AgentFaults"]

POST = "MessageService/CreateMessage"


class AgentFaults(NoFaults):
    """Stands between the server and the agent's account; disturbs nothing until told to."""

    def __init__(self) -> None:
        """Disturb nothing yet."""
        self.before: list[Code | None] = []
        """Refusals of posts without anything being posted, once each, in order; None: none."""
        self.after: list[Code] = []
        """Refusals of posts although the message was posted, once each, in order."""
        self.delays: dict[str, float] = {}
        """Seconds that a call takes, by `Service/Method`."""
        self.slow_answers: dict[str, float] = {}
        """Seconds between what a call does and its answer, by `Service/Method`."""
        self.refused: dict[str, Code] = {}
        """Calls that are refused every time, by `Service/Method`."""
        self.says = "planned"
        """What the refusals say."""
        self.repeated: set[str] = set()
        """Kinds of frames that are sent twice."""
        self.withheld: set[str] = set()
        """Kinds of frames that are not sent."""
        self.agent_id = ""

    async def applying(self, call: Call, apply: Callable[[], Awaitable[Proto]]) -> Proto:
        """Wait, refuse before or refuse after, as planned."""
        if call.user_id != self.agent_id:
            return await apply()
        await anyio.sleep(self.delays.get(call.name, 0))
        if call.name in self.refused:
            raise RefusedError(self.refused[call.name], self.says)
        is_post = call.name == POST
        if is_post and self.before and (code := self.before.pop(0)):
            raise RefusedError(code, self.says)
        answer = await apply()
        await anyio.sleep(self.slow_answers.get(call.name, 0))
        if is_post and self.after:
            raise RefusedError(self.after.pop(0), self.says)
        return answer

    async def delivering(
        self, delivery: Delivery, send: Callable[[bytes], Awaitable[None]]
    ) -> None:
        """Send a frame as often as planned."""
        is_ours = delivery.user_id == self.agent_id
        if is_ours and delivery.kind in self.withheld:
            return
        await send(delivery.encoded)
        if is_ours and delivery.kind in self.repeated:
            await send(delivery.encoded)
