"""Agents that answer each other stop by themselves, and go on when a person writes."""

from collections.abc import AsyncIterator, Collection, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from hermes_chatto.actors.chatto.client import ChattoServer
from hermes_chatto.actors.chatto.credential import Password
from hermes_chatto.actors.sandbox.second_profile import second_profile
from hermes_chatto.actors.sandbox.server.account_calls import tell_profile
from hermes_chatto.actors.sandbox.stage import POLICY, Colleague, Open, Script
from hermes_chatto.actors.sessions.facts import Person
from hermes_chatto.actors.sessions.policy import Bots, FollowUps, Policy
from hermes_chatto.actors.sessions.ports import TurnOrder

BUDGET = 3
BOTS = replace(
    POLICY,
    allowed_user_entries=("alice", "bob", "carol", "hermes", "athene"),
    allow_bots=Bots.ALL,
    bot_entries=("hermes", "athene", "carol"),
    loop_budget=BUDGET,
)
"""Carol is a program here."""


@pytest.fixture
async def colleague(open_colleague: Open) -> AsyncIterator[Colleague]:
    """Return a profile that answers programs, within a budget."""
    async with open_colleague(policy=BOTS, is_started=False) as stage:
        await stage.starts(Script(policy=replace(BOTS, bot_entries=("carol",))))
        yield stage


async def state_of(colleague: Colleague, message_id: str) -> tuple[object, object]:
    """Wait until it is decided what becomes of a message, and return it with the reason."""
    sql = "select state, reason from turns where message_id = ?"
    ends = ("answered", "refused")
    await colleague.until(
        lambda: any(state in ends for state, _ in colleague.rows(sql, message_id))
    )
    ((state, reason),) = colleague.rows(sql, message_id)
    return state, reason


SPENT = ("refused", "loop_budget")


def counters(colleague: Colleague) -> dict[tuple[object, object], object]:
    """Return the counters an operator sees, by kind and key."""
    rows = colleague.rows("select kind, key, turns from loops")
    return {(kind, key): turns for kind, key, turns in rows}


async def spend(colleague: Colleague, root: str) -> None:
    """Let carol's program ask in a thread as often as it may."""
    for number in range(BUDGET):
        asked = await colleague.says("carol", f"@hermes {number}", thread=root)
        assert await state_of(colleague, asked) == ("answered", None)


async def test_programs_cause_only_so_many_turns_in_a_thread(colleague: Colleague) -> None:
    """What is one too many has a row that says so; a person may ask on."""
    root = await colleague.says("alice", "@hermes what is up?")
    await spend(colleague, root)

    more = await colleague.says("carol", "@hermes and now?", thread=root)
    assert await state_of(colleague, more) == SPENT
    key = f"agent:main:chatto:thread:{colleague.rooms['R1']}:{root}"
    assert counters(colleague) == {
        ("thread", key): BUDGET,
        ("pair", colleague.ids["carol"]): BUDGET,
    }
    hers = await colleague.says("bob", "@hermes me, too", thread=root)
    assert await state_of(colleague, hers) == ("answered", None)


async def test_a_program_that_opens_a_thread_for_every_line_is_stopped(
    colleague: Colleague,
) -> None:
    """The count of the pair follows it: into other threads, rooms and conversations."""
    direct = await colleague.opens_dm("carol")
    places = ["R1", "R2", direct]
    for place in places:
        asked = await colleague.says("carol", "@hermes hi", room=place)
        assert await state_of(colleague, asked) == ("answered", None)

    for place in places:
        more = await colleague.says("carol", "@hermes hi again", room=place)
        assert await state_of(colleague, more) == SPENT


@pytest.mark.parametrize("words", ["@hermes stop it", "what are they doing?"])
async def test_a_person_who_writes_there_lets_them_go_on(colleague: Colleague, words: str) -> None:
    """Whether or not it is meant for the agent."""
    root = await colleague.says("alice", "@hermes what is up?")
    await spend(colleague, root)
    await colleague.says("alice", words, thread=root)

    more = await colleague.says("carol", "@hermes and now?", thread=root)
    assert await state_of(colleague, more) == ("answered", None)
    assert set(counters(colleague).values()) == {1}


async def test_a_person_frees_a_program_that_was_spent_where_no_person_is(
    colleague: Colleague,
) -> None:
    """In a direct conversation of two programs nobody could ever write for them."""
    direct = await colleague.opens_dm("carol")
    for number in range(BUDGET):
        asked = await colleague.says("carol", f"@hermes {number}", room=direct)
        assert await state_of(colleague, asked) == ("answered", None)
    refused = await colleague.says("carol", "@hermes hi")
    assert await state_of(colleague, refused) == SPENT
    await colleague.says("alice", "what are they doing?")

    more = await colleague.says("carol", "@hermes and now?")
    assert await state_of(colleague, more) == ("answered", None)


