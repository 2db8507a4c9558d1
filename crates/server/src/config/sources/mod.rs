//! Reads the layers of the settings, merges them, and reports an error with the place of the value.

mod env;
mod file;
mod listen;
mod tree;

pub(crate) use self::listen::address as listen_address;

pub use self::env::{ours, variable};
pub use self::tree::Origin;

use self::tree::Tree;
use crate::config::section::{Broken, Setting, Shape};
use crate::config::{Config, ConfigError};
use serde_json::Value;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// The global flags of the command line.
#[derive(Debug, Clone, Default)]
pub struct CliFlags {
    pub config: Option<PathBuf>,
    pub data_dir: Option<PathBuf>,
    pub listen: Option<SocketAddr>,
}

/// The file that is read where no other is named, if it is there.
const FILE: &str = "portage.toml";

/// The settings, and who gave each.
#[derive(Debug)]
pub struct LoadedConfig {
    /// The settings after every layer was read.
    pub config: Config,
    /// Variables that are set for flows that this release does not have.
    pub idle: Vec<&'static str>,
    origins: BTreeMap<String, Origin>,
}

impl LoadedConfig {
    /// Who gave the setting at this path (`server.listen`).
    pub fn origin(&self, path: &str) -> &Origin {
        self.origins.get(path).unwrap_or(&Origin::Default)
    }
}

/// Lays the flags over the environment of the process, over the file, over the defaults.
///
/// # Errors
/// Everything that is wrong in the first layer or check that finds something, one line each, with
/// its place: the file and its line, the variable, the flag.
pub fn load_here(flags: &CliFlags) -> Result<LoadedConfig, ConfigError> {
    load(flags, env::of_process(std::env::vars_os())?)
}

/// The settings of the store alone, and of these further sections, from the same layers: whatever is wrong with another
/// one keeps no HALT from being written, and no audit from being read.
///
/// # Errors
/// What is wrong with `data`, `database` and these, or a file that is no TOML.
pub fn load_store_here(flags: &CliFlags, and: &[&str]) -> Result<Config, ConfigError> {
    let sections = [&["data", "database"][..], and].concat();
    let is_of_store = |name: &str| {
        let own =
            sections.iter().any(|section| name.starts_with(&variable(&format!("{section}."))));
        own || name == "DATABASE_URL"
    };
    let env = env::of_process(
        std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(is_of_store)),
    )?;
    let mut tree = layers(flags, &env)?;
    tree.root.retain(|section, _| sections.contains(&section.as_str()));
    Ok(settled(flags, &env, tree)?.config)
}

/// The same with these variables.
///
/// # Errors
/// What is wrong, as [`load_here`] says it.
pub(crate) fn load(
    flags: &CliFlags,
    env: impl IntoIterator<Item = (String, String)>,
) -> Result<LoadedConfig, ConfigError> {
    let env: Vec<(String, String)> = env.into_iter().collect();
    let tree = layers(flags, &env)?;
    settled(flags, &env, tree)
}

/// The file, and the variables over it.
fn layers(flags: &CliFlags, env: &[(String, String)]) -> Result<Tree, ConfigError> {
    let mut tree = Tree::default();
    match &flags.config {
        Some(file) if !file.exists() || file.is_dir() => {
            return Err(ConfigError::NoFile(file.clone()));
        }
        Some(file) => file::read(file, &mut tree)?,
        None if Path::new(FILE).exists() => file::read(Path::new(FILE), &mut tree)?,
        None => (),
    }
    env::read(env, Config::KEYS, &mut tree)?;
    Ok(tree)
}

