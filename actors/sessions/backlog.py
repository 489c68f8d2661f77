"""Read what a session lacks of its thread: pages of the server become lines in order."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from ...store import outbox, turns
from .facts import Message, Page, Place, TimelineRow
from .lines import Line, Standing
from .services import Services
from .slicing import AHEAD

__all__ = ["Backlog", "BacklogReader", "Conversation", "Window"]

TAIL_ROWS = 41  # 20 rows before the trigger, so that five lines are among them
MOST_ROWS = 2_000  # of a backlog whose beginning nothing marks; twenty reads
SPARE_ROWS = 10  # rows that are no line (joins, tombstones, what is held) on top of a window


@dataclass(frozen=True, slots=True)
class Conversation:
    """Whose backlog it is: a place, and what the session there holds already."""

    place: Place
    session_key: str
    session_token: str
    ahead_ids: frozenset[str]
    """Handed over ahead of the drain."""
    asks_transcript: bool
    """Whether the rows do not tell all that is held: the session is older than they are."""


@dataclass(frozen=True, slots=True)
class Window:
    """The newest lines before a trigger, for a session that begins."""

    root: Line | None
    """The thread's root; None: it is gone, or the place has none."""
    lines: Sequence[Line]
    """Oldest first."""
    older: int | None
    """Messages before these lines; None: they were not counted."""
    is_end: bool
    """Whether nothing was posted after the trigger when it was read."""


@dataclass(frozen=True, slots=True)
class Backlog:
    """What a session lacks before a trigger, as far as it was read."""

    lines: Sequence[Line]
    """Oldest first, from the frontier on."""
    tail: Sequence[Line]
    """Of the five newest lines before the trigger those that it lacks."""
    is_whole: bool
    """Whether it was read up to the trigger, or to the end where the trigger does not come."""
    has_trigger: bool
    """Whether the trigger was met: it does not lie before the frontier."""
    last_row_id: str | None
    """The last row before the trigger that was looked at; None: there was none."""
    ahead_ids: frozenset[str]
    """Of what was handed over ahead what lies behind the trigger: it was found late."""
    is_end: bool
    """Whether nothing was posted after the trigger when it was read."""


