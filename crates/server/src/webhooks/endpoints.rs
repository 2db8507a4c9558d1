//! Reads the endpoints from the journal, and disables one for the service.

use kernel::answer::Cause;
use kernel::ids::Id;
use kernel::operators::{Case, Severity, Subject};
use kernel::ports::journal::Journal;
use kernel::unit::{Guard, Put, Unit, Wrote};
use kernel::webhooks::{self, DISABLED_CASE, EndpointStatus, StoredWebhook};
use std::sync::Arc;

/// An endpoint, as it was read.
#[derive(Debug, Clone)]
pub(super) struct Endpoint {
    pub webhook: StoredWebhook,
    pub version: u32,
}

impl Endpoint {
    pub(super) const fn id(&self) -> Id {
        self.webhook.endpoint.id
    }

    pub(super) fn is_active(&self) -> bool {
        self.webhook.endpoint.status == EndpointStatus::Active
    }
}

/// Every endpoint that was not deleted.
///
/// # Errors
/// The journal's.
pub(super) async fn endpoints(journal: &dyn Journal) -> Result<Vec<Endpoint>, Cause> {
    let found = journal.resources(webhooks::PREFIX.into()).await?;
    let read = |one: kernel::ports::journal::Resource| {
        StoredWebhook::read(&one.value).map(|webhook| Endpoint { webhook, version: one.version })
    };
    Ok(found.into_iter().filter_map(read).collect())
}

/// Disables an endpoint and opens its case, in one unit. Nothing where others changed it meanwhile: the next
/// try says it again.
///
/// # Errors
/// The journal's.
pub(super) async fn disable(
    journal: &dyn Journal,
    endpoint: &Endpoint,
    because: &str,
) -> Result<(), Cause> {
    let Endpoint { webhook, version } = endpoint;
    let mut webhook = webhook.clone();
    webhook.endpoint.status = EndpointStatus::Disabled;
    webhook.endpoint.disabled_because = Some(because.into());
    let id = webhook.endpoint.id;
    let name = webhooks::resource(id);
    let facts: Arc<str> = format!(
        "{} ({}): {because}. What happens meanwhile is not queued for it; enable it and replay since then",
        webhook.endpoint.description, webhook.endpoint.channel.name()
    )
    .into();
    let (kind, severity, subject) = (DISABLED_CASE, Severity::Warning, Subject::Webhook(id));
    let guards = vec![Guard::Resource { name: name.clone(), version: *version }];
    let puts = vec![
        Put::Resource { name, value: webhook.stored() },
        Put::Case(Case { kind, severity, subject, facts: facts.clone() }),
    ];
    match journal.write(vec![Unit::guarded(guards, puts)]).await.pop() {
        Some(Wrote::Written(_)) => {
            tracing::warn!(kind, %subject, %facts, "WARNING case");
            Ok(())
        }
        Some(Wrote::Lost(_) | Wrote::Full) | None => Ok(()),
        Some(Wrote::Unknown(cause)) => Err(cause),
    }
}
