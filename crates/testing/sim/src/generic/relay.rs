//! The relay under the generic tests of flows that send.
//!
//! A [`RelayCase`] is some transfers that are opened together, and how each must end. Whatever is done to
//! it, each member is paid exactly once where it is COMPLETED and never otherwise.

use super::chain::{CaseEnv, ChainCase, ChainTrial, Harm, join};
use crate::chain::{ChainProcess, ChainRules, ChainService, SimChain, relay_terms};
use crate::world::Sim;
use engine::{Accepted, Refused};
use kernel::code::Code;
use kernel::ports::Fut;
use kernel::ports::clock::Clock;
use kernel::record::{Record, Terms};
use std::sync::Arc;

/// How often a client asks before it gives up: more than half an hour.
const TRIES: u32 = 3_000;

/// Transfers that are opened together: receiver and end of each.
#[derive(Debug, Clone, Copy)]
pub struct RelayCase {
    /// What it shows, in a few words.
    pub name: &'static str,
    /// Whom each transfer pays, and the state that it ends in.
    pub transfers: &'static [(&'static str, &'static str)],
}

/// Receivers whose names say what they are: `new` ones do not hold the token yet, `ghost`s do not exist,
/// `bad` ones spoil their transaction.
pub const CASES: [RelayCase; 4] = [
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

    fn service(&self, rules: ChainRules, env: CaseEnv) -> ChainService {
        let CaseEnv { sim, flows, site, seed } = env;
        let chain = SimChain::new(rules, Arc::new(sim.clone()), seed);
        for (receiver, _) in self.transfers {
            if !receiver.starts_with("new") && !receiver.starts_with("ghost") {
                chain.register(receiver);
            }
            if receiver.starts_with("bad") {
                chain.spoil(receiver);
            }
        }
        ChainService::new(sim, flows, site, chain)
    }

    fn insists(
        &self,
        service: &ChainService,
        process: ChainProcess,
    ) -> Fut<'static, Result<Vec<Record>, String>> {
        let (chain, clock) = (service.chain_id(), service.sim.clone());
        let asks = (0_u128..).zip(self.transfers).map(|(n, (receiver, _))| {
            let terms = relay_terms(chain, receiver, 100 + n, &format!("case-{n}"));
            ask(process.clone(), clock.clone(), terms)
        });
        let all = join(asks.map(Box::pin).collect::<Vec<_>>());
        Box::pin(async move { all.await.into_iter().collect() })
    }

    fn faults(&self, service: &ChainService, ended: &[Record], _: Harm) -> Vec<String> {
        let (mut faults, paid) = (Vec::new(), service.chain.paid());
        for (record, (receiver, end)) in ended.iter().zip(self.transfers) {
            let state = service.flows.table(record.flow).state(record.head.state).name;
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
async fn ask(process: ChainProcess, clock: Sim, terms: Terms) -> Result<Record, String> {
    let Some(flow) = process.engine.flows().named("relay") else { return Err("no relay".into()) };
    let mut last = String::new();
    for _ in 0..TRIES {
        match process.engine.create(flow, terms.clone()).await {
            Ok(Accepted { record, .. }) => {
                let table = process.engine.flows().table(flow);
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
        clock.sleep(250).await;
    }
    Err(format!("it does not end: {last}"))
}
