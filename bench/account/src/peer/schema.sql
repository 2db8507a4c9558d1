CREATE TABLE accounts (
  account_number text PRIMARY KEY, balance bigint NOT NULL, status text NOT NULL DEFAULT 'ACTIVE'
);
CREATE TABLE transfers (
  id uuid PRIMARY KEY, from_account_number text NOT NULL, to_account_number text NOT NULL,
  amount bigint NOT NULL, currency text NOT NULL, status text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(), updated_at timestamptz NOT NULL DEFAULT now()
);
CREATE TABLE outbox_events (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, aggregate_id uuid NOT NULL,
  destination text NOT NULL, message_key text NOT NULL, payload text NOT NULL,
  processed boolean NOT NULL DEFAULT false, created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX outbox_unprocessed ON outbox_events (id) WHERE NOT processed;
