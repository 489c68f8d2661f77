"""What the sessions need of the world, and what they offer to it, in their own words.

`actors.chatto` fulfils `ChatServer`, `actors.hermes` fulfils `Gateway` and calls the `Desk`;
the composition root brings them together. Errors are those of `errors`.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Protocol

from .facts import Account, Message, Page, Person, Place, Room
from .outgoing import DeliveryResult, DeliveryState, Outgoing, Question
from .past import PastReader, RealtimeSource
from .remains import Remains
from .tool_port import Tools

__all__ = [
    "ChatServer",
    "ConnectionReport",
    "DeliveryResult",
    "DeliveryState",
    "Desk",
    "Gateway",
    "HandOver",
    "Outgoing",
    "Post",
    "Question",
    "RealtimeSource",
    "RunOutcome",
    "RunStop",
    "TurnOrder",
]


@dataclass(frozen=True, slots=True)
class Post:
    """One message to be posted."""

    room_id: str
    thread_root_id: str | None
    in_reply_to: str | None
    body: str
    """At most 9,900 bytes of UTF-8 (the server refuses more than 10,000)."""


class ChatServer(RealtimeSource, PastReader, Protocol):
    """The server, as the agent's account."""

    async def identify(self) -> Account:
        """Log in where a password is configured, and return whose account it is.

        Raises:
            ServerUnreachableError: try again later.
            UnusableConnectionError: no retry helps.
        """
        ...

    def is_pair(self, room_id: str, user_id: str) -> bool:
        """Tell whether a direct conversation is between the account and this person alone."""
        ...

    async def list_rooms(self) -> Sequence[Room]:
        """Return all rooms the account may see that are not archived. Raises: ChatError."""
        ...

    async def get_room(self, room_id: str) -> Room | None:
        """Return one room; None where it is unknown or hidden. Raises: ChatError."""
        ...

    async def read_messages(self, room_id: str, ids: Sequence[str]) -> Sequence[Message]:
        """Read messages of one room; deleted and unknown ones are left out.

        Args:
            room_id: the room.
            ids: 1 to 100 message IDs.

        Raises:
            ChatError: `RequestRefusedError` when the account is not in the room.
        """
        ...

    async def page_around(self, place: Place, row_id: str, limit: int) -> Page | None:
        """Read a stretch of a thread, or of a room, around one of its rows.

        Args:
            place: the thread; without a root the room itself, or the direct conversation.
            row_id: the row in the middle; the root of a thread gives its beginning.
            limit: rows of the stretch, 1 to 500; half of them come before the row, less where
                the timeline begins or ends there. The root is not counted.

        Returns:
            None where the row is not in that timeline (any more).

        Raises:
            ChatError: `RequestRefusedError` when the account is not in the room.
        """
        ...

    async def first_page(self, place: Place, limit: int) -> Page:
        """Read the beginning of a thread or a room; the anchor is the first row. As above."""
        ...

    async def people(self, user_ids: Collection[str]) -> Mapping[str, Person]:
        """Return who these are; unknown and deleted accounts are left out. Raises: ChatError."""
        ...

    async def find_person(self, login: str) -> Person | None:
        """Look somebody up by login, in any case; None: nobody. Raises: ChatError."""
        ...

    async def post(self, post: Post) -> str:
        """Post one message and return its ID.

        Raises:
            ServerBusyError: nothing was posted; the same call may succeed later.
            RequestRefusedError: nothing was posted and never will be.
            OutcomeUnknownError: it may have been posted; read back first.
                Source: Chatto 0.4.20, CreateMessage has no idempotency key.
        """
        ...

    async def find_post(
        self, post: Post, *, not_before: datetime, exclude: Collection[str] = ()
    ) -> str | None:
        """Look for an own message like this one; return its ID, None when there is none.

        Args:
            post: what was posted.
            not_before: the earliest time the server's clock can have given it.
            exclude: own messages that are known to be other posts.

        Raises:
            ChatError: the room could not be read, or too much was posted since.
        """
        ...

    async def react(self, room_id: str, message_id: str, emoji: str, *, on: bool) -> None:
        """Put a reaction of the account on a message, or take it back; either may be so already.

        Args:
            room_id: the room.
            message_id: the message.
            emoji: shortcode without colons.
            on: False takes it back.

        Raises:
            ChatError: `RequestRefusedError` where reactions are not allowed.
        """
        ...

    async def show_typing(self, place: Place) -> None:
        """Show the account as typing for some seconds. Raises: ChatError."""
        ...

    async def show_online(self) -> None:
        """Show the account as online for a minute. Raises: ChatError."""
        ...


