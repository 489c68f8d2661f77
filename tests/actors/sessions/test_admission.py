"""Every outcome of admission, as a table: who, where, which words, under which policy."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_chatto.actors.sessions.admission import (
    Admitted,
    Bypassed,
    Cause,
    Editor,
    Inbound,
    NotForUs,
    Path,
    Refused,
    Verdict,
    admit,
    answers_room,
    command_in,
)
from hermes_chatto.actors.sessions.facts import Message, Room, RoomKind
from hermes_chatto.actors.sessions.glossary import CAUSES, REASONS
from hermes_chatto.actors.sessions.policy import (
    Bots,
    EditedUnseen,
    FollowUps,
    Policy,
    Revisions,
    RoomRules,
)

HERMES, ALICE = "Uhermes", "Ualice"
CHANNEL = Room("R1", "Ops", RoomKind.CHANNEL, is_member=True, is_archived=False)
DIRECT = Room("D1", "", RoomKind.DIRECT, is_member=True, is_archived=False)
MESSAGE = Message(
    message_id="m2",
    room_id="R1",
    author_id=ALICE,
    body="hello",
    created_at=datetime(2026, 1, 1, tzinfo=UTC),
    updated_at=None,
    in_reply_to=None,
    thread_root_id=None,
    echo_of_id=None,
)
INBOUND = Inbound(
    is_pair=False,
    message=MESSAGE,
    room=CHANNEL,
    path=Path.POSTED,
    own_id=HERMES,
    own_login="hermes",
    let_in_by="*",
    server_says_mentioned=False,
    replies_to_own=False,
    answered_here=False,
    author_is_asker=False,
)
POLICY = Policy()
Known = dict[str, Any]
"""Fields of an `Inbound` a test is about."""

WORD_JOINER, ZERO_WIDTH_SPACE, BYTE_ORDER_MARK = "\u2060", "\u200b", "\ufeff"

NOT_ADDRESSED = NotForUs("not_addressed")
ELSEWHERE = NotForUs("addressed_elsewhere")
DIRECTLY, MENTIONED = Admitted(Cause.DIRECT), Admitted(Cause.MENTION)
FOLLOWED, OPENLY = Admitted(Cause.FOLLOW_UP), Admitted(Cause.OPEN_ROOM)


def message(body: str = MESSAGE.body, **fields: str | None) -> Message:
    """Return a message of alice's."""
    return replace(MESSAGE, body=body, **fields)  # type: ignore[arg-type]


def verdict(
    words: Message | str = MESSAGE,
    policy: Policy = POLICY,
    *,
    room: Room = CHANNEL,
    path: Path = Path.POSTED,
    **known: object,
) -> Verdict:
    """Decide about a message by alice in R1, who may speak and is known for nothing."""
    said = message(words) if isinstance(words, str) else words
    known.setdefault("is_pair", room.kind is RoomKind.DIRECT)
    inbound = replace(INBOUND, message=said, room=room, path=path, **known)  # type: ignore[arg-type]
    return admit(inbound, policy)


# --- who, and where -------------------------------------------------------------------------


def test_a_direct_message_needs_no_mention() -> None:
    """Whoever writes to the agent alone means it."""
    assert verdict("hello", room=DIRECT) == DIRECTLY


def test_in_a_group_conversation_the_agent_is_addressed_as_in_a_room() -> None:
    """People there talk to each other, too."""
    assert verdict("hello", room=DIRECT, is_pair=False) == NOT_ADDRESSED
    assert verdict("@hermes hello", room=DIRECT, is_pair=False) == MENTIONED


def test_a_room_message_without_a_mention_is_not_for_the_agent() -> None:
    """In rooms people talk to each other."""
    assert verdict("hello") == NOT_ADDRESSED


def test_an_own_message_is_nothing_to_answer_anywhere() -> None:
    """Asked first: own posts come back on the stream (handed S11)."""
    said = replace(message("@hermes hi"), author_id=HERMES)

    assert verdict(said) == NotForUs("own_message")
    assert verdict(said, room=DIRECT) == NotForUs("own_message")
    assert verdict(said, let_in_by=None) == NotForUs("own_message")


def test_a_room_the_account_is_not_in_is_not_answered() -> None:
    """Whatever is said there is not for the agent."""
    left = replace(CHANNEL, is_member=False)

    assert verdict("@hermes hi", room=left) == NotForUs("room_not_answered")


