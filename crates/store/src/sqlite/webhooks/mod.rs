//! Writes the webhook tables: cursors, queued messages, claims, results of tries, and the log of
//! messages.

mod port;
mod rows;

use super::columns::{int, uint};
use super::write::batch::WriteBatch;
use crate::columns::most;
use kernel::ids::{Id, Millis};
use kernel::ports::webhooks::{
    ClaimQuery, MessageBatch, NewMessage, ProgressMove, TriedMessage, WebhookMessage,
};
use rows::{MESSAGE, message};
use rusqlite::{OptionalExtension, params};

/// The prefix of the name of the time since which an endpoint fails; the endpoint's id follows.
const FAILING: &str = "failing/";

/// A change to the webhook tables, for the writer.
#[derive(Debug)]
pub(crate) enum WebhookWrite {
    /// The messages of one look at the journal's facts, whole or not at all.
    Queue(MessageBatch),
    /// Messages are taken up for a try.
    Claim(ClaimQuery),
    /// The results of tries.
    Tried(Vec<TriedMessage>),
    /// Forgets what is older than a time; the number is the maximum of rows in each table.
    Forget(Millis, usize),
}

/// The result of a change to the webhook tables.
#[derive(Debug)]
pub(crate) enum WebhookWritten {
    /// Whether a batch was written.
    Queued(bool),
    /// The messages that were taken up.
    Claimed(Vec<WebhookMessage>),
    /// How many rows were written.
    Rows(u64),
}

