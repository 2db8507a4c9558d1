//! Watches the vaults of chains: it reads on from the stored cursor, and stores what moved each vault's money.
//!
//! One worker watches a vault, by a lease in the cursor's row; the others stand by. The lease saves calls alone: the
//! cursor is compared and swapped, so a page is stored once. A page that does not begin at the balance with which the one
//! before ended leaves a movement out, and nothing of it is stored. Money that left a vault without a stored attempt stops
//! its chain.

use crate::drive::foreign_payments::ForeignPayments;
use crate::enter::observed_deposits::{Cursor, Observation, ObservationResult, ObservedDeposits};
use crate::enter::vault_page::{FoundDeposit, PageContent, PageVault, paid_in};
use crate::state::parts::Parts;
use crate::state::select::caught;
use crate::state::shared::SharedState;
use kernel::answer::Cause;
use kernel::books::vault::{StoredCursor, VaultCursor, cursor_name};
use kernel::ids::{ChainId, Millis};
use kernel::money::Amount;
use kernel::ports::deposits::{DepositSource, VAULT_GAP, VaultMovement, VaultPage};
use kernel::unit::{Guard, Put, Unit};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The longest time for which a worker watches a vault before it renews that, in milliseconds. Another worker takes over
/// after it, or after a lease of its own where that is shorter.
const WATCH: Millis = 10_000;
/// The number of movements that a page is asked for, and the most openings of one unit.
const PAGE: usize = 100;
/// The class of a cause for which the process does not start: the store has the cursor of another vault.
const OTHER_VAULT: &str = "OTHER_VAULT";

/// What this process knows of the reading of a vault.
#[derive(Debug)]
struct ReadProgress {
    /// The chain's time up to which every movement is stored.
    read_to: Millis,
    /// Why this process could not read on.
    trouble: Option<Cause>,
}

/// A vault that this process may watch.
pub(crate) struct Vault {
    source: Arc<dyn DepositSource>,
    /// The name of the cursor's row.
    name: Arc<str>,
    reading: Mutex<ReadProgress>,
}

impl Vault {
    fn reading(&self) -> MutexGuard<'_, ReadProgress> {
        self.reading.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn has_read(&self, to: Millis) {
        let mut reading = self.reading();
        reading.read_to = if to > reading.read_to { to } else { reading.read_to };
    }

    pub(crate) fn chain(&self) -> ChainId {
        self.source.chain()
    }

    /// Why the watch is behind its chain by more than is normal at this time; `None`: it is not.
    pub(crate) fn behind(&self, now: Millis) -> Option<Arc<str>> {
        let reading = self.reading();
        let age = now.saturating_sub(reading.read_to);
        if age <= self.source.normal_lag() {
            return None;
        }
        let why = reading.trouble.as_ref().map(|cause| format!(": {cause}")).unwrap_or_default();
        let vault = self.source.vault();
        Some(
            format!("the movements of the last {} s of {vault} are not read{why}", age / 1_000)
                .into(),
        )
    }
}

/// Watches every vault that the process was given.
pub(crate) struct VaultWatch {
    shared: Arc<SharedState>,
    observed: Arc<ObservedDeposits>,
    payments: Arc<ForeignPayments>,
    pub(crate) vaults: Vec<Arc<Vault>>,
}

impl VaultWatch {
    pub(crate) fn new(
        shared: &Arc<SharedState>,
        observed: &Arc<ObservedDeposits>,
        payments: &Arc<ForeignPayments>,
    ) -> Arc<Self> {
        let now = shared.parts.journal.now();
        let vault = |source: &Arc<dyn DepositSource>| {
            let name = cursor_name(source.chain(), shared.plan.table(source.flow()).flow);
            let reading = Mutex::new(ReadProgress { read_to: now, trouble: None });
            Arc::new(Vault { source: source.clone(), name, reading })
        };
        Arc::new(Self {
            vaults: shared.parts.deposits.iter().map(vault).collect(),
            shared: shared.clone(),
            observed: observed.clone(),
            payments: payments.clone(),
        })
    }