class BacklogReader:
    """Costs one read; two where a backlog is longer than a page."""

    def __init__(self, services: Services) -> None:
        """Use what the actors of the profile share."""
        self._services = services
        self._page_rows = services.context.page_rows
        # Whatever it holds lies behind the frontier: half of a page lies before the trigger then.
        self._tail_rows = min(TAIL_ROWS, (self._page_rows - 1) // 2)

    async def window(self, talk: Conversation, trigger_id: str, size: int) -> Window:
        """Read the newest messages before a trigger.

        Args:
            talk: whose window it is.
            trigger_id: the message the window ends at.
            size: how many lines are wanted.

        Raises:
            ChatError: the server could not be read.
        """
        limit = 2 * (size + SPARE_ROWS) + 1
        page = await self._page(talk.place, trigger_id, limit)
        if page is None:
            return Window(None, (), 0, is_end=False)
        replies = _replies(page, talk.place)
        anchor = page.anchor - (len(page.rows) - len(replies))
        roots = page.rows[: len(page.rows) - len(replies)]
        root = await self._lines(talk, roots)
        return Window(
            root=root[0] if root else None,
            lines=await self._lines(talk, replies[:anchor]),
            older=_older(page, replies),
            is_end=not page.has_newer and anchor == len(replies) - 1,
        )

    async def after(self, talk: Conversation, frontier_id: str, trigger_id: str) -> Backlog | None:
        """Read what was posted between a frontier and a trigger behind it.

        Returns:
            None when the frontier is not in the timeline any more.

        Raises:
            ChatError: the server could not be read.
        """
        page = await self._page(talk.place, frontier_id, self._page_rows)
        if page is None:
            return None
        return await self._backlog(talk, page, page.rows[page.anchor + 1 :], trigger_id)

    async def from_start(self, talk: Conversation, trigger_id: str) -> Backlog:
        """Read a thread or conversation from its beginning. Raises: ChatError."""
        page = await self._services.server.first_page(talk.place, self._page_rows)
        self._services.directory.note_people(page.people)
        return await self._backlog(talk, page, page.rows, trigger_id)

    async def since(
        self, talk: Conversation, frontier_id: str, moment: datetime, trigger_id: str
    ) -> Backlog:
        """Read what was posted since a frontier's moment, where no row marks it any more.

        Other rows of that millisecond come again. Costs a read for each hundred rows.

        Raises: ChatError.
        """
        read = await self._services.server.newest_messages(
            talk.place, since=moment, most=MOST_ROWS
        )
        newer = [
            message
            for message in read
            if message.created_at >= moment and message.message_id != frontier_id
        ]
        ids = [message.message_id for message in newer]
        until = ids.index(trigger_id) if trigger_id in ids else len(ids)
        held = await self._held(talk, newer[:until])
        lacked = (message for message in newer[:until] if message.message_id not in held)
        lines = await self.show(talk.place, _once(lacked))
        return Backlog(
            lines=[line for line in lines if line.message_id not in talk.ahead_ids],
            tail=[line for line in lines[-AHEAD:] if line.message_id not in talk.ahead_ids],
            is_whole=True,
            has_trigger=trigger_id in ids,
            last_row_id=ids[until - 1] if until else None,
            ahead_ids=_behind(talk.ahead_ids, ids, until, is_all=True),
            is_end=until == len(ids) - 1,
        )

    async def _backlog(
        self, talk: Conversation, page: Page, rows: Sequence[TimelineRow], trigger_id: str
    ) -> Backlog:
        ids = [row.row_id for row in rows]
        is_whole = trigger_id in ids or not page.has_newer
        until = ids.index(trigger_id) if trigger_id in ids else len(ids)
        lines = await self._lines(talk, rows[:until])
        tail = lines
        if not is_whole:
            newest = await self._page(talk.place, trigger_id, self._tail_rows)
            tail = await self._lines(talk, _before(newest) if newest else ())
        return Backlog(
            lines=[line for line in lines if line.message_id not in talk.ahead_ids],
            tail=[line for line in tail[-AHEAD:] if line.message_id not in talk.ahead_ids],
            is_whole=is_whole,
            has_trigger=trigger_id in ids,
            last_row_id=ids[until - 1] if until else None,
            ahead_ids=_behind(talk.ahead_ids, ids, until, is_all=not page.has_newer),
            is_end=is_whole and not page.has_newer and until >= len(ids) - 1,
        )

    async def _page(self, place: Place, row_id: str, limit: int) -> Page | None:
        page = await self._services.server.page_around(place, row_id, limit)
        if page is not None:
            self._services.directory.note_people(page.people)
        return page

    async def _lines(self, talk: Conversation, rows: Sequence[TimelineRow]) -> list[Line]:
        """Show the rows that are messages and that the session does not hold."""
        messages = [row.message for row in rows if row.message is not None]
        held = await self._held(talk, messages)
        shown = _once(message for message in messages if message.message_id not in held)
        return await self.show(talk.place, shown)

    async def show(self, place: Place, messages: Sequence[Message]) -> list[Line]:
        """Make lines of messages, with names and standings. Raises: ChatError."""
        directory, gateway = self._services.directory, self._services.gateway
        people = await directory.people({message.author_id for message in messages})
        own_id = directory.account.user_id

        def standing(author_id: str) -> Standing:
            if author_id == own_id:
                return Standing.THIS_BOT
            return Standing.KNOWN if gateway.may_speak(author_id, place) else Standing.UNVERIFIED

        return [
            Line.of(
                message,
                people[message.author_id].display_name,
                standing(message.author_id),
                self._services.editors.of(message),
            )
            for message in messages
        ]

    async def _held(self, talk: Conversation, messages: Sequence[Message]) -> frozenset[str]:
        """Return which messages the session holds: its turns and its answers."""
        ids = [message.message_id for message in messages]
        if not ids:
            return frozenset()
        scope = self._services.journal.scope
        key, token = talk.session_key, talk.session_token
        rows, posts = await self._services.journal.read(
            lambda db: (
                turns.held_among(db, scope, key, token, ids),
                outbox.spoken_among(db, scope, key, token, ids),
            )
        )
        held = rows | posts
        return held | await self._in_transcript(talk, messages) if talk.asks_transcript else held

    async def _in_transcript(
        self, talk: Conversation, messages: Sequence[Message]
    ) -> frozenset[str]:
        """Return which messages are in the transcript; an answer is known by its question."""
        own_id = self._services.directory.account.user_id
        own = [message for message in messages if message.author_id == own_id]
        asked = {message.in_reply_to for message in own if message.in_reply_to is not None}
        ids = {message.message_id for message in messages} | asked
        held = await self._services.gateway.held_by_transcript(talk.session_key, sorted(ids))
        return held | {message.message_id for message in own if message.in_reply_to in held}


def _replies(page: Page, place: Place) -> Sequence[TimelineRow]:
    """Return the stretch without the root that a thread's page begins with."""
    return page.rows[1:] if place.thread_root_id is not None else page.rows


def _before(page: Page) -> Sequence[TimelineRow]:
    """Return the stretch before the row a page was read around, without a thread's root."""
    first = 1 if page.reply_count is not None else 0
    return page.rows[first : page.anchor]


def _behind(
    ahead_ids: frozenset[str], ids: Sequence[str], until: int, *, is_all: bool
) -> frozenset[str]:
    """Return which of these lie behind a place in a list of rows that may have an end."""
    return ahead_ids & frozenset(ids[until:]) if is_all else ahead_ids - frozenset(ids[:until])


def _older(page: Page, replies: Sequence[TimelineRow]) -> int | None:
    """Count the messages before a stretch; None where the server does not tell."""
    if not page.has_older:
        return 0
    if page.reply_count is None or page.has_newer:
        return None
    return max(page.reply_count - sum(row.message is not None for row in replies), 0)


def _once(messages: Iterable[Message]) -> list[Message]:
    """Leave out an echo beside what it repeats, or beside another echo of it."""
    seen = set[str]()
    shown: list[Message] = []
    for message in messages:
        said = message.echo_of_id or message.message_id
        if said not in seen:
            shown.append(message)
        seen.add(said)
    return shown