/// The settings of these layers, with the flags over them.
fn settled(
    flags: &CliFlags,
    env: &[(String, String)],
    mut tree: Tree,
) -> Result<LoadedConfig, ConfigError> {
    let unknown = tree
        .unknown(Config::KEYS)
        .into_iter()
        .map(|(key, known)| Broken { key, rule: format!("no such setting; known here: {known}") });
    refuse(&tree, unknown.collect())?;
    let mut config = read(&tree)?;
    if let Some(dir) = &flags.data_dir {
        config.data.dir.clone_from(dir);
        tree.origins.insert("data.dir".to_owned(), Origin::Flag("--data-dir"));
    }
    if let Some(listen) = flags.listen {
        config.server.listen = listen;
        tree.origins.insert("server.listen".to_owned(), Origin::Flag("--listen"));
    }
    refuse(&tree, config.broken())?;
    Ok(LoadedConfig { config, idle: env::idle(env), origins: tree.origins })
}

/// The tree as settings; the first value of a wrong kind is refused.
fn read(tree: &Tree) -> Result<Config, ConfigError> {
    let given = Value::Object(tree.root.clone());
    serde_path_to_error::deserialize(given).map_err(|fault| {
        let key = fault.path().to_string();
        // a list names the item: `auth.typ[1]`
        let named = key.split('[').next().unwrap_or_default();
        let path: Vec<String> = named.split('.').map(str::to_owned).collect();
        let rule = tree::key(Config::KEYS, &path).map_or_else(
            || fault.inner().to_string(),
            |known| {
                let value = tree.value(named).map(Value::to_string).unwrap_or_default();
                // an address may have a key in its path
                let shown = known.shape != Shape::Secret && !value.contains("://");
                let not = if shown { format!(", not {}", cut(&value)) } else { String::new() };
                format!("must be {}{not}", known.kind)
            },
        );
        ConfigError::Bad(placed(tree, &Broken { key: named.to_owned(), rule }))
    })
}

/// A refusal does not grow with what it repeats.
fn cut(text: &str) -> String {
    const MOST: usize = 60;
    if text.chars().count() <= MOST {
        return text.to_owned();
    }
    text.chars().take(MOST).chain(['…']).collect()
}

fn refuse(tree: &Tree, broken: Vec<Broken>) -> Result<(), ConfigError> {
    if broken.is_empty() {
        return Ok(());
    }
    let lines: Vec<String> = broken.iter().map(|broken| placed(tree, broken)).collect();
    Err(ConfigError::Bad(lines.join("\n")))
}

