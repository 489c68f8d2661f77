"""Commands the plugin answers itself, also while a run is under way, from its own rows.

The gateway would not: it knows a `/whoami` of another kind, and gives a command of a plugin to
the run that is under way as if it were a message.
Source: Hermes 0.22, hermes_cli/commands.py, gateway/run_inbound.py:_hm_dispatch_quick_and_plugin.
"""

from ...store import history
from . import people_texts as texts
from .errors import ChatError
from .facts import Level, Person, Room, RoomKind
from .inert import quotable_name
from .room_rules import context_of, rules_of, said_of
from .services import Services
from .travels import Travels
from .turn import TurnActor

__all__ = ["OWN_COMMANDS", "OwnCommands"]

OWN_COMMANDS = frozenset({"/whoami", "/why", "/join", "/leave"})


class OwnCommands:
    """Says what is to be answered; the lane posts it."""

    def __init__(self, services: Services) -> None:
        """Use what the actors of the profile share."""
        self._services = services
        self._travels = Travels(services)

    async def answer(self, turn: TurnActor, text: str) -> str:
        """Do what a command says, and return the answer.

        Args:
            turn: of the command's message.
            text: the command, from its slash on.
        """
        name, _, rest = text.strip().partition(" ")
        match name.lower():
            case "/why":
                return await self._why(turn)
            case "/whoami":
                return await self._whoami(turn)
            case _:
                return await self._travels.go(turn, name.lower(), rest.strip().lstrip("#"))

    async def _why(self, turn: TurnActor) -> str:
        row = turn.row
        opens_thread = row.thread_root_id == row.message_id
        root_id = None if opens_thread else row.thread_root_id
        asked = history.Asked(row.author_id, row.room_id, root_id, row.message_id)
        last = await self._services.journal.read(
            lambda db: history.last_of_author(db, row.scope, asked)
        )
        if last is None:
            return texts.WHY_NONE
        return texts.why(
            f"{last.posted_at[:16].replace('T', ' ')} UTC",
            last.state,
            last.reason_meaning or last.reason,
        )

    async def _whoami(self, turn: TurnActor) -> str:
        row, services = turn.row, self._services
        person = Person(row.author_id, row.author_id, row.author_name)
        try:
            person = (await services.directory.people([row.author_id]))[row.author_id]
            room = await services.directory.room(row.room_id)
        except ChatError:
            room = services.directory.known_room(row.room_id)
        rules = _rules(room, services) if room is not None else []
        login = quotable_name(person.login or row.author_id)
        return texts.whoami(login, row.author_id, _let_in_by(turn, services), rules)


def _let_in_by(turn: TurnActor, services: Services) -> str:
    """Say what lets somebody in; which of the gateway's own means it is, it does not tell."""
    entry = services.let_in_by(turn.row.author_id, turn.place)
    match (entry or "").partition(":")[0]:
        case "login" | "id":
            return texts.LISTED
        case "gateway" | "":
            return texts.LET_IN_BY_GATEWAY
        case _:
            return texts.EVERYBODY_MAY


def _rules(room: Room, services: Services) -> list[str]:
    """Say what holds in a room."""
    policy = services.policy
    rules, own = rules_of(room, policy), said_of(room, policy)
    said = [] if own.toolsets is None else [texts.own_toolsets(own.toolsets)]
    if own.prompt is not None:
        said.append(texts.OWN_PROMPT)
    if services.server.notification_levels().of(room.room_id) is Level.MUTED:
        said.append(texts.MUTED)
    if room.kind is RoomKind.DIRECT:
        return [texts.ALWAYS_MEANT, *said]
    limits = context_of(room, policy, services.context)
    needed = texts.MENTION_NEEDED if policy.answer_replies else texts.MENTION_ALONE_NEEDED
    return [
        needed if rules.needs_mention else texts.NO_MENTION_NEEDED,
        texts.FOLLOW_UPS[rules.follow_ups.value],
        texts.BOTS[rules.allow_bots.value],
        texts.lines_told(limits.thread_lines, limits.room_lines),
        *said,
    ]
