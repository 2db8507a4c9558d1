-- Terms of the second version. NULL is what a row of 0.1.0 has, so that no row is rewritten. The
-- archive has the columns of the transfers, in their order.
ALTER TABLE transfers
  -- whose the transfer is (principal:…, chain:…:…); NULL: the user of user_id
  ADD COLUMN owner text,
  -- what the target gets; NULL: the source's asset, and the amount less the fee
  ADD COLUMN target_asset int,
  ADD COLUMN target_amount numeric(39,0),
  -- what a watcher saw, where one opened it
  ADD COLUMN origin_chain smallint,
  ADD COLUMN origin_key text,
  -- how the terms are hashed; NULL: as 0.1.0 did
  ADD COLUMN terms_version smallint,
  -- what was agreed after the opening, once; the event that accepts holds its hash
  ADD COLUMN agreed text;
ALTER TABLE transfers_archive
  ADD COLUMN owner text,
  ADD COLUMN target_asset int,
  ADD COLUMN target_amount numeric(39,0),
  ADD COLUMN origin_chain smallint,
  ADD COLUMN origin_key text,
  ADD COLUMN terms_version smallint,
  ADD COLUMN agreed text;

-- the stars of a view are those of the day it was made
CREATE OR REPLACE VIEW every_transfer AS SELECT * FROM transfers UNION ALL SELECT * FROM transfers_archive;

CREATE OR REPLACE VIEW transfers_tb AS SELECT
  t.transfer_id, portage_ulid(t.req_id) AS req_id, t.flow, t.principal, t.user_id, t.cid,
  encode(t.fingerprint, 'hex') AS fingerprint, t.asset_id, t.amount,
  (CASE WHEN t.source_type = 1 AND t.target_type = 2 THEN 1
        WHEN t.source_type = 2 AND t.target_type = 1 THEN 2 ELSE 0 END)::smallint AS transfer_type,
  t.source_type, t.target_type, t.reference, t.metadata::jsonb AS metadata, t.state, t.version,
  t.error_message, t.error_class, t.retry_count,
  to_timestamp(d.due_at / 1000.0) AS due_at, d.leased_by,
  to_timestamp(w.leased_until / 1000.0) AS leased_until,
  to_timestamp(t.created_at / 1000.0) AS created_at, to_timestamp(t.updated_at / 1000.0) AS updated_at,
  coalesce(t.owner, 'user:' || t.user_id) AS owner, t.origin_chain, t.origin_key, t.agreed
FROM every_transfer t LEFT JOIN due d USING (transfer_id) LEFT JOIN workers w ON w.worker = d.leased_by;
