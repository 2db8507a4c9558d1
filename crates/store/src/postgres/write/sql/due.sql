INSERT INTO due (transfer_id, due_at, leased_by, put_at)
SELECT n.*, CASE WHEN n.due_at IS NOT NULL THEN $4::bigint END
FROM (
  SELECT unnest($1::bigint[]), unnest($2::bigint[]), unnest($3::bigint[])
) AS n(transfer_id, due_at, leased_by)
ON CONFLICT (transfer_id)
  DO UPDATE SET due_at = excluded.due_at, leased_by = excluded.leased_by, put_at = excluded.put_at,
    orphan = false
