UPDATE transfers t
SET state = n.state, version = n.version, error_class = coalesce(n.class, t.error_class),
  error_message = CASE WHEN n.class IS NULL THEN t.error_message ELSE n.message END,
  retry_count = n.retries, rejections = n.rejections, alone = n.alone, deaths = n.deaths,
  due_at = n.due_at, updated_at = $1, events = n.events, chain = n.chain,
  agreed = coalesce(n.agreed, t.agreed),
  history = CASE WHEN n.added = '' THEN t.history ELSE t.history || ',' || n.added END
FROM (
  SELECT
    unnest($2::bigint[]) AS transfer_id, unnest($3::int[]) AS was, unnest($4::int[]) AS had,
    unnest($5::smallint[]) AS state, unnest($6::int[]) AS version,
    unnest($7::int[]) AS events, unnest($8::bytea[]) AS chain, unnest($9::text[]) AS added,
    unnest($10::text[]) AS class, unnest($11::text[]) AS message, unnest($12::int[]) AS retries,
    unnest($13::int[]) AS rejections, unnest($14::boolean[]) AS alone,
    unnest($15::smallint[]) AS deaths, unnest($16::bigint[]) AS due_at,
    unnest($17::text[]) AS agreed
) AS n
WHERE t.transfer_id = n.transfer_id
  AND t.version = n.was
  AND t.events = n.had
  AND (n.agreed IS NULL OR t.agreed IS NULL)
RETURNING 1
