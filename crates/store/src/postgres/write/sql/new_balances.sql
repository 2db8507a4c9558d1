INSERT INTO balances_tb (user_id, account_type, asset_id, available, frozen, status, version)
SELECT user_id, 'FUNDING', asset_id, available::numeric, frozen::numeric, status, 1
FROM (
  SELECT
    unnest($1::bigint[]) AS user_id, unnest($2::int[]) AS asset_id, unnest($3::text[]) AS available,
    unnest($4::text[]) AS frozen, unnest($5::text[]) AS status
) AS n
