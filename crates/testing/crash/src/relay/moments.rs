//! The named moments between the journal and the chain. A lock at the database or the chain's endpoints hold both
//! servers there, the driver sees the moment from outside, and kills the servers in it.

use super::services::Services;
use crate::two_servers::SERVERS;
use crate::two_servers::TableLock;
use crate::{Outcome, clock};
use serde_json::{Value, json};
use std::time::Duration;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Moment {
    /// A transaction is signed, and the journal has no form of it.
    SignedNotStored,
    /// An attempt is stored, and no endpoint took its bytes.
    StoredNotSent,
    /// A transaction pays, and the endpoint never answered.
    SentNoAnswer,
    /// A transaction is final, and no endpoint says so.
    FinalNotProven,
}

/// How long the campaign waits for a moment; after that the moment is missed.
const TIMEOUT: Duration = Duration::from_secs(20);

impl Moment {
    pub(super) const ALL: [Self; 4] =
        [Self::SignedNotStored, Self::StoredNotSent, Self::SentNoAnswer, Self::FinalNotProven];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::SignedNotStored => "signed, not stored",
            Self::StoredNotSent => "stored, not sent",
            Self::SentNoAnswer => "sent, no answer",
            Self::FinalNotProven => "final, not proven",
        }
    }

    const fn missed(self) -> &'static str {
        match self {
            Self::SignedNotStored => "signed, not stored: missed",
            Self::StoredNotSent => "stored, not sent: missed",
            Self::SentNoAnswer => "sent, no answer: missed",
            Self::FinalNotProven => "final, not proven: missed",
        }
    }

    /// What every endpoint does until the moment is met.
    fn rule(self) -> Option<Value> {
        let sends = ["send_tx", "broadcast_tx_async"];
        match self {
            Self::SignedNotStored => None,
            Self::StoredNotSent => Some(json!({ "kind": "refuse", "methods": sends })),
            Self::SentNoAnswer => Some(json!({ "kind": "hang", "methods": sends })),
            Self::FinalNotProven => Some(json!({
                "kind": "status", "code": 503, "methods": ["tx", "EXPERIMENTAL_tx_status"],
            })),
        }
    }
}

/// Kills the servers that come to a moment; the name of what was met.
pub(super) fn kill_at(moment: Moment, services: &mut Services) -> Outcome<&'static str> {
    let met = match moment.rule() {
        None => before_the_form(services)?,
        Some(rule) => behind_the_form(moment, &rule, services)?,
    };
    Ok(if met { moment.name() } else { moment.missed() })
}

/// The form of an attempt waits for a lock. What was signed must not be known to the chain.
fn before_the_form(services: &mut Services) -> Outcome<bool> {
    let lock = TableLock::hold(&services.servers.database, "attempt_forms");
    let held = clock::until(TIMEOUT, || lock.waiting().ok().filter(|all| !all.is_empty()));
    for user in held.iter().flatten() {
        let server = SERVERS.iter().position(|name| name == user);
        server.map_or(Ok(()), |server| services.servers.kill_server(server))?;
    }
    lock.end_waiting()?;
    lock.release()?;
    Ok(held.is_some())
}

fn behind_the_form(moment: Moment, rule: &Value, services: &mut Services) -> Outcome<bool> {
    for endpoint in services.chain.endpoints() {
        services.chain.calm(endpoint)?;
        services.chain.add(endpoint, rule)?;
    }
    let begun = reached(moment, services)?;
    let met = clock::until(TIMEOUT, || {
        let now = reached(moment, services).ok()?;
        let met = if moment == Moment::FinalNotProven { now > 0 } else { now > begun };
        met.then_some(())
    });
    services.servers.kill_servers()?;
    for endpoint in services.chain.endpoints() {
        services.chain.calm(endpoint)?;
    }
    Ok(met.is_some())
}

/// How far it is: attempts that are stored, payments that are final, or those of them that are not COMPLETED.
fn reached(moment: Moment, services: &Services) -> Outcome<u64> {
    let payments = || -> Outcome<u64> {
        Ok(u64::try_from(services.chain.payments()?.len()).unwrap_or(u64::MAX))
    };
    match moment {
        Moment::SignedNotStored | Moment::StoredNotSent => Ok(services.attempts()?.all),
        Moment::SentNoAnswer => payments(),
        Moment::FinalNotProven => {
            let paid = payments()?;
            let completed = "SELECT count(*) FROM transfers WHERE flow = 'relay' AND state = 60";
            Ok(paid.saturating_sub(services.servers.number(completed)?))
        }
    }
}