@pytest.mark.parametrize(
    ("room", "reason"),
    [
        (replace(CHANNEL, is_archived=True), "room_archived"),
        (replace(CHANNEL, is_archived=True, takes_answers=False), "room_archived"),
        (replace(CHANNEL, takes_answers=False), "room_read_only"),
        (replace(DIRECT, takes_answers=False), "room_read_only"),
    ],
    ids=["archived", "archived and read-only", "read-only", "direct"],
)
def test_where_the_agent_may_not_post_it_says_nothing_and_the_row_says_why(
    room: Room, reason: str
) -> None:
    """Only of what is meant for it: nobody else's words get a row."""
    assert verdict("@hermes hi", room=room, is_pair=False) == Refused(Cause.MENTION, reason)
    assert verdict("@hermes /stop", room=room, is_pair=False) == Refused(Cause.MENTION, reason)
    assert verdict("hello", room=room, is_pair=False) == NOT_ADDRESSED


def test_the_list_of_rooms_keeps_others_out() -> None:
    """By ID or by name in any case; an empty list is no room at all."""
    for allowed in (("R1",), ("ops",), ("OPS", "R7")):
        assert verdict("@hermes hi", Policy(allowed_rooms=allowed)) == MENTIONED
    policies = [Policy(allowed_rooms=rooms) for rooms in (("R7",), ("r1",), ("op",), ())]
    for policy in policies:
        assert verdict("@hermes hi", policy) == NotForUs("room_not_answered")


def test_the_list_of_rooms_says_nothing_about_direct_messages() -> None:
    """They are not rooms one could list."""
    assert verdict("hi", Policy(allowed_rooms=()), room=DIRECT) == DIRECTLY


def test_a_room_without_a_name_is_not_named_by_an_empty_entry() -> None:
    """A stray comma in a list opens nothing."""
    nameless = replace(CHANNEL, name="")

    assert not answers_room(nameless, Policy(allowed_rooms=("",)))
    assert answers_room(nameless, Policy(allowed_rooms=("R1",)))


def test_somebody_who_may_not_speak_is_not_asked_about_words() -> None:
    """Neither a mention nor a command of a stranger is told from anything else (S38)."""
    for words in ("@hermes hi", "@hermes /approve", "hello"):
        refused = NotForUs("author_not_allowed")
        assert verdict(words, let_in_by=None) == refused
        assert verdict(words, room=DIRECT, let_in_by=None) == refused


def test_an_echo_is_the_message_it_repeats() -> None:
    """The thread reply itself was announced, too."""
    assert verdict(message("@hermes hi", echo_of_id="m1")) == NotForUs("echo")
    assert verdict(message("hi", echo_of_id="m1"), room=DIRECT) == NotForUs("echo")


def test_the_questions_are_asked_in_order() -> None:
    """Own message, room, author, echo, words: the first that says no names the cause."""
    closed = replace(CHANNEL, is_member=False)
    said = replace(message("hello", echo_of_id="m1"), author_id=HERMES)

    causes = [
        verdict(said, room=closed, let_in_by=None),
        verdict(replace(said, author_id=ALICE), room=closed, let_in_by=None),
        verdict(replace(said, author_id=ALICE), let_in_by=None),
        verdict(replace(said, author_id=ALICE)),
        verdict(message("hello")),
    ]

    assert causes == [
        NotForUs("own_message"),
        NotForUs("room_not_answered"),
        NotForUs("author_not_allowed"),
        NotForUs("echo"),
        NOT_ADDRESSED,
    ]


# --- which words ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    ["@hermes x", "@HERMES x", "(@hermes) x", "**@hermes** x", "hey @hermes, x", "@hermes: x"],
)
def test_a_mention_of_the_login_means_the_agent(words: str) -> None:
    """In any case, with any punctuation around it (handed S15)."""
    assert verdict(words) == MENTIONED


@pytest.mark.parametrize(
    "words",
    ["@hermes2 hi", "@hermes-dev hi", "@hermes_x hi", "@hermesx hi", "`@hermes`", "> @hermes"],
)
def test_what_only_looks_like_a_mention_is_none(words: str) -> None:
    """Longer names, code and quotes (handed S13, S14)."""
    assert verdict(words) == NOT_ADDRESSED


