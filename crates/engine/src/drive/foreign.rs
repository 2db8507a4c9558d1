//! Stores a transaction that one of our keys signed and that no attempt has, as an attempt. The chain port
//! reads the transaction in blocks that several providers show alike; this module decides against the
//! journal what it means.
//!
//! A memo proves nothing, and each payment is judged by itself. Where the memo names a transfer that waits
//! for exactly this payment, the transaction becomes an open attempt with that transfer as a member: the
//! prover proves it like any other, and no other attempt pays the transfer meanwhile. A transaction that
//! names no transfer becomes an attempt that is already closed. Where it names a transfer in any other way,
//! the unit that stores it stops the chain until two persons resume it.

use crate::chains::ChainPool;
use crate::chains::carried::Carried;
use crate::chains::gather::ClaimOutcome;
use crate::chains::orphans::orphan_row;
use crate::commit::outcome::WriteOutcome;
use crate::drive::lane_watch::LaneWatch;
use crate::drive::lane_watch::compare::AheadLane;
use crate::plan::claim::Claim;
use crate::plan::lane_state::{LaneState, resource_name};
use crate::plan::planner::Plan;
use crate::state::select::caught;
use kernel::answer::Cause;
use kernel::attempt::{Attempt, AttemptId};
use kernel::flow::life::Leg;
use kernel::flow::table::S;
use kernel::ids::{ChainId, FlowId, Id};
use kernel::ports::chain::{ForeignPayment, ForeignUse};
use kernel::record::{Account, Record, System};
use kernel::unit::{Guard, Put, Unit};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Why a lane stays unexplained that the journal had no row of.
const NO_BLOCKS: &str = "the journal has no row of it, and no provider keeps the blocks in which it was used: name \
                         one that does";

/// More attempts of one lane are never dead in a row.
const DEAD: usize = 64;

/// The result of a look at one lane's foreign transactions.
pub(crate) enum LaneProgress {
    /// Some are attempts now.
    Some,
    /// None is an attempt, for this reason.
    Nothing(String),
}

/// The most transfers of one transaction that a case describes; the others are counted.
const LISTED: usize = 100;

/// What one payment, or one name, of a foreign transaction means for the transfer that it names.
#[derive(Debug)]
enum Judgement {
    /// The transfer waits for exactly this payment, and goes to this sending state.
    Member(Box<Record>, S),
    /// It does not; why.
    Objection(String),
    /// The transfer has not yet come to the state in which it waits.
    Later(String),
    /// The transfer waits for another act on the chain first, or is in its attempt. The payment closes the transfer once
    /// it reaches the state in which it is paid.
    Beside(String),
}

/// What a foreign transaction means for our transfers. Empty: it names none of them, or had no effect.
#[derive(Debug, Default)]
struct Meaning {
    /// The transfers that it pays, each exactly what the transfer waits for, in the sequence of the payments.
    members: Vec<Record>,
    /// The sending state that they go to.
    to: Option<S>,
    /// What is not trusted of it.
    objections: Vec<String>,
    /// Payments whose transfer the journal does not have. Each is objected to as well.
    orphans: Vec<ForeignPayment>,
    /// A transfer that has not yet come to the state in which it waits.
    later: Option<String>,
}

/// A transaction that pays nothing for which a transfer waits.
struct OverUse {
    one: ForeignUse,
    /// Why it is not trusted, where it names a transfer.
    objection: Option<String>,
    orphans: Vec<ForeignPayment>,
}

/// The flow and the state under which an attempt without members is stored.
#[derive(Clone, Copy)]
struct FiledUnder {
    flow: FlowId,
    state: S,
}

/// The payments of a transaction, and the transfers that it names as they stand now.
struct NamedTransfers<'a> {
    pays: &'a [ForeignPayment],
    found: Vec<Record>,
}

