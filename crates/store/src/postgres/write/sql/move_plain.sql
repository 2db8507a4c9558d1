UPDATE transfers t
SET state = n.state, version = n.version,
  retry_count = 0, rejections = 0, alone = false, deaths = 0, due_at = NULL,
  updated_at = $1, events = n.events, chain = n.chain,
  history = CASE WHEN n.added = '' THEN t.history ELSE t.history || ',' || n.added END
FROM (
  SELECT
    unnest($2::bigint[]) AS transfer_id, unnest($3::int[]) AS was, unnest($4::int[]) AS had,
    unnest($5::smallint[]) AS state, unnest($6::int[]) AS version,
    unnest($7::int[]) AS events, unnest($8::bytea[]) AS chain, unnest($9::text[]) AS added
) AS n
WHERE t.transfer_id = n.transfer_id
  AND t.version = n.was
  AND t.events = n.had
RETURNING 1
