//! Generates the demo's load: many users at once, each with a record of the answers that it got.

use super::super::exit::Fault;
use super::broken;
use client::types::{CreateTransfer, Created};
use client::{Client, Error};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// The counts of the load so far, for the table.
#[derive(Debug, Default)]
pub(super) struct LoadStats {
    pub(super) committed: AtomicU64,
    pub(super) failed: AtomicU64,
    pub(super) pending: AtomicU64,
    /// Sent, and no answer came.
    pub(super) unknown: AtomicU64,
    /// Unknown ones that were repeated and are known now.
    pub(super) settled: AtomicU64,
    /// No more is begun.
    pub(super) over: AtomicBool,
}

/// Everything that one user sent.
#[derive(Debug, Default)]
pub(super) struct SentTransfers {
    /// The request and its last answer, by cid.
    sent: Mutex<BTreeMap<String, (CreateTransfer, Option<Created>)>>,
}

/// One more in a counter.
fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

fn ended(created: &Created) -> bool {
    created.transfer.state != "PENDING"
}

impl SentTransfers {
    fn put(&self, new: &CreateTransfer, answer: Option<Created>) {
        let mut sent = self.sent.lock().unwrap_or_else(PoisonError::into_inner);
        sent.insert(new.cid.clone().unwrap_or_default(), (new.clone(), answer));
    }

    fn all(&self) -> Vec<(CreateTransfer, Option<Created>)> {
        self.sent.lock().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }

    /// Sends one transfer after the other until it is over: there, back, and now and then too much.
    pub(super) async fn run(&self, client: &Client, stats: &LoadStats, salt: u64) {
        let mut n = salt;
        while !stats.over.load(Ordering::Relaxed) {
            n = n.wrapping_add(1);
            // a little more goes there than comes back, so that no account runs dry
            let (from, to, whole) = match n % 2 {
                0 => ("FUNDING", "SPOT", n % 7),
                _ => ("SPOT", "FUNDING", n % 6),
            };
            let amount = if n.is_multiple_of(11) { 5000 } else { whole };
            let amount = format!("{amount}.5");
            let new = client::new_transfer(from, to, "USDT", &amount);
            self.put(&new, None);
            let mut answer = client.create(&new).await;
            // no connection: nothing was sent, so it is still the first try
            while matches!(answer, Err(Error::Unreachable(_))) {
                tokio::time::sleep(Duration::from_millis(20)).await;
                answer = client.create(&new).await;
            }
            match answer {
                Ok(created) => {
                    match created.transfer.state.as_str() {
                        "COMMITTED" => count(&stats.committed),
                        "PENDING" => count(&stats.pending),
                        _ => count(&stats.failed),
                    }
                    self.put(&new, Some(created));
                }
                Err(_) => count(&stats.unknown),
            }
        }
    }

    /// After the restart: each transfer that was answered is still what it was; each that was not
    /// is repeated with its cid until it is known.
    pub(super) async fn settle(&self, client: &Client, stats: &LoadStats) -> Result<(), Fault> {
        for (new, answer) in self.all() {
            let known = answer.as_ref().is_some_and(ended);
            let now = until_ended(client, &new).await?;
            if let Some(before) = &answer {
                let (b, n) = (&before.transfer, &now.transfer);
                let same = (&b.state, &before.code) == (&n.state, &now.code);
                if b.req_id != n.req_id || (known && !same) {
                    return Err(broken(format!("acknowledged {before:?}, found {now:?}")));
                }
                if !now.replayed {
                    return Err(broken(format!("acknowledged and gone: {before:?}")));
                }
            }
            if !known {
                count(&stats.settled);
            }
            self.put(&new, Some(now));
        }
        Ok(())
    }

    /// The sum that committed transfers moved from Funding to Spot, in base units.
    pub(super) fn to_spot(&self) -> Result<i128, Fault> {
        let mut sum = 0;
        for (new, answer) in self.all() {
            let Some(created) = answer else { return Err(broken(format!("no answer to {new:?}"))) };
            if created.transfer.state == "COMMITTED" {
                let amount = units(&created.transfer.amount)?;
                sum += if new.from == "FUNDING" { amount } else { -amount };
            }
        }
        Ok(sum)
    }

    pub(super) fn len(&self) -> usize {
        self.all().len()
    }
}

/// Repeats a request until the transfer has ended.
async fn until_ended(client: &Client, new: &CreateTransfer) -> Result<Created, Fault> {
    for _ in 0..200 {
        match client.create(new).await {
            Ok(created) if ended(&created) => return Ok(created),
            Ok(_) | Err(Error::Unknown(_) | Error::Unreachable(_)) => {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            Err(refused) => return Err(refused.into()),
        }
    }
    Err(broken(format!("no end within 10 s: {new:?}")))
}

/// USDT in base units: the server prints all six decimals.
pub(super) fn units(text: &str) -> Result<i128, Fault> {
    let odd = || broken(format!("`{text}` is no amount of USDT"));
    let (whole, fraction) = text.split_once('.').ok_or_else(odd)?;
    if fraction.len() != 6 {
        return Err(odd());
    }
    format!("{whole}{fraction}").parse().map_err(|_| odd())
}

#[cfg(test)]
mod tests {
    use super::units;

    #[test]
    fn printed_amounts_are_read() {
        assert_eq!(units("1000.500000").ok(), Some(1_000_500_000));
        assert!(units("1.5").is_err() && units("x").is_err());
    }
}
