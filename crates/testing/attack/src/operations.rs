//! Every operation and who may use it, written down here once more: not read from the server, whose
//! description may be as wrong as its routes.

use crate::tokens::Role;
use serde_json::Value;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Who {
    /// Every caller, without a token.
    All,
    /// Every caller, or operators who read, as the server is set up.
    Page,
    /// Users and services that create.
    Creates,
    /// Services that have the relay send.
    Relays,
    /// Users and services that read what is theirs.
    Reads,
    /// Operators with the scope `ops:read`.
    Watches,
    /// Operators with the scope `ops:act`.
    Acts,
    /// Operators with the scope `ops:approve`.
    Approves,
    /// None of the roles here.
    Admin,
}

impl Who {
    /// Whether the route's own rules may go on for this role.
    pub fn lets(self, role: Role) -> bool {
        match self {
            Self::All => true,
            Self::Creates | Self::Reads => {
                matches!(role, Role::User | Role::Other | Role::Service)
            }
            Self::Page | Self::Watches => role == Role::Watcher,
            Self::Acts => role == Role::Actor,
            Self::Approves => role == Role::Approver,
            // no role of a campaign has the relay's scopes
            Self::Relays | Self::Admin => false,
        }
    }
}

/// Method and path, and who may.
#[rustfmt::skip]
pub const TABLE: [(&str, &str, Who); 89] = [
    ("POST",   "/api/transfers",                           Who::Creates),
    ("GET",    "/api/transfers",                           Who::Reads),
    ("GET",    "/api/transfers/{transferId}",              Who::Reads),
    ("GET",    "/api/v1/balances",                         Who::Reads),
    ("GET",    "/api/v1/cases",                            Who::Watches),
    ("GET",    "/api/v1/cases/{id}",                       Who::Watches),
    ("POST",   "/api/v1/cases/{id}/assign",                Who::Acts),
    ("POST",   "/api/v1/cases/{id}/comment",               Who::Acts),
    ("POST",   "/api/v1/internal_transfer",                Who::Creates),
    ("GET",    "/api/v1/internal_transfer/{req_id}",       Who::Reads),
    ("GET",    "/api/v1/internal_transfers",               Who::Reads),
    ("POST",   "/api/v1/internal_transfers",               Who::Creates),
    ("GET",    "/api/v1/ops/accounts",                     Who::Watches),
    ("GET",    "/api/v1/ops/accounts/pipeline",            Who::Watches),
    ("POST",   "/api/v1/ops/accounts/pipeline",            Who::Acts),
    ("GET",    "/api/v1/ops/accounts/pipeline/{number}",   Who::Watches),
    ("POST",   "/api/v1/ops/accounts/pipeline/{number}/deposits", Who::Acts),
    ("POST",   "/api/v1/ops/accounts/pipeline/{number}/status", Who::Acts),
    ("POST",   "/api/v1/ops/accounts/pipeline/{number}/withdrawals", Who::Acts),
    ("POST",   "/api/v1/ops/accounts/{user}/{type}/status", Who::Acts),
    ("GET",    "/api/v1/ops/approvals",                    Who::Watches),
    ("POST",   "/api/v1/ops/approvals/{id}/approve",       Who::Approves),
    ("POST",   "/api/v1/ops/approvals/{id}/reject",        Who::Approves),
    ("GET",    "/api/v1/ops/assets",                       Who::Watches),
    ("POST",   "/api/v1/ops/assets",                       Who::Acts),
    ("PATCH",  "/api/v1/ops/assets/{symbol}",              Who::Acts),
    ("GET",    "/api/v1/ops/audit",                        Who::Watches),
    ("GET",    "/api/v1/ops/audit/seals",                  Who::Watches),
    ("GET",    "/api/v1/ops/audit/verify",                 Who::Watches),
    ("POST",   "/api/v1/ops/backup",                       Who::Admin),
    ("GET",    "/api/v1/ops/conservation",                 Who::Watches),
    ("POST",   "/api/v1/ops/deposits",                     Who::Acts),
    ("POST",   "/api/v1/ops/halt",                         Who::Acts),
    ("GET",    "/api/v1/ops/dlt/{topic}",                  Who::Watches),
    ("POST",   "/api/v1/ops/dlt/{topic}/redrive",          Who::Acts),
    ("GET",    "/api/v1/ops/halts",                        Who::Watches),
    ("GET",    "/api/v1/ops/movements",                    Who::Watches),
    ("POST",   "/api/v1/ops/outbox/reemit",                Who::Acts),
    ("GET",    "/api/v1/ops/pauses",                       Who::Watches),
    ("POST",   "/api/v1/ops/pauses",                       Who::Acts),
    ("DELETE", "/api/v1/ops/pauses/{id}",                  Who::Acts),
    ("GET",    "/api/v1/ops/pipeline",                     Who::Watches),
    ("GET",    "/api/v1/ops/pipeline/export",              Who::Watches),
    ("GET",    "/api/v1/ops/pipeline/parked",              Who::Watches),
    ("GET",    "/api/v1/ops/chains/{chain}",               Who::Watches),
    ("GET",    "/api/v1/ops/relay/keys",                   Who::Watches),
    ("POST",   "/api/v1/ops/relay/keys/{key}/prove-gone",  Who::Acts),
    ("POST",   "/api/v1/ops/relay/keys/{key}/retire",      Who::Acts),
    ("POST",   "/api/v1/ops/pipeline/parked/unpark",       Who::Acts),
    ("POST",   "/api/v1/ops/pipeline/seek",                Who::Acts),
    ("POST",   "/api/v1/ops/resume",                       Who::Acts),
    ("POST",   "/api/v1/ops/transfers/{action}",           Who::Acts),
    ("POST",   "/api/v1/ops/transfers/{id}/ask",           Who::Acts),
    ("POST",   "/api/v1/ops/transfers/{id}/notes",         Who::Acts),
    ("POST",   "/api/v1/ops/transfers/{id}/pause",         Who::Acts),
    ("POST",   "/api/v1/ops/transfers/{id}/release",       Who::Acts),
    ("POST",   "/api/v1/ops/transfers/{id}/resolve",       Who::Acts),
    ("POST",   "/api/v1/ops/transfers/{id}/resume",        Who::Acts),
    ("POST",   "/api/v1/ops/transfers/{id}/retry",         Who::Acts),
    ("GET",    "/api/v1/ops/vaults",                       Who::Watches),
    ("POST",   "/api/v1/ops/vaults/{chain}/withdrawals/{transaction}/accept", Who::Acts),
    ("POST",   "/api/v1/ops/withdrawals",                  Who::Acts),
    ("GET",    "/api/v1/stats",                            Who::Watches),
    ("POST",   "/api/v1/transfer",                         Who::Creates),
    ("GET",    "/api/v1/transfer/{req_id}",                Who::Reads),
    ("GET",    "/api/v1/transfers",                        Who::Watches),
    ("GET",    "/api/v1/transfers/{id}",                   Who::Watches),
    ("GET",    "/api/v1/webhooks",                         Who::Watches),
    ("POST",   "/api/v1/webhooks",                         Who::Acts),
    ("DELETE", "/api/v1/webhooks/{id}",                    Who::Acts),
    ("GET",    "/api/v1/webhooks/{id}",                    Who::Watches),
    ("PATCH",  "/api/v1/webhooks/{id}",                    Who::Acts),
    ("GET",    "/api/v1/webhooks/{id}/deliveries",         Who::Watches),
    ("POST",   "/api/v1/webhooks/{id}/deliveries/{number}/resend", Who::Acts),
    ("POST",   "/api/v1/webhooks/{id}/replay",             Who::Acts),
    ("POST",   "/api/v1/webhooks/{id}/rotate",             Who::Acts),
    ("POST",   "/api/v1/webhooks/{id}/test",               Who::Acts),
    ("GET",    "/docs",                                    Who::Page),
    ("GET",    "/docs/errors",                             Who::All),
    ("GET",    "/docs/errors/{code}",                      Who::All),
    ("GET",    "/docs/try.js",                             Who::All),
    ("GET",    "/health",                                  Who::All),
    ("GET",    "/livez",                                   Who::All),
    ("GET",    "/metrics",                                 Who::Page),
    ("GET",    "/openapi.json",                            Who::Page),
    ("GET",    "/readyz",                                  Who::All),
    ("POST",   "/transfer",                                Who::Relays),
    ("GET",    "/transfer/{key}",                          Who::Relays),
    ("POST",   "/transfers",                               Who::Relays),
];