impl LaneWatch {
    /// Reads what spent a lane's locks, and stores as much of it as the engine understands.
    ///
    /// # Errors
    /// Why nothing of it is known now.
    pub(crate) async fn explain(
        &self,
        pool: &Arc<ChainPool>,
        lane: &AheadLane,
    ) -> Result<LaneProgress, Cause> {
        let Some(mark) = &lane.mark else { return Ok(LaneProgress::Nothing(NO_BLOCKS.to_owned())) };
        if lane.state.open.is_some() {
            let lock = &mark.lock;
            return Ok(LaneProgress::Nothing(format!(
                "its open attempt has {lock}, and is proven first"
            )));
        }
        let uses = caught(async { pool.port.foreign(mark).await }).await;
        let mut uses = uses.unwrap_or_else(|| Err(Cause::of("PANIC")))?;
        self.name_beside(pool.id(), &lane.name, &mut uses).await?;
        let mut over = Vec::new();
        for one in uses {
            let meaning = self.meaning(pool.id(), &one).await;
            if meaning.members.is_empty() && meaning.later.is_none() {
                let objection = meaning.objection(&one);
                over.push(OverUse { one, objection, orphans: meaning.orphans });
            } else if !over.is_empty() {
                break;
            } else if let Some(why) = meaning.later {
                return Ok(LaneProgress::Nothing(why));
            } else {
                return self.store_payment(pool, lane, &one, meaning).await;
            }
        }
        if over.is_empty() {
            return Ok(LaneProgress::Nothing("no transaction is shown that spent it".to_owned()));
        }
        self.store_over(pool, lane, over).await
    }

    /// Gives the transactions whose lock an attempt of ours had a name beside it: that attempt is dead, and
    /// a journal has one attempt of a lock.
    async fn name_beside(
        &self,
        chain: ChainId,
        lane: &Arc<str>,
        uses: &mut [ForeignUse],
    ) -> Result<(), Cause> {
        let last = self.shared.parts.journal.attempts_of_lane(chain, lane.clone(), DEAD).await?;
        let taken: BTreeSet<&str> = last.iter().map(|attempt| attempt.lock.on_chain()).collect();
        for one in uses.iter_mut().filter(|one| taken.contains(one.lock.on_chain())) {
            one.lock = one.lock.beside("elsewhere");
        }
        Ok(())
    }

    /// What a foreign transaction is to our transfers, as they stand now.
    async fn meaning(&self, chain: ChainId, one: &ForeignUse) -> Meaning {
        if one.names.is_empty() {
            return Meaning::default();
        }
        let pays = one.pays.as_deref().unwrap_or_default();
        let ids: BTreeSet<Id> = pays.iter().map(|pay| pay.id).chain(one.names.clone()).collect();
        let found = self.shared.read(ids.into_iter().collect()).await;
        self.shared.plan.meaning(chain, one, NamedTransfers { pays, found })
    }

    /// Stores a transaction that pays what transfers wait for, as an open attempt, which the prover closes.
    /// Where a part of it is not trusted, the same unit stops the chain until a person resumes it.
    async fn store_payment(
        &self,
        pool: &Arc<ChainPool>,
        lane: &AheadLane,
        one: &ForeignUse,
        meaning: Meaning,
    ) -> Result<LaneProgress, Cause> {
        let objections: Vec<String> = meaning.objection(one).into_iter().collect();
        let Meaning { members, to: Some(to), orphans, .. } = meaning else {
            return Ok(LaneProgress::Nothing("it has no members".to_owned()));
        };
        let Some(flow) = members.first().map(|member| member.flow) else {
            return Ok(LaneProgress::Nothing("it has no members".to_owned()));
        };
        let claim = Claim {
            id: AttemptId(self.shared.mint().0),
            flow,
            chain: pool.id(),
            lane: &lane.name,
            state: Some(&lane.state),
            lock: one.lock.clone(),
            form: one.form.clone(),
            to,
            level: None,
        };
        let (attempt, mut unit) = self.shared.plan.claimed(&members, claim);
        let (id, facts) = (Id(attempt.id.0), &one.facts);
        tracing::error!(attempt = %id, %facts, "a transfer was paid by a transaction of another program");
        unit.then.puts.extend(orphan_row(pool.id(), attempt.id, one, &orphans));
        let case = self.payments.stop_in(pool.id(), &mut unit, &objections).await?;
        let attempt = match self.chains.write_claim(&attempt, unit).await {
            ClaimOutcome::Stored(_) => attempt,
            ClaimOutcome::Found(attempt) => attempt,
            ClaimOutcome::Lost(guard) => {
                self.payments.stop_ends(case, false).await?;
                return Ok(LaneProgress::Nothing(format!("it is not stored: {guard:?}")));
            }
            ClaimOutcome::Contradicted(cause) => {
                self.payments.stop_ends(case, false).await?;
                return Ok(LaneProgress::Nothing(format!("it is not stored: {cause}")));
            }
        };
        pool.lane_is(&lane.name, lane.state.next(&attempt));
        pool.carried.begin(Carried::found(attempt), 0);
        self.payments.stop_ends(case, true).await?;
        Ok(LaneProgress::Some)
    }