class HandOver(Enum):
    """What the gateway did with an event."""

    TAKEN = "taken"
    """It runs, or will, with hooks of its own."""
    FOLDED = "folded"
    """It went into a run that was under way."""
    NOT_TAKEN = "not_taken"
    """Dropped, or held back: no run on that key."""


@dataclass(frozen=True, slots=True)
class TurnOrder:
    """A turn as the gateway gets it."""

    message_id: str
    place: Place
    room_name: str
    author: Person
    text: str
    posted_at: datetime
    prompt: str | None = None
    """What the operator tells the agent besides in this room; None: nothing."""
    context: str | None = None
    """Reference text that goes before the message; None: none."""
    reply_to_id: str | None = None
    """Message the trigger points at; None: it points at none, or it could not be read."""
    reply_to_text: str | None = None
    reply_to_author: Person | None = None
    reply_to_is_own: bool = False
    attachment_ids: tuple[str, ...] = ()
    is_for_the_agent: bool = False
    """Whether it is said to the agent: no command, whatever the gateway would read in it."""


class ConnectionReport(Enum):
    """What the gateway is told about the connection."""

    LIVE = "live"
    LOST = "lost"
    """Being opened again by itself; nothing for the gateway to do."""
    REFUSED = "refused"
    """Given up; only another setting helps. Not retryable."""


class RunStop(Enum):
    """What became of a run that was to be stopped."""

    ENDED = "ended"
    """It is over, and no later prompt holds its message."""
    LEFT_IN_TRANSCRIPT = "left_in_transcript"
    """It is over, but its message stays in the session: somebody said something after it there
    (a text the gateway took into the run), or the transcript could not be changed."""
    DOES_NOT_END = "does_not_end"
    """Still running. The stop goes on, and the key is not ready before it is over."""
    NO_RUN = "no_run"
    """Nothing of that message was running."""


