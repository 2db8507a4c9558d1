INSERT INTO ledger_lanes (ledger, lane, highest)
SELECT ledger, $1, highest
FROM (
  SELECT
    unnest($2::smallint[]) AS ledger, unnest($3::bigint[]) AS highest
) AS n
ON CONFLICT (ledger, lane)
  DO UPDATE SET highest = greatest(ledger_lanes.highest, excluded.highest)
