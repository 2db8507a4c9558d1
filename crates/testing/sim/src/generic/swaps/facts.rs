//! The scripted fact source of swaps: accounts by their names, time, receivers and deliveries from the chains, and
//! refusals and cooldowns by the journal.

use super::cases::{DUST, covered, credit_possible, is_found_late, is_freed, is_lost, receives};
use crate::chain::SimChain;
use crate::world::breath;
use flows::swap_out::rules::{CREDIT_POSSIBLE, DUST_CREDIT, MAPPING, NO_MAPPING, PAYOUT_DEADLINE};
use flows::swaps::past_attempts;
use flows::swaps::rules::{
    ACCEPTING, CHAIN_TIME, DESTINATION_VALID, MOST_REFUND_REJECTIONS, PAYOUT_RESTED,
    QUARANTINE_ACCOUNT, REFUND_REJECTIONS, REFUND_RELEASED, REFUND_RESTED, SENDER_VALID,
    WITHIN_CAPS,
};
use kernel::answer::{Answer, Cause, Evidence, Receipt};
use kernel::flow::life::{Leg, Side};
use kernel::flow::table::Table;
use kernel::ids::{Id, Millis};
use kernel::ports::Fut;
use kernel::ports::facts::{FactSource, Gathered};
use kernel::ports::journal::Journal;
use kernel::record::{Account, Fact, Facts, Record};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// The rule that waits for an asset which maps a credit.
const MAPPED: &str = "mapping found (no: deadline)";
/// How long an act rests after its last attempt was closed, in milliseconds.
const COOLDOWN_MS: u64 = 500;
/// The most refusals of a refund before a person decides.
const MOST_REJECTIONS: u128 = 3;
/// How long a payout that never arrives is tried, in milliseconds.
const SHORT_MS: u64 = 4_000;
/// How long a payout that arrives at last may take, in milliseconds.
const LONG_MS: u64 = 3_600_000;
/// The rule at which a person allows one more refund.
const MOVE_OUT: &str = "move out / refund after all";

/// A script of one flow, which outlives its processes.
#[derive(Clone)]
pub(super) struct SwapScript {
    pub table: Table,
    /// Whom an asset maps each credit to, by the account that it came from.
    pub mappings: BTreeMap<&'static str, &'static str>,
    /// For whom a person allowed one more refund.
    pub released: Arc<Mutex<BTreeSet<Id>>>,
    /// Until when each payout may be accepted: a time after its receiver was found.
    pub deadlines: Arc<Mutex<BTreeMap<Id, u64>>>,
}

/// What the rules of a swap learn of its two chains.
pub trait SwapChains: Send + Sync {
    /// The time of the source's newest final block, in milliseconds since 1970.
    fn time(&self) -> Fut<'_, Result<Millis, Cause>>;
    /// Whether an account of the chain at that side can be paid.
    fn takes_money<'a>(&'a self, side: Side, account: &'a str) -> Fut<'a, Result<bool, Cause>>;
    /// Whether what a transfer was paid last at that side was taken; `None`: it still may be.
    fn taken(&self, side: Side, id: Id) -> Option<bool>;
    /// The account of the target's chain that a name in a case stands for.
    fn receiver(&self, name: &str) -> Arc<str> {
        name.into()
    }
}

/// Both chains are simulated.
pub(super) struct SimChains {
    pub source: SimChain,
    pub target: SimChain,
}

impl SwapChains for SimChains {
    fn time(&self) -> Fut<'_, Result<Millis, Cause>> {
        Box::pin(std::future::ready(Ok(self.source.final_time())))
    }

    fn takes_money<'a>(&'a self, _: Side, account: &'a str) -> Fut<'a, Result<bool, Cause>> {
        Box::pin(std::future::ready(Ok(receives(account))))
    }

    fn taken(&self, side: Side, id: Id) -> Option<bool> {
        match side {
            Side::Source => self.source.taken(id),
            Side::Target => self.target.taken(id),
        }
    }
}

/// What one process asks.
pub(super) struct SwapFacts {
    pub script: SwapScript,
    pub chains: Arc<dyn SwapChains>,
    pub journal: Arc<dyn Journal>,
}

impl fmt::Debug for SwapFacts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SwapFacts").finish_non_exhaustive()
    }
}

impl SwapFacts {
    /// Whether the cooldown since the last attempt of an act with this leg is over.
    async fn rested(&self, id: Id, leg: Leg) -> Result<bool, Cause> {
        past_attempts::rested(&*self.journal, &self.script.table, id, leg, COOLDOWN_MS).await
    }

