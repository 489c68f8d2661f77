"""Up to when everything said on the server was read and decided: where a catch-up begins."""

from collections import OrderedDict, deque
from collections.abc import Iterable
from datetime import datetime, timedelta
from functools import partial

from ...store import position
from ...store.position import PositionRow
from ..runtime.clock import utc_text
from .alongside import Alongside
from .journal import Journal

__all__ = ["Position", "PositionKeeper"]

REMEMBERED = 4_096
"""Messages that were decided: what a catch-up finds of them again need not be read again."""

EARLY = timedelta(seconds=2)
"""The server's time is known to the second, and too early rather than too late."""

TICK = timedelta(milliseconds=1)
"""Finest time a row keeps."""


class Position:
    """The server's time before which every post of somebody allowed was read and decided.

    Kept in memory. Posts come in the order of their times, so a post that needs no reading says
    that everything before it came by. What is being read, and a gap that was not caught up yet,
    hold the position back.
    """

    def __init__(self) -> None:
        """Know nothing yet."""
        self._reached: datetime | None = None
        self._gap_from: datetime | None = None
        self._is_in_gap = True
        self._open: dict[str, datetime] = {}
        self._left: dict[str, datetime] = {}
        self._unapplied: dict[object, int] = {}
        """Events on their way, with the number of their arrival, in that order."""
        self._arrived = 0
        self._cursors: deque[tuple[int, str]] = deque()
        """Cursors that wait until the events before them are applied."""
        self.cursor: str | None = None
        """Where the stream goes on; None: nowhere, or it has no cursors."""
        self._decided: OrderedDict[str, None] = OrderedDict()

    @property
    def at(self) -> datetime | None:
        """The position; None: not known, so nothing of the time before now is."""
        if self._is_in_gap:
            return self._gap_from
        if self._reached is None:
            return None
        waiting = (*self._open.values(), *self._left.values())
        return min([self._reached, *(posted_at - TICK for posted_at in waiting)])

    def begin_at(self, moment: datetime | None) -> None:
        """Take the position of an earlier process; None: there is none."""
        self._reached = self._gap_from = moment

    def go_on(self) -> None:
        """The stream goes on where it stopped: nothing was missed, or will be brought again."""
        self._is_in_gap = False
        self._unapplied.clear()
        self._cursors.clear()

    def begin_gap(self) -> None:
        """Stand still until the gap that now begins, or began before, was caught up."""
        self._gap_from = self.at
        self._is_in_gap = True
        self._unapplied.clear()
        self._cursors.clear()

    def end_gap(self, moment: datetime | None) -> None:
        """Everything before a moment was caught up; None: nobody knows the moment."""
        self._is_in_gap = False
        self._left.clear()
        if moment is not None:
            self.pass_by(moment)

    def pass_by(self, posted_at: datetime) -> None:
        """Something was posted then that needs no reading."""
        if self._reached is None or posted_at > self._reached:
            self._reached = posted_at

    def arrive(self, event: object) -> None:
        """An event is on its way to whoever applies it; no cursor after it counts until then."""
        self._arrived += 1
        self._unapplied.setdefault(event, self._arrived)

    def apply(self, events: Iterable[object]) -> None:
        """Events were applied, whatever came of them."""
        for event in events:
            self._unapplied.pop(event, None)
        self._move_cursor()

    def reach(self, cursor: str | None) -> None:
        """The stream can go on here once what it brought before is applied.

        None is a place it cannot go on from; that takes nothing away from an earlier one.
        """
        if cursor is not None:
            self._cursors.append((self._arrived, cursor))
            self._move_cursor()

    def _move_cursor(self) -> None:
        oldest = next(iter(self._unapplied.values()), self._arrived + 1)
        while self._cursors and self._cursors[0][0] < oldest:
            _, self.cursor = self._cursors.popleft()

    def announce(self, message_id: str, posted_at: datetime) -> None:
        """Something was posted then that is being read."""
        if message_id not in self._decided:
            self._open[message_id] = posted_at
        self.pass_by(posted_at)

    def settle(self, message_ids: Iterable[str]) -> None:
        """Messages were decided, whatever was decided."""
        for message_id in message_ids:
            self._open.pop(message_id, None)
            self._left.pop(message_id, None)
            self._decided[message_id] = None
            if len(self._decided) > REMEMBERED:
                self._decided.popitem(last=False)

    def leave(self, message_ids: Iterable[str]) -> None:
        """Messages could not be read: the next catch-up looks for them again."""
        for message_id in message_ids:
            posted_at = self._open.pop(message_id, None)
            if posted_at is not None:
                self._left[message_id] = posted_at

    def has_decided(self, message_id: str) -> bool:
        """Tell whether a message was decided by this process, as far as it remembers."""
        return message_id in self._decided


class PositionKeeper:
    """Has the position written: at most once a second, and at the stop."""

    def __init__(self, journal: Journal, alongside: Alongside) -> None:
        """Keep the position of one profile; `alongside` writes it."""
        self._alongside = alongside
        self.position = Position()
        self._journal = journal
        self._account_id = ""
        self._planned: PositionRow | None = None
        """What stands in the file, or soon will; its time of writing apart."""
        self.begun_at: datetime | None = None
        """From when on the rows know what was decided; None: from nowhere on."""
        self.refusal: str | None = None
        """Why a position that stands in the file was not used; None: it was, or there is none."""

    async def load(self, account_id: str) -> None:
        """Take up the position an earlier process of this profile wrote for this account."""
        if self._account_id != account_id:
            self._account_id = account_id
            self.refusal = await self._load(account_id)

    async def _load(self, account_id: str) -> str | None:
        rows = await self._journal.read(position.load_all)
        own = next((row for row in rows if row.scope == self._journal.scope), None)
        if own is None:
            return "foreign_profile" if rows else None
        if own.account_id != account_id:
            return "foreign_account"
        self._planned = own._replace(updated_at="")
        self.position.cursor = own.resume_cursor
        self.position.begin_at(_moment(own.at))
        self.begun_at = _moment(own.begun_at)
        return None

    def end_gap(self, moment: datetime) -> None:
        """Everything before a moment was caught up, by the server's clock."""
        if self.position.at is None:
            self.begun_at = moment + EARLY
        self.position.end_gap(moment)
        self.write_soon()

    def cursor_within(self, now: datetime | None, window_s: float) -> str | None:
        """Return where the stream may go on; None: nowhere, or it stopped too long ago.

        Args:
            now: the server's time; None: not known, then its age is not, either.
            window_s: how long ago it may have stopped, in seconds.
        """
        position = self.position
        if now is None or position.at is None:
            return None
        return position.cursor if now - position.at <= timedelta(seconds=window_s) else None

    def write_soon(self) -> None:
        """Have the position written with the next commit, or a little later, if it has moved."""
        row = self._row()
        if row is not None and row != self._planned:
            self._planned = row
            dated = row._replace(updated_at=self._journal.now())
            self._alongside.put("position", partial(position.save, row=dated))

    def _row(self) -> PositionRow | None:
        at, cursor = self.position.at, self.position.cursor
        if not self._account_id or (at is None and cursor is None):
            return None
        return PositionRow(
            scope=self._journal.scope,
            account_id=self._account_id,
            at=None if at is None else utc_text(at),
            begun_at=None if self.begun_at is None else utc_text(self.begun_at),
            resume_cursor=cursor,
            updated_at="",
        )


def _moment(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)
