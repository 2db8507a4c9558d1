INSERT INTO attempts (attempt_id, version, chain, flow, state, lane, lock, sent, due_at, leased_by,
  closed_at, created_at, put_at)
SELECT n.*, $1, CASE WHEN n.due_at IS NOT NULL THEN $13::bigint END
FROM (
  SELECT
    unnest($2::uuid[]), unnest($3::int[]), unnest($4::smallint[]), unnest($5::text[]),
    unnest($6::smallint[]), unnest($7::text[]), unnest($8::text[]), unnest($9::boolean[]),
    unnest($10::bigint[]) AS due_at, unnest($11::bigint[]), unnest($12::bigint[])
) AS n
ON CONFLICT DO NOTHING
RETURNING 1
