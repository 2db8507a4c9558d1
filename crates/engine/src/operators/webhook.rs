//! Adds, changes, rotates, tests and deletes the endpoints of webhooks. An endpoint is a resource of the
//! journal, and the unit of the action writes it.

use crate::operators::Operators;
use crate::operators::action_context::{ActionContext, Stop};
use crate::operators::{ActionResult, NewWebhook, Objection, WebhookAction, WebhookChange};
use kernel::answer::Cause;
use kernel::ids::{Id, Millis};
use kernel::operators::Subject;
use kernel::unit::{Guard, Put, Unit};
use kernel::webhooks::{
    self, BACKLOG_CASE, DISABLED_CASE, EndpointRequest, EndpointStatus, MOST_ENDPOINTS,
    StoredSecret, StoredWebhook, WebhookEndpoint,
};
use std::sync::Arc;

/// How often an endpoint is written again that others changed meanwhile.
const TRIES: usize = 8;

/// An endpoint's resource, as it was read.
struct Read {
    webhook: StoredWebhook,
    version: u32,
}

/// The new value of an endpoint, and the fact that ends its case.
struct Change {
    value: Arc<str>,
    outcome: ActionResult,
    enabled: Option<&'static str>,
}

impl Operators {
    pub(super) async fn webhook(
        &self,
        context: &ActionContext,
        action: &WebhookAction,
    ) -> Result<(ActionResult, Millis), Stop> {
        match action {
            WebhookAction::Add(new) => self.add_webhook(context, new).await,
            WebhookAction::Change(change) => {
                self.change_webhook(context, change.id, |found, now| {
                    let enables = change.status == Some(EndpointStatus::Active);
                    let moves = |target: &Arc<str>| {
                        webhooks::are_at_other_hosts(&found.endpoint.target, target)
                    };
                    let moved = change.target.as_ref().is_some_and(moves);
                    if let Some(secret) = change.secret.as_ref().filter(|_| moved) {
                        found.replace_secrets(secret.clone());
                    }
                    changed(&mut found.endpoint, change, now);
                    Ok(enables.then_some("an operator enabled it"))
                })
                .await
            }
            WebhookAction::Delete(id) => self.delete_webhook(context, *id).await,
            WebhookAction::Rotate { id, secret, overlap_ms } => {
                self.change_webhook(context, *id, |found, now| {
                    if found.secrets.is_empty() {
                        let why = "an e-mail is not signed: there is no secret to rotate";
                        return Err(Objection::NotPossible(why.to_owned()));
                    }
                    found.rotate(secret.clone(), now, now.saturating_add(*overlap_ms));
                    Ok(None)
                })
                .await
            }
            WebhookAction::Test(id) => self.ask_webhook(context, *id, EndpointRequest::Test).await,
            WebhookAction::Resend { id, number } => {
                self.ask_webhook(context, *id, EndpointRequest::Resend { number: *number }).await
            }
            WebhookAction::Replay { id, since } => {
                self.ask_webhook(context, *id, EndpointRequest::Replay { since: *since }).await
            }
        }
    }

    /// Adds a request to an endpoint; a background task does it. A disabled endpoint gets nothing, so the
    /// request is refused there.
    async fn ask_webhook(
        &self,
        context: &ActionContext,
        id: Id,
        request: EndpointRequest,
    ) -> Result<(ActionResult, Millis), Stop> {
        self.change_webhook(context, id, |found, _| {
            if found.endpoint.status == EndpointStatus::Disabled {
                let why = "the endpoint is DISABLED, so nothing is sent to it: enable it first";
                return Err(Objection::NotPossible(why.to_owned()));
            }
            found.ask(request);
            Ok(None)
        })
        .await
    }

    async fn add_webhook(
        &self,
        context: &ActionContext,
        new: &NewWebhook,
    ) -> Result<(ActionResult, Millis), Stop> {
        let all = self.shared.parts.journal.resources(webhooks::PREFIX.into()).await?;
        let there = all.iter().filter(|one| StoredWebhook::read(&one.value).is_some()).count();
        if there >= MOST_ENDPOINTS {
            let why = format!("there are {MOST_ENDPOINTS} endpoints, and no more at a time");
            return Err(Objection::NotPossible(why).into());
        }
        let now = self.shared.parts.journal.now();
        // what is open now may end before the events are looked at for the first time
        let open = self.shared.parts.journal.open_older_than(now, 1).await?;
        let oldest_open = open.first().and_then(|record| record.serial).map(|serial| serial.0);
        let endpoint = WebhookEndpoint {
            id: new.id,
            channel: new.channel,
            target: new.target.clone(),
            description: new.description.clone(),
            filter: new.filter.clone(),
            status: EndpointStatus::Active,
            disabled_because: None,
            created_at: now,
            enabled_at: now,
            rotating_until: None,
        };
        let secret = Some(new.secret.clone()).filter(|secret| !secret.0.is_empty());
        let secrets = secret.map(|secret| StoredSecret { secret, until: None });
        let webhook = StoredWebhook {
            endpoint: endpoint.clone(),
            secrets: secrets.into_iter().collect(),
            oldest_open,
            asked: 0,
            requests: Vec::new(),
        };
        let outcome = ActionResult::Webhook { endpoint };
        let change = Change { value: webhook.stored(), outcome, enabled: None };
        match self.write_webhook(context, new.id, 0, &change).await? {
            Some(at) => Ok((change.outcome, at)),
            None => Err(Cause::of("MOVES").into()),
        }
    }

