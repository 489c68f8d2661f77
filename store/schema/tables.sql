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