def test_a_mention_may_name_others_as_well() -> None:
    """Who is meant is meant, whoever else is."""
    assert verdict("@bob and @hermes, please") == MENTIONED


def test_a_reply_to_the_agent_means_it() -> None:
    """Unless the operator does not want that."""
    said = message("why?", in_reply_to="a1")

    assert verdict(said, replies_to_own=True) == Admitted(Cause.REPLY)
    assert verdict(said, Policy(answer_replies=False), replies_to_own=True) == NOT_ADDRESSED


def test_a_mention_is_named_before_a_reply() -> None:
    """The stronger cause stands in the row."""
    assert verdict(message("@hermes why?", in_reply_to="a1"), replies_to_own=True) == MENTIONED


def test_a_role_is_meant_when_the_server_says_so() -> None:
    """Text cannot tell which roles the account holds (handed S14)."""
    said = "@moderator help"

    assert verdict(said) == NOT_ADDRESSED
    assert verdict(said, server_says_mentioned=True) == Admitted(Cause.ROLE)
    off = Policy(role_mentions=False)
    assert verdict(said, off, server_says_mentioned=True) == NOT_ADDRESSED


@pytest.mark.parametrize("handle", ["@all", "@here", "@HERE"])
def test_a_broadcast_counts_only_if_the_operator_wants_it(handle: str) -> None:
    """Off by default: not every announcement is a question."""
    on = Policy(broadcast_mentions=True)

    assert verdict(f"{handle} hi", server_says_mentioned=True) == NOT_ADDRESSED
    assert verdict(f"{handle} hi", on, server_says_mentioned=True) == Admitted(Cause.BROADCAST)
    assert verdict(f"{handle} hi", on) == NOT_ADDRESSED


def test_a_broadcast_that_names_somebody_is_no_role() -> None:
    """The server's verdict is explained by the broadcast, which does not count."""
    assert verdict("@all welcome @bob", server_says_mentioned=True) == NOT_ADDRESSED


def test_the_server_alone_mentions_nobody() -> None:
    """A room that notifies of everything looks like a mention without a handle."""
    assert verdict("hello", server_says_mentioned=True) == NOT_ADDRESSED


# --- follow-ups and free rooms --------------------------------------------------------------

IN_THREAD = message("and then?", thread_root_id="m1")


@pytest.mark.parametrize(
    ("setting", "is_asker", "expected"),
    [
        (FollowUps.OFF, True, NOT_ADDRESSED),
        (FollowUps.ASKER, True, FOLLOWED),
        (FollowUps.ASKER, False, NOT_ADDRESSED),
        (FollowUps.ANYONE, True, FOLLOWED),
        (FollowUps.ANYONE, False, FOLLOWED),
    ],
)
def test_a_follow_up_counts_as_the_operator_says(
    *, setting: FollowUps, is_asker: bool, expected: Verdict
) -> None:
    """Without a mention, in a thread where the agent answered."""
    policy = Policy(follow_ups=setting)

    assert verdict(IN_THREAD, policy, answered_here=True, author_is_asker=is_asker) == expected


def test_a_thread_without_a_session_has_no_follow_ups() -> None:
    """Whoever asked elsewhere is nobody here."""
    policy = Policy(follow_ups=FollowUps.ANYONE)

    assert verdict(IN_THREAD, policy, author_is_asker=True) == NOT_ADDRESSED


@pytest.mark.parametrize(
    "policy",
    [Policy(free_rooms=("R1",)), Policy(free_rooms=("oPS",)), Policy(require_mention=False)],
    ids=["by ID", "by name", "everywhere"],
)
def test_a_free_room_needs_no_mention(policy: Policy) -> None:
    """Named by ID or name, or all of them."""
    assert verdict("hello", policy) == OPENLY


def test_another_rooms_freedom_is_not_this_ones() -> None:
    """A list names what it names."""
    assert verdict("hello", Policy(free_rooms=("R2",))) == NOT_ADDRESSED


def test_a_follow_up_in_a_free_room_is_called_that() -> None:
    """The narrower cause stands in the row."""
    policy = Policy(free_rooms=("R1",))

    assert verdict(IN_THREAD, policy, answered_here=True, author_is_asker=True) == FOLLOWED


