//! The API's description, made from the routes themselves.

use super::{App, accounts, balances, batch, machine, ops, transfers, v2};
use std::sync::Arc;
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
        .routes(routes!(batch::create))
        .routes(routes!(v2::create))
        .routes(routes!(v2::get))
        .routes(routes!(balances::balances))
        .routes(routes!(ops::deposit))
        .routes(routes!(ops::withdraw))
        .routes(routes!(ops::conservation))
        .routes(routes!(accounts::list))
        .routes(routes!(accounts::set_status))
        .routes(routes!(machine::health))
        .routes(routes!(machine::livez))
        .routes(routes!(machine::readyz))
        .routes(routes!(machine::metrics))
        .routes(routes!(machine::description))
}

/// The description as JSON.
pub fn page() -> String {
    // made of plain texts and numbers, so it can be written
    documented().into_openapi().to_pretty_json().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::page;
    use serde_json::Value;

    /// The contract's list for this release.
    const SPEC: &[(&str, &str)] = &[
        ("get", "/api/v1/balances"),
        ("get", "/api/v1/internal_transfer/{req_id}"),
        ("get", "/api/v1/ops/accounts"),
        ("get", "/api/v1/ops/conservation"),
        ("get", "/api/v1/transfer/{req_id}"),
        ("get", "/health"),
        ("get", "/livez"),
        ("get", "/metrics"),
        ("get", "/openapi.json"),
        ("get", "/readyz"),
        ("post", "/api/v1/internal_transfer"),
        ("post", "/api/v1/internal_transfers"),
        ("post", "/api/v1/ops/accounts/{user}/{type}/status"),
        ("post", "/api/v1/ops/deposits"),
        ("post", "/api/v1/ops/withdrawals"),
        ("post", "/api/v1/transfer"),
    ];

    fn description() -> Value {
        serde_json::from_str(&page()).unwrap()
    }

    #[test]
    fn routes_and_description_and_contract_are_one_list() {
        let api = description();
        let mut found = Vec::new();
        for (path, methods) in api["paths"].as_object().unwrap() {
            for method in methods.as_object().unwrap().keys() {
                found.push((method.clone(), path.clone()));
            }
        }
        found.sort();
        let found: Vec<_> = found.iter().map(|(m, p)| (m.as_str(), p.as_str())).collect();
        assert_eq!(found, SPEC);
    }

    #[test]
    fn every_reference_leads_somewhere_and_every_form_is_closed() {
        let api = description();
        let text = api.to_string();
        let schemas = api["components"]["schemas"].as_object().unwrap();
        for part in text.split("#/components/schemas/").skip(1) {
            let name = part.split('"').next().unwrap();
            assert!(schemas.contains_key(name), "{name}");
        }
        for form in ["CreateTransfer", "CreateTransfers", "CreateV2", "Movement", "SetStatus"] {
            assert_eq!(schemas[form]["additionalProperties"], false, "{form}");
        }
        assert_eq!(api["components"]["securitySchemes"]["token"]["scheme"], "bearer");
    }
}
