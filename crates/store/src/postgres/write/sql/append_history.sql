UPDATE transfers t
SET updated_at = $1, events = n.events, chain = n.chain, history = t.history || ',' || n.added
FROM (
  SELECT
    unnest($2::bigint[]) AS transfer_id, unnest($3::int[]) AS had, unnest($4::int[]) AS events,
    unnest($5::bytea[]) AS chain, unnest($6::text[]) AS added
) AS n
WHERE t.transfer_id = n.transfer_id
  AND t.events = n.had
RETURNING 1
