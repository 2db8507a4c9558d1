//! What the journal has of a swap's earlier attempts, for the rules: whether an act has rested since, how often the
//! refund was refused, and whether persons allowed one more.

use kernel::answer::Cause;
use kernel::flow::life::Leg;
use kernel::flow::table::Table;
use kernel::ids::{Id, Millis};
use kernel::operators::release::{release_name, released};
use kernel::ports::journal::Journal;

/// Whether `cooldown` milliseconds have passed since every attempt of an act with this leg was closed; an open one has
/// not rested.
///
/// # Errors
/// The journal does not answer.
pub async fn rested(
    journal: &dyn Journal,
    table: &Table,
    id: Id,
    leg: Leg,
    cooldown: Millis,
) -> Result<bool, Cause> {
    let attempts = journal.attempts_of(vec![id]).await?;
    let now = journal.now();
    let is_of = |state| table.makes(state).is_some_and(|act| table.act(act).leg == Some(leg));
    let over = |at: Millis| now.saturating_sub(at) >= cooldown;
    Ok(attempts.iter().filter(|one| is_of(one.state)).all(|one| one.closed.is_some_and(over)))
}

/// How often the refund of a swap was refused, by its history.
///
/// # Errors
/// The journal does not answer.
pub async fn refund_rejections(
    journal: &dyn Journal,
    table: &Table,
    id: Id,
) -> Result<u128, Cause> {
    let refused = table.states.iter().find_map(|state| state.releases).unwrap_or_default();
    let history = journal.history(id).await?;
    let count = history.iter().filter(|linked| refused.contains(&&*linked.entry.event)).count();
    u128::try_from(count).map_err(|_| Cause::of("COUNT"))
}

/// How often the refund had been refused when persons allowed one more; `None`: they never did.
///
/// # Errors
/// The journal does not answer.
pub async fn refund_released(journal: &dyn Journal, id: Id) -> Result<Option<u128>, Cause> {
    let row = journal.resource(release_name(id)).await?;
    Ok(row.as_ref().and_then(released).map(u128::from))
}
