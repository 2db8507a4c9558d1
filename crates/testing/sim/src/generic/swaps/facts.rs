//! The scripted fact source of swaps: accounts and inventory by their names, time and deliveries from the simulated
//! chains, and the number of tries, which the journal counts.

use super::cases::{covered, is_found_late, is_freed, receives};
use crate::chain::SimChain;
use crate::world::breath;
use flows::swap_out::rules::{MAPPING, NO_MAPPING};
use flows::swaps::rules::{
    CHAIN_TIME, DESTINATION_VALID, INVENTORY, PAYOUT_ATTEMPTS, QUARANTINE_ACCOUNT, REFUND_ATTEMPTS,
    REFUND_RELEASED, SENDER_VALID,
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
    /// How many attempts of acts with this leg were made for a transfer.
    async fn made(&self, id: Id, leg: Leg) -> Result<u128, Cause> {
        let table = &self.script.table;
        let attempts = self.journal.attempts_of(vec![id]).await?;
        let acts = attempts.iter().filter_map(|attempt| table.makes(attempt.state));
        let made = acts.filter(|act| table.act(*act).leg == Some(leg)).count();
        u128::try_from(made).map_err(|_| Cause::of("COUNT"))
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
        let refunds = self.made(record.id, Leg::Refund).await?;
        let mut facts = Facts::from([
            (CHAIN_TIME, Fact::Number(self.script.source.final_time().into())),
            (PAYOUT_ATTEMPTS, Fact::Number(self.made(record.id, Leg::Deposit).await?)),
            (REFUND_ATTEMPTS, Fact::Number(refunds)),
            (QUARANTINE_ACCOUNT, Fact::Flag(true)),
        ]);
        let mapped = self.mapped(rule, record);
        match mapped {
            Some(receiver) => facts.insert(MAPPING, Fact::Text(receiver.into())),
            None => facts.insert(NO_MAPPING, Fact::Flag(true)),
        };
        if let Account::Named(sender) = &record.source().account {
            facts.insert(SENDER_VALID, Fact::Flag(receives(sender)));
        }
        let named = match &record.target().account {
            Account::Named(receiver) => Some(&**receiver),
            Account::User(_) | Account::Unnamed => mapped,
        };
        if let Some(receiver) = named {
            facts.insert(DESTINATION_VALID, Fact::Flag(receives(receiver)));
            let free = if covered(receiver) { 1_000_000 } else { 0 };
            facts.insert(INVENTORY, Fact::Number(free));
        }
        if self.released(rule, record) {
            // as many as were made when the money was held
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
