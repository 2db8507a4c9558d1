-- The journal and the Funding ledger. Names that readers rely on are those of the contract: tables
-- where operators lock and constrain rows, views over leaner shapes elsewhere. Amounts are base
-- units; times are milliseconds since 1970 by this database's clock, and timestamps in the views.
-- Text that an index sorts is compared byte by byte (COLLATE "C"): the rules of a language change with
-- the system's libraries, and an index that was built by others misses keys that are there.
-- Nothing that an update of a transfer changes is indexed, and its page has room for what is added:
-- the update stays on the page.

-- The time, in milliseconds since 1970.
CREATE FUNCTION portage_now() RETURNS bigint LANGUAGE sql VOLATILE AS
  $$ SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint $$;

-- Breaks off a write whose statements changed other rows than were asked for.
CREATE FUNCTION portage_expect(changed bigint, asked bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF changed IS DISTINCT FROM asked THEN
    RAISE EXCEPTION 'changed % rows of %', changed, asked USING ERRCODE = 'PT001';
  END IF;
END $$;

-- A ULID as text, from the same 128 bits as a uuid.
CREATE FUNCTION portage_ulid(id uuid) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT string_agg(substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ',
      1 + substring(b'00' || ('x' || replace(id::text, '-', ''))::bit(128) FROM 1 + 5 * n FOR 5)::bit(5)::int, 1), '' ORDER BY n)
  FROM generate_series(0, 25) n $$;

-- A transfer's number comes from a block that its write took: the blocks of two writes never overlap.
CREATE SEQUENCE transfer_blocks INCREMENT BY 1024 MINVALUE 1 CACHE 1;
-- Numbers of Funding's operations, in blocks as well.
CREATE SEQUENCE operation_blocks INCREMENT BY 4096 MINVALUE 1 CACHE 1;

CREATE TABLE transfers (
  transfer_id bigint PRIMARY KEY,
  req_id uuid NOT NULL UNIQUE,
  flow text NOT NULL,
  principal text COLLATE "C" NOT NULL,
  user_id bigint NOT NULL,
  scope text,
  cid text,
  fingerprint bytea,
  asset_id int NOT NULL,
  amount numeric(39,0) NOT NULL,
  fee numeric(39,0) NOT NULL,
  source_type smallint NOT NULL,
  source_account text NOT NULL,
  target_type smallint NOT NULL,
  target_account text NOT NULL,
  deadline bigint,
  memo text,
  reference text,
  metadata text,
  -- the UTC day (days since 1970) whose limits it was counted against
  limit_day int,
  state smallint NOT NULL,
  version int NOT NULL,
  error_message text,
  error_class text,
  retry_count int NOT NULL,
  rejections int NOT NULL,
  alone boolean NOT NULL,
  deaths smallint NOT NULL,
  due_at bigint,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  -- the first number of its write's block
  batch bigint NOT NULL,
  events int NOT NULL,
  chain bytea NOT NULL,
  -- entries as JSON arrays, joined by commas; appended to, never rewritten
  history text NOT NULL
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);
-- The least number from which on all were opened at or after a moment, but for writes that were under
-- way at once.
CREATE FUNCTION portage_first_at(moment bigint) RETURNS bigint LANGUAGE plpgsql STABLE AS $$
DECLARE
  low bigint := 0; high bigint; middle bigint; number bigint; created bigint;
BEGIN
  SELECT coalesce(max(transfer_id), 0) + 1 INTO high FROM transfers;
  WHILE low < high LOOP
    middle := low + (high - low) / 2;
    SELECT transfer_id, created_at INTO number, created FROM transfers
      WHERE transfer_id >= middle ORDER BY transfer_id LIMIT 1;
    IF number IS NULL OR created >= moment THEN high := middle; ELSE low := number + 1; END IF;
  END LOOP;
  RETURN low;
