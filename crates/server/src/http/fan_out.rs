//! Queries every ledger at the same time for a route, each with a short timeout.

use kernel::answer::Cause;
use kernel::ids::LedgerId;
use kernel::ports::Fut;
use kernel::ports::ledger::{Ledger, Reply};
use ledgers::remote::concurrent;
use std::sync::Arc;
use std::time::Duration;

/// So long a page waits for a ledger, however patient its settings are: it says who was silent.
const TIMEOUT: Duration = Duration::from_secs(2);

/// What one ledger says, or why it is silent.
pub(super) type LedgerReply<T> = (LedgerId, Result<T, Cause>);

/// What each of these ledgers says, in their order.
pub(super) async fn fan_out<T: Send>(
    ledgers: impl Iterator<Item = Arc<dyn Ledger>>,
    ask: impl for<'a> Fn(&'a dyn Ledger) -> Fut<'a, Reply<T>>,
) -> Vec<LedgerReply<T>> {
    let ledgers: Vec<Arc<dyn Ledger>> = ledgers.collect();
    let asked = ledgers.iter().map(|ledger| {
        let (id, reply) = (ledger.id(), ask(&**ledger));
        let one: Fut<'_, LedgerReply<T>> = Box::pin(async move {
            let said = match tokio::time::timeout(TIMEOUT, reply).await {
                Ok(Reply::Answered(_, said)) => Ok(said),
                Ok(Reply::OtherLedger(_)) => Err(Cause::of("WRONG_LEDGER")),
                Ok(Reply::NoAnswer(cause)) => Err(cause),
                Err(_) => Err(Cause::of("TIMEOUT")),
            };
            (id, said)
        });
        one
    });
    concurrent(asked.collect()).await
}