/// A fault with its place.
fn placed(tree: &Tree, broken: &Broken) -> String {
    let Broken { key, rule } = broken;
    match tree.origin(key).or_else(|| tree.origin_below(key)) {
        Some(Origin::Default) | None => format!("{key}: {rule}"),
        Some(origin @ Origin::File(..)) => format!("{origin}: {key}: {rule}"),
        Some(origin @ (Origin::Variable(_) | Origin::Flag(_))) => {
            format!("{origin}: {rule} ({key})")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::env::of_process;
    use super::{CliFlags, Config, ConfigError, LoadedConfig, Origin, load};
    use std::ffi::OsString;

    const SECRET: &str = "01234567890123456789012345678901";

    fn env(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect()
    }

    fn with(text: &str, pairs: &[(&str, &str)]) -> Result<LoadedConfig, ConfigError> {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("portage.toml");
        std::fs::write(&file, text).unwrap();
        load(&CliFlags { config: Some(file), ..CliFlags::default() }, env(pairs))
    }

    fn fault(text: &str, pairs: &[(&str, &str)]) -> String {
        with(text, pairs).unwrap_err().to_string()
    }

    #[test]
    fn defaults_below_file_below_environment_below_flags() {
        let text = "[server]\nlisten = \"127.0.0.1:4000\"\n[engine]\nring = 5\nfuse = false\n";
        let config = with(text, &[("PORTAGE_ENGINE__RING", "7")]).unwrap().config;
        assert_eq!(config.server.listen.port(), 4000);
        assert_eq!((config.engine.ring, config.engine.fuse), (7, false));
        assert_eq!(config.transfer.sync_timeout_ms, 500);
        assert_eq!(with(text, &[("SERVER_PORT", "81")]).unwrap().config.server.listen.port(), 81);
        let flags = CliFlags { data_dir: Some("d".into()), ..CliFlags::default() };
        let config = load(&flags, env(&[("PORTAGE_DATA__DIR", "e")])).unwrap().config;
        assert_eq!(config.data.dir.to_str(), Some("d"));
    }

    #[test]
    fn a_text_stays_a_text() {
        let digits = "01234567890123456789012345678901";
        let config = with(
            "",
            &[
                ("PORTAGE_AUTH__HS256_SECRET", digits),
                ("PORTAGE_AUTH__ISSUER", "true"),
                ("PORTAGE_AUTH__TYP", "at+jwt, JWT"),
                ("PORTAGE_URL", "http://x"),
                ("PORTAGE_PORT", "tcp://10.0.0.1:80"),
            ],
        )
        .unwrap()
        .config;
        assert_eq!(config.auth.hs256_secret.reveal(), digits);
        assert_eq!(config.auth.issuer, "true");
        assert_eq!(config.auth.typ, ["at+jwt", "JWT"]);
        assert!(!format!("{config:?}").contains(digits), "masked");
        assert!(!serde_json::to_string(&config).unwrap().contains(digits), "masked");
    }

    #[test]
    fn an_unknown_key_is_named_with_its_line() {
        let found = fault("[server]\nlisten = \"127.0.0.1:1\"\nlistn = 3\n", &[]);
        assert!(found.contains("portage.toml:3: server.listn: no such setting"), "{found}");
        let found = fault("\n[sever]\nx = 1\n", &[]);
        assert!(found.contains("portage.toml:2: sever: no such setting"), "{found}");
        let found = fault("", &[("PORTAGE_ENGINE__RINK", "3")]);
        assert!(found.starts_with("PORTAGE_ENGINE__RINK: no such setting"), "{found}");
        let found = fault("", &[("PORTAGE_SERVR__LISTEN", "x")]);
        assert!(found.starts_with("PORTAGE_SERVR__LISTEN: no such setting"), "{found}");
    }

    /// Turns red where a name without two underscores is passed over in silence.
    #[test]
    fn a_variable_that_is_no_setting_is_refused() {
        let found = fault("", &[("PORTAGE_DATA_DIR", "/var/lib/portage")]);
        assert!(
            found.starts_with("PORTAGE_DATA_DIR: no such setting; PORTAGE_DATA__DIR"),
            "{found}"
        );
        let found = fault("", &[("PORTAGE_LISTEN", "x")]);
        assert!(found.starts_with("PORTAGE_LISTEN: no such setting. A variable is"), "{found}");
        let others = [
            ("PORTAGE_URL", "http://x"),
            ("PORTAGE_TOKEN", "x"),
            ("PORTAGE_LEDGER_TOKEN", "x"),
            ("PORTAGE_CA", "x"),
            ("PORTAGE_PORT", "tcp://10.0.0.1:80"),
            ("PORTAGE_PORT_80_TCP", "tcp://10.0.0.1:80"),
            ("PORTAGE_PORT_80_TCP_ADDR", "10.0.0.1"),
            ("PORTAGE_SERVICE_HOST", "10.0.0.1"),
            ("PORTAGE_API_SERVICE_PORT_HTTP", "80"),
            ("PORTAGE_API_PORT", "tcp://10.0.0.1:80"),
            ("PORTAGE_NOTHING", ""),
            ("PORTAGES", "x"),
        ];
        assert!(with("", &others).is_ok());
    }

    #[test]
    fn every_unknown_key_is_named_in_one_go() {
        let text = "a = 1\n[engine]\nx = 1\nlimits.y = 2\n[limits.daily_amount]\nUSDT = \"1\"\n";
        let found = fault(text, &[("PORTAGE_LOG__LEVLE", "x")]);
        let lines: Vec<_> = found.lines().collect();
        let expected = [
            "portage.toml:1: a: no such",
            "portage.toml:4: engine.limits: no such",
            "portage.toml:3: engine.x: no such",
            "PORTAGE_LOG__LEVLE: no such",
        ];
        assert_eq!(lines.len(), expected.len(), "{found}");
        for (line, part) in lines.iter().zip(expected) {
            assert!(line.contains(part), "{line}");
        }
    }

    #[test]
    fn a_wrong_kind_is_named_with_its_place() {
        for (text, says) in [
            (
                "[engine]\nring = \"many\"\n",
                ":2: engine.ring: must be a whole number from 0, not \"many\"",
            ),
            ("[engine]\nring = 99999999999999999999\n", ":2: engine.ring: must be"),
            ("[engine]\n\nring = -1\n", ":3: engine.ring: must be a whole number from 0, not -1"),
            ("engine = 3\n", ":1: engine: must be a table, not 3"),
            ("server.listen = \"x\"\n", ":1: server.listen: must be an address with a port"),
            ("auth = { typ = [\n\"a\", 3] }\n", ":1: auth.typ: must be a list of texts"),
            ("[log]\nformat = \"xml\"\n", ":2: log.format: must be `text` or `json`, not \"xml\""),
            ("work.listen = \"nowhere\"\n", ":1: work.listen: must be an address with a port"),
            (
                "[limits]\ndaily_amount.BTC = 1.5\n",
                ":2: limits.daily_amount.BTC: must be a text, not 1.5",
            ),
            ("[auth]\nissuer = 1979-05-27\n", ":2: auth.issuer: must be a text"),
            ("[auth]\ntyp = 1979-05-27\n", ":2: auth.typ: must be a list"),
            ("\n[engine\n", ":2: not TOML"),
            ("[engine]\nring = 1\nring = 2\n", ":3: not TOML"),
        ] {
            let found = fault(text, &[]);
            assert!(found.contains(says), "{text}: {found}");
        }
        let found = fault("", &[("PORTAGE_ENGINE__RING", "-1")]);
        assert!(found.starts_with("PORTAGE_ENGINE__RING: must be a whole number"), "{found}");
        let found = fault("[auth]\nhs256_secret = 4242\n", &[]);
        assert!(found.contains("hs256_secret: must be a text"), "{found}");
        assert!(!found.contains("4242"), "a secret is not repeated: {found}");
        let found = fault("server = 3\n", &[("PORTAGE_SERVER__LISTEN", "127.0.0.1:1")]);
        assert!(found.contains(":1: server: must be a table"), "{found}");
        let missing = CliFlags { config: Some("nowhere.toml".into()), ..CliFlags::default() };
        assert!(matches!(load(&missing, env(&[])), Err(ConfigError::NoFile(_))));
    }

    /// Turns red where an address in a file is read otherwise than that of `--listen`.
    #[test]
    fn an_address_to_listen_on_may_have_a_name() {
        let text = "[server]\nlisten = \"localhost:4000\"\n[work]\nlisten = 4001\n[spot]\nlisten = \"4002\"\n";
        let config = with(text, &[]).unwrap().config;
        let (server, work, spot) = (config.server.listen, config.work.listen, config.spot.listen);
        assert!(server.ip().is_loopback() && server.port() == 4000, "{server}");
        assert_eq!(work.map(|work| work.to_string()).as_deref(), Some("127.0.0.1:4001"));
        assert_eq!(spot.to_string(), "127.0.0.1:4002");
        let loaded = with(text, &[("SERVER_PORT", "81")]).unwrap();
        assert_eq!(loaded.config.server.listen.port(), 81);
        let loaded = with("", &[("PORTAGE_SERVER__LISTEN", "localhost:82")]).unwrap();
        assert_eq!(loaded.config.server.listen.port(), 82);
        let variable = Origin::Variable("PORTAGE_SERVER__LISTEN".to_owned());
        assert_eq!(*loaded.origin("server.listen"), variable);
    }

    /// Turns red where waits are texts alone, and where a misspelt asset in a limit passes.
    #[test]
    fn waits_are_numbers_and_assets_have_the_shape_of_symbols() {
        for text in ["[5, 300]", "[\"5\", \"300\"]"] {
            let text = format!("[webhooks]\nretry_seconds = {text}\n");
            assert_eq!(with(&text, &[]).unwrap().config.webhooks.waits(), [5_000, 300_000]);
        }
        let loaded = with("", &[("PORTAGE_WEBHOOKS__RETRY_SECONDS", "5,300")]).unwrap();
        assert_eq!(loaded.config.webhooks.waits(), [5_000, 300_000]);
        for text in ["[\"soon\"]", "[-1]", "5", "[1.5]"] {
            let found = fault(&format!("[webhooks]\nretry_seconds = {text}\n"), &[]);
            assert!(found.contains("must be a list of whole numbers"), "{text}: {found}");
        }
        for table in ["limits.daily_amount", "ops.daily_deposit_limit"] {
            for asset in ["usdt", "US-DT", "ABCDEFGHIJKLMNOPQ"] {
                let found = fault(&format!("[{table}]\n{asset} = \"5\"\n"), &[]);
                let says = format!(":2: {table}.{asset}: the symbol of an asset");
                assert!(found.contains(&says), "{found}");
            }
            assert!(with(&format!("[{table}]\nUSDT = \"5\"\n"), &[]).is_ok());
        }
    }

    /// Turns red where a variable of another program that is no text keeps the process from starting (run: a
    /// reader that panics), and where a setting that is none is passed over.
    #[test]
    fn only_settings_have_to_be_text() {
        use std::os::unix::ffi::OsStringExt as _;
        let odd = || OsString::from_vec(b"caf\xe9".to_vec());
        let read = |name: OsString, value: OsString| {
            of_process([("PORTAGE_LOG".into(), "info".into()), (name, value)].into_iter())
        };
        let kept = Ok(vec![("PORTAGE_LOG".to_owned(), "info".to_owned())]);
        assert_eq!(read("LS_COLORS".into(), odd()), kept);
        assert_eq!(read(odd(), "x".into()), kept);
        let fault = read("DATABASE_URL".into(), odd()).unwrap_err().to_string();
        assert_eq!(fault, "DATABASE_URL: must be text in UTF-8");
    }

    #[test]
    fn the_sources_own_names_work_or_are_refused() {
        // of a service that is called `server`, in Kubernetes
        let other = with("", &[("SERVER_PORT", "tcp://10.0.0.7:3000")]).unwrap();
        assert_eq!(*other.origin("server.listen"), Origin::Default);
        let found = fault("", &[("SERVER_PORT", "1"), ("PORTAGE_SERVER__LISTEN", "127.0.0.1:2")]);
        assert!(found.contains("say different things"), "{found}");
        let found = fault("", &[("SERVER_PORT", "http")]);
        assert_eq!(found, "SERVER_PORT: must be a port, not \"http\"");
        let loaded = with("[server]\nlisten = \"[::1]:9\"\n", &[("SERVER_PORT", "81")]).unwrap();
        assert_eq!(loaded.config.server.listen.to_string(), "[::1]:81");
        assert_eq!(*loaded.origin("server.listen"), Origin::Variable("SERVER_PORT".to_owned()));
        let loaded = with("", &[("PORTAGE_LOG", "debug"), ("PORTAGE_LOG_FORMAT", "json")]).unwrap();
        assert_eq!(loaded.config.log.level, "debug");
        assert_eq!(loaded.config.log.format, crate::config::LogFormat::Json);
        let found = fault("", &[("PORTAGE_LOG", "info"), ("PORTAGE_LOG__LEVEL", "debug")]);
        assert!(found.contains("PORTAGE_LOG and PORTAGE_LOG__LEVEL"), "{found}");
        let loaded = with("", &[("DATABASE_URL", "postgres://me:secret@x/y")]).unwrap();
        assert_eq!(loaded.config.database.url.reveal(), "postgres://me:secret@x/y");
        assert!(!format!("{:?}", loaded.config).contains("secret@"), "it is not shown");
        let found = fault("", &[("DATABASE_URL", "a"), ("PORTAGE_DATABASE__URL", "b")]);
        assert!(found.contains("DATABASE_URL and PORTAGE_DATABASE__URL"), "{found}");
        let found = fault("", &[("REDIS_URL", "x://y")]);
        assert!(found.starts_with("REDIS_URL: this release does not"), "{found}");
        for name in ["REDIS_URL", "KAFKA_BROKERS"] {
            assert!(with("", &[(name, "")]).is_ok(), "set to nothing is not set");
        }
        for name in ["NEXUS_API_URL", "MAX_RETRIES", "MAX_VERIFICATION_RETRIES"] {
            let idle = with("", &[(name, "10")]).unwrap().idle;
            assert_eq!(idle.len(), 1, "{name}");
            assert!(
                idle.iter().all(|said| said.starts_with(&format!("{name} is set"))),
                "{idle:?}"
            );
        }
    }

    /// Turns red where one of the source's names is read into another key, or into none.
    #[test]
    fn each_name_of_the_swaps_source_is_read_and_may_not_contradict() {
        const ADDRESS: &str = "7VbmmXo2LkfKQcuMnDA8HdbYBEdWkkDe2yqeCfeqMnNK";
        const VAULT: &str = "So11111111111111111111111111111111111111112";
        const MINT: &str = "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v";
        let names = [
            (
                "SOLANA_RPC_URL",
                "swap.solana_rpc_urls",
                "http://127.0.0.1:1,http://127.0.0.1:2",
                "http://127.0.0.1:3",
            ),
            ("SOL_MAIN_ACCOUNT", "swap.vault", VAULT, ADDRESS),
            ("VAULT_USDC_ACCOUNT", "swap.vault_account", ADDRESS, MINT),
            ("VAULT_KEYPAIR", "swap.keypair_file", "id.json", "other.json"),
            ("USDC_MINT", "swap.mint", MINT, ADDRESS),
            ("USDC_QUARANTINE_ACCOUNT", "swap.quarantine_account", MINT, VAULT),
            ("FLAT_FEE_USDD", "swap.flat_fee_usdd", "0.2", "0.3"),
            ("DYNAMIC_FEE_BPS", "swap.fee_bps", "20", "30"),
            ("MIN_DEPOSIT_USDC", "swap.min_deposit_usdc", "0.5", "0.7"),
            ("REFUND_TIMEOUT_SEC", "swap.refund_timeout_seconds", "60", "61"),
            ("USDC_CONFIRM_TIMEOUT_SEC", "swap.confirm_timeout_seconds", "61", "62"),
            ("STALE_DEPOSIT_QUARANTINE_SEC", "swap.stale_refund_seconds", "63", "64"),
            ("MAX_ACTION_ATTEMPTS", "swap.max_refund_rejections", "4", "5"),
            ("ACTION_RETRY_COOLDOWN_SEC", "swap.retry_cooldown_seconds", "9", "8"),
        ];
        let all: Vec<(&str, &str)> =
            names.iter().map(|(name, _, value, _)| (*name, *value)).collect();
        let loaded = with("", &all).unwrap();
        let swap = serde_json::to_value(&loaded.config.swap).unwrap();
        for (name, path, value, _) in names {
            assert_eq!(*loaded.origin(path), Origin::Variable(name.to_owned()), "{name}");
            let read = &swap[path.trim_start_matches("swap.")];
            let list = read.as_array().map(|list| {
                list.iter().filter_map(serde_json::Value::as_str).collect::<Vec<_>>().join(",")
            });
            let text = read.as_str().map(str::to_owned);
            let read = list.or(text).unwrap_or_else(|| read.to_string());
            assert_eq!(read, value, "{name}");
        }
        for (name, path, _, other) in names {
            let own = super::variable(path);
            let mut all = all.clone();
            all.push((&own, other));
            let found = fault("", &all);
            assert!(found.contains(&format!("{name} and {own}")), "{found}");
        }
    }

    #[test]
    fn what_cannot_be_is_refused_with_its_place() {
        let faults = [
            ("PORTAGE_SERVER__LISTEN", "0.0.0.0:3000", "loopback"),
            ("PORTAGE_AUTH__HS256_SECRET", "short", "32 bytes"),
            ("PORTAGE_AUTH__LEEWAY_SECONDS", "6", "at most 5"),
            ("PORTAGE_AUTH__JWKS_URL", "http://id.example/k", "begins with https"),
            ("PORTAGE_AUTH__JWKS_REFRESH_SECONDS", "0", "1 to 86400"),
            ("PORTAGE_AUTH__JWKS_MAX_STALE_SECONDS", "3", "4 to 2592000"),
            ("PORTAGE_AUTH__ISSUER", "a|b", "auth.issuer"),
            ("PORTAGE_AUTH__FORMER_ISSUERS", "a|b", "without `|`"),
            ("PORTAGE_AUTH__FORMER_ISSUERS", "a,portage", "not auth.issuer"),
            ("PORTAGE_AUTH__FORMER_ISSUERS", "a,b,a", "each once"),
            ("PORTAGE_ENGINE__BACKOFF_CAP_MS", "1", "backoff"),
            ("PORTAGE_ALERTS__WEBHOOK_URL", "https://a.b/c", "webhook_secret: at least 32 bytes"),
            ("PORTAGE_LIMITS__DAILY_AMOUNT__USDT", "0.0", "above 0"),
            ("PORTAGE_LIMITS__DAILY_AMOUNT__USDT", "1e6", "plain decimal"),
            ("PORTAGE_LOG__LEVEL", "verbose", "`off`"),
            ("PORTAGE_LOG__LEVEL", "info,engine", "`off`"),
        ];
        for (name, value, says) in faults {
            let found = fault("", &[(name, value)]);
            assert!(found.contains(says), "{name}: {found}");
        }
        let set = ("PORTAGE_AUTH__JWKS_FILE", "k.json");
        for other in [
            ("PORTAGE_AUTH__JWKS_URL", "https://id.example/k"),
            ("PORTAGE_AUTH__HS256_SECRET", SECRET),
        ] {
            assert!(with("", &[set]).is_ok() && with("", &[other]).is_ok());
            assert!(fault("", &[set, other]).contains("empty where auth.jwks_file"), "{other:?}");
        }
        let found = fault("", &[("PORTAGE_ALERTS__WEBHOOK_SECRET", SECRET)]);
        assert!(found.contains("nothing is posted"), "{found}");
        for url in ["http://a.b/c", "https://u:p@a.b/c", "ftp://127.0.0.1/c", "a.b/c"] {
            let hook =
                [("PORTAGE_ALERTS__WEBHOOK_URL", url), ("PORTAGE_ALERTS__WEBHOOK_SECRET", SECRET)];
            let found = fault("", &hook);
            assert!(found.starts_with("PORTAGE_ALERTS__WEBHOOK_URL: an address"), "{found}");
            assert!(!found.contains("u:p") && !found.contains(SECRET), "{found}");
        }
        let found = fault("[auth]\nleeway_seconds = 6\n[engine]\nring = 0\n", &[]);
        let lines: Vec<_> = found.lines().collect();
        assert!(lines[0].ends_with("portage.toml:2: auth.leeway_seconds: at most 5"), "{found}");
        assert!(lines[1].ends_with("portage.toml:4: engine.ring: above 0"), "{found}");
        assert_eq!(Config::default().broken(), []);
    }
}
