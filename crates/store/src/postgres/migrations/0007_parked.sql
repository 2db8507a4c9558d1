-- Messages whose consumption failed too often, by the key under which they wait. `parked_keys` says when a
-- key is tried again; a key without a row there does not wait. `last`: the highest n that it gave, under
-- the lock of its row.
CREATE TABLE parked_keys (
  consumer text COLLATE "C" NOT NULL, topic text COLLATE "C" NOT NULL,
  partition_key text COLLATE "C" NOT NULL,
  partition int NOT NULL, failures int NOT NULL, cause text NOT NULL,
  parked_at bigint NOT NULL, due_at bigint NOT NULL, last bigint NOT NULL,
  PRIMARY KEY (consumer, topic, partition_key)
);
-- `place`: the offset in the partition from which it came.
CREATE TABLE parked (
  consumer text COLLATE "C" NOT NULL, topic text COLLATE "C" NOT NULL,
  partition_key text COLLATE "C" NOT NULL, n bigint NOT NULL,
  id uuid NOT NULL, partition int NOT NULL, place bigint NOT NULL,
  payload text NOT NULL, headers text NOT NULL, cause text NOT NULL, parked_at bigint NOT NULL,
  PRIMARY KEY (consumer, topic, partition_key, n), UNIQUE (consumer, topic, partition_key, id)
);
