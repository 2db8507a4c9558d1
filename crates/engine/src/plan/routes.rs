//! Says on which chain a record's claim is gathered, and which chain carries its attempt. Pure.

use crate::plan::planner::Plan;
use kernel::flow::life::Step;
use kernel::flow::table::{A, S};
use kernel::ids::ChainId;
use kernel::record::{Record, System};

impl Plan {
    /// The act that an attempt on a chain makes for a record that stands before its claim, and the sending
    /// state behind that claim.
    pub(crate) fn claims_send(&self, record: &Record) -> Option<(A, S)> {
        let table = self.table(record.flow);
        let Step::Claim { to } = table.step(record.head.state) else { return None };
        table.makes(to).filter(|_| table.sends(to)).map(|act| (act, to))
    }

    /// The system that a record's station calls: the ledger of its call, or the chain for which its claim
    /// is gathered.
    pub(crate) fn station_system(&self, record: &Record) -> Option<System> {
        match self.claims_send(record) {
            Some((act, _)) => Some(self.system_of(record, act)),
            None => self.calls(record).map(System::Ledger),
        }
    }

    /// True for a record that an attempt carries.
    pub(crate) fn in_attempt(&self, record: &Record) -> bool {
        self.table(record.flow).sends(record.head.state)
    }

    /// The chain of the attempt that carries a record.
    pub(crate) fn chain_of(&self, record: &Record) -> Option<ChainId> {
        let table = self.table(record.flow);
        let act = table.makes(record.head.state).filter(|_| table.sends(record.head.state))?;
        match self.system_of(record, act) {
            System::Chain(chain) => Some(chain),
            System::Ledger(_) => None,
        }
    }
}
