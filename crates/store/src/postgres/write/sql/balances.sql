UPDATE balances_tb b
SET available = n.available::numeric, frozen = n.frozen::numeric, version = b.version + 1
FROM (
  SELECT
    unnest($1::bigint[]) AS user_id, unnest($2::int[]) AS asset_id, unnest($3::text[]) AS had,
    unnest($4::text[]) AS froze, unnest($5::text[]) AS status, unnest($6::text[]) AS available,
    unnest($7::text[]) AS frozen
) AS n
WHERE b.user_id = n.user_id
  AND b.account_type = 'FUNDING'
  AND b.asset_id = n.asset_id
  AND b.available = n.had::numeric
  AND b.frozen = n.froze::numeric
  AND b.status = n.status
RETURNING 1
