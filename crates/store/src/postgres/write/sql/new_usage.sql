INSERT INTO limits_tb (day, user_id, asset_id, transfers, amount)
SELECT day, user_id, asset_id, transfers, amount::numeric
FROM (
  SELECT
    unnest($1::int[]) AS day, unnest($2::bigint[]) AS user_id, unnest($3::int[]) AS asset_id,
    unnest($4::bigint[]) AS transfers, unnest($5::text[]) AS amount
) AS n