END $$;
-- A user's list, newest first. It names nothing that an update changes.
CREATE INDEX transfers_user ON transfers (user_id, transfer_id);
-- A service's list: what a principal made for others. A user's own transfers cost nothing here.
CREATE INDEX transfers_service ON transfers (principal, transfer_id)
  WHERE right(principal, 1 + length(user_id::text)) <> '|' || user_id::text;
-- The place where a client's key is unique for ever: never partitioned, moved or deleted.
CREATE TABLE keys (
  flow text COLLATE "C" NOT NULL, scope text COLLATE "C" NOT NULL, cid text COLLATE "C" NOT NULL, transfer_id bigint NOT NULL,
  PRIMARY KEY (flow, scope, cid)
);
-- What is open: one row for each write that opened transfers, until all of them have ended. Its
-- worker carries those that have no row in `due`.
CREATE TABLE open_batches (
  batch bigint PRIMARY KEY, hi bigint NOT NULL, worker bigint NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);
-- How many transfers ended where: one row for each lane, so that no lane waits for another.
CREATE TABLE ended (
  lane int NOT NULL, flow text COLLATE "C" NOT NULL, state smallint NOT NULL, transfers bigint NOT NULL,
  PRIMARY KEY (lane, flow, state)
) WITH (fillfactor = 50);
-- What was not finished at once, from the first wait to its end. Leased: its worker is alive; without
-- a time that worker carries it on right now.
CREATE TABLE due (
  transfer_id bigint PRIMARY KEY, due_at bigint, leased_by bigint,
  -- its owner died holding it, and nobody was given it since
  orphan boolean NOT NULL DEFAULT false
) WITH (fillfactor = 70);
CREATE INDEX due_at ON due (due_at);
-- Who is at work, by this database's clock.
CREATE TABLE workers (
  worker bigint PRIMARY KEY, started_at bigint NOT NULL, leased_until bigint NOT NULL,
  -- how long a lease lasts: one that ends later than that from now was given by a wrong clock
  length bigint NOT NULL,
  -- when it ended by itself, in order
  left_at bigint,
  -- the number of the last halt that it has seen: no effect begins there any more
  seen_halt bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 50);
-- One row for each writer's connection, which holds the lane's advisory lock.
CREATE TABLE lanes (
  lane int PRIMARY KEY,
  -- the last of its rows in audit_units
  n bigint NOT NULL,
  -- when it wrote last
  at bigint NOT NULL,
  -- the highest number of a Funding operation that it wrote
  seq bigint NOT NULL
) WITH (fillfactor = 50);
CREATE TABLE operations (
  req_id uuid NOT NULL, ledger smallint NOT NULL, leg text COLLATE "C" NOT NULL,
  result text NOT NULL, code text, seq bigint NOT NULL,
  asset_id int NOT NULL, amount numeric(39,0) NOT NULL, account text NOT NULL, at bigint NOT NULL,
  PRIMARY KEY (req_id, ledger, leg)
);
-- Receipts by number, for those above one. Funding's own rows have no place here: nobody asks for
-- them like this, and they are most.
CREATE INDEX operations_seq ON operations (ledger, seq) WHERE ledger <> 1;
-- What the rows of `operations` add up to, and of `externals` under the legs IN and OUT, written with
-- them: one row for each writer's lane. The amount is of DONE rows only.
CREATE TABLE running_sums (
  lane int NOT NULL, ledger smallint NOT NULL, asset_id int NOT NULL, leg text COLLATE "C" NOT NULL,
  result text COLLATE "C" NOT NULL, count bigint NOT NULL, amount numeric NOT NULL,
  PRIMARY KEY (lane, ledger, asset_id, leg, result)
) WITH (fillfactor = 50);
CREATE TABLE externals (
  operation_id bigint PRIMARY KEY,
  direction text COLLATE "C" NOT NULL, reference text COLLATE "C" NOT NULL,
  user_id bigint NOT NULL, asset_id int NOT NULL, amount numeric(39,0) NOT NULL,
  available numeric(39,0) NOT NULL, reason text NOT NULL, caller text NOT NULL, at bigint NOT NULL,
  -- its place in the audit's chain of external movements, its hash there, the write it was part of
  entry bigint, hash bytea, audit_lane int, audit_unit bigint,
  UNIQUE (direction, reference)
);
CREATE UNIQUE INDEX externals_entry ON externals (entry);
CREATE TABLE balances_tb (
  user_id bigint NOT NULL, account_type text COLLATE "C" NOT NULL, asset_id int NOT NULL,
  available numeric(39,0) NOT NULL CHECK (available >= 0),
  frozen numeric(39,0) NOT NULL CHECK (frozen >= 0),
  status text NOT NULL CHECK (status IN ('ACTIVE', 'FROZEN', 'DISABLED')),
  version bigint NOT NULL,
  PRIMARY KEY (user_id, account_type, asset_id)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);
