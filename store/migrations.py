"""The schema, one migration after the other; an old one is never edited.

The one module without relative imports: `sqlite-utils migrate state.db migrations.py` runs it
as a script. Times are UTC, ISO 8601 with milliseconds and a Z; IDs are the server's. What a
column or a view is for stands in the schema itself: `sqlite-utils schema state.db` shows it.
"""

from collections.abc import Mapping

from sqlite_utils import Database, Migrations

__all__ = ["migrations"]

migrations = Migrations("hermes_chatto")

TABLES = """
create table turns (
    -- one row per message that is meant for the agent
    lane_order integer primary key,  -- order of receipt
    scope text not null,  -- the profile
    message_id text not null,
    room_id text not null,
    room_name text,  -- at the receipt; a direct conversation has none
    room_kind text not null check (room_kind in ('channel', 'direct')),
    thread_root_id text,  -- of the thread it is answered in
    session_key text not null,  -- the gateway's name of the conversation
    author_id text not null,
    author_name text not null,
    body text,  -- null once nothing needs it any more
    digest text not null,  -- of text and attachments
    attachment_ids text not null,
    in_reply_to text,
    posted_at text not null,  -- by the server's clock
    received_at text not null,  -- by ours
    state text not null,  -- in words: table glossary, kind turn
    reason text,  -- why it is in this state
    cause text,  -- why it concerns the agent: mention, direct, reply, follow_up ...
    attempt integer not null,  -- how often it was handed to the gateway
    carrier_id text,  -- whose run took it in
    ends_as text,  -- where stopping leads
    ended_by text,  -- who cancelled it
    ended_with text,  -- by which command
    thread_before text,  -- the thread's state before the hand-over
    frontier_before text,  -- and its frontier
    holding_before text,  -- what else its row said then, as JSON
    session_token text,  -- the conversation that holds it
    command text,  -- name of the command it is, with its slash
    sign text,  -- the reaction that shows on the message
    updated_at text not null,
    closed_at text,  -- null while something is still to be done about it
    unique (message_id, scope)
) strict;
create index turns_open on turns (scope, session_key) where closed_at is null;
create index turns_answered on turns (session_key, scope) where state in ('answered', 'silent');
create index turns_commands on turns (session_key, scope) where state = 'bypassed';
create index turns_signed on turns (scope) where sign is not null;
create index turns_held on turns (session_token) where session_token is not null;

create table threads (
    -- one row per session: what it holds of its thread or direct conversation
    scope text not null,
    session_key text not null,
    room_id text not null,
    room_kind text not null check (room_kind in ('channel', 'direct')),
    thread_root_id text,
    state text not null,
    frontier_id text,  -- the session holds the thread up to this message
    frontier_at text,  -- the server's time of that message
    ahead_ids text not null,  -- handed over ahead of the frontier, a JSON list
    blind_until_id text,  -- how far a blind pass got
    session_token text not null,  -- names the conversation; kept with the session, too
    token_kept_at text,  -- when it was stored with the session
    gap integer not null,  -- newest gap of the connection it was read after
    created_at text not null,
    updated_at text not null,
    primary key (session_key, scope)
) strict, without rowid;

create table room_sessions (
    -- one row per session that a fresh room message opened
    scope text not null,
    message_id text not null,
    room_id text not null,
    session_key text not null,
    state text not null,
    reason text,
    created_at text not null,
    updated_at text not null,
    primary key (message_id, scope)
) strict, without rowid;

create table outbox (
    -- one row per part of everything the agent posts
    seq integer primary key,  -- order of making
    scope text not null,
    outbox_id text not null,  -- delivery and part
    delivery_id text not null,
    turn_id text,  -- the message it belongs to
    kind text not null check (kind in ('answer', 'interim', 'other')),
    part integer not null,
    parts integer not null,
    room_id text not null,
    thread_root_id text,
    in_reply_to text,
    body text,  -- null once it is delivered
    bytes integer not null,
    digest text not null,
    state text not null,
    reason text,
    attempt integer not null,  -- how often the server was asked to post it
    message_id text,  -- the message it became
    created_at text not null,
    updated_at text not null,
    unique (outbox_id, scope)
) strict;
create index outbox_by_delivery on outbox (delivery_id, scope, part);
create index outbox_by_turn on outbox (turn_id, scope) where turn_id is not null;
create index outbox_open_parts on outbox (scope) where state not in ('delivered', 'superseded');
create index outbox_by_message on outbox (message_id, scope) where message_id is not null;
create index outbox_by_room on outbox (room_id, scope) where message_id is not null;

create table connection (
    -- one row: the stream of the profile
    scope text primary key not null,
    server_url text not null,
    state text not null,
    reason text,
    attempt integer not null,  -- losses in a row
    gap integer not null,  -- number of the newest stretch in which events may have been missed
    account_id text,
    server_version text,
    updated_at text not null
) strict, without rowid;

create table prompts (
    -- one row per question the agent asks back while its turn waits
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
    primary key (outbox_id, scope)
) strict, without rowid;

create table ignored (
    -- how many messages were not for the agent; they leave no other row
    scope text not null,
    room_id text not null,
    cause text not null,
    messages integer not null,
    last_at text not null,
    primary key (room_id, cause, scope)
) strict, without rowid;

create table transitions (
    -- every step of every machine
    seq integer primary key,
    scope text not null,
    at text not null,
    machine text not null,  -- turn, thread, room_session, delivery, connection or prompt
    key text not null,  -- which one: a message, a session key, an outbox ID or the profile
    message_id text,  -- the message the step is about, whatever the machine
    event text not null,
    from_state text,  -- null: it begins here
    to_state text not null,
    reason text,
    detail text  -- columns the step changed, as JSON
) strict;
create index transitions_by_message on transitions (message_id) where message_id is not null;
create index transitions_by_key on transitions (key, machine) where message_id is null;

create table glossary (
    -- what the words in the columns state and reason mean
    kind text not null,  -- name of a machine, or reason
    word text not null,
    meaning text not null,
    primary key (kind, word)
) strict, without rowid;
"""

POSITION = """
create table position (
    -- one row: up to when everything said on the server was read and decided
    scope text primary key not null,
    account_id text not null,  -- whose position it is
    at text,  -- by the server's clock
    begun_at text,  -- rows tell what was decided from then on; of before, only the answers do
    resume_cursor text,  -- of a server that has such: where the stream goes on
    updated_at text not null
) strict, without rowid;
alter table threads add column to_follow_since text;
create index threads_to_follow on threads (scope) where to_follow_since is not null;

create table levels (
    -- rooms the account is told less of than usual, by its own settings on the server
    scope text not null,
    room_id text not null,  -- empty: all rooms without a level of their own
    level text not null check (level in ('muted', 'all_messages')),
    read_at text not null,
    primary key (room_id, scope)
) strict, without rowid;
"""

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
    for statement in filter(str.strip, TABLES.split(";\n")):
        db.execute(statement)


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
def m004_position(db: Database) -> None:
    """Keep how far everything was read, which threads are to be followed, muted rooms."""
    for statement in filter(str.strip, POSITION.split(";\n")):
        db.execute(statement)
