"""One table: environment, then `config.yaml`, then default."""

from collections.abc import Mapping
from typing import get_args, get_type_hints

import pytest

from hermes_chatto.actors.hermes.room_blocks import RoomBlocks
from hermes_chatto.actors.hermes.settings import (
    Row,
    Settings,
    SettingsError,
    admission_policy,
    missing_credential,
    resolve,
    settings_rows,
    split_home,
)
from hermes_chatto.actors.hermes.values import Kind, Secret
from hermes_chatto.actors.sessions.policy import Bots, FollowUps, Policy, RoomRules

NOTHING: Mapping[str, str] = {}
TYPES = {
    Kind.TEXT: str,
    Kind.SECRET: Secret,
    Kind.BOOL: bool,
    Kind.INT: int,
    Kind.SECONDS: int,
    Kind.CHOICE: str,
    Kind.EMOJI: str,
    Kind.LIST: tuple[str, ...],
    Kind.ROOM_MAP: RoomBlocks,
}


def test_every_reader_gives_what_its_field_says() -> None:
    """The table and the types of `Settings` cannot drift apart."""
    hints = get_type_hints(Settings)

    for row in settings_rows():
        hint = hints[row.attribute]
        assert TYPES[row.kind] in (hint, *get_args(hint)), row.attribute
        assert row.default is not None or type(None) in get_args(hint), row.attribute


def test_nothing_written_gives_the_defaults() -> None:
    """A default is written once, in the table."""
    resolution = resolve(NOTHING.get, {})

    assert resolution.settings == Settings()
    assert resolution.warnings == ()


def test_the_variable_wins_over_the_key() -> None:
    """Order: variable, key, default."""
    variables = {"CHATTO_URL": "https://one.example.org"}

    resolution = resolve(variables.get, {"url": "https://two.example.org", "login": "bot"})

    assert resolution.settings.url == "https://one.example.org"
    assert resolution.settings.login == "bot"


def test_a_variable_set_to_nothing_counts_as_not_set() -> None:
    """An empty line in `.env` switches nothing off."""
    variables = {"CHATTO_URL": "  ", "CHATTO_ALLOWED_CHANNELS": ""}

    settings = resolve(variables.get, {"url": "https://two.example.org"}).settings

    assert settings.url == "https://two.example.org"
    assert settings.allowed_channels is None


@pytest.mark.parametrize("raw", ["false", False, "off", 0])
def test_the_same_value_gives_the_same_result_by_each_way(raw: object) -> None:
    """Whoever moves a line from `.env` to `config.yaml` sees no difference."""
    by_key = resolve(NOTHING.get, {"require_mention": raw})
    by_variable = resolve({"CHATTO_REQUIRE_MENTION": str(raw)}.get, {})

    assert by_key == by_variable
    assert by_key.settings.require_mention is False


WRITTEN: Mapping[Kind, str] = {
    Kind.TEXT: " words ",
    Kind.SECRET: "hunter2",
    Kind.INT: "7",
    Kind.SECONDS: "7",
    Kind.LIST: "a, b",
    Kind.ROOM_MAP: "R1=web,chatto; R2=web",
    Kind.EMOJI: ":tada:",
}


@pytest.mark.parametrize("row", settings_rows(), ids=lambda row: row.key)
def test_every_setting_is_the_same_by_each_way(row: Row) -> None:
    """Three names for one field; junk of its kind gives its default and one warning."""
    if row.variable is None:
        pytest.skip("config.yaml alone has it")
    said = {Kind.CHOICE: row.choices[-1:], Kind.BOOL: ["off" if row.default else "on"]}
    written = said[row.kind][0] if row.kind in said else WRITTEN[row.kind]

    by_variable = resolve({row.variable: written}.get, {})
    by_key = resolve(NOTHING.get, {row.key: written})

    assert by_variable == by_key
    assert by_variable.warnings == ()
    assert getattr(by_key.settings, row.attribute) != row.default
    both = resolve({row.variable: written}.get, {row.key: "no such value"})
    assert getattr(both.settings, row.attribute) == getattr(by_key.settings, row.attribute)


def test_junk_gives_the_default_and_one_warning() -> None:
    """The operator reads which field and which value."""
    resolution = resolve({"CHATTO_READ_TIMEOUT": "5m"}.get, {"follow_ups": "often"})

    assert resolution.settings == Settings()
    first, second = resolution.warnings
    assert first.startswith("platforms.chatto.extra.follow_ups: 'often' is not one of off, asker")
    assert second.startswith("CHATTO_READ_TIMEOUT: '5m' is not a whole number")


def test_a_secrets_value_is_in_no_warning() -> None:
    """Not even when it is junk."""
    resolution = resolve(NOTHING.get, {"password": ["hunter2"], "token": True})

    assert len(resolution.warnings) == 2
    assert "hunter2" not in repr(resolution)


