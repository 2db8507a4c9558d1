//! What goes wrong at the providers: before each call of the adapter it is drawn whether one of both lags, lies or is
//! silent, and whether what is sent comes late or is lost.

use super::local_chain::Setup;
use devnet::near::near_primitives::errors::{ActionError, ActionErrorKind, TxExecutionError};
use devnet::near::near_primitives::views::{FinalExecutionStatus, TxExecutionStatus};
use devnet::near::{Devnet, Endpoint, Fault, Lie, Rule};
use sim::chain::ChainRules;
use sim::world::SplitMix;

/// The most blocks that a sent transaction comes late.
const LATE: u64 = 60;

/// Up to that block of a case what is sent comes as late as its setup says, and then by [`THEN_LATE`] blocks.
const LATE_UNTIL: u64 = 22;
const THEN_LATE: u64 = 15;

fn endpoints(devnet: &Devnet) -> impl Iterator<Item = Endpoint<'_>> {
    (0..).map_while(|n| devnet.endpoint(n))
}

/// Whatever was drawn before is over, and what these rules draw for the next call begins.
pub(crate) fn draw(devnet: &Devnet, rules: &ChainRules, draws: &mut SplitMix) {
    for endpoint in endpoints(devnet) {
        endpoint.clear();
        endpoint.lag(0);
    }
    if draws.once_in(1, rules.loses) {
        let fault = match draws.next() % 2 {
            0 => Fault::Withhold,
            _ => Fault::Late { blocks: draws.next() % LATE },
        };
        endpoints(devnet).for_each(|endpoint| endpoint.add(Rule::always(fault.clone())));
    }
    if draws.once_in(1, rules.misleads) {
        let bad = usize::from(draws.once_in(1, 2));
        let lag = 1 + draws.next() % (rules.finality * 2);
        let mood = draws.next() % 7;
        let Some(bad) = devnet.endpoint(bad) else { return };
        match mood {
            0 | 1 => bad.lag(lag),
            2 => bad.add(Rule::always(Lie::Unknown)),
            3 => bad.add(Rule::always(Fault::DropReply)),
            4 => bad.add(Rule::always(Fault::Status { code: 503 })),
            5 => bad.add(outcome(FinalExecutionStatus::SuccessValue(Vec::new()))),
            _ => bad.add(outcome(failure())),
        }
    }
}

/// What becomes of what is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sends {
    /// The next block has it.
    Arrive,
    /// It waits for this number of blocks, and what is sent from [`LATE_UNTIL`] on for [`THEN_LATE`].
    Late { blocks: u64 },
    /// Up to that block of the case it is taken in, and does not reach the chain.
    Withheld { until: u64 },
}

/// What the providers do at this block of a case, as its setup says.
pub(crate) fn script(devnet: &Devnet, setup: &Setup, block: u64, lies: bool) {
    endpoints(devnet).for_each(|endpoint| endpoint.clear());
    if lies && let Some(liar) = devnet.endpoint(setup.liar) {
        setup.lies.iter().for_each(|rule| liar.add(rule.clone()));
    }
    if block < setup.liar_until
        && let Some(liar) = devnet.endpoint(1)
    {
        liar.add(outcome(FinalExecutionStatus::SuccessValue(Vec::new())));
    }
    let fault = match setup.sends {
        Sends::Late { blocks } if block < LATE_UNTIL => Fault::Late { blocks },
        Sends::Late { .. } => Fault::Late { blocks: THEN_LATE },
        Sends::Withheld { until } if block < until => Fault::Withhold,
        Sends::Arrive | Sends::Withheld { .. } => return,
    };
    endpoints(devnet).for_each(|endpoint| endpoint.add(Rule::always(fault.clone())));
}

/// It says that of every transaction that was sent.
pub(crate) fn outcome(status: FinalExecutionStatus) -> Rule {
    Rule::always(Lie::Outcome { status, execution: TxExecutionStatus::Final }).on(&["tx"])
}

fn failure() -> FinalExecutionStatus {
    let kind = ActionErrorKind::DelegateActionExpired;
    FinalExecutionStatus::Failure(TxExecutionError::ActionError(ActionError {
        index: Some(0),
        kind,
    }))
}
