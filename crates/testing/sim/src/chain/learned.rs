//! The faulty link between an engine and its fact source: it loses calls, panics, and kills the process at a call.
//! It records the facts, and checks that histories contain them.

use super::ChainTrouble;
use crate::world::{Crash, breath, die};
use kernel::answer::{Answer, Cause};
use kernel::flow::life::{Ruling, Step};
use kernel::flow::table::{S, Table};
use kernel::ids::Id;
use kernel::ports::Fut;
use kernel::ports::facts::{FactSource, Gathered};
use kernel::ports::journal::Linked;
use kernel::record::{Facts, Record, decision};
use std::collections::BTreeMap;
use std::fmt;
use std::panic::resume_unwind;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The facts that one rule was given for one transfer.
#[derive(Debug, Clone)]
struct Learnt {
    id: Id,
    rule: String,
    facts: Facts,
}

#[derive(Debug, Default)]
struct Inner {
    learnt: Vec<Learnt>,
    /// Where the records of each call stood.
    calls: Vec<Vec<S>>,
    planned: BTreeMap<u64, ChainTrouble>,
}

/// Everything that rules were given, and the plan of what goes wrong with it. Outlives the processes. A
/// handle: clones are the same one.
#[derive(Debug, Clone, Default)]
pub struct FactLog(Arc<Mutex<Inner>>);

impl FactLog {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, learnt: Learnt) {
        self.inner().learnt.push(learnt);
    }

    /// Where the records of each call stood, in order.
    pub fn calls(&self) -> Vec<Vec<S>> {
        self.inner().calls.clone()
    }

    /// The n-th call, counted from 0, goes wrong. To come twice is nothing to it.
    pub fn plan(&self, n: u64, trouble: ChainTrouble) {
        self.inner().planned.insert(n, trouble);
    }

    fn begin(&self, states: Vec<S>) -> Option<ChainTrouble> {
        let mut inner = self.inner();
        let n = u64::try_from(inner.calls.len()).unwrap_or(u64::MAX);
        inner.calls.push(states);
        inner.planned.remove(&n)
    }

    /// The decisions of a history that do not keep facts from which their rule says the same again.
    pub fn unexplained(&self, table: &Table, record: &Record, history: &[Linked]) -> Vec<String> {
        let learnt = &self.inner().learnt;
        let mut unexplained = Vec::new();
        for Linked { entry, .. } in history {
            let from = entry.from.and_then(|code| table.coded(code));
            let (Some(from), Some(to)) = (from, table.coded(entry.to)) else { continue };
            let Step::Decide { yes, no, .. } = table.step(from) else { continue };
            let Some(rule) = table.gathers(from).filter(|_| from != to) else { continue };
            let name = table.rules.get(usize::from(rule)).copied().unwrap_or_default();
            let said = if to == yes { Ruling::Yes } else { Ruling::No };
            let stored = entry.detail.as_deref().unwrap_or_default();
            let explains = |learnt: &&Learnt| {
                learnt.id == record.id
                    && learnt.rule == name
                    && (table.rule)(rule, record, &learnt.facts) == said
                    && decision(name, &learnt.facts) == stored
            };
            if (to != yes && to != no) || !learnt.iter().any(|learnt| explains(&learnt)) {
                let event = &entry.event;
                unexplained.push(format!("{event} of {name:?} keeps no facts for it: {stored}"));
            }
        }
        unexplained
    }
}

/// What goes wrong where something is learnt of records that stand there.
type Chosen = Box<dyn Fn(&[S]) -> Option<ChainTrouble> + Send + Sync>;

/// A source of facts at the end of a bad link, of one process.
pub struct LinkedFacts {
    inner: Arc<dyn FactSource>,
    log: FactLog,
    crash: Crash,
    chosen: Chosen,
}

impl fmt::Debug for LinkedFacts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LinkedFacts").finish_non_exhaustive()
    }
}

/// A panic that no hook prints: it is meant.
fn panic(why: &'static str) -> ! {
    resume_unwind(Box::new(why))
}

impl LinkedFacts {
    /// A link to this source, on which goes wrong what the log plans.
    pub fn new(inner: Arc<dyn FactSource>, log: FactLog, crash: Crash) -> Self {
        Self { inner, log, crash, chosen: Box::new(|_| None) }
    }

    /// The same link, where what is asked about decides what goes wrong with a call.
    #[must_use]
    pub fn choosing(
        mut self,
        chosen: impl Fn(&[S]) -> Option<ChainTrouble> + Send + Sync + 'static,
    ) -> Self {
        self.chosen = Box::new(chosen);
        self
    }

    /// What goes wrong with the call that begins.
    fn begin(&self, records: &[Record]) -> Option<ChainTrouble> {
        let states: Vec<S> = records.iter().map(|record| record.head.state).collect();
        let chosen = (self.chosen)(&states);
        self.log.begin(states).or(chosen)
    }

    /// One call, from its request to its reply; `None` where one of them is lost.
    async fn called<T>(&self, records: &[Record], call: impl Future<Output = T>) -> Option<T> {
        breath().await;
        let trouble = self.begin(records);
        match trouble {
            Some(ChainTrouble::LoseRequest) => return None,
            Some(ChainTrouble::PanicBefore) => panic("what is learnt panics before it runs"),
            Some(ChainTrouble::CrashBefore) => {
                die(&self.crash, "crashed before something was learnt").await;
            }
            Some(
                ChainTrouble::LoseReply
                | ChainTrouble::PanicAfter
                | ChainTrouble::CrashAfter
                | ChainTrouble::Twice,
            )
            | None => {}
        }
        let reply = call.await;
        match trouble {
            Some(ChainTrouble::PanicAfter) => panic("what is learnt panics after it ran"),
            Some(ChainTrouble::CrashAfter) => {
                die(&self.crash, "crashed when something was learnt").await;
            }
            _ => {}
        }
        (trouble != Some(ChainTrouble::LoseReply)).then_some(reply)
    }
}

impl FactSource for LinkedFacts {
    fn facts<'a>(&'a self, rule: &'a str, records: &'a [Record]) -> Fut<'a, Vec<Gathered>> {
        Box::pin(async move {
            let call = self.called(records, self.inner.facts(rule, records));
            let Some(all) = call.await else {
                return vec![Gathered::Unknown(Cause::of("TIMEOUT")); records.len()];
            };
            for (record, gathered) in records.iter().zip(&all) {
                if let Gathered::Facts(facts) = gathered {
                    let (id, rule, facts) = (record.id, rule.to_owned(), facts.clone());
                    self.log.add(Learnt { id, rule, facts });
                }
            }
            all
        })
    }

    fn ask<'a>(&'a self, act: &'a str, records: &'a [Record]) -> Fut<'a, Vec<Answer>> {
        Box::pin(async move {
            let answers = self.called(records, self.inner.ask(act, records)).await;
            answers.unwrap_or_else(|| vec![Answer::Unknown(Cause::of("TIMEOUT")); records.len()])
        })
    }
}