-- An account has one status, and its rows carry it. Who adds a row holds the account shared until its
-- COMMIT, who changes the status holds it alone: no row is added with a status that is changed at the
-- same moment, and no change misses a row. A number of locks, so that no write fills the lock table.
CREATE FUNCTION portage_account_lock(owner bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS
  $$ SELECT x'506f72740100'::bigint + (owner & 255) $$;
CREATE FUNCTION portage_row_added() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NOT pg_try_advisory_xact_lock_shared(portage_account_lock(NEW.user_id)) THEN
    RAISE EXCEPTION 'a status of account % is being changed', NEW.user_id USING ERRCODE = '55P03';
  END IF;
  -- a statement of its own sees what was committed until now
  IF EXISTS (SELECT FROM balances_tb WHERE user_id = NEW.user_id
      AND account_type = NEW.account_type AND status <> NEW.status) THEN
    RAISE EXCEPTION 'account % has another status', NEW.user_id USING ERRCODE = 'PT001';
  END IF;
  RETURN NEW;
END $$;
CREATE FUNCTION portage_status_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(portage_account_lock(NEW.user_id));
  UPDATE balances_tb SET status = NEW.status, version = version + 1
    WHERE user_id = NEW.user_id AND account_type = NEW.account_type AND status <> NEW.status;
  RETURN NULL;
END $$;
CREATE TRIGGER balances_tb_row_added BEFORE INSERT ON balances_tb
  FOR EACH ROW EXECUTE FUNCTION portage_row_added();
CREATE TRIGGER balances_tb_one_status AFTER UPDATE OF status ON balances_tb
  FOR EACH ROW WHEN (OLD.status <> NEW.status) EXECUTE FUNCTION portage_status_changed();
-- Clearing and world of a ledger, signed, one row for each writer's lane.
CREATE TABLE books (
  account_type text COLLATE "C" NOT NULL, book text COLLATE "C" NOT NULL, lane int NOT NULL, asset_id int NOT NULL,
  amount numeric(39,0) NOT NULL,
  PRIMARY KEY (account_type, book, lane, asset_id)
) WITH (fillfactor = 50);
CREATE TABLE assets_tb (
  asset_id int PRIMARY KEY, symbol text COLLATE "C" NOT NULL UNIQUE, precision smallint NOT NULL,
  status text NOT NULL, internal_transfer_enabled boolean NOT NULL,
  min_transfer_amount numeric(39,0) NOT NULL, max_transfer_amount numeric(39,0),
  daily_amount numeric(39,0)
);
CREATE TABLE outbox (
  id uuid PRIMARY KEY, req_id uuid NOT NULL, n int NOT NULL, topic text NOT NULL,
  partition_key text NOT NULL, type text COLLATE "C" NOT NULL, payload text NOT NULL, headers text NOT NULL,
  processed boolean NOT NULL DEFAULT false, created_at bigint NOT NULL, published_at bigint,
  UNIQUE (req_id, type, n)
);
CREATE TABLE inbox (
  consumer text COLLATE "C" NOT NULL, event_id uuid NOT NULL, at bigint NOT NULL,
  PRIMARY KEY (consumer, event_id)
);
-- One row for each episode. Its subject: service, transfer/<id>, user/<id>, ledger/<name>.
CREATE TABLE cases (
  case_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, kind text COLLATE "C" NOT NULL, severity text NOT NULL,
  subject text COLLATE "C" NOT NULL, req_id uuid, facts text NOT NULL, status text NOT NULL,
  opened_at bigint NOT NULL, closed_at bigint, closed_by text
);
CREATE UNIQUE INDEX cases_open ON cases (kind, subject) WHERE closed_at IS NULL;
CREATE INDEX cases_subject ON cases (subject);
CREATE TABLE case_notes (
  note_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, case_id bigint NOT NULL, at bigint NOT NULL,
  caller text NOT NULL, kind text NOT NULL, text text NOT NULL
);
CREATE INDEX case_notes_case ON case_notes (case_id);
-- One row for each half of an episode; delivered where due_at is NULL.
CREATE TABLE webhook_deliveries (
  case_id bigint NOT NULL, tells text COLLATE "C" NOT NULL, at bigint NOT NULL,
  attempts int NOT NULL, due_at bigint, error text,
  PRIMARY KEY (case_id, tells)
);
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (at) WHERE due_at IS NOT NULL;
-- What stands until a person lifts it. A number is never given twice: whoever lifts one by its
-- number lifts nothing else. Systems and assets are named by their stored numbers.
CREATE TABLE pauses (
  pause_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, scope text COLLATE "C" NOT NULL, subject text COLLATE "C" NOT NULL,
  reason text NOT NULL, caller text COLLATE "C" NOT NULL, at bigint NOT NULL,
  UNIQUE (scope, subject, caller)
);
-- Every HALT that was raised, with its number and reason; NULL: it stands.
CREATE TABLE halts (
  halt bigint PRIMARY KEY, reason text NOT NULL, at bigint NOT NULL, lifted_at bigint
);
-- Breaks of conservation that two persons accepted; the amount is signed.
CREATE TABLE accepted_breaks (
  key text COLLATE "C" NOT NULL, amount numeric(39,0) NOT NULL, at bigint NOT NULL,
  PRIMARY KEY (key, amount)
);
-- What people did, once for each (caller, key): one hash chain, the history of the id 0.
CREATE TABLE operator_actions (
  action_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, action text NOT NULL, subject text COLLATE "C" NOT NULL,
  value text NOT NULL, reason text NOT NULL, result text NOT NULL, caller text COLLATE "C" NOT NULL,
  idempotency_key text COLLATE "C" NOT NULL, at bigint NOT NULL,
  -- its place in the audit's chain of actions, its hash there, the write it was part of
  entry bigint, hash bytea, audit_lane int, audit_unit bigint,
  UNIQUE (caller, idempotency_key)
);
CREATE UNIQUE INDEX operator_actions_entry ON operator_actions (entry);
CREATE INDEX operator_actions_subject ON operator_actions (subject);
-- Changes of an account's status at Funding, once for each key.
CREATE TABLE status_changes (
  idempotency_key text COLLATE "C" PRIMARY KEY, subject text NOT NULL, value text NOT NULL,
  reason text NOT NULL, caller text NOT NULL, found boolean NOT NULL, at bigint NOT NULL
);
-- Pipeline accounts; empty until that flow is there.
CREATE TABLE accounts_tb (
  account_number text COLLATE "C" PRIMARY KEY, owner_id bigint NOT NULL, currency text NOT NULL,
  balance numeric(39,0) NOT NULL, status text NOT NULL
);
CREATE TABLE approvals (
  approval_id uuid PRIMARY KEY, action text NOT NULL, subject text NOT NULL, value text NOT NULL,
  reason text NOT NULL, requested_by text NOT NULL, requested_at bigint NOT NULL,
  status text NOT NULL, decided_by text, decided_at bigint,
  -- a pending one has lapsed from then on
  expires_at bigint NOT NULL
);
-- What a user moved on a UTC day (days since 1970): all transfers under the asset 0, the amount
-- under each asset. Days that are over lie together, to be forgotten.
CREATE TABLE limits_tb (
  user_id bigint NOT NULL, day int NOT NULL, asset_id int NOT NULL,
  transfers bigint NOT NULL, amount numeric(39,0) NOT NULL,
  PRIMARY KEY (day, user_id, asset_id)
) WITH (fillfactor = 50);
-- Flags, counters and cursors by name.
CREATE TABLE service_state (
  name text COLLATE "C" PRIMARY KEY, value text NOT NULL, version bigint NOT NULL, at bigint NOT NULL
) WITH (fillfactor = 50);
CREATE TABLE ledgers_tb (
  ledger smallint NOT NULL, incarnation uuid NOT NULL, identity uuid NOT NULL,
  -- the highest number that was matched when it was adopted; what came later stands per lane
  highest bigint NOT NULL, current boolean NOT NULL, adopted_at bigint NOT NULL,
  PRIMARY KEY (ledger, incarnation)
);
-- Whose process holds the core of a ledger that runs in one.
CREATE TABLE ledger_owners (
  ledger smallint PRIMARY KEY,
  -- how often it was taken over: what guards the owner's units
  epoch bigint NOT NULL, worker bigint NOT NULL, identity uuid NOT NULL
);
-- The highest receipt that each lane stored of a ledger.
CREATE TABLE ledger_lanes (
  ledger smallint NOT NULL, lane int NOT NULL, highest bigint NOT NULL,
  PRIMARY KEY (ledger, lane)
) WITH (fillfactor = 50);
-- One intent on a chain, and the ways in which its lock may be spent.
CREATE TABLE attempts (
  attempt_id uuid PRIMARY KEY, version int NOT NULL, chain smallint NOT NULL, flow text NOT NULL,
  state smallint NOT NULL, lane text NOT NULL, lock bigint NOT NULL,
  -- ids of transfers, in their order
  members uuid[] NOT NULL, due_at bigint
);
CREATE TABLE attempt_forms (
  attempt_id uuid NOT NULL, n int NOT NULL, purpose text NOT NULL, hash bytea NOT NULL,
  bytes bytea NOT NULL, repeatable boolean NOT NULL, expires bigint NOT NULL,
  PRIMARY KEY (attempt_id, n)
);
-- One row for each write with entries; they carry its lane and n. The digest is over their hashes: of
-- external movements, then of operators' actions, then of histories in the order of transfer_id,
-- each chain's in the order of their places.
CREATE TABLE audit_units (
  lane int NOT NULL, n bigint NOT NULL, count int NOT NULL, digest bytea NOT NULL,
  at bigint NOT NULL, PRIMARY KEY (lane, n)
);
CREATE TABLE audit_seals (
  seal bigint PRIMARY KEY, at bigint NOT NULL, lanes text NOT NULL, root bytea NOT NULL,
  previous bytea NOT NULL, mac bytea NOT NULL
);

CREATE VIEW transfer_operations AS SELECT
  CASE ledger WHEN 1 THEN 'FUNDING' WHEN 2 THEN 'SPOT' WHEN 3 THEN 'FUTURE' WHEN 4 THEN 'MARGIN'
    ELSE ledger::text END AS ledger,
  portage_ulid(req_id) AS req_id, leg, leg AS op_type, result, code, seq, asset_id, amount, account,
  to_timestamp(at / 1000.0) AS at
FROM operations;

CREATE VIEW balances AS SELECT
  user_id, account_type, asset_id, available, frozen, status, version
FROM balances_tb;
