INSERT INTO due (transfer_id, due_at, leased_by)
SELECT unnest($1::bigint[]), unnest($2::bigint[]), unnest($3::bigint[])
ON CONFLICT (transfer_id)
  DO UPDATE SET due_at = excluded.due_at, leased_by = excluded.leased_by, orphan = false
