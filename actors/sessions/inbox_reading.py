"""Read the newest pages of the account's inbox, back to where nothing can have been missed."""

import logging
from datetime import datetime
from typing import Protocol

from .facts import EntryKind, InboxEntry, InboxPage

__all__ = ["read_inbox"]

log = logging.getLogger(__name__)

PAGE = 100  # entries; the server gives no more at once
OLD_PAGES = 10  # of entries too old to be answered: how far their signs reach
STEPS_BACK = 5  # how often a page is read again because the list moved under it


class InboxPages(Protocol):
    """The part of the port `ChatServer` that gives the pages."""

    async def inbox_page(self, offset: int) -> InboxPage:
        """Return a page; see there."""
        ...


async def read_inbox(
    server: InboxPages, *, back_to: datetime, young_from: datetime | None
) -> list[InboxEntry]:
    """Return the entries since a moment, oldest first, one for each message.

    One page after the other. An entry made meanwhile shifts the list, so some come twice; one
    that somebody takes away shifts it the other way, so each page begins with the last entry of
    the page before it, and where it does not the reading steps back.

    Args:
        server: whose inbox.
        back_to: entries of before are left; by the server's clock.
        young_from: entries of before are only looked at for some pages; None: never so.

    Raises:
        ChatError: as the server's calls.
    """
    found: dict[str, InboxEntry] = {}
    seen: set[str] = set()
    offset, old_pages, steps_back = 0, 0, 0
    while True:
        page = await server.inbox_page(offset)
        has_moved = offset > 0 and bool(page.entry_ids) and page.entry_ids[0] not in seen
        if has_moved and steps_back < STEPS_BACK:
            steps_back += 1
            offset = max(0, offset - PAGE)
            continue
        seen.update(page.entry_ids)
        for entry in page.entries:
            if entry.made_at >= back_to:
                found[entry.message_id] = _one_of(found.get(entry.message_id), entry)
        old_pages += young_from is not None and _reaches(page, young_from)
        if not page.has_more or not page.entry_ids or _reaches(page, back_to):
            break
        if old_pages >= OLD_PAGES:
            log.info("the inbox was read no further back than %d old pages", OLD_PAGES)
            break
        offset += max(1, len(page.entry_ids) - 1)
    return sorted(found.values(), key=lambda entry: entry.made_at)


def _reaches(page: InboxPage, moment: datetime) -> bool:
    """Tell whether a page reaches back beyond a moment."""
    return any(entry.made_at < moment for entry in page.entries)


def _one_of(known: InboxEntry | None, entry: InboxEntry) -> InboxEntry:
    """Choose between two entries about one message: a mention says more."""
    return known if known is not None and known.kind is EntryKind.MENTION else entry
