//! The settings of the server. The layers, from the lowest: defaults, `portage.toml` (or `--config`),
//! `PORTAGE_<SECTION>__<KEY>`.

pub(crate) mod address;
mod alerts;
mod audit;
mod auth;
mod backup;
pub(crate) mod chains;
mod conservation;
mod data;
mod database;
mod engine;
mod kafka;
mod ledgers;
mod limits;
mod log;
mod ops;
pub mod pages;
pub mod secret;
pub mod section;
mod server;
pub mod sources;
mod spot;
mod transfer;

pub use self::address::Address;
pub use self::alerts::Alerts;
pub use self::alerts::mail::Mail;
pub use self::alerts::webhooks::Webhooks;
pub use self::audit::Audit;
pub use self::auth::Auth;
pub use self::backup::Backup;
use self::chains::ChainSurroundings;
pub use self::chains::relay::{NearNetwork, Relay};
pub use self::chains::swap::{SolanaNetwork, Swap};
pub use self::conservation::Conservation;
pub use self::data::Data;
pub use self::database::Database;
pub use self::engine::Engine;
pub use self::kafka::{Kafka, KafkaSecurity};
pub use self::ledgers::{Ledger, LedgerForm, LedgerKind, Ledgers};
pub use self::limits::Limits;
pub use self::log::{Log, LogFormat};
pub use self::ops::Ops;
pub use self::pages::{print, reference};
pub use self::secret::Secret;
pub use self::server::{Server, Tls, Work};
pub use self::spot::Spot;
pub use self::transfer::Transfer;

use self::section::{Broken, SettingRules, section};
use flows::relay::State;
use kernel::flow::life::Life as _;
use kernel::retry::Backoff;
use std::collections::BTreeMap;
use std::path::PathBuf;

section! {
    /// Every setting that exists.
    Config {
        /// Where everything is stored.
        data: Data = Data::default(),
        /// PostgreSQL (15 and later) as the journal and the Funding ledger, for any number of processes.
        database: Database = Database::default(),
        /// Apache Kafka as the bus between the parts of the flow `account`, in a binary that was built with `--features kafka`.
        kafka: Kafka = Kafka::default(),
        /// The flow `relay`: tokens from our account on NEAR to any other. It is offered where `account_id` is set.
        relay: Relay = Relay::default(),
        /// The flow `swap_in`: deposits of USDC into a vault on Solana. It is offered where `vault_account` is set. This release has no adapter to Nexus: each deposit is given back, at its deadline at the latest.
        swap: Swap = Swap::default(),
        /// The address that clients connect to, and how long they are waited for.
        server: Server = Server::default(),
        /// Who may come in.
        auth: Auth = Auth::default(),
        /// What a caller waits for.
        transfer: Transfer = Transfer::default(),
        /// How transfers are carried.
        engine: Engine = Engine::default(),
        /// The ledgers, each an account type.
        ledgers: Ledgers = Ledgers::default(),
        /// How much one user may ask for. A repeat with the same key is never counted.
        limits: Limits = Limits::default(),
        /// When a person is told.
        alerts: Alerts = Alerts::default(),
        /// Endpoints that operators add, and what they are sent (`portage webhook`).
        webhooks: Webhooks = Webhooks::default(),
        /// The server that takes e-mail for endpoints of the kind `email`.
        mail: Mail = Mail::default(),
        /// Which actions take two operators, and how much one deposits by hand.
        ops: Ops = Ops::default(),
        /// The proof that nothing was lost.
        conservation: Conservation = Conservation::default(),
        /// A Spot core that is served by itself (`portage spot serve`).
        spot: Spot = Spot::default(),
        /// The pages for machines of `portage work`.
        work: Work = Work::default(),
        /// The record that may not be changed afterwards.
        audit: Audit = Audit::default(),
        /// Copies of everything, taken while serving.
        backup: Backup = Backup::default(),
        /// The log, on stderr.
        log: Log = Log::default(),
    }
}

/// Why the settings cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
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
    pub fn load(flags: &sources::CliFlags) -> Result<Self, ConfigError> {
        Ok(sources::load_here(flags)?.config)
    }

    /// What the settings' types cannot say, where it does not hold.
    pub fn broken(&self) -> Vec<Broken> {
        let mut rules = SettingRules::default();
        self.database.rules(&mut rules);
        let lease_ms = self.engine.lease_seconds.saturating_mul(1_000);
        self.kafka.rules(&mut rules, lease_ms);
        let (shared, workers) = (self.database.is_set(), self.engine.workers);
        let around = ChainSurroundings { shared, workers, lease_ms };
        self.relay.rules(&mut rules, around);
        self.swap.rules(&mut rules, around);
        self.server.rules(&mut rules);
        self.auth.rules(&mut rules, self.server.is_beyond_loopback());
        self.transfer.rules(&mut rules);
        self.engine.rules(&mut rules);
        self.ledgers.rules(&mut rules, lease_ms);
        self.limits.rules(&mut rules);
        self.alerts.rules(&mut rules);
        self.webhooks.rules(&mut rules);
        self.mail.rules(&mut rules);
        self.ops.rules(&mut rules);
        self.conservation.rules(&mut rules);
        self.spot.rules(&mut rules);
        self.work.rules(&mut rules);
        self.audit.rules(&mut rules);
        self.log.rules(&mut rules);
        rules.broken()
    }

    /// What the engine is started with.
    pub fn engine_settings(&self) -> ::engine::Settings {
        ::engine::Settings {
            sync_timeout_ms: self.transfer.sync_timeout_ms,
            open_timeout_ms: self.transfer.open_timeout_ms,
            ring: self.engine.ring,
            scan_interval_ms: self.engine.scan_interval_ms,
            backoff: Backoff { base: self.engine.backoff_base_ms, cap: self.engine.backoff_cap_ms },
            batch_max: self.engine.batch_max,
            fuse: self.engine.fuse,
            max_open: self.engine.max_open,
            conservation_interval_ms: self.conservation.interval_ms,
            ledger_assets: self.ledgers.assets(),
            irreversible: self.ledgers.irreversible(),
            alerts: ::engine::Alerts {
                after_retries: self.alerts.after_retries,
                after_seconds: self.alerts.after_seconds,
                target_pending_seconds: self.alerts.target_pending_seconds,
                compensation_failures: self.alerts.compensation_failures,
                ..::engine::Alerts::default()
            },
            limits: ::engine::Limits {
                transfers_per_day: self.limits.transfers_per_day,
                daily_amount: self.limits.daily_amount.clone(),
                warn_per_minute: self.limits.warn_per_minute,
            },
            owner_limits: BTreeMap::from([(State::FLOW, self.relay.limits())]),
            four_eyes: self.ops.four_eyes,
            issuers: self.auth.issuers(),
            cases_kept_ms: self.alerts.keep_days.saturating_mul(86_400_000),
            approval_ms: self.ops.approval_hours.saturating_mul(3_600_000),
            movement_limits: self.ops.daily_deposit_limit.clone(),
            movement_default: self.ops.default_deposit_limit,
            workers: self.engine.workers,
            lease_ms: self.engine.lease_seconds.saturating_mul(1_000),
            ..::engine::Settings::default()
        }
    }
}
