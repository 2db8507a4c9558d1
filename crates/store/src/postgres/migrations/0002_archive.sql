-- Transfers that ended long ago, out of the way of those that are moved. Keys and operations stay
-- where they are, for ever; what is here is read through `every_transfer`, by the same ids and keys.
-- One partition for each month; a partition may lie on a slower disk.
CREATE TABLE transfers_archive (LIKE transfers) PARTITION BY RANGE (created_at);
CREATE INDEX transfers_archive_number ON transfers_archive (transfer_id);
CREATE INDEX transfers_archive_req_id ON transfers_archive (req_id);
CREATE INDEX transfers_archive_user ON transfers_archive (user_id, transfer_id);
CREATE INDEX transfers_archive_service ON transfers_archive (principal, transfer_id)
  WHERE right(principal, 1 + length(user_id::text)) <> '|' || user_id::text;

CREATE VIEW every_transfer AS SELECT * FROM transfers UNION ALL SELECT * FROM transfers_archive;

CREATE VIEW transfers_tb AS SELECT
  t.transfer_id, portage_ulid(t.req_id) AS req_id, t.flow, t.principal, t.user_id, t.cid,
  encode(t.fingerprint, 'hex') AS fingerprint, t.asset_id, t.amount,
  (CASE WHEN t.source_type = 1 AND t.target_type = 2 THEN 1
        WHEN t.source_type = 2 AND t.target_type = 1 THEN 2 ELSE 0 END)::smallint AS transfer_type,
  t.source_type, t.target_type, t.reference, t.metadata::jsonb AS metadata, t.state, t.version,
  t.error_message, t.error_class, t.retry_count,
  to_timestamp(d.due_at / 1000.0) AS due_at, d.leased_by,
  to_timestamp(w.leased_until / 1000.0) AS leased_until,
  to_timestamp(t.created_at / 1000.0) AS created_at, to_timestamp(t.updated_at / 1000.0) AS updated_at
FROM every_transfer t LEFT JOIN due d USING (transfer_id) LEFT JOIN workers w ON w.worker = d.leased_by;

CREATE VIEW transfer_events AS SELECT
  portage_ulid(t.req_id) AS req_id, (e.value->>0)::int AS seq,
  to_timestamp((e.value->>1)::bigint / 1000.0) AS at,
  (e.value->>2)::smallint AS from_state, (e.value->>3)::smallint AS to_state, e.value->>4 AS event,
  e.value->>5 AS caller, e.value->>6 AS detail,
  lag(e.value->>7) OVER (PARTITION BY t.req_id ORDER BY e.n) AS prev_hash,
  e.value->>7 AS hash, (e.value->>8)::bigint AS audit_unit, (e.value->>9)::int AS audit_lane
FROM every_transfer t, jsonb_array_elements(('[' || t.history || ']')::jsonb) WITH ORDINALITY e(value, n);
