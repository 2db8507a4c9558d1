//! Says on which chain a record's claim is gathered, and which chain carries its attempt. Pure.

use crate::plan::planner::Plan;
use kernel::flow::life::{Leg, Step};
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

    /// True where a record of a flow that pays from our own account is decided about, claimed or carried for an act that
    /// comes before its payment and moves none of its money, as a registration of the relay.
    pub(crate) fn is_prepared(&self, record: &Record) -> bool {
        let table = self.table(record.flow);
        let has = |state: S, leg: Leg| {
            table.makes(state).is_some_and(|act| table.act(act).leg == Some(leg))
        };
        let claims = |state| matches!(table.step(state), Step::Claim { to } if has(to, Leg::Cost));
        let prepares = match table.step(record.head.state) {
            Step::Decide { yes, .. } => claims(yes),
            Step::Claim { .. } => claims(record.head.state),
            Step::Send { .. } => has(record.head.state, Leg::Cost),
            Step::Call { .. } | Step::Push { .. } | Step::End => false,
        };
        prepares && table.all().any(|state| has(state, Leg::Move))
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

#[cfg(test)]
mod tests {
    use super::Plan;
    use kernel::flow::table::S;
    use kernel::ids::{Id, LedgerId, UserId};
    use kernel::money::Amount;
    use kernel::record::{Head, Record, Terms};
    use std::sync::Arc;

    /// The states of a flow in which it is prepared.
    fn prepared(flow: &str) -> Vec<&'static str> {
        let plan = Plan { flows: Arc::new(flows::registry()), capabilities: Default::default() };
        let flow = plan.flows.named(flow).unwrap();
        let ledgers = [LedgerId::FUNDING, LedgerId::SPOT];
        let asset = kernel::ids::AssetId(3);
        let terms = Terms::between_ledgers("x".into(), UserId(1), ledgers, asset, Amount(1));
        let terms = Arc::new(terms);
        let table = plan.table(flow);
        let is = |state: &S| {
            plan.is_prepared(&Record::new(Id(1), flow, Head::start(*state), terms.clone()))
        };
        table.all().filter(is).map(|state| table.state(state).name).collect()
    }

    /// Turns red where a payment that was made for a transfer in one of these is forgotten: it would be paid again.
    #[test]
    fn a_transfer_is_prepared_from_the_decision_to_the_end_of_the_attempt() {
        let states = ["NEEDS_REGISTRATION", "QUEUED_REGISTRATION", "REGISTERING"];
        assert_eq!(prepared("relay"), states);
        for flow in ["internal", "account", "swap_in", "swap_out"] {
            assert_eq!(prepared(flow), [""; 0], "{flow}");
        }
    }
}
