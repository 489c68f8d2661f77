"""Where a campaign is played: the server in this process, its faults, and people who ask."""

from collections.abc import AsyncIterator, Container, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from random import Random

from ..server.accounts import Account
from ..server.membership import Membership
from ..server.posting import Draft, Posting
from ..server.sandbox import Sandbox
from ..server.switches import Switchboard
from .disturbances import some
from .judge import Post
from .questions import Question, question

__all__ = ["AGENT", "ASKERS", "KINDS", "Scene", "open_scene"]

AGENT = "hermes"
ASKERS = ("alice", "bob")
"""Who may talk to the agent."""
BYSTANDER = "carol"
ROOMS = 3
KINDS = 8
"""Kinds of questions; see `Scene.ask`."""
RECENT = 6  # threads that are asked in again


@dataclass
class Scene:
    """A server with people on it."""

    sandbox: Sandbox
    board: Switchboard
    url: str
    chance: Random
    accounts: dict[str, Account]
    rooms: list[str]
    direct: dict[str, str]
    """Room of the direct conversation, by login."""
    suffix: str = ""
    """Follows every question: markers for the model."""
    questions: list[Question] = field(default_factory=list)
    """When somebody asked last, by the loop's clock."""

    def disturb(self) -> None:
        """Switch some faults on, or none."""
        self.board.put(*some(self.chance, self.accounts[AGENT].id))

    def ask(self, kind: int | None = None) -> Question:
        """Let somebody ask: in a room, in a thread where others talked meanwhile, or alone.

        Args:
            kind: from 0 to `KINDS` - 1; None: by chance.
        """
        chance, number = self.chance, len(self.questions)
        kind = chance.randrange(KINDS) if kind is None else kind
        parts = 3 if kind in {2, 5} else 1
        login = chance.choice(ASKERS)
        roots = [each for each in self.questions if each.room_id in self.rooms]
        if kind in {1, 3, 5} and roots:
            root = chance.choice(roots[-RECENT:])
            asked = question(number, parts, root.room_id, root.root_id or root.message_id)
            if kind == 1:
                self._post(BYSTANDER, asked.room_id, asked.root_id, "something between")
        elif kind in {4, 6}:
            asked = question(number, parts, self.direct[login])
        else:
            asked = question(number, parts, chance.choice(self.rooms))
        text = f"{asked.text} {self.suffix}".strip()
        asked.message_id = self._post(login, asked.room_id, asked.root_id, text)
        self.questions.append(asked)
        return asked

    def not_received(self, turns: Container[str]) -> Sequence[str]:
        """Say which questions have no row."""
        missing = [each for each in self.questions if each.message_id not in turns]
        return [f"{each.word} is not received" for each in missing]

    def posts(self) -> Sequence[Post]:
        """Return what the agent's account posted."""
        rows = self.sandbox.world.log.messages_by(self.accounts[AGENT].id)
        return [Post(row.id, row.body, row.in_reply_to) for row in rows]

    def _post(self, login: str, room_id: str, root_id: str, body: str) -> str:
        draft = Draft(room_id=room_id, body=body, thread_root_id=root_id)
        return Posting(self.sandbox.world).post(self.accounts[login], draft).id


@asynccontextmanager
async def open_scene(seed: str, suffix: str = "") -> AsyncIterator[Scene]:
    """Start a server with people on it.

    Args:
        seed: of everything that is left to chance.
        suffix: follows every question.
    """
    board = Switchboard()
    sandbox = Sandbox(faults=board)
    accounts = {login: sandbox.add_account(login) for login in (*ASKERS, BYSTANDER, AGENT)}
    names = [f"room-{number}" for number in range(ROOMS)]
    rooms = [sandbox.add_room(name, *accounts.values()).id for name in names]
    membership = Membership(sandbox.world)
    direct = {
        login: membership.start_dm((accounts[login].id, accounts[AGENT].id)).id for login in ASKERS
    }
    chance = Random(seed)  # noqa: S311 - a play, no secret
    async with sandbox as url:
        yield Scene(sandbox, board, url, chance, accounts, rooms, direct, suffix)
