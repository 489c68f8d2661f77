drop table levels;
create table levels (
    -- how much of which rooms the account is told, by its own settings on the server
    scope text not null,
    room_id text not null,  -- empty: all rooms that are not in here
    level text not null check (level in ('normal', 'muted', 'all_messages')),
    read_at text not null,
    primary key (room_id, scope)
) strict, without rowid;
