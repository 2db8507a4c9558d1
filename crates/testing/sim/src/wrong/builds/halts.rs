//! Wrong builds that lift a HALT wrongly.

use super::{Lie, held};
use kernel::answer::Cause;
use kernel::ids::Id;
use kernel::operators::{Approval, ApprovalStatus};
use kernel::ports::Fut;
use kernel::ports::journal::Journal;
use kernel::unit::{Guard, Put, Unit, Wrote};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use testkit::wrapper::{JournalWrapper, Wrapper};

/// A proposal of a resume is of no halt: an old one is approved for the one that stands.
pub(super) fn resume_of_another_halt() -> Lie {
    Lie::journal(|_, inner| Arc::new(Wrapper(OfAnyHalt { inner, old: Mutex::default() })))
}

struct OfAnyHalt {
    inner: Arc<dyn Journal>,
    /// The proposals that a halt or a resume had superseded.
    old: Mutex<BTreeSet<Id>>,
}

impl JournalWrapper for OfAnyHalt {
    fn inner(&self) -> &dyn Journal {
        &*self.inner
    }
    fn approval(&self, id: Id) -> Fut<'_, Result<Option<Approval>, Cause>> {
        Box::pin(async move {
            let (mut found, status) =
                (self.inner.approval(id).await?, self.inner.service_status().await?);
            for old in found.iter_mut().filter(|a| a.stand == ApprovalStatus::Superseded) {
                let rest = old.value.split("\"halt\":").next().unwrap_or_default();
                old.value = format!("{rest}\"halt\":{}}}", status.halts).into();
                (old.stand, old.decided) = (ApprovalStatus::Pending, None);
                held(&self.old).insert(id);
            }
            Ok(found)
        })
    }
    fn write(&self, mut units: Vec<Unit>) -> Fut<'_, Vec<Wrote>> {
        let old = |id: &Id| held(&self.old).contains(id);
        for unit in &mut units {
            unit.guards.retain(|guard| !matches!(guard, Guard::Pending(id) if old(id)));
            let decides = |put: &Put| matches!(put, Put::Decide { id, .. } if old(id));
            unit.then.puts.retain(|put| !decides(put));
        }
        self.inner.write(units)
    }
}

/// Which halt a resume is of is compared in the process before its unit, and not in it.
pub(super) fn halt_compared_in_ram() -> Lie {
    Lie::journal(|_, inner| Arc::new(Wrapper(ComparedBefore(inner))))
}

struct ComparedBefore(Arc<dyn Journal>);

impl JournalWrapper for ComparedBefore {
    fn inner(&self) -> &dyn Journal {
        &*self.0
    }
    fn write(&self, units: Vec<Unit>) -> Fut<'_, Vec<Wrote>> {
        Box::pin(async move {
            let mut wrote = self.0.write(units.clone()).await;
            for (mut unit, wrote) in units.into_iter().zip(&mut wrote) {
                let lifts = unit.then.puts.iter().any(|put| matches!(put, Put::Resume { .. }));
                if lifts && matches!(wrote, Wrote::Lost(Guard::Halt(_) | Guard::Pending(_))) {
                    unit.guards.clear();
                    unit.then.puts.retain(|put| !matches!(put, Put::Decide { .. }));
                    let again = self.0.write(vec![unit]).await;
                    again.into_iter().for_each(|again| *wrote = again);
                }
            }
            wrote
        })
    }
}
