"""The application: one ASGI app that answers everything a Chatto server answers."""

from collections import Counter
from dataclasses import dataclass, field
from email.utils import formatdate

from starlette.applications import Starlette
from starlette.routing import Mount, WebSocketRoute
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .clock import NANOSECONDS, Clock
from .connect import PREFIX, ConnectApp
from .faults import Faults, NoFaults
from .realtime import Realtime, Timing
from .routes import Routes
from .services import services_of
from .world import World


@dataclass(frozen=True, slots=True)
class Application:
    """A server without a socket."""

    world: World
    faults: Faults = field(default_factory=NoFaults)
    timing: Timing = field(default_factory=Timing)
    calls: Counter[str] = field(default_factory=Counter)
    """How often each method was called, by `Service/Method`; refused calls count, too."""


class Dated:
    """Gives every answer the server's time, as Go's HTTP server does."""

    def __init__(self, app: ASGIApp, clock: Clock) -> None:
        """Stand around an app."""
        self._app = app
        self._clock = clock

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""

        async def send_dated(message: Message) -> None:
            if message["type"] == "http.response.start":
                date = formatdate(self._clock.now_ns() // NANOSECONDS, usegmt=True)
                headers = [*message.get("headers", ()), (b"date", date.encode())]
                message = {**message, "headers": headers}
            await send(message)

        await self._app(scope, receive, send_dated)


def build(application: Application) -> tuple[ASGIApp, Realtime]:
    """Build the ASGI app and what ends its streams."""
    world = application.world
    realtime = Realtime(world, application.faults, application.timing)
    connect = ConnectApp(
        services_of(world), world.credentials, application.faults, application.calls
    )
    routes = [
        *Routes(world).all(),
        WebSocketRoute("/api/realtime", realtime.serve),
        Mount(PREFIX, app=connect),
    ]
    return Dated(Starlette(routes=routes), world.clock), realtime