@pytest.mark.parametrize(
    "said",
    [
        message("@bob look"),
        message("look", in_reply_to="m0"),
        message("look", in_reply_to="m0", thread_root_id="m1"),
    ],
    ids=["names somebody", "points at somebody", "points within the thread"],
)
def test_what_is_addressed_to_somebody_else_is_left_alone(said: Message) -> None:
    """In free rooms and as a follow-up, too."""
    assert verdict(said, Policy(require_mention=False)) == ELSEWHERE
    assert verdict(said, answered_here=True, author_is_asker=True) == ELSEWHERE


@pytest.mark.parametrize(
    ("said", "replies_to_own"),
    [
        (message("look", in_reply_to="m1", thread_root_id="m1"), False),
        (message("look", in_reply_to="a1", thread_root_id="m1"), True),
        (message("@all look"), False),
    ],
    ids=["points at the root", "points at the agent", "names everybody"],
)
def test_what_names_nobody_else_is_open(said: Message, *, replies_to_own: bool) -> None:
    """Clients point at the root of a thread when somebody just writes into it."""
    policy = Policy(require_mention=False, answer_replies=False)

    assert verdict(said, policy, replies_to_own=replies_to_own) == OPENLY


# --- commands -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "body",
    [
        f"{WORD_JOINER}/status{WORD_JOINER}",
        f"{ZERO_WIDTH_SPACE}/status",
        f"{BYTE_ORDER_MARK}/status",
        " \n/status\t",
    ],
)
def test_invisible_characters_around_a_command_do_not_count(body: str) -> None:
    """Some clients put them there (handed S52)."""
    assert verdict(body, room=DIRECT) == Bypassed(Cause.DIRECT, "/status")


def test_joiners_within_words_are_no_command_and_stay() -> None:
    """An ordinary message with an emoji in it (handed S52)."""
    assert verdict("family \u200d emoji stays 👨\u200d👩\u200d👧", room=DIRECT) == DIRECTLY


@pytest.mark.parametrize(
    ("body", "command"),
    [
        ("/status", "/status"),
        ("/model gpt 5", "/model gpt 5"),
        ("/a-b_c\nrest", "/a-b_c\nrest"),
        ("@hermes /stop", "/stop"),
        ("@HERMES: /stop now", "/stop now"),
        (f"@hermes {ZERO_WIDTH_SPACE}/stop{WORD_JOINER}", "/stop"),
        ("@hermes", None),
        ("stop", None),
        ("/", None),
        ("/ stop", None),
        ("//stop", None),
        ("/1st", None),
        ("/etc/hosts is wrong", None),
        ("/stop.", None),
        ("please /stop", None),
        ("@bob /stop", None),
        ("hey @hermes /stop", None),
        ("", None),
    ],
)
def test_a_command_is_a_slash_and_a_name_at_the_beginning(body: str, command: str | None) -> None:
    """Behind a mention of the agent at most; a path is none."""
    assert command_in(body, "hermes") == command


def test_a_command_in_a_room_must_be_addressed() -> None:
    """A slash alone means anybody's program."""
    assert verdict("/status") == NOT_ADDRESSED
    assert verdict("@hermes /status") == Bypassed(Cause.MENTION, "/status")


def test_a_command_as_a_follow_up_needs_no_mention() -> None:
    """Stopping what one asked for must be easy."""
    said = message("/stop", thread_root_id="m1")

    expected = Bypassed(Cause.FOLLOW_UP, "/stop")
    assert verdict(said, answered_here=True, author_is_asker=True) == expected


def test_a_recovered_command_is_not_run() -> None:
    """Nobody knows what it would do now (handed S05)."""
    refused = Refused(Cause.DIRECT, "command")

    assert verdict("/restart", room=DIRECT, path=Path.RECOVERED) == refused


def test_a_recovered_message_is_decided_about_like_any_other() -> None:
    """One function for every way in."""
    assert verdict("@hermes hi", path=Path.RECOVERED) == MENTIONED
    assert verdict("hi", path=Path.RECOVERED) == NOT_ADDRESSED


# --- edits ----------------------------------------------------------------------------------


def test_what_a_moderator_wrote_is_nobodys_question() -> None:
    """Asked before anything else is: the words are not the author's (C 3.8)."""
    refused = NotForUs("editor_is_not_author")

    assert verdict("@hermes hi", path=Path.EDITED, editor=Editor.OTHER) == refused
    assert verdict("@hermes hi", path=Path.EDITED, editor=Editor.OTHER, room=DIRECT) == refused