impl WriteBatch<'_> {
    pub(crate) fn webhooks(&self, write: &WebhookWrite) -> rusqlite::Result<WebhookWritten> {
        match write {
            WebhookWrite::Queue(batch) => Ok(WebhookWritten::Queued(self.queue_messages(batch)?)),
            WebhookWrite::Claim(query) => Ok(WebhookWritten::Claimed(self.claim_messages(query)?)),
            WebhookWrite::Tried(tried) => Ok(WebhookWritten::Rows(self.tried_messages(tried)?)),
            WebhookWrite::Forget(before, limit) => {
                Ok(WebhookWritten::Rows(self.forget_messages(*before, *limit)?))
            }
        }
    }

    fn queue_messages(&self, batch: &MessageBatch) -> rusqlite::Result<bool> {
        let MessageBatch { moves, messages, resend, watch, ended, told } = batch;
        for one in moves {
            if self.progress_version(&one.name)? != one.version {
                return Ok(false);
            }
        }
        for ProgressMove { name, value, .. } in moves {
            let sql = "INSERT INTO webhook_progress VALUES (?1, ?2, 1) \
                       ON CONFLICT (name) DO UPDATE SET value = ?2, version = version + 1";
            self.db.prepare_cached(sql)?.execute(params![&**name, int(*value)])?;
        }
        for one in messages {
            self.queue_message(one)?;
        }
        for (endpoint, number) in resend {
            let sql = "UPDATE webhook_messages SET due_at = ?3, attempts = 0, status = NULL, \
                       error = NULL WHERE endpoint = ?1 AND number = ?2";
            let row = params![endpoint.to_string(), int(*number), int(self.at)];
            self.db.prepare_cached(sql)?.execute(row)?;
        }
        for serial in watch {
            let sql = "INSERT OR IGNORE INTO webhook_watch VALUES (?, NULL)";
            self.db.prepare_cached(sql)?.execute([int(serial.0)])?;
        }
        for (serial, at) in ended {
            let sql = "UPDATE webhook_watch SET ended_at = ?2 WHERE transfer_id = ?1";
            self.db.prepare_cached(sql)?.execute([int(serial.0), int(*at)])?;
        }
        for (case, tells) in told {
            let sql = "UPDATE webhook_deliveries SET passed_on = 1 WHERE case_id = ? AND tells = ?";
            self.db.prepare_cached(sql)?.execute(params![int(*case), tells.name()])?;
        }
        Ok(true)
    }

    fn progress_version(&self, name: &str) -> rusqlite::Result<u64> {
        let sql = "SELECT version FROM webhook_progress WHERE name = ?";
        let mut ask = self.db.prepare_cached(sql)?;
        let version: Option<i64> = ask.query_row([name], |row| row.get(0)).optional()?;
        Ok(version.map_or(0, uint))
    }

    fn queue_message(&self, new: &NewMessage) -> rusqlite::Result<()> {
        let NewMessage { endpoint, id, kind, subject, body, again } = new;
        let there = if *again {
            "DO UPDATE SET at = ?6, due_at = ?6, attempts = 0, status = NULL, error = NULL"
        } else {
            "DO NOTHING"
        };
        let sql = format!(
            "INSERT INTO webhook_messages (endpoint, id, type, subject, body, at, due_at) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6) ON CONFLICT (endpoint, id) {there}"
        );
        let endpoint = endpoint.to_string();
        let row = params![endpoint, &**id, &**kind, &**subject, &**body, int(self.at)];
        self.db.prepare_cached(&sql)?.execute(row)?;
        Ok(())
    }

    fn claim_messages(&self, query: &ClaimQuery) -> rusqlite::Result<Vec<WebhookMessage>> {
        let ClaimQuery { endpoint, hold, longest, limit } = query;
        let sql = format!(
            "UPDATE webhook_messages SET due_at = ?4 WHERE number IN \
               (SELECT number FROM webhook_messages WHERE endpoint = ?1 AND due_at IS NOT NULL \
                AND (due_at <= ?2 OR due_at > ?3) ORDER BY due_at, number LIMIT ?5) \
             RETURNING {MESSAGE}"
        );
        let (far, until) = (self.at.saturating_add(*longest), self.at.saturating_add(*hold));
        let bounds =
            params![endpoint.to_string(), int(self.at), int(far), int(until), most(*limit)];
        let mut ask = self.db.prepare_cached(&sql)?;
        let mut claimed: Vec<WebhookMessage> =
            ask.query_map(bounds, message)?.collect::<Result<_, _>>()?;
        claimed.sort_by_key(|one| one.number);
        Ok(claimed)
    }

    fn tried_messages(&self, tried: &[TriedMessage]) -> rusqlite::Result<u64> {
        let sql = "UPDATE webhook_messages SET attempts = attempts + 1, tried_at = ?3, due_at = ?4, \
                   delivered_at = COALESCE(delivered_at, ?5), status = ?6, error = ?7 \
                   WHERE endpoint = ?1 AND number = ?2 AND due_at IS NOT NULL";
        let (mut changed, now) = (0, self.at);
        for TriedMessage { endpoint, number, wait, status, error } in tried {
            let due = wait.map(|wait| int(now.saturating_add(wait)));
            let taken = error.is_none().then_some(int(now));
            let endpoint = endpoint.to_string();
            let error = error.as_deref();
            let row = params![endpoint, int(*number), int(now), due, taken, status, error];
            changed += self.db.prepare_cached(sql)?.execute(row)?;
        }
        let (works, fails) = crate::columns::failing(FAILING, tried);
        for name in works {
            let sql = "DELETE FROM webhook_progress WHERE name = ?";
            self.db.prepare_cached(sql)?.execute([name])?;
        }
        for name in fails {
            let sql = "INSERT OR IGNORE INTO webhook_progress VALUES (?, ?, 1)";
            self.db.prepare_cached(sql)?.execute(params![name, int(now)])?;
        }
        Ok(u64::try_from(changed).unwrap_or(u64::MAX))
    }

    fn forget_messages(&self, before: Millis, limit: usize) -> rusqlite::Result<u64> {
        let old = "DELETE FROM webhook_messages WHERE number IN \
                   (SELECT number FROM webhook_messages WHERE at < ? ORDER BY at LIMIT ?)";
        let late = "DELETE FROM webhook_watch WHERE transfer_id IN \
                    (SELECT transfer_id FROM webhook_watch WHERE ended_at < ? LIMIT ?)";
        let mut rows = 0;
        for sql in [old, late] {
            rows += self.db.prepare_cached(sql)?.execute([int(before), most(limit)])?;
        }
        Ok(u64::try_from(rows).unwrap_or(u64::MAX))
    }
}

/// The endpoint of a stored text.
fn endpoint(column: usize, text: &str) -> rusqlite::Result<Id> {
    super::columns::read_id(column, text)
}
