INSERT INTO transfers (transfer_id, req_id, flow, principal, user_id, scope, cid, fingerprint,
  asset_id, amount, fee, source_type, source_account, target_type, target_account, state, version,
  retry_count, rejections, alone, deaths, due_at, created_at, updated_at, batch, events, chain,
  history, terms_version)
SELECT transfer_id, req_id, flow, principal, user_id, scope, cid, fingerprint,
  asset_id, amount::numeric, 0, source_type, source_account, target_type, target_account, state,
  version, 0, 0, false, 0, due_at, $1, $1, $2, events, chain, history, 3
FROM (
  SELECT
    unnest($3::bigint[]) AS transfer_id, unnest($4::uuid[]) AS req_id, unnest($5::text[]) AS flow,
    unnest($6::text[]) AS principal, unnest($7::bigint[]) AS user_id, unnest($8::text[]) AS scope,
    unnest($9::text[]) AS cid, unnest($10::bytea[]) AS fingerprint, unnest($11::int[]) AS asset_id,
    unnest($12::text[]) AS amount,
    unnest($13::smallint[]) AS source_type, unnest($14::text[]) AS source_account,
    unnest($15::smallint[]) AS target_type, unnest($16::text[]) AS target_account,
    unnest($17::smallint[]) AS state, unnest($18::int[]) AS version,
    unnest($19::bigint[]) AS due_at, unnest($20::int[]) AS events,
    unnest($21::bytea[]) AS chain, unnest($22::text[]) AS history
) AS n
