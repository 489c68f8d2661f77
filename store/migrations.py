"""The schema, one migration after the other; an old one is never edited.

The one module without relative imports: `sqlite-utils migrate state.db migrations.py` runs it
as a script. Times are UTC, ISO 8601 with milliseconds and a Z; IDs are the server's. What a
column or a view is for stands in the schema itself: `sqlite-utils schema state.db` shows it.
"""

from collections.abc import Mapping
from pathlib import Path

from sqlite_utils import Database, Migrations

__all__ = ["migrations"]

migrations = Migrations("hermes_chatto")

SCHEMA = Path(__file__).with_name("schema")
"""What migrations run, a file each; a released one is never edited either."""

VIEWS: Mapping[str, str] = {
    "turn_overview": """
        -- one line per message that was meant for the agent, newest first: what became of it
        select t.message_id, t.author_name, coalesce(t.room_name, t.room_kind) as room,
               t.posted_at, t.cause, t.state, s.meaning, t.reason, r.meaning as reason_meaning,
               t.command, t.ended_with, t.ended_by, t.ends_as, t.carrier_id,
               case when t.closed_at is null then (
                   select f.message_id from turns as f
                   where f.scope = t.scope and f.session_key = t.session_key
                     and f.closed_at is null and f.lane_order < t.lane_order
                   order by f.lane_order limit 1
               ) end as waits_for,
               (select group_concat(p.message_id, ' ') from outbox as p
                where p.turn_id = t.message_id and p.scope = t.scope and p.kind <> 'interim'
               ) as answered_with,
               -- of the newest text for it: how the first part stands that is missing
               (select p.state || coalesce(' (' || p.reason || ')', '') from outbox as p
                where p.turn_id = t.message_id and p.scope = t.scope
                  and p.delivery_id = (
                      select l.delivery_id from outbox as l
                      where l.turn_id = p.turn_id and l.scope = p.scope and l.kind <> 'interim'
                      order by l.seq desc limit 1)
                order by p.state = 'delivered', p.seq limit 1) as answer_state,
               round((julianday(t.closed_at) - julianday(t.received_at)) * 86400, 3) as took_s,
               case when t.closed_at is null then
                   round((julianday('now') - julianday(t.received_at)) * 86400, 1)
               end as waiting_s,
               t.attempt, t.received_at, t.updated_at, t.closed_at, t.room_id, t.thread_root_id,
               t.author_id, t.session_key, t.lane_order
        from turns as t
        left join glossary as s on s.kind = 'turn' and s.word = t.state
        left join glossary as r
            on r.kind = 'reason' and r.word = substr(t.reason, 1, instr(t.reason || ':', ':') - 1)
        order by t.lane_order desc
    """,
    "open_turns": """
        -- what is still to be done, longest wait first
        select message_id, author_name, room, posted_at, cause, state, meaning, reason,
               reason_meaning, waits_for, answer_state, waiting_s, attempt, received_at,
               updated_at, room_id, thread_root_id, author_id, session_key
        from turn_overview
        where closed_at is null
        order by lane_order
    """,
    "unanswered": """
        -- messages meant for the agent without an answer in the room, newest first, and why
        select message_id, author_name, room, posted_at, state, meaning, reason, reason_meaning,
               ended_with, ended_by, ends_as, carrier_id, waits_for, answer_state, waiting_s,
               cause, attempt, received_at, updated_at, closed_at, room_id, thread_root_id,
               author_id, session_key
        from turn_overview
        where state not in ('answered', 'bypassed')
        order by lane_order desc
    """,
    "turn_story": """
        -- every step about one message, in order, whatever the machine: where message_id = ...
        select n.message_id, n.seq, n.at,
               round((julianday(n.at) - julianday(t.received_at)) * 86400, 3) as after_s,
               n.machine, n.event, coalesce(n.from_state || ' -> ', '') || n.to_state as step,
               s.meaning, n.reason, r.meaning as reason_meaning, n.detail, n.key
        from transitions as n
        left join turns as t on t.message_id = n.message_id and t.scope = n.scope
        left join glossary as s on s.kind = n.machine and s.word = n.to_state
        left join glossary as r
            on r.kind = 'reason' and r.word = substr(n.reason, 1, instr(n.reason || ':', ':') - 1)
        where n.message_id is not null
        order by n.message_id, n.seq
    """,
    "thread_frontiers": """
        -- what each session holds of its thread, newest change first
        select h.session_key, coalesce(t.room_name, h.room_kind) as room, h.state, s.meaning,
               h.frontier_id, h.gap as read_after_gap, c.gap as newest_gap,
               (select count(*) from turns as o
                where o.scope = h.scope and o.session_key = h.session_key
                  and o.closed_at is null) as open_turns,
               h.updated_at, h.room_id, h.thread_root_id
        from threads as h
        left join turns as t on t.message_id = h.frontier_id and t.scope = h.scope
        left join connection as c on c.scope = h.scope
        left join glossary as s on s.kind = 'thread' and s.word = h.state
        order by h.updated_at desc
    """,
    "deliveries": """
        -- one line per text the agent posts, newest first; its state is read off its parts
        select d.delivery_id, d.turn_id, d.kind, d.parts, d.delivered,
               case
                   when m.state is null then 'delivered'
                   when m.state = 'refused' and d.delivered > 0 then 'partial'
                   else m.state
               end as state,
               m.reason, r.meaning as reason_meaning, d.message_ids, d.bytes, d.attempts,
               d.created_at, d.updated_at, d.room_id, d.thread_root_id
        from (
            select scope, delivery_id, turn_id, kind, room_id, thread_root_id,
                   count(*) as parts, sum(state = 'delivered') as delivered,
                   group_concat(message_id, ' ') as message_ids, sum(bytes) as bytes,
                   sum(attempt) as attempts, min(seq) as seq,
                   -- parts go out in order: the first that is missing says how it stands
                   min(case when state <> 'delivered' then part end) as missing,
                   min(created_at) as created_at, max(updated_at) as updated_at
            from outbox
            group by delivery_id, scope
        ) as d
        left join outbox as m
            on m.delivery_id = d.delivery_id and m.scope = d.scope and m.part = d.missing
        left join glossary as r
            on r.kind = 'reason' and r.word = substr(m.reason, 1, instr(m.reason || ':', ':') - 1)
        order by d.seq desc
    """,
    "outbox_open": """
        -- parts that are not in the room, oldest first
        select p.outbox_id, p.turn_id, p.kind, p.part, p.parts, p.bytes, p.state, s.meaning,
               p.reason, r.meaning as reason_meaning, p.attempt,
               round((julianday('now') - julianday(p.created_at)) * 86400, 1) as waiting_s,
               p.created_at, p.updated_at, p.room_id, p.thread_root_id
        from outbox as p
        left join glossary as s on s.kind = 'delivery' and s.word = p.state
        left join glossary as r
            on r.kind = 'reason' and r.word = substr(p.reason, 1, instr(p.reason || ':', ':') - 1)
        where p.state not in ('delivered', 'superseded')
        order by p.seq
    """,
    "health": """
        -- one line: is it connected, and does anything wait
        select coalesce(c.state, 'offline') as connection, s.meaning, c.reason,
               r.meaning as reason_meaning,
               coalesce(
                   (select n.at from transitions as n
                    where n.message_id is null and n.key = c.scope and n.machine = 'connection'
                      and n.from_state is not n.to_state
                    order by n.seq desc limit 1),
                   c.updated_at) as since,
               c.attempt as losses_in_a_row, c.server_url, c.server_version, c.account_id,
               (select count(*) from turns where closed_at is null) as open_turns,
               (select round((julianday('now') - julianday(min(received_at))) * 86400, 1)
                from turns where closed_at is null) as longest_wait_s,
               (select count(*) from turns
                where state = 'failed'
                  and closed_at > strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-1 day')) as failed_24h,
               (select count(*) from threads where state = 'behind') as threads_behind,
               (select count(*) from threads where state = 'blind') as threads_blind,
               (select count(*) from outbox
                where state not in ('delivered', 'superseded')
                  and state <> 'refused') as parts_under_way,
               (select count(*) from outbox
                where state not in ('delivered', 'superseded')
                  and state = 'refused') as parts_refused,
               (select at from transitions order by seq desc limit 1) as last_step_at
        from (select 1) as one
        left join connection as c
        left join glossary as s
            on s.kind = 'connection' and s.word = coalesce(c.state, 'offline')
        left join glossary as r
            on r.kind = 'reason' and r.word = substr(c.reason, 1, instr(c.reason || ':', ':') - 1)
    """,
}


