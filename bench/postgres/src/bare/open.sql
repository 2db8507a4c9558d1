-- $1 users and $2 what each gives, in the users' order; $3.. one of each transfer; $8 the lane.
WITH held AS (
  UPDATE balances b SET available = b.available - a.s, frozen = b.frozen + a.s, version = b.version + 1
  FROM unnest($1::bigint[], $2::bigint[]) AS a (u, s)
  WHERE b.user_id = a.u AND b.status = 0 AND b.available >= a.s
  RETURNING 1
), opened AS (
  INSERT INTO transfers
  SELECT i, t, u, 'portage|' || u, c, '\x0707070707070707070707070707070707070707070707070707070707070707',
    3, m, 1, 2, 30, 2, 0, 1763700000000, 1763700000000, $9
  FROM unnest($3::uuid[], $4::bigint[], $5::bigint[], $6::text[], $7::bigint[]) AS x (i, t, u, c, m)
), named AS (
  INSERT INTO keys
  SELECT 'portage|' || u, c, i FROM unnest($3::uuid[], $5::bigint[], $6::text[]) AS x (i, u, c)
), withdrawn AS (
  INSERT INTO operations
  SELECT i, 0, 0, u, m, 1763700000000
  FROM unnest($3::uuid[], $5::bigint[], $7::bigint[]) AS x (i, u, m)
), lane AS (
  UPDATE lanes SET n = n + 1 WHERE lane = $8
)
SELECT 1 / ((SELECT count(*) FROM held) = cardinality($1) AND NOT halted)::int FROM service
