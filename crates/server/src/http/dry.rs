//! `?dry_run=true`: what would become of a create. Writes nothing and counts nothing.

use super::error::Refusal;
use super::shown::{self, Outcome};
use super::weigh::Ask;
use super::{App, made, unknown};
use axum::Json;
use axum::response::{IntoResponse, Response};
use kernel::answer::Cause;
use kernel::code::Code;
use kernel::ids::LedgerId;
use kernel::money::Amount;
use kernel::ports::ledger::{AccountStatus, Heard, Holding, Whose};
use kernel::record::{Party, Record, System, Terms};
use serde::Serialize;
use utoipa::ToSchema;

/// What would become of a create, as things stand.
#[derive(Debug, Serialize, ToSchema)]
pub struct DryRun {
    /// Always: nothing was done.
    #[schema(example = true)]
    pub dry_run: bool,
    /// `COMMITTED`, or the code that would be answered. `PENDING` where the key is bound to a
    /// transfer that is under way.
    #[schema(example = "COMMITTED")]
    pub would: String,
    /// The transfer that the key is bound to: a create would tell of it and make nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub req_id: Option<String>,
    /// With `DUPLICATE_REQUEST`: the fields in which this request differs from the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mismatched_fields: Option<Vec<String>>,
}

impl DryRun {
    fn would(name: &str) -> Self {
        Self { dry_run: true, would: name.to_owned(), req_id: None, mismatched_fields: None }
    }
}

/// Asks everything that a create asks, in the same order.
///
/// # Errors
/// 500: the journal or a ledger is silent, so that nobody can say.
pub(super) async fn would(app: &App, ask: &Ask) -> Result<Response, Refusal> {
    if let Some(bound) = made::bound(app, ask).await? {
        let replay = again(app, ask, &bound);
        return Ok(made::marked(Json(&replay).into_response(), replay.req_id.is_some()));
    }
    let refused = match ask.terms(app) {
        Ok(terms) if app.pace.would(ask.user, app.clock.ticks()) => {
            at_ledgers(app, &terms).await.map_err(|cause| silent(&cause))?
        }
        Ok(_) => Some(Code::RateLimitExceeded),
        Err(code) => Some(code),
    };
    Ok(Json(DryRun::would(refused.map_or("COMMITTED", Code::name))).into_response())
}

/// What a repeat of a bound key would be told, without the wait.
fn again(app: &App, ask: &Ask, bound: &Record) -> DryRun {
    let differs = ask.mismatched(app, bound);
    if !differs.is_empty() {
        let conflict = DryRun::would(Code::DuplicateRequest.name());
        return DryRun { mismatched_fields: Some(differs), ..conflict };
    }
    let would = match Outcome::of(app, bound) {
        (Outcome::Committed | Outcome::Pending, state) => DryRun::would(state),
        (Outcome::Failed, _) => DryRun::would(shown::code(bound)),
    };
    DryRun { req_id: Some(bound.id.to_string()), ..would }
}

fn silent(cause: &Cause) -> Refusal {
    unknown("dry run", cause);
    Refusal::because(Code::SystemError, "A ledger does not answer at the moment; nothing was begun")
}

/// Step 8, as each ledger would decide it now (`ledgers.md` §1).
async fn at_ledgers(app: &App, terms: &Terms) -> Result<Option<Code>, Cause> {
    match source(app, terms).await? {
        Some(code) => Ok(Some(code)),
        None => target(app, terms).await,
    }
}

/// What the source would refuse.
async fn source(app: &App, terms: &Terms) -> Result<Option<Code>, Cause> {
    let holdings = holdings(app, terms, &terms.source).await?;
    let Some(status) = holdings.first().map(|holding| holding.status) else {
        return Ok(Some(Code::SourceAccountNotFound));
    };
    let of_asset = holdings.iter().find(|holding| holding.asset == terms.asset);
    let available = of_asset.map_or(Amount::ZERO, |holding| holding.available);
    Ok(match status {
        AccountStatus::Frozen => Some(Code::AccountFrozen),
        AccountStatus::Disabled => Some(Code::AccountDisabled),
        AccountStatus::Active if available < terms.amount => Some(Code::InsufficientBalance),
        AccountStatus::Active => None,
    })
}

/// What the target would refuse.
async fn target(app: &App, terms: &Terms) -> Result<Option<Code>, Cause> {
    let holdings = holdings(app, terms, &terms.target).await?;
    let made_by_use = terms.target.system != System::Ledger(LedgerId::FUNDING);
    Ok(match holdings.first().map(|holding| holding.status) {
        None if made_by_use => None,
        None => Some(Code::TargetAccountNotFound),
        Some(AccountStatus::Disabled) => Some(Code::AccountDisabled),
        Some(AccountStatus::Active | AccountStatus::Frozen) => None,
    })
}

async fn holdings(app: &App, terms: &Terms, party: &Party) -> Result<Vec<Holding>, Cause> {
    let System::Ledger(ledger) = party.system else { return Err(Cause::of("NO_LEDGER")) };
    let port = app.engine.ledger(ledger).ok_or(Cause::of("NO_LEDGER"))?;
    match port.accounts(Whose::User(terms.user)).await {
        Heard::Said(_, holdings) => Ok(holdings),
        Heard::Wrong(_) => Err(Cause::of("WRONG_LEDGER")),
        Heard::Nothing(cause) => Err(cause),
    }
}
