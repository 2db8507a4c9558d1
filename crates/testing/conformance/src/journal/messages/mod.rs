//! Checks messages: those to publish, and those that wait for consumers.

mod inbox;
mod outbox;

use super::Fresh;

pub(super) async fn run(fresh: &impl Fresh) {
    outbox::run(fresh).await;
    inbox::run(fresh).await;
}
