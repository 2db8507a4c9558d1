//! Transfers whose owner died while they waited for an attempt. Thousands may wait in one ring, of which the
//! owner had a hundred in hand at most, and an attempt of each alone would cost a transaction and a lane for
//! seconds. They are tried in company once, and the journal knows it before: those that an owner dies of
//! again, or dies beside, go alone from then on, as orphans do elsewhere.

use crate::attempts::Chains;
use kernel::record::Record;

impl Chains {
    /// True for an orphan that waits for an attempt and was not tried by an owner that died: it is a suspect
    /// from now on.
    pub(crate) fn waits_in_company(&self, record: &Record) -> bool {
        let waits = self.shared.plan.claims_send(record).is_some();
        let fresh = waits && record.head.deaths == 0 && !record.head.alone;
        if fresh {
            self.suspects().insert(record.id);
        }
        fresh
    }
}
