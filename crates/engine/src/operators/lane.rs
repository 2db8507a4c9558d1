//! Retires lanes in the journal, and records that their key is gone from the chain.
//!
//! The unit that retires a lane compares and swaps the lane's row, as each claim does: of the two one is
//! lost, and an earlier claim is proven like any other. The owner of a key deletes it on the chain; nothing
//! here signs that.

use crate::chains::ChainPool;
use crate::operators::Operators;
use crate::operators::action_context::{ActionContext, Stop};
use crate::operators::pause::lost;
use crate::operators::{ActionResult, Objection};
use crate::plan::lane_state::{LaneRetirement, LaneState, resource_name};
use crate::state::select::caught;
use kernel::answer::Cause;
use kernel::code::Code;
use kernel::ids::{ChainId, Id, Millis};
use kernel::operators::LaneName;
use kernel::ports::chain::{LanePresence, WRONG_CHAIN};
use kernel::unit::{Guard, Put, Unit};
use std::sync::Arc;

/// How often a lane's row is read again that a claim or an end changed meanwhile.
const TRIES: usize = 20;

/// A write of a lane's row.
struct LaneChange<'a> {
    lane: &'a Arc<str>,
    /// The version of the row that was read.
    before: u32,
    /// The lane's state after the write.
    after: LaneState,
}

impl Operators {
    /// Retires a lane: no worker makes an attempt on it any more. The attempt that has it goes on to its
    /// end.
    pub(super) async fn retire_lane(
        &self,
        context: &ActionContext,
        of: &LaneName,
    ) -> Result<(ActionResult, Millis), Stop> {
        let pool = self.lane_pool(of.chain)?;
        for _ in 0..TRIES {
            let state = self.known_lane(&pool, &of.lane).await?;
            if state.retired.is_some() {
                return Err(Objection::NotPossible("the key is retired already".to_owned()).into());
            }
            let by = context.actor.caller.clone();
            let at = self.shared.parts.journal.now();
            let retirement = LaneRetirement { by, at, gone_at: None, returned_at: None };
            let retired = state.retired(retirement);
            let outcome = ActionResult::LaneRetired { attempt: state.open.map(|id| Id(id.0)) };
            let change = LaneChange { lane: &of.lane, before: state.version, after: retired };
            if let Some(at) = self.write_lane(context, &pool, change, &outcome).await? {
                return Ok((outcome, at));
            }
        }
        Err(Cause::of("MOVES").into())
    }

    /// Asks the chain for a retired lane, and stores that the chain no longer has it.
    pub(super) async fn prove_lane_gone(
        &self,
        context: &ActionContext,
        of: &LaneName,
    ) -> Result<(ActionResult, Millis), Stop> {
        let pool = self.lane_pool(of.chain)?;
        let state = self.known_lane(&pool, &of.lane).await?;
        let not = |why: String| Stop::from(Objection::NotPossible(why));
        let Some(retirement) = state.retired.clone() else {
            return Err(not("the key is in use: retire it first".to_owned()));
        };
        if let Some(height) = retirement.gone_at {
            return Err(not(format!(
                "block {height} showed already that the chain has it no more"
            )));
        }
        if let Some(open) = state.open {
            let open = Id(open.0);
            let why = format!("attempt {open} has the key, and may need it: it is proven first");
            return Err(not(why));
        }
        let last = self.shared.parts.journal.attempts_of_lane(of.chain, of.lane.clone(), 1).await?;
        let anchors = last.iter().flat_map(|last| &last.forms).filter_map(|form| form.anchor);
        // a block from before it was back says nothing
        let since = anchors.chain(retirement.returned_at).max();
        let found = caught(async { pool.port.lane_presence(&of.lane, since).await }).await;
        match found.unwrap_or_else(|| Err(Cause::of("PANIC"))) {
            Err(cause) if cause.class == WRONG_CHAIN => {
                Err(Objection::Code(Code::WrongChain).into())
            }
            Err(cause) => Err(not(format!("whether the chain has the key is not known: {cause}"))),
            Ok(LanePresence::There { height, shown_by, of }) => Err(not(format!(
                "the chain has the key at block {height}, as {shown_by} of {of} providers show"
            ))),
            Ok(LanePresence::Absent { height, providers }) => {
                let outcome = ActionResult::LaneGone { height, providers };
                let before = state.version;
                let Some(after) = state.gone(height) else { return Err(Cause::of("MOVES").into()) };
                let change = LaneChange { lane: &of.lane, before, after };
                // whatever changed it meanwhile is looked at first, by the next question
                let written = self.write_lane(context, &pool, change, &outcome).await?;
                written.map(|at| (outcome, at)).ok_or_else(|| Cause::of("MOVES").into())
            }
        }
    }

    /// Writes the lane's new state with the action; `None`: its row changed meanwhile.
    async fn write_lane(
        &self,
        context: &ActionContext,
        pool: &ChainPool,
        LaneChange { lane, before, after }: LaneChange<'_>,
        outcome: &ActionResult,
    ) -> Result<Option<Millis>, Stop> {
        let name = resource_name(pool.id(), lane);
        let guard = Guard::Resource { name: name.clone(), version: before };
        let puts = vec![Put::Resource { name, value: after.value() }, context.action(outcome)];
        match self.write_unit(Unit::guarded(vec![guard], puts)).await? {
            Ok(at) => {
                pool.lane_is(lane, after);
                Ok(Some(at))
            }
            Err(Guard::Resource { .. }) => Ok(None),
            Err(guard) => Err(lost(&guard)),
        }
    }

    fn lane_pool(&self, chain: ChainId) -> Result<Arc<ChainPool>, Stop> {
        self.chains.pool(chain).cloned().ok_or_else(|| Objection::NotFound("chain").into())
    }

    /// The state of a lane that was used, or that this process may use.
    async fn known_lane(&self, pool: &ChainPool, lane: &Arc<str>) -> Result<LaneState, Stop> {
        let state = self.chains.lane_state(pool.id(), lane).await?;
        if state.version == 0 && !self.chains.lane_names(pool).contains(lane) {
            return Err(Objection::NotFound("key").into());
        }
        Ok(state)
    }
}
