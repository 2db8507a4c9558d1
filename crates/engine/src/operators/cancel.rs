//! Ends a transfer that would wait for ever, after two persons agreed, where nothing of it was sent.
//!
//! The verdict is `rejected`, as for a call: nothing has an effect, and nothing ever will. The journal
//! alone bears it out, and no ledger. A form that is not stored is never sent; each attempt of the transfer
//! is proven dead; and the unit that ends the transfer raises its version, so a claim that any worker
//! writes later is lost.

use crate::chains::stops::is_engine_stop;
use crate::operators::Operators;
use crate::operators::action_context::{ActionContext, Stop};
use crate::operators::verdict::VerdictUnit;
use crate::operators::{ActionResult, Objection, StoredAnswer, Verdict};
use crate::plan::chain_stop::stops_name;
use crate::plan::planner::{FuseMode, Plan, Planned, Transition, UnitBuilder};
use kernel::answer::Evidence;
use kernel::attempt::Attempt;
use kernel::code::Code;
use kernel::flow::life::{Leg, Step, Via};
use kernel::flow::table::Table;
use kernel::ids::{ChainId, Id, Millis};
use kernel::operators::Scope;
use kernel::ports::journal::Linked;
use kernel::record::{Record, System};
use kernel::unit::Guard;
use std::collections::BTreeSet;

/// The code of a transfer that two persons cancelled.
const CANCELLED: &str = "CANCELLED";

/// The journal's proof that nothing of a transfer was sent, or that all of it is dead.
pub(super) struct NeverSent {
    /// How many attempts were made and proven dead.
    dead: usize,
    /// The guards, besides the transfer's version, of what must still hold when it takes effect.
    guards: Vec<Guard>,
}

/// Whether such a verdict can be given for a transfer that waits for no answer.
pub(super) fn cancellable(verdict: Verdict) -> Result<(), Objection> {
    match verdict {
        Verdict::Rejected => Ok(()),
        Verdict::Done | Verdict::Dead => {
            let why = "nothing of it is under way: only `rejected` ends it, as CANCELLED";
            Err(Objection::Invalid(why.to_owned()))
        }
    }
}

impl Plan {
    /// True for a transfer that persons may cancel where it stands.
    pub(crate) fn cancels(&self, record: &Record) -> bool {
        self.table(record.flow).state(record.head.state).cancelled.is_some()
    }

    /// The plan that ends a transfer which persons cancel in its state.
    pub(crate) fn cancelled(&self, record: &Record, why: &Evidence) -> Option<Planned> {
        let to = self.table(record.flow).state(record.head.state).cancelled?;
        let mut builder = UnitBuilder::of(record);
        let detail = why.doc.clone().unwrap_or_else(|| why.code.as_ref().into());
        self.go(&mut builder, Transition { via: Via::Rejected, to }, Some(detail));
        builder.error = Some(why.clone());
        Some(self.sealed(builder, FuseMode::NoClaim, None))
    }
}

impl Operators {
    /// Ends a transfer that waits, where it is proven that nothing of it may land. `None`: it moved before.
    pub(super) async fn cancel(
        &self,
        context: &ActionContext,
        record: &Record,
    ) -> Result<Option<(ActionResult, Millis)>, Stop> {
        let NeverSent { dead, guards } = self.never_sent(record).await?;
        let doc = serde_json::json!({ "code": CANCELLED, "proof": "NEVER_SENT", "dead": dead });
        let why = Evidence { code: CANCELLED.into(), doc: Some(doc.to_string().into()) };
        let Some(mut planned) = self.shared.plan.cancelled(record, &why) else { return Ok(None) };
        planned.unit.guards.extend(guards);
        let said = StoredAnswer::NeverSent { dead };
        let outcome = self.resolved(record, &planned, Verdict::Rejected, said);
        let line = Some(context.event(record));
        let error = Some(Evidence::code(CANCELLED));
        self.write_verdict(context, record, VerdictUnit { planned, line, outcome, error }).await
    }

