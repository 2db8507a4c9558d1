//! Answers the questions of the relay's rules: whether a receiver is registered with its token, and
//! whether the relay may register it at its own cost. A wrong answer costs gas or a deposit, and pays
//! nothing twice.

mod cache;

pub(super) use cache::ReceiverCache;

use super::NearLink;
use super::concerns::REGISTRATION_BUDGET;
use super::rpc::{BlockAt, RpcCall, exists, view};
use flows::relay::Rule;
use flows::relay::rules::{ATTEMPTS, BUDGET, LATELY, RECEIVER_EXISTS, REGISTERED};
use futures_util::stream::{self, StreamExt};
use kernel::answer::{Answer, Cause};
use kernel::flow::life::Word;
use kernel::ids::{AssetId, Millis};
use kernel::ports::Fut;
use kernel::ports::facts::{FactSource, Gathered};
use kernel::record::{Account, Fact, Facts, Record};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

/// How long it is believed that a receiver is not registered: about as long as a block takes. Registering one that
/// is registered meanwhile costs gas only.
pub(super) const UNREGISTERED_FOR: Millis = 1_000;

/// The number of receivers that are asked for at once.
const AT_ONCE: usize = 16;

/// Whether one more registration may be tried for a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RegistrationAllowance {
    /// How many were tried for this transfer, by the journal's attempts.
    pub tried: u128,
    /// The state of its receiver's registration.
    pub reservation: Reservation,
}

/// How the registration of a receiver stands, for one of the transfers that need it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reservation {
    /// It is this transfer's, within the day's budget.
    Own,
    /// Another transfer has it under way.
    Other,
    /// What registrations may cost today is used up.
    Exhausted {
        /// What is used up.
        limit: RegistrationLimit,
        /// The transfer has waited for as long as one may: it is not registered any more.
        waited_out: bool,
    },
    /// The receiver was registered at our cost a moment ago: a provider may not know it yet.
    JustMade,
    /// The receiver was registered at our cost within the last 30 days.
    Lately,
}

/// What of a day's registrations is used up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RegistrationLimit {
    /// What all callers together may spend.
    Budget,
    /// What the caller of the transfer may spend.
    CallerShare,
}

/// A transfer whose receiver exists and is to be registered.
#[derive(Debug, Clone)]
pub struct RegistrationRequest {
    /// The transfer that needs the registration.
    pub record: Record,
    /// What the contract asks for a registration, in yoctoNEAR, as providers show it alike.
    pub price: u128,
}

/// What registrations may cost, and how often each was tried: the server counts both durably.
pub trait RegistrationLimits: Send + Sync {
    /// Reserves the registration of the receiver of each request, of whom all exist. One answer for each, in
    /// their sequence; a cause where it is not known now.
    fn allowances<'a>(
        &'a self,
        requests: &'a [RegistrationRequest],
    ) -> Fut<'a, Vec<Result<RegistrationAllowance, Cause>>>;
}

/// The facts of the flow `relay` at this chain.
#[derive(Clone)]
pub struct NearFacts {
    link: Arc<NearLink>,
    limits: Arc<dyn RegistrationLimits>,
}

impl std::fmt::Debug for NearFacts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NearFacts").field("providers", &self.link.rpc).finish_non_exhaustive()
    }
}

impl NearFacts {
    pub(super) fn new(link: Arc<NearLink>, limits: Arc<dyn RegistrationLimits>) -> Self {
        Self { link, limits }
    }

    /// Whether the receiver is registered, by one provider's final block: a wrong yes spoils a batch, which
    /// isolates it, and a wrong no costs a deposit that the contract gives back.
    async fn shown_registered(&self, record: &Record) -> Result<bool, Cause> {
        let link = &self.link;
        let (contract, receiver) = (self.contract(record)?, named(record)?);
        let now = link.clock.ticks();
        if link.receivers.knows(contract, receiver, now) {
            return Ok(true);
        }
        if link.unregistered.knows(contract, receiver, now) {
            return Ok(false);
        }
        let balance = link.noted(link.rpc.first(&balance_of(contract, receiver)).await)?;
        let registered = !balance.is_null();
        let seen = if registered { &link.receivers } else { &link.unregistered };
        seen.learn(contract, receiver, now);
        Ok(registered)
    }

