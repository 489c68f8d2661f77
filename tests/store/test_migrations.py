"""The schema as SQLite has it, and as the command line of sqlite-utils makes it."""

import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from sqlite_utils import Database

from hermes_chatto.store.database import open_database
from hermes_chatto.tests.store.samples import NOW, receive

SCRIPT = Path(__file__).resolve().parents[2] / "store" / "migrations.py"

MAY_BE_NULL = {
    "turns": {
        "lane_order",  # SQLite fills it
        *("room_name", "thread_root_id", "body", "in_reply_to", "reason", "cause", "carrier_id"),
        *("ends_as", "ended_by", "ended_with", "thread_before", "frontier_before", "closed_at"),
        *("holding_before", "session_token", "command", "sign"),
        "let_in_by",
    },
    "pins": set[str](),
    "loops": set[str](),
    "threads": {
        *("thread_root_id", "frontier_id", "frontier_at", "blind_until_id", "token_kept_at"),
        "to_follow_since",
    },
    "room_sessions": {"reason"},
    "outbox": {
        "seq",  # SQLite fills it
        *("turn_id", "thread_root_id", "in_reply_to", "body", "reason", "message_id"),
        *("text_bytes", "text_digest"),  # rows of an earlier version have none
    },
    "position": {"at", "begun_at", "resume_cursor"},
    "levels": set[str](),
    "connection": {"reason", "account_id", "server_version"},
    "memberships": {"reason"},
    "prompts": {"reason", "message_id", "settled_by"},
    "ignored": set[str](),
    "transitions": {
        "seq",  # SQLite fills it
        *("message_id", "from_state", "reason", "detail"),
    },
    "glossary": set[str](),
}


def sqlite_utils(*arguments: str | Path) -> str:
    """Run the command line as an operator does and return what it says."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "sqlite_utils", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def schema_of(db: Database) -> list[str]:
    """Return every statement of a schema, in the order of names."""
    found = db.execute("select sql from sqlite_master where sql is not null order by type, name")
    return [sql for (sql,) in found]


def test_command_line_makes_the_same_schema(tmp_path: Path, db: Database) -> None:
    """An operator can make or bring up to date a file without the gateway."""
    path = tmp_path / "by-hand.db"

    sqlite_utils("migrate", path, SCRIPT)

    with Database(path, execute_plugins=False) as made:
        assert schema_of(made) == schema_of(db)
    opened = open_database(path, now=NOW)
    assert receive(opened.db).lane_order == 1
    opened.db.close()


def test_command_line_says_what_was_applied(path: Path, db: Database) -> None:
    """And finds nothing left to do in a file of the gateway."""
    del db

    listed = sqlite_utils("migrate", path, SCRIPT, "--list")

    applied, pending = listed.split("Pending")
    assert "m001_tables" in applied
    assert "m002_views" in applied
    assert "m003_texts" in applied
    assert "m005_admission" in applied
    assert "m0" not in pending


def test_tables_are_strict(db: Database) -> None:
    """A number in a column of text is a mistake, not a habit."""
    loose = db.execute(
        "select name from pragma_table_list where schema = 'main' and type = 'table' "
        "and not strict and name not like 'sqlite%' and name not like '\\_%' escape '\\'"
    ).fetchall()

    assert loose == []


@pytest.mark.parametrize("table", sorted(MAY_BE_NULL))
def test_columns_are_filled_unless_nothing_is_a_value(db: Database, table: str) -> None:
    """What may be missing is listed; everything else never is."""
    found = db.execute('select name from pragma_table_info(?) where not "notnull"', (table,))

    assert {name for (name,) in found} == MAY_BE_NULL[table]


def test_every_table_is_among_them(db: Database) -> None:
    """A new one has to be thought about."""
    assert set(db.table_names()) - {"_sqlite_migrations"} == set(MAY_BE_NULL)


def test_value_of_another_type_is_refused(db: Database) -> None:
    """Also one from a person's own statement."""
    receive(db)

    with pytest.raises(sqlite3.IntegrityError, match="cannot store TEXT"):
        db.execute("update turns set attempt = 'twice'")


@pytest.mark.parametrize(
    "statement",
    [
        "update turns set room_kind = 'group'",
        "update turns set state = null",
        "update turns set message_id = 'm2' where message_id = 'm1'",
    ],
)
def test_value_that_no_row_may_have_is_refused(db: Database, statement: str) -> None:
    """The schema says it, not only the code."""
    receive(db, "m1")
    receive(db, "m2")

    with pytest.raises(sqlite3.IntegrityError):
        db.execute(statement)


def test_schema_explains_itself(path: Path, db: Database) -> None:
    """What an operator sees first has a line for every table and view."""
    del db

    schema = sqlite_utils("schema", path)

    for name in (
        *MAY_BE_NULL,
        "turn_overview",
        "unanswered",
        "turn_story",
        "health",
        "admissions",
    ):
        opening = schema.lower().split(f"{name}")[1:]
        assert any("--" in text[:120] for text in opening), name
