//! The settings of the engine, each with its default: timeouts, thresholds of cases, limits of users.

use crate::plan::planner::FuseMode;
use kernel::ids::{LedgerId, Millis};
use kernel::money::Amount;
use kernel::retry::Backoff;
use kernel::unit::Guard;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The engine's settings; defaults are those of `spec/storage.md`.
#[derive(Debug, Clone)]
pub struct Settings {
    /// How long a caller waits for the end, from the durable opening.
    pub sync_timeout_ms: Millis,
    /// How long a caller waits for the durable opening.
    pub open_timeout_ms: Millis,
    /// How many transfers may wait at the intake, and at each station.
    pub ring: usize,
    /// How often the scanner asks the journal for due transfers.
    pub scan_interval_ms: Millis,
    /// The waits between attempts.
    pub backoff: Backoff,
    /// The most items of one batch.
    pub batch_max: usize,
    /// Calls at an enlisted ledger are part of the unit that leads to them.
    pub fuse: bool,
    /// The most open transfers: above it the intake refuses.
    pub max_open: u64,
    /// How often conservation is proven.
    pub conservation_interval_ms: Millis,
    /// The symbols of the assets that a ledger holds; one without an entry may hold all.
    pub ledger_assets: BTreeMap<LedgerId, BTreeSet<String>>,
    /// Ledgers that cannot give back what they withdrew.
    pub irreversible: Vec<LedgerId>,
    /// The thresholds of cases.
    pub alerts: Alerts,
    /// The limits of one user.
    pub limits: Limits,
    /// The limits of one owner that is no user, by the flow's name. A flow without an entry has none of its
    /// own.
    pub owner_limits: BTreeMap<&'static str, OwnerLimits>,
    /// The guard of each opening for a client, by the flow's name, that what the process relies on there is still so in
    /// the journal. Where it fails nothing is opened.
    pub opening_guards: BTreeMap<&'static str, Guard>,
    /// Verdicts and the resume from HALT take effect when another person approves.
    pub four_eyes: bool,
    /// Every issuer of tokens that there was, the oldest first and the present one among them: a client's
    /// key counts once for a subject, whichever issuer signed for it. Empty: each issuer counts by itself.
    pub issuers: Vec<Arc<str>>,
    /// How long closed cases are kept, in milliseconds; 0 keeps all.
    pub cases_kept_ms: Millis,
    /// How long a proposal may be approved, by the journal's time.
    pub approval_ms: Millis,
    /// The most of an asset that one operator deposits by hand on one UTC day without a second person, and
    /// the most that one withdraws, by its symbol, as a decimal in its unit.
    pub movement_limits: BTreeMap<String, String>,
    /// The same in whole units, for an asset that is not named there; 0 is no bound.
    pub movement_default: u64,
    /// This process carries transfers. Off: it opens them for the workers of other processes, and its
    /// waiting callers get the result of those.
    pub workers: bool,
    /// The waits before the message of a transfer that does not go on is sent again.
    pub resend: Backoff,
    /// How long this worker's lease outlives its last renewal, where others share the journal.
    pub lease_ms: Millis,
}

/// The thresholds of cases; defaults are those of `spec/storage.md`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Alerts {
    /// `STUCK` after this many unknown answers.
    pub after_retries: u32,
    /// `STUCK` after this many seconds without an end.
    pub after_seconds: u64,
    /// `TARGET_PENDING` after this many seconds in a state that calls the target.
    pub target_pending_seconds: u64,
    /// `COMPENSATION` after this many unknown answers to a refund.
    pub compensation_failures: u32,
    /// `LEDGER_SILENT` after this many seconds without an answer of a ledger.
    pub silent_seconds: u64,
}

impl Default for Alerts {
    fn default() -> Self {
        Self {
            after_retries: 10,
            after_seconds: 300,
            target_pending_seconds: 60,
            compensation_failures: 3,
            silent_seconds: 60,
        }
    }
}

/// The limits of one user on one day in UTC, by the journal's time; 0 or `None` is no limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// The most transfers of one day.
    pub transfers_per_day: u64,
    /// The most of an asset on one day, by its symbol, as a decimal in its unit. An asset's own
    /// limit holds beside it.
    pub daily_amount: BTreeMap<String, String>,
    /// `ABNORMAL_FREQUENCY` above this many creates of one user in a minute.
    pub warn_per_minute: u32,
}

/// The limits of one owner that is no user, in one flow. A day is one in UTC, by the journal's time. 0 or
/// `None` is no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OwnerLimits {
    /// The most base units of one transfer.
    pub amount_per_transfer: Option<Amount>,
    /// The most transfers of one day.
    pub transfers_per_day: u64,
    /// The most base units of one asset on one day.
    pub amount_per_day: Option<Amount>,
}

impl Default for Limits {
    fn default() -> Self {
        Self { transfers_per_day: 0, daily_amount: BTreeMap::new(), warn_per_minute: 60 }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            sync_timeout_ms: 500,
            open_timeout_ms: 5_000,
            ring: 10_000,
            scan_interval_ms: 1_000,
            backoff: Backoff { base: 100, cap: 30_000 },
            batch_max: 1_024,
            fuse: true,
            max_open: 1_000_000,
            conservation_interval_ms: 10_000,
            ledger_assets: BTreeMap::new(),
            irreversible: Vec::new(),
            alerts: Alerts::default(),
            limits: Limits::default(),
            owner_limits: BTreeMap::new(),
            opening_guards: BTreeMap::new(),
            four_eyes: true,
            issuers: Vec::new(),
            cases_kept_ms: 90 * 86_400_000,
            approval_ms: 24 * 3_600_000,
            movement_limits: BTreeMap::new(),
            movement_default: 0,
            workers: true,
            resend: Backoff { base: 60_000, cap: 3_600_000 },
            lease_ms: 60_000,
        }
    }
}

impl Settings {
    /// How far a unit may go where nothing is paused.
    pub(crate) const fn fuse_mode(&self) -> FuseMode {
        if self.fuse { FuseMode::Fused } else { FuseMode::Plain }
    }
}