def test_words_of_an_unknown_editor_are_refused_unless_the_operator_trusts_them() -> None:
    """What is not meant stays not meant; a command is none either way."""
    trusting = Policy(revisions=Revisions(unseen=EditedUnseen.ANSWER))

    for words in ("@hermes hi", "@hermes /stop"):
        unseen = Refused(Cause.MENTION, "edited_unseen")
        assert verdict(words, editor=Editor.UNKNOWN) == unseen
    assert verdict("hi", editor=Editor.UNKNOWN) == NOT_ADDRESSED
    assert verdict("@hermes hi", trusting, editor=Editor.UNKNOWN) == MENTIONED


def test_an_edit_is_never_a_command() -> None:
    """Commands come as posts, as everybody can read them (handed S23)."""
    assert verdict("/stop", room=DIRECT, path=Path.EDITED) == Refused(Cause.DIRECT, "command")
    assert verdict("@hermes /stop", path=Path.EDITED) == Refused(Cause.MENTION, "command")


# --- rules of one room ----------------------------------------------------------------------


def test_what_is_said_of_a_room_wins_over_what_holds_everywhere() -> None:
    """Each setting by itself; what is not said stays as it is."""
    bound = (("ops", RoomRules(require_mention=True)),)
    free = (("R1", RoomRules(require_mention=False)),)
    anyone = (("R1", RoomRules(follow_ups=FollowUps.ANYONE)),)
    off = (("R1", RoomRules(follow_ups=FollowUps.OFF)),)

    assert verdict("hello", Policy(require_mention=False, rooms=bound)) == NOT_ADDRESSED
    assert verdict("hello", Policy(rooms=free)) == OPENLY
    assert verdict(IN_THREAD, Policy(rooms=anyone), answered_here=True) == FOLLOWED
    asked: Known = {"answered_here": True, "author_is_asker": True}
    assert verdict(IN_THREAD, Policy(rooms=off), **asked) == NOT_ADDRESSED
    assert verdict(IN_THREAD, Policy(rooms=free), **asked) == FOLLOWED


# --- other programs -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("setting", "words", "expected"),
    [
        (Bots.NONE, "@hermes hi", NotForUs("program")),
        (Bots.NONE, "hi", NotForUs("program")),
        (Bots.MENTIONS, "@hermes hi", MENTIONED),
        (Bots.MENTIONS, "hi", NOT_ADDRESSED),
        (Bots.MENTIONS, "@hermes /status", Bypassed(Cause.MENTION, "/status")),
        (Bots.ALL, "@hermes hi", MENTIONED),
    ],
)
def test_a_program_counts_as_the_operator_says(
    setting: Bots, words: str, expected: Verdict
) -> None:
    """Everywhere, or in one room alone."""
    everywhere = Policy(allow_bots=setting)
    here = Policy(rooms=(("R1", RoomRules(allow_bots=setting)),))

    assert verdict(words, everywhere, author_is_program=True) == expected
    assert verdict(words, here, author_is_program=True) == expected


def test_a_program_has_to_mention_the_agent_where_mentions_count() -> None:
    """A reply, a follow-up, an open room or a direct conversation is none."""
    mentions = Policy(allow_bots=Bots.MENTIONS, require_mention=False)
    silent = NotForUs("program_without_mention")
    reply = message("why?", in_reply_to="a1")
    program: Known = {"author_is_program": True}

    assert verdict(reply, mentions, replies_to_own=True, **program) == silent
    assert (
        verdict(IN_THREAD, mentions, answered_here=True, author_is_asker=True, **program) == silent
    )
    assert verdict("hello", mentions, **program) == silent
    assert verdict("hello", mentions, room=DIRECT, **program) == silent
    assert verdict("@hermes hello", mentions, room=DIRECT, **program) == MENTIONED
    everything = Policy(allow_bots=Bots.ALL, require_mention=False)
    assert verdict("hello", everything, **program) == OPENLY
    assert verdict("hello", everything, room=DIRECT, **program) == DIRECTLY


def test_a_program_must_be_let_in_like_anybody() -> None:
    """What is said of programs opens no door (handed S12)."""
    known: Known = {"author_is_program": True, "let_in_by": None}

    assert verdict("@hermes hi", Policy(allow_bots=Bots.ALL), **known) == NotForUs(
        "author_not_allowed"
    )


