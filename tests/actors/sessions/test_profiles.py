"""Two profiles in one process: accounts, state files, tokens and rows of their own."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

from hermes_chatto.actors.sandbox.agent_faults import AgentFaults
from hermes_chatto.actors.sandbox.second_profile import second_profile
from hermes_chatto.actors.sandbox.server.faults import Call
from hermes_chatto.actors.sandbox.server.pb import Proto
from hermes_chatto.actors.sandbox.stage import POLICY, Colleague, Open, Script, colleague
from hermes_chatto.actors.sessions.policy import FollowUps
from hermes_chatto.actors.sessions.ports import TurnOrder

POST = "MessageService/CreateMessage"
TABLES = ("turns", "threads", "outbox", "connection", "transitions", "pins", "ignored")


class Watched(AgentFaults):
    """Disturbs nothing and keeps who called what."""

    def __init__(self) -> None:
        super().__init__()
        self.callers: list[tuple[str, str]] = []

    async def applying(self, call: Call, apply: Callable[[], Awaitable[Proto]]) -> Proto:
        """Note the account whose token came with the call."""
        self.callers.append((call.name, call.user_id))
        return await super().applying(call, apply)


async def as_athene(order: TurnOrder) -> str:
    """Answer as the second agent does."""
    return f"athene: {order.text}"


ATHENE = Script(agent=as_athene, policy=POLICY, login="athene", scope="second")


def scopes(profile: Colleague) -> set[object]:
    """Return the profiles whose rows a state file has."""
    return {
        scope
        for table in TABLES
        for (scope,) in profile.rows(f"select scope from {table}")  # noqa: S608
    }


def messages_of(profile: Colleague) -> dict[object, object]:
    """Return what became of the messages a profile has rows about."""
    return dict(profile.rows("select message_id, state from turns"))  # type: ignore[arg-type]


async def test_each_answers_what_is_meant_for_it_with_its_own_account(
    open_colleague: Open, tmp_path: Path
) -> None:
    """On one server, in one room: nothing of one is done with the other's token (handed S45)."""
    watched = Watched()
    async with (
        open_colleague(faults=watched) as first,
        second_profile(first, tmp_path / "second", ATHENE) as second,
    ):
        watched.callers.clear()
        hers = await first.says("alice", "@athene hi")
        await second.until_state(hers, "answered")
        posters = {user_id for name, user_id in watched.callers if name == POST}
        his = await first.says("bob", "@hermes hi", thread=hers)
        await first.until_state(his, "answered")
        await first.stops()
        await second.stops()

        assert posters == {second.agent_id}
        assert [post.in_reply_to for post in second.answers()] == [hers]
        assert [post.in_reply_to for post in first.answers()] == [his]
        assert (messages_of(first), messages_of(second)) == (
            {his: "answered"},
            {hers: "answered"},
        )
        assert (scopes(first), scopes(second)) == ({"default"}, {"second"})


async def test_a_message_for_both_is_answered_by_both(
    open_colleague: Open, tmp_path: Path
) -> None:
    """Each has a turn of its own for it, and its own answer, once."""
    async with (
        open_colleague() as first,
        second_profile(first, tmp_path / "second", ATHENE) as second,
    ):
        both = await first.says("alice", "@hermes @athene hi")
        for profile in (first, second):
            await profile.until_state(both, "answered")
        again = await first.says("alice", "and you, @hermes and @athene?", thread=both)
        for profile in (first, second):
            await profile.until_state(again, "answered")

            assert [post.in_reply_to for post in profile.answers()] == [both, again]
            assert {post.thread_root_id for post in profile.answers()} == {both}


async def test_what_one_is_asked_the_other_hears_as_context(
    open_colleague: Open, tmp_path: Path
) -> None:
    """Neither takes the other's lines for its own, nor for those of a person it knows."""
    async with (
        open_colleague() as first,
        second_profile(first, tmp_path / "second", ATHENE) as second,
    ):
        hers = await first.says("alice", "@athene hi")
        await second.until_state(hers, "answered")
        his = await first.says("alice", "@hermes what did she say?", thread=hers)
        await first.until_state(his, "answered")

        told = first.gateway.orders[-1].context or ""
        assert "Athene (unverified)" in told
        assert "(this bot)" not in told


async def test_one_that_ends_leaves_the_other_at_work(
    open_colleague: Open, tmp_path: Path
) -> None:
    """A stop, a start and other settings of one change nothing about the other."""
    async with (
        open_colleague() as first,
        second_profile(first, tmp_path / "second", ATHENE) as second,
    ):
        await first.stops()
        hers = await first.says("alice", "@athene hi")
        await second.until_state(hers, "answered")
        await first.starts(Script(policy=replace(POLICY, follow_ups=FollowUps.OFF)))
        went_on = await first.says("alice", "and then?", thread=hers)
        await second.until_state(went_on, "answered")

        assert messages_of(first) == {}


async def test_two_profiles_on_two_servers_know_nothing_of_each_other(tmp_path: Path) -> None:
    """The same logins and names are other accounts and rooms there."""
    script = Script(scope="second")
    async with (
        colleague(tmp_path / "first") as first,
        colleague(tmp_path / "second", script=script) as second,
    ):
        for profile in (first, second):
            asked = await profile.says("alice", "@hermes hi")
            await profile.until_state(asked, "answered")
            assert list(messages_of(profile)) == [asked]
            assert [post.in_reply_to for post in profile.answers()] == [asked]

        pinned = "select login, user_id from pins"
        assert dict(first.rows(pinned)) != dict(second.rows(pinned))  # type: ignore[arg-type]
        assert (scopes(first), scopes(second)) == ({"default"}, {"second"})


async def test_the_rows_of_one_profile_are_nothing_to_another(
    open_colleague: Open, tmp_path: Path
) -> None:
    """A state file that was copied into another home answers for its own profile only."""
    async with (
        open_colleague() as first,
        second_profile(first, tmp_path / "second", ATHENE, is_started=False) as second,
    ):
        asked = await first.says("alice", "@hermes hi")
        await first.until_state(asked, "answered")
        await first.stops()
        second.state_path.parent.mkdir(parents=True)
        second.state_path.write_bytes(first.state_path.read_bytes())
        await second.starts()
        hers = await first.says("alice", "@athene hello?", thread=asked)
        await second.until_state(hers, "answered")

        sql = "select scope, message_id from turns order by scope"
        assert second.rows(sql) == [("default", asked), ("second", hers)]
