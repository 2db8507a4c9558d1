//! The oracle of HALT over all processes: only a resume that was proposed, approved and proven after a HALT lifts
//! it.
//!
//! The journal's writes come one after the other, and each has a number here. A resume is held to the
//! number of the last HALT that was written before it, whichever process wrote it and whether or not
//! one stood already; since a proof follows its approval and that its proposal, a proposal after the
//! last HALT is all there is to look at.

use super::{Inner, Oracles, Wrong, must};
use crate::journal::Durable;
use kernel::ids::{Id, LedgerId};
use kernel::operation::{Key, Op};
use kernel::operators::{Approval, ApprovalStatus, RESUME};
use kernel::record::Record;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What was written of HALT, by the numbers of the writes.
#[derive(Debug, Default)]
pub(super) struct Halted {
    writes: u64,
    /// A HALT stood after the last write.
    stands: bool,
    /// HALTs that were written, and where the last one was.
    halts: u64,
    halted_at: u64,
    /// HALTs that were resumed, and where the last one was.
    resumes: u64,
    resumed_at: u64,
    /// External movements that were booked.
    movements: usize,
    actions: usize,
    decisions: usize,
    /// Where each proposal was written.
    proposals: Vec<(Id, u64)>,
    /// After which write each proposal was first asked to be approved.
    asked: BTreeMap<Id, u64>,
    /// Where each HALT by hand was written.
    by_hand: BTreeMap<(Arc<str>, Arc<str>), u64>,
    /// A HALT was answered, and that everything ended which had begun before; nothing resumed it since.
    quiet: bool,
    /// One stood before the last write and after it.
    stayed: bool,
}

/// A principal without its issuer.
fn person(caller: &str) -> &str {
    caller.split_once('|').map_or(caller, |(_, sub)| sub)
}

/// Whether it was approved, which is when it takes effect.
fn effect(approval: &Approval) -> bool {
    approval.stand == ApprovalStatus::Approved
}

impl Halted {
    /// A write is looked at: what it says of HALT, before anything else of it.
    pub(super) fn wrote(&mut self, durable: &Durable<'_>) -> Wrong {
        self.writes += 1;
        let at = self.writes;
        let resumed = durable.resumes() > self.resumes;
        let stood = std::mem::replace(&mut self.stands, durable.halted().is_some());
        self.stayed = stood && self.stands && !resumed;
        let decided: Vec<Approval> = durable.decisions(self.decisions).collect();
        let proposed: Vec<Id> =
            durable.proposals(self.proposals.len()).map(|proposal| proposal.id).collect();
        self.proposals.extend(proposed.into_iter().map(|id| (id, at)));
        self.decisions += decided.len();
        for Approval { id, expires_at, decided, .. } in decided.iter().filter(|a| effect(a)) {
            must(decided.as_ref().is_some_and(|(_, at)| at < expires_at), || {
                format!("{id} took effect after it had lapsed: {decided:?}, {expires_at}")
            })?;
        }
        if resumed {
            self.lifts(&decided)?;
            (self.resumes, self.resumed_at, self.quiet) = (durable.resumes(), at, false);
        }
        let movements = durable.funding().movements();
        must(movements == self.movements || !stood || resumed, || {
            "an external movement is booked under HALT".to_owned()
        })?;
        self.movements = movements;
        for action in durable.actions(self.actions) {
            self.actions += 1;
            if &*action.kind == "HALT" {
                self.by_hand.insert((action.caller, action.key), at);
            }
        }
        if durable.halts() > self.halts {
            (self.halts, self.halted_at) = (durable.halts(), at);
        }
        Ok(())
    }

    /// A HALT is resumed by what was decided in the same write.
    fn lifts(&self, decided: &[Approval]) -> Wrong {
        let resume = |a: &&Approval| &*a.kind == RESUME && effect(a);
        let Some(approval) = decided.iter().find(resume) else {
            return Err("HALT is resumed, and no proposal of it was approved".to_owned());
        };
        let Approval { id, caller, decided, .. } = approval;
        let by = decided.as_ref().map_or("", |(by, _)| by);
        must(person(by) != person(caller), || format!("{by} alone lifts a HALT"))?;
        must(self.proposed(*id) >= self.halted_at, || {
            // the one HALT came before the approval was asked for, the other while its proof ran
            let when = if self.asked.get(id).is_some_and(|at| *at < self.halted_at) {
                "approved while"
            } else {
                "proposed before"
            };
            format!("HALT is resumed by {id}, which was {when} the HALT that stands was written")
        })
    }

    /// Where a proposal was written.
    fn proposed(&self, id: Id) -> u64 {
        self.proposals.iter().find(|(known, _)| *known == id).map_or(0, |(_, at)| *at)
    }
}

impl Oracles {
    /// An operator was answered that all is halted and quiet, to this action of theirs.
    pub fn halted(&self, caller: &Arc<str>, key: &Arc<str>) {
        let mut inner = self.inner();
        let written = inner.halted.by_hand.get(&(caller.clone(), key.clone())).copied();
        inner.halted.quiet |= written.is_some_and(|at| at > inner.halted.resumed_at);
    }

    /// An operator is about to ask for the approval of this proposal.
    pub fn approves(&self, id: Id) {
        let mut inner = self.inner();
        let now = inner.halted.writes;
        inner.halted.asked.entry(id).or_insert(now);
    }

    /// An engine begins a call that may have an effect.
    pub fn begins(&self, ledger: LedgerId, ops: &[Op]) {
        let key = ops.first().map(|op| op.key);
        self.look(|inner| inner.may_begin(ledger, key));
    }

    /// An engine begins to set a tombstone.
    pub fn begins_fence(&self, ledger: LedgerId, key: Key) {
        self.look(|inner| inner.may_begin(ledger, Some(key)));
    }
}

impl Inner {
    fn may_begin(&self, ledger: LedgerId, key: Option<Key>) -> Wrong {
        must(!self.halted.quiet, || {
            format!("{} is called for {key:?} under a HALT that was answered", ledger.name())
        })
    }

    /// Under HALT no claim is written: the transfer may have taken any other edge.
    pub(super) fn claims_nothing(&self, record: &Record, from: &[i16]) -> Wrong {
        let Some(table) = self.table().filter(|_| self.halted.stayed) else { return Ok(()) };
        let claims = |code: &&i16| {
            let step = table.coded(**code).map(|state| table.step(state));
            matches!(step, Some(kernel::flow::life::Step::Claim { .. }))
        };
        must(from.iter().find(claims).is_none(), || {
            format!("{} is claimed under HALT: {:?}", record.id, record.head)
        })
    }
}