@pytest.mark.parametrize(("caused", "is_spent"), [(0, False), (4, False), (5, True), (9, True)])
def test_a_spent_budget_ends_what_programs_cause(*, caused: int, is_spent: bool) -> None:
    """Commands, too: the gateway answers them. People are not counted."""
    bots = Policy(allow_bots=Bots.ALL)
    spent = Refused(Cause.MENTION, "loop_budget")
    known: Known = {"author_is_program": True, "caused_by_programs": caused}

    assert verdict("@hermes hi", bots, **known) == (spent if is_spent else MENTIONED)
    expected = spent if is_spent else Bypassed(Cause.MENTION, "/status")
    assert verdict("@hermes /status", bots, **known) == expected
    assert verdict("@hermes hi", bots, caused_by_programs=caused) == MENTIONED


def test_a_budget_of_nothing_lets_programs_cause_nothing() -> None:
    """A number is a number, 0 as well."""
    none = Policy(allow_bots=Bots.ALL, loop_budget=0)

    refused = Refused(Cause.MENTION, "loop_budget")
    assert verdict("@hermes hi", none, author_is_program=True) == refused


# --- approvals ------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["/yolo", "/YOLO", "/approvals off", "/approvals  smart"])
def test_approvals_are_not_switched_off_for_others(command: str) -> None:
    """In a room other people ask as well; alone with the agent it is one's own affair."""
    refused = Refused(Cause.MENTION, "not_alone")

    assert verdict(f"@hermes {command}") == refused
    assert verdict(command, room=DIRECT, is_pair=True) == Bypassed(Cause.DIRECT, command)
    assert verdict(f"@hermes {command}", room=DIRECT, is_pair=False) == refused


@pytest.mark.parametrize("command", ["/approvals", "/yolosaurus", "/approve"])
def test_what_shows_approvals_or_gives_one_is_no_such_command(command: str) -> None:
    """Nothing is switched."""
    assert verdict(f"@hermes {command}") == Bypassed(Cause.MENTION, command)


def test_an_approval_is_meant_where_one_is_waited_for() -> None:
    """Whoever gives it, so that somebody else is told; strangers are not read all the same."""
    given = Bypassed(Cause.FOLLOW_UP, "/approve")

    assert verdict("/approve", approval_waits=True) == given
    assert verdict("/approve") == NOT_ADDRESSED
    stranger = verdict("/approve", approval_waits=True, let_in_by=None)
    assert stranger == NotForUs("author_not_allowed")


# --- limits of a person ---------------------------------------------------------------------


def test_limits_are_off_unless_they_are_set() -> None:
    """However much somebody asks."""
    assert verdict("@hermes hi", waiting=999, within_the_hour=999) == MENTIONED


@pytest.mark.parametrize(
    ("policy", "known", "reason"),
    [
        (Policy(max_waiting=2), {"waiting": 1}, None),
        (Policy(max_waiting=2), {"waiting": 2}, "too_many_waiting"),
        (Policy(max_turns_per_hour=2), {"within_the_hour": 1}, None),
        (Policy(max_turns_per_hour=2), {"within_the_hour": 2}, "too_many_this_hour"),
        (Policy(max_waiting=2, max_turns_per_hour=2), {"waiting": 2}, "too_many_waiting"),
    ],
)
def test_one_question_too_many_is_refused(
    policy: Policy, known: Known, reason: str | None
) -> None:
    """With the limit it met; stopping must stay possible, but a command may be a question."""
    expected = MENTIONED if reason is None else Refused(Cause.MENTION, reason)

    assert verdict("@hermes hi", policy, **known) == expected
    assert verdict("@hermes /stop", policy, **known) == Bypassed(Cause.MENTION, "/stop")
    asked = Bypassed(Cause.MENTION, "/queue hi", asks=True) if reason is None else expected
    assert verdict("@hermes /queue hi", policy, command_asks=True, **known) == asked
    assert verdict("hi", policy, **known) == NOT_ADDRESSED


# --- whatever comes -------------------------------------------------------------------------

