INSERT INTO attempt_forms (attempt_id, n, purpose, name, bytes, repeatable, expires, anchor,
  reference)
SELECT
  unnest($1::uuid[]), unnest($2::int[]), unnest($3::text[]), unnest($4::bytea[]),
  unnest($5::bytea[]), unnest($6::boolean[]), unnest($7::bigint[]), unnest($8::bigint[]),
  unnest($9::text[])
