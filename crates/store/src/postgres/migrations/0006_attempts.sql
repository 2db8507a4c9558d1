-- One intent on a chain under one lock, and the ways in which the lock may be spent. A lock is a text,
-- and taken once for ever, whether its attempt is open or closed. No release wrote a row here.
ALTER TABLE attempts RENAME TO attempts_before;
ALTER TABLE attempts_before RENAME CONSTRAINT attempts_pkey TO attempts_before_pkey;
ALTER TABLE attempt_forms RENAME TO attempt_forms_before;
ALTER TABLE attempt_forms_before RENAME CONSTRAINT attempt_forms_pkey TO attempt_forms_before_pkey;
CREATE TABLE attempts (
  -- rises with each new one
  serial bigint GENERATED ALWAYS AS IDENTITY,
  attempt_id uuid PRIMARY KEY, version int NOT NULL, chain smallint NOT NULL,
  flow text COLLATE "C" NOT NULL, state smallint NOT NULL,
  lane text COLLATE "C" NOT NULL, lock text COLLATE "C" NOT NULL,
  -- a form may be on the wire
  sent boolean NOT NULL,
  -- who looks after it, and when; as in due
  due_at bigint, leased_by bigint,
  created_at bigint NOT NULL, closed_at bigint,
  UNIQUE (chain, lane, lock)
) WITH (fillfactor = 70);
CREATE INDEX attempts_open ON attempts (due_at) WHERE closed_at IS NULL;
CREATE INDEX attempts_lane ON attempts (chain, lane, serial);
-- Who is paid: n is the place in the attempt.
CREATE TABLE attempt_members (
  transfer_id bigint NOT NULL, attempt_id uuid NOT NULL, n int NOT NULL,
  PRIMARY KEY (transfer_id, attempt_id)
);
CREATE INDEX attempt_members_attempt ON attempt_members (attempt_id, n);
CREATE TABLE attempt_forms (
  attempt_id uuid NOT NULL, n int NOT NULL, purpose text NOT NULL,
  -- its name on the chain: a hash
  name bytea NOT NULL,
  bytes bytea NOT NULL, repeatable boolean NOT NULL,
  -- heights on the chain's own clock
  expires bigint, anchor bigint,
  -- where the node signs: a JSON text of reference, head sequence and head txid
  reference text,
  PRIMARY KEY (attempt_id, n)
);
CREATE INDEX attempt_forms_name ON attempt_forms (name);
INSERT INTO attempts
  (attempt_id, version, chain, flow, state, lane, lock, sent, due_at, created_at)
  SELECT attempt_id, version, chain, flow, state, lane, lock::text, true, due_at, 0
  FROM attempts_before;
INSERT INTO attempt_members
  SELECT t.transfer_id, a.attempt_id, (m.n - 1)::int
  FROM attempts_before a, unnest(a.members) WITH ORDINALITY AS m(req_id, n)
  JOIN transfers t USING (req_id);
INSERT INTO attempt_forms
  SELECT attempt_id, n, purpose, hash, bytes, repeatable, expires, NULL, NULL
  FROM attempt_forms_before;
DROP TABLE attempts_before;
DROP TABLE attempt_forms_before;
