//! The fact source of the relay on the simulated chain: whether a receiver holds the token, and whether it may be
//! registered at the relay's cost.

use super::state::SimChain;
use crate::world::breath;
use flows::relay::rules::{ATTEMPTS, BUDGET, LATELY, RECEIVER_EXISTS, REGISTERED};
use kernel::answer::{Answer, Cause};
use kernel::ports::Fut;
use kernel::ports::facts::{FactSource, Gathered};
use kernel::record::{Account, Fact, Facts, Record};
use std::sync::Arc;

/// Whether the chain has an account of that name.
pub fn account_exists(account: &str) -> bool {
    !account.starts_with("ghost")
}

/// The facts of final blocks.
#[derive(Debug, Clone)]
pub struct RelayFacts(pub SimChain);

impl RelayFacts {
    fn of(&self, rule: &str, record: &Record) -> Gathered {
        let Account::Named(account) = &record.target().account else {
            return Gathered::Unknown(Cause::of("NO_ACCOUNT"));
        };
        let account: Arc<str> = account.clone();
        let facts = match rule {
            "known receiver" => {
                // one that does not hold the token may never, and is asked after by the next rule
                let registered = self.0.now().registered_for_good(&account);
                Facts::from([(REGISTERED, Fact::Flag(registered))])
            }
            _ => Facts::from([
                (RECEIVER_EXISTS, Fact::Flag(account_exists(&account))),
                (ATTEMPTS, Fact::Number(0)),
                (LATELY, Fact::Flag(false)),
                (BUDGET, Fact::Flag(true)),
            ]),
        };
        Gathered::Facts(facts)
    }
}

impl FactSource for RelayFacts {
    fn facts<'a>(&'a self, rule: &'a str, records: &'a [Record]) -> Fut<'a, Vec<Gathered>> {
        Box::pin(async move {
            breath().await;
            records.iter().map(|record| self.of(rule, record)).collect()
        })
    }

    fn ask<'a>(&'a self, _: &'a str, records: &'a [Record]) -> Fut<'a, Vec<Answer>> {
        let unknown = Answer::Unknown(Cause::of("NO_QUESTION"));
        Box::pin(std::future::ready(vec![unknown; records.len()]))
    }
}
