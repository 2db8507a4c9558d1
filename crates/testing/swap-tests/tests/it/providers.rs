//! What goes wrong at the providers: before each call of the adapter it is drawn whether one of both lags, lies or is
//! silent, and whether what is sent comes late or is lost.

use super::solana::Setup;
use devnet::solana::{Devnet, Endpoint, Fault, Lie, Rule};
use sim::chain::ChainRules;
use sim::world::SplitMix;

/// The most blocks that a sent transaction comes late.
const LATE: u64 = 60;

/// What becomes of what is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sends {
    /// The next block has it.
    Arrive,
    /// It waits for this number of blocks.
    Late { blocks: u64 },
    /// Up to that block of the case it is taken in, and does not reach the chain before.
    Lost { until: u64 },
}

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
        let blocks = draws.next() % LATE;
        endpoints(devnet).for_each(|endpoint| endpoint.add(Rule::always(Fault::Late { blocks })));
    }
    if draws.once_in(1, rules.misleads) {
        let bad = usize::from(draws.once_in(1, 2));
        let lag = 1 + draws.next() % (rules.finality * 2);
        let mood = draws.next() % 6;
        let Some(bad) = devnet.endpoint(bad) else { return };
        match mood {
            0 | 1 => bad.lag(lag),
            2 => bad.add(Rule::always(Lie::Unknown)),
            3 => bad.add(Rule::always(Fault::DropReply)),
            4 => bad.add(Rule::always(Fault::Status { code: 503 })),
            _ => bad.add(Rule::always(Lie::Outcome { err: None })),
        }
    }
}

/// What the providers do at this block of a case, as its setup says.
pub(crate) fn script(devnet: &Devnet, setup: &Setup, block: u64) {
    endpoints(devnet).for_each(|endpoint| endpoint.clear());
    let fault = match setup.sends {
        Sends::Late { blocks } => Fault::Late { blocks },
        Sends::Lost { until } if block < until => Fault::Withhold,
        Sends::Arrive | Sends::Lost { .. } => return,
    };
    endpoints(devnet).for_each(|endpoint| endpoint.add(Rule::always(fault.clone())));
}
