INSERT INTO outbox (id, req_id, n, topic, partition_key, type, payload, headers, created_at)
SELECT id, req_id, n, topic, key, topic, '{}', '{}', $1
FROM (
  SELECT
    unnest($2::uuid[]) AS id, unnest($3::uuid[]) AS req_id, unnest($4::int[]) AS n,
    unnest($5::text[]) AS topic, unnest($6::text[]) AS key
) AS n
ON CONFLICT (req_id, type, n) DO NOTHING
