//! Queries every ledger at the same time for a route, each with a short timeout.

use kernel::answer::Cause;
use kernel::ids::LedgerId;
use kernel::ports::Fut;
use kernel::ports::ledger::{Ledger, Reply};
use ledgers::remote::concurrent;
use std::sync::Arc;
use std::time::Duration;

/// The longest wait for a ledger, whatever its settings: the page names the ledgers that did not answer.
const TIMEOUT: Duration = Duration::from_secs(2);

/// The answer of one ledger, or the cause why there is none.
pub(super) type LedgerReply<T> = (LedgerId, Result<T, Cause>);

/// The answers of these ledgers, in their order.
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