    /// Reads on for ever.
    pub(crate) async fn run_vault_watch(self: Arc<Self>, vault: Arc<Vault>) {
        let mut failures = 0_u32;
        loop {
            let read = caught(self.read_on(&vault)).await;
            let wait = match read.unwrap_or_else(|| Err(Cause::of("PANIC"))) {
                Ok(wait) => {
                    failures = 0;
                    vault.reading().trouble = None;
                    wait
                }
                Err(cause) => {
                    failures = failures.saturating_add(1);
                    tracing::warn!(chain = vault.chain().name(), %cause, "the vault is not read");
                    vault.reading().trouble = Some(cause);
                    let parts = &self.shared.parts;
                    parts.settings.backoff.wait(failures, parts.rng.next())
                }
            };
            if wait > 0 {
                self.shared.parts.clock.sleep(wait).await;
            }
        }
    }

    fn watch_ms(&self) -> Millis {
        let lease = self.shared.parts.settings.lease_ms;
        if lease < WATCH { lease } else { WATCH }
    }

    /// Reads and stores one page, where no other worker watches the vault. Returns how long to wait before the next.
    async fn read_on(&self, vault: &Vault) -> Result<Millis, Cause> {
        let Parts { journal, worker, .. } = &self.shared.parts;
        let row = journal.resource(vault.name.clone()).await?;
        let stored = row.as_ref().map(StoredCursor::read).transpose()?;
        let cursor = stored.as_ref().map(|stored| &stored.cursor);
        let left = cursor.map_or(0, |cursor| cursor.until.saturating_sub(journal.now()));
        let mine = cursor.is_some_and(|cursor| cursor.worker == *worker);
        if let Some(cursor) = cursor {
            vault.has_read(cursor.read_to);
        }
        if self.shared.controls.draining() {
            return Ok(self.watch_ms());
        }
        if left > 0 && !mine && self.shared.lease.ends() {
            return Ok(left);
        }
        let page = vault.source.movements(cursor.map(|cursor| &*cursor.place), PAGE).await?;
        continues(cursor, &page)?;
        let (more, read_to) = (page.more, page.read_to);
        let next = if more { 0 } else { vault.source.interval() };
        if mine && page.movements.is_empty() && left > self.watch_ms() / 2 {
            vault.has_read(read_to);
            return Ok(next);
        }
        match self.store_page(vault, stored.as_ref(), page).await? {
            ObservationResult::Stored(_) => vault.has_read(read_to),
            ObservationResult::Superseded => return Ok(vault.source.interval()),
        }
        Ok(next)
    }

    /// Stores the movements of a page and the cursor behind them, in one unit.
    async fn store_page(
        &self,
        vault: &Vault,
        stored: Option<&StoredCursor>,
        page: VaultPage,
    ) -> Result<ObservationResult, Cause> {
        let chain = vault.source.chain();
        let ahead = stored.map_or(Amount::ZERO, |stored| stored.cursor.ahead);
        let mut cursor = VaultCursor {
            vault: vault.source.vault(),
            asset: vault.source.asset(),
            place: page.place.clone(),
            balance: page.after,
            ahead: Amount::ZERO,
            read_to: page.read_to,
            worker: self.shared.parts.worker,
            until: self.watched_until(),
        };
        if stored.is_none() {
            let VaultCursor { vault, place, balance, .. } = &cursor;
            tracing::info!(chain = chain.name(), %vault, %place, %balance, "the watch of the vault begins");
        }
        let asset = vault.source.asset();
        let page_vault =
            PageVault { chain, flow: vault.source.flow(), asset, begins: stored.is_none() };
        let PageContent { mut deposits, beside, objections } =
            PageContent::of(&self.shared, page_vault, page).await?;
        let mut beside = Unit::puts(beside);
        // what was opened before its place was passed is a beginning of what is deposited behind it
        cursor.ahead = ahead.minus(paid_in(&deposits)).unwrap_or(Amount::ZERO);
        let mut opened = Amount::ZERO;
        let mut version = stored.map_or(0, |stored| stored.version);
        let most = self.shared.parts.settings.batch_max;
        let most = if most < PAGE { most } else { PAGE };
        while let Some(stored) = stored.filter(|_| deposits.len() > most) {
            let part: Vec<FoundDeposit> = deposits.drain(..most).collect();
            opened = Amount(opened.0.saturating_add(paid_in(&part).0));
            let until = self.watched_until();
            let ahead = if opened > ahead { opened } else { ahead };
            let first = VaultCursor { until, ahead, ..stored.cursor.clone() };
            let first = observation(vault, version, &first, part);
            if self.observed.store_observation(first).await? == ObservationResult::Superseded {
                return Ok(ObservationResult::Superseded);
            }
            version = version.saturating_add(1);
        }
        let case = self.payments.stop_in(chain, &mut beside, &objections).await?;
        let last = observation(vault, version, &cursor, deposits);
        let last = Observation { beside: beside.then.puts, ..last };
        let result = self.observed.store_observation(last).await;
        let written = matches!(result, Ok(ObservationResult::Stored(_)));
        self.payments.stop_ends(case, written).await?;
        result
    }

