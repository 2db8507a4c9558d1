-- The leanest tables that hold what a transfer must leave behind (the peer's own, not the product's).
CREATE TABLE transfers (
  req_id uuid PRIMARY KEY, transfer_id bigint NOT NULL, user_id bigint NOT NULL, scope text NOT NULL,
  cid text NOT NULL, fingerprint bytea NOT NULL, asset_id int NOT NULL, amount numeric(39,0) NOT NULL,
  source_type smallint NOT NULL, target_type smallint NOT NULL, state smallint NOT NULL,
  version int NOT NULL, retry_count int NOT NULL, created_at bigint NOT NULL, updated_at bigint NOT NULL,
  history text NOT NULL
) WITH (fillfactor = 45);
CREATE TABLE keys (
  scope text NOT NULL, cid text NOT NULL, req_id uuid NOT NULL, PRIMARY KEY (scope, cid)
);
CREATE TABLE operations (
  req_id uuid NOT NULL, leg smallint NOT NULL, result smallint NOT NULL, user_id bigint NOT NULL,
  amount numeric(39,0) NOT NULL, at bigint NOT NULL, PRIMARY KEY (req_id, leg)
);
CREATE TABLE balances (
  user_id bigint PRIMARY KEY, available numeric(39,0) NOT NULL CHECK (available >= 0),
  frozen numeric(39,0) NOT NULL CHECK (frozen >= 0), status smallint NOT NULL, version bigint NOT NULL
) WITH (fillfactor = 45);
CREATE TABLE clearing (amount numeric(39,0) NOT NULL);
CREATE TABLE lanes (lane int PRIMARY KEY, n bigint NOT NULL) WITH (fillfactor = 50);
CREATE TABLE service (halted boolean NOT NULL);
INSERT INTO lanes SELECT n, 0 FROM generate_series(0, 15) n;
INSERT INTO service VALUES (false);
