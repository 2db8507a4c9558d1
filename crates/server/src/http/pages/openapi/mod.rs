//! Generates the OpenAPI description from the routes.

mod complete;
pub(in crate::http) mod descriptions;
mod examples;
mod webhooks;

use super::{docs, machine};
use crate::http::admin::{self, audit_proof, backup};
use crate::http::balances::{accounts, user_balances};
use crate::http::transfers::{batch, list, routes, v2};
use crate::http::{App, account_transfers, relay};
use axum::Router;
use axum::http::Method;
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock};
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::{Modify, OpenApi};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

#[derive(Debug, OpenApi)]
#[openapi(
    info(
        title = "Portage",
        description = "Moves money between ledgers that share no transaction, and never loses any of it, \
                       pays any of it twice or leaves any of it stuck. Amounts are decimal strings in the asset's \
                       unit; answers print them with all decimals that the asset has. Times are \
                       RFC 3339 in UTC. Unknown fields are refused.",
        license(name = "Apache-2.0", identifier = "Apache-2.0"),
    ),
    security(("token" = [])),
    modifiers(&Token),
    tags(
        (name = "transfers", description = "A user's transfers and balances"),
        (name = "relay", description = "Tokens on NEAR, from the relay's account to any other"),
        (name = "ops", description = "Operators"),
        (name = "machine", description = "Health, metrics, this description"),
    ),
)]
struct Description;

/// Adds the scheme of bearer tokens to the description.
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
fn documented() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::with_openapi(Description::openapi())
        .routes(routes!(routes::create))
        .routes(routes!(routes::get))
        .routes(routes!(list::list, batch::create))
        .routes(routes!(v2::create))
        .routes(routes!(v2::get))
        .routes(routes!(account_transfers::routes::create, account_transfers::list::list))
        .routes(routes!(account_transfers::routes::get))
        .merge(relay::routes::routes())
        .routes(routes!(user_balances::balances))
        .routes(routes!(admin::external_movement::deposit))
        .routes(routes!(admin::external_movement::withdraw))
        .routes(routes!(admin::movements::list))
        .routes(routes!(admin::conservation::conservation))
        .routes(routes!(audit_proof::verify))
        .routes(routes!(audit_proof::seals))
        .routes(routes!(backup::create))
        .routes(routes!(accounts::list))
        .routes(routes!(accounts::set_status))
        .merge(admin::numbered_accounts::routes())
        .merge(admin::numbered_movements::routes())
        .merge(admin::pipeline::routes())
        .routes(routes!(admin::relay_keys::list))
        .routes(routes!(admin::relay_keys::retire))
        .routes(routes!(admin::relay_keys::prove_gone))
        .routes(routes!(admin::chains::read))
        .routes(routes!(admin::search::find))
        .routes(routes!(admin::search::get))
        .routes(routes!(admin::stats::stats))
        .routes(routes!(admin::cases::list))
        .routes(routes!(admin::cases::get))
        .routes(routes!(admin::cases::assign))
        .routes(routes!(admin::cases::comment))
        .merge(admin::transfer_actions::routes())
        .merge(admin::conservation::vaults::routes())
        .merge(admin::webhooks::routes())
        .routes(routes!(admin::halts::list))
        .routes(routes!(admin::halts::halt))
        .routes(routes!(admin::halts::resume))
        .routes(routes!(admin::pauses::list, admin::pauses::add))
        .routes(routes!(admin::pauses::lift))
        .routes(routes!(admin::approvals::list))
        .routes(routes!(admin::approvals::approve))
        .routes(routes!(admin::approvals::reject))
        .routes(routes!(admin::assets::list, admin::assets::add))
        .routes(routes!(admin::assets::change))
        .routes(routes!(admin::past_actions::list))
        .routes(routes!(machine::health))
        .routes(routes!(machine::livez))
        .routes(routes!(machine::readyz))
        .routes(routes!(machine::metrics))
        .routes(routes!(machine::description))
        .routes(routes!(docs::api))
        .routes(routes!(docs::script))
        .routes(routes!(docs::codes))
        .routes(routes!(docs::code))
}

/// The routes, and what describes them.
struct Composed {
    routes: Router<Arc<App>>,
    api: utoipa::openapi::OpenApi,
}

/// Describing all routes takes longer than opening a service: a process does it once, however many
/// services it starts.
static COMPOSED: LazyLock<Composed> = LazyLock::new(|| {
    let (routes, api) = documented().split_for_parts();
    Composed { routes, api }
});

/// Every route, without what it reaches.
pub(in crate::http) fn routes() -> Router<Arc<App>> {
    COMPOSED.routes.clone()
}

/// The description that is served as `/openapi.json`.
pub fn description() -> &'static Value {
    static WHOLE: LazyLock<Value> = LazyLock::new(|| {
        // made of plain texts and numbers, so it can be written
        let mut api = serde_json::to_value(&COMPOSED.api).unwrap_or_default();
        complete::complete(&mut api);
        api
    });
    &WHOLE
}

/// Whether a route of the description declares no query parameter; false for what is no route of it.
pub(in crate::http) fn takes_no_parameters(method: &Method, path: &str) -> bool {
    static NONE: LazyLock<BTreeSet<(String, String)>> = LazyLock::new(|| {
        let is_query = |parameter: &Value| parameter["in"] == "query";
        let mut none = BTreeSet::new();
        for (path, methods) in description()["paths"].as_object().into_iter().flatten() {
            for (method, operation) in methods.as_object().into_iter().flatten() {
                let declared = operation["parameters"].as_array().into_iter().flatten();
                if !declared.into_iter().any(is_query) {
                    none.insert((method.to_uppercase(), path.clone()));
                }
            }
        }
        none
    });
    NONE.contains(&(method.as_str().to_owned(), path.to_owned()))
}

/// The description as JSON.
pub fn page() -> &'static str {
    static PAGE: LazyLock<String> =
        LazyLock::new(|| serde_json::to_string_pretty(description()).unwrap_or_default());
    &PAGE
}
