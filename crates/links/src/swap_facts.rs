//! Answers what the rules of `swap_in` ask: of its two chains, of the journal and of the settings. A wrong answer costs a
//! fee, and pays nothing twice.

use flows::swap_in::{Rule, State};
use flows::swaps::past_attempts;
use flows::swaps::rules::{
    ACCEPTING, CHAIN_TIME, DESTINATION_VALID, MOST_REFUND_REJECTIONS, PAYOUT_RESTED,
    QUARANTINE_ACCOUNT, REFUND_REJECTIONS, REFUND_RELEASED, REFUND_RESTED, SENDER_VALID,
    WITHIN_CAPS,
};
use futures_util::stream::{self, StreamExt as _};
use kernel::answer::{Answer, Cause};
use kernel::flow::life::{Leg, Life as _, Word as _};
use kernel::flow::table::{Flows, Table};
use kernel::ids::Millis;
use kernel::money::Amount;
use kernel::ports::Fut;
use kernel::ports::facts::{FactSource, Gathered};
use kernel::ports::journal::Journal;
use kernel::record::{Account, Fact, Facts, Record};
use std::sync::Arc;

/// The most records whose facts are gathered at once.
const AT_ONCE: usize = 16;

/// One chain of a swap, as the rules ask it.
pub trait SwapChain: Send + Sync {
    /// The time of the newest final block, in milliseconds since 1970.
    ///
    /// # Errors
    /// Too few providers answer.
    fn chain_time(&self) -> Fut<'_, Result<Millis, Cause>>;

    /// Whether an account can be paid.
    ///
    /// # Errors
    /// The providers do not agree, or too few of them answer.
    fn takes_money<'a>(&'a self, account: &'a str) -> Fut<'a, Result<bool, Cause>>;
}

/// What the settings say of swaps.
#[derive(Debug, Clone)]
pub struct SwapPolicy {
    /// Swaps are accepted; where they are not, deposits are only given back (`swap.accept`).
    pub accepting: bool,
    /// The largest deposit that is accepted; above it a swap waits until its deadline (`swap.max_amount`).
    pub most: Option<Amount>,
    /// The most refusals of a refund before a person decides (`swap.max_refund_rejections`).
    pub most_rejections: u32,
    /// How long an act rests after an attempt of it was closed, in milliseconds (`swap.retry_cooldown_seconds`).
    pub cooldown_ms: Millis,
    /// The account to which held money is moved.
    pub quarantine_account: Option<Arc<str>>,
}

/// The facts of `swap_in`.
pub struct SwapInFacts {
    table: Table,
    journal: Arc<dyn Journal>,
    source: Arc<dyn SwapChain>,
    /// The chain of the payouts; `None`: it has no adapter here, so no swap is accepted.
    target: Option<Arc<dyn SwapChain>>,
    policy: SwapPolicy,
}

impl std::fmt::Debug for SwapInFacts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SwapInFacts").field("policy", &self.policy).finish_non_exhaustive()
    }
}

impl SwapInFacts {
    /// A fact source that reads earlier attempts from the journal and the rest from the two chains. Without a target no
    /// receiver is ever known to be valid, and each deposit is given back after its deadline.
    pub fn new(
        flows: &Flows,
        journal: Arc<dyn Journal>,
        source: Arc<dyn SwapChain>,
        target: Option<Arc<dyn SwapChain>>,
        policy: SwapPolicy,
    ) -> Option<Self> {
        let table = flows.0.iter().find(|table| table.flow == State::FLOW)?.clone();
        Some(Self { table, journal, source, target, policy })
    }

    async fn of(&self, rule: Rule, record: &Record, time: Option<Millis>) -> Result<Facts, Cause> {
        let mut facts = Facts::new();
        if let Some(time) = time {
            facts.insert(CHAIN_TIME, Fact::Number(time.into()));
        }
        match rule {
            Rule::Accept => self.add_promise(record, &mut facts).await?,
            Rule::TryAgain => {
                let rested = self.rested(record, Leg::Deposit).await?;
                facts.insert(PAYOUT_RESTED, Fact::Flag(rested));
            }
            Rule::RefundPossible => self.add_refund(record, &mut facts).await?,
            Rule::MoveOut => {
                self.add_refund(record, &mut facts).await?;
                self.add_quarantine(&mut facts).await?;
            }
            Rule::MemoValid | Rule::WorthIt => {}
        }
        Ok(facts)
    }