    /// Until when a payout may be accepted, from the first look that found its receiver on.
    fn payout_deadline(&self, id: Id, receiver: &str, time: Millis) -> Millis {
        let hopeless = !covered(receiver) || is_lost(receiver);
        let wait = if hopeless { SHORT_MS } else { LONG_MS };
        let mut all = self.script.deadlines.lock().unwrap_or_else(PoisonError::into_inner);
        *all.entry(id).or_insert_with(|| time + wait)
    }

    /// A person allows one more refund where the money is held, and it stays allowed.
    fn released(&self, rule: &str, record: &Record) -> bool {
        let Account::Named(sender) = &record.source().account else { return false };
        let mut released = self.script.released.lock().unwrap_or_else(PoisonError::into_inner);
        if rule == MOVE_OUT && is_freed(sender) {
            released.insert(record.id);
        }
        released.contains(&record.id)
    }

    /// Whom an asset maps a credit to, as far as it is found at this rule.
    fn mapped(&self, rule: &str, record: &Record) -> Option<&'static str> {
        let Account::Named(sender) = &record.source().account else { return None };
        let receiver = self.script.mappings.get(&**sender).copied()?;
        (rule != MAPPED || !is_found_late(receiver)).then_some(receiver)
    }

    async fn of(&self, rule: &str, record: &Record) -> Result<Facts, Cause> {
        let (journal, table) = (&*self.journal, &self.script.table);
        let rejections = past_attempts::refund_rejections(journal, table, record.id).await?;
        let time = self.chains.time().await?;
        let mut facts = Facts::from([
            (CHAIN_TIME, Fact::Number(time.into())),
            (PAYOUT_RESTED, Fact::Flag(self.rested(record.id, Leg::Deposit).await?)),
            (REFUND_RESTED, Fact::Flag(self.rested(record.id, Leg::Refund).await?)),
            (REFUND_REJECTIONS, Fact::Number(rejections)),
            (MOST_REFUND_REJECTIONS, Fact::Number(MOST_REJECTIONS)),
            (ACCEPTING, Fact::Flag(true)),
            (WITHIN_CAPS, Fact::Flag(true)),
            (QUARANTINE_ACCOUNT, Fact::Flag(true)),
            (DUST_CREDIT, Fact::Number(DUST)),
        ]);
        let mapped = self.mapped(rule, record);
        if let Some(receiver) = mapped {
            facts.insert(MAPPING, Fact::Text(self.chains.receiver(receiver)));
            let until = self.payout_deadline(record.id, receiver, time);
            facts.insert(PAYOUT_DEADLINE, Fact::Number(until.into()));
        } else {
            facts.insert(NO_MAPPING, Fact::Flag(true));
        }
        if let Account::Named(sender) = &record.source().account {
            let takes = self.chains.takes_money(Side::Source, sender).await?;
            facts.insert(SENDER_VALID, Fact::Flag(takes));
            facts.insert(CREDIT_POSSIBLE, Fact::Flag(credit_possible(sender)));
        }
        let named = match &record.target().account {
            Account::Named(receiver) => Some(receiver.clone()),
            Account::User(_) | Account::Unnamed => mapped.map(|name| self.chains.receiver(name)),
        };
        if let Some(receiver) = named {
            let takes = self.chains.takes_money(Side::Target, &receiver).await?;
            facts.insert(DESTINATION_VALID, Fact::Flag(takes));
        }
        if self.released(rule, record) {
            // as often as it was refused when the money was held
            facts.insert(REFUND_RELEASED, Fact::Number(MOST_REJECTIONS));
        }
        Ok(facts)
    }

    fn delivered(&self, act: &str, record: &Record) -> Answer {
        let row = self.script.table.acts.iter().find(|row| row.name == act);
        let Some(row) = row else { return Answer::Unknown(Cause::of("NO_QUESTION")) };
        match self.chains.taken(row.side, record.id) {
            Some(true) => Answer::Done(Receipt::default()),
            Some(false) => Answer::Rejected(Evidence::code("NOT_TAKEN"), Receipt::default()),
            None => Answer::Unknown(Cause::of("NOT_TAKEN_YET")),
        }
    }
}

impl FactSource for SwapFacts {
    fn facts<'a>(&'a self, rule: &'a str, records: &'a [Record]) -> Fut<'a, Vec<Gathered>> {
        Box::pin(async move {
            breath().await;
            let mut all = Vec::with_capacity(records.len());
            for record in records {
                let facts = self.of(rule, record).await;
                all.push(facts.map_or_else(Gathered::Unknown, Gathered::Facts));
            }
            all
        })
    }

    fn ask<'a>(&'a self, act: &'a str, records: &'a [Record]) -> Fut<'a, Vec<Answer>> {
        Box::pin(async move {
            breath().await;
            records.iter().map(|record| self.delivered(act, record)).collect()
        })
    }
}
