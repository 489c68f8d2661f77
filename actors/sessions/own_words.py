"""The plugin answers its own commands, from within the mailbox of a lane."""

from .answering import Answering
from .mail import Answer
from .own_commands import OWN_COMMANDS, OwnCommands
from .ports import Outgoing
from .promise import Promise
from .services import Services
from .turn import TurnActor

__all__ = ["OwnWords", "names_own_command"]


class OwnWords:
    """Does what they say and posts the answer, for which nobody waits."""

    def __init__(self, answering: Answering, services: Services) -> None:
        """Speak in a lane.

        Args:
            answering: of the lane: the one way out.
            services: what the actors of the profile share.
        """
        self._answering = answering
        self._commands = OwnCommands(services)

    async def obey(self, turn: TurnActor, text: str, running: TurnActor | None) -> None:
        """Do what such a command says, and answer it.

        Args:
            turn: of the command's message.
            text: the command, from its slash on.
            running: the turn the gateway has in this lane.
        """
        await self._say(turn, await self._commands.answer(turn, text), running)

    async def _say(self, turn: TurnActor, text: str, running: TurnActor | None) -> None:
        row = turn.row
        outgoing = Outgoing(
            room_id=row.room_id,
            thread_root_id=row.thread_root_id,
            text=text,
            is_final=True,
            answers_id=row.message_id,
        )
        await self._answering.post(Answer(outgoing, Promise()), running)


def names_own_command(text: str) -> bool:
    """Tell whether a command, from its slash on, is one of the plugin's own."""
    return text.split(maxsplit=1)[0].lower() in OWN_COMMANDS