    async fn add_promise(&self, record: &Record, facts: &mut Facts) -> Result<(), Cause> {
        let capped = self.policy.most.is_none_or(|most| record.source().amount <= most);
        facts.insert(ACCEPTING, Fact::Flag(self.policy.accepting));
        facts.insert(WITHIN_CAPS, Fact::Flag(capped));
        if let (Some(target), Account::Named(receiver)) = (&self.target, &record.target().account) {
            let valid = target.takes_money(receiver).await?;
            facts.insert(DESTINATION_VALID, Fact::Flag(valid));
        }
        Ok(())
    }

    async fn add_refund(&self, record: &Record, facts: &mut Facts) -> Result<(), Cause> {
        let (journal, table) = (&*self.journal, &self.table);
        let rejections = past_attempts::refund_rejections(journal, table, record.id).await?;
        facts.insert(REFUND_REJECTIONS, Fact::Number(rejections));
        let most = self.policy.most_rejections.into();
        facts.insert(MOST_REFUND_REJECTIONS, Fact::Number(most));
        if let Some(released) = past_attempts::refund_released(journal, record.id).await? {
            facts.insert(REFUND_RELEASED, Fact::Number(released));
        }
        let rested = self.rested(record, Leg::Refund).await?;
        facts.insert(REFUND_RESTED, Fact::Flag(rested));
        let valid = match &record.source().account {
            Account::Named(sender) => self.source.takes_money(sender).await?,
            // it is not known who paid, so a person decides whom to pay back
            Account::Unnamed | Account::User(_) => false,
        };
        facts.insert(SENDER_VALID, Fact::Flag(valid));
        Ok(())
    }

    async fn add_quarantine(&self, facts: &mut Facts) -> Result<(), Cause> {
        let shown = match &self.policy.quarantine_account {
            Some(account) => self.source.takes_money(account).await?,
            None => false,
        };
        facts.insert(QUARANTINE_ACCOUNT, Fact::Flag(shown));
        Ok(())
    }

    async fn rested(&self, record: &Record, leg: Leg) -> Result<bool, Cause> {
        let (journal, cooldown) = (&*self.journal, self.policy.cooldown_ms);
        past_attempts::rested(journal, &self.table, record.id, leg, cooldown).await
    }
}

impl FactSource for SwapInFacts {
    fn facts<'a>(&'a self, rule: &'a str, records: &'a [Record]) -> Fut<'a, Vec<Gathered>> {
        Box::pin(async move {
            let Some(rule) = Rule::ALL.iter().copied().find(|known| known.name() == rule) else {
                return vec![Gathered::Unknown(Cause::of("NO_SUCH_RULE")); records.len()];
            };
            let time = if matches!(rule, Rule::Accept | Rule::TryAgain) {
                match self.source.chain_time().await {
                    Ok(time) => Some(time),
                    Err(cause) => return vec![Gathered::Unknown(cause); records.len()],
                }
            } else {
                None
            };
            let mut asked: Vec<Fut<'_, Result<Facts, Cause>>> = Vec::with_capacity(records.len());
            for record in records {
                asked.push(Box::pin(self.of(rule, record, time)));
            }
            let each: Vec<_> = stream::iter(asked).buffered(AT_ONCE).collect().await;
            let gathered = each.into_iter();
            gathered.map(|facts| facts.map_or_else(Gathered::Unknown, Gathered::Facts)).collect()
        })
    }

    fn ask<'a>(&'a self, _: &'a str, records: &'a [Record]) -> Fut<'a, Vec<Answer>> {
        // the one question is asked of the target, whose adapter has it
        let unknown = Answer::Unknown(Cause::of("NO_QUESTION"));
        Box::pin(std::future::ready(vec![unknown; records.len()]))
    }
}
