alter table turns add column let_in_by text;

create table pins (
    -- one row per login in a list of people: the account it means, whoever has the login later
    scope text not null,
    setting text not null,  -- the list: allowed_users or bot_users
    login text not null,  -- as the entry says, in lower case
    user_id text not null,
    pinned_at text not null,
    primary key (setting, login, scope)
) strict, without rowid;

create table loops (
    -- turns that programs caused since a person wrote there; a missing row is none
    scope text not null,
    kind text not null check (kind in ('thread', 'pair')),
    key text not null,  -- of a thread its session key, of a pair the ID of the other program
    room_id text not null,  -- where the newest of them was
    turns integer not null,
    last_at text not null,
    primary key (kind, key, scope)
) strict, without rowid;
create index loops_by_room on loops (room_id, scope);
create index turns_by_author on turns (author_id, scope, received_at, lane_order);

create view admissions as
-- one line per message that was meant for the agent, newest first: why, and who let it in
select t.received_at, t.author_name, t.author_id,
       coalesce(t.room_name, t.room_kind) as room,
       t.cause, c.meaning as cause_meaning, t.let_in_by,
       case when t.state in ('refused', 'bypassed', 'received') then t.state
            else 'admitted' end as outcome,
       case when t.state = 'refused' then t.reason end as reason,
       case when t.state = 'refused' then r.meaning end as reason_meaning,
       t.command, t.message_id, t.room_id, t.thread_root_id, t.session_key
from turns as t
left join glossary as c on c.kind = 'cause' and c.word = t.cause
left join glossary as r
    on r.kind = 'reason' and r.word = substr(t.reason, 1, instr(t.reason || ':', ':') - 1)
order by t.lane_order desc;

create view passed_over as
-- messages that were not for the agent: how many, by room and cause; they have no row
select i.room_id, i.cause, r.meaning as cause_meaning, i.messages, i.last_at
from ignored as i
left join glossary as r on r.kind = 'reason' and r.word = i.cause
order by i.last_at desc;
