-- $1 users and $2 what each gives, in the users' order; $3.. one of each transfer; $6 all of it, $7 the lane.
WITH settled AS (
  UPDATE balances b SET frozen = b.frozen - a.s, version = b.version + 1
  FROM unnest($1::bigint[], $2::bigint[]) AS a (u, s)
  WHERE b.user_id = a.u
  RETURNING 1
), closed AS (
  UPDATE transfers t SET state = 40, version = 3, updated_at = 1763700000001, history = t.history || $8
  FROM unnest($3::uuid[]) AS x (i)
  WHERE t.req_id = x.i AND t.state = 30 AND t.version = 2
  RETURNING 1
), done AS (
  INSERT INTO operations
  SELECT i, 2, 0, u, m, 1763700000001
  FROM unnest($3::uuid[], $4::bigint[], $5::bigint[]) AS x (i, u, m)
), cleared AS (
  INSERT INTO clearing VALUES ($6::bigint)
), lane AS (
  UPDATE lanes SET n = n + 1 WHERE lane = $7
)
SELECT 1 / ((SELECT count(*) FROM settled) = cardinality($1)
  AND (SELECT count(*) FROM closed) = cardinality($3))::int
