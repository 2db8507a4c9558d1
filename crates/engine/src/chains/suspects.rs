//! Tries transfers again whose worker died while they waited for an attempt. Thousands may wait in one
//! queue, of which the worker had a hundred in its hands at most; an attempt for each alone would cost a
//! transaction, and a lane for seconds. So they are tried once in company, and the journal knows that
//! before. A transfer beside which a worker dies again goes alone from then on, like other orphans.

use crate::chains::Chains;
use kernel::record::Record;

impl Chains {
    /// True for an orphan that waits for an attempt and that no dead worker had tried. From now on it is a
    /// suspect.
    pub(crate) fn waits_in_company(&self, record: &Record) -> bool {
        let waits = self.shared.plan.claims_send(record).is_some();
        let fresh = waits && record.head.deaths == 0 && !record.head.alone;
        if fresh {
            self.suspects().insert(record.id);
        }
        fresh
    }
}
