//! Sends again what moves a transfer on, where the scanner finds a transfer of a flow that events drive. It
//! executes nothing.

use crate::messaging::Messaging;
use kernel::record::Record;
use kernel::unit::Wrote;

impl Messaging {
    /// Sends again the message of each transfer whose time has come. Under HALT and during a pause nothing
    /// is sent, and the scanner looks at the transfer again later.
    pub(crate) async fn send_again(&self, records: Vec<Record>) {
        if records.is_empty() {
            return;
        }
        let unit = |record: &Record| {
            let due = self.resend_due(record);
            let sends = self.shared.controls.halted().is_none()
                && self.shared.controls.fuse_mode(record).is_none();
            let planned = if sends {
                self.shared.plan.sent_again(record, due)
            } else {
                self.shared.plan.looked_at_later(record, due)
            };
            planned.unit
        };
        let units = records.iter().map(unit).collect();
        for (record, wrote) in records.iter().zip(self.shared.parts.journal.write(units).await) {
            match wrote {
                Wrote::Written(_) => tracing::debug!(transfer = %record.id, "sent again"),
                // a message moved it meanwhile
                Wrote::Lost(_) => {}
                // the journal gives it to this worker once more
                Wrote::Full => tracing::warn!(transfer = %record.id, "no room to send it again"),
                Wrote::Unknown(cause) => {
                    tracing::warn!(transfer = %record.id, %cause, "it may not be sent again yet");
                }
            }
        }
        self.outbox_written();
    }
}
