-- The tables of the source, with the history and the operations that its text asks for.
CREATE TABLE transfers_tb (
  transfer_id BIGSERIAL PRIMARY KEY,
  req_id VARCHAR(26) UNIQUE NOT NULL,
  cid VARCHAR(64) UNIQUE,
  user_id BIGINT NOT NULL,
  asset_id INTEGER NOT NULL,
  amount DECIMAL(30, 8) NOT NULL,
  transfer_type SMALLINT NOT NULL,
  source_type SMALLINT NOT NULL,
  state SMALLINT NOT NULL DEFAULT 0,
  error_message TEXT,
  retry_count INTEGER NOT NULL DEFAULT 0,
  created_at TIMESTAMPTZ NOT NULL DEFAULT NOW(),
  updated_at TIMESTAMPTZ NOT NULL DEFAULT NOW()
);
CREATE INDEX idx_transfers_state ON transfers_tb(state) WHERE state NOT IN (40, -10, -30);
CREATE TABLE transfer_history (
  id BIGSERIAL PRIMARY KEY,
  req_id VARCHAR(26) NOT NULL,
  from_state SMALLINT,
  to_state SMALLINT NOT NULL,
  at TIMESTAMPTZ NOT NULL DEFAULT NOW()
);
CREATE INDEX idx_history_req ON transfer_history(req_id);
CREATE TABLE transfer_operations (
  req_id VARCHAR(26) NOT NULL,
  op_type VARCHAR(16) NOT NULL,
  result VARCHAR(16) NOT NULL,
  created_at TIMESTAMPTZ NOT NULL DEFAULT NOW(),
  PRIMARY KEY (req_id, op_type)
);
CREATE TABLE balances_tb (
  id BIGSERIAL PRIMARY KEY,
  user_id BIGINT NOT NULL,
  asset_id INTEGER NOT NULL,
  account_type VARCHAR(16) NOT NULL,
  available DECIMAL(30, 8) NOT NULL,
  status SMALLINT NOT NULL DEFAULT 1,
  version BIGINT NOT NULL DEFAULT 0,
  UNIQUE (user_id, asset_id, account_type)
);
CREATE TABLE assets_tb (asset_id INTEGER PRIMARY KEY, symbol VARCHAR(16) NOT NULL, status SMALLINT NOT NULL);
INSERT INTO assets_tb VALUES (3, 'USDT', 1);
