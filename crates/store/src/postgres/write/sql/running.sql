INSERT INTO running_sums (lane, ledger, asset_id, leg, result, count, amount)
SELECT $1, ledger, asset_id, leg, result, count, amount::numeric
FROM (
  SELECT
    unnest($2::smallint[]) AS ledger, unnest($3::int[]) AS asset_id, unnest($4::text[]) AS leg,
    unnest($5::text[]) AS result, unnest($6::bigint[]) AS count, unnest($7::text[]) AS amount
) AS n
ON CONFLICT (lane, ledger, asset_id, leg, result)
  DO UPDATE SET count = running_sums.count + excluded.count, amount = running_sums.amount + excluded.amount