    /// Proves that nothing of a transfer may land. The record was read before, and its version guards the
    /// write, so no attempt is missing here.
    pub(super) async fn never_sent(&self, record: &Record) -> Result<NeverSent, Stop> {
        // a journal that was restored may lack attempts: that is a HALT until persons looked
        if self.shared.halted().is_some() {
            return Err(Objection::Code(Code::Halted).into());
        }
        let mut guards = vec![Guard::NotHalted];
        for chain in chains(record) {
            guards.push(self.chain_is_level(chain).await?);
        }
        let attempts = self.shared.parts.journal.attempts_of(vec![record.id]).await?;
        let history = self.shared.parts.journal.history(record.id).await?;
        let dead = proven_dead(self.shared.plan.table(record.flow), &attempts, &history);
        let dead = dead.map_err(Objection::NotPossible)?;
        Ok(NeverSent { dead, guards })
    }

    /// Checks that no key of ours has done anything on the chain that the journal does not have, and that
    /// nothing stopped the chain: otherwise a transaction may pay the transfer of which no attempt says so.
    /// Returns the guard that no reason came since.
    async fn chain_is_level(&self, chain: ChainId) -> Result<Guard, Stop> {
        let name = stops_name(chain);
        // the count before the reasons: one that comes in between loses the unit
        let counted = self.shared.parts.journal.resource(name.clone()).await?;
        let version = counted.map_or(0, |row| row.version);
        let status = self.shared.parts.journal.service_status().await?;
        let of = |scope: Scope| scope == Scope::Chain(chain);
        let stop = status.paused.iter().find(|paused| is_engine_stop(paused) && of(paused.scope));
        let not = |why: String| Stop::from(Objection::NotPossible(why));
        if let Some(stop) = stop {
            let why = format!(
                "{} stands, and what the service saw there may have paid it: {}",
                chain.name(),
                stop.reason
            );
            return Err(not(why));
        }
        let pool = self.chains.pool(chain);
        let pool =
            pool.ok_or_else(|| not(format!("this process has no {} to ask", chain.name())))?;
        if self.chains.lane_names(pool).is_empty() {
            return Err(not(format!(
                "this process has no key of {}: ask one that has",
                chain.name()
            )));
        }
        match self.chains.lanes_ahead(pool).await {
            Ok(ahead) if ahead.is_empty() => Ok(Guard::Resource { name, version }),
            Ok(_) => {
                pool.lane_check.close();
                Err(not(format!(
                    "a key of {} did what no attempt tells of (LANE_AHEAD), and may have paid it",
                    chain.name()
                )))
            }
            Err(cause) => Err(not(format!(
                "whether a key of {} was used elsewhere is not known now: {cause}; ask again",
                chain.name()
            ))),
        }
    }
}

/// The chains that a transfer touches.
fn chains(record: &Record) -> BTreeSet<ChainId> {
    let parties = [record.source(), record.target()];
    let chain = |system: System| match system {
        System::Chain(chain) => Some(chain),
        System::Ledger(_) => None,
    };
    parties.into_iter().filter_map(|party| chain(party.system)).collect()
}

/// How many attempts were made to move a transfer's money. Each must be closed, and the history must have
/// the proof that it is dead.
///
/// # Errors
/// Which attempt may have an effect.
fn proven_dead(table: &Table, attempts: &[Attempt], history: &[Linked]) -> Result<usize, String> {
    let open = attempts.iter().find(|attempt| attempt.closed.is_none());
    if let Some(open) = open {
        return Err(format!("attempt {} is open: it may still land", Id(open.id.0)));
    }
    let leg = |attempt: &&Attempt| {
        let act = table.makes(attempt.state)?;
        table.act(act).leg.filter(|leg| *leg != Leg::Cost)
    };
    let moving: Vec<&Attempt> = attempts.iter().filter(|attempt| leg(attempt).is_some()).collect();
    let died = |linked: &&Linked| {
        let from = linked.entry.from.and_then(|from| table.coded(from));
        let died = from.filter(|from| moving.iter().any(|attempt| attempt.state == *from));
        let (Some(from), Some(to)) = (died, table.coded(linked.entry.to)) else { return false };
        matches!(table.step(from), Step::Send { dead, .. } if dead == to && to != from)
    };
    let dead = history.iter().filter(died).count();
    match moving.last() {
        Some(last) if dead != moving.len() => Err(format!(
            "of {} attempts the history has {dead} as dead: one up to {} may have paid it",
            moving.len(),
            Id(last.id.0)
        )),
        _ => Ok(dead),
    }
}
