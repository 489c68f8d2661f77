"""A state file as years leave it: many threads, each with what it was asked and answered last."""

import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

from ....store.database import open_database, transaction
from ...runtime.clock import utc_text

__all__ = ["copy_file", "fill", "state_file_in"]

NUMBERS = "with recursive c (n) as (select 1 union all select n + 1 from c where n < :count)"
KEY = "'agent:main:chatto:thread:R0000000000001:M' || printf('%013d', n)"
MESSAGE = "'M' || printf('%013d', n)"

THREADS = f"""
    {NUMBERS}
    insert into threads (scope, session_key, room_id, room_kind, thread_root_id, state,
        frontier_id, frontier_at, ahead_ids, session_token, token_kept_at, gap, created_at,
        updated_at)
    select 'default', {KEY}, 'R0000000000001', 'channel', {MESSAGE}, 'seeded', {MESSAGE}, :at,
        '[]', lower(hex(randomblob(8))), :at, 1, :at, :at from c
"""  # noqa: S608  our own words
TURNS = f"""
    {NUMBERS}
    insert into turns (scope, message_id, room_id, room_name, room_kind, thread_root_id,
        session_key, author_id, author_name, digest, attachment_ids, posted_at, received_at,
        state, cause, attempt, updated_at, closed_at)
    select 'default', {MESSAGE}, 'R0000000000001', 'general', 'channel', {MESSAGE}, {KEY},
        'U0000000000001', 'Alice', lower(hex(randomblob(32))), '[]', :at, :at, 'answered',
        'mention', 1, :at, :at from c
"""  # noqa: S608  our own words
PARTS = f"""
    {NUMBERS}
    insert into outbox (scope, outbox_id, delivery_id, turn_id, kind, part, parts, room_id,
        thread_root_id, bytes, digest, state, attempt, message_id, created_at, updated_at)
    select 'default', {MESSAGE} || ':0a1b2c3d/1', {MESSAGE} || ':0a1b2c3d', {MESSAGE}, 'answer',
        1, 1, 'R0000000000001', {MESSAGE}, 200, lower(hex(randomblob(32))), 'delivered', 1,
        'A' || printf('%013d', n), :at, :at from c
"""  # noqa: S608


def fill(path: Path, threads: int) -> None:
    """Make a state file that knows so many threads, or add them to one."""
    at = utc_text(datetime.now(UTC) - timedelta(days=5))
    db = open_database(path, now=datetime.now(UTC)).db
    try:
        with transaction(db):
            for sql in (THREADS, TURNS, PARTS):
                db.conn.execute(sql, {"count": threads, "at": at})
    finally:
        db.close()


def copy_file(source: Path, target: Path) -> None:
    """Copy one stage's state file to another, and away from the rounds before.

    A stage has its own server, so what a round leaves in the file (pinned accounts, the position)
    would be of accounts that the next one does not know.
    """
    state_file_in(target).parent.mkdir(parents=True)
    shutil.copyfile(state_file_in(source), state_file_in(target))


def state_file_in(folder: Path) -> Path:
    """Return where a stage keeps its state file."""
    return folder / "chatto" / "state.db"
