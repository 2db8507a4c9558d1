//! Takes a ledger that lost operations for good back into service, by a resume that two persons agree on.
//!
//! They accept each operation that the journal holds a receipt of and the ledger lost, and by how much the
//! ledger is shorter. The unit that ends the HALT adopts the ledger at its lower number. It also pauses
//! every transfer whose call there is open or whose stored answer is lost: persons decide on each of them
//! later.

use crate::operators::Objection;
use crate::operators::Operators;
use crate::operators::action_context::Stop;
use crate::reconciliation::losses;
use crate::state::accepted::AcceptedBreaks;
use crate::state::loss::Loss;
use kernel::answer::Cause;
use kernel::ids::Millis;
use kernel::operators::{Accepted, Scope};
use kernel::ports::ledger::{Ledger, LedgerForm, Reply};
use kernel::reconcile;
use kernel::reconcile::Break;
use kernel::record::Record;
use kernel::unit::{Guard, Put};
use std::collections::BTreeSet;

/// The most lost operations that may be accepted: each read of the flags reads all of them.
const MOST: usize = 1_000;
/// The most transfers that are paused one by one; where more calls are open, the ledger is paused as a
/// whole.
const STOPPED: usize = 1_000;
/// How many open transfers are searched for them.
const SEARCHED: usize = 20_000;
/// A time after every opening, and within what a database takes.
const EVER: Millis = u64::MAX >> 1;
/// The caller of the pauses of what is open at such a ledger.
const CALLER: &str = "engine";

impl Operators {
    /// The ledgers that know less than the journal. It refuses unless each was started anew since, nothing
    /// that began before the HALT is under way, and every lost operation is accepted here.
    pub(super) async fn accepted_losses(&self, accept: &[Accepted]) -> Result<Vec<Loss>, Stop> {
        let mut losses = Vec::new();
        for port in &self.shared.parts.ledgers {
            losses.extend(self.accepted_loss(&**port, accept).await?);
        }
        Ok(losses)
    }

    async fn accepted_loss(
        &self,
        port: &dyn Ledger,
        accept: &[Accepted],
    ) -> Result<Option<Loss>, Stop> {
        let (ledger, journal) = (port.id(), &self.shared.parts.journal);
        // read first: the ledger must know all that was stored before it was asked
        let status = journal.service_status().await?;
        let Some(stored) = status.ledger(ledger) else { return Ok(None) };
        if port.enlist().is_some() || port.form() == LedgerForm::Simple {
            return Ok(None);
        }
        let actual = match port.hello().await {
            Reply::Answered(known, ()) | Reply::OtherLedger(known) => known,
            Reply::NoAnswer(_) => return Ok(None),
        };
        if actual.identity != stored.identity || actual.highest >= stored.highest {
            return Ok(None);
        }
        let name = ledger.name();
        if actual.incarnation == stored.incarnation {
            // a request that is late on its way would be executed under a number that is free again
            let why =
                format!("{name} lost operations and was not started since: start it anew first");
            return Err(Objection::NotPossible(why).into());
        }
        let (_, quiet) = self.halt_is_quiet().await;
        if !quiet {
            let why = "not everything that began before the HALT has ended: try again".to_owned();
            return Err(Objection::NotPossible(why).into());
        }
        let mut snapshot = journal.snapshot().await?;
        let above = actual.highest;
        let before = AcceptedBreaks::read(&**journal, &status).await?.named;
        let lost = losses::unaccepted(&mut *snapshot, ledger, above, &before).await?;
        drop(snapshot);
        if lost.len() > MOST {
            let why =
                format!("{name} lost more than {MOST} operations: its newest state is needed");
            return Err(Objection::NotPossible(why).into());
        }
        let shortened = reconcile::shortened(ledger, actual.highest, stored.highest);
        let mut breaks: Vec<Break> =
            lost.iter().map(|operation| reconcile::lost(ledger, operation)).collect();
        breaks.insert(0, shortened);
        let is_accepted =
            |found: &Break| accept.iter().any(|a| *a.key == *found.key && a.amount == found.amount);
        breaks.retain(|found| !is_accepted(found));
        if !breaks.is_empty() {
            return Err(Objection::Breaks(breaks).into());
        }
        let transfers = lost.iter().map(|operation| operation.op.key.id).collect();
        Ok(Some(Loss { ledger, stored, actual, transfers }))
    }

    /// The guards of adopting a ledger at a lower number.
    pub(super) fn guards_of(&self, loss: &Loss) -> impl Iterator<Item = Guard> {
        let known = Guard::Incarnation { ledger: loss.ledger, known: Some(loss.stored) };
        std::iter::once(known).chain(self.shared.plan.owner(loss.ledger))
    }

    /// The puts that adopt the ledgers, pause the transfers, and take back what was proven above a lower
    /// number.
    pub(super) async fn adopts_after_loss(&self, losses: &[Loss]) -> Result<Vec<Put>, Stop> {
        if losses.is_empty() {
            return Ok(Vec::new());
        }
        let adopt = |loss: &Loss| Put::AdoptAfterLoss { ledger: loss.ledger, known: loss.actual };
        let mut puts: Vec<Put> = losses.iter().map(adopt).collect();
        let reason = |scope| {
            let what = match scope {
                Scope::Ledger(_) => "its calls may have been made before it lost operations",
                Scope::Flow(_)
                | Scope::Chain(_)
                | Scope::Asset(_)
                | Scope::Account(..)
                | Scope::Group(_)
                | Scope::Transfer(_) => {
                    "an operation of it, or its open call, is among what a ledger lost"
                }
            };
            Put::Pause { scope, reason: what.into(), caller: CALLER.into() }
        };
        puts.extend(self.stopped(losses).await?.into_iter().map(reason));
        let status = self.shared.parts.journal.service_status().await?;
        puts.push(self.reconciler.proven_less(&status).await);
        Ok(puts)
    }

    /// The scopes that are paused until a person lifts them.
    async fn stopped(&self, losses: &[Loss]) -> Result<BTreeSet<Scope>, Cause> {
        let journal = &self.shared.parts.journal;
        let ids = losses.iter().flat_map(|loss| loss.transfers.iter().copied()).collect();
        let open = |record: &Record| !self.shared.plan.table(record.flow).ends(record.head.state);
        let lost = journal.get(ids).await?;
        let mut stopped: BTreeSet<Scope> =
            lost.iter().filter(|record| open(record)).map(|r| Scope::Transfer(r.id)).collect();
        let records = journal.open_older_than(EVER, SEARCHED).await?;
        let at = |record: &Record| {
            let ledger = self.shared.plan.calls(record)?;
            losses.iter().any(|loss| loss.ledger == ledger).then_some(ledger)
        };
        let calls: Vec<&Record> = records.iter().filter(|record| at(record).is_some()).collect();
        if records.len() < SEARCHED && calls.len() <= STOPPED {
            stopped.extend(calls.iter().map(|record| Scope::Transfer(record.id)));
        } else {
            stopped.extend(losses.iter().map(|loss| Scope::Ledger(loss.ledger)));
        }
        Ok(stopped)
    }
}
