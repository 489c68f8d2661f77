"""Asks admission about the messages of a room, with everything its decision rests on."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import datetime, timedelta

from ...store import turns
from ..runtime.clock import utc_text
from .admission import (
    APPROVALS,
    Admitted,
    Bypassed,
    Editor,
    Inbound,
    Path,
    Refused,
    Verdict,
    admit,
    command_in,
)
from .facts import Message, Place, Room, RoomKind
from .loops import Loops, load_loops
from .mentions import mentions
from .own_words import names_own_command
from .ports import Question as Asked
from .room_rules import lets_programs_in
from .services import Services
from .standing import Standing, Standings
from .stream_events import Target

__all__ = ["Judge", "Judgement", "Question"]

HOUR = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Question:
    """A message to be decided about, and how it came."""

    message: Message
    path: Path
    editor: Editor
    is_new: bool
    """Whether it was not let in before: what was is counted already."""
    says_mentioned: bool = False
    """Whether the server's verdict is that it mentions the account."""
    targets: tuple[Target, ...] | None = None
    """Whom the server says it mentions; None: it does not say."""
    asked_at: datetime | None = None
    """The server's time by which it may be too old; None: it cannot be."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """What was decided about a batch."""

    verdicts: Mapping[str, Verdict]
    """By message ID."""
    loops: Loops
    """Counters that changed with it, to be recorded along."""
    programs: frozenset[str]
    """User IDs of the authors that are programs."""


class Judge:
    """Decides about messages of one room, in order; lives in the room's mailbox."""

    def __init__(self, room_id: str, services: Services) -> None:
        """Use what the actors of the profile share."""
        self._room_id = room_id
        self._services = services
        self._standings = Standings(services)

    async def decide(self, room: Room, questions: Sequence[Question]) -> Judgement:
        """Decide about messages; what one of them changes counts for those after it.

        Raises: ChatError.
        """
        services = self._services
        messages = [question.message for question in questions]
        people = await services.directory.people({message.author_id for message in messages})
        told = {user_id for user_id, person in people.items() if person.is_program}
        programs = (services.roster.programs & people.keys()) | told
        standings = await self._standings.of(room, messages, self._naming(questions))
        tally = Tally(
            loops=await self._loops(programs),
            asked=await self._questions_of(questions),
            programs=frozenset(programs),
        )
        earlier = list[tuple[Place, str]]()
        verdicts = dict[str, Verdict]()
        for question in questions:
            message = question.message
            standing = standings[message.message_id]
            for place, asker_id in earlier:
                if place == standing.place:
                    standing = standing.after_question_of(asker_id, message.author_id)
            inbound = self._inbound(room, question, standing, tally)
            verdict = admit(inbound, services.policy)
            verdicts[message.message_id] = verdict
            if isinstance(verdict, Admitted):
                earlier.append((standing.place, message.author_id))
            if question.path is not Path.EDITED:
                tally.note(inbound, standing.session_key, verdict, is_new=question.is_new)
        return Judgement(verdicts, tally.loops, tally.programs)

    def _naming(self, questions: Sequence[Question]) -> frozenset[str]:
        """Return the messages whose text names the agent, and is what counts."""
        login = self._services.directory.account.login
        return frozenset(
            question.message.message_id
            for question in questions
            if question.targets is None and mentions(question.message.body, login)
        )

    async def _loops(self, programs: AbstractSet[str]) -> Loops:
        """Read the counters, where programs can cause anything."""
        services = self._services
        if not lets_programs_in(services.policy):
            return Loops(services.journal, self._room_id)
        return await load_loops(services.journal, self._room_id, programs)

    async def _questions_of(self, questions: Sequence[Question]) -> dict[str, tuple[int, int]]:
        """Look up how many questions the authors have, where that is limited."""
        policy, journal = self._services.policy, self._services.journal
        authors = {question.message.author_id for question in questions if question.is_new}
        if not policy.max_waiting and not policy.max_turns_per_hour:
            return {}
        since = utc_text(journal.clock.now() - HOUR)
        return await journal.read(
            lambda db: {
                author_id: turns.questions_of(db, journal.scope, author_id, since)
                for author_id in authors
            }
        )

    def _inbound(
        self, room: Room, question: Question, standing: Standing, tally: "Tally"
    ) -> Inbound:
        services, message = self._services, question.message
        account = services.directory.account
        author_id = message.author_id
        is_program = author_id in tally.programs
        # Each edit of a program's may start a run again, so each is counted.
        is_counted = is_program and (question.is_new or question.path is Path.EDITED)
        key = standing.session_key
        waiting, recent = tally.questions_of(author_id) if question.is_new else (0, 0)
        let_in_by = services.let_in_by(author_id, standing.place)
        command = command_in(message.body, account.login) if let_in_by is not None else None
        return Inbound(
            message=message,
            room=room,
            path=question.path,
            own_id=account.user_id,
            own_login=account.login,
            let_in_by=let_in_by,
            is_pair=room.kind is RoomKind.DIRECT
            and services.server.is_pair(room.room_id, author_id),
            server_says_mentioned=question.says_mentioned,
            replies_to_own=standing.replies_to_own,
            answered_here=standing.answered_here,
            author_is_asker=standing.author_is_asker,
            editor=question.editor,
            author_is_program=is_program,
            caused_by_programs=tally.loops.caused(key, author_id) if is_counted else 0,
            waiting=waiting,
            within_the_hour=recent,
            approval_waits=command is not None and self._approval_waits(command, key),
            command_asks=command is not None and self._has_agent_run(command),
            targets=question.targets,
            is_too_old=self._is_too_old(question),
        )

    def _approval_waits(self, command: str, key: str) -> bool:
        """Tell whether a command is an approval that a run in its conversation waits for."""
        if command.split(maxsplit=1)[0].lower() not in APPROVALS:
            return False
        return Asked.APPROVAL in self._services.gateway.waits_for(key)

    def _has_agent_run(self, command: str) -> bool:
        """Tell whether a command has the agent run, so that it is a question."""
        return not names_own_command(command) and self._services.gateway.has_agent_run(command)

    def _is_too_old(self, question: Question) -> bool:
        """Tell whether a message was found so late that nobody waits for the answer any more."""
        if question.asked_at is None:
            return False
        window = timedelta(seconds=self._services.limits.resume_window_s)
        return question.asked_at - question.message.created_at > window


@dataclass(slots=True)
class Tally:
    """What the decisions of a batch change for those after them."""

    loops: Loops
    asked: dict[str, tuple[int, int]]
    """Questions of authors: those that wait, and those within the hour; where that is limited."""
    programs: frozenset[str]

    def questions_of(self, author_id: str) -> tuple[int, int]:
        """Return how many questions of an author wait, and how many came within the hour."""
        return self.asked.get(author_id, (0, 0))

    def note(self, inbound: Inbound, key: str, verdict: Verdict, *, is_new: bool) -> None:
        """Note what was decided about a message that was posted in a conversation."""
        author_id = inbound.message.author_id
        if inbound.author_is_program:
            if is_new and isinstance(verdict, Admitted | Bypassed):
                self.loops.count(key, author_id)
            elif isinstance(verdict, Refused):
                self.loops.hear(author_id)
        elif inbound.let_in_by is not None and author_id != inbound.own_id:
            self.loops.rearm(key)
        is_question = isinstance(verdict, Admitted) or (
            isinstance(verdict, Bypassed) and verdict.asks
        )
        if is_new and is_question and author_id in self.asked:
            waiting, recent = self.asked[author_id]
            self.asked[author_id] = (waiting + 1, recent + 1)
