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
