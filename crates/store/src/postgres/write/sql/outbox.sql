INSERT INTO outbox_queue (bucket, id, req_id, n, topic, partition_key, type, payload, headers, created_at)
SELECT bucket, id, req_id, n, topic, key, type, payload, headers, $1
FROM (
  SELECT
    unnest($2::smallint[]) AS bucket, unnest($3::uuid[]) AS id, unnest($4::uuid[]) AS req_id,
    unnest($5::int[]) AS n, unnest($6::text[]) AS topic, unnest($7::text[]) AS key,
    unnest($8::text[]) AS type, unnest($9::text[]) AS payload, unnest($10::text[]) AS headers
) AS n
