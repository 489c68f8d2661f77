"""Lists of people: search, order and pages, alike for the server and for one room.

Source: Chatto 0.4.20, cli/internal/connectapi/member_directory.go.
"""

from collections.abc import Iterable, Sequence
from typing import TypeVar

from .accounts import Account
from .pb import Proto, api

ItemT = TypeVar("ItemT")


def matching(accounts: Iterable[Account], search: str) -> list[Account]:
    """Return the accounts whose display name or login holds a text, in any case.

    They are sorted by display name, then by login, both without regard to case.
    """
    wanted = search.lower()
    found = [
        account
        for account in accounts
        if wanted in account.display_name.lower() or wanted in account.login.lower()
    ]
    return sorted(found, key=lambda one: (one.display_name.lower(), one.login.lower()))


def page_of(
    items: Sequence[ItemT], request: Proto, *, default: int, most: int = 500
) -> tuple[Sequence[ItemT], Proto]:
    """Cut a page out of a list.

    Args:
        items: the whole list.
        request: limit and offset as the client gave them; field rules have passed.
        default: how many items come where no limit is given.
        most: how many come at most, whatever the limit.

    Returns:
        The items, and what the answer says about the whole.
    """
    limit = min(request.limit or default, most)
    end = request.offset + limit
    info = api.PageInfo(total_count=len(items), has_more=len(items) > end)
    return items[request.offset : end], info
