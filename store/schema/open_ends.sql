create index prompts_open on prompts (scope, turn_id, created_at)
    where state in ('posting', 'open');
alter table threads add column owed_ids text not null default '[]';
create index turns_unsigned on turns (scope, closed_at)
    where sign is null and state in ('failed', 'cancelled', 'expired', 'refused');
