"""Whom the operator's lists of people mean: accounts, never names.

A login is looked up once and pinned to the account that has it. From then on the entry means
that account, whatever it is called; whoever takes the login later inherits nothing.
"""

import logging
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ...store import pins
from ...store.pins import PinRow
from ..runtime.store_errors import StoreBusyError, StoreUnavailableError
from .directory import Directory
from .facts import Person
from .journal import Journal
from .policy import Policy

__all__ = ["EVERYBODY", "Roster", "RosterReader"]

log = logging.getLogger(__name__)

EVERYBODY = "*"
USER_ID = re.compile(r"U[0-9A-Za-z]{14}")
"""Source: Chatto 0.4.20, docs/adr/ADR-022: a prefix letter and 14 characters."""

ALLOWED, PROGRAMS = "allowed_users", "bot_users"


@dataclass(frozen=True, slots=True)
class Roster:
    """The lists of people as accounts."""

    allowed: Mapping[str, str] = field(default_factory=dict[str, str])
    """By user ID, what lets it in: `login:` or `id:` and the entry."""
    for_all: str | None = None
    """What lets everybody in; None: nothing does."""
    programs: frozenset[str] = frozenset()
    """User IDs of accounts that are programs."""

    def entry_for(self, user_id: str) -> str | None:
        """Return what lets an account in, the narrowest first; None: no entry does."""
        return self.allowed.get(user_id, self.for_all)


class RosterReader:
    """Looks the lists up at each connection; says each thing that is wrong with them once."""

    def __init__(self, policy: Policy, journal: Journal, directory: Directory) -> None:
        """Read for one profile.

        Args:
            policy: has the lists as they were written.
            journal: keeps the pins.
            directory: asks the server.
        """
        self._policy = policy
        self._journal = journal
        self._directory = directory
        self._said: set[str] = set()

    async def read(self) -> Roster:
        """Return whom the lists mean. One call for each new login, one for all others.

        Raises:
            ChatError: the server could not be asked.
        """
        policy = self._policy
        allowed = await self._accounts(ALLOWED, policy.allowed_user_entries)
        programs = await self._accounts(PROGRAMS, policy.bot_entries)
        everybody = EVERYBODY if EVERYBODY in policy.allowed_user_entries else None
        return Roster(
            allowed=allowed,
            for_all="allow_all_users" if policy.allow_all else everybody,
            programs=frozenset(programs),
        )

    async def _accounts(self, setting: str, entries: Iterable[str]) -> dict[str, str]:
        """Return the accounts of one list, each with the entry that names it."""
        bare = [entry.lstrip("@") for entry in entries if entry != EVERYBODY]
        ids = [entry for entry in bare if USER_ID.fullmatch(entry)]
        logins = {entry.lower() for entry in bare if not USER_ID.fullmatch(entry)}
        pinned = await self._pinned(setting, logins)
        known = await self._directory.living({*ids, *pinned.values()})
        for user_id in ids:
            if user_id not in known:
                self._say(
                    f"{_variable(setting)}: nobody on the server has the ID {user_id!r}; "
                    "correct or remove the entry"
                )
        for login, user_id in pinned.items():
            self._say_what_changed(setting, login, known.get(user_id))
        named = {pinned[login]: f"login:{login}" for login in sorted(pinned)}
        return named | {user_id: f"id:{user_id}" for user_id in ids}

    async def _pinned(self, setting: str, logins: set[str]) -> dict[str, str]:
        """Return the account of each login, pinning those that have none; forget old ones."""
        scope = self._journal.scope
        rows = await self._journal.read(lambda db: pins.of_setting(db, scope, setting))
        pinned = {row.login: row.user_id for row in rows if row.login in logins}
        new = list[PinRow]()
        for login in sorted(logins - pinned.keys()):
            person = await self._directory.find(login)
            if person is None:
                self._say(
                    f"{_variable(setting)}: nobody on the server has the login {login!r}; "
                    "correct or remove the entry"
                )
            else:
                new.append(PinRow(scope, setting, login, person.user_id, self._journal.now()))
        gone = [row.login for row in rows if row.login not in logins]
        if new or gone:
            await self._keep(setting, new, gone)
        return pinned | {row.login: row.user_id for row in new}

    async def _keep(self, setting: str, new: Sequence[PinRow], gone: Sequence[str]) -> None:
        """Write the pins; a disk that is full keeps nobody out, and the next connection asks."""
        try:
            draft = self._journal.draft()
            for row in new:
                draft.also(lambda db, row=row: pins.pin(db, row))  # type: ignore[misc]
            scope = self._journal.scope
            draft.also(lambda db: pins.drop(db, scope, setting, gone))
            await draft.commit()
        except (StoreBusyError, StoreUnavailableError) as error:
            log.warning("%s: whom new logins mean is not kept: %s", _variable(setting), error)

    def _say_what_changed(self, setting: str, login: str, person: Person | None) -> None:
        if person is None:
            self._say(
                f"{_variable(setting)}: the account that {login!r} means is gone; whoever has the "
                "login now is another, and to be named by user ID"
            )
        elif person.login.lower() != login:
            self._say(
                f"{_variable(setting)}: the account that {login!r} means is called "
                f"{person.login!r} now; whoever has the old login is another"
            )

    def _say(self, line: str) -> None:
        if line not in self._said:
            self._said.add(line)
            log.warning("%s", line)


def _variable(setting: str) -> str:
    return f"CHATTO_{setting.upper()}"
