-- The embedded store. Names that readers rely on are those of the contract: tables where operators
-- lock and constrain rows, views over leaner shapes elsewhere. Amounts are base units as 39 digits
-- of zero-padded text, so that text compares like numbers; views show them without the padding.

CREATE TABLE transfers (
  transfer_id INTEGER PRIMARY KEY,
  req_id TEXT NOT NULL UNIQUE,
  flow TEXT NOT NULL,
  principal TEXT NOT NULL,
  user_id INTEGER NOT NULL,
  scope TEXT,
  cid TEXT,
  fingerprint BLOB,
  asset_id INTEGER NOT NULL,
  amount TEXT NOT NULL,
  fee TEXT NOT NULL,
  source_type INTEGER NOT NULL,
  source_account TEXT NOT NULL,
  target_type INTEGER NOT NULL,
  target_account TEXT NOT NULL,
  deadline INTEGER,
  memo TEXT,
  reference TEXT,
  metadata TEXT,
  -- the UTC day (days since 1970) whose limits it was counted against
  limit_day INTEGER,
  state INTEGER NOT NULL,
  version INTEGER NOT NULL,
  error_message TEXT,
  error_class TEXT,
  retry_count INTEGER NOT NULL,
  rejections INTEGER NOT NULL,
  alone INTEGER NOT NULL,
  deaths INTEGER NOT NULL,
  due_at INTEGER,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  batch INTEGER NOT NULL,
  events INTEGER NOT NULL,
  chain BLOB NOT NULL,
  -- entries as JSON arrays, joined by commas; appended to, never rewritten
  history TEXT NOT NULL
);
-- A user's list, newest first: an index ends in the row's own number. It names nothing that an
-- update changes.
CREATE INDEX transfers_user ON transfers (user_id);
-- A service's list: what a principal made for others. A user's own transfers cost nothing here.
CREATE INDEX transfers_service ON transfers (principal)
  WHERE substr(principal, -1 - length(user_id)) <> '|' || user_id;
-- The place where a client's key is unique for ever.
CREATE TABLE keys (
  flow TEXT NOT NULL, scope TEXT NOT NULL, cid TEXT NOT NULL, transfer_id INTEGER NOT NULL,
  PRIMARY KEY (flow, scope, cid)
) WITHOUT ROWID;
-- What is open: one row for each journal write that opened transfers, until all of them ended.
CREATE TABLE open_batches (
  batch INTEGER PRIMARY KEY, lo INTEGER NOT NULL, hi INTEGER NOT NULL, open INTEGER NOT NULL
);
-- How many transfers ended where.
CREATE TABLE ended (
  flow TEXT NOT NULL, state INTEGER NOT NULL, transfers INTEGER NOT NULL,
  PRIMARY KEY (flow, state)
) WITHOUT ROWID;
-- What was not finished at once and waits for its time.
CREATE TABLE due (
  transfer_id INTEGER PRIMARY KEY, due_at INTEGER NOT NULL, leased_by INTEGER, leased_until INTEGER
);
CREATE TABLE operations (
  req_id TEXT NOT NULL, ledger INTEGER NOT NULL, leg TEXT NOT NULL,
  result TEXT NOT NULL, code TEXT, seq INTEGER NOT NULL,
  asset_id INTEGER NOT NULL, amount TEXT NOT NULL, account TEXT NOT NULL, at INTEGER NOT NULL,
  PRIMARY KEY (req_id, ledger, leg)
) WITHOUT ROWID;
-- Receipts by number, for those above one. Funding's own rows have no place here: nobody asks for
-- them like this, and they are most.
CREATE INDEX operations_seq ON operations (ledger, seq) WHERE ledger <> 1;
-- What the rows of `operations` add up to, and of `externals` under the legs IN and OUT, written with
-- them. The amount is signed text, of DONE rows only.
CREATE TABLE running_sums (
  ledger INTEGER NOT NULL, asset_id INTEGER NOT NULL, leg TEXT NOT NULL, result TEXT NOT NULL,
  count INTEGER NOT NULL, amount TEXT NOT NULL,
  PRIMARY KEY (ledger, asset_id, leg, result)
) WITHOUT ROWID;
CREATE TABLE externals (
  operation_id INTEGER PRIMARY KEY,
  direction TEXT NOT NULL, reference TEXT NOT NULL,
  user_id INTEGER NOT NULL, asset_id INTEGER NOT NULL, amount TEXT NOT NULL,
  available TEXT NOT NULL, reason TEXT NOT NULL, caller TEXT NOT NULL, at INTEGER NOT NULL,
  -- its place in the audit's chain of external movements, its hash there, the write it was part of
  entry INTEGER, hash BLOB, audit_unit INTEGER,
  UNIQUE (direction, reference)
);
CREATE TABLE balances_tb (
  user_id INTEGER NOT NULL, account_type TEXT NOT NULL, asset_id INTEGER NOT NULL,
  available TEXT NOT NULL, frozen TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('ACTIVE', 'FROZEN', 'DISABLED')),
  version INTEGER NOT NULL,
  PRIMARY KEY (user_id, account_type, asset_id)
) WITHOUT ROWID;
-- An account has one status, and its rows carry it: who changes one of them changes all.
CREATE TRIGGER balances_tb_one_status AFTER UPDATE OF status ON balances_tb WHEN new.status <> old.status
BEGIN
  UPDATE balances_tb SET status = new.status, version = version + 1
  WHERE user_id = new.user_id AND account_type = new.account_type AND status <> new.status;
