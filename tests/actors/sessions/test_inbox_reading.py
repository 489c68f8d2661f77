"""The newest pages of the inbox are read, one after the other, however the list moves."""

from datetime import UTC, datetime, timedelta

import pytest

from hermes_chatto.actors.sessions.facts import EntryKind, InboxEntry, InboxPage
from hermes_chatto.actors.sessions.inbox_reading import OLD_PAGES, read_inbox

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def entry(number: int, *, age_s: float, kind: EntryKind = EntryKind.MENTION) -> InboxEntry:
    """Make an entry about the message of this number."""
    return InboxEntry(
        entry_id=f"N{number}-{kind.value}",
        kind=kind,
        room_id="R1",
        message_id=f"M{number}",
        thread_root_id=None,
        author_id="UA",
        made_at=NOW - timedelta(seconds=age_s),
    )


class Inbox:
    """A list, newest first, that somebody changes between two pages."""

    def __init__(self, entries: list[InboxEntry]) -> None:
        """Hold these."""
        self.entries = entries
        self.calls: list[int] = []
        self.changes: list[list[InboxEntry]] = []
        """What the list is after each call, in order."""
        self._is_answering = False

    async def inbox_page(self, offset: int) -> InboxPage:
        """Return a page of a hundred."""
        assert not self._is_answering
        self.calls.append(offset)
        cut = self.entries[offset : offset + 100]
        page = InboxPage(
            entries=tuple(cut),
            entry_ids=tuple(each.entry_id for each in cut),
            has_more=len(self.entries) > offset + 100,
        )
        if self.changes:
            self.entries = self.changes.pop(0)
        return page


async def numbers(inbox: Inbox, *, minutes: float = 60, young_minutes: float = 15) -> list[str]:
    """Return the messages found back to so many minutes ago."""
    found = await read_inbox(
        inbox,
        back_to=NOW - timedelta(minutes=minutes),
        young_from=NOW - timedelta(minutes=young_minutes),
    )
    return [each.message_id for each in found]


async def test_an_empty_inbox_is_one_call() -> None:
    """As is one that is older than what is looked for."""
    assert await numbers(Inbox([])) == []
    old = Inbox([entry(number, age_s=7200 + number) for number in range(50_000)])
    assert await numbers(old) == []
    assert old.calls == [0]


async def test_what_is_found_comes_oldest_first() -> None:
    """Over several pages."""
    inbox = Inbox([entry(number, age_s=number) for number in range(250)])

    assert await numbers(inbox) == [f"M{number}" for number in reversed(range(250))]


async def test_a_message_with_two_entries_is_one_mention() -> None:
    """A mention in a followed thread stands there as a reply, too."""
    inbox = Inbox([entry(1, age_s=1), entry(1, age_s=1.01, kind=EntryKind.REPLY)])
    found = await read_inbox(inbox, back_to=NOW - timedelta(hours=1), young_from=NOW)

    assert [each.kind for each in found] == [EntryKind.MENTION]


@pytest.mark.parametrize("new", [1, 99, 150])
async def test_entries_made_meanwhile_shift_nothing_out(new: int) -> None:
    """The ones that come twice are one."""
    before = [entry(number, age_s=number + 1) for number in range(250)]
    inbox = Inbox(before)
    inbox.changes = [[entry(1000 + i, age_s=0) for i in range(new)] + before]
    found = await numbers(inbox)

    assert {each for each in found if len(each) < 5} == {f"M{number}" for number in range(250)}
    assert len(found) == len(set(found))


@pytest.mark.parametrize("gone", [1, 60, 100])
async def test_entries_taken_away_meanwhile_hide_nothing(gone: int) -> None:
    """Whoever is logged in as the account may open a room just then."""
    before = [entry(number, age_s=number) for number in range(250)]
    inbox = Inbox(before)
    inbox.changes = [before[gone:]]
    found = await numbers(inbox)

    assert set(found) == {f"M{number}" for number in range(250)}


async def test_old_entries_are_looked_at_for_some_pages_only() -> None:
    """A year of absence is no reason to read a year."""
    inbox = Inbox([entry(number, age_s=3600 + number) for number in range(50_000)])
    found = await numbers(inbox, minutes=60 * 24 * 365)

    assert len(inbox.calls) == OLD_PAGES
    assert len(found) == 100 + (OLD_PAGES - 1) * 99
