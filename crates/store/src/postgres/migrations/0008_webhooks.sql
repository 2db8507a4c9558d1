-- Webhooks for the events of all flows. An endpoint is a resource of the journal (`resource/webhook/<id>`
-- in service_state), so it has no table. A transfer writes nothing here: its end is found behind a cursor.
-- What is to be sent to an endpoint, and what came of it. Waiting where due_at has a time; taken where
-- delivered_at has one; given up where neither has.
CREATE TABLE webhook_messages (
  endpoint uuid NOT NULL, number bigint GENERATED ALWAYS AS IDENTITY,
  -- the webhook-id: the same whenever the same event is sent
  id text COLLATE "C" NOT NULL,
  type text COLLATE "C" NOT NULL, subject text NOT NULL, body text NOT NULL, at bigint NOT NULL,
  attempts int NOT NULL DEFAULT 0, due_at bigint, tried_at bigint, delivered_at bigint,
  status int, error text,
  PRIMARY KEY (endpoint, number), UNIQUE (endpoint, id)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05);
CREATE INDEX webhook_messages_due ON webhook_messages (endpoint, due_at) WHERE due_at IS NOT NULL;
CREATE INDEX webhook_messages_at ON webhook_messages (at);
-- Transfers that the cursor passed before they ended, and when they ended.
CREATE TABLE webhook_watch (transfer_id bigint PRIMARY KEY, ended_at bigint);
CREATE INDEX webhook_watch_ended ON webhook_watch (ended_at);
CREATE INDEX webhook_watch_open ON webhook_watch (transfer_id) WHERE ended_at IS NULL;
-- Cursors, the number of an endpoint's last request that was done, and since when an endpoint fails.
CREATE TABLE webhook_progress (
  name text COLLATE "C" PRIMARY KEY, value bigint NOT NULL, version bigint NOT NULL
) WITH (fillfactor = 50);
-- Halves of cases' episodes of which the endpoints were told. Those of before are of before the first
-- endpoint.
ALTER TABLE webhook_deliveries ADD COLUMN passed_on boolean NOT NULL DEFAULT true;
ALTER TABLE webhook_deliveries ALTER COLUMN passed_on SET DEFAULT false;
CREATE INDEX webhook_deliveries_new ON webhook_deliveries (at) WHERE NOT passed_on;