END;
-- Clearing and world of a ledger, signed, one row for each writer's lane.
CREATE TABLE books (
  account_type TEXT NOT NULL, book TEXT NOT NULL, lane INTEGER NOT NULL, asset_id INTEGER NOT NULL,
  amount TEXT NOT NULL,
  PRIMARY KEY (account_type, book, lane, asset_id)
) WITHOUT ROWID;
CREATE TABLE assets_tb (
  asset_id INTEGER PRIMARY KEY, symbol TEXT NOT NULL UNIQUE, precision INTEGER NOT NULL,
  status TEXT NOT NULL, internal_transfer_enabled INTEGER NOT NULL,
  min_transfer_amount TEXT NOT NULL, max_transfer_amount TEXT, daily_amount TEXT
);
CREATE TABLE outbox (
  id TEXT PRIMARY KEY, req_id TEXT NOT NULL, n INTEGER NOT NULL, topic TEXT NOT NULL,
  partition_key TEXT NOT NULL, type TEXT NOT NULL, payload TEXT NOT NULL, headers TEXT NOT NULL,
  processed INTEGER NOT NULL DEFAULT 0, created_at INTEGER NOT NULL, published_at INTEGER,
  UNIQUE (req_id, type, n)
) WITHOUT ROWID;
CREATE TABLE inbox (
  consumer TEXT NOT NULL, event_id TEXT NOT NULL, at INTEGER NOT NULL,
  PRIMARY KEY (consumer, event_id)
) WITHOUT ROWID;
-- One row for each episode. Its subject: service, transfer/<id>, user/<id>, ledger/<name>.
CREATE TABLE cases (
  case_id INTEGER PRIMARY KEY, kind TEXT NOT NULL, severity TEXT NOT NULL,
  subject TEXT NOT NULL, req_id TEXT, facts TEXT NOT NULL, status TEXT NOT NULL,
  opened_at INTEGER NOT NULL, closed_at INTEGER, closed_by TEXT
);
CREATE UNIQUE INDEX cases_open ON cases (kind, subject) WHERE closed_at IS NULL;
CREATE INDEX cases_subject ON cases (subject);
CREATE TABLE case_notes (
  note_id INTEGER PRIMARY KEY, case_id INTEGER NOT NULL, at INTEGER NOT NULL,
  caller TEXT NOT NULL, kind TEXT NOT NULL, text TEXT NOT NULL
);
CREATE INDEX case_notes_case ON case_notes (case_id);
-- One row for each half of an episode; delivered where due_at is NULL.
CREATE TABLE webhook_deliveries (
  case_id INTEGER NOT NULL, tells TEXT NOT NULL, at INTEGER NOT NULL,
  attempts INTEGER NOT NULL, due_at INTEGER, error TEXT,
  PRIMARY KEY (case_id, tells)
) WITHOUT ROWID;
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (at) WHERE due_at IS NOT NULL;
-- What stands until a person lifts it. A number is never given twice: whoever lifts one by its
-- number lifts nothing else. Systems and assets are named by their stored numbers.
CREATE TABLE pauses (
  pause_id INTEGER PRIMARY KEY AUTOINCREMENT, scope TEXT NOT NULL, subject TEXT NOT NULL,
  reason TEXT NOT NULL, caller TEXT NOT NULL, at INTEGER NOT NULL,
  UNIQUE (scope, subject, caller)
);
-- Every HALT that was raised, with its number and reason; NULL: it stands.
CREATE TABLE halts (
  halt INTEGER PRIMARY KEY, reason TEXT NOT NULL, at INTEGER NOT NULL, lifted_at INTEGER
);
-- Breaks of conservation that two persons accepted; the amount is signed.
CREATE TABLE accepted_breaks (
  key TEXT NOT NULL, amount TEXT NOT NULL, at INTEGER NOT NULL,
  PRIMARY KEY (key, amount)
) WITHOUT ROWID;
-- What people did, once for each (caller, key): one hash chain, the history of the id 0.
CREATE TABLE operator_actions (
  action_id INTEGER PRIMARY KEY, action TEXT NOT NULL, subject TEXT NOT NULL, value TEXT NOT NULL,
  reason TEXT NOT NULL, result TEXT NOT NULL, caller TEXT NOT NULL, idempotency_key TEXT NOT NULL,
  at INTEGER NOT NULL,
  -- its place in the audit's chain of actions, its hash there, the write it was part of
  entry INTEGER, hash BLOB, audit_unit INTEGER,
  UNIQUE (caller, idempotency_key)
);
CREATE INDEX operator_actions_subject ON operator_actions (subject);
-- Changes of an account's status at Funding, once for each key.
CREATE TABLE status_changes (
  idempotency_key TEXT PRIMARY KEY, subject TEXT NOT NULL, value TEXT NOT NULL,
  reason TEXT NOT NULL, caller TEXT NOT NULL, found INTEGER NOT NULL, at INTEGER NOT NULL
) WITHOUT ROWID;
-- Pipeline accounts; empty until that flow is there.
CREATE TABLE accounts_tb (
  account_number TEXT PRIMARY KEY, owner_id INTEGER NOT NULL, currency TEXT NOT NULL,
  balance TEXT NOT NULL, status TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE approvals (
  approval_id TEXT PRIMARY KEY, action TEXT NOT NULL, subject TEXT NOT NULL, value TEXT NOT NULL,
  reason TEXT NOT NULL, requested_by TEXT NOT NULL, requested_at INTEGER NOT NULL,
  status TEXT NOT NULL, decided_by TEXT, decided_at INTEGER,
  -- a pending one has lapsed from then on
  expires_at INTEGER NOT NULL
) WITHOUT ROWID;
-- What a user moved on a UTC day (days since 1970): all transfers under the asset 0, the amount
-- under each asset. Days that are over lie together, to be forgotten.
CREATE TABLE limits_tb (
  user_id INTEGER NOT NULL, day INTEGER NOT NULL, asset_id INTEGER NOT NULL,
  transfers INTEGER NOT NULL, amount TEXT NOT NULL,
  PRIMARY KEY (day, user_id, asset_id)
) WITHOUT ROWID;
-- Flags, counters and cursors by name. `writer`: Funding's last number, and when anything was
-- written last.
CREATE TABLE service_state (
  name TEXT PRIMARY KEY, value TEXT NOT NULL, version INTEGER NOT NULL, at INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE ledgers_tb (
  ledger INTEGER NOT NULL, incarnation TEXT NOT NULL, identity TEXT NOT NULL,
  highest INTEGER NOT NULL, current INTEGER NOT NULL, adopted_at INTEGER NOT NULL,
  PRIMARY KEY (ledger, incarnation)
) WITHOUT ROWID;
-- One intent on a chain, and the ways in which its lock may be spent.
CREATE TABLE attempts (
  attempt_id TEXT PRIMARY KEY, version INTEGER NOT NULL, chain INTEGER NOT NULL, flow TEXT NOT NULL,
  state INTEGER NOT NULL, lane TEXT NOT NULL, lock INTEGER NOT NULL,
  -- ids of transfers, in their order, joined by commas
  members TEXT NOT NULL, due_at INTEGER
) WITHOUT ROWID;
CREATE TABLE attempt_forms (
  attempt_id TEXT NOT NULL, n INTEGER NOT NULL, purpose TEXT NOT NULL, hash BLOB NOT NULL,
  bytes BLOB NOT NULL, repeatable INTEGER NOT NULL, expires INTEGER NOT NULL,
  PRIMARY KEY (attempt_id, n)
) WITHOUT ROWID;
-- One row for each write with entries; they carry its n. The digest is over their hashes: of external
-- movements, then of operators' actions, then of histories in the order of transfer_id, each chain's
-- in the order of their places.
CREATE TABLE audit_units (
  lane INTEGER NOT NULL, n INTEGER NOT NULL, count INTEGER NOT NULL, digest BLOB NOT NULL,
  at INTEGER NOT NULL, PRIMARY KEY (lane, n)
) WITHOUT ROWID;
CREATE TABLE audit_seals (
  seal INTEGER PRIMARY KEY, at INTEGER NOT NULL, lanes TEXT NOT NULL, root BLOB NOT NULL,
  previous BLOB NOT NULL, mac BLOB NOT NULL
);

CREATE VIEW transfers_tb AS SELECT
  t.transfer_id, t.req_id, t.flow, t.principal, t.user_id, t.cid, lower(hex(t.fingerprint)) AS fingerprint,
  t.asset_id, ltrim(t.amount, '0') AS amount,
  CASE WHEN t.source_type = 1 AND t.target_type = 2 THEN 1
       WHEN t.source_type = 2 AND t.target_type = 1 THEN 2 ELSE 0 END AS transfer_type,
  t.source_type, t.target_type, t.reference, t.metadata, t.state, t.version,
  t.error_message, t.error_class, t.retry_count, d.due_at, d.leased_by, d.leased_until,
  t.created_at, t.updated_at
FROM transfers t LEFT JOIN due d USING (transfer_id);

CREATE VIEW transfer_events AS SELECT
  t.req_id, json_extract(e.value, '$[0]') AS seq, json_extract(e.value, '$[1]') AS at,
  json_extract(e.value, '$[2]') AS from_state, json_extract(e.value, '$[3]') AS to_state,
  json_extract(e.value, '$[4]') AS event, json_extract(e.value, '$[5]') AS caller,
  json_extract(e.value, '$[6]') AS detail,
  lag(json_extract(e.value, '$[7]')) OVER (PARTITION BY t.req_id ORDER BY e.key) AS prev_hash,
  json_extract(e.value, '$[7]') AS hash, json_extract(e.value, '$[8]') AS audit_unit
FROM transfers t, json_each('[' || t.history || ']') e;

CREATE VIEW transfer_operations AS SELECT
  CASE ledger WHEN 1 THEN 'FUNDING' WHEN 2 THEN 'SPOT' WHEN 3 THEN 'FUTURE' WHEN 4 THEN 'MARGIN'
    ELSE CAST(ledger AS TEXT) END AS ledger,
  req_id, leg, leg AS op_type, result, code, seq, asset_id,
  CASE ltrim(amount, '0') WHEN '' THEN '0' ELSE ltrim(amount, '0') END AS amount, account, at
FROM operations;

CREATE VIEW balances AS SELECT
  user_id, account_type, asset_id,
  CASE ltrim(available, '0') WHEN '' THEN '0' ELSE ltrim(available, '0') END AS available,
  CASE ltrim(frozen, '0') WHEN '' THEN '0' ELSE ltrim(frozen, '0') END AS frozen, status, version
FROM balances_tb;
