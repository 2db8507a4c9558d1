//! The gateway campaign: the real binary under load, with a ledger of the simple form and one of the full form
//! behind a hop each. The hops answer every route alike, give one request another's answer, deliver twice, or after
//! they closed the connection; the driver kills the server now and then.
//!
//! In the end the hops are fair, what two persons have to decide is decided by what the ledgers hold, and
//! the ledgers' own rows say whether any money was made or lost.

mod clients;
mod jumps;
mod oracle;
mod services;
mod wall_clock;

use crate::rng::Rng;
use crate::{Outcome, clock};
use clients::{Sent, TokenRefused};
pub use jumps::{Jumped, run as run_jumps};
use serde_json::{Value, json};
use services::Services;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use testbed::{Fault, HopSeen};

/// What a gateway says to everything, one of these for a while.
const ALIKE: [(u16, &str); 4] = [
    (400, "{\"error\":\"invalid request\"}"),
    (200, "{\"success\":true}"),
    (401, "{\"error\":\"token expired\"}"),
    (200, "{\"error\":\"rate limited\"}"),
];
/// How long everything may take to come to its end once the hops are fair.
const SETTLES: Duration = Duration::from_secs(120);

/// What happened in the run.
#[derive(Debug, Default)]
pub struct Met {
    /// Transfers by the state in which they ended.
    pub ended: BTreeMap<String, u64>,
    /// Transfers that two persons decided.
    pub verdicts: u64,
    /// How often the server was killed.
    pub kills: u64,
    /// What each ledger's hop saw.
    pub hops: Vec<(&'static str, HopSeen)>,
}

/// Load for this time through hops that change all the time.
///
/// # Errors
/// What was made or lost, or what stopped the run.
pub fn run(program: &Path, below: &Path, length: Duration, mut rng: Rng) -> Outcome<Met> {
    let mut services = Services::start(program, below.join("gateway"), &[])?;
    let load = clients::start(&services, TokenRefused::Stops, &mut rng)?;
    let mut met = Met::default();
    let begun = clock::now();
    while begun.elapsed() < length && load.broken().is_none() {
        change(&services, &mut rng);
        std::thread::sleep(Duration::from_millis(150 + rng.below(350)));
        if rng.percent(5) {
            met.kills += 1;
            services.kill_and_restart()?;
        }
    }
    services.calm();
    load.over.store(true, Ordering::SeqCst);
    let sent = load.end(services.runtime())?;
    met.verdicts = settle(&services, &sent)?;
    met.ended = oracle::judge(&services, &sent)?;
    met.hops = services.seen();
    all_met(&met).map(|()| met)
}

/// What each hop does next.
fn change(services: &Services, rng: &mut Rng) {
    for hop in services.hops() {
        hop.pass();
        match rng.below(100) {
            0..30 => {}
            30..60 => {
                if let Some((status, body)) = rng.one(&ALIKE) {
                    hop.answer_all(*status, body);
                }
            }
            _ => hop.draw(2 + rng.below(4), rng.next(), &Fault::ALL),
        }
        if rng.percent(40) {
            hop.deliver_late();
        }
    }
}

/// Waits until every transfer has ended. One that waits for persons is decided by two, with the
/// refusal that the ledger holds: nothing is on its way any more.
fn settle(services: &Services, sent: &[Sent]) -> Outcome<u64> {
    let mut verdicts = 0;
    let begun = clock::now();
    let mut open: Vec<&Sent> = sent.iter().collect();
    while !open.is_empty() {
        let mut left = Vec::new();
        for one in open {
            let now = services.look(&format!("/transfers/{}", one.id))?;
            let text = |field: &str| now.get(field).and_then(Value::as_str).unwrap_or_default();
            if crate::book::ended(text("state")) {
                continue;
            }
            if text("error_class") == "UNANSWERED_BEFORE" {
                verdicts += u64::from(decided(services, &one.id)?);
            }
            left.push(one);
        }
        if begun.elapsed() > SETTLES {
            let first = left.first().map(|one| one.id.clone()).unwrap_or_default();
            let shown = services.look(&format!("/transfers/{first}"))?;
            return Err(format!("{} transfers do not end; the first: {shown}", left.len()));
        }
        std::thread::sleep(Duration::from_millis(50));
        open = left;
    }
    Ok(verdicts)
}

/// Two persons reject the open call of a transfer; false where it went on by itself meanwhile.
fn decided(services: &Services, id: &str) -> Outcome<bool> {
    let body = json!({
        "answer": "rejected", "evidence": {}, "reason": "nothing is on its way any more",
    });
    let Some(proposed) = services.act(0, &format!("/ops/transfers/{id}/resolve"), &body)? else {
        return Ok(false);
    };
    let approval = proposed.get("approval_id").and_then(Value::as_str).unwrap_or_default();
    let path = format!("/ops/approvals/{approval}/approve");
    let approved = services.act(1, &path, &json!({ "reason": "seen too" }))?;
    Ok(approved.is_some())
}

/// A run in which something never happened proves nothing about it.
fn all_met(met: &Met) -> Outcome {
    for (name, seen) in &met.hops {
        let missing = Fault::ALL.iter().find(|fault| !seen.met.contains_key(fault));
        if let Some(fault) = missing {
            return Err(format!("{name} never met {fault:?}: {seen:?}"));
        }
        if seen.uniform == 0 || seen.passed == 0 {
            return Err(format!("{name} was never behind a gateway: {seen:?}"));
        }
    }
    let missing = ["COMMITTED", "FAILED", "ROLLED_BACK"].into_iter();
    let missing: Vec<_> = missing.filter(|state| !met.ended.contains_key(*state)).collect();
    if missing.is_empty() { Ok(()) } else { Err(format!("no transfer was {missing:?}")) }
}

/// What the clients and the driver share.
type Shared<T> = Arc<std::sync::Mutex<T>>;
