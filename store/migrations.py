"""The schema, one migration after the other; an old one is never edited.

The one module without relative imports: `sqlite-utils migrate state.db migrations.py` runs it
as a script. Times are UTC, ISO 8601 with milliseconds and a Z; IDs are the server's.
"""

from sqlite_utils import Database, Migrations

__all__ = ["migrations"]

migrations = Migrations("hermes_chatto")

TABLES = """
create table turns (
    scope text not null,
    message_id text not null,
    room_id text not null,
    room_kind text not null check (room_kind in ('channel', 'direct')),
    thread_root_id text,
    session_key text not null,
    author_id text not null,
    author_name text not null,
    body text,
    digest text not null,
    attachment_ids text not null,
    in_reply_to text,
    posted_at text not null,
    received_at text not null,
    lane_order integer not null,
    state text not null,
    reason text,
    cause text,
    attempt integer not null,
    carrier_id text,
    ends_as text,
    ended_by text,
    ended_with text,
    thread_before text,
    frontier_before text,
    holding_before text,
    session_token text,
    command text,
    updated_at text not null,
    closed_at text,
    primary key (scope, message_id)
) strict, without rowid;
create index turns_by_lane on turns (scope, session_key, lane_order);
create index turns_not_closed on turns (scope, state) where closed_at is null;

create table threads (
    scope text not null,
    session_key text not null,
    room_id text not null,
    room_kind text not null check (room_kind in ('channel', 'direct')),
    thread_root_id text,
    state text not null,
    frontier_id text,
    frontier_at text,
    ahead_ids text not null,
    blind_until_id text,
    session_token text not null,
    token_kept_at text,
    gap integer not null,
    created_at text not null,
    updated_at text not null,
    primary key (scope, session_key)
) strict, without rowid;
create index threads_by_root on threads (scope, room_id, thread_root_id);

create table room_sessions (
    scope text not null,
    message_id text not null,
    room_id text not null,
    session_key text not null,
    state text not null,
    reason text,
    created_at text not null,
    updated_at text not null,
    primary key (scope, message_id)
) strict, without rowid;

create table outbox (
    scope text not null,
    outbox_id text not null,
    delivery_id text not null,
    turn_id text,
    kind text not null check (kind in ('answer', 'interim', 'other')),
    part integer not null,
    parts integer not null,
    room_id text not null,
    thread_root_id text,
    in_reply_to text,
    body text,
    bytes integer not null,
    digest text not null,
    state text not null,
    reason text,
    attempt integer not null,
    message_id text,
    created_at text not null,
    updated_at text not null,
    primary key (scope, outbox_id)
) strict, without rowid;
create index outbox_by_delivery on outbox (scope, delivery_id, part);
create index outbox_by_turn on outbox (scope, turn_id) where turn_id is not null;
create index outbox_not_closed on outbox (scope, state)
    where state not in ('delivered', 'superseded');
create index outbox_by_message on outbox (scope, message_id) where message_id is not null;

create table connection (
    scope text primary key not null,
    server_url text not null,
    state text not null,
    reason text,
    attempt integer not null,
    gap integer not null,
    account_id text,
    server_version text,
    updated_at text not null
) strict, without rowid;

create table prompts (
    scope text not null,
    outbox_id text not null,
    turn_id text not null,
    kind text not null check (kind in ('approval', 'choice')),
    state text not null,
    reason text,
    message_id text,
    settled_by text,
    created_at text not null,
    updated_at text not null,
    primary key (scope, outbox_id)
) strict, without rowid;

create table ignored (
    scope text not null,
    room_id text not null,
    cause text not null,
    messages integer not null,
    last_at text not null,
    primary key (scope, room_id, cause)
) strict, without rowid;

create table transitions (
    seq integer primary key,
    scope text not null,
    at text not null,
    machine text not null,
    key text not null,
    message_id text,
    event text not null,
    from_state text,
    to_state text not null,
    reason text,
    detail text
) strict;
create index transitions_by_key on transitions (machine, key, seq);
create index transitions_by_message on transitions (message_id, seq) where message_id is not null;
"""

VIEWS = {
    "open_turns": """
        select message_id, room_id, thread_root_id, author_name, state, cause, attempt,
               received_at,
               round((julianday('now') - julianday(received_at)) * 86400, 1) as age_s
        from turns
        where closed_at is null
        order by received_at, lane_order
    """,
    "unanswered": """
        select message_id, room_id, thread_root_id, author_name, state, reason, cause,
               ended_by, ended_with, attempt, received_at, updated_at
        from turns
        where state not in ('answered', 'bypassed')
        order by received_at, lane_order
    """,
    "turn_story": """
        select message_id, seq, at, machine, event,
               coalesce(from_state || ' -> ', '') || to_state as step,
               reason, detail, key
        from transitions
        where message_id is not null
        order by message_id, seq
    """,
    "thread_frontiers": """
        select session_key, room_id, thread_root_id, state, frontier_id, gap, updated_at
        from threads
        order by updated_at desc
    """,
    "deliveries": """
        select delivery_id, turn_id, kind, room_id, thread_root_id, count(*) as parts,
               sum(state = 'delivered') as delivered,
               case
                   when sum(state = 'delivered') = count(*) then 'delivered'
                   when sum(state = 'superseded') > 0 then 'superseded'
                   when sum(state = 'uncertain') > 0 then 'uncertain'
                   when sum(state = 'sending') > 0 then 'sending'
                   when sum(state = 'refused') > 0 and sum(state = 'delivered') > 0 then 'partial'
                   when sum(state = 'refused') > 0 then 'refused'
                   else 'pending'
               end as state,
               min(created_at) as created_at, max(updated_at) as updated_at
        from outbox
        group by scope, delivery_id
        order by created_at
    """,
    "outbox_open": """
        select outbox_id, turn_id, kind, room_id, thread_root_id, part, parts, bytes, state,
               reason, attempt, created_at, updated_at
        from outbox
        where state not in ('delivered', 'superseded')
        order by created_at, outbox_id
    """,
    "health": """
        select c.state as connection, c.reason, c.updated_at as since, c.server_url,
               c.server_version, c.account_id, c.gap,
               (select count(*) from open_turns) as open_turns,
               (select max(age_s) from open_turns) as oldest_open_s,
               (select count(*) from turns where state = 'failed') as failed_turns,
               (select count(*) from threads where state = 'behind') as threads_behind,
               (select count(*) from threads where state = 'blind') as threads_blind,
               (select count(*) from outbox_open) as outbox_open,
               (select max(at) from transitions) as last_transition
        from connection as c
    """,
}


@migrations()
def m001_tables(db: Database) -> None:
    """Create the tables."""
    for statement in filter(str.strip, TABLES.split(";\n")):
        db.execute(statement)


@migrations()
def m002_views(db: Database) -> None:
    """Create the views an operator reads."""
    for name, sql in VIEWS.items():
        db.create_view(name, sql)
