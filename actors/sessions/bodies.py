"""From a text of the gateway to the bodies that are posted."""

import logging
from functools import partial

import anyio
import anyio.to_thread

from .directory import Directory
from .errors import ChatError
from .shaping import handles_in, inert, shape
from .splitting import split, whole_characters

__all__ = ["Bodies"]

log = logging.getLogger(__name__)

AT_ONCE = 5_000  # characters that are read in a few milliseconds; more go to a thread
ASKING_S = 10.0  # in all, as long as one read may take
ASKED_ABOUT = 20  # handles of one text, a read each; further ones call nobody


class Bodies:
    """Shapes and cuts what is posted; answers, interim texts and scheduled ones alike."""

    def __init__(self, directory: Directory) -> None:
        """Ask a directory who is a person."""
        self._directory = directory

    async def of(self, text: str) -> list[str]:
        """Return the bodies of a text, in order; none where nothing in it can be seen.

        Costs a read for each handle in it that is not known to be a person's.
        """
        people = await self._people_in(text)
        make = partial(_bodies, text, people)
        return make() if len(text) <= AT_ONCE else await anyio.to_thread.run_sync(make)

    async def _people_in(self, text: str) -> frozenset[str]:
        """Return which handles of a text are people's; whoever is not found calls nobody.

        Roles share their names with logins, so that who is no person is a role, a broadcast or
        nobody. A list of roles would be old a moment later: no event tells of a new one.
        """
        people = set[str]()
        with anyio.move_on_after(ASKING_S):
            for handle in handles_in(text)[:ASKED_ABOUT]:
                try:
                    if await self._directory.is_person(handle):
                        people.add(handle)
                except ChatError as error:
                    log.warning("who is called @%s could not be read: %s", handle, error)
                    break
        return frozenset(people)


def _bodies(text: str, people: frozenset[str]) -> list[str]:
    return [inert(part, people) for part in split(shape(whole_characters(text), people))]