def test_settings_show_no_secret() -> None:
    """A log line with the settings is harmless."""
    settings = resolve({"CHATTO_TOKEN": "s3cret", "CHATTO_PASSWORD": "hunter2"}.get, {}).settings

    assert "s3cret" not in f"{settings} {settings!r}"
    assert "hunter2" not in f"{settings} {settings!r}"


@pytest.mark.parametrize("empty", [[], "", None, ","])
def test_a_list_that_is_written_but_empty_means_none(empty: object) -> None:
    """Emptied by mistake, an allowlist lets nobody in, never everybody."""
    resolution = resolve(NOTHING.get, {"allowed_channels": empty})

    assert resolution.settings.allowed_channels == ()
    assert len(resolution.warnings) == 1
    assert "means none, not all" in resolution.warnings[0]


def test_a_malformed_list_stops_the_start_and_is_named() -> None:
    """A map where a list belongs is nothing to guess about."""
    with pytest.raises(SettingsError, match=r"platforms\.chatto\.extra\.allowed_users is not a"):
        resolve(NOTHING.get, {"allowed_users": {"alice": True}})


def test_an_unknown_key_is_named_with_its_nearest_neighbour() -> None:
    """A typo is found on the first start."""
    resolution = resolve(NOTHING.get, {"require_mentions": True, "_enabled_explicit": True})

    assert resolution.warnings == (
        "platforms.chatto.extra.require_mentions is no setting; the nearest is require_mention",
    )


def test_what_the_gateway_reads_under_extra_is_not_unknown() -> None:
    """It copies keys of its own there."""
    extra = {"group_sessions_per_user": True, "notice_delivery": "private"}

    assert resolve(NOTHING.get, extra).warnings == ()


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({}, "CHATTO_URL is not set"),
        ({"CHATTO_URL": "u"}, "No credential for Chatto: set CHATTO_TOKEN, or CHATTO_LOGIN"),
        ({"CHATTO_URL": "u", "CHATTO_LOGIN": "bot"}, "CHATTO_PASSWORD is not set"),
        ({"CHATTO_URL": "u", "CHATTO_PASSWORD": "x"}, "CHATTO_LOGIN is not set"),
    ],
)
def test_what_is_missing_is_said_in_one_line(variables: dict[str, str], words: str) -> None:
    """It names the setting and the remedy."""
    said = missing_credential(resolve(variables.get, {}).settings)

    assert said is not None
    assert words in said
    assert "\n" not in said


@pytest.mark.parametrize(
    "variables",
    [
        {"CHATTO_TOKEN": "t"},
        {"CHATTO_LOGIN": "bot", "CHATTO_PASSWORD": "x"},
        {"CHATTO_TOKEN": "t", "CHATTO_LOGIN": "bot"},
    ],
)
def test_a_token_or_login_and_password_is_enough(variables: dict[str, str]) -> None:
    """Both together are fine too: the token is used first."""
    settings = resolve({"CHATTO_URL": "u", **variables}.get, {}).settings

    assert missing_credential(settings) is None


def test_the_policy_of_the_defaults_is_the_policys_own_default() -> None:
    """Silence for strangers, mentions needed, follow-ups of the asker."""
    assert admission_policy(Settings()) == Policy()


def test_the_policy_says_what_the_settings_say() -> None:
    """Every field of it comes from one setting."""
    extra = {
        "allowed_users": "alice,bob",
        "allow_all_users": True,
        "unauthorized_dm_behavior": "pair",
        "require_mention": False,
        "free_response_channels": ["general"],
        "allowed_channels": ["general", "help"],
        "role_mentions": False,
        "broadcast_mentions": True,
        "answer_replies": False,
        "follow_ups": "anyone",
        "rooms": {"general": {"allow_bots": "none"}},
        "allow_bots": "mentions",
        "bot_users": ["buildbot"],
        "loop_budget": 3,
        "max_waiting_per_person": 2,
        "max_turns_per_hour": 20,
    }

    policy = admission_policy(resolve(NOTHING.get, extra).settings)

    assert policy == Policy(
        allowed_user_entries=("alice", "bob"),
        allow_all=True,
        strangers_reach_gateway=True,
        require_mention=False,
        free_rooms=("general",),
        allowed_rooms=("general", "help"),
        role_mentions=False,
        broadcast_mentions=True,
        answer_replies=False,
        follow_ups=FollowUps.ANYONE,
        rooms=(("general", RoomRules(allow_bots=Bots.NONE)),),
        allow_bots=Bots.MENTIONS,
        bot_entries=("buildbot",),
        loop_budget=3,
        max_waiting=2,
        max_turns_per_hour=20,
    )


