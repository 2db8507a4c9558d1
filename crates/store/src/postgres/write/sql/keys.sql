INSERT INTO keys (flow, scope, cid, transfer_id)
SELECT unnest($1::text[]), unnest($2::text[]), unnest($3::text[]), unnest($4::bigint[])