class Gateway(Protocol):
    """The Hermes gateway this plugin runs in."""

    def session_key(self, place: Place) -> str:
        """Return the gateway's own key of the session for a place."""
        ...

    def allow(self, user_ids: Collection[str]) -> None:
        """Learn which accounts the logins of the allowlist are, before anybody is asked about."""
        ...

    def may_speak(self, author_id: str, place: Place) -> bool:
        """Tell whether this account may talk to the agent here: the gateway's own check."""
        ...

    def has_session(self, session_key: str) -> bool:
        """Tell whether the gateway has a conversation for this key."""
        ...

    async def session_token(self, session_key: str) -> str | None:
        """Return what `keep_session_token` stored; None: nothing, or the session is another."""
        ...

    async def keep_session_token(self, session_key: str, token: str) -> bool:
        """Store a token with the session itself; it goes when the session is replaced.

        Returns:
            False where there is no session to store it with (yet).
        """
        ...

    async def held_by_transcript(
        self, session_key: str, message_ids: Collection[str]
    ) -> frozenset[str]:
        """Return which of these messages the transcript of the session has as its turns."""
        ...

    async def oldest_in_transcript(self, session_key: str) -> str | None:
        """Return the first message that the transcript of the session has; None: it has none."""
        ...

    async def remains_of(self, session_key: str, message_id: str, *, since: datetime) -> Remains:
        """Return what is left of a turn an earlier process handed over at `since` or later."""
        ...

    async def owed_answers(self, session_key: str) -> Sequence[str]:
        """Return the answers of this key that the gateway may hand over again."""
        ...

    async def call_off_resumption(self, session_key: str) -> None:
        """Have the gateway not resume this key at its start; done already, it changes nothing."""
        ...

    def is_ready(self, session_key: str) -> bool:
        """Tell whether an event for this key would be run now.

        That is: the start-up gate is open, no run of the key is under way, and no agent of a
        stopped one is still at work. A False is followed by `Desk.key_ready` as soon as it
        turns True.
        """
        ...

    def is_open(self, session_key: str) -> bool:
        """Tell whether a command of this key would be taken now: the start-up gate is open.

        A False is followed by `Desk.key_ready` as it turns True, also while a run is under way.
        """
        ...

    async def hand_over(self, order: TurnOrder) -> HandOver:
        """Give one turn, or command, to the gateway. Returns long before the run ends."""
        ...

    def has_agent_run(self, command: str) -> bool:
        """Tell whether a command, from its slash on, has the agent run, by its own words."""
        ...

    def waits_for(self, session_key: str) -> Collection[Question]:
        """Return what kinds of questions runs of this key have asked their person and wait for.

        A question is among them from before it is posted until it is answered or given up.
        """
        ...

    def run_of(self, session_key: str) -> str | None:
        """Return the message whose run is under way, which may be a command's.

        None: no run is, or it has no message.
        """
        ...

    async def stop_run(self, session_key: str, message_id: str, *, within_s: float) -> RunStop:
        """Stop the run of a message, wait until it is really over, and take its message out.

        The `Desk` is told of the run's end as of any other (cancelled), before this returns.
        Call it in a task of its own, never from within a report of the gateway. Cancelled, it
        leaves the stop to go on by itself.

        Args:
            session_key: of the conversation.
            message_id: the run's message. A run the gateway started itself, after a restart,
                counts as that of any message of the key.
            within_s: longest wait in seconds; a running tool is asked to end, not killed.
        """
        ...

    async def report(self, what: ConnectionReport, text: str) -> None:
        """Tell the gateway how the connection is; `text` is one line for its operator."""
        ...

    def crashed(self, error: BaseException) -> None:
        """Tell the gateway that the sessions ended unasked, by a defect; a new start may help."""
        ...


class RunOutcome(Enum):
    """How the gateway says a run ended; says nothing about what reached the room."""

    SUCCESS = "success"
    FAILURE = "failure"
    CANCELLED = "cancelled"
    INTERRUPTED = "interrupted"
    """The gateway stops, and takes it with it; the next one may resume it."""


class Desk(Protocol):
    """What the gateway's side may ask of, and tell, the sessions.

    The `def` methods may be called from any task of the gateway's loop and never wait.
    """

    @property
    def tools(self) -> Tools | None:
        """What the agent's tools do; None: the sessions do not run."""
        ...

    async def start(self) -> None:
        """Open the state, start the actors and the connection; return at its first outcome.

        That is live, backing off or refused; which one, `Gateway.report` was told.

        Raises:
            StateUnusableError: the state file cannot be used.
        """
        ...

    async def stop(self) -> None:
        """Stop in order, within a few seconds; what is not finished stays in the rows."""
        ...

    def run_started(self, session_key: str, message_id: str | None) -> None:
        """A run began; None: one the gateway started itself. May come twice for one run."""
        ...

    def run_ended(self, session_key: str, message_id: str | None, outcome: RunOutcome) -> None:
        """A run ended. May come twice for one message, or for one that was never run."""
        ...

    def key_ready(self, session_key: str) -> None:
        """Tell that the gateway would run an event of this key now, or take a command of it."""
        ...

    async def deliver(self, outgoing: Outgoing) -> DeliveryResult:
        """Post a text, in parts where it is long, and wait for what becomes of it."""
        ...

    async def show_typing(self, room_id: str, thread_root_id: str | None) -> None:
        """Show the agent typing, if a turn runs there; a failing call changes nothing."""
        ...
