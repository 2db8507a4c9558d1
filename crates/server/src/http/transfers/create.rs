//! Creates a transfer, or returns the one that its key is bound to. Every spelling of a create and every flow with
//! a create share this module.

use crate::http::middleware::error::Refusal;
use crate::http::{App, name_errors, unknown};
use crate::runtime;
use axum::http::{HeaderName, HeaderValue};
use axum::response::Response;
use engine::{Accepted, Refused};
use kernel::answer::Cause;
use kernel::code::Code;
use kernel::ids::{FlowId, UserId};
use kernel::owner::TransferOwner;
use kernel::ports::meter::{Meter, Seen};
use kernel::record::{Record, Terms};
use std::sync::Arc;
use tokio::sync::oneshot;
use tracing::Instrument as _;

const REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");

/// A well-formed create of some flow, as its own routes read it.
pub(crate) trait RequestedTransfer: Sync {
    /// The number of the flow that carries it.
    fn flow(&self, app: &App) -> FlowId;
    /// The principal who asks: `issuer|sub`.
    fn principal(&self) -> &Arc<str>;
    /// Whose transfer it is: its limits are counted for this owner.
    fn owner(&self) -> TransferOwner;
    /// The scope in which its key is bound.
    fn scope(&self) -> &Arc<str> {
        self.principal()
    }
    /// Another scope in which the caller may have bound the key: what others bound there does not count.
    fn former_scope(&self) -> Option<&Arc<str>> {
        None
    }
    /// False where the key is bound to a transfer of which the caller may learn nothing.
    fn may_see(&self, _: &Record) -> bool {
        true
    }
    /// True where a key binds what the client sent alone, and nothing of the settings.
    fn binds_fields_alone(&self) -> bool {
        false
    }
    /// What the route calls its idempotency key.
    fn key_name(&self) -> &'static str;
    /// The idempotency key that the client gave.
    fn key(&self) -> Option<&Arc<str>>;
    /// The terms of the transfer.
    ///
    /// # Errors
    /// `HALTED` or `OVERLOADED`, then the first of steps 4 (account type), 5 (asset), 6 (amount) that
    /// fails.
    fn terms(&self, app: &App) -> Result<Terms, Code>;
    /// The fields in which it differs from the transfer that its key is bound to.
    fn mismatched(&self, app: &App, bound: &Record) -> Vec<String>;
    /// A refusal with the names of the flow.
    fn refusal(&self, app: &App, code: Code) -> Refusal;
}

/// Opens the transfer, or returns the one that its key is bound to, before any other check.
///
/// # Errors
/// Nothing was opened, or `SYSTEM_ERROR` with `outcome: unknown`.
pub(crate) async fn create(app: &App, ask: &dyn RequestedTransfer) -> Result<Accepted, Refusal> {
    if app.require_key && ask.key().is_none() {
        app.metrics.see(Seen::Refused { code: Code::IdempotencyKeyRequired });
        let sentence = format!("A key is required (transfer.require_key): `{}`", ask.key_name());
        return Err(Refusal::because(Code::IdempotencyKeyRequired, sentence));
    }
    if let Some(bound) = formerly_bound(app, ask).await? {
        return replayed(app, ask, bound).await;
    }
    let found = match ask.terms(app) {
        Ok(terms) => create_within_limit(app, ask, terms).await,
        Err(code) => {
            app.metrics.see(Seen::Refused { code });
            Err(Refused::Code(code))
        }
    };
    match found {
        Ok(accepted) => Ok(accepted),
        Err(Refused::Code(code)) => match replay(app, ask).await? {
            Some(accepted) => Ok(accepted),
            None => Err(refusal(app, ask, code)),
        },
        // settings that changed since do not make it another request
        Err(Refused::Mismatch(bound)) if ask.binds_fields_alone() => {
            replayed(app, ask, *bound).await
        }
        Err(Refused::Mismatch(bound)) => Err(conflict(app, ask, &bound)),
        Err(Refused::Unknown(cause)) => {
            unknown("create", &cause);
            Err(outcome_unknown(ask))
        }
    }
}

/// Step 7 of the order of checks, then the engine's turn. What opened nothing gives back its place.
async fn create_within_limit(
    app: &App,
    ask: &dyn RequestedTransfer,
    terms: Terms,
) -> Result<Accepted, Refused> {
    let limited = |code| {
        app.metrics.see(Seen::Refused { code });
        Err(Refused::Code(code))
    };
    // other owners are services: a receiver of theirs that cannot be paid is no account of ours
    let user = ask.owner().user().filter(|_| app.refused_creates.is_set());
    if let Some(user) = user
        && !app.refused_creates.allows(&app.engine, user, app.clock.ticks()).await
    {
        return limited(Code::RefusalLimitExceeded);
    }
    if !app.rate_limit.take(ask.owner(), app.clock.ticks()) {
        return limited(Code::RateLimitExceeded);
    }
    let found = match user {
        Some(user) => create_counted(app, ask.flow(app), terms, user).await,
        None => app.engine.intake.create(ask.flow(app), terms).await,
    };
    let counts = match &found {
        Ok(accepted) => !accepted.replayed,
        // it may have been opened
        Err(Refused::Unknown(_)) => true,
        Err(Refused::Code(_) | Refused::Mismatch(_)) => false,
    };
    if !counts {
        app.rate_limit.give_back(ask.owner());
    }
    found
}

