//! The API's description, made from the routes themselves.

mod complete;
mod examples;
pub(super) mod said;

use super::{
    App, accounts, audit, backup, balances, batch, desk, docs, list, machine, ops, transfers, v2,
};
use serde_json::Value;
use std::sync::{Arc, LazyLock};
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::{Modify, OpenApi};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

#[derive(Debug, OpenApi)]
#[openapi(
    info(
        title = "Portage",
        description = "Moves money between ledgers that share no transaction, and never loses, \
                       duplicates or strands any of it. Amounts are decimal strings in the asset's \
                       unit; answers print them with all decimals that the asset has. Times are \
                       RFC 3339 in UTC. Unknown fields are refused.",
        license(name = "Apache-2.0", identifier = "Apache-2.0"),
    ),
    security(("token" = [])),
    modifiers(&Token),
    tags(
        (name = "transfers", description = "A user's transfers and balances"),
        (name = "ops", description = "Operators"),
        (name = "machine", description = "Health, metrics, this description"),
    ),
)]
struct Description;

/// The bearer token.
#[derive(Debug)]
struct Token;

impl Modify for Token {
    fn modify(&self, api: &mut utoipa::openapi::OpenApi) {
        let http = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).bearer_format("JWT").build();
        let components = api.components.get_or_insert_default();
        components.add_security_scheme("token", SecurityScheme::Http(http));
    }
}

/// Every route beside its description: what is not here does not exist.
pub(super) fn documented() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::with_openapi(Description::openapi())
        .routes(routes!(transfers::create))
        .routes(routes!(transfers::get))
        .routes(routes!(list::list, batch::create))
        .routes(routes!(v2::create))
        .routes(routes!(v2::get))
        .routes(routes!(balances::balances))
        .routes(routes!(ops::deposit))
        .routes(routes!(ops::withdraw))
        .routes(routes!(ops::conservation))
        .routes(routes!(audit::verify))
        .routes(routes!(audit::seals))
        .routes(routes!(backup::create))
        .routes(routes!(accounts::list))
        .routes(routes!(accounts::set_status))
        .routes(routes!(desk::search::find))
        .routes(routes!(desk::search::get))
        .routes(routes!(desk::stats::stats))
        .routes(routes!(desk::cases::list))
        .routes(routes!(desk::cases::get))
        .routes(routes!(desk::cases::assign))
        .routes(routes!(desk::cases::comment))
        .routes(routes!(desk::steer::retry))
        .routes(routes!(desk::steer::ask))
        .routes(routes!(desk::steer::pause))
        .routes(routes!(desk::steer::resume))
        .routes(routes!(desk::steer::resolve))
        .routes(routes!(desk::steer::steer_many))
        .routes(routes!(desk::halts::list))
        .routes(routes!(desk::halts::halt))
        .routes(routes!(desk::halts::resume))
        .routes(routes!(desk::pauses::list, desk::pauses::add))
        .routes(routes!(desk::pauses::lift))
        .routes(routes!(desk::approvals::list))
        .routes(routes!(desk::approvals::approve))
        .routes(routes!(desk::approvals::reject))
        .routes(routes!(desk::assets::list, desk::assets::add))
        .routes(routes!(desk::assets::change))
        .routes(routes!(desk::audit::list))
        .routes(routes!(machine::health))
        .routes(routes!(machine::livez))
        .routes(routes!(machine::readyz))
        .routes(routes!(machine::metrics))
        .routes(routes!(machine::description))
        .routes(routes!(docs::api))
        .routes(routes!(docs::codes))
        .routes(routes!(docs::code))
}

/// The whole description.
pub fn description() -> &'static Value {
    static WHOLE: LazyLock<Value> = LazyLock::new(|| {
        // made of plain texts and numbers, so it can be written
        let mut api = serde_json::to_value(documented().into_openapi()).unwrap_or_default();
        complete::complete(&mut api);
        api
    });
    &WHOLE
}

/// The description as JSON.
pub fn page() -> &'static str {
    static PAGE: LazyLock<String> =
        LazyLock::new(|| serde_json::to_string_pretty(description()).unwrap_or_default());
    &PAGE
}
