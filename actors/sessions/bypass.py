"""What goes past a lane: commands, and what a run asks its person to say."""

from ...store import turns
from ...store.turns import TurnRow
from .admission import APPROVALS, Admitted, Bypassed, Cause, Expired, Refused, command_in
from .characters import trim
from .correcting import Correcting
from .dispatch import Dispatch
from .holding import Holding
from .journal import Draft
from .lane import Lane
from .mail import THREAD, NotStarted
from .mentions import leading_mention_end
from .own_words import OwnWords, names_own_command
from .ports import HandOver, Question
from .services import Services
from .stopping import STOPPING_COMMANDS, stop_lane
from .turn import TurnActor

__all__ = ["Bypass"]


class Bypass:
    """Gives to the gateway what cannot wait for a run; lives in the lane's mailbox."""

    def __init__(  # noqa: PLR0913 - the parts of a lane
        self,
        session_key: str,
        lane: Lane,
        *,
        holding: Holding,
        dispatch: Dispatch,
        correcting: Correcting,
        own_words: OwnWords,
        services: Services,
    ) -> None:
        """Go past one lane.

        Args:
            session_key: the gateway's key.
            lane: its turns.
            holding: what the session holds of the thread.
            dispatch: makes of a turn what the gateway gets.
            correcting: told when a command ends a turn it is at work on.
            own_words: answers the plugin's own commands.
            services: what the actors of the profile share.
        """
        self._key = session_key
        self._lane = lane
        self._holding = holding
        self._dispatch = dispatch
        self._correcting = correcting
        self._own_words = own_words
        self._services = services
        self._journal = services.journal

    async def in_view_of_run(
        self, row: TurnRow, verdict: Admitted | Bypassed | Refused | Expired
    ) -> Admitted | Bypassed | Refused | Expired:
        """Look at a verdict beside the run that is under way in this lane.

        What it asked its person, that person answers past the lane; an approval by anybody else
        would be taken by the gateway for that person's. Nor does anybody else choose: what is no
        more than a number is no question.
        """
        asker_id = await self._whose_run()
        if asker_id is None:
            return verdict
        is_theirs = asker_id == row.author_id
        if isinstance(verdict, Bypassed) and not is_theirs:
            name = verdict.command.split(maxsplit=1)[0].lower()
            return Refused(verdict.cause, "not_yours") if name in APPROVALS else verdict
        if not isinstance(verdict, Admitted):
            return verdict
        if not self._waits_for_choice():
            return verdict
        if is_theirs:
            return Bypassed(verdict.cause, row.body or "")
        return Refused(verdict.cause, "not_yours") if self._is_number(row) else verdict

    def _waits_for_choice(self) -> bool:
        """Tell whether a run asks something; the gateway still waits for one being stopped."""
        running = self._lane.at_gateway()
        if running is not None and not running.may_ask:
            return False
        return Question.CHOICE in self._services.gateway.waits_for(self._key)

    def _is_number(self, row: TurnRow) -> bool:
        """Tell whether a message is but the number of a choice, behind a mention or not."""
        body = trim(row.body or "")
        said = body[leading_mention_end(body, self._services.directory.account.login) :]
        return trim(said).rstrip(".)").isdecimal()

    async def _whose_run(self) -> str | None:
        """Return whose question runs, also one that was put as a command; None: none is known."""
        running = self._lane.at_gateway()
        if running is not None:
            return running.row.author_id
        message_id = self._services.gateway.run_of(self._key)
        if message_id is None:
            return None
        scope = self._journal.scope
        begun = await self._journal.read(lambda db: turns.find(db, scope, message_id))
        return begun.author_id if begun is not None else None

    async def take(self, draft: Draft, turn: TurnActor, verdict: Bypassed) -> None:
        """Record that something goes past the lane, and let it go.

        While the gateway is starting it takes nothing: then it waits, and goes out before
        anything else. What a command ends in our own rows it ends at once.
        """
        is_own = verdict.is_command and names_own_command(verdict.command)
        is_closed = bool(self._lane.held()) or not self._services.gateway.is_open(self._key)
        waits = is_closed and not is_own
        if waits:
            turn.hold(draft, verdict)
        else:
            turn.judge(draft, verdict)
            self._settle(draft, turn, verdict)
        self._lane.keep(turn)
        name = turn.row.command
        corrections = self._correcting.corrections()
        if name is not None and name[1:].lower() in STOPPING_COMMANDS:
            stop_lane(draft, self._lane, self._holding, turn.row.author_id, name[1:].lower())
        await draft.commit()
        self._correcting.end_pauses(corrections)
        if waits:
            limit_s = self._services.limits.gate_wait_s
            reminder = NotStarted(turn.row.message_id, turn.row.attempt)
            self._services.tell_later(limit_s, THREAD, self._key, reminder)
            await self.release()
        elif is_own:
            await self._own_words.obey(turn, verdict.command, self._lane.at_gateway())
        else:
            await self._give(turn, verdict.command)

    async def release(self) -> None:
        """Let go, in order, what waited for the gateway's start; nothing while it is starting."""
        for turn in self._lane.held():
            if not self._services.gateway.is_open(self._key):
                return
            text = self._text_of(turn)
            draft = self._journal.draft()
            turn.let_past(draft)
            self._lane.keep(turn)
            await draft.commit()
            await self._give(turn, text)

    def _text_of(self, turn: TurnActor) -> str:
        """Return what the gateway gets as the message, as admission would."""
        body = turn.row.body or ""
        login = self._services.directory.account.login
        command = None if turn.row.cause == Cause.STRANGER.value else command_in(body, login)
        return command or trim(body)

    def _settle(self, draft: Draft, turn: TurnActor, verdict: Bypassed) -> None:
        """Plan what an answer of the person whose turn waits settles."""
        running = self._lane.at_gateway()
        if running is None or running.row.author_id != turn.row.author_id:
            return
        # What the gateway gave up meanwhile is not answered any more.
        running.asking.look(draft, self._services.gateway.waits_for(self._key))
        running.asking.answer(draft, turn.row.author_id, verdict.command)

    async def _give(self, turn: TurnActor, text: str) -> None:
        order = await self._dispatch.order(turn, text)
        taken = await self._services.gateway.hand_over(order)
        if taken is HandOver.NOT_TAKEN:
            lost = self._journal.draft()
            turn.fail(lost, "not_taken")
            await lost.commit()