    fn watched_until(&self) -> Millis {
        self.shared.parts.journal.now().saturating_add(self.watch_ms())
    }

    /// Leaves each vault that this worker watches to the others.
    pub(crate) async fn leave(&self) {
        for vault in &self.vaults {
            if let Err(cause) = self.leave_one(vault).await {
                tracing::warn!(%cause, "another worker waits before it watches the vault");
            }
        }
    }

    async fn leave_one(&self, vault: &Vault) -> Result<(), Cause> {
        let Some(row) = self.shared.parts.journal.resource(vault.name.clone()).await? else {
            return Ok(());
        };
        let cursor = StoredCursor::read(&row)?.cursor;
        if cursor.worker == self.shared.parts.worker {
            let left = VaultCursor { until: 0, ..cursor };
            let guard = Guard::Resource { name: row.name.clone(), version: row.version };
            let put = Put::Resource { name: row.name, value: left.value() };
            self.shared.writer.write(Unit::guarded(vec![guard], vec![put])).await.done("MOVED")?;
        }
        Ok(())
    }
}

/// Openings with a cursor. A cursor that stays before its page opens some of them: a block may have more than one unit
/// takes. Where the process dies then, the page is read again, and what was opened is known by its place on the chain.
fn observation(
    vault: &Vault,
    version: u32,
    cursor: &VaultCursor,
    deposits: Vec<FoundDeposit>,
) -> Observation {
    let (chain, flow) = (vault.source.chain(), vault.source.flow());
    let cursor = Cursor { name: vault.name.clone(), version, value: cursor.value() };
    let deposits = deposits.into_iter().map(|deposit| deposit.terms).collect();
    Observation { chain, flow, cursor, deposits, beside: Vec::new() }
}

/// Checks that a page begins with the balance at which the last one ended, and that its movements lead to the balance
/// with which it ends.
///
/// # Errors
/// `VAULT_GAP`.
fn continues(stored: Option<&VaultCursor>, page: &VaultPage) -> Result<(), Cause> {
    let gap = |why: String| Err(Cause::because(VAULT_GAP, why));
    if let Some(cursor) = stored.filter(|cursor| cursor.balance != page.before) {
        return gap(format!(
            "the vault had {}, and the page begins with {}",
            cursor.balance, page.before
        ));
    }
    let moved = |balance: Option<Amount>, movement: &VaultMovement| match movement {
        VaultMovement::Deposited(terms) => balance?.plus(terms.source.amount),
        VaultMovement::Funded(amount) | VaultMovement::TakenIn(amount) => balance?.plus(*amount),
        VaultMovement::Left { amount, .. } => balance?.minus(*amount),
        VaultMovement::Offered(_) => balance,
    };
    let after = page.movements.iter().fold(Some(page.before), moved);
    if after == Some(page.after) {
        return Ok(());
    }
    let says = after.map_or_else(|| "none".to_owned(), |after| after.to_string());
    gap(format!("the movements lead to {says}, and the vault has {}", page.after))
}

/// Checks that each vault is one that the store knows, or none is stored yet.
///
/// # Errors
/// [`OTHER_VAULT`]; `NO_FLOW` where a vault's flow is not offered; why the journal does not answer.
pub(crate) async fn fits(parts: &Parts) -> Result<(), Cause> {
    for source in &parts.deposits {
        let (chain, flow) = (source.chain(), source.flow());
        let table = parts.flows.table(flow);
        if !parts.offered.contains(&flow) {
            return Err(Cause::because("NO_FLOW", table.flow));
        }
        let Some(row) = parts.journal.resource(cursor_name(chain, table.flow)).await? else {
            continue;
        };
        let (stored, given) = (StoredCursor::read(&row)?.cursor.vault, source.vault());
        if stored != given {
            let why =
                format!("{}: the store has {stored}, the settings name {given}", chain.name());
            return Err(Cause::because(OTHER_VAULT, why));
        }
    }
    Ok(())
}