@migrations()
def m001_tables(db: Database) -> None:
    """Create the tables."""
    _run(db, "tables")


@migrations()
def m002_views(db: Database) -> None:
    """Create the views an operator reads."""
    for name, sql in VIEWS.items():
        db.create_view(name, sql)


@migrations()
def m003_texts(db: Database) -> None:
    """Keep of each text that is posted how long it was and its digest: it may come again."""
    db.execute("alter table outbox add column text_bytes integer")
    db.execute("alter table outbox add column text_digest text")
    db.execute(
        "create index outbox_by_place on outbox (room_id, thread_root_id, created_at)"
        " where kind = 'answer'"
    )


@migrations()
def m004_open_ends(db: Database) -> None:
    """Find open questions and missing signs; keep what is owed; count in `health`."""
    _run(db, "open_ends")
    last = "(select at from transitions order by seq desc limit 1) as last_step_at"
    counted = """(select json_group_object(room_id, messages) from (
                   select room_id, sum(messages) as messages from ignored group by room_id
               )) as not_for_us"""
    health = VIEWS["health"].replace(last, f"{last},\n               {counted}")
    db.create_view("health", health, replace=True)


@migrations()
def m005_admission(db: Database) -> None:
    """Keep what let people in, whom logins mean, and what programs have caused."""
    _run(db, "admission")


@migrations()
def m006_memberships(db: Database) -> None:
    """Keep how the account stands in its rooms."""
    _run(db, "memberships")


@migrations()
def m007_position(db: Database) -> None:
    """Keep how far everything was read, which threads are to be followed, muted rooms."""
    _run(db, "position")


@migrations()
def m008_levels(db: Database) -> None:
    """Keep each level that a room has for itself: it wins over the one of all rooms."""
    _run(db, "levels")


@migrations()
def m009_asking_commands(db: Database) -> None:
    """Know which commands had the agent run: they are questions as far as limits go."""
    db.execute("alter table turns add column asks integer not null default 0")


@migrations()
def m010_rooms_of_frontiers(db: Database) -> None:
    """Name the room also where the session holds nothing, or its question is pruned."""
    frontiers = VIEWS["thread_frontiers"]
    rooms = "left join memberships as m on m.room_id = h.room_id and m.scope = h.scope"
    for old, new in (
        ("t.room_name, h.room_kind", "t.room_name, m.room_name, h.room_kind"),
        ("left join connection", f"{rooms}\n        left join connection"),
    ):
        frontiers = frontiers.replace(old, new)
    db.create_view("thread_frontiers", frontiers, replace=True)


def _run(db: Database, name: str) -> None:
    """Run the statements of a file in the folder `schema`."""
    text = (SCHEMA / f"{name}.sql").read_text(encoding="utf-8")
    for statement in filter(str.strip, text.split(";\n")):
        db.execute(statement)
