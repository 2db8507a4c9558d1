//! Reads settings from variables of the environment: `PORTAGE_<SECTION>__<KEY>`, and a few with names of their own.

use super::tree::{self, Origin, Tree};
use crate::config::ConfigError;
use crate::config::section::{SettingKey, Shape};
use serde_json::Value;
use std::ffi::OsString;
use std::net::SocketAddr;

const PREFIX: &str = "PORTAGE_";

/// Other names: what is set, under which path.
const ALIASES: [(&str, &str); 23] = [
    ("DATABASE_URL", "database.url"),
    ("KAFKA_BROKERS", "kafka.brokers"),
    ("RELAY_ACCOUNT_ID", "relay.account_id"),
    ("FT_TOKEN_ADDRESS", "relay.token_contract"),
    ("NEAR_NETWORK", "relay.network"),
    ("NEAR_RPC_URL", "relay.rpc_urls"),
    ("RELAY_ACCESS_KEYS", "relay.access_keys"),
    ("SOLANA_RPC_URL", "swap.solana_rpc_urls"),
    ("SOL_MAIN_ACCOUNT", "swap.vault"),
    ("VAULT_USDC_ACCOUNT", "swap.vault_account"),
    ("VAULT_KEYPAIR", "swap.keypair_file"),
    ("USDC_MINT", "swap.mint"),
    ("USDC_QUARANTINE_ACCOUNT", "swap.quarantine_account"),
    ("FLAT_FEE_USDD", "swap.flat_fee_usdd"),
    ("DYNAMIC_FEE_BPS", "swap.fee_bps"),
    ("MIN_DEPOSIT_USDC", "swap.min_deposit_usdc"),
    ("REFUND_TIMEOUT_SEC", "swap.refund_timeout_seconds"),
    ("USDC_CONFIRM_TIMEOUT_SEC", "swap.confirm_timeout_seconds"),
    ("STALE_DEPOSIT_QUARANTINE_SEC", "swap.stale_refund_seconds"),
    ("MAX_ACTION_ATTEMPTS", "swap.max_refund_rejections"),
    ("ACTION_RETRY_COOLDOWN_SEC", "swap.retry_cooldown_seconds"),
    ("PORTAGE_LOG", "log.level"),
    ("PORTAGE_LOG_FORMAT", "log.format"),
];

/// What begins so and is for others to read: the command line, and this repository's tests.
const OTHERS: [&str; 6] = [
    "PORTAGE_URL",
    "PORTAGE_TOKEN",
    "PORTAGE_CA",
    "PORTAGE_LEDGER_TOKEN",
    "PORTAGE_TEST_",
    "PORTAGE_WRONG_BUILD",
];

/// The port of `server.listen`.
const PORT: &str = "SERVER_PORT";

/// An operator who sets these wants the money kept somewhere else than this release keeps it: going on
/// would quietly open another, empty store.
const REFUSED: [(&str, &str); 1] = [("REDIS_URL", "Redis")];

/// Names that the sources of the flows have and that decide nothing here, each with what is said of it.
const IDLE: [(&str, &str); 3] = [
    ("NEXUS_API_URL", "NEXUS_API_URL is set, for a flow that this release does not have"),
    (
        "MAX_RETRIES",
        "MAX_RETRIES is set and decides nothing: no count of tries fails a payment, it is tried until it is proven",
    ),
    (
        "MAX_VERIFICATION_RETRIES",
        "MAX_VERIFICATION_RETRIES is set and decides nothing: no count of looks fails a payment, a transaction is \
         looked for until it is proven",
    ),
];

type Env = [(String, String)];

fn find<'a>(env: &'a Env, name: &str) -> Option<&'a str> {
    let found = env.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
    found.filter(|value| !value.is_empty())
}

/// Lays the variables over the tree. Names without `__` are not settings: a few have readers of their
/// own, orchestrators set some for services of our name, and any other is a mistake.
///
/// # Errors
/// A variable that this release cannot obey, or that is no setting; two that contradict each other.
pub(super) fn read(env: &Env, keys: &[SettingKey], tree: &mut Tree) -> Result<(), ConfigError> {
    for (name, what) in REFUSED {
        if find(env, name).is_some() {
            return Err(ConfigError::Bad(format!(
                "{name}: this release does not use {what}; unset {name} to run without it"
            )));
        }
    }
    for (name, text) in env {
        let Some(parts) = name.strip_prefix(PREFIX) else { continue };
        if parts.contains("__") {
            let path = path(keys, parts);
            let value = value(tree::key(keys, &path), text);
            tree.set(&path, value, Origin::Variable(name.clone()));
        } else if !known(name, text) {
            return Err(stray(name, keys));
        }
    }
    for (alias, path) in ALIASES {
        if let Some(text) = find(env, alias) {
            let own = Origin::Variable(variable(path));
            let keyed: Vec<String> = path.split('.').map(str::to_owned).collect();
            let value = value(tree::key(keys, &keyed), text);
            if tree.origins.get(path) == Some(&own) && tree.value(path) != Some(&value) {
                return Err(contradiction(alias, &variable(path)));
            }
            tree.set(&keyed, value, Origin::Variable(alias.to_owned()));
        }
    }
    super::listen::resolve(tree);
    port(env, tree)
}

