//! Compares each vault with its books, at one instant of the journal.
//!
//! Three comparisons, each exact. What the vault has and its books are equal at every instant. What was read as paid is
//! booked as paid once every attempt that was open then is closed. What is booked as paid was read as paid once the watch
//! has passed the time of the booking. The first finds money that left or came without a booking; the second a payment
//! whose transfer was given up; the third one that never was on the chain.

use crate::reconciliation::Reconciler;
use kernel::answer::Cause;
use kernel::attempt::AttemptId;
use kernel::books::vault::{CURSORS, VaultBooks};
use kernel::books::{ChainBook, PREFIX};
use kernel::ids::{ChainId, Millis};
use kernel::ports::journal::SnapshotSource;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

/// How far a chain's time may be ahead of the journal's, in milliseconds: the watch has passed a time of the journal once
/// it has read this far behind it.
const CHAIN_AHEAD: Millis = 600_000;

/// Reads every vault that was ever watched, with its books, at one instant.
///
/// # Errors
/// The cause for which the journal does not answer; `BAD_CURSOR`.
pub async fn read_vaults<S: SnapshotSource + ?Sized>(
    journal: &S,
) -> Result<Vec<VaultBooks>, Cause> {
    Ok(read(journal).await?.0)
}

/// The vaults, and every chain on which books are kept.
async fn read<S: SnapshotSource + ?Sized>(
    journal: &S,
) -> Result<(Vec<VaultBooks>, BTreeSet<ChainId>), Cause> {
    let mut snapshot = journal.snapshot().await?;
    let rows = snapshot.resources(CURSORS.into()).await?;
    let counters = snapshot.counters(PREFIX.into()).await?;
    drop(snapshot);
    let vaults = rows.iter().map(|row| VaultBooks::of(row, &counters)).collect::<Result<_, _>>()?;
    Ok((vaults, counters.keys().filter_map(|name| ChainBook::chain_of(name)).collect()))
}

/// What is wrong between a vault and its books.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct VaultFault {
    /// The vault has less than it should; otherwise it has more.
    pub short: bool,
    pub facts: Arc<str>,
}

/// The comparison of one vault with its books.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct VaultComparison {
    pub chain: ChainId,
    pub faults: Vec<VaultFault>,
    /// This process compared what was read with what was booked, since it began.
    pub settled: [bool; 2],
}

/// The comparisons of the last round.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct VaultRound {
    pub vaults: Vec<VaultComparison>,
    /// The chains on which books are kept: what is short on one stops all.
    pub chains: BTreeSet<ChainId>,
}

/// What went out and in, as it was at an earlier round.
#[derive(Debug, Clone, Copy, Default)]
struct VaultFlows {
    paid: u128,
    taken: u128,
}

impl VaultFlows {
    fn read(books: &VaultBooks) -> Self {
        Self { paid: books.says(ChainBook::ReadOut), taken: books.says(ChainBook::ReadIn) }
    }

    fn booked(books: &VaultBooks) -> Self {
        Self { paid: books.says(ChainBook::PaidOut), taken: books.says(ChainBook::TakenIn) }
    }

    /// How much of these is not among those, out and in.
    fn beyond(self, other: Self) -> Self {
        Self {
            paid: self.paid.saturating_sub(other.paid),
            taken: self.taken.saturating_sub(other.taken),
        }
    }
}

/// What a vault's comparison waits for.
#[derive(Debug, Default)]
struct VaultHistory {
    /// What was read, and the attempts of which some were open after that; `None`: not asked yet.
    read: Option<(VaultFlows, Option<BTreeSet<AttemptId>>)>,
    /// What was booked, and when.
    booked: Option<(VaultFlows, Millis)>,
    /// What was read and never booked.
    unbooked: Option<VaultFlows>,
    /// What was booked and never read.
    unread: Option<VaultFlows>,
}

