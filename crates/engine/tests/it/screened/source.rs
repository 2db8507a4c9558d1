//! The outside of the screened flow, as a test says it is.

use super::table::{FEE, PAYEE, RELEASED, ROOM};
use kernel::answer::{Answer, Cause, Evidence, Receipt};
use kernel::ids::Id;
use kernel::ports::Fut;
use kernel::ports::facts::{FactSource, Gathered};
use kernel::record::{Fact, Facts, Record};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use testkit::{MINUTE, wait_until};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SourceFault {
    /// It says what is known.
    None,
    /// It is not reached.
    Silent,
    /// It answers one item too few.
    Short,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Screening {
    Clear,
    Hit,
    Dead,
}

#[derive(Debug)]
pub(crate) struct SourceState {
    pub(crate) fault: SourceFault,
    /// `None`: not known yet.
    pub(crate) released: Option<bool>,
    pub(crate) room: Option<u128>,
    /// Who gets the money, and for which fee; `None`: nothing is said of it.
    pub(crate) payee: Option<u128>,
    pub(crate) fee: Option<u128>,
    pub(crate) screening: Screening,
    /// A batch with this transfer panics.
    pub(crate) poison: Option<Id>,
    /// How often each transfer was looked at.
    pub(crate) looks: BTreeMap<Id, u32>,
    pub(crate) longest: usize,
}

#[derive(Debug)]
pub(crate) struct Source(Mutex<SourceState>);

impl Source {
    /// Everything is released, clear, and there is room.
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self(Mutex::new(SourceState {
            fault: SourceFault::None,
            released: Some(true),
            room: Some(u128::MAX),
            payee: None,
            fee: None,
            screening: Screening::Clear,
            poison: None,
            looks: BTreeMap::new(),
            longest: 0,
        })))
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, SourceState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until each of these was looked at `times` times from now on.
    pub(crate) async fn looked(&self, ids: &[Id], times: u32) {
        self.state().looks.clear();
        let looked = wait_until(MINUTE, async || {
            let state = self.state();
            ids.iter().all(|id| state.looks.get(id).is_some_and(|n| *n >= times))
        });
        assert!(looked.await, "not looked at: {:?}", self.state().looks);
    }

    /// Notes a batch; `None`: the outside is not reached.
    fn noted(&self, records: &[Record]) -> Option<MutexGuard<'_, SourceState>> {
        let mut state = self.state();
        if records.len() > state.longest {
            state.longest = records.len();
        }
        for record in records {
            *state.looks.entry(record.id).or_default() += 1;
        }
        let poison = state.poison;
        if records.iter().any(|record| Some(record.id) == poison) {
            drop(state);
            panic!("poison");
        }
        (state.fault != SourceFault::Silent).then_some(state)
    }
}

impl FactSource for Source {
    fn facts<'a>(&'a self, rule: &'a str, records: &'a [Record]) -> Fut<'a, Vec<Gathered>> {
        Box::pin(async move {
            let Some(state) = self.noted(records) else {
                return records.iter().map(|_| Gathered::Unknown(Cause::of("TIMEOUT"))).collect();
            };
            let facts: Facts = match rule {
                "released" => {
                    state.released.map(|it| (RELEASED, Fact::Flag(it))).into_iter().collect()
                }
                "room" => {
                    let known = [(ROOM, state.room), (PAYEE, state.payee), (FEE, state.fee)];
                    let fact = |(name, it): (_, Option<u128>)| Some((name, Fact::Number(it?)));
                    known.into_iter().filter_map(fact).collect()
                }
                other => panic!("no facts are gathered for {other}"),
            };
            let short = usize::from(state.fault == SourceFault::Short);
            records.iter().skip(short).map(|_| Gathered::Facts(facts.clone())).collect()
        })
    }

    fn ask<'a>(&'a self, act: &'a str, records: &'a [Record]) -> Fut<'a, Vec<Answer>> {
        Box::pin(async move {
            assert_eq!(act, "screen");
            let Some(state) = self.noted(records) else {
                return records.iter().map(|_| Answer::Unknown(Cause::of("TIMEOUT"))).collect();
            };
            let evidence =
                || Evidence { code: "SANCTIONED".into(), doc: Some("list 7, line 3".into()) };
            let answer = |_: &Record| match state.screening {
                Screening::Clear => {
                    Answer::Done(Receipt { seq: 0, doc: Some("list 7: clear".into()) })
                }
                Screening::Hit => Answer::Rejected(evidence(), Receipt::default()),
                Screening::Dead => Answer::Dead(evidence()),
            };
            records.iter().map(answer).collect()
        })
    }
}
