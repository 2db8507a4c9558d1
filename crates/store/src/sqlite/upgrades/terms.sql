-- Terms of the second version. NULL is what a row of 0.1.0 has, so that no row is rewritten.
-- Whose the transfer is (principal:…, chain:…:…); NULL: the user of user_id.
ALTER TABLE transfers ADD COLUMN owner TEXT;
-- What the target gets; NULL: the source's asset, and the amount less the fee.
ALTER TABLE transfers ADD COLUMN target_asset INTEGER;
ALTER TABLE transfers ADD COLUMN target_amount TEXT;
-- What a watcher saw, where one opened it.
ALTER TABLE transfers ADD COLUMN origin_chain INTEGER;
ALTER TABLE transfers ADD COLUMN origin_key TEXT;
-- How the terms are hashed; NULL: as 0.1.0 did.
ALTER TABLE transfers ADD COLUMN terms_version INTEGER;
-- What was agreed after the opening, once; the event that accepts holds its hash.
ALTER TABLE transfers ADD COLUMN agreed TEXT;

DROP VIEW transfers_tb;
CREATE VIEW transfers_tb AS SELECT
  t.transfer_id, t.req_id, t.flow, t.principal, t.user_id, t.cid, lower(hex(t.fingerprint)) AS fingerprint,
  t.asset_id, ltrim(t.amount, '0') AS amount,
  CASE WHEN t.source_type = 1 AND t.target_type = 2 THEN 1
       WHEN t.source_type = 2 AND t.target_type = 1 THEN 2 ELSE 0 END AS transfer_type,
  t.source_type, t.target_type, t.reference, t.metadata, t.state, t.version,
  t.error_message, t.error_class, t.retry_count, d.due_at, d.leased_by, d.leased_until,
  t.created_at, t.updated_at,
  coalesce(t.owner, 'user:' || t.user_id) AS owner, t.origin_chain, t.origin_key, t.agreed
FROM transfers t LEFT JOIN due d USING (transfer_id);
