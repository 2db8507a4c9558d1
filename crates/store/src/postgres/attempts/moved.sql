UPDATE attempts a
SET version = n.version, sent = n.sent, due_at = n.due_at, leased_by = n.leased_by,
  closed_at = n.closed_at, put_at = CASE WHEN n.due_at IS NOT NULL THEN $8::bigint END
FROM (
  SELECT
    unnest($1::uuid[]) AS attempt_id, unnest($2::int[]) AS was, unnest($3::int[]) AS version,
    unnest($4::boolean[]) AS sent, unnest($5::bigint[]) AS due_at,
    unnest($6::bigint[]) AS leased_by, unnest($7::bigint[]) AS closed_at
) AS n
WHERE a.attempt_id = n.attempt_id
  AND a.version = n.was
  AND a.closed_at IS NULL
RETURNING 1