/// Everything that the server says it has: method and path.
pub fn described(openapi: &Value) -> Vec<(String, String)> {
    let paths = openapi.get("paths").and_then(Value::as_object);
    let methods = |(path, item): (&String, &Value)| {
        let names = item.as_object().map(|item| item.keys().cloned().collect::<Vec<_>>());
        let path = path.clone();
        names.unwrap_or_default().into_iter().map(move |name| (name.to_uppercase(), path.clone()))
    };
    paths.into_iter().flatten().flat_map(methods).collect()
}

/// Operations that only one of the two knows.
pub fn strangers(described: &[(String, String)]) -> Vec<String> {
    let known = |method: &str, path: &str| TABLE.iter().any(|(m, p, _)| (*m, *p) == (method, path));
    let there =
        |method: &str, path: &str| described.iter().any(|(m, p)| (&**m, &**p) == (method, path));
    let new = described.iter().filter(|(method, path)| !known(method, path));
    let gone = TABLE.iter().filter(|(method, path, _)| !there(method, path));
    let new =
        new.map(|(method, path)| format!("{method} {path}: the table does not say who may use it"));
    let gone =
        gone.map(|(method, path, _)| format!("{method} {path}: the server does not have it"));
    new.chain(gone).collect()
}

/// A path with these in its places.
pub fn filled(path: &str, id: &str, user: u64) -> String {
    path.replace("{req_id}", id)
        .replace("{id}", id)
        .replace("{user}", &user.to_string())
        .replace("{type}", "SPOT")
        .replace("{number}", "ACC-1")
        .replace("{symbol}", "USDT")
        .replace("{topic}", "transfer-execution-dlt")
        .replace("{chain}", "SOLANA")
        .replace("{transaction}", "5VERv8NM")
        .replace("{key}", "payout-7")
        .replace("{action}", "retry")
        .replace("{code}", "HALTED")
}

#[cfg(test)]
mod tests {
    use super::{TABLE, described, strangers};
    use serde_json::json;

    #[test]
    fn an_operation_that_the_table_lacks_is_named_and_so_is_one_that_is_gone() {
        let mut paths = json!({});
        for (method, path, _) in TABLE {
            paths[path][method.to_lowercase()] = json!({});
        }
        assert!(strangers(&described(&json!({ "paths": paths }))).is_empty());
        paths["/api/v1/ops/everything"] = json!({"get": {}});
        paths["/livez"] = json!({});
        let found = strangers(&described(&json!({ "paths": paths })));
        assert!(found[0].starts_with("GET /api/v1/ops/everything: the table"), "{found:?}");
        assert!(found[1].starts_with("GET /livez: the server"), "{found:?}");
        assert_eq!(found.len(), 2);
    }
}
