"""Whoever waits for a key is told once, as soon as it is free."""

import anyio

from hermes_chatto.actors.hermes.ready_watch import ReadyWatch

LOOK_S = 0.001


class Told:
    """Counts who was told, and lets a test wait for it."""

    def __init__(self) -> None:
        self.keys: list[str] = []
        self.event = anyio.Event()

    def __call__(self, key: str) -> None:
        """Take one key."""
        self.keys.append(key)
        self.event.set()


async def test_a_key_that_becomes_free_is_told_once() -> None:
    """However often it was asked for."""
    busy, told = {"a", "b"}, Told()
    watch = ReadyWatch(lambda key: key not in busy, told, look_every_s=LOOK_S)

    watch.wait_for("a")
    watch.wait_for("a")
    watch.wait_for("b")
    busy.discard("a")
    with anyio.fail_after(1):
        await told.event.wait()

    assert told.keys == ["a"]
    assert watch.waiting == ("b",)
    watch.close()


async def test_the_task_ends_when_nobody_waits_and_starts_again() -> None:
    """An idle gateway is not looked at."""
    told = Told()
    watch = ReadyWatch(bool, told, look_every_s=LOOK_S)
    watch.wait_for("a")
    with anyio.fail_after(1):
        await told.event.wait()
    await anyio.wait_all_tasks_blocked()

    told.event = anyio.Event()
    watch.wait_for("b")
    with anyio.fail_after(1):
        await told.event.wait()

    assert told.keys == ["a", "b"]
    assert watch.waiting == ()


async def test_after_closing_nobody_is_told() -> None:
    """The sessions are being stopped by then."""
    busy, told = {"a"}, Told()
    watch = ReadyWatch(lambda key: key not in busy, told, look_every_s=LOOK_S)
    watch.wait_for("a")

    watch.close()
    busy.clear()
    await anyio.wait_all_tasks_blocked()

    assert told.keys == []
