//! The outside of the invoice flow: the person who approves, and the register of payees.

use super::table::APPROVED;
use kernel::answer::{Answer, Cause, Evidence, Receipt};
use kernel::ports::Fut;
use kernel::ports::facts::{FactSource, Gathered};
use kernel::record::{Account, Fact, Record};
use std::sync::atomic::{AtomicBool, Ordering};

/// Approves everything below 1 000 units, once it is open; knows no payee whose number begins with `X`.
#[derive(Debug, Default)]
pub(crate) struct Approvals {
    pub(crate) open: AtomicBool,
}

impl FactSource for Approvals {
    fn facts<'a>(&'a self, _: &'a str, records: &'a [Record]) -> Fut<'a, Vec<Gathered>> {
        let open = self.open.load(Ordering::SeqCst);
        let gathered = records.iter().map(|record| {
            let small = Fact::Flag(record.terms.source.amount.0 < 1_000);
            Gathered::Facts(open.then_some((APPROVED, small)).into_iter().collect())
        });
        Box::pin(std::future::ready(gathered.collect()))
    }

    fn ask<'a>(&'a self, act: &'a str, records: &'a [Record]) -> Fut<'a, Vec<Answer>> {
        let answer = |record: &Record| match (act, &record.terms.target.account) {
            ("check-payee", Account::Named(number)) if number.starts_with('X') => {
                let unknown = Evidence { code: "UNKNOWN_PAYEE".into(), doc: None };
                Answer::Rejected(unknown, Receipt::default())
            }
            ("check-payee", _) => Answer::Done(Receipt::default()),
            _ => Answer::Unknown(Cause::of("NO_SUCH_QUESTION")),
        };
        Box::pin(std::future::ready(records.iter().map(answer).collect()))
    }
}
