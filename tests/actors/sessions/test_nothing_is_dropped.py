"""Whatever is posted has a row, or is counted: no path of the code loses a message in silence."""

from collections.abc import Awaitable, Callable
from dataclasses import replace

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_chatto.actors.sandbox.server.posting import Draft, Posting
from hermes_chatto.actors.sandbox.server.refusals import Code
from hermes_chatto.actors.sandbox.server.rows import Message, Post
from hermes_chatto.actors.sandbox.stage import Colleague, Open
from hermes_chatto.actors.sessions.admission import (
    Admitted,
    Bypassed,
    Inbound,
    NotForUs,
    Path,
    Refused,
    admit,
)
from hermes_chatto.actors.sessions.facts import Message as Said
from hermes_chatto.actors.sessions.facts import Room, RoomKind
from hermes_chatto.actors.sessions.glossary import REASONS
from hermes_chatto.actors.sessions.policy import FollowUps, Policy, Revisions
from hermes_chatto.actors.sessions.services import Limits

from .test_admission import INBOUND, MESSAGE

READ = "MessageService/BatchGetMessages"
QUICK = Policy(allowed_user_entries=("alice", "bob"), revisions=Revisions(pause_s=0.02))
BODIES = ["hi", "@hermes hi", "@bob hi", "@all hi", "/stop", "@hermes /new x", "", "> @hermes"]

said = st.builds(
    lambda body, author, echo, target: replace(
        MESSAGE, body=body, author_id=author, echo_of_id=echo, in_reply_to=target
    ),
    st.sampled_from(BODIES),
    st.sampled_from(["Ualice", "Uhermes"]),
    st.sampled_from([None, "m0"]),
    st.sampled_from([None, "m1"]),
)
rooms = st.builds(
    Room, st.just("R1"), st.just("Ops"), st.sampled_from(RoomKind), st.booleans(), st.booleans()
)
inbounds = st.builds(
    lambda message, room, path, flags: replace(
        INBOUND, message=message, room=room, path=path, **flags
    ),
    said,
    rooms,
    st.sampled_from(Path),
    st.fixed_dictionaries(
        {
            name: st.booleans()
            for name in (
                *("is_pair", "server_says_mentioned", "replies_to_own", "author_is_program"),
                *("answered_here", "author_is_asker"),
            )
        }
    ),
)
policies = st.builds(
    Policy,
    require_mention=st.booleans(),
    strangers_reach_gateway=st.booleans(),
    allowed_rooms=st.sampled_from([None, (), ("R1",)]),
    free_rooms=st.sampled_from([(), ("ops",)]),
    role_mentions=st.booleans(),
    broadcast_mentions=st.booleans(),
    answer_replies=st.booleans(),
    follow_ups=st.sampled_from(FollowUps),
)


@given(inbound=inbounds, policy=policies)
def test_admission_has_four_outcomes_and_a_word_for_each_no(
    inbound: Inbound, policy: Policy
) -> None:
    """A row that runs, a row that goes past, a row with a reason, or a count with a cause."""
    verdict = admit(inbound, policy)

    match verdict:
        case NotForUs():
            assert verdict.cause in REASONS
        case Refused():
            assert verdict.reason in REASONS
        case Admitted() | Bypassed():
            assert isinstance(inbound.message, Said)


# --- all the ways a message goes ------------------------------------------------------------


async def asks(stage: Colleague) -> None:
    """A question, a command, and what is no question."""
    for body in ("@hermes hi", "@hermes /status", "lunch?", "@bob lunch?", "> @hermes hi"):
        await stage.says("alice", body)


async def is_a_stranger(stage: Colleague) -> None:
    """Somebody who may not speak, mention or not."""
    await stage.says("carol", "@hermes hi")
    await stage.says("carol", "hi")


async def is_echoed(stage: Colleague) -> None:
    """A thread reply that shows in the room, too."""
    root = await stage.says("alice", "root")
    world = stage.sandbox.world
    alice = world.accounts.require(stage.ids["alice"])
    alice.roles.add("moderator")
    draft = Draft(
        room_id=stage.rooms["R1"], body="@hermes hi", thread_root_id=root, wants_echo=True
    )
    Posting(world).post(alice, draft)


async def is_deleted_at_once(stage: Colleague) -> None:
    """Before it can be read."""
    stage.retracts(stage.posts("alice", "@hermes hi"))


async def is_edited_at_once(stage: Colleague) -> None:
    """By its author into a question, or out of one; by a moderator; by nobody knows whom."""
    for before, after in (("hm", "@hermes hm"), ("@hermes hm", "hm"), ("hm", "@hermes /stop")):
        await stage.edits("alice", stage.posts("alice", before), after)
    await stage.edits("bob", stage.posts("alice", "@hermes hm"), "@hermes delete everything")
    stage.rewrites(stage.posts("alice", "@hermes hm"), "@hermes hm, hm")


async def is_edited_and_deleted_at_once(stage: Colleague) -> None:
    """Its first read shows an edit; when nobody has said whose, it is gone."""
    message = stage.posts("alice", "@hermes hm")
    stage.rewrites(message, "@hermes hm, hm")
    await stage.until(lambda: stage.sandbox.calls[READ] > 0)
    await anyio.lowlevel.checkpoint()
    stage.retracts(message)


async def is_posted_elsewhere(stage: Colleague) -> None:
    """In a room that is not answered in."""
    await stage.says("alice", "@hermes hi", room="R2")


async def cannot_be_read(stage: Colleague) -> None:
    """The server says no, again and again."""
    stage.faults.refused[READ] = Code.PERMISSION_DENIED
    await stage.says("alice", "@hermes hi")
    await stage.until(lambda: stage.sandbox.calls[READ] > 1)
    stage.faults.refused.clear()


WAYS: list[Callable[[Colleague], Awaitable[None]]] = [
    asks,
    is_a_stranger,
    is_echoed,
    is_deleted_at_once,
    is_edited_at_once,
    is_edited_and_deleted_at_once,
    is_posted_elsewhere,
    cannot_be_read,
]


def posted(stage: Colleague) -> int:
    """Count what was ever posted, by anybody, echoes and all."""
    log = stage.sandbox.world.log
    people = [log.messages_by(user_id) for user_id in stage.ids.values()]
    messages: list[Message] = [message for found in people for message in found]
    echoes: list[Post] = [echo for message in messages for echo in message.echoes]
    return len(messages) + len(echoes)


def accounted(stage: Colleague) -> int:
    """Count what has a row, or was counted as not for the agent."""
    sql = (
        "select (select count(*) from turns) + "
        "coalesce((select sum(messages) from ignored where cause not like 'edit%'), 0)"
    )
    ((found,),) = stage.rows(sql)
    return int(str(found))


@pytest.mark.parametrize("goes", WAYS, ids=lambda way: way.__name__)
async def test_every_message_has_a_row_or_is_counted(
    open_colleague: Open, goes: Callable[[Colleague], Awaitable[None]]
) -> None:
    """Counted when everything is quiet: as many as were posted, the agent's own among them."""
    policy = replace(QUICK, allowed_rooms=("R1",))
    limits = Limits(editor_wait_s=0.1, first_wait_s=0.02, outage_wait_s=0.1)
    async with open_colleague(policy=policy, limits=limits) as colleague:
        await goes(colleague)
        await anyio.sleep(2 * limits.editor_wait_s)  # the limit itself: it leaves no other trace
        last = await colleague.says("bob", "@hermes last")
        await colleague.until_state(last, "answered")
        await colleague.until(lambda: not colleague.rows("select 1 from open_turns"))
        await colleague.stops()

        assert accounted(colleague) == posted(colleague)
