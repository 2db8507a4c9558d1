//! Reads the endpoints from the journal, and disables one for the service.

use kernel::answer::Cause;
use kernel::ids::Id;
use kernel::operators::{Case, Severity, Subject};
use kernel::ports::journal::Journal;
use kernel::ports::webhooks::BacklogQuery;
use kernel::unit::{Guard, Put, Unit, Wrote};
use kernel::webhooks::{
    self, BACKLOG_CASE, DISABLED_CASE, EndpointStatus, StoredWebhook, WebhookEndpoint,
};
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

    /// The request for what it has still to take, since it was enabled.
    pub(super) const fn backlog(&self) -> BacklogQuery {
        let WebhookEndpoint { id, enabled_at, .. } = &self.webhook.endpoint;
        BacklogQuery { endpoint: *id, since: *enabled_at }
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
        Put::Close { kind: BACKLOG_CASE.into(), subject, fact: "it is disabled".into() },
    ];
    if written(journal, Unit::guarded(guards, puts)).await? {
        tracing::warn!(kind, %subject, %facts, "WARNING case");
    }
    Ok(())
}

/// Opens the case of an endpoint for which half of what it may have waits.
///
/// # Errors
/// The journal's.
pub(super) async fn open_backlog_case(
    journal: &dyn Journal,
    endpoint: &Endpoint,
    waiting: u64,
    most: u64,
) -> Result<(), Cause> {
    let WebhookEndpoint { id, description, channel, .. } = &endpoint.webhook.endpoint;
    let facts: Arc<str> = format!(
        "{description} ({}): {waiting} messages wait for it; at {most} it is disabled",
        channel.name()
    )
    .into();
    let (kind, severity, subject) = (BACKLOG_CASE, Severity::Warning, Subject::Webhook(*id));
    let put = Put::Case(Case { kind, severity, subject, facts: facts.clone() });
    if written(journal, Unit::puts(vec![put])).await? {
        tracing::warn!(kind, %subject, %facts, "WARNING case");
    }
    Ok(())
}

/// Closes the case of an endpoint for which many messages waited.
///
/// # Errors
/// The journal's.
pub(super) async fn close_backlog_case(
    journal: &dyn Journal,
    endpoint: Id,
    fact: &str,
) -> Result<(), Cause> {
    let (kind, subject) = (BACKLOG_CASE.into(), Subject::Webhook(endpoint));
    let put = Put::Close { kind, subject, fact: fact.into() };
    written(journal, Unit::puts(vec![put])).await.map(drop)
}

/// True where a unit was written.
async fn written(journal: &dyn Journal, unit: Unit) -> Result<bool, Cause> {
    match journal.write(vec![unit]).await.pop() {
        Some(Wrote::Written(_)) => Ok(true),
        Some(Wrote::Lost(_) | Wrote::Full) | None => Ok(false),
        Some(Wrote::Refused(refusal)) => Err(refusal.into_cause()),
        Some(Wrote::Unknown(cause)) => Err(cause),
    }
}
