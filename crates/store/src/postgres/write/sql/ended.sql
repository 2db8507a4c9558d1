INSERT INTO ended (lane, flow, state, transfers)
SELECT $1, flow, state, more
FROM (
  SELECT
    unnest($2::text[]) AS flow, unnest($3::smallint[]) AS state, unnest($4::bigint[]) AS more
) AS n
ON CONFLICT (lane, flow, state)
  DO UPDATE SET transfers = ended.transfers + excluded.transfers