    /// Stores transactions that pay nothing for which a transfer waits, as closed attempts. Where one of
    /// them is not trusted, the same unit stops the chain until a person resumes it.
    async fn store_over(
        &self,
        pool: &Arc<ChainPool>,
        lane: &AheadLane,
        over: Vec<OverUse>,
    ) -> Result<LaneProgress, Cause> {
        let Some(filed) = self.any_sending() else { return Err(Cause::of("NO_FLOW")) };
        let chain = pool.id();
        let objections: Vec<String> =
            over.iter().filter_map(|over| over.objection.clone()).collect();
        let new = |over: &OverUse| self.attempt_over(chain, lane, &over.one, filed);
        let attempts: Vec<Attempt> = over.iter().map(new).collect();
        let orphans: Vec<Put> = (over.iter().zip(&attempts))
            .filter_map(|(over, of)| orphan_row(chain, of.id, &over.one, &over.orphans))
            .collect();
        let unit = over_unit(chain, lane, attempts);
        let Some((mut unit, after)) = unit else { return Err(Cause::of("NO_USES")) };
        for OverUse { one, .. } in &over {
            tracing::warn!(lane = %lane.name, lock = %one.lock, facts = %one.facts, "a foreign transaction");
        }
        unit.then.puts.extend(orphans);
        let case = self.payments.stop_in(chain, &mut unit, &objections).await?;
        let outcome = self.shared.writer.write(unit).await;
        self.payments.stop_ends(case, matches!(outcome, WriteOutcome::Done(_))).await?;
        match outcome {
            WriteOutcome::Done(_) => {
                pool.lane_is(&lane.name, after);
                Ok(LaneProgress::Some)
            }
            WriteOutcome::Lost(guard) => {
                Ok(LaneProgress::Nothing(format!("it is not stored: {guard:?}")))
            }
            WriteOutcome::NotWritten(why) => Err(why.cause),
        }
    }

    fn attempt_over(
        &self,
        chain: ChainId,
        lane: &AheadLane,
        one: &ForeignUse,
        FiledUnder { flow, state }: FiledUnder,
    ) -> Attempt {
        Attempt {
            id: AttemptId(self.shared.mint().0),
            chain,
            flow,
            state,
            version: Attempt::FIRST,
            lane: lane.name.clone(),
            lock: one.lock.clone(),
            members: Arc::new([]),
            forms: vec![one.form.clone()],
            sent: true,
            due_at: None,
            closed: Some(self.shared.parts.journal.now()),
        }
    }

    /// A flow that sends, and a state in which it does.
    fn any_sending(&self) -> Option<FiledUnder> {
        self.shared.parts.offered.iter().find_map(|flow| {
            let table = self.shared.plan.table(*flow);
            let state = table.all().find(|state| table.sends(*state))?;
            Some(FiledUnder { flow: *flow, state })
        })
    }
}

impl Meaning {
    fn take(&mut self, flow_of: &mut Option<FlowId>, judgement: Judgement) {
        match judgement {
            Judgement::Objection(why) | Judgement::Beside(why) => self.objections.push(why),
            Judgement::Later(why) => self.later = Some(why),
            Judgement::Member(record, to) => {
                let one_way = (*flow_of.get_or_insert(record.flow), *self.to.get_or_insert(to));
                if one_way == (record.flow, to) {
                    self.members.push(*record);
                } else {
                    let id = record.id;
                    self.objections
                        .push(format!("{id} is of another flow than the first that is paid"));
                }
            }
        }
    }

    /// What the transaction is, why it is not trusted, and which transfers it closes all the same, as text.
    fn objection(&self, one: &ForeignUse) -> Option<String> {
        if self.objections.is_empty() {
            return None;
        }
        let closes = |member: &Record| format!("{} waits for this, and is closed by it", member.id);
        let all = self.objections.iter().cloned().chain(self.members.iter().map(closes));
        let mut lines: Vec<String> = all.take(LISTED).collect();
        let count = self.objections.len().saturating_add(self.members.len());
        let more = count.saturating_sub(lines.len());
        if more > 0 {
            lines.push(format!("and {more} more"));
        }
        Some(format!("{}: {}", one.facts, lines.join(", ")))
    }
}

