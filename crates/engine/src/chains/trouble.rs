//! Writes into the history of a transfer that the providers of its chain hold it up: one line an episode, which begins
//! with the first try that has no answer because of them and ends when the transfer goes on.

use crate::chains::Chains;
use crate::plan::guards::noted_at;
use kernel::answer::Cause;
use kernel::record::{Record, System};
use kernel::unit::Event;

impl Chains {
    /// The line of this cause. `None`: the providers are not to blame, or the flow's history shows no such trouble.
    pub(crate) fn trouble_event(&self, record: &Record, cause: &Cause) -> Option<Event> {
        let what = self.shared.plan.table(record.flow).trouble?;
        let System::Chain(chain) = record.target().system else { return None };
        let port = &self.pool(chain)?.port;
        // the detail names providers: it is for operators, and a history is its caller's
        port.is_trouble(cause).then(|| noted_at(record, what, None, cause.class.into()))
    }
}
