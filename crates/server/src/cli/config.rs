//! `portage config`: prints the effective settings with masked secrets and the source of each, and checks a
//! settings file.

use super::exit::{Exit, Fault};
use super::serve::configured_keys;
use super::{Global, output, wait};
use crate::config::section::Setting;
use crate::config::sources::{self, CliFlags};
use crate::config::{Config, print, reference};
use crate::http::listener::tls::Tls;
use crate::runtime::SystemClock;
use kernel::money::Asset;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Print the effective settings, or check a settings file.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  portage config --sources\n  \
    portage config --check portage.toml\n\n\
    Secrets are masked. --check ends with 78 if `serve` would refuse the file.")]
pub(super) struct ConfigArgs {
    /// Print JSON instead of TOML.
    #[arg(long)]
    json: bool,
    /// Say beside each key who set it: the default, a line of the file, a variable, a flag.
    #[arg(long, conflicts_with = "json")]
    sources: bool,
    /// Only say whether `serve --config FILE` would take this file, in this environment.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["json", "sources"])]
    check: Option<PathBuf>,
    /// Print the reference page of all settings.
    #[arg(long, conflicts_with_all = ["json", "sources", "check"])]
    reference: bool,
}

pub(super) fn run(global: &Global, args: &ConfigArgs) -> Result<(), Fault> {
    if args.reference {
        return output::print(reference::page().trim_end());
    }
    if let Some(file) = &args.check {
        return check(global, file);
    }
    let loaded = global.loaded()?;
    if args.json {
        return output::print_json(&loaded.config);
    }
    let value = serde_json::to_value(&loaded.config)
        .map_err(|fault| Fault::new(Exit::Software, fault.to_string()))?;
    let origin = |path: &str| args.sources.then(|| loaded.origin(path).clone());
    output::print(print::toml(&value, Config::KEYS, &origin).trim_end())
}

fn check(global: &Global, file: &Path) -> Result<(), Fault> {
    let data_dir = global.data_dir.clone();
    let flags = CliFlags { config: Some(file.to_owned()), data_dir, listen: None };
    let config = sources::load_here(&flags)?.config;
    for (tls, key) in [(&config.server.tls, "server.tls"), (&config.spot.tls, "spot.tls")] {
        if tls.is_set() {
            named(key, Tls::open(tls).map(|_| ()))?;
        }
    }
    if config.auth.jwks_url.is_empty() && config.auth.has_jwks() {
        let keys = wait(configured_keys(&config.auth, Arc::new(SystemClock::default())));
        // the fault names the setting itself
        keys.map_err(|fault| Fault { exit: Exit::Config, ..fault })?;
    }
    let one = [
        ("database.ca_file", &config.database.ca_file),
        ("kafka.ca_file", &config.kafka.ca_file),
        ("audit.mac_secret_file", &config.audit.mac_secret_file),
        ("relay.keystore", &config.relay.keystore),
        ("relay.keystore_passphrase_file", &config.relay.keystore_passphrase_file),
        ("swap.keystore", &config.swap.keystore),
        ("swap.keystore_passphrase_file", &config.swap.keystore_passphrase_file),
        ("swap.keypair_file", &config.swap.keypair_file),
    ];
    let former = &config.audit.former_mac_secret_files;
    let former = former.iter().map(|file| ("audit.former_mac_secret_files", Path::new(file)));
    let one = one.into_iter().map(|(key, file)| (key, file.as_path()));
    for (key, file) in one.chain(former) {
        if !file.as_os_str().is_empty() {
            let fault = |why| Fault::new(Exit::Config, format!("{key}: {}: {why}", file.display()));
            File::open(file).map_err(fault)?;
        }
    }
    let unseen = if names_assets(&config) {
        "; whether the assets that it names exist is seen at the start"
    } else {
        ""
    };
    output::print(&format!("{}: good{unseen}", file.display()))
}

/// True where the settings name an asset that a fresh store does not have: no store is looked at here.
fn names_assets(config: &Config) -> bool {
    let fresh = Asset::fresh();
    let limits = config.limits.daily_amount.keys().chain(config.ops.daily_deposit_limit.keys());
    let held = config.ledgers.assets().into_values().flatten();
    let mut named = limits.cloned().chain(held);
    named.any(|symbol| fresh.iter().all(|asset| asset.symbol != symbol))
}

/// What a setting names cannot be used: then `serve` would not start, whatever the reason is called.
fn named(key: &str, found: Result<(), Fault>) -> Result<(), Fault> {
    found.map_err(|fault| Fault::new(Exit::Config, format!("{key}: {}", fault.sentence)))
}

#[cfg(test)]
mod tests {
    use super::{Config, Setting, print};
    use crate::config::sources::{CliFlags, LoadedConfig, load};

    fn printed(loaded: &LoadedConfig, sources: bool) -> String {
        let value = serde_json::to_value(&loaded.config).unwrap();
        let origin = |path: &str| sources.then(|| loaded.origin(path).clone());
        print::toml(&value, Config::KEYS, &origin)
    }

    fn read(text: &str, env: &[(&str, &str)]) -> LoadedConfig {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("portage.toml");
        std::fs::write(&file, text).unwrap();
        let env = env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        load(&CliFlags { config: Some(file), ..CliFlags::default() }, env).unwrap()
    }

    #[test]
    fn what_is_printed_can_be_read_again() {
        let text = printed(&read("[limits.daily_amount]\nUSDT = \"5\"\n", &[]), false);
        assert!(text.contains("[server]\nlisten = \"127.0.0.1:3000\""), "{text}");
        assert!(text.contains("[limits.daily_amount]\nUSDT = \"5\"\n"), "{text}");
        assert_eq!(printed(&read(&text, &[]), false), text);
    }

    #[test]
    fn each_key_says_who_set_it() {
        let env = [("PORTAGE_ENGINE__RING", "7"), ("PORTAGE_LIMITS__DAILY_AMOUNT__BTC", "1.5")];
        let loaded = read("[engine]\n# few\nbatch_max = 9\n", &env);
        let text = printed(&loaded, true);
        for line in [
            "ring = 7  # PORTAGE_ENGINE__RING\n",
            "portage.toml:3\n",
            "fuse = true  # default\n",
            "BTC = \"1.5\"  # PORTAGE_LIMITS__DAILY_AMOUNT__BTC\n",
        ] {
            assert!(text.contains(line), "{line}\n{text}");
        }
    }
}
