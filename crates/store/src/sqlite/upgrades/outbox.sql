-- The outbox in two tables: what is to be published, and what was. A write adds rows to the first at the
-- end of each bucket; a mark moves them to the second, which is forgotten from its oldest day on. Neither
-- has an index but its primary key. (req_id, type, n) is given once, since a message is written by the
-- compare-and-swap that moves its transfer. The last place of all buckets is `outbox` in service_state;
-- the one process leases its buckets in RAM, as the folder's lock is its lease.
ALTER TABLE outbox RENAME TO outbox_before;
CREATE TABLE outbox_queue (
  bucket INTEGER NOT NULL, place INTEGER NOT NULL,
  id TEXT NOT NULL, req_id TEXT NOT NULL, n INTEGER NOT NULL, topic TEXT NOT NULL,
  partition_key TEXT NOT NULL, type TEXT NOT NULL, payload TEXT NOT NULL, headers TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (bucket, place)
) WITHOUT ROWID;
-- `day`: days since 1970 of published_at, in UTC.
CREATE TABLE outbox_history (
  day INTEGER NOT NULL, bucket INTEGER NOT NULL, place INTEGER NOT NULL,
  id TEXT NOT NULL, req_id TEXT NOT NULL, n INTEGER NOT NULL, topic TEXT NOT NULL,
  partition_key TEXT NOT NULL, type TEXT NOT NULL, payload TEXT NOT NULL, headers TEXT NOT NULL,
  created_at INTEGER NOT NULL, published_at INTEGER NOT NULL,
  PRIMARY KEY (day, bucket, place)
) WITHOUT ROWID;
-- No flow of an older release wrote a message: what is there has keys that no new one has, so one bucket
-- serves their order.
INSERT INTO outbox_queue
  SELECT 0, row_number() OVER (ORDER BY created_at, req_id, n),
    id, req_id, n, topic, partition_key, type, payload, headers, created_at
  FROM outbox_before WHERE NOT processed;
INSERT INTO outbox_history
  SELECT coalesce(published_at, created_at) / 86400000, 0,
    (SELECT count(*) FROM outbox_queue) + row_number() OVER (ORDER BY published_at, req_id, n),
    id, req_id, n, topic, partition_key, type, payload, headers, created_at,
    coalesce(published_at, created_at)
  FROM outbox_before WHERE processed;
INSERT INTO service_state SELECT 'outbox', count(*), 1, 0 FROM outbox_before;
DROP TABLE outbox_before;
CREATE VIEW outbox AS
  SELECT id, req_id, n, topic, partition_key, type, payload, headers, 0 AS processed,
    created_at, NULL AS published_at, bucket, place FROM outbox_queue
  UNION ALL
  SELECT id, req_id, n, topic, partition_key, type, payload, headers, 1,
    created_at, published_at, bucket, place FROM outbox_history;