impl VaultHistory {
    /// Compares with an instant; `open` are the attempts that were open before it.
    fn compare(&mut self, books: &VaultBooks, open: &BTreeSet<AttemptId>, now: Millis) {
        let (read, booked) = (VaultFlows::read(books), VaultFlows::booked(books));
        self.read = Some(match self.read.take() {
            None => (read, None),
            Some((before, waiting)) => {
                let mut waiting = waiting.unwrap_or_else(|| open.clone());
                waiting.retain(|attempt| open.contains(attempt));
                if waiting.is_empty() {
                    // an attempt is closed by the unit that books it: all that was read then is booked by now
                    self.unbooked = Some(before.beyond(booked));
                    (read, None)
                } else {
                    (before, Some(waiting))
                }
            }
        });
        let (before, at) = self.booked.unwrap_or((booked, now));
        self.booked = Some(if books.cursor.read_to >= at.saturating_add(CHAIN_AHEAD) {
            self.unread = Some(before.beyond(read));
            (booked, now)
        } else {
            (before, at)
        });
    }

    fn faults(&self, books: &VaultBooks) -> Vec<VaultFault> {
        let VaultBooks { chain, flow, cursor, .. } = books;
        let vault = format!("the vault of {flow} on {} ({})", chain.name(), cursor.vault);
        let (unbooked, unread) =
            (self.unbooked.unwrap_or_default(), self.unread.unwrap_or_default());
        let difference = books.difference();
        let (size, is_less) = (difference.unsigned_abs(), difference < 0);
        let [less, more] = if is_less { [size, 0] } else { [0, size] };
        let found = [
            (true, less, "less than its books say"),
            (false, more, "more than its books say"),
            (true, unbooked.paid, "paid by an attempt that is over and booked no payment"),
            (false, unbooked.taken, "taken in by no attempt that booked it"),
            (false, unread.paid, "booked as paid, and never seen to leave it"),
            (true, unread.taken, "booked as taken in, and never seen to come in"),
        ];
        let fault = |(short, amount, what): (bool, u128, &str)| VaultFault {
            short,
            facts: format!("{vault}: {amount} {what}").into(),
        };
        found.into_iter().filter(|(_, amount, _)| *amount > 0).map(fault).collect()
    }
}

/// What the rounds remember, and the last of them.
#[derive(Debug, Default)]
pub(super) struct VaultRounds {
    histories: tokio::sync::Mutex<BTreeMap<(ChainId, Arc<str>), VaultHistory>>,
    last: Mutex<Option<Arc<VaultRound>>>,
}

impl Reconciler {
    /// The comparisons of the last round; `None`: there was none yet.
    pub(crate) fn vault_round(&self) -> Option<Arc<VaultRound>> {
        self.vaults.last.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Compares every vault with its books, where this process carries a flow that keeps some.
    pub(super) async fn compare_vaults(&self) -> Result<(), Cause> {
        let parts = &self.shared.parts;
        let keeps = |flow: &kernel::ids::FlowId| {
            parts.flows.table(*flow).states.iter().any(|row| row.booking.is_some())
        };
        if !parts.offered.iter().any(keeps) {
            return Ok(());
        }
        let mut histories = self.vaults.histories.lock().await;
        // those of every process: one that watches need not send
        let chains: BTreeSet<ChainId> = histories.keys().map(|(chain, _)| *chain).collect();
        let mut open = BTreeMap::new();
        for chain in chains {
            let attempts = parts.journal.open_attempts(chain).await?;
            open.insert(chain, attempts.iter().map(|attempt| attempt.id).collect());
        }
        let (books, chains) = read(&*parts.journal).await?;
        let now = parts.journal.now();
        let none = BTreeSet::new();
        let mut vaults = Vec::with_capacity(books.len());
        for books in &books {
            let history = histories.entry((books.chain, books.flow.clone())).or_default();
            history.compare(books, open.get(&books.chain).unwrap_or(&none), now);
            let settled = [history.unbooked.is_some(), history.unread.is_some()];
            let (chain, faults) = (books.chain, history.faults(books));
            vaults.push(VaultComparison { chain, faults, settled });
        }
        let round = Arc::new(VaultRound { vaults, chains });
        *self.vaults.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(round);
        Ok(())
    }
}
