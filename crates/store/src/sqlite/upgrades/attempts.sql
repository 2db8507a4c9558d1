-- One intent on a chain under one lock, and the ways in which the lock may be spent. A lock is a text,
-- and taken once for ever, whether its attempt is open or closed. No release wrote a row here.
ALTER TABLE attempts RENAME TO attempts_before;
ALTER TABLE attempt_forms RENAME TO attempt_forms_before;
CREATE TABLE attempts (
  -- rises with each new one
  serial INTEGER PRIMARY KEY,
  attempt_id TEXT NOT NULL UNIQUE, version INTEGER NOT NULL, chain INTEGER NOT NULL, flow TEXT NOT NULL,
  state INTEGER NOT NULL, lane TEXT NOT NULL, lock TEXT NOT NULL,
  -- a form may be on the wire
  sent INTEGER NOT NULL,
  due_at INTEGER, leased_by INTEGER, created_at INTEGER NOT NULL, closed_at INTEGER,
  UNIQUE (chain, lane, lock)
);
CREATE INDEX attempts_open ON attempts (due_at) WHERE closed_at IS NULL;
CREATE INDEX attempts_lane ON attempts (chain, lane);
-- Who is paid: n is the place in the attempt.
CREATE TABLE attempt_members (
  transfer_id INTEGER NOT NULL, attempt_id TEXT NOT NULL, n INTEGER NOT NULL,
  PRIMARY KEY (transfer_id, attempt_id)
) WITHOUT ROWID;
CREATE INDEX attempt_members_attempt ON attempt_members (attempt_id, n);
CREATE TABLE attempt_forms (
  attempt_id TEXT NOT NULL, n INTEGER NOT NULL, purpose TEXT NOT NULL,
  -- its name on the chain: a hash
  name BLOB NOT NULL,
  bytes BLOB NOT NULL, repeatable INTEGER NOT NULL,
  -- heights on the chain's own clock
  expires INTEGER, anchor INTEGER,
  -- where the node signs: a JSON text of reference, head sequence and head txid
  reference TEXT,
  PRIMARY KEY (attempt_id, n)
) WITHOUT ROWID;
CREATE INDEX attempt_forms_name ON attempt_forms (name);
INSERT INTO attempts
  (attempt_id, version, chain, flow, state, lane, lock, sent, due_at, created_at)
  SELECT attempt_id, version, chain, flow, state, lane, CAST(lock AS TEXT), 1, due_at, 0
  FROM attempts_before;
INSERT INTO attempt_members
  SELECT t.transfer_id, a.attempt_id, m.key
  FROM attempts_before a, json_each('["' || replace(a.members, ',', '","') || '"]') m
  JOIN transfers t ON t.req_id = m.value;
INSERT INTO attempt_forms
  SELECT attempt_id, n, purpose, hash, bytes, repeatable, expires, NULL, NULL
  FROM attempt_forms_before;
DROP TABLE attempts_before;
DROP TABLE attempt_forms_before;