/// The unit that stores closed attempts, and the state in which it leaves their lane.
fn over_unit(
    chain: ChainId,
    lane: &AheadLane,
    attempts: Vec<Attempt>,
) -> Option<(Unit, LaneState)> {
    let after = lane.state.next(attempts.last()?);
    let name = resource_name(chain, &lane.name);
    let guard = Guard::Resource { name: name.clone(), version: lane.state.version };
    let mut puts: Vec<Put> = attempts.into_iter().map(Put::Attempt).collect();
    puts.push(Put::Resource { name, value: after.value() });
    Some((Unit::guarded(vec![guard], puts), after))
}

impl Plan {
    /// What a foreign transaction means for the transfers that it names, payment by payment. Pure.
    fn meaning(
        &self,
        chain: ChainId,
        one: &ForeignUse,
        NamedTransfers { pays, found }: NamedTransfers<'_>,
    ) -> Meaning {
        let found: BTreeMap<Id, Record> =
            found.into_iter().map(|record| (record.id, record)).collect();
        let (mut meaning, mut flow, mut paid) = (Meaning::default(), None, BTreeSet::new());
        for pay in pays {
            let judgement = if paid.contains(&pay.id) {
                Judgement::Objection(format!("{} is paid once more by it", pay.id))
            } else {
                self.judgement(chain, &one.payer, pay, found.get(&pay.id))
            };
            if !found.contains_key(&pay.id) || matches!(judgement, Judgement::Beside(_)) {
                meaning.orphans.push(pay.clone());
            }
            match &judgement {
                Judgement::Member(..) | Judgement::Later(_) | Judgement::Beside(_) => {
                    paid.insert(pay.id)
                }
                Judgement::Objection(_) => false,
            };
            meaning.take(&mut flow, judgement);
        }
        let paid: BTreeSet<Id> = pays.iter().map(|pay| pay.id).collect();
        for id in one.names.iter().filter(|id| !paid.contains(id)) {
            let known =
                found.get(id).map(|record| self.table(record.flow).state(record.head.state).name);
            let known = known.unwrap_or("not known");
            meaning
                .objections
                .push(format!("{id} is {known}, and is named without a payment to it"));
        }
        meaning
    }

    /// What one payment means for the transfer that its memo names.
    fn judgement(
        &self,
        chain: ChainId,
        payer: &Account,
        ForeignPayment { id, payment }: &ForeignPayment,
        found: Option<&Record>,
    ) -> Judgement {
        let Some(record) = found else {
            return Judgement::Objection(format!(
                "no transfer {id} is known; one that its client opens again with its key is not paid again"
            ));
        };
        let table = self.table(record.flow);
        let stands = table.state(record.head.state).name;
        let does_not_wait = || Judgement::Objection(format!("{id} is {stands}, and does not wait"));
        if table.ends(record.head.state) {
            return does_not_wait();
        }
        if record.source().account != *payer {
            return Judgement::Objection(format!("{id} is paid from another account"));
        }
        // nothing is signed for it while this is unexplained, and another of its receiver may wait for it
        if self.is_prepared(record) {
            return Judgement::Beside(format!(
                "{id} is {stands}, and this payment closes it in the state in which it is paid"
            ));
        }
        if self.in_attempt(record) {
            return does_not_wait();
        }
        let claim = self.claims_send(record).map(|(act, to)| (act, to, table.act(act).leg));
        let (act, sending) = match claim {
            Some((act, sending, Some(Leg::Move))) => (act, sending),
            Some(_) | None => {
                return Judgement::Later(format!("{id} is {stands}, and not yet where it is paid"));
            }
        };
        if self.station_system(record) != Some(System::Chain(chain)) {
            return Judgement::Objection(format!("{id} is paid on another chain"));
        }
        match self.underpaid(act, record, payment) {
            Some(why) => Judgement::Objection(why),
            None => Judgement::Member(Box::new(record.clone()), sending),
        }
    }
}
