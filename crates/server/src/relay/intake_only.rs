//! The chain port of NEAR for a process without keys: it accepts transfers and sends none.

use kernel::answer::{Answer, Cause};
use kernel::attempt::{Attempt, Lock};
use kernel::ids::ChainId;
use kernel::ports::Fut;
use kernel::ports::chain::{
    AttemptProof, Chain, ChainIdentity, FeeBalance, ForeignUse, GoneLane, LaneMark, LanePresence,
    LaneSpent, LanesOnChain, NewLane, ReturnedLane, SignRequest, Signed, Unsigned,
};
use kernel::ports::facts::{FactSource, Gathered};
use kernel::record::{Facts, Record};
use std::future::ready;
use std::sync::Arc;

/// NEAR for a process without keys: it has no lane, so nothing is claimed or signed, and it learns nothing,
/// so that no rule decides anything here.
#[derive(Debug)]
pub(super) struct IntakeOnly;

/// The cause of every refused call: a process without keys.
const NO_KEYS: Cause = Cause::of("NO_KEYS");

impl Chain for IntakeOnly {
    fn id(&self) -> ChainId {
        ChainId::NEAR
    }

    /// It asks no provider: it does nothing with any chain.
    fn identity(&self) -> Fut<'_, Result<Option<ChainIdentity>, Cause>> {
        Box::pin(ready(Ok(None)))
    }

    fn bind(&self, _: &ChainIdentity) {}

    fn cap(&self, _: &str) -> usize {
        1
    }

    fn lanes(&self, _: &str) -> Vec<Arc<str>> {
        Vec::new()
    }

    fn next_lock<'a>(
        &'a self,
        _: &'a str,
        _: Option<&'a Lock>,
        _: &'a [Record],
    ) -> Fut<'a, Result<Lock, Cause>> {
        Box::pin(ready(Err(NO_KEYS)))
    }

    fn ahead<'a>(&'a self, _: &'a [LaneMark]) -> Fut<'a, Result<Vec<LaneSpent>, Cause>> {
        Box::pin(ready(Err(NO_KEYS)))
    }

    fn new_lanes<'a>(
        &'a self,
        _: &'a [Arc<str>],
        _: Option<u64>,
    ) -> Fut<'a, Result<Option<Vec<NewLane>>, Cause>> {
        Box::pin(ready(Err(NO_KEYS)))
    }

    fn raise_floor(&self, _: u64) {}

    fn foreign<'a>(&'a self, _: &'a LaneMark) -> Fut<'a, Result<Vec<ForeignUse>, Cause>> {
        Box::pin(ready(Err(NO_KEYS)))
    }

    fn lanes_on_chain(&self) -> Fut<'_, Result<Option<LanesOnChain>, Cause>> {
        Box::pin(ready(Err(NO_KEYS)))
    }

    fn lane_presence<'a>(
        &'a self,
        _: &'a str,
        _: Option<u64>,
    ) -> Fut<'a, Result<LanePresence, Cause>> {
        Box::pin(ready(Err(NO_KEYS)))
    }

    fn returned<'a>(&'a self, _: &'a [GoneLane]) -> Fut<'a, Result<Vec<ReturnedLane>, Cause>> {
        Box::pin(ready(Err(NO_KEYS)))
    }

    fn fee_balance(&self) -> Fut<'_, Result<Option<FeeBalance>, Cause>> {
        Box::pin(ready(Err(NO_KEYS)))
    }

    fn sign<'a>(&'a self, _: &'a SignRequest) -> Fut<'a, Result<Signed, Unsigned>> {
        Box::pin(ready(Err(NO_KEYS.into())))
    }

    fn broadcast<'a>(&'a self, attempts: &'a [Attempt]) -> Fut<'a, Vec<Result<(), Cause>>> {
        Box::pin(ready(attempts.iter().map(|_| Err(NO_KEYS)).collect()))
    }

    fn prove<'a>(&'a self, attempts: &'a [Attempt]) -> Fut<'a, Vec<AttemptProof>> {
        Box::pin(ready(attempts.iter().map(|_| AttemptProof::NotYet(NO_KEYS)).collect()))
    }
}

impl FactSource for IntakeOnly {
    fn facts<'a>(&'a self, _: &'a str, records: &'a [Record]) -> Fut<'a, Vec<Gathered>> {
        Box::pin(ready(records.iter().map(|_| Gathered::Facts(Facts::new())).collect()))
    }

    fn ask<'a>(&'a self, _: &'a str, records: &'a [Record]) -> Fut<'a, Vec<Answer>> {
        Box::pin(ready(records.iter().map(|_| Answer::Unknown(NO_KEYS)).collect()))
    }
}
