-- Webhooks for the events of all flows. An endpoint is a resource of the journal (`resource/webhook/<id>`
-- in service_state), so it has no table. A transfer writes nothing here: its end is found behind a cursor.
-- What is to be sent to an endpoint, and what came of it. Waiting where due_at has a time; taken where
-- delivered_at has one; given up where neither has. `id`: the webhook-id, the same whenever the same event
-- is sent.
CREATE TABLE webhook_messages (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  endpoint TEXT NOT NULL, id TEXT NOT NULL,
  type TEXT NOT NULL, subject TEXT NOT NULL, body TEXT NOT NULL, at INTEGER NOT NULL,
  attempts INTEGER NOT NULL DEFAULT 0, due_at INTEGER, tried_at INTEGER, delivered_at INTEGER,
  status INTEGER, error TEXT,
  UNIQUE (endpoint, id)
);
CREATE INDEX webhook_messages_log ON webhook_messages (endpoint, number);
CREATE INDEX webhook_messages_due ON webhook_messages (endpoint, due_at) WHERE due_at IS NOT NULL;
CREATE INDEX webhook_messages_at ON webhook_messages (at);
-- Transfers that the cursor passed before they ended, and when they ended.
CREATE TABLE webhook_watch (transfer_id INTEGER PRIMARY KEY, ended_at INTEGER);
CREATE INDEX webhook_watch_ended ON webhook_watch (ended_at);
CREATE INDEX webhook_watch_open ON webhook_watch (transfer_id) WHERE ended_at IS NULL;
-- Cursors, the number of an endpoint's last request that was done, and since when an endpoint fails.
CREATE TABLE webhook_progress (
  name TEXT PRIMARY KEY, value INTEGER NOT NULL, version INTEGER NOT NULL
) WITHOUT ROWID;
-- Halves of cases' episodes of which the endpoints were told. Those of before are of before the first
-- endpoint.
ALTER TABLE webhook_deliveries ADD COLUMN passed_on INTEGER NOT NULL DEFAULT 0;
UPDATE webhook_deliveries SET passed_on = 1;
CREATE INDEX webhook_deliveries_new ON webhook_deliveries (at) WHERE NOT passed_on;
