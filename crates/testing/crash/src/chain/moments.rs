//! The named moments between the journal and the chain. A lock at the database or the chain's endpoints hold both
//! servers there, the driver sees the moment from outside, and kills the servers in it.

use crate::chain::local_chain::LocalChain;
use crate::two_servers::{SERVERS, TableLock, TwoServers};
use crate::{Outcome, clock};
use serde_json::{Value, json};
use std::time::Duration;

/// Two servers before a local chain, as the moments see them.
pub(crate) struct ChainFixture<'a> {
    pub(crate) servers: &'a mut TwoServers,
    pub(crate) chain: &'a LocalChain,
    /// The methods that send a transaction, and those that look for one.
    pub(crate) sends: &'static [&'static str],
    pub(crate) looks: &'static [&'static str],
    /// How many payments are final, whatever the endpoints say.
    pub(crate) paid: &'a dyn Fn() -> Outcome<u64>,
    /// The SQL that counts the transfers of which one of them is proven.
    pub(crate) proven: &'static str,
}

/// A moment between the journal and the chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moment {
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
    pub(crate) const ALL: [Self; 4] =
        [Self::SignedNotStored, Self::StoredNotSent, Self::SentNoAnswer, Self::FinalNotProven];

    pub(crate) const fn name(self) -> &'static str {
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
    fn rule(self, fixture: &ChainFixture<'_>) -> Option<Value> {
        let (sends, looks) = (fixture.sends, fixture.looks);
        match self {
            Self::SignedNotStored => None,
            Self::StoredNotSent => Some(json!({ "kind": "refuse", "methods": sends })),
            Self::SentNoAnswer => Some(json!({ "kind": "hang", "methods": sends })),
            Self::FinalNotProven => Some(json!({
                "kind": "status", "code": 503, "methods": looks,
            })),
        }
    }
}

/// Kills the servers that come to a moment; the name of what was met.
pub(crate) fn kill_at(moment: Moment, fixture: &mut ChainFixture<'_>) -> Outcome<&'static str> {
    let met = match moment.rule(fixture) {
        None => before_the_form(fixture)?,
        Some(rule) => behind_the_form(moment, &rule, fixture)?,
    };
    Ok(if met { moment.name() } else { moment.missed() })
}

/// The form of an attempt waits for a lock. What was signed must not be known to the chain.
fn before_the_form(fixture: &mut ChainFixture<'_>) -> Outcome<bool> {
    let lock = TableLock::hold(&fixture.servers.database, "attempt_forms");
    let held = clock::until(TIMEOUT, || lock.waiting().ok().filter(|all| !all.is_empty()));
    for user in held.iter().flatten() {
        let server = SERVERS.iter().position(|name| name == user);
        server.map_or(Ok(()), |server| fixture.servers.kill_server(server))?;
    }
    lock.end_waiting()?;
    lock.release()?;
    Ok(held.is_some())
}

fn behind_the_form(moment: Moment, rule: &Value, fixture: &mut ChainFixture<'_>) -> Outcome<bool> {
    for endpoint in fixture.chain.endpoints() {
        fixture.chain.calm(endpoint)?;
        fixture.chain.add(endpoint, rule)?;
    }
    let begun = reached(moment, fixture)?;
    let met = clock::until(TIMEOUT, || {
        let now = reached(moment, fixture).ok()?;
        let met = if moment == Moment::FinalNotProven { now > 0 } else { now > begun };
        met.then_some(())
    });
    fixture.servers.kill_servers()?;
    for endpoint in fixture.chain.endpoints() {
        fixture.chain.calm(endpoint)?;
    }
    Ok(met.is_some())
}

/// How far it is: attempts that are stored, payments that are final, or those of them that are not COMPLETED.
fn reached(moment: Moment, fixture: &ChainFixture<'_>) -> Outcome<u64> {
    let attempts = "SELECT count(*) FROM attempts";
    match moment {
        Moment::SignedNotStored | Moment::StoredNotSent => fixture.servers.number(attempts),
        Moment::SentNoAnswer => (fixture.paid)(),
        Moment::FinalNotProven => {
            let paid = (fixture.paid)()?;
            Ok(paid.saturating_sub(fixture.servers.number(fixture.proven)?))
        }
    }
}
