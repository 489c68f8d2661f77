"""Mail that waits for something outside to be over: it is neither counted nor given up."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import repeat
from typing import Any

import anyio
import pytest
from anyio.abc import TaskGroup

from hermes_chatto.actors.runtime.attempt import LONGEST_OUTAGE_WAIT_S
from hermes_chatto.actors.runtime.clock import ManualClock
from hermes_chatto.actors.runtime.supervisor import (
    Actor,
    Address,
    Kind,
    Supervisor,
)

ANN = Address("note", "ann")


class DiskFullError(Exception):
    """What passes by itself."""


@dataclass
class Disk:
    """Something that all actors need."""

    full_for: int = 0
    """How many attempts it refuses yet."""
    tries: int = 0
    handled: list[Any] = field(default_factory=list)

    def write(self, mail: object) -> None:
        """Keep a mail, or refuse it."""
        self.tries += 1
        if self.tries <= self.full_for:
            raise DiskFullError
        self.handled.append(mail)


@dataclass
class Writer:
    """Writes down its mail."""

    disk: Disk

    async def handle(self, mails: Sequence[Any]) -> None:
        """Write it down, all of it or nothing."""
        for mail in mails:
            self.disk.write(mail)


@dataclass
class Broken:
    """Fails by itself, whatever the mail; and then the disk is full."""

    disk: Disk

    async def handle(self, mails: Sequence[Any]) -> None:
        """Fail."""
        del mails
        self.disk.full_for = 20
        raise ValueError


def supervisor_of(
    tasks: TaskGroup, disk: Disk, clock: ManualClock, actor: Actor, wait_s: float = 10.0
) -> Supervisor:
    """Return a supervisor whose actor needs a disk; giving up needs it, too."""

    async def build(_key: str) -> Actor:
        return actor

    async def bury(address: Address, _mails: Sequence[Any], _error: Exception) -> None:
        disk.write(f"gave up {address}")

    return Supervisor(
        tasks,
        {"note": Kind(build)},
        clock=clock,
        waits=lambda: repeat(wait_s),
        on_dead=bury,
        attempts=2,
        is_outage=lambda error: isinstance(error, DiskFullError),
    )


async def test_mail_waits_for_the_end_of_an_outage_however_long(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Many more attempts than a failure gets, in short waits, and not a line for each."""
    clock, disk = ManualClock(), Disk(full_for=50)
    async with anyio.create_task_group() as tasks:
        supervisor = supervisor_of(tasks, disk, clock, Writer(disk))
        for mail in ("first", "second"):
            supervisor.tell(ANN, mail)
        for _ in range(disk.full_for):
            await clock.until_sleeping()
            clock.advance(LONGEST_OUTAGE_WAIT_S)
        await supervisor.settled()
        assert supervisor.stats.dead == 0

    assert disk.handled == ["first", "second"]
    assert caplog.text == ""


async def test_giving_up_waits_for_the_end_of_an_outage(caplog: pytest.LogCaptureFixture) -> None:
    """Else what could not be handled would end without a name."""
    clock, disk = ManualClock(), Disk()

    async with anyio.create_task_group() as tasks:
        supervisor = supervisor_of(tasks, disk, clock, Broken(disk), wait_s=1.0)
        supervisor.tell(ANN, "mail")
        for _ in range(1 + 20):
            await clock.until_sleeping()
            clock.advance(LONGEST_OUTAGE_WAIT_S)
        await supervisor.settled()

    assert disk.handled == ["gave up note=ann"]
    assert "giving up failed" not in caplog.text