    async fn delete_webhook(
        &self,
        context: &ActionContext,
        id: Id,
    ) -> Result<(ActionResult, Millis), Stop> {
        for _ in 0..TRIES {
            let Read { version, .. } = self.read_webhook(id).await?;
            let outcome = ActionResult::WebhookDeleted;
            let change = Change { value: "".into(), outcome, enabled: Some("it was deleted") };
            if let Some(at) = self.write_webhook(context, id, version, &change).await? {
                return Ok((change.outcome, at));
            }
        }
        Err(Cause::of("MOVES").into())
    }

    /// Changes the present endpoint; again where others changed it meanwhile. The fact that the change
    /// returns ends the endpoint's case.
    async fn change_webhook(
        &self,
        context: &ActionContext,
        id: Id,
        change: impl Fn(&mut StoredWebhook, Millis) -> Result<Option<&'static str>, Objection>,
    ) -> Result<(ActionResult, Millis), Stop> {
        for _ in 0..TRIES {
            let Read { mut webhook, version } = self.read_webhook(id).await?;
            let enabled = change(&mut webhook, self.shared.parts.journal.now())?;
            let outcome = ActionResult::Webhook { endpoint: webhook.endpoint.clone() };
            let change = Change { value: webhook.stored(), outcome, enabled };
            if let Some(at) = self.write_webhook(context, id, version, &change).await? {
                return Ok((change.outcome, at));
            }
        }
        Err(Cause::of("MOVES").into())
    }

    async fn read_webhook(&self, id: Id) -> Result<Read, Stop> {
        let name = webhooks::resource(id);
        let found = self.shared.parts.journal.resources(name.clone()).await?;
        let read = |one: kernel::ports::journal::Resource| {
            StoredWebhook::read(&one.value).map(|webhook| Read { webhook, version: one.version })
        };
        let found = found.into_iter().find(|one| one.name == name).and_then(read);
        found.ok_or_else(|| Objection::NotFound("webhook").into())
    }

    /// Writes an endpoint with the action, in one unit; `None`: others changed it meanwhile.
    async fn write_webhook(
        &self,
        context: &ActionContext,
        id: Id,
        version: u32,
        change: &Change,
    ) -> Result<Option<Millis>, Stop> {
        let name = webhooks::resource(id);
        let guards = vec![Guard::Resource { name: name.clone(), version }];
        let mut puts = vec![Put::Resource { name, value: change.value.clone() }];
        let close = |kind: &'static str, fact: &'static str| {
            let (kind, fact) = (kind.into(), fact.into());
            Put::Close { kind, subject: Subject::Webhook(id), fact }
        };
        if let Some(fact) = change.enabled {
            puts.extend([DISABLED_CASE, BACKLOG_CASE].map(|kind| close(kind, fact)));
        }
        puts.push(context.action(&change.outcome));
        Ok(self.write_unit(Unit::guarded(guards, puts)).await?.ok())
    }
}

/// Applies a change to an endpoint.
fn changed(endpoint: &mut WebhookEndpoint, change: &WebhookChange, now: Millis) {
    let WebhookChange { target, description, events, flows, owner, status, id: _, secret: _ } =
        change;
    if let Some(target) = target {
        endpoint.target = target.clone();
    }
    if let Some(description) = description {
        endpoint.description = description.clone();
    }
    if let Some(events) = events {
        endpoint.filter.events.clone_from(events);
    }
    if let Some(flows) = flows {
        endpoint.filter.flows.clone_from(flows);
    }
    if let Some(owner) = owner {
        endpoint.filter.owner.clone_from(owner);
    }
    match status {
        Some(EndpointStatus::Active) if endpoint.status == EndpointStatus::Disabled => {
            endpoint.status = EndpointStatus::Active;
            endpoint.disabled_because = None;
            endpoint.enabled_at = now;
        }
        Some(EndpointStatus::Disabled) => endpoint.status = EndpointStatus::Disabled,
        Some(EndpointStatus::Active) | None => {}
    }
}