async def test_a_stranger_who_writes_there_changes_nothing(open_colleague: Open) -> None:
    """Else a program nobody has listed would keep the talk going."""
    policy = replace(BOTS, allowed_user_entries=("alice", "carol"), bot_entries=("carol",))
    async with open_colleague(policy=policy) as colleague:
        root = await colleague.says("alice", "@hermes what is up?")
        await spend(colleague, root)
        await colleague.says("bob", "go on!", thread=root)

        more = await colleague.says("carol", "@hermes and now?", thread=root)
        assert await state_of(colleague, more) == SPENT


async def test_a_restart_does_not_begin_the_count_anew(colleague: Colleague) -> None:
    """It stands in the state file."""
    root = await colleague.says("alice", "@hermes what is up?")
    await spend(colleague, root)
    await colleague.stops()
    await colleague.starts()

    more = await colleague.says("carol", "@hermes and now?", thread=root)
    assert await state_of(colleague, more) == SPENT


async def test_a_program_cannot_go_on_by_editing(colleague: Colleague) -> None:
    """An edit that would start a turn, or start one again, counts as one."""
    root = await colleague.says("alice", "@hermes what is up?")
    silent = await colleague.says("carol", "@bob hi", thread=root)
    await spend(colleague, root)
    await colleague.edits("carol", silent, "@hermes hi")
    told = "select messages from ignored where cause = 'edit_loop_budget'"
    await colleague.until(
        lambda: bool(colleague.rows(told)) or colleague.state_of(silent) == "refused"
    )

    assert colleague.state_of(silent) in (None, "refused")


class TellingServer(ChattoServer):
    """A server that says which accounts are programs, as later ones than 0.4.20 do."""

    async def people(self, user_ids: Collection[str]) -> Mapping[str, Person]:
        """Say it of carol."""
        found = await super().people(user_ids)
        return {
            user_id: replace(person, is_program=person.login == "carol")
            for user_id, person in found.items()
        }


async def test_where_the_server_says_who_is_a_program_nobody_has_to_list_it(
    open_colleague: Open,
) -> None:
    """Its word is as good as the list, also after the account got another name."""
    async with open_colleague(is_started=False) as colleague:
        policy = replace(BOTS, allow_bots=Bots.MENTIONS, bot_entries=(), require_mention=False)
        server = TellingServer(colleague.url, Password("hermes", "hermes-pass-1"))
        await colleague.starts(Script(policy=policy, around=lambda _: server))
        carol = colleague.sandbox.world.accounts.require(colleague.ids["carol"])
        carol.display_name = "Carol the human"
        tell_profile(colleague.sandbox.world, carol, carol)
        silent = await colleague.says("carol", "hello")
        asked = await colleague.says("carol", "@hermes hello")

        assert await state_of(colleague, asked) == ("answered", None)
        assert colleague.state_of(silent) is None
        assert counters(colleague)["pair", carol.id] == 1


async def test_a_program_that_is_not_listed_causes_nothing(open_colleague: Open) -> None:
    """Off by default: its words are not even read (handed S12)."""
    policy = replace(BOTS, allow_bots=Bots.NONE, bot_entries=("carol",))
    async with open_colleague(policy=policy) as colleague:
        ignored = await colleague.says("carol", "@hermes build 5 done")
        asked = await colleague.says("alice", "@hermes what was that?", thread=ignored)
        await colleague.until_state(asked, "answered")
        ack = await colleague.says("carol", "@hermes ack", thread=ignored)
        last = await colleague.says("alice", "@hermes ok", thread=ignored)
        await colleague.until_state(last, "answered")
        await colleague.stops()

        assert (colleague.state_of(ignored), colleague.state_of(ack)) == (None, None)
        assert len(colleague.answers()) == 2
        counted = colleague.rows("select messages from passed_over where cause = 'program'")
        assert counted == [(2,)]


@pytest.mark.parametrize("follow_ups", FollowUps)
async def test_two_agents_that_answer_each_other_stop(
    open_colleague: Open, tmp_path: Path, follow_ups: FollowUps
) -> None:
    """Each answer calls the other one; a person's message begins it anew, and it ends again."""
    policy: Policy = replace(BOTS, follow_ups=follow_ups)

    async def hail_athene(order: TurnOrder) -> str:
        return f"@athene {len(order.text)}"

    async def hail_hermes(order: TurnOrder) -> str:
        return f"@hermes {len(order.text)}"

    script = Script(agent=hail_hermes, policy=policy, login="athene", scope="athene")
    async with (
        open_colleague(agent=hail_athene, policy=policy, is_started=False) as first,
        second_profile(first, tmp_path / "second", script, is_started=False) as second,
    ):
        await first.starts()
        await second.starts()

        def refusals() -> int:
            spent = "select 1 from turns where reason = 'loop_budget'"
            return len(first.rows(spent)) + len(second.rows(spent))

        root = await first.says("alice", "@hermes say hello")
        await first.until(lambda: refusals() == 1)
        said = len(first.answers()) + len(second.answers())
        assert said <= 2 * BUDGET + 1

        await first.says("alice", "@hermes once more", thread=root)
        await first.until(lambda: refusals() == 2)

        assert len(first.answers()) + len(second.answers()) <= 2 * said
