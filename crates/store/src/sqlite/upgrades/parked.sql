-- Messages whose consumption failed too often, by the key under which they wait. `parked_keys` says when a
-- key is tried again; a key without a row there does not wait. `last`: the highest n that it gave.
CREATE TABLE parked_keys (
  consumer TEXT NOT NULL, topic TEXT NOT NULL, partition_key TEXT NOT NULL,
  partition INTEGER NOT NULL, failures INTEGER NOT NULL, cause TEXT NOT NULL,
  parked_at INTEGER NOT NULL, due_at INTEGER NOT NULL, last INTEGER NOT NULL,
  PRIMARY KEY (consumer, topic, partition_key)
) WITHOUT ROWID;
-- `place`: the offset in the partition from which it came.
CREATE TABLE parked (
  consumer TEXT NOT NULL, topic TEXT NOT NULL, partition_key TEXT NOT NULL, n INTEGER NOT NULL,
  id TEXT NOT NULL, partition INTEGER NOT NULL, place INTEGER NOT NULL,
  payload TEXT NOT NULL, headers TEXT NOT NULL, cause TEXT NOT NULL, parked_at INTEGER NOT NULL,
  PRIMARY KEY (consumer, topic, partition_key, n), UNIQUE (consumer, topic, partition_key, id)
) WITHOUT ROWID;
