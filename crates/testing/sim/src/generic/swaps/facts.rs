//! The scripted fact source of swaps: accounts by their names, time and deliveries from the simulated
//! chains, and refusals and cooldowns by the journal.

use super::cases::{DUST, covered, credit_possible, is_found_late, is_freed, is_lost, receives};
use crate::chain::SimChain;
use crate::world::breath;
use flows::swap_out::rules::{CREDIT_POSSIBLE, DUST_CREDIT, MAPPING, NO_MAPPING, PAYOUT_DEADLINE};
use flows::swaps::rules::{
    CHAIN_TIME, DESTINATION_VALID, PAYOUT_RESTED, QUARANTINE_ACCOUNT, REFUND_REJECTIONS,
    REFUND_RELEASED, REFUND_RESTED, SENDER_VALID,
};
use kernel::answer::{Answer, Cause, Evidence, Receipt};
use kernel::flow::life::{Leg, Side};
use kernel::flow::table::Table;
use kernel::ids::Id;
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
    pub source: SimChain,
    pub target: SimChain,
    /// Whom an asset maps each credit to, by the account that it came from.
    pub mappings: BTreeMap<&'static str, &'static str>,
    /// For whom a person allowed one more refund.
    pub released: Arc<Mutex<BTreeSet<Id>>>,
    /// Until when each payout may be accepted: a time after its receiver was found.
    pub deadlines: Arc<Mutex<BTreeMap<Id, u64>>>,
}

/// What one process asks.
pub(super) struct SwapFacts {
    pub script: SwapScript,
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
        let table = &self.script.table;
        let attempts = self.journal.attempts_of(vec![id]).await?;
        let is_of = |state| table.makes(state).is_some_and(|act| table.act(act).leg == Some(leg));
        let closed = attempts.iter().filter(|attempt| is_of(attempt.state)).map(|one| one.closed);
        let now = self.journal.now();
        let over = |at: Option<u64>| at.is_some_and(|at| now.saturating_sub(at) >= COOLDOWN_MS);
        Ok(closed.into_iter().all(over))
    }

    /// How often the refund of a transfer was refused, by its history.
    async fn rejections(&self, id: Id) -> Result<u128, Cause> {
        let refused = match self.script.table.flow {
            "swap_in" => flows::swap_in::rules::REFUND_REFUSED,
            _ => flows::swap_out::rules::REFUND_REFUSED,
        };
        let history = self.journal.history(id).await?;
        let count = history.iter().filter(|linked| refused.contains(&&*linked.entry.event)).count();
        u128::try_from(count).map_err(|_| Cause::of("COUNT"))
    }

    /// Until when a payout may be accepted, from the first look that found its receiver on.
    fn payout_deadline(&self, id: Id, receiver: &str) -> u64 {
        let hopeless = !covered(receiver) || is_lost(receiver);
        let wait = if hopeless { SHORT_MS } else { LONG_MS };
        let mut all = self.script.deadlines.lock().unwrap_or_else(PoisonError::into_inner);
        *all.entry(id).or_insert_with(|| self.script.source.final_time() + wait)
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
        let mut facts = Facts::from([
            (CHAIN_TIME, Fact::Number(self.script.source.final_time().into())),
            (PAYOUT_RESTED, Fact::Flag(self.rested(record.id, Leg::Deposit).await?)),
            (REFUND_RESTED, Fact::Flag(self.rested(record.id, Leg::Refund).await?)),
            (REFUND_REJECTIONS, Fact::Number(self.rejections(record.id).await?)),
            (QUARANTINE_ACCOUNT, Fact::Flag(true)),
            (DUST_CREDIT, Fact::Number(DUST)),
        ]);
        let mapped = self.mapped(rule, record);
        if let Some(receiver) = mapped {
            facts.insert(MAPPING, Fact::Text(receiver.into()));
            let until = self.payout_deadline(record.id, receiver);
            facts.insert(PAYOUT_DEADLINE, Fact::Number(until.into()));
        } else {
            facts.insert(NO_MAPPING, Fact::Flag(true));
        }
        if let Account::Named(sender) = &record.source().account {
            facts.insert(SENDER_VALID, Fact::Flag(receives(sender)));
            facts.insert(CREDIT_POSSIBLE, Fact::Flag(credit_possible(sender)));
        }
        let named = match &record.target().account {
            Account::Named(receiver) => Some(&**receiver),
            Account::User(_) | Account::Unnamed => mapped,
        };
        if let Some(receiver) = named {
            facts.insert(DESTINATION_VALID, Fact::Flag(receives(receiver)));
        }
        if self.released(rule, record) {
            // as often as it was refused when the money was held
            facts.insert(REFUND_RELEASED, Fact::Number(3));
        }
        Ok(facts)
    }

    fn delivered(&self, act: &str, record: &Record) -> Answer {
        let row = self.script.table.acts.iter().find(|row| row.name == act);
        let chain = match row.map(|row| row.side) {
            Some(Side::Source) => &self.script.source,
            Some(Side::Target) => &self.script.target,
            None => return Answer::Unknown(Cause::of("NO_QUESTION")),
        };
        match chain.taken(record.id) {
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
