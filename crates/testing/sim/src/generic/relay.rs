//! The relay under the generic tests of flows that send.
//!
//! A [`RelayCase`] is some transfers that are opened together, and how each must end. Whatever is done to
//! it, each member is paid exactly once where it is COMPLETED and never otherwise.

use super::chain::{ChainCase, ChainClient, ChainTrial, Harm, join};
use crate::chain::{ChainFlow, ChainRules, Paid, SimChain, relay_terms};
use engine::{Accepted, Refused};
use kernel::code::Code;
use kernel::ids::{ChainId, Id};
use kernel::ports::Fut;
use kernel::ports::clock::Clock;
use kernel::record::{Record, Terms};
use std::collections::BTreeMap;
use std::sync::Arc;

/// How often a client asks before it gives up: more than half an hour.
const TRIES: u32 = 3_000;

/// The chain of the relay.
const NEAR: ChainId = ChainId(20);

/// Transfers that are opened together: receiver and end of each.
#[derive(Debug, Clone, Copy)]
pub struct RelayCase {
    /// What it shows, in a few words.
    pub name: &'static str,
    /// Whom each transfer pays, and the state that it ends in.
    pub transfers: &'static [(&'static str, &'static str)],
}

/// Receivers whose names say what they are: `new` ones do not hold the token yet, `ghost`s do not exist,
/// `bad` ones spoil their transaction, a `new` one that of its registration.
pub const CASES: [RelayCase; 5] = [
    RelayCase {
        name: "all hold the token",
        transfers: &[
            ("alice", "COMPLETED"),
            ("bob", "COMPLETED"),
            ("carol", "COMPLETED"),
            ("dave", "COMPLETED"),
        ],
    },
    RelayCase {
        name: "some are registered first",
        transfers: &[("new-1", "COMPLETED"), ("alice", "COMPLETED"), ("new-2", "COMPLETED")],
    },
    RelayCase {
        name: "one spoils its attempt",
        transfers: &[("alice", "COMPLETED"), ("bad-1", "FAILED"), ("bob", "COMPLETED")],
    },
    RelayCase {
        name: "one spoils its registration",
        transfers: &[("new-1", "COMPLETED"), ("new-bad-2", "FAILED"), ("new-3", "COMPLETED")],
    },
    RelayCase { name: "one does not exist", transfers: &[("ghost", "FAILED")] },
];

/// The relay on one sort of chain.
pub type RelayTrial = ChainTrial<RelayCase>;

impl ChainCase for RelayCase {
    fn all() -> Vec<Self> {
        CASES.to_vec()
    }

    fn flow(&self) -> &'static str {
        "relay"
    }

    fn words(&self) -> &'static str {
        self.name
    }

    fn over(&self, rules: ChainRules, clock: Arc<dyn Clock>, seed: u64) -> ChainFlow {
        let chain = SimChain::new(ChainRules { id: NEAR, ..rules }, clock, seed);
        for (receiver, _) in self.transfers {
            if !receiver.starts_with("new") && !receiver.starts_with("ghost") {
                chain.register(receiver);
            }
            if receiver.contains("bad") {
                chain.spoil(receiver);
            }
        }
        ChainFlow::relay(chain)
    }

    fn insists(&self, at: ChainClient) -> Fut<'static, Result<Vec<Record>, String>> {
        let series = at.series;
        let asks = (0_u128..).zip(self.transfers).map(|(n, (receiver, _))| {
            let terms = relay_terms(NEAR, receiver, 100 + n, &format!("case-{n}.{series}"));
            ask(at.clone(), terms)
        });
        let all = join(asks.map(Box::pin).collect::<Vec<_>>());
        Box::pin(async move { all.await.into_iter().collect() })
    }

    fn faults(&self, chains: &[SimChain], ended: &[Record], _: Harm) -> Vec<String> {
        let (flows, mut faults) = (flows::registry(), Vec::new());
        let paid: BTreeMap<Id, Vec<Paid>> = chains.iter().flat_map(SimChain::paid).collect();
        for (record, (receiver, end)) in ended.iter().zip(self.transfers) {
            let state = flows.table(record.flow).state(record.head.state).name;
            let times = paid.get(&record.id).map_or(0, Vec::len);
            let wanted = usize::from(*end == "COMPLETED");
            if state != *end || times != wanted {
                faults.push(format!("{receiver} is {state} and was paid {times} times"));
            }
        }
        let strangers = paid.keys().filter(|id| !ended.iter().any(|record| record.id == **id));
        faults.extend(strangers.map(|id| format!("{id} was paid, and is none of the case")));
        faults
    }
}

/// Creates a transfer with its key and asks until it ended.
async fn ask(at: ChainClient, terms: Terms) -> Result<Record, String> {
    let Some(flow) = at.engine.flows().named("relay") else { return Err("no relay".into()) };
    let mut last = String::new();
    for _ in 0..TRIES {
        match at.engine.create(flow, terms.clone()).await {
            Ok(Accepted { record, .. }) => {
                let table = at.engine.flows().table(flow);
                if table.ends(record.head.state) {
                    return Ok(record);
                }
                last = format!("it is {} {:?}", table.state(record.head.state).name, record.error);
            }
            Err(Refused::Code(Code::Overloaded)) => "overloaded".clone_into(&mut last),
            Err(Refused::Unknown(cause)) => last = cause.to_string(),
            Err(Refused::Code(code)) => return Err(format!("refused with {code}")),
            Err(Refused::Mismatch(record)) => return Err(format!("another body: {record:?}")),
        }
        at.clock.sleep(250).await;
    }
    Err(format!("it does not end: {last}"))
}