    /// Whether a receiver exists: the chain has its account, or the token's contract knows it without one, as it does
    /// implicit accounts that were never funded. That neither is so ends the transfer: as many providers as are needed
    /// say both alike, since that it is not registered was one provider's word so far. That it has an account is
    /// remembered, since a transfer that waits for another one's registration comes back again and again; should it be
    /// deleted meanwhile, its registration fails alone.
    async fn exists(&self, record: &Record) -> Result<bool, Cause> {
        let (receiver, now) = (named(record)?, self.link.clock.ticks());
        let relay = &self.link.settings.account;
        if self.link.existing.knows(relay, receiver, now) {
            return Ok(true);
        }
        if self.link.rpc.agreed(&exists(receiver)).await? {
            self.link.existing.learn(relay, receiver, now);
            return Ok(true);
        }
        self.agreed_registered(record).await
    }

    /// Whether receivers may be registered. Nothing is reserved for one that does not exist: a caller that
    /// makes names up would use the day's budget up.
    async fn may_register(&self, records: &[Record]) -> Vec<Result<Facts, Cause>> {
        let exist = each_receiver(records, |record| Box::pin(self.exists(record))).await;
        let (mut prices, mut requests) = (BTreeMap::new(), Vec::new());
        let mut steps: Vec<Result<bool, Cause>> = Vec::with_capacity(records.len());
        for (record, exists) in records.iter().zip(exist) {
            steps.push(match exists {
                Ok(true) => {
                    let asset = record.target().asset;
                    // asked once, whatever the answer is
                    if let Entry::Vacant(free) = prices.entry(asset) {
                        free.insert(self.price(asset).await);
                    }
                    let price = prices.get(&asset).cloned();
                    price.unwrap_or(Err(Cause::of("NO_TOKEN"))).map(|price| {
                        requests.push(RegistrationRequest { record: record.clone(), price });
                        true
                    })
                }
                other => other,
            });
        }
        let allowances =
            if requests.is_empty() { Vec::new() } else { self.limits.allowances(&requests).await };
        let mut allowances = allowances.into_iter();
        let mut all: Vec<Fut<'_, _>> = Vec::with_capacity(records.len());
        for (record, exists) in records.iter().zip(steps) {
            let facts = match exists {
                Err(cause) => Err(cause),
                Ok(false) => Ok(Facts::from([(RECEIVER_EXISTS, Fact::Flag(false))])),
                Ok(true) => match allowances.next() {
                    Some(Ok(allowance)) => {
                        all.push(Box::pin(self.allowed(record, allowance)));
                        continue;
                    }
                    Some(Err(cause)) => Err(cause),
                    None => Err(Cause::of("BAD_REPLY")),
                },
            };
            all.push(Box::pin(std::future::ready(facts)));
        }
        stream::iter(all).buffered(AT_ONCE).collect().await
    }

    /// What the registration of a receiver with a token costs.
    async fn price(&self, asset: AssetId) -> Result<u128, Cause> {
        let token = self.link.tokens.of_asset(asset);
        let price = self.link.deposit(token.ok_or(Cause::of("NO_TOKEN"))?).await;
        self.link.noted(price)
    }

    /// The facts of a receiver that exists.
    async fn allowed(
        &self,
        record: &Record,
        RegistrationAllowance { tried, reservation }: RegistrationAllowance,
    ) -> Result<Facts, Cause> {
        let mut facts = Facts::from([
            (RECEIVER_EXISTS, Fact::Flag(true)),
            (ATTEMPTS, Fact::Number(tried)),
            (LATELY, Fact::Flag(false)),
        ]);
        match reservation {
            Reservation::Own => facts.insert(BUDGET, Fact::Flag(true)),
            Reservation::Exhausted { limit, waited_out } => {
                let text = used_up(record, limit);
                self.link.concerns.note_for_today(REGISTRATION_BUDGET, &text, &*self.link.clock);
                // until then it waits for the next day
                waited_out.then(|| facts.insert(BUDGET, Fact::Flag(false))).flatten()
            }
            Reservation::Other => None,
            // one that still is registered costs gas only: the contract gives a second deposit back
            Reservation::JustMade | Reservation::Lately
                if self.agreed_registered(record).await? =>
            {
                facts.insert(BUDGET, Fact::Flag(true))
            }
            Reservation::JustMade => None,
            Reservation::Lately => facts.insert(LATELY, Fact::Flag(true)),
        };
        Ok(facts)
    }

