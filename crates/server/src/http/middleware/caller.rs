//! Authenticates the caller and checks the scope of the route: steps 1 and 2 of the order of checks.

use super::error::Refusal;
use super::query;
use crate::auth::verify::{Denied, KeyAge};
use crate::auth::{Caller, Scope};
use crate::http::App;
use crate::telemetry;
use api::user_id::UserIdText;
use axum::extract::FromRequestParts;
use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;
use kernel::code::Code;
use kernel::ids::UserId;
use std::sync::Arc;

/// The message where no token can be checked: the caller's may be good.
const STALE: &str = "Tokens cannot be checked: the keys were not read again for too long; nothing was \
                     begun, try again later";

/// The caller of a request with a good token.
///
/// # Errors
/// 401: no token, two, or one that proves nothing. 503: the keys are too old to say.
async fn caller(app: &App, headers: &HeaderMap, age: KeyAge) -> Result<Arc<Caller>, Refusal> {
    let refuse = |why: &str| {
        tracing::warn!(target: "security", why, "token refused");
        Refusal::of(Code::Unauthorized)
    };
    let mut all = headers.get_all(AUTHORIZATION).iter();
    let (Some(header), None) = (all.next(), all.next()) else {
        return Err(refuse("not exactly one Authorization header"));
    };
    let text = header.to_str().map_err(|_| refuse("not ASCII"))?;
    let (scheme, token) = text.split_once(' ').ok_or_else(|| refuse("not two words"))?;
    if !scheme.eq_ignore_ascii_case("bearer") {
        return Err(refuse("another scheme"));
    }
    app.verifier.check(token, age).await.map_err(|denied| match denied {
        Denied::Because(why) => refuse(why),
        Denied::Stale => {
            tracing::error!(target: "security", why = %denied, "token not looked at");
            Refusal::because(Code::Overloaded, STALE)
        }
    })
}

async fn allowed(
    app: &App,
    headers: &HeaderMap,
    scope: Scope,
    age: KeyAge,
) -> Result<Arc<Caller>, Refusal> {
    let caller = caller(app, headers, age).await?;
    telemetry::asked_by(&caller.principal);
    needs(&caller, scope)?;
    Ok(caller)
}

/// That a caller has a scope.
///
/// # Errors
/// 403: it is missing.
pub fn needs(caller: &Caller, scope: Scope) -> Result<(), Refusal> {
    if caller.may(scope) {
        return Ok(());
    }
    tracing::warn!(target: "security", scope = scope.name(), "scope missing");
    let sentence = format!("This route needs the scope `{}`", scope.name());
    Err(Refusal::because(Code::Forbidden, sentence))
}

macro_rules! callers {
    ($($(#[$doc:meta])* $name:ident = $scope:ident by $age:ident),* $(,)?) => {$(
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $name(pub Arc<Caller>);
        impl FromRequestParts<Arc<App>> for $name {
            type Rejection = Refusal;
            async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Refusal> {
                let caller = allowed(app, &parts.headers, Scope::$scope, KeyAge::$age).await?;
                query::declared(parts)?;
                Ok(Self(caller))
            }
        }
    )*};
}

callers! {
    RequireTransfersCreate = TransfersCreate by Fresh,
    /// May read its own transfers and balances.
    RequireTransfersRead = TransfersRead by Any,
    /// May have the relay send.
    RequireRelayCreate = RelayCreate by Fresh,
    /// May read its own transfers of the relay.
    RequireRelayRead = RelayRead by Any,
    /// May read as an operator.
    RequireOpsRead = OpsRead by Any,
    /// May act as an operator.
    RequireOpsAct = OpsAct by Fresh,
    /// May stop all money: a lost way to the keys must not take that from people.
    RequireHalt = OpsAct by Any,
    RequireAdmin = Admin by Fresh,
    /// May consent to another operator's action.
    RequireOpsApprove = OpsApprove by Fresh,
}

/// May read the machine's own pages.
#[derive(Debug)]
pub struct RequirePageAccess;

impl FromRequestParts<Arc<App>> for RequirePageAccess {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Refusal> {
        if app.open_pages {
            return Ok(Self);
        }
        allowed(app, &parts.headers, Scope::OpsRead, KeyAge::Any).await.map(|_| Self)
    }
}

/// The user that a caller acts for: itself, or with `transfers:any` the one in the body.
///
/// # Errors
/// 403: another user, or a token of no user. 400: a service that names no user.
pub fn acts_for(caller: &Caller, body: Option<UserIdText>) -> Result<UserId, Refusal> {
    if caller.may(Scope::TransfersAny) {
        let id = body.ok_or_else(|| {
            Refusal::bad("field `user_id`: required with the scope `transfers:any`")
        })?;
        return user(id);
    }
    let own = own(caller)?;
    match body {
        Some(id) if id.0 != own.0 => {
            tracing::warn!(target: "security", user_id = id.0, "another user's money");
            Err(Refusal::because(Code::Forbidden, "`user_id` is not the token's own"))
        }
        _ => Ok(own),
    }
}

/// Why a body that does not fit its form is refused: the money of another user comes first, as far as the body names
/// any.
pub fn unfit_body(
    caller: &Caller,
    named: impl IntoIterator<Item = Option<UserIdText>>,
    fault: Refusal,
) -> Refusal {
    let refusals = named.into_iter().filter_map(|user| acts_for(caller, user).err());
    let barred = refusals.into_iter().find(|refusal| refusal.code != Code::BadRequest);
    barred.unwrap_or(fault)
}

/// The caller's own user.
///
/// # Errors
/// 403: the token is no user's.
pub fn own(caller: &Caller) -> Result<UserId, Refusal> {
    let none = || Refusal::because(Code::Forbidden, "This token is not a user's");
    caller.user.ok_or_else(none)
}

/// A user's id as it may stand in a body or a path.
///
/// # Errors
/// 400: zero, or above 2^63 - 1.
pub fn user(UserIdText(id): UserIdText) -> Result<UserId, Refusal> {
    let unfit = || Refusal::bad("field `user_id`: a whole number from 1 to 2^63 - 1");
    Some(UserId(id)).filter(|user| user.is_valid()).ok_or_else(unfit)
}
