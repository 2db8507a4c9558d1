-- The outbox in two tables: what is to be published, and what was. A write adds rows to the first at the
-- end of each bucket; a mark moves them to the second, which is forgotten from its oldest day on. Neither
-- has an index but its primary key. (req_id, type, n) is given once, since a message is written by the
-- compare-and-swap that moves its transfer.
ALTER TABLE outbox RENAME TO outbox_before;
CREATE SEQUENCE outbox_places;
CREATE TABLE outbox_queue (
  bucket smallint NOT NULL, place bigint NOT NULL DEFAULT nextval('outbox_places'),
  id uuid NOT NULL, req_id uuid NOT NULL, n int NOT NULL, topic text COLLATE "C" NOT NULL,
  partition_key text COLLATE "C" NOT NULL, type text COLLATE "C" NOT NULL, payload text NOT NULL,
  headers text NOT NULL, created_at bigint NOT NULL,
  PRIMARY KEY (bucket, place)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
-- `day`: days since 1970 of published_at, in UTC.
CREATE TABLE outbox_history (
  day int NOT NULL, bucket smallint NOT NULL, place bigint NOT NULL,
  id uuid NOT NULL, req_id uuid NOT NULL, n int NOT NULL, topic text COLLATE "C" NOT NULL,
  partition_key text COLLATE "C" NOT NULL, type text COLLATE "C" NOT NULL, payload text NOT NULL,
  headers text NOT NULL, created_at bigint NOT NULL, published_at bigint NOT NULL,
  PRIMARY KEY (day, bucket, place)
);
-- Who publishes a bucket. The epoch rises whenever it changes hands.
CREATE TABLE outbox_buckets (
  bucket smallint PRIMARY KEY, worker bigint, leased_until bigint NOT NULL DEFAULT 0,
  epoch bigint NOT NULL DEFAULT 0
);
INSERT INTO outbox_buckets (bucket) SELECT generate_series(0, 15);
-- No flow of an older release wrote a message: what is there has keys that no new one has, so one bucket
-- serves their order.
INSERT INTO outbox_queue
  (bucket, id, req_id, n, topic, partition_key, type, payload, headers, created_at)
  SELECT 0, id, req_id, n, topic, partition_key, type, payload, headers, created_at
  FROM outbox_before WHERE NOT processed ORDER BY created_at, req_id, n;
INSERT INTO outbox_history
  SELECT (coalesce(published_at, created_at) / 86400000)::int, 0, nextval('outbox_places'),
    id, req_id, n, topic, partition_key, type, payload, headers, created_at,
    coalesce(published_at, created_at)
  FROM outbox_before WHERE processed;
DROP TABLE outbox_before;
CREATE VIEW outbox AS
  SELECT id, req_id, n, topic, partition_key, type, payload, headers, false AS processed,
    created_at, NULL::bigint AS published_at, bucket, place FROM outbox_queue
  UNION ALL
  SELECT id, req_id, n, topic, partition_key, type, payload, headers, true,
    created_at, published_at, bucket, place FROM outbox_history;
