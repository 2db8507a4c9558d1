//! A client that follows the contract: after every unclear answer it repeats its request with the same key.

use super::SimProcess;
use crate::world::Sim;
use engine::{Accepted, Refused};
use kernel::code::Code;
use kernel::ids::FlowId;
use kernel::ports::clock::Clock;
use kernel::record::{Record, Terms};

/// A transfer that ended, or why it was not seen to end.
pub type Ended = Result<Record, String>;

/// How often a client asks before it gives up: ten minutes and more.
const MOST_TRIES: u32 = 1_000;

/// Creates a transfer with its key and asks until it ended.
pub async fn ask_until_ended(process: SimProcess, clock: Sim, flow: FlowId, terms: Terms) -> Ended {
    let mut last = String::new();
    for _ in 0..MOST_TRIES {
        match process.engine.intake.create(flow, terms.clone()).await {
            Ok(Accepted { record, .. }) => {
                if process.engine.flows().table(flow).ends(record.head.state) {
                    return Ok(record);
                }
                last = format!("it is at {:?}", record.head);
            }
            // nothing was opened, or the outcome is unknown
            Err(Refused::Code(Code::Overloaded)) => "overloaded".clone_into(&mut last),
            Err(Refused::Unknown(cause)) => last = cause.to_string(),
            Err(Refused::Code(code)) => {
                return Err(format!("refused with {code}; halted: {:?}", process.engine.halted()));
            }
            Err(Refused::Mismatch(record)) => {
                return Err(format!("the key is bound to another body: {record:?}"));
            }
        }
        clock.sleep(250).await;
    }
    Err(format!("it does not end: {last}"))
}

/// Lets what goes on beside the clients come to rest.
pub async fn settle_down(clock: Sim) {
    clock.sleep(2_500).await;
}
