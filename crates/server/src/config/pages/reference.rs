//! Generates the reference page of all settings from their declarations.

use crate::config::section::{Setting, SettingKey, Shape};
use crate::config::{Config, sources};
use serde_json::Value;

const HEAD: &str = "\
# Settings

Written by `portage config --reference` from the code; a test holds it there.

Portage runs without any setting. What is set is laid over the defaults in this order, the later
over the earlier: `portage.toml` in the working directory (or `--config FILE`), the variable of each
key, the flags of the command line. `portage config --sources` prints what is in force and who set
it, `portage config --check FILE` looks a file over; it opens no store, so
whether an asset that a limit or `ledgers.<name>.assets` names exists is seen at the start. An unknown key, a value of the wrong kind and a
contradiction are refused, with the file and its line, and nothing is started (exit 78).

Secrets belong in variables: they are never printed and never logged.

Variables with a name of their own: `SERVER_PORT` is the port of `server.listen`; `DATABASE_URL` is
`database.url`, `KAFKA_BROKERS` is `kafka.brokers`; of the relay `RELAY_ACCOUNT_ID`, `RELAY_ACCESS_KEYS`, `FT_TOKEN_ADDRESS`,
`NEAR_NETWORK` and `NEAR_RPC_URL` are `relay.account_id`, `relay.access_keys`, `relay.token_contract`,
`relay.network` and `relay.rpc_urls`; of the swaps `SOLANA_RPC_URL`, `SOL_MAIN_ACCOUNT`, `VAULT_USDC_ACCOUNT`, `VAULT_KEYPAIR`,
`USDC_MINT`, `USDC_QUARANTINE_ACCOUNT`, `FLAT_FEE_USDD`, `DYNAMIC_FEE_BPS`, `MIN_DEPOSIT_USDC`, `REFUND_TIMEOUT_SEC`,
`USDC_CONFIRM_TIMEOUT_SEC`, `STALE_DEPOSIT_QUARANTINE_SEC`,
`MAX_ACTION_ATTEMPTS` and `ACTION_RETRY_COOLDOWN_SEC` stand for the key that names them below; `PORTAGE_LOG` is `log.level` and `PORTAGE_LOG_FORMAT` is `log.format`. Any other name
that begins with `PORTAGE_` and is no setting is refused, but for those that Kubernetes makes for
services. With `REDIS_URL` set, this release refuses to start: it does not use Redis. `MAX_RETRIES` and
`MAX_VERIFICATION_RETRIES` are taken and decide nothing, as the log says at start: no count of tries ever fails a payment.

A file to begin a production with, every line explained: [portage.toml](portage.toml).
";

/// The text of `docs/guide/settings.md`.
pub fn page() -> String {
    let mut text = HEAD.to_owned();
    let defaults = serde_json::to_value(Config::default()).unwrap_or_default();
    for section in Config::KEYS {
        table(section, section.name, defaults.get(section.name), &mut text);
    }
    text
}

/// A section: its keys, then the tables in it.
fn table(section: &SettingKey, path: &str, defaults: Option<&Value>, text: &mut String) {
    let path = if section.named { format!("{path}.<name>") } else { path.to_owned() };
    // of tables with names of their own, any shows what each begins with
    let defaults = match defaults {
        Some(Value::Object(named)) if section.named => named.values().next(),
        other => other,
    };
    let (plain, tables): (Vec<&SettingKey>, Vec<&SettingKey>) =
        section.inner.iter().partition(|key| key.inner.is_empty());
    text.push_str(&format!("\n## `[{path}]`\n\n{}\n", sentence(section.about)));
    if !plain.is_empty() {
        text.push_str(
            "\n| key | is | default | variable | what it does |\n|---|---|---|---|---|\n",
        );
    }
    for key in plain {
        let name = if key.named { format!("{}.<name>", key.name) } else { key.name.to_owned() };
        let default = defaults.and_then(|defaults| defaults.get(key.name));
        let variable = sources::variable(&format!("{path}.{name}"));
        text.push_str(&format!(
            "| `{name}` | {} | {} | `{}` | {} |\n",
            kind_of(key),
            default_of(key, default),
            variable.replace("<NAME>", "<name>"),
            sentence(key.about),
        ));
    }
    for key in tables {
        let defaults = defaults.and_then(|defaults| defaults.get(key.name));
        table(key, &format!("{path}.{}", key.name), defaults, text);
    }
}

fn kind_of(key: &SettingKey) -> String {
    let kind = key.kind.trim_start_matches("a ").trim_start_matches("an ");
    let hidden = if key.shape == Shape::Secret { ", never shown" } else { "" };
    format!("{kind}{hidden}")
}

fn default_of(key: &SettingKey, default: Option<&Value>) -> String {
    match (default, key.shape) {
        _ if key.named => "none".to_owned(),
        (None | Some(Value::Null), _) => "none".to_owned(),
        (Some(Value::String(text)), _) if text.is_empty() => "none".to_owned(),
        (Some(_), Shape::Secret) => "secret".to_owned(),
        (Some(value), _) => format!("`{value}`"),
    }
}

/// A doc comment as one line of a table.
fn sentence(about: &str) -> String {
    about.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use super::page;
    use crate::config::sources::{CliFlags, load};
    use std::path::Path;

    fn guide(name: &str) -> std::path::PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide").join(name)
    }

    #[test]
    fn the_page_is_what_the_settings_say() {
        let stored = std::fs::read_to_string(guide("settings.md")).unwrap();
        assert!(
            stored == page(),
            "stale: cargo run -- config --reference > docs/guide/settings.md"
        );
    }

    #[test]
    fn the_production_example_is_taken_with_the_source_s_limits() {
        let flags = CliFlags { config: Some(guide("portage.toml")), ..CliFlags::default() };
        let config = load(&flags, Vec::new()).unwrap().config;
        assert_eq!(config.limits.requests_per_second, 10);
        assert_eq!(config.limits.transfers_per_day, 100);
        assert!(!config.limits.daily_amount.is_empty());
        assert!(!config.server.open_pages(), "strangers come through a proxy");
        assert!(config.ops.four_eyes);
        assert!(config.auth.has_jwks(), "no token is signed with a key of our own");
    }
}
