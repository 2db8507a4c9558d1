//! Wrong builds of what is held of keys that other programs use too: each pays twice what those paid, or strands what
//! waits.

use crate::service::Wrap;
use kernel::answer::Cause;
use kernel::attempt::Attempt;
use kernel::ports::Fut;
use kernel::ports::chain::{
    AttemptProof, Chain, ForeignUse, LOCK_SPENT, LaneMark, LaneSpent, NewLane,
};
use kernel::ports::journal::Journal;
use kernel::unit::{Guard, Put, Unit, Wrote};
use std::collections::BTreeSet;
use std::sync::Arc;
use testkit::wrapper::{ChainWrapper, JournalWrapper, Wrapper};

/// The acts of the relay, whose keys a process has.
const ACTS: [&str; 2] = ["ft_transfer", "storage_deposit"];

/// What such a build does otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LaneLie {
    /// A process looks at its own keys alone, and lifts the stop of every other.
    OwnLanes,
    /// A key without a row begins at the nonce that the chain has now.
    ChainsNonce,
    /// No height that the journal has stored binds a process.
    NoFloor,
    /// One payment of a transaction that is not understood has it thrown away whole.
    AllOrNone,
    /// What another program spent is asked after for ever.
    SpentForEver,
}

/// A lie of that name around a chain port.
pub(super) fn wrap(name: &str) -> Option<Wrap<dyn Chain>> {
    let lie = match name {
        "stop-ended-without-its-rows" => LaneLie::OwnLanes,
        "new-key-at-the-chains-nonce" => LaneLie::ChainsNonce,
        "no-floor" => LaneLie::NoFloor,
        "foreign-thrown-away" => LaneLie::AllOrNone,
        "lock-spent-for-ever" => LaneLie::SpentForEver,
        _ => return None,
    };
    Some(Arc::new(move |inner| Arc::new(Wrapper(LyingLanes(inner, lie)))))
}

/// A lie of that name around the journal.
pub(super) fn journal_wrap(name: &str) -> Option<Wrap<dyn Journal>> {
    let wrap = |inner| -> Arc<dyn Journal> { Arc::new(Wrapper(ClaimsPastStops(inner))) };
    (name == "claims-past-a-stop").then(|| -> Wrap<dyn Journal> { Arc::new(wrap) })
}

struct LyingLanes(Arc<dyn Chain>, LaneLie);

impl ChainWrapper for LyingLanes {
    fn inner(&self) -> &dyn Chain {
        &*self.0
    }
    fn ahead<'a>(&'a self, marks: &'a [LaneMark]) -> Fut<'a, Result<Vec<LaneSpent>, Cause>> {
        Box::pin(async move {
            let mut ahead = self.0.ahead(marks).await?;
            if self.1 == LaneLie::OwnLanes {
                let own: BTreeSet<_> = ACTS.iter().flat_map(|act| self.0.lanes(act)).collect();
                ahead.retain(|spent| own.contains(&spent.lane));
            }
            Ok(ahead)
        })
    }
    fn new_lanes<'a>(
        &'a self,
        lanes: &'a [Arc<str>],
        since: Option<u64>,
    ) -> Fut<'a, Result<Option<Vec<NewLane>>, Cause>> {
        self.0.new_lanes(lanes, since.filter(|_| self.1 != LaneLie::ChainsNonce))
    }
    fn raise_floor(&self, height: u64) {
        if self.1 != LaneLie::NoFloor {
            self.0.raise_floor(height);
        }
    }
    fn foreign<'a>(&'a self, mark: &'a LaneMark) -> Fut<'a, Result<Vec<ForeignUse>, Cause>> {
        Box::pin(async move {
            let mut uses = self.0.foreign(mark).await?;
            for one in uses.iter_mut().filter(|_| self.1 == LaneLie::AllOrNone) {
                one.pays.take_if(|pays| pays.len() > 1);
            }
            Ok(uses)
        })
    }
    fn prove<'a>(&'a self, attempts: &'a [Attempt]) -> Fut<'a, Vec<AttemptProof>> {
        Box::pin(async move {
            let proofs = self.0.prove(attempts).await.into_iter();
            let lie = |proof| match proof {
                AttemptProof::SpentElsewhere(_) if self.1 == LaneLie::SpentForEver => {
                    AttemptProof::NotYet(Cause::of(LOCK_SPENT))
                }
                proof @ (AttemptProof::Closed(_)
                | AttemptProof::NotYet(_)
                | AttemptProof::Form(_)
                | AttemptProof::SpentElsewhere(_)) => proof,
            };
            proofs.map(lie).collect()
        })
    }
}

/// A claim is not guarded by the count of stops.
struct ClaimsPastStops(Arc<dyn Journal>);

impl JournalWrapper for ClaimsPastStops {
    fn inner(&self) -> &dyn Journal {
        &*self.0
    }
    fn write(&self, mut units: Vec<Unit>) -> Fut<'_, Vec<Wrote>> {
        let claims = |unit: &Unit| unit.then.puts.iter().any(|put| matches!(put, Put::Attempt(_)));
        let counts = |guard: &Guard| matches!(guard, Guard::Resource { name, .. } if name.starts_with("stops:"));
        for unit in units.iter_mut().filter(|unit| claims(unit)) {
            unit.guards.retain(|guard| !counts(guard));
        }
        self.0.write(units)
    }
}
