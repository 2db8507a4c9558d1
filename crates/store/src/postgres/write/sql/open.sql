INSERT INTO transfers (transfer_id, req_id, flow, principal, user_id, scope, cid, fingerprint,
  asset_id, amount, fee, source_type, source_account, target_type, target_account, state, version,
  retry_count, rejections, alone, deaths, due_at, created_at, updated_at, batch, events, chain,
  history, deadline, memo, reference, metadata, error_message, error_class, limit_day, owner,
  target_asset, target_amount, origin_chain, origin_key, terms_version, agreed,
  refund_fee)
SELECT transfer_id, req_id, flow, principal, user_id, scope, cid, fingerprint,
  asset_id, amount::numeric, fee::numeric, source_type, source_account, target_type, target_account,
  state, version, retry_count, rejections, alone, deaths, due_at, $1, $1, $2, events, chain,
  history, deadline, memo, reference, metadata, error_message, error_class, limit_day, owner,
  target_asset, target_amount::numeric, origin_chain, origin_key, terms_version, agreed,
  refund_fee::numeric
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
    unnest($21::bytea[]) AS chain, unnest($22::text[]) AS history,
    unnest($23::text[]) AS fee, unnest($24::bigint[]) AS deadline, unnest($25::text[]) AS memo,
    unnest($26::text[]) AS reference, unnest($27::text[]) AS metadata,
    unnest($28::text[]) AS error_message, unnest($29::text[]) AS error_class,
    unnest($30::int[]) AS retry_count, unnest($31::int[]) AS rejections,
    unnest($32::boolean[]) AS alone, unnest($33::smallint[]) AS deaths,
    unnest($34::int[]) AS limit_day, unnest($35::text[]) AS owner,
    unnest($36::int[]) AS target_asset, unnest($37::text[]) AS target_amount,
    unnest($38::smallint[]) AS origin_chain, unnest($39::text[]) AS origin_key,
    unnest($40::smallint[]) AS terms_version, unnest($41::text[]) AS agreed,
    unnest($42::text[]) AS refund_fee
) AS n