/// Whether a program reads a name without `__`, or an orchestrator made it for a service: Kubernetes
/// has `PORTAGE_SERVICE_HOST`, `PORTAGE_PORT=tcp://…`, `PORTAGE_PORT_80_TCP_ADDR` and their like.
fn known(name: &str, text: &str) -> bool {
    let made = ["_SERVICE_HOST", "_SERVICE_PORT", "_TCP", "_UDP", "_SCTP"];
    text.is_empty()
        || OTHERS.iter().any(|other| name.starts_with(other))
        || ALIASES.iter().any(|(alias, _)| *alias == name)
        || made.iter().any(|part| name.contains(part))
        || (name.ends_with("_PORT") && text.contains("://"))
}

/// A name that is no setting, with the one that may be meant.
fn stray(name: &str, keys: &[SettingKey]) -> ConfigError {
    let leaf = |key: &SettingKey| key.inner.is_empty();
    let (plain, tables): (Vec<&SettingKey>, Vec<&SettingKey>) =
        keys.iter().partition(|key| leaf(key));
    let below = tables.iter().flat_map(|table| {
        table.inner.iter().filter(|key| leaf(key)).map(|key| format!("{}.{}", table.name, key.name))
    });
    let paths = plain.iter().map(|key| key.name.to_owned()).chain(below);
    let meant = paths.map(|path| variable(&path)).find(|own| own.replace("__", "_") == name);
    let meant = meant.map(|own| format!("; {own} is one")).unwrap_or_default();
    ConfigError::Bad(format!(
        "{name}: no such setting{meant}. A variable is PORTAGE_<SECTION>__<KEY>, with two underscores"
    ))
}

fn contradiction(one: &str, other: &str) -> ConfigError {
    ConfigError::Bad(format!("{one} and {other} say different things: keep one"))
}

/// The port of `server.listen`, from whatever source its address is.
fn port(env: &Env, tree: &mut Tree) -> Result<(), ConfigError> {
    const LISTEN: &str = "server.listen";
    // an orchestrator sets `tcp://…` for a service that is called `server`
    let set = find(env, PORT).filter(|text| !text.contains("://"));
    let Some(text) = set else { return Ok(()) };
    let port: u16 = text
        .trim()
        .parse()
        .map_err(|_| ConfigError::Bad(format!("{PORT}: must be a port, not \"{text}\"")))?;
    let given = tree.value(LISTEN).and_then(Value::as_str).map(str::parse::<SocketAddr>);
    let mut listen = match given {
        None => crate::config::Server::default().listen,
        Some(Ok(listen)) => listen,
        // refused where kinds are looked at
        Some(Err(_)) => return Ok(()),
    };
    let own = Origin::Variable(variable(LISTEN));
    if listen.port() != port && tree.origins.get(LISTEN) == Some(&own) {
        return Err(contradiction(PORT, &variable(LISTEN)));
    }
    listen.set_port(port);
    let path = ["server".to_owned(), "listen".to_owned()];
    tree.set(&path, Value::from(listen.to_string()), Origin::Variable(PORT.to_owned()));
    Ok(())
}

/// The variables of the process. One that is no text is passed over, unless it is a setting.
///
/// # Errors
/// A setting that is no text.
pub(super) fn of_process(
    variables: impl Iterator<Item = (OsString, OsString)>,
) -> Result<Vec<(String, String)>, ConfigError> {
    let mut env = Vec::new();
    for (name, value) in variables {
        match (name.into_string(), value.into_string()) {
            (Ok(name), Ok(value)) => env.push((name, value)),
            (Ok(name), Err(_)) if ours(&name) => {
                return Err(ConfigError::Bad(format!("{name}: must be text in UTF-8")));
            }
            (Ok(_) | Err(_), Ok(_) | Err(_)) => {}
        }
    }
    Ok(env)
}

/// True for a variable that any of this looks at.
pub fn ours(name: &str) -> bool {
    let alias = ALIASES.iter().any(|(alias, _)| *alias == name);
    let refused = REFUSED.iter().any(|(refused, _)| *refused == name);
    name.starts_with(PREFIX) || name == PORT || alias || refused
}

/// What is said at start of each variable that is set and decides nothing.
pub(super) fn idle(env: &Env) -> Vec<&'static str> {
    let set = IDLE.into_iter().filter(|(name, _)| find(env, name).is_some());
    set.map(|(_, sentence)| sentence).collect()
}

/// The variable of a path.
pub fn variable(path: &str) -> String {
    format!("{PREFIX}{}", path.replace('.', "__").to_uppercase())
}

/// The path of a variable: in lower case, but for a name of the operator's own with no keys below,
/// such as an asset's, which stays as it is written.
fn path(keys: &[SettingKey], parts: &str) -> Vec<String> {
    let mut path: Vec<String> = parts.split("__").map(str::to_lowercase).collect();
    let above = path.len() - 1;
    let table = path.get(..above).and_then(|above| tree::key(keys, above));
    if table.is_some_and(|key| key.named && key.shape != Shape::Table)
        && let (Some(last), Some(own)) = (path.last_mut(), parts.rsplit("__").next())
    {
        own.clone_into(last);
    }
    path
}

/// A variable's value, of the kind that its key has: a secret of digits stays a text.
fn value(key: Option<&SettingKey>, text: &str) -> Value {
    let text = match key.map(|key| key.shape) {
        Some(Shape::Number) => {
            return text.trim().parse::<u64>().map_or_else(|_| text.into(), Value::from);
        }
        Some(Shape::Flag) => {
            return text.trim().parse::<bool>().map_or_else(|_| text.into(), Value::from);
        }
        Some(Shape::List) => {
            let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
            return parts.map(Value::from).collect();
        }
        Some(Shape::Text | Shape::Secret | Shape::Table) | None => text,
    };
    Value::from(text)
}
