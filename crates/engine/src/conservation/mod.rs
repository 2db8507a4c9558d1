//! The proof of conservation on a live system (`ledgers.md` §3).
//!
//! Facts are never taken back and come in the order claim, effect, receipt, final. So whoever reads
//! the outside ledgers first and the journal afterwards finds, for each effect, the claim before it:
//! whatever is missing then is missing. In the other order every busy moment looks like a loss.

mod lines;
mod outside;
mod running;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod world;

pub use kernel::conserve::Break;

use kernel::answer::Cause;
use kernel::conserve::{self, Laws};
use kernel::ids::{AssetId, LedgerId, Millis};
use kernel::people::Accepted;
use kernel::ports::journal::{Journal, Snapshot};
use kernel::ports::ledger::{Form, Ledger, Totals};
use kernel::table::Flows;
use lines::Lines;
use outside::Outside;
use running::Running;
use std::collections::BTreeMap;
use std::sync::Arc;

/// How much is read at once.
const PAGE: usize = 1_000;
/// Above every number of an operation, and within what a database takes.
const EVERY: u64 = u64::MAX >> 1;
/// More breaks than these tell nobody more.
const MOST_BREAKS: usize = 1_000;

/// One ledger's books of one asset.
#[derive(Debug, Clone)]
pub struct AssetLine {
    /// What.
    pub asset: AssetId,
    /// Where.
    pub ledger: LedgerId,
    /// The books.
    pub totals: Totals,
}

/// What one round found.
#[derive(Debug, Clone)]
pub struct Report {
    /// When it ended, by the journal's time.
    pub at: Millis,
    /// Its number, from 1.
    pub round: u64,
    /// No break.
    pub ok: bool,
    /// The books of every ledger that answered.
    pub assets: Vec<AssetLine>,
    /// Money that is not where the evidence says.
    pub breaks: Vec<Break>,
    /// Breaks that persons accepted, with this key and amount: no part of `breaks`.
    pub accepted: Vec<Break>,
    /// Operations that wait for their receipt.
    pub waiting: usize,
    /// Every operation row was counted, as it is at start, once a day and after a break.
    pub recounted: bool,
}

impl Report {
    /// Takes the accepted breaks out of those that are not.
    pub fn excuse(&mut self, accepted: &[Accepted]) {
        let excused = |found: &Break| {
            accepted.iter().any(|a| *a.key == *found.key && a.amount == found.amount)
        };
        let (excused, left) = std::mem::take(&mut self.breaks).into_iter().partition(excused);
        self.accepted.extend::<Vec<_>>(excused);
        self.breaks = left;
        self.ok = self.breaks.is_empty();
    }
}

/// Proves conservation, round by round. Its memory is bounded by pages and by what is open.
#[derive(Debug, Default)]
pub struct Checker {
    round: u64,
    outside: BTreeMap<LedgerId, Outside>,
    lines: Lines,
    running: Running,
    /// Kept over rounds that could not be finished, so that no break is lost with them.
    breaks: BTreeMap<String, Break>,
}

/// The rules, and what broke them.
struct Inquiry<'a> {
    laws: Laws,
    running: &'a mut Running,
    breaks: &'a mut BTreeMap<String, Break>,
}

impl Inquiry<'_> {
    fn add(&mut self, breaks: impl IntoIterator<Item = Break>) {
        for found in breaks {
            if self.breaks.len() < MOST_BREAKS {
                self.breaks.entry(found.key.clone()).or_insert(found);
            }
        }
    }
}

impl Checker {
    /// Goes on as another one, which began anew; the rounds are counted on. The last round's number.
    pub(crate) fn replaced(&mut self, mut fresh: Self) -> u64 {
        fresh.round = self.round.saturating_add(1);
        *self = fresh;
        self.round
    }

    /// The next round counts every operation row again.
    pub(crate) fn doubt(&mut self) {
        self.running.doubt();
    }

    /// One round. Exact while transfers run: a break is a break. Every transfer is looked at while
    /// it is new, once it has ended, and again in a window that moves over the whole store.
    ///
    /// # Errors
    /// The cause for which a ledger or the journal did not answer, where nothing else is broken.
    pub async fn round(
        &mut self,
        journal: &dyn Journal,
        ledgers: &[Arc<dyn Ledger>],
        flows: &Flows,
    ) -> Result<Report, Cause> {
        let holds = |ledger: &&Arc<dyn Ledger>| ledger.enlist().is_some_and(|desk| desk.holds());
        let holds: Vec<LedgerId> = ledgers.iter().filter(holds).map(|ledger| ledger.id()).collect();
        let laws = Laws::of(flows, holds.clone());
        let mut inquiry = Inquiry { laws, running: &mut self.running, breaks: &mut self.breaks };
        let (mut assets, mut instants, mut silent) = (Vec::new(), Vec::new(), None);
        // of one in the simple form there are only our own rows, which are looked at below
        let proves =
            |ledger: &&Arc<dyn Ledger>| ledger.enlist().is_none() && ledger.form() == Form::Full;
        for ledger in ledgers.iter().filter(proves) {
            let outside = self.outside.entry(ledger.id()).or_default();
            match outside.look(journal, &**ledger, &mut inquiry).await {
                Ok(instant) => instants.push(instant),
                Err(cause) => silent = Some(cause),
            }
        }
        let mut snapshot = journal.snapshot().await?;
        let all = ledgers.iter().map(|ledger| ledger.id());
        let recounted = inquiry.running.recount(&mut *snapshot, all, journal.now()).await?;
        for instant in instants {
            let line = |(asset, totals)| AssetLine { asset, ledger: instant.ledger, totals };
            assets.extend(instant.totals.iter().copied().map(line));
            let outside = self.outside.entry(instant.ledger).or_default();
            outside.prove(&mut *snapshot, instant, &mut inquiry).await?;
        }
        for ledger in ledgers.iter().filter(|ledger| ledger.enlist().is_some()) {
            let id = ledger.id();
            let books = books(&mut *snapshot, id, holds.contains(&id), &mut inquiry).await?;
            assets.extend(books);
        }
        self.lines.walk(journal, snapshot, &mut inquiry).await?;
        if let Some(cause) = silent
            && self.breaks.is_empty()
        {
            return Err(cause);
        }
        self.round = self.round.saturating_add(1);
        let breaks: Vec<Break> = std::mem::take(&mut self.breaks).into_values().collect();
        Ok(Report {
            at: journal.now(),
            round: self.round,
            ok: breaks.is_empty(),
            assets,
            breaks,
            accepted: Vec::new(),
            waiting: self.outside.values().map(Outside::waiting).sum(),
            recounted,
        })
    }
}

/// A ledger in the journal's database: its books and its operations are of the same instant.
async fn books(
    snapshot: &mut dyn Snapshot,
    ledger: LedgerId,
    holds: bool,
    inquiry: &mut Inquiry<'_>,
) -> Result<Vec<AssetLine>, Cause> {
    let books: BTreeMap<_, _> = snapshot.books(ledger).await?.into_iter().collect();
    let sums: BTreeMap<_, _> =
        inquiry.running.sums(snapshot, ledger, EVERY).await?.into_iter().collect();
    for asset in books.keys().chain(sums.keys()) {
        let totals = books.get(asset).copied().unwrap_or_default();
        let sums = sums.get(asset).copied().unwrap_or_default();
        inquiry.add(conserve::books(ledger, holds, *asset, &totals, &sums));
    }
    Ok(books.into_iter().map(|(asset, totals)| AssetLine { asset, ledger, totals }).collect())
}
