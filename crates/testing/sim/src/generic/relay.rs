//! Runs the relay through the generic tests of flows that send.
//!
//! A [`RelayCase`] is some transfers that are opened together, and how each must end. Whatever is done to
//! it, each member is paid exactly once where it is COMPLETED and never otherwise.

use super::chain::{ChainCase, ChainClient, ChainTrial, Harm, join};
use super::draws::{one_of, within};
use crate::chain::{ChainFlow, ChainRules, Paid, SimChain, relay_terms};
use crate::world::SplitMix;
use engine::{Accepted, Refused};
use kernel::code::Code;
use kernel::ids::{ChainId, Id};
use kernel::ports::Fut;
use kernel::ports::clock::Clock;
use kernel::record::{Record, Terms};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

/// How often a client asks before it gives up: more than half an hour.
const TRIES: u32 = 3_000;

/// The chain of the relay.
pub const NEAR: ChainId = ChainId(20);

/// Transfers that are opened together. The names of their receivers say what each is: a `new…` one does not hold the
/// token yet, a `ghost…` does not exist, a `…bad…` one spoils its transaction, a `new…` one that of its registration.
#[derive(Debug, Clone)]
pub struct RelayCase {
    /// What it shows, in a few words.
    pub name: &'static str,
    /// Whom each transfer pays.
    pub receivers: Cow<'static, [&'static str]>,
}

const fn case(name: &'static str, receivers: &'static [&'static str]) -> RelayCase {
    RelayCase { name, receivers: Cow::Borrowed(receivers) }
}

/// The cases that are played whole.
pub const CASES: [RelayCase; 5] = [
    case("all hold the token", &["alice", "bob", "carol", "dave"]),
    case("some are registered first", &["new-1", "alice", "new-2"]),
    case("one spoils its attempt", &["alice", "bad-1", "bob"]),
    case("one spoils its registration", &["new-1", "new-bad-2", "new-3"]),
    case("one does not exist", &["ghost"]),
];

/// Whom a drawn case pays.
const RECEIVERS: [&str; 11] = [
    "alice",
    "bob",
    "carol",
    "dave",
    "new-1",
    "new-2",
    "new-3",
    "bad-1",
    "bad-2",
    "new-bad-2",
    "ghost",
];
/// Maximum number of transfers of a drawn case: more than an attempt, and than all lanes together.
const MOST: u64 = 12;

/// The state that a transfer to it ends in.
fn end(receiver: &str) -> &'static str {
    let paid = RelayCase::exists(receiver) && !RelayCase::spoils(receiver);
    if paid { "COMPLETED" } else { "FAILED" }
}

/// The relay on one sort of chain.
pub type RelayTrial = ChainTrial<RelayCase>;

impl ChainCase for RelayCase {
    type Chain = SimChain;

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
        for receiver in &*self.receivers {
            if Self::holds_token(receiver) {
                chain.register(receiver);
            }
            if Self::spoils(receiver) {
                chain.spoil(receiver);
            }
        }
        ChainFlow::relay(chain)
    }

    fn insists(&self, at: ChainClient) -> Fut<'static, Result<Vec<Record>, String>> {
        let terms = self.terms(at.series);
        Box::pin(insist_on(at, terms))
    }

    fn faults(&self, chains: &[SimChain], ended: &[Record], _: Harm) -> Vec<String> {
        self.wrongly_paid(&chains.iter().flat_map(SimChain::paid).collect(), ended)
    }
}

impl RelayCase {
    /// Some transfers, now and then several to one receiver.
    pub fn drawn(draws: &mut SplitMix) -> Self {
        let many = within(draws, 1, MOST);
        let receivers = (0..many).filter_map(|_| one_of(draws, &RECEIVERS)).collect();
        Self { name: "drawn", receivers: Cow::Owned(receivers) }
    }

    /// The terms of each transfer, of the case with this number on its journal.
    pub fn terms(&self, series: usize) -> Vec<Terms> {
        let each = (0_u128..).zip(&*self.receivers);
        let terms = |(n, receiver): (u128, &&str)| {
            relay_terms(NEAR, receiver, 100 + n, &format!("case-{n}.{series}"))
        };
        each.map(terms).collect()
    }

    /// Whether the chain has an account of that receiver.
    pub fn exists(receiver: &str) -> bool {
        !receiver.starts_with("ghost")
    }

    /// Whether it holds the token before the case begins.
    pub fn holds_token(receiver: &str) -> bool {
        Self::exists(receiver) && !receiver.starts_with("new")
    }

    /// Whether each transaction fails that pays or registers it.
    pub fn spoils(receiver: &str) -> bool {
        receiver.contains("bad")
    }

    /// What is wrong with these payments: each transfer is paid once where it is COMPLETED, and never otherwise.
    pub fn wrongly_paid(&self, paid: &BTreeMap<Id, Vec<Paid>>, ended: &[Record]) -> Vec<String> {
        let (flows, mut faults) = (flows::registry(), Vec::new());
        for (record, receiver) in ended.iter().zip(&*self.receivers) {
            let state = flows.table(record.flow).state(record.head.state).name;
            let times = paid.get(&record.id).map_or(0, Vec::len);
            let wanted = usize::from(end(receiver) == "COMPLETED");
            if state != end(receiver) || times != wanted {
                faults.push(format!("{receiver} is {state} and was paid {times} times"));
            }
        }
        let strangers = paid.keys().filter(|id| !ended.iter().any(|record| record.id == **id));
        faults.extend(strangers.map(|id| format!("{id} was paid, and is none of the case")));
        faults
    }
}

/// Creates these transfers, each with its key, and asks until all ended.
///
/// # Errors
/// Why one of them does not.
pub async fn insist_on(at: ChainClient, all: Vec<Terms>) -> Result<Vec<Record>, String> {
    let asks = all.into_iter().map(|terms| Box::pin(ask(at.clone(), terms)));
    join(asks.collect()).await.into_iter().collect()
}

/// Creates a transfer with its key and asks until it ended.
async fn ask(at: ChainClient, terms: Terms) -> Result<Record, String> {
    let Some(flow) = at.engine.flows().named("relay") else { return Err("no relay".into()) };
    let mut last = String::new();
    for _ in 0..TRIES {
        match at.engine.intake.create(flow, terms.clone()).await {
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
