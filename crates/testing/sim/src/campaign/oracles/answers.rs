//! The oracle of answers: a ledger never changes a final answer, and a state that a client once saw stays true.

use super::{Oracles, must};
use kernel::answer::Answer;
use kernel::ids::{Id, LedgerId};
use kernel::operation::{Key, Op};
use kernel::record::{Record, Terms};
use std::sync::Arc;

/// What a ledger answered that is no `Unknown`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Final {
    Done(u64),
    Rejected(String),
}

/// What was said about one client's key.
#[derive(Debug, Clone, Default)]
pub(super) struct KnownKey {
    /// The transfer that it is bound to in the journal.
    pub bound: Option<Id>,
    /// The highest version that a client saw.
    version: u32,
}

/// What a client was shown.
#[derive(Debug, Clone, Copy)]
pub enum ClientView<'a> {
    /// The transfer that its key is bound to.
    Transfer(&'a Record),
    /// Its key is bound to this transfer, which is another request's.
    Mismatch(&'a Record),
    /// Nothing was opened, and this was its only request.
    Refused,
}

impl Oracles {
    /// A ledger answered these, in order.
    pub fn answered(&self, ledger: LedgerId, ops: &[Op], answers: &[Answer]) {
        self.look(|inner| {
            for (op, answer) in ops.iter().zip(answers) {
                let said = match answer {
                    Answer::Done(receipt) => Final::Done(receipt.seq),
                    Answer::Rejected(why, _) => Final::Rejected(why.code.to_string()),
                    Answer::Dead(_) => {
                        return Err(format!("{} says that {:?} is dead", ledger.name(), op.key));
                    }
                    Answer::Unknown(_) => continue,
                };
                let Key { id, leg } = op.key;
                let kept = inner.ledgers.get(&ledger).and_then(|kept| kept.stored.get(&op.key));
                must(kept.is_some(), || {
                    format!(
                        "{} answers {said:?} to {leg:?} of {id} and stored nothing",
                        ledger.name()
                    )
                })?;
                let first = inner.answered.entry((ledger, op.key)).or_insert_with(|| said.clone());
                must(*first == said, || {
                    let name = ledger.name();
                    format!("{name} answered {first:?} to {leg:?} of {id}, and now {said:?}")
                })?;
            }
            Ok(())
        });
    }

    /// The engine was answered these, in order: it has to write down what is done.
    pub fn replied(&self, ops: &[Op], answers: &[Answer]) {
        if ops.len() != answers.len() || self.inner().several {
            return;
        }
        let done = ops.iter().zip(answers).filter(|(_, answer)| matches!(answer, Answer::Done(_)));
        self.inner().done.extend(done.map(|(op, _)| (op.key.id, op.key.leg)));
    }

    /// What the engine was told of these is lost, and not by its own fault: a write failed, or
    /// another one came before it. None: its whole process is.
    pub fn unheard(&self, ids: Option<&[Id]>) {
        let mut inner = self.inner();
        match ids {
            Some(ids) => inner.done.retain(|id, _| !ids.contains(id)),
            None => inner.done.clear(),
        }
    }

    /// The highest version that a client saw under a key: what is asked from now on shows no lower
    /// one.
    pub fn floor(&self, key: &Arc<str>) -> u32 {
        self.inner().keys.get(key).map_or(0, |told| told.version)
    }

    /// A client was answered, who asked when the highest version under its key was `floor`.
    pub fn told(&self, key: &Arc<str>, terms: &Terms, floor: u32, shown: ClientView<'_>) {
        self.look(|inner| {
            let told = inner.keys.entry(key.clone()).or_default();
            let record = match shown {
                ClientView::Refused => {
                    return must(told.bound.is_none(), || {
                        format!("{key} was refused, and is bound to {:?}", told.bound)
                    });
                }
                ClientView::Mismatch(record) => {
                    return must(
                        told.bound == Some(record.id) && !same(&record.terms, terms),
                        || format!("{key} is said to be another's: {record:?}"),
                    );
                }
                ClientView::Transfer(record) => record,
            };
            let id = record.id;
            must(told.bound == Some(id), || {
                format!("{key} was told of {id}, and is bound to {:?}", told.bound)
            })?;
            must(same(&record.terms, terms), || {
                format!("{key} asked for {terms:?} and was given {record:?}")
            })?;
            let Some(life) = inner.lives.get(&id) else {
                return Err(format!("{key} was told of {id}, which is nowhere"));
            };
            let head = record.head;
            must(head.version <= life.version && life.stood.contains(&head.state), || {
                format!("{key} was told what is not durable: {record:?}, which is {life:?}")
            })?;
            let ends = inner.flows.0.first().is_some_and(|table| table.ends(head.state));
            must(!ends || life.state == head.state, || {
                format!("{key} was told an end that is none: {record:?}, which is {life:?}")
            })?;
            must(head.version >= floor, || {
                format!("{key} was told version {floor}, and then {record:?}")
            })?;
            told.version = if head.version > told.version { head.version } else { told.version };
            Ok(())
        });
    }
}

/// Whether both ask for the same.
fn same(a: &Terms, b: &Terms) -> bool {
    (&a.owner, &a.source, &a.target) == (&b.owner, &b.source, &b.target)
}
