"""Names are promises: what an operator wrote for one version holds for the next."""

from hermes_chatto.actors.hermes.settings import Row, settings_rows
from hermes_chatto.actors.hermes.settings_pages import shown_default

AGREED = """
CHATTO_URL                            url                           text      required
CHATTO_TOKEN                          token                         secret    not_set
CHATTO_LOGIN                          login                         text      not_set
CHATTO_PASSWORD                       password                      secret    not_set
CHATTO_ALLOWED_USERS                  allowed_users                 list      empty
CHATTO_ALLOW_ALL_USERS                allow_all_users               bool      false
-                                     unauthorized_dm_behavior      choice    ignore
CHATTO_ALLOW_BOTS                     allow_bots                    choice    none
CHATTO_BOT_USERS                      bot_users                     list      empty
CHATTO_LOOP_BUDGET                    loop_budget                   int       5
CHATTO_MAX_WAITING_PER_PERSON         max_waiting_per_person        int       0
CHATTO_MAX_TURNS_PER_HOUR             max_turns_per_hour            int       0
CHATTO_ALLOWED_CHANNELS               allowed_channels              list      not_set
CHATTO_REQUIRE_MENTION                require_mention               bool      true
CHATTO_FREE_RESPONSE_CHANNELS         free_response_channels        list      empty
CHATTO_ROLE_MENTIONS                  role_mentions                 bool      true
CHATTO_BROADCAST_MENTIONS             broadcast_mentions            bool      false
CHATTO_ANSWER_REPLIES                 answer_replies                bool      true
CHATTO_FOLLOW_UPS                     follow_ups                    choice    asker
CHATTO_HOME_CHANNEL                   home_channel                  text      not_set
CHATTO_THREAD_CONTEXT_MESSAGE_LIMIT   thread_context_message_limit  int       20
CHATTO_ROOM_CONTEXT_MESSAGE_LIMIT     room_context_message_limit    int       20
CHATTO_CONTEXT_CHAR_LIMIT             context_char_limit            int       20000
CHATTO_EDIT_DISPATCH                  edit_dispatch                 bool      true
CHATTO_EDIT_WINDOW                    edit_window                   seconds   300
CHATTO_EDIT_DEBOUNCE_MS               edit_debounce_ms              int       1000
CHATTO_EDITED_UNSEEN                  edited_unseen                 choice    refuse
CHATTO_REACTIONS                      reactions                     bool      true
CHATTO_REACTION_SEEN                  reaction_seen                 emoji     eyes
CHATTO_REACTION_WAITING               reaction_waiting              emoji     not_set
CHATTO_REACTION_CANCELLED             reaction_cancelled            emoji     no_entry_sign
CHATTO_REACTION_FAILED                reaction_failed               emoji     x
CHATTO_RESUME_WINDOW                  resume_window                 seconds   900
CHATTO_PRESENCE                       presence                      bool      true
CHATTO_READ_TIMEOUT                   read_timeout                  seconds   10
CHATTO_SEND_TIMEOUT                   send_timeout                  seconds   30
CHATTO_RATE_LIMIT_WAIT                rate_limit_wait               seconds   30
CHATTO_MAX_PARALLEL_TURNS             max_parallel_turns            int       16
CHATTO_MAX_FILES                      max_files                     int       10
CHATTO_MAX_FILE_MB                    max_file_mb                   int       25
CHATTO_FILE_RETENTION_HOURS           file_retention_hours          int       24
CHATTO_RETENTION_DAYS                 retention_days                int       30
CHATTO_POST_TOOL                      post_tool                     bool      false
CHATTO_ROOM_TOOLSETS                  room_toolsets                 room_map  empty
-                                     channel_prompts               room_map  empty
-                                     rooms                         room_map  empty
CHATTO_CROSS_SESSION_TOOLS            cross_session_tools           bool      false
"""
"""Variable, key, kind and default of every setting that was ever agreed on, built or not.

`-` as a variable: `config.yaml` alone has it. Lines are added, never changed.
"""

Line = tuple[str, str, str, str]


def agreed() -> dict[str, Line]:
    """Return the lines by key."""
    lines = (line.split() for line in AGREED.strip().splitlines())
    return {key: (variable, key, kind, default) for variable, key, kind, default in lines}


def line_of(row: Row) -> Line:
    """Return a setting as its line says it."""
    default = "required" if row.is_required else shown_default(row.default).replace(" ", "_")
    kind = row.kind.value.replace(" ", "_")
    return (row.variable or "-", row.key, kind, default)


def test_a_setting_is_called_as_agreed_and_has_the_agreed_default() -> None:
    """Variable, key, kind and default: a changed one would be another setting."""
    lines = agreed()

    for row in settings_rows():
        assert lines.get(row.key) == line_of(row)


def test_a_variable_is_its_key_in_capitals() -> None:
    """Three names for one field, none of them to be remembered."""
    for variable, key, _, _ in agreed().values():
        assert variable in ("-", f"CHATTO_{key.upper()}")
