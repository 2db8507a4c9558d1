//! Messages: what is to be published, and what waits for consumers.

mod inbox;
mod outbox;

use super::Fresh;

pub(super) async fn run(fresh: &impl Fresh) {
    outbox::run(fresh).await;
    inbox::run(fresh).await;
}