def test_a_room_that_is_free_and_bound_at_once_stops_the_start() -> None:
    """The same thing said twice and differently is nothing to guess about; twice alike is fine."""
    block: dict[str, object] = {"rooms": {"General": {"require_mention": True}}}
    variables = {"CHATTO_FREE_RESPONSE_CHANNELS": "general"}

    with pytest.raises(
        SettingsError, match=r"extra\.rooms\.General and free_response_channels \("
    ):
        resolve(variables.get, block)
    free = {"rooms": {"general": {"require_mention": False}}}
    assert resolve(variables.get, free).warnings == ()


def test_a_malformed_block_of_a_room_stops_the_start_and_is_named() -> None:
    """In one line, with the remedy."""
    with pytest.raises(SettingsError, match=r"extra\.rooms is not a map .* \(the entry 'ops'\)"):
        resolve(NOTHING.get, {"rooms": {"ops": ["require_mention"]}})


@pytest.mark.parametrize(
    ("variables", "extra", "value"),
    [
        ({"CHATTO_LOOP_BUDGET": "7"}, {"loop_budget": 9}, 7),
        ({}, {"loop_budget": 9}, 9),
        ({}, {"loop_budget": "9"}, 9),
        ({}, {"loop_budget": "many"}, 5),
        ({"CHATTO_LOOP_BUDGET": "7.5"}, {"loop_budget": 9}, 5),
        ({}, {"loop_budget": True}, 5),
        ({}, {}, 5),
    ],
)
def test_a_number_is_read_by_its_kind(
    variables: dict[str, str], extra: dict[str, object], value: int
) -> None:
    """The variable wins, text and number are one, junk gives the default (E-38 to E-43)."""
    resolution = resolve(variables.get, extra)

    assert resolution.settings.loop_budget == value
    is_junk = value == 5 and bool(variables or extra)
    assert [("loop_budget" in line.lower()) for line in resolution.warnings] == [True] * is_junk


@pytest.mark.parametrize("word", ["false", " False ", "off", "no", "0"])
def test_there_are_many_ways_to_write_no(word: str) -> None:
    """As a variable or as a key (handed S42)."""
    assert not resolve({"CHATTO_EDIT_DISPATCH": word}.get, {}).settings.edit_dispatch
    assert not resolve(NOTHING.get, {"edit_dispatch": word}).settings.edit_dispatch
    assert not resolve(
        {"CHATTO_EDIT_DISPATCH": word}.get, {"edit_dispatch": True}
    ).settings.edit_dispatch


def test_what_is_no_yes_and_no_no_is_the_default() -> None:
    """With one warning that names it; a variable set to nothing has none (handed S42)."""
    maybe = resolve({"CHATTO_EDIT_DISPATCH": "maybe"}.get, {})
    empty = resolve({"CHATTO_EDIT_DISPATCH": ""}.get, {})

    assert maybe.settings.edit_dispatch
    assert [line.partition(":")[0] for line in maybe.warnings] == ["CHATTO_EDIT_DISPATCH"]
    assert empty == resolve(NOTHING.get, {})


ROOMS = ("R1", "R2", "R3")


@pytest.mark.parametrize(
    ("variables", "extra"),
    [
        ({"CHATTO_ALLOWED_CHANNELS": "R1, R2 ,,R3,"}, {}),
        ({"CHATTO_ALLOWED_CHANNELS": '"R1","R2","R3"'}, {}),
        ({}, {"allowed_channels": ["R1", "R2", "R3"]}),
        ({}, {"allowed_channels": "R1,R2,R3"}),
        ({}, {"allowed_channels": "R1\nR2\nR3\n"}),
    ],
)
def test_there_are_many_ways_to_write_a_list_of_rooms(
    variables: dict[str, str], extra: dict[str, object]
) -> None:
    """Blanks, empty items and quotes do not matter (handed S43)."""
    resolution = resolve(variables.get, extra)

    assert resolution.settings.allowed_channels == ROOMS
    assert resolution.warnings == ()


def test_a_misspelt_setting_is_named_and_the_others_apply() -> None:
    """One warning, with the near match (handed S44)."""
    resolution = resolve(NOTHING.get, {"edit_dispach": False, "edit_window": 60})

    assert resolution.settings.edit_dispatch
    assert resolution.settings.edit_window_s == 60
    (warning,) = resolution.warnings
    assert "edit_dispach" in warning
    assert "edit_dispatch" in warning


def test_a_home_channel_may_name_a_thread() -> None:
    """`ROOM/THREAD`, or the room alone."""
    assert split_home("R1/T1") == ("R1", "T1")
    assert split_home("R1") == ("R1", None)
    assert split_home(" R1 / ") == ("R1", None)
