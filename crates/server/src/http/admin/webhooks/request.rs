//! Validates the bodies in which operators add, change and rotate webhook endpoints.

use crate::http::App;
use crate::http::middleware::error::Refusal;
use api::admin::webhooks::{AddWebhook, ChangeWebhook, RotateWebhook};
use kernel::ids::{Id, Millis};
use kernel::operators::{NewWebhook, WebhookChange};
use kernel::owner::TransferOwner;
use kernel::webhooks::{
    Channel, EndpointStatus, EventFilter, WebhookEndpoint, WebhookSecret, event_types,
};
use std::sync::Arc;

/// How long the secrets before the last one sign, where it is not said: a day.
const OVERLAP: u64 = 86_400;
/// The longest overlap: a month.
const LONGEST_OVERLAP: u64 = 30 * 86_400;
/// The most characters of a target and of a description.
const LONG: usize = 1_024;
/// The most texts in a filter.
const MANY: usize = 32;

/// The endpoint of a request, without id and secret.
pub(super) fn new(app: &App, form: AddWebhook) -> Result<NewWebhook, Refusal> {
    let unfit = || Refusal::bad("field `channel`: http or email");
    let channel = Channel::parse(&form.channel).ok_or_else(unfit)?;
    let filter = EventFilter {
        events: events(&form.events)?,
        flows: flows(app, &form.flows)?,
        owner: form.owner.as_deref().map(owner).transpose()?,
    };
    Ok(NewWebhook {
        id: Id(0),
        secret: WebhookSecret::default(),
        channel,
        target: target(app, channel, &form.target)?,
        description: description(&form.description)?,
        filter,
    })
}

/// The change of a request.
pub(super) fn change(
    app: &App,
    endpoint: &WebhookEndpoint,
    form: ChangeWebhook,
) -> Result<WebhookChange, Refusal> {
    let status = |text: &String| {
        let unfit = || Refusal::bad("field `status`: ACTIVE or DISABLED");
        EndpointStatus::parse(text).ok_or_else(unfit)
    };
    let owned = |one: &Option<String>| one.as_deref().map(owner).transpose();
    let place = |text: &String| target(app, endpoint.channel, text);
    Ok(WebhookChange {
        id: endpoint.id,
        target: form.target.as_ref().map(place).transpose()?,
        secret: None,
        description: form.description.as_deref().map(description).transpose()?,
        events: form.events.as_deref().map(events).transpose()?,
        flows: form.flows.as_deref().map(|all| flows(app, all)).transpose()?,
        owner: form.owner.as_ref().map(owned).transpose()?,
        status: form.status.as_ref().map(status).transpose()?,
    })
}

/// How long the secrets before it sign too.
pub(super) fn overlap(form: &RotateWebhook) -> Result<Millis, Refusal> {
    let seconds = form.overlap_seconds.unwrap_or(OVERLAP);
    if seconds > LONGEST_OVERLAP {
        return Err(Refusal::bad("field `overlap_seconds`: from 0 to 2592000"));
    }
    Ok(seconds.saturating_mul(1_000))
}

fn target(app: &App, channel: Channel, text: &str) -> Result<Arc<str>, Refusal> {
    let long = text.chars().count() > LONG;
    let checked = app.webhooks.rules.check(channel, text);
    match checked {
        Ok(()) if !long => Ok(text.into()),
        Ok(()) => Err(Refusal::bad("field `target`: at most 1024 characters")),
        Err(why) => Err(Refusal::bad(format!("field `target`: {why}"))),
    }
}

fn description(text: &str) -> Result<Arc<str>, Refusal> {
    let fits = text.chars().count() <= LONG && !text.chars().any(char::is_control);
    let unfit = "field `description`: at most 1024 characters, none of them a control";
    if fits { Ok(text.into()) } else { Err(Refusal::bad(unfit)) }
}

fn events(all: &[String]) -> Result<Vec<Arc<str>>, Refusal> {
    let events: Vec<Arc<str>> = all.iter().map(|one| one.as_str().into()).collect();
    let filter = EventFilter { events, ..EventFilter::default() };
    if filter.events.is_empty() || filter.events.len() > MANY || filter.unknown_event().is_some() {
        let known = event_types().join(", ");
        let rule = format!("field `events`: 1 to 32 of {known}; `transfer.*`, `case.*` or `*`");
        return Err(Refusal::bad(rule));
    }
    Ok(filter.events)
}

fn flows(app: &App, all: &[String]) -> Result<Vec<Arc<str>>, Refusal> {
    let flows = app.engine.flows();
    let offered = |name: &str| flows.named(name).is_some_and(|flow| app.engine.offers(flow));
    if all.len() > MANY || !all.iter().all(|one| offered(one.as_str())) {
        let tables = flows.0.iter().filter(|table| offered(table.flow));
        let names: Vec<&str> = tables.map(|table| table.flow).collect();
        return Err(Refusal::bad(format!("field `flows`: some of {}", names.join(", "))));
    }
    Ok(all.iter().map(|one| one.as_str().into()).collect())
}

fn owner(text: &str) -> Result<Arc<str>, Refusal> {
    let rule = "field `owner`: user:…, principal:… or chain:…:…";
    let owner: TransferOwner = text.parse().map_err(|_| Refusal::bad(rule))?;
    Ok(owner.to_string().into())
}
