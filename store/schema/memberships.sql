create table memberships (
    -- one row per room the account was ever in: how it stands there
    scope text not null,
    room_id text not null,
    room_name text not null,  -- when the row was last written
    state text not null,
    reason text,  -- how it came about
    updated_at text not null,
    primary key (room_id, scope)
) strict, without rowid;
