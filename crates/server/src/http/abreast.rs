//! Asking every ledger at once, each no longer than a reader waits.

use super::App;
use kernel::answer::Cause;
use kernel::ids::LedgerId;
use kernel::ports::Fut;
use kernel::ports::ledger::{Heard, Ledger};
use ledgers::remote::together;
use std::sync::Arc;
use std::time::Duration;

/// So long a page waits for a ledger, however patient its settings are: it says who was silent.
const PATIENCE: Duration = Duration::from_secs(2);

/// What one ledger says, or why it is silent.
pub(super) type Said<T> = (LedgerId, Result<T, Cause>);

/// What each ledger says, in their order.
pub(super) async fn abreast<T: Send>(
    app: &App,
    ask: impl for<'a> Fn(&'a dyn Ledger) -> Fut<'a, Heard<T>>,
) -> Vec<Said<T>> {
    let ledgers: Vec<Arc<dyn Ledger>> = app.ledgers().collect();
    let asked = ledgers.iter().map(|ledger| {
        let (id, heard) = (ledger.id(), ask(&**ledger));
        let one: Fut<'_, Said<T>> = Box::pin(async move {
            let said = match tokio::time::timeout(PATIENCE, heard).await {
                Ok(Heard::Said(_, said)) => Ok(said),
                Ok(Heard::Wrong(_)) => Err(Cause::of("WRONG_LEDGER")),
                Ok(Heard::Nothing(cause)) => Err(cause),
                Err(_) => Err(Cause::of("TIMEOUT")),
            };
            (id, said)
        });
        one
    });
    together(asked.collect()).await
}
