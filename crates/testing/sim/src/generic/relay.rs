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
use kernel::record::{Binding, Record, Terms};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::iter::repeat;
use std::sync::Arc;

/// How often a client asks before it gives up: on the roughest chains one lane pays some minutes for each receiver.
const TRIES: u32 = 12_000;
/// A transfer that is refused ends when another receiver is served: one comes after each of this number of tries.
const ANOTHER_AFTER: u32 = 240;
/// The most others that come while one transfer waits.
const OTHERS: usize = 6;

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
        let asked = self.asked(at.series);
        Box::pin(insist_on(at, asked))
    }

    fn may_be_refused(&self) -> bool {
        self.receivers.iter().any(|receiver| Self::spoils(receiver))
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

    /// What is asked for each transfer, of the case with this number on its journal.
    pub fn asked(&self, series: usize) -> Vec<AskedTransfer> {
        let terms = |n: usize, key: &str, receiver: &str| {
            let amount = 100 + u128::try_from(n).unwrap_or(0);
            relay_terms(NEAR, receiver, amount, &format!("case-{key}.{series}"))
        };
        let asked = |(n, receiver): (usize, &&str)| {
            let others = self.others_of(n).into_iter();
            let others = others.map(|other| terms(n, &other, &other)).collect();
            AskedTransfer { terms: terms(n, &n.to_string(), receiver), others }
        };
        self.receivers.iter().enumerate().map(asked).collect()
    }

    /// The receivers that may be paid while transfers of the case wait: each is new to the token.
    pub fn others(&self) -> Vec<String> {
        (0..self.receivers.len()).flat_map(|n| self.others_of(n)).collect()
    }

    fn others_of(&self, n: usize) -> Vec<String> {
        let spoils = self.receivers.get(n).is_some_and(|receiver| Self::spoils(receiver));
        let others = 0..if spoils { OTHERS } else { 0 };
        others.map(|other| format!("new-other-{n}-{other}")).collect()
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
        // behind the case's own stand the others, which are all paid
        let receivers = self.receivers.iter().copied().chain(repeat("another"));
        for (record, receiver) in ended.iter().zip(receivers) {
            let state = flows.table(record.flow).state(record.head.state).name;
            let of_key = paid.iter().filter(|(id, _)| key_part(**id) == key_part(record.id));
            let times = of_key.map(|(_, paid)| paid.len()).sum::<usize>();
            let wanted = usize::from(end(receiver) == "COMPLETED");
            if state != end(receiver) || times != wanted {
                faults.push(format!("{receiver} is {state} and was paid {times} times"));
            }
        }
        let is_of = |id: Id| ended.iter().any(|record| key_part(record.id) == key_part(id));
        let strangers = paid.keys().filter(|id| !is_of(**id));
        faults.extend(strangers.map(|id| format!("{id} was paid, and is none of the case")));
        faults
    }
}

/// What the id of a transfer has of its client's key: the same in a journal that was set back.
const fn key_part(id: Id) -> u128 {
    id.0 & ((1 << 80) - 1)
}

/// A transfer that is asked for, and what comes while it waits.
#[derive(Debug)]
pub struct AskedTransfer {
    /// The terms under which its client asks for it, with the key.
    pub terms: Terms,
    /// The transfers of which one comes each minute while it waits.
    pub others: Vec<Terms>,
}

/// Creates these transfers, each with its key, and asks until all ended; the others that came meanwhile stand last.
///
/// # Errors
/// Why one of them does not.
pub async fn insist_on(at: ChainClient, all: Vec<AskedTransfer>) -> Result<Vec<Record>, String> {
    let others: Vec<Terms> = all.iter().flat_map(|asked| asked.others.clone()).collect();
    let asks = all.into_iter().map(|asked| Box::pin(ask(at.clone(), asked)));
    let mut ended = join(asks.collect()).await.into_iter().collect::<Result<Vec<_>, _>>()?;
    for terms in others {
        // also one that came while another process was at work
        if is_bound(&at, &terms).await? {
            ended.push(ask(at.clone(), AskedTransfer { terms, others: Vec::new() }).await?);
        }
    }
    Ok(ended)
}

/// Whether the key of a transfer is bound.
async fn is_bound(at: &ChainClient, terms: &Terms) -> Result<bool, String> {
    let Some(Binding { scope, key, .. }) = &terms.binding else { return Ok(false) };
    let Some(flow) = at.engine.flows().named("relay") else { return Err("no relay".into()) };
    for _ in 0..TRIES {
        if let Ok(found) = at.engine.intake.find_bound(flow, scope, key).await {
            return Ok(found.is_some());
        }
        at.clock.sleep(250).await;
    }
    Err("the journal does not answer".into())
}

/// Creates a transfer with its key and asks until it ended.
async fn ask(at: ChainClient, asked: AskedTransfer) -> Result<Record, String> {
    let AskedTransfer { terms, others } = asked;
    let Some(flow) = at.engine.flows().named("relay") else { return Err("no relay".into()) };
    let (mut last, mut to_come) = (String::new(), others.into_iter());
    for tries in 1..=TRIES {
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
        if tries.is_multiple_of(ANOTHER_AFTER) {
            // one that another process was asked for is paid already
            for other in to_come.by_ref() {
                let made = at.engine.intake.create(flow, other).await;
                if !made.is_ok_and(|made| made.replayed) {
                    break;
                }
            }
        }
        at.clock.sleep(250).await;
    }
    Err(format!("it does not end: {last}"))
}