BODIES = st.text(st.characters(), max_size=60) | st.text(
    st.sampled_from("@hermes @all/stop \n\u200b>`"), max_size=40
)
POLICIES = st.builds(
    Policy,
    require_mention=st.booleans(),
    free_rooms=st.sampled_from([(), ("R1",)]),
    allowed_rooms=st.sampled_from([None, (), ("R1",)]),
    role_mentions=st.booleans(),
    broadcast_mentions=st.booleans(),
    answer_replies=st.booleans(),
    follow_ups=st.sampled_from(FollowUps),
    allow_bots=st.sampled_from(Bots),
    loop_budget=st.integers(0, 2),
    max_waiting=st.integers(0, 2),
    max_turns_per_hour=st.integers(0, 2),
    rooms=st.sampled_from([(), (("R1", RoomRules(require_mention=True)),)]),
)
INBOUNDS = st.builds(
    replace,
    st.just(INBOUND),
    message=st.builds(
        replace,
        st.just(MESSAGE),
        body=BODIES,
        author_id=st.sampled_from([HERMES, ALICE]),
        in_reply_to=st.sampled_from([None, "m0", "m1"]),
        thread_root_id=st.sampled_from([None, "m1"]),
        echo_of_id=st.sampled_from([None, "m0"]),
    ),
    room=st.sampled_from(
        [
            CHANNEL,
            DIRECT,
            replace(CHANNEL, is_archived=True),
            replace(CHANNEL, takes_answers=False),
        ]
    ),
    path=st.sampled_from(Path),
    let_in_by=st.sampled_from([None, "login:alice", "gateway"]),
    server_says_mentioned=st.booleans(),
    replies_to_own=st.booleans(),
    answered_here=st.booleans(),
    author_is_asker=st.booleans(),
    is_pair=st.booleans(),
    editor=st.sampled_from(Editor),
    author_is_program=st.booleans(),
    caused_by_programs=st.integers(0, 3),
    waiting=st.integers(0, 3),
    within_the_hour=st.integers(0, 3),
)


@given(INBOUNDS, POLICIES)
def test_nobody_who_may_not_speak_ever_gets_in(inbound: Inbound, policy: Policy) -> None:
    """No setting and no words open the door; neither do own messages or echoes."""
    shut_out = inbound.let_in_by is None or inbound.message.author_id == HERMES
    if shut_out or inbound.message.echo_of_id or not answers_room(inbound.room, policy):
        assert isinstance(admit(inbound, policy), NotForUs)


@given(INBOUNDS, POLICIES)
def test_a_command_reaches_the_gateway_as_one(inbound: Inbound, policy: Policy) -> None:
    """What goes past the lane begins with a slash; nothing recovered goes past it."""
    decided = admit(inbound, policy)

    if isinstance(decided, Bypassed):
        assert decided.command.startswith("/")
        assert inbound.path is Path.POSTED
    if isinstance(decided, Admitted):
        assert command_in(inbound.message.body, "hermes") is None


@given(INBOUNDS, POLICIES)
def test_a_cause_is_never_one_the_operator_switched_off(inbound: Inbound, policy: Policy) -> None:
    """What stands in the row can be found in the settings."""
    decided = admit(inbound, policy)

    switched_off = {
        Cause.ROLE: not policy.role_mentions,
        Cause.BROADCAST: not policy.broadcast_mentions,
        Cause.REPLY: not policy.answer_replies,
        Cause.FOLLOW_UP: policy.follow_ups is FollowUps.OFF,
        Cause.OPEN_ROOM: policy.require_mention and not policy.free_rooms,
    }
    if not isinstance(decided, NotForUs):
        assert not switched_off.get(decided.cause, False)


@given(INBOUNDS, POLICIES)
def test_every_outcome_has_a_meaning(inbound: Inbound, policy: Policy) -> None:
    """An operator who reads a cause or a reason finds it in the glossary."""
    decided = admit(inbound, policy)

    match decided:
        case NotForUs(cause):
            assert cause in REASONS
        case Refused(cause, reason):
            assert reason in REASONS
            assert cause.value in CAUSES
        case _:
            assert decided.cause.value in CAUSES


@given(INBOUNDS, POLICIES)
def test_a_program_never_gets_more_than_its_budget(inbound: Inbound, policy: Policy) -> None:
    """Two agents that answer each other stop by themselves, whatever they say."""
    spent = replace(inbound, author_is_program=True, caused_by_programs=policy.loop_budget)

    assert not isinstance(admit(spent, policy), Admitted | Bypassed)