/// Has the engine create a transfer, and counts it for its user where it ends without effect: also where the caller
/// goes away before the answer, who may read it in the list of the user's transfers.
async fn create_counted(
    app: &App,
    flow: FlowId,
    terms: Terms,
    user: UserId,
) -> Result<Accepted, Refused> {
    let (engine, refused) = (Arc::clone(&app.engine), Arc::clone(&app.refused_creates));
    let clock = Arc::clone(&app.clock);
    let (say, hear) = oneshot::channel();
    let created = async move {
        let found = engine.intake.create(flow, terms).await;
        if let Ok(Accepted { record, replayed: false }) = &found {
            refused.opened(&engine, user, record, clock.ticks());
        }
        // the receiver is gone where the caller went away
        let _gone = say.send(found);
    };
    runtime::beside(created.in_current_span());
    hear.await.unwrap_or_else(|_| Err(Refused::Unknown(Cause::of("INTAKE_GONE"))))
}

/// The transfer that the request's key is bound to, if it is.
async fn replay(app: &App, ask: &dyn RequestedTransfer) -> Result<Option<Accepted>, Refusal> {
    match bound(app, ask).await? {
        Some(bound) => replayed(app, ask, bound).await.map(Some),
        None => Ok(None),
    }
}

/// The transfer that the request's key is bound to, where it is of the same request.
async fn replayed(
    app: &App,
    ask: &dyn RequestedTransfer,
    bound: Record,
) -> Result<Accepted, Refusal> {
    let flow = app.engine.flows().table(ask.flow(app)).flow;
    if !ask.may_see(&bound) || !ask.mismatched(app, &bound).is_empty() {
        app.metrics.see(Seen::Conflict { flow });
        return Err(conflict(app, ask, &bound));
    }
    app.metrics.see(Seen::Replay { flow });
    app.engine.intake.rejoin(bound).await.map_err(|cause| {
        unknown("replay", &cause);
        outcome_unknown(ask)
    })
}

/// The caller's own transfer that the key is bound to in its former scope. It is read before anything is opened:
/// the journal keeps a key unique in one scope alone.
async fn formerly_bound(app: &App, ask: &dyn RequestedTransfer) -> Result<Option<Record>, Refusal> {
    let (Some(key), Some(scope)) = (ask.key(), ask.former_scope()) else { return Ok(None) };
    let bound = app.engine.intake.find_bound(ask.flow(app), scope, key).await;
    let bound = bound.map_err(|cause| {
        unknown("replay", &cause);
        outcome_unknown(ask)
    })?;
    Ok(bound.filter(|bound| ask.may_see(bound)))
}

/// The transfer that the request's key is bound to.
pub(super) async fn bound(
    app: &App,
    ask: &dyn RequestedTransfer,
) -> Result<Option<Record>, Refusal> {
    let Some(key) = ask.key() else { return Ok(None) };
    let bound = app.engine.intake.find_bound(ask.flow(app), ask.scope(), key).await;
    bound.map_err(|cause| {
        unknown("replay", &cause);
        outcome_unknown(ask)
    })
}

fn refusal(app: &App, ask: &dyn RequestedTransfer, code: Code) -> Refusal {
    if code != Code::Overloaded {
        return ask.refusal(app, code);
    }
    if app.engine.full() {
        return Refusal::because(
            code,
            "The store takes no writes; nothing was begun, try again later",
        );
    }
    let terms = ask.terms(app).ok();
    let Some(scope) = app.engine.checks.paused_for(ask.flow(app), terms.as_ref()) else {
        return Refusal::of(code);
    };
    let (kind, name) = (scope.kind(), name_errors::scope(app, scope));
    let sentence = format!(
        "The {kind} {name} is paused until a person lifts that; nothing was begun, try again later"
    );
    Refusal::because(code, sentence).with("paused", format!("{kind}/{name}"))
}

/// The key belongs to another request; what differs is said to those who may see that one.
fn conflict(app: &App, ask: &dyn RequestedTransfer, bound: &Record) -> Refusal {
    let refusal = Refusal::of(Code::DuplicateRequest);
    if !ask.may_see(bound) {
        return refusal;
    }
    refusal.with("mismatched_fields", ask.mismatched(app, bound))
}

/// Says of a repeat what holds: only a key keeps it from being a second transfer.
fn outcome_unknown(ask: &dyn RequestedTransfer) -> Refusal {
    let name = ask.key_name();
    Refusal::unknown(match ask.key() {
        Some(_) => format!(
            "The outcome is not known yet. Repeat it with the same {name}: it is never made twice"
        ),
        None => format!(
            "The outcome is not known yet, and the request had no {name}: a repeat may be one more transfer. \
             Look for this one first"
        ),
    })
}

/// Says of an answer that its transfer had been made before.
pub(crate) fn mark_replayed(mut response: Response, replayed: bool) -> Response {
    if replayed {
        response.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
    }
    response
}
