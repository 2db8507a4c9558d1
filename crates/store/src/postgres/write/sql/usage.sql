UPDATE limits_tb l
SET transfers = n.transfers, amount = n.amount::numeric
FROM (
  SELECT
    unnest($1::int[]) AS day, unnest($2::bigint[]) AS user_id, unnest($3::int[]) AS asset_id,
    unnest($4::bigint[]) AS transfers, unnest($5::text[]) AS amount
) AS n
WHERE l.day = n.day
  AND l.user_id = n.user_id
  AND l.asset_id = n.asset_id
RETURNING 1
