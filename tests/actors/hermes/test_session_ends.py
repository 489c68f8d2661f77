"""The gateway's word that a run ended reaches the loops it is meant for, from any thread."""

import asyncio
import threading

import anyio

from hermes_chatto.actors.hermes.session_ends import SessionEnds


async def test_an_end_told_in_a_thread_is_heard_in_the_loop() -> None:
    """The gateway fires the hook in the thread of the agent, or in one beside it."""
    ends, heard, told_in = SessionEnds(), anyio.Event(), list[int]()

    def hear(session_id: str) -> None:
        assert session_id == "s1"
        told_in.append(threading.get_ident())
        heard.set()

    ends.subscribe(hear)
    await asyncio.to_thread(ends.tell, session_id="s1", interrupted=True)
    with anyio.fail_after(1):
        await heard.wait()

    assert told_in == [threading.get_ident()]


async def test_who_left_hears_nothing() -> None:
    """An adapter that was replaced is not told of the runs of the next one."""
    ends, heard = SessionEnds(), list[str]()
    first = ends.subscribe(heard.append)
    ends.subscribe(lambda session_id: heard.append(f"second {session_id}"))

    ends.unsubscribe(first)
    ends.unsubscribe(first)
    ends.tell(session_id="s1")
    await anyio.wait_all_tasks_blocked()

    assert heard == ["second s1"]


def test_an_end_after_the_loop_changes_nothing() -> None:
    """A run may outlive the gateway's loop by a moment."""
    ends, heard = SessionEnds(), list[str]()

    async def listen() -> None:
        ends.subscribe(heard.append)

    asyncio.run(listen())
    ends.tell(session_id="s1")

    assert heard == []
