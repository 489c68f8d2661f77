"""What is said of rooms in maps of one thing: toolsets and prompts."""

import pytest

from hermes_chatto.actors.hermes.room_lists import joined_blocks, read_prompts, read_toolsets
from hermes_chatto.actors.hermes.settings import SettingsError, admission_policy, resolve
from hermes_chatto.actors.hermes.values import MalformedError
from hermes_chatto.actors.sessions.policy import RoomRules

WEB = RoomRules(toolsets=("web",))
BOTH = RoomRules(toolsets=("web", "chatto"))


def no_variable(name: str) -> None:
    """Have no variable."""
    del name


@pytest.mark.parametrize(
    "raw",
    [
        {"R1": ["web", "chatto"], "R2": ["web"]},
        {"R1": "web, chatto", "R2": "web"},
        "R1=web,chatto; R2=web",
        " R1 = web , chatto ;; R2=web\n",
    ],
    ids=repr,
)
def test_a_map_and_a_variable_say_the_same(raw: object) -> None:
    """Blanks do not matter."""
    assert read_toolsets("room_toolsets", raw) == (("R1", BOTH), ("R2", WEB))


def test_names_of_toolsets_are_not_checked() -> None:
    """The gateway drops what it does not know (S-84); a tool that is missing is seen at once."""
    (entry,) = read_toolsets("room_toolsets", {"R1": ["web", "no_such_tool"]})

    assert entry[1].toolsets == ("web", "no_such_tool")


@pytest.mark.parametrize(
    "raw",
    [
        {"R1": None},
        {"R1": {"web": True}},
        {"R1": ["web", 5]},
        {"R1": []},
        {"R1": ""},
        {"R1": ["web", ""]},
        {"R1": 5},
        {"": ["web"]},
        {None: ["web"]},
        ["web"],
        7,
        "R1",
        "R1=",
        "=web",
    ],
    ids=repr,
)
def test_a_slip_stops_the_start_and_names_the_entry(raw: object) -> None:
    """An empty list would give a room everything (S-83)."""
    with pytest.raises(SettingsError) as stopped:
        resolve(no_variable, {"room_toolsets": raw})

    text = str(stopped.value)
    assert text.startswith("platforms.chatto.extra.room_toolsets is not ")
    assert text.endswith("Correct it and restart the gateway.")
    assert "R1" in text or "R1" not in str(raw)


def test_no_entries_are_no_slip() -> None:
    """Nothing is said of any room."""
    nothing: tuple[object, ...] = ({}, None, "")
    for raw in nothing:
        settings = resolve(no_variable, {"room_toolsets": raw}).settings
        assert admission_policy(settings).rooms == ()


def test_prompts_are_texts() -> None:
    """A blank one is none."""
    read = read_prompts("channel_prompts", {"R1": " Be brief. ", "R2": " "})

    assert read == (("R1", RoomRules(prompt="Be brief.")), ("R2", RoomRules()))
    with pytest.raises(MalformedError, match=r"channel_prompts\.R1"):
        read_prompts("channel_prompts", {"R1": ["Be brief."]})


def test_what_several_settings_say_of_a_room_holds_together() -> None:
    """Of one room, however it is written; what all say alike may be said twice."""
    extra = {
        "rooms": {"Ops": {"toolsets": ["web"], "thread_context_message_limit": 5}},
        "room_toolsets": {"ops": ["web"]},
        "channel_prompts": {"OPS": "Be brief."},
    }

    settings = resolve(no_variable, extra).settings

    both = RoomRules(toolsets=("web",), prompt="Be brief.", thread_lines=5)
    assert admission_policy(settings).rooms == (("Ops", both),)


def test_the_same_thing_said_differently_stops_the_start() -> None:
    """Nobody can tell which of the two is meant."""
    extra = {"rooms": {"ops": {"toolsets": ["web"]}}, "room_toolsets": {"ops": ["chatto"]}}

    named = (
        r"^platforms\.chatto\.extra\.rooms\.ops and platforms\.chatto\.extra\.room_toolsets\.ops "
    )
    with pytest.raises(SettingsError, match=named + "say different things of one room"):
        resolve(no_variable, extra)
    assert joined_blocks((("a", WEB),), (("A", BOTH),)) == ((), ("rooms.a", "rooms.A"))


def test_a_variable_that_contradicts_itself_is_the_one_that_is_named() -> None:
    """The operator looks where it was written, not into a block that does not exist."""
    variables = {"CHATTO_ROOM_TOOLSETS": "R1=web; r1=chatto"}
    named = r"^CHATTO_ROOM_TOOLSETS\.R1 and CHATTO_ROOM_TOOLSETS\.r1 say different things"

    with pytest.raises(SettingsError, match=named):
        resolve(variables.get, {})
    prompts = {"channel_prompts": {"ops": "Be brief.", "Ops": "Be long."}}
    with pytest.raises(SettingsError, match=r"channel_prompts\.ops and .*channel_prompts\.Ops"):
        resolve(no_variable, prompts)
