//! What the relay's rules ask: whether a receiver is registered with its token, and whether it may be
//! registered at the relay's cost. A wrong answer costs gas or a deposit, and pays nothing twice.

mod cache;

pub(super) use cache::ReceiverCache;

use super::NearLink;
use super::rpc::{BlockAt, account, view};
use flows::relay::Rule;
use flows::relay::rules::{ATTEMPTS, BUDGET, RECEIVER_EXISTS, REGISTERED};
use futures_util::stream::{self, StreamExt};
use kernel::answer::{Answer, Cause};
use kernel::flow::life::Word;
use kernel::ports::Fut;
use kernel::ports::facts::{FactSource, Gathered};
use kernel::record::{Account, Fact, Facts, Record};
use serde_json::json;
use std::sync::Arc;

/// So many receivers are asked after at once.
const AT_ONCE: usize = 16;

/// Whether one more registration may be tried for a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RegistrationAllowance {
    /// How many were tried for this transfer, by the journal's attempts.
    pub tried: u128,
    /// What registrations may cost today is not used up.
    pub budget: bool,
}

/// What registrations may cost, and how often each was tried: the server counts both durably.
pub trait RegistrationLimits: Send + Sync {
    /// One answer for each record, in their sequence; a cause where it is not known now.
    fn allowances<'a>(
        &'a self,
        records: &'a [Record],
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
    async fn registered(&self, record: &Record) -> Result<Facts, Cause> {
        let receiver = named(record)?;
        let token = self.link.tokens.of_asset(record.target().asset);
        let contract = &token.ok_or(Cause::of("NO_TOKEN"))?.token.contract;
        let now = self.link.clock.ticks();
        if self.link.receivers.knows(contract, receiver, now) {
            return Ok(Facts::from([(REGISTERED, Fact::Flag(true))]));
        }
        let args = json!({ "account_id": receiver });
        let call = view(contract, "storage_balance_of", &args, BlockAt::Final);
        let registered = !self.link.rpc.first(&call).await?.is_null();
        if registered {
            self.link.receivers.learn(contract, receiver, now);
        }
        Ok(Facts::from([(REGISTERED, Fact::Flag(registered))]))
    }

    /// Whether the receiver may be registered. That it does not exist ends the transfer: as many providers
    /// as are needed say it alike.
    async fn may_register(
        &self,
        record: &Record,
        allowance: Result<RegistrationAllowance, Cause>,
    ) -> Result<Facts, Cause> {
        let allowance = allowance?;
        let exists = self.link.rpc.agreed_absence(&account(named(record)?)).await?;
        Ok(Facts::from([
            (RECEIVER_EXISTS, Fact::Flag(exists)),
            (ATTEMPTS, Fact::Number(allowance.tried)),
            (BUDGET, Fact::Flag(allowance.budget)),
        ]))
    }
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
                    let mut each: Vec<Fut<'_, _>> = Vec::with_capacity(records.len());
                    for record in records {
                        each.push(Box::pin(self.registered(record)));
                    }
                    stream::iter(each).buffered(AT_ONCE).map(gathered).collect().await
                }
                Some(Rule::MayRegister) => {
                    let allowances = self.limits.allowances(records).await;
                    if allowances.len() != records.len() {
                        return vec![Gathered::Unknown(Cause::of("BAD_REPLY")); records.len()];
                    }
                    let mut each: Vec<Fut<'_, _>> = Vec::with_capacity(records.len());
                    for (record, allowance) in records.iter().zip(allowances) {
                        each.push(Box::pin(self.may_register(record, allowance)));
                    }
                    stream::iter(each).buffered(AT_ONCE).map(gathered).collect().await
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