    /// Whether a receiver is registered, as many providers as are needed say it alike: a no ends its transfer.
    async fn agreed_registered(&self, record: &Record) -> Result<bool, Cause> {
        let (contract, receiver) = (self.contract(record)?, named(record)?);
        let now = self.link.clock.ticks();
        if self.link.receivers.knows(contract, receiver, now) {
            return Ok(true);
        }
        let balance = self.link.rpc.agreed(&balance_of(contract, receiver)).await;
        let registered = !self.link.noted(balance)?.is_null();
        if registered {
            self.link.receivers.learn(contract, receiver, now);
        }
        Ok(registered)
    }

    /// The contract of the token that a record pays.
    fn contract(&self, record: &Record) -> Result<&Arc<str>, Cause> {
        let token = self.link.tokens.of_asset(record.target().asset);
        Ok(&token.ok_or(Cause::of("NO_TOKEN"))?.token.contract)
    }
}

/// The facts of the case of registrations that are used up.
fn used_up(record: &Record, limit: RegistrationLimit) -> String {
    match limit {
        RegistrationLimit::Budget => {
            "relay.registration_budget of this day in UTC is used up; transfers to new \
                                      receivers wait"
                .to_owned()
        }
        RegistrationLimit::CallerShare => format!(
            "relay.registration_budget_per_caller of this day in UTC is used up by {}; its transfers to new receivers \
             wait",
            record.terms.owner
        ),
    }
}

/// One question for each receiver of a token, [`AT_ONCE`] at a time; one answer for each record, in their sequence.
async fn each_receiver<'a>(
    records: &'a [Record],
    ask: impl Fn(&'a Record) -> Fut<'a, Result<bool, Cause>>,
) -> Vec<Result<bool, Cause>> {
    let mut receivers = BTreeMap::new();
    let mut asked = Vec::new();
    let mut places = Vec::with_capacity(records.len());
    for record in records {
        let target = record.target();
        let place = *receivers.entry((target.asset, &target.account)).or_insert(asked.len());
        if place == asked.len() {
            asked.push(ask(record));
        }
        places.push(place);
    }
    let answers: Vec<_> = stream::iter(asked).buffered(AT_ONCE).collect().await;
    let answer = |place| answers.get(place).cloned().unwrap_or(Err(Cause::of("BAD_REPLY")));
    places.into_iter().map(answer).collect()
}

/// The receiver's storage deposit at a token's contract; null where it is not registered.
fn balance_of(contract: &str, receiver: &str) -> RpcCall<Value> {
    view(contract, "storage_balance_of", &json!({ "account_id": receiver }), BlockAt::Final)
}

/// The account that a record pays.
fn named(record: &Record) -> Result<&Arc<str>, Cause> {
    match &record.target().account {
        Account::Named(name) => Ok(name),
        Account::User(_) | Account::Unnamed => Err(Cause::of("NO_ACCOUNT")),
    }
}

fn gathered(facts: Result<Facts, Cause>) -> Gathered {
    facts.map_or_else(Gathered::Unknown, Gathered::Facts)
}

impl FactSource for NearFacts {
    fn facts<'a>(&'a self, rule: &'a str, records: &'a [Record]) -> Fut<'a, Vec<Gathered>> {
        Box::pin(async move {
            let rule = Rule::ALL.iter().find(|known| known.name() == rule);
            match rule {
                Some(Rule::KnownReceiver) => {
                    let ask = |record| -> Fut<'_, _> { Box::pin(self.shown_registered(record)) };
                    let known = each_receiver(records, ask).await.into_iter();
                    let facts = |flag| Facts::from([(REGISTERED, Fact::Flag(flag))]);
                    known.map(|known| gathered(known.map(facts))).collect()
                }
                Some(Rule::MayRegister) => {
                    let each = self.may_register(records).await;
                    each.into_iter().map(gathered).collect()
                }
                None => vec![Gathered::Unknown(Cause::of("NO_SUCH_RULE")); records.len()],
            }
        })
    }

    fn ask<'a>(&'a self, _: &'a str, records: &'a [Record]) -> Fut<'a, Vec<Answer>> {
        let unknown = Answer::Unknown(Cause::of("NO_QUESTION"));
        Box::pin(std::future::ready(vec![unknown; records.len()]))
    }
}
