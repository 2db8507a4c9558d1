SELECT 1
FROM (
  SELECT
    unnest($1::bigint[]) AS user_id, unnest($2::int[]) AS asset_id, unnest($3::text[]) AS had,
    unnest($4::text[]) AS froze, unnest($5::text[]) AS status
) AS n
JOIN balances_tb b ON b.user_id = n.user_id
  AND b.account_type = 'FUNDING'
  AND b.asset_id = n.asset_id
  AND b.available = n.had::numeric
  AND b.frozen = n.froze::numeric
  AND b.status = n.status
FOR NO KEY UPDATE OF b
