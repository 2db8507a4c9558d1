INSERT INTO operations (req_id, ledger, leg, result, code, seq, asset_id, amount, account, other_account, at)
SELECT req_id, ledger, leg, result, code, seq, asset_id, amount::numeric, account, other_account, $1
FROM (
  SELECT
    unnest($2::uuid[]) AS req_id, unnest($3::smallint[]) AS ledger, unnest($4::text[]) AS leg,
    unnest($5::text[]) AS result, unnest($6::text[]) AS code, unnest($7::bigint[]) AS seq,
    unnest($8::int[]) AS asset_id, unnest($9::text[]) AS amount, unnest($10::text[]) AS account,
    unnest($11::text[]) AS other_account
) AS n
