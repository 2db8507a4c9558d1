//! Settings: defaults, below `portage.toml` (or `--config`), below `PORTAGE_<SECTION>__<KEY>`.

use crate::layers;
use kernel::retry::Backoff;
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use std::path::PathBuf;

/// Every setting that exists.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Where everything is stored.
    pub data: Data,
    /// The door.
    pub server: Server,
    /// Who may come in.
    pub auth: Auth,
    /// What a caller waits for.
    pub transfer: Transfer,
    /// How transfers are carried.
    pub engine: Engine,
    /// The proof that nothing was lost.
    pub conservation: Conservation,
}

/// `[data]`
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Data {
    /// The folder; one process holds it at a time.
    pub dir: PathBuf,
}

/// `[server]`
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Server {
    /// Address and port; loopback only.
    pub listen: SocketAddr,
    /// `/metrics` and `/openapi.json` need no token, wherever the server listens.
    pub public_metrics: bool,
}

/// `[auth]`
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Auth {
    /// The only `iss` that is taken.
    pub issuer: String,
    /// The only `aud` that is taken.
    pub audience: String,
    /// For development: at least 32 bytes; empty takes the generated key in `data.dir`.
    pub hs256_secret: Secret,
    /// How far clocks may differ, at most 5.
    pub leeway_seconds: u64,
    /// The longest time between `iat` and `exp`.
    pub max_lifetime_seconds: u64,
    /// The header types that are taken.
    pub typ: Vec<String>,
    /// The claim that holds the user's id.
    pub user_claim: String,
}

/// `[transfer]`
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Transfer {
    /// How long a create waits for the end, from the durable opening.
    pub sync_timeout_ms: u64,
    /// How long it waits for the durable opening.
    pub open_timeout_ms: u64,
}

/// `[engine]`
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Engine {
    /// Places in the ring before each station.
    pub ring: usize,
    /// How often due rows are looked for.
    pub scan_interval_ms: u64,
    /// The first wait after an unknown answer.
    pub backoff_base_ms: u64,
    /// The longest wait.
    pub backoff_cap_ms: u64,
    /// The most that one batch carries.
    pub batch_max: usize,
    /// Open, withdraw and next claim in one write where the ledger allows it.
    pub fuse: bool,
    /// Creates are refused above so many open transfers.
    pub max_open: u64,
}

/// `[conservation]`
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Conservation {
    /// The time between two rounds of the check.
    pub interval_ms: u64,
}

/// A text that is never shown.
#[derive(Clone, Default, Deserialize)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    /// A secret of that text.
    pub const fn new(text: String) -> Self {
        Self(text)
    }

    /// The text itself, for the one place that needs it.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.0.is_empty() { "none" } else { "********" })
    }
}

impl Serialize for Secret {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(if self.0.is_empty() { "" } else { "********" })
    }
}

impl Default for Data {
    fn default() -> Self {
        Self { dir: PathBuf::from("./portage-data") }
    }
}

impl Default for Server {
    fn default() -> Self {
        Self { listen: SocketAddr::from(([127, 0, 0, 1], 3000)), public_metrics: false }
    }
}

impl Default for Auth {
    fn default() -> Self {
        Self {
            issuer: "portage".to_owned(),
            audience: "portage".to_owned(),
            hs256_secret: Secret::default(),
            leeway_seconds: 5,
            max_lifetime_seconds: 3600,
            typ: vec!["at+jwt".to_owned()],
            user_claim: "sub".to_owned(),
        }
    }
}

impl Default for Transfer {
    fn default() -> Self {
        Self { sync_timeout_ms: 500, open_timeout_ms: 5_000 }
    }
}

impl Default for Engine {
    fn default() -> Self {
        Self {
            ring: 10_000,
            scan_interval_ms: 1_000,
            backoff_base_ms: 100,
            backoff_cap_ms: 30_000,
            batch_max: 1_024,
            fuse: true,
            max_open: 1_000_000,
        }
    }
}

impl Default for Conservation {
    fn default() -> Self {
        Self { interval_ms: 10_000 }
    }
}

/// Why the settings cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The file that was named is not there.
    #[error("{0}: no such file")]
    NoFile(PathBuf),
    /// A setting is unknown, of the wrong kind, or contradicts another.
    #[error("{0}")]
    Bad(String),
}

impl Config {
    /// Reads the settings of a process.
    ///
    /// # Errors
    /// A file that is missing although it was named; an unknown key; a value that cannot be.
    pub fn load(flags: &layers::Flags) -> Result<Self, Error> {
        let config = layers::load(flags, std::env::vars())?;
        config.sound()?;
        Ok(config)
    }

    /// What the settings' types cannot say.
    pub(crate) fn sound(&self) -> Result<(), Error> {
        let Self { auth, engine, server, .. } = self;
        let secret = auth.hs256_secret.reveal().len();
        let rules = [
            (
                server.listen.ip().is_loopback(),
                "server.listen: only loopback addresses (127.0.0.1, ::1) until TLS or \
                 server.behind_proxy exists: tokens would cross the network in the clear",
            ),
            (
                secret == 0 || secret >= 32,
                "auth.hs256_secret: at least 32 bytes, or empty for the generated key",
            ),
            (auth.leeway_seconds <= 5, "auth.leeway_seconds: at most 5"),
            (auth.max_lifetime_seconds > 0, "auth.max_lifetime_seconds: above 0"),
            (!auth.typ.is_empty(), "auth.typ: at least one type"),
            (
                !auth.issuer.is_empty() && !auth.issuer.contains('|'),
                "auth.issuer: not empty and without `|`, which parts issuer and subject",
            ),
            (!auth.audience.is_empty(), "auth.audience: not empty"),
            (!auth.user_claim.is_empty(), "auth.user_claim: not empty"),
            (engine.ring > 0, "engine.ring: above 0"),
            (engine.batch_max > 0, "engine.batch_max: above 0"),
            (engine.scan_interval_ms > 0, "engine.scan_interval_ms: above 0"),
            (engine.max_open > 0, "engine.max_open: above 0"),
            (
                engine.backoff_base_ms > 0 && engine.backoff_base_ms <= engine.backoff_cap_ms,
                "engine.backoff_base_ms: above 0 and not above engine.backoff_cap_ms",
            ),
            (self.transfer.open_timeout_ms > 0, "transfer.open_timeout_ms: above 0"),
            (self.conservation.interval_ms > 0, "conservation.interval_ms: above 0"),
        ];
        match rules.into_iter().find(|(holds, _)| !holds) {
            Some((_, rule)) => Err(Error::Bad(rule.to_owned())),
            None => Ok(()),
        }
    }

    /// What the engine is started with.
    pub fn engine_settings(&self) -> engine::Settings {
        engine::Settings {
            sync_timeout_ms: self.transfer.sync_timeout_ms,
            open_timeout_ms: self.transfer.open_timeout_ms,
            ring: self.engine.ring,
            scan_interval_ms: self.engine.scan_interval_ms,
            backoff: Backoff { base: self.engine.backoff_base_ms, cap: self.engine.backoff_cap_ms },
            batch_max: self.engine.batch_max,
            fuse: self.engine.fuse,
            max_open: self.engine.max_open,
            conservation_interval_ms: self.conservation.interval_ms,
            irreversible: Vec::new(),
        }
    }
}
