//! Proves conservation on a live system (`ledgers.md` §3).
//!
//! Facts are never taken back, and come in the order claim, effect, receipt, final. A round reads the
//! outside ledgers first and the journal afterwards, so it finds the claim of each effect: whatever is
//! missing then is missing. In the other order every busy moment would look like a loss.

mod accounts;
mod lines;
pub(crate) mod losses;
mod operation_matcher;
mod progress;
mod proof;
mod running;
mod stored;
pub(crate) mod task;
#[cfg(test)]
mod tests;
pub mod vaults;
#[cfg(test)]
mod world;

pub use crate::state::accepted::AcceptedBreaks;
pub use kernel::reconcile::Break;
pub use progress::Progress;
pub use stored::PROVEN;
pub(crate) use stored::Proven;

use crate::state::case_kinds::LEDGER_NOT_CONFIGURED;
use crate::state::cases::Cases;
use crate::state::halt::KillSwitch;
use crate::state::ledgers::identity::Ledgers;
use crate::state::shared::SharedState;
use accounts::Receipts;
use kernel::answer::Cause;
use kernel::flow::table::Flows;
use kernel::ids::{AssetId, LedgerId, Millis};
use kernel::operators::Accepted;
use kernel::ports::journal::{Journal, ServiceStatus, Snapshot};
use kernel::ports::ledger::{Ledger, LedgerForm, Totals};
use kernel::reconcile;
use kernel::reconcile::Laws;
use lines::Lines;
use losses::Losses;
use operation_matcher::{Instant, OperationMatcher};
use proof::ProofUnderWay;
use running::Running;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use vaults::VaultRounds;

/// How many rows are read at once.
const PAGE: usize = 1_000;
/// A number above that of every operation, and within what a database takes.
const EVERY: u64 = u64::MAX >> 1;
/// How far the proof has come is stored at most this often.
const STORE: Millis = 60_000;
/// A write is worth it where it spares a start this many transfers: a third of a second.
const WORTH: u64 = 10_000;
/// The most breaks that are kept: the report says that there are more.
const MOST_BREAKS: usize = 1_000;

/// Proves conservation in this process: it keeps the last report, and the breaks for which it raised HALT.
#[expect(missing_debug_implementations, reason = "ports have none")]
pub struct Reconciler {
    shared: Arc<SharedState>,
    cases: Arc<Cases>,
    kill_switch: Arc<KillSwitch>,
    ledgers: Arc<Ledgers>,
    report: Mutex<Option<Arc<Report>>>,
    checker: tokio::sync::Mutex<Checker>,
    /// The breaks, by key and amount, for which this process raised the HALT that is in force.
    halted_for: Mutex<BTreeSet<(String, i128)>>,
    /// True while a background task counts all rows.
    counting: AtomicBool,
    proving: ProofUnderWay,
    vaults: VaultRounds,
}

impl Reconciler {
    /// Begins behind the stored proof.
    pub(crate) fn new(
        shared: &Arc<SharedState>,
        cases: &Arc<Cases>,
        kill_switch: &Arc<KillSwitch>,
        ledgers: &Arc<Ledgers>,
        proven: Proven,
    ) -> Arc<Self> {
        Arc::new(Self {
            shared: shared.clone(),
            cases: cases.clone(),
            kill_switch: kill_switch.clone(),
            ledgers: ledgers.clone(),
            report: Mutex::default(),
            checker: tokio::sync::Mutex::new(Checker::behind(proven)),
            halted_for: Mutex::default(),
            counting: AtomicBool::new(false),
            proving: ProofUnderWay::default(),
            vaults: VaultRounds::default(),
        })
    }
}

/// One ledger's books of one asset.
#[derive(Debug, Clone)]
pub struct AssetLine {
    pub asset: AssetId,
    pub ledger: LedgerId,
    pub totals: Totals,
}

/// The proof of one ledger that can be proven.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerProof {
    pub ledger: LedgerId,
    /// When its books were last proven, by the journal's time; `None` where they never were in this
    /// process.
    pub proven_at: Option<Millis>,
    /// Why they were not proven in this round.
    pub silent: Option<Cause>,
    /// When each of its accounts was last compared with its operations, and how many there were.
    pub accounts: Option<AccountsProof>,
    /// Why they were not at the last count, for example because the ledger does not list its accounts. Its
    /// books are proven all the same.
    pub unlisted: Option<Cause>,
}

/// A comparison of every account of a ledger with its own operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AccountsProof {
    /// When, by the journal's time.
    pub at: Millis,
    /// How many accounts there were; each asset of one counts by itself.
    pub rows: u64,
}

/// The report of one round.
#[derive(Debug, Clone)]
pub struct Report {
    /// When it ended, by the journal's time.
    pub at: Millis,
    /// Its number, from 1.
    pub round: u64,
    /// True where there is no break in what was proven.
    pub ok: bool,
    /// Each ledger that can be proven.
    pub ledgers: Vec<LedgerProof>,
    /// The books of every ledger that answered.
    pub assets: Vec<AssetLine>,
    /// Breaks: money that is not where the evidence says.
    pub breaks: Vec<Break>,
    /// Breaks that persons accepted, with this key and amount: no part of `breaks`.
    pub accepted: Vec<Break>,
    /// Operations that wait for their receipt.
    pub waiting: usize,
    /// True where every operation row was counted, and every account compared with its own: after a start,
    /// once a day, after a break and on command.
    pub recounted: bool,
    /// How much of its time went to transfers, to new ones and to those of the window, whose number has a
    /// rate of its own.
    pub paced: Millis,
}

impl Report {
    /// A ledger that was not proven in this round, and why; `None` where all were. One that the settings do not name is
    /// not meant: where a ledger is gone for good, taking it out of the settings lets all others go on.
    pub fn unproven(&self) -> Option<(LedgerId, &Cause)> {
        let mut silent =
            self.ledgers.iter().filter_map(|proof| Some((proof.ledger, proof.silent.as_ref()?)));
        silent.find(|(_, cause)| cause.class != LEDGER_NOT_CONFIGURED)
    }

    /// The ledgers that the journal knows and the settings do not name.
    pub(crate) fn unconfigured(&self) -> impl Iterator<Item = LedgerId> {
        let unnamed = |proof: &&LedgerProof| {
            proof.silent.as_ref().is_some_and(|cause| cause.class == LEDGER_NOT_CONFIGURED)
        };
        self.ledgers.iter().filter(unnamed).map(|proof| proof.ledger)
    }

    /// Whether each ledger that the journal knows was proven in this round.
    pub fn is_whole(&self) -> bool {
        self.ledgers.iter().all(|proof| proof.silent.is_none())
    }

    /// Counts with what was accepted: a sum is expected to be off by it, and is broken by the rest, also where
    /// what was accepted is gone again. Any other break is excused as it was accepted. A row that no action
    /// accepted is a break itself.
    pub fn excuse(&mut self, AcceptedBreaks { named, unnamed }: &AcceptedBreaks) {
        let sums = named.iter().filter(|one| reconcile::SumBreak::of(&one.key).is_some());
        // of a sum the last one counts
        let mut offsets: BTreeMap<&str, i128> = sums.map(|one| (&*one.key, one.amount)).collect();
        let found = std::mem::take(&mut self.breaks).into_iter();
        for mut found in found.chain(unnamed.iter().map(reconcile::unnamed)) {
            let Some(offset) = offsets.remove(&*found.key) else {
                let same = |one: &Accepted| *one.key == *found.key && one.amount == found.amount;
                let excused = named.iter().any(same);
                if excused { &mut self.accepted } else { &mut self.breaks }.push(found);
                continue;
            };
            let rest = found.amount.saturating_sub(offset);
            if offset != 0 {
                self.accepted.push(Break { amount: offset, ..found.clone() });
            }
            if rest != 0 {
                found.what = format!("{}; {offset} of it was accepted", found.what);
                self.breaks.push(Break { amount: rest, ..found });
            }
        }
        for (key, offset) in offsets {
            if offset != 0 && self.compared(key) {
                let what = format!("{key}: {offset} was accepted, and is gone again");
                let amount = offset.saturating_neg();
                self.breaks.push(Break { key: key.to_owned(), amount, what });
            }
        }
        self.ok = self.breaks.is_empty();
    }

    /// Moves these breaks to those that are accepted, where they are there with the same amount. Returns the
    /// keys of those that are not.
    pub(crate) fn accept<'a>(&mut self, accept: &'a [Accepted]) -> Vec<&'a str> {
        let mut absent: Vec<&Accepted> = accept.iter().collect();
        for found in std::mem::take(&mut self.breaks) {
            let before = absent.len();
            absent.retain(|one| *one.key != *found.key || one.amount != found.amount);
            let is_accepted = absent.len() < before;
            if is_accepted { &mut self.accepted } else { &mut self.breaks }.push(found);
        }
        self.ok = self.breaks.is_empty();
        absent.into_iter().map(|one| &*one.key).collect()
    }

    /// True where this round compared the sum of that key.
    fn compared(&self, key: &str) -> bool {
        let Some(sum) = reconcile::SumBreak::of(key) else { return false };
        let proof = self.ledgers.iter().find(|proof| proof.ledger == sum.ledger);
        proof.is_some_and(|proof| {
            let listed = self.recounted && proof.accounts.is_some() && proof.unlisted.is_none();
            proof.silent.is_none() && (listed || !sum.of_account)
        })
    }
}

/// The lesser of two numbers.
fn lesser(one: u64, other: u64) -> u64 {
    if other < one { other } else { one }
}

/// Proves conservation, round by round. Pages, and the number of open transfers, bound its memory.
#[derive(Debug, Default)]
pub struct Checker {
    round: u64,
    outside: BTreeMap<LedgerId, OperationMatcher>,
    lines: Lines,
    losses: Losses,
    running: Running,
    /// The proof of each ledger, and when it was made.
    proven: BTreeMap<LedgerId, LedgerProof>,
    /// How far the present round has come.
    progress: Progress,
    /// When the journal was last told how far the proof has come, by the journal's time, and how far that
    /// was.
    stored: (Option<Millis>, Proven),
    /// The breaks of rounds that could not be finished, so that none is lost.
    breaks: BTreeMap<String, Break>,
}

/// The rules, and the breaks of them.
struct Inquiry<'a> {
    laws: Laws,
    running: &'a mut Running,
    progress: &'a Progress,
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
    /// Takes over the state of a checker that began anew, and goes on with the count of rounds. Returns the
    /// last round's number.
    pub(crate) fn replaced(&mut self, mut fresh: Self) -> u64 {
        fresh.round = self.round.saturating_add(1);
        *self = fresh;
        self.round
    }

    /// Notes what the journal says before the ledgers are asked: the next round finds what they lost.
    pub fn know(&mut self, status: &ServiceStatus) {
        self.losses.know(status);
    }

    /// Whether it is time, and worth a write, to store that the proof has come so far.
    pub(crate) fn stores(&self, now: Millis, proven: &Proven) -> bool {
        let (at, stored) = &self.stored;
        let late = at.is_none_or(|at| now < at || now.saturating_sub(at) >= STORE);
        late && proven.worth_storing(stored, WORTH)
    }

    pub(crate) fn stored_at(&mut self, now: Millis, proven: Proven) {
        self.stored = (Some(now), proven);
    }

    /// How far the present round has come; callers that do not have the checker read it too.
    pub fn progress(&self) -> Progress {
        self.progress.clone()
    }

    /// Has the next round count every operation row again, without belief in an earlier count.
    pub(crate) fn invalidate(&mut self) {
        self.running.invalidate();
    }

    /// Has the next round count every operation row again, beside the last count.
    pub(crate) const fn count_all(&mut self) {
        self.running.count_all();
    }

    /// Whether it is time to count all rows in the background.
    pub(crate) fn wants_count(&self, now: Millis) -> bool {
        self.running.wants_count(now)
    }

    /// Takes over the sums of all rows and the accounts that another checker counted beside it, and goes on
    /// with the count of rounds. Returns the last round's number.
    pub(crate) fn takes_count(&mut self, other: Self) -> u64 {
        self.round = self.round.saturating_add(1);
        // a break that came meanwhile has the next round count anew
        if self.running.counts().is_some() {
            self.running = other.running;
        }
        self.proven.extend(other.proven);
        self.round
    }

    /// Runs one round. It is exact while transfers run: a break is a break. It looks at every transfer
    /// while it is new, once it has ended, and again in a window that moves over the whole store. A later
    /// round proves a ledger that is silent; this one proves the others.
    ///
    /// # Errors
    /// The cause for which the journal did not answer.
    pub async fn round(
        &mut self,
        journal: &dyn Journal,
        ledgers: &[Arc<dyn Ledger>],
        flows: &Flows,
    ) -> Result<Report, Cause> {
        let holds =
            |ledger: &&Arc<dyn Ledger>| ledger.enlist().is_some_and(|enlisted| enlisted.holds());
        let holds: Vec<LedgerId> = ledgers.iter().filter(holds).map(|ledger| ledger.id()).collect();
        let laws = Laws::of(flows, holds.clone());
        let (running, breaks) = (&mut self.running, &mut self.breaks);
        let mut inquiry = Inquiry { laws, running, progress: &self.progress, breaks };
        let mut round = Round { now: journal.now(), proven: &mut self.proven, assets: Vec::new() };
        let mut instants = read_ledgers(journal, ledgers, &mut self.outside, &mut inquiry).await;
        let status = journal.service_status().await?;
        if self.losses.changed(&AcceptedBreaks::read(journal, &status).await?.named) {
            // what was listed behind a number may be listed again under other keys
            self.outside.clear();
            instants = read_ledgers(journal, ledgers, &mut self.outside, &mut inquiry).await;
        }
        let mut snapshot = journal.snapshot().await?;
        let none = Vec::new();
        let recounted = count_rows(journal, &mut *snapshot, ledgers, &mut inquiry).await?;
        for (ledger, instant) in instants {
            let mut instant = match instant {
                Ok(instant) => instant,
                Err(cause) => {
                    round.mark_silent(ledger.id(), cause);
                    continue;
                }
            };
            self.losses.find(&mut *snapshot, &instant, &status, &mut inquiry).await?;
            let lost = self.losses.read(&mut *snapshot).await?;
            let lost = lost.get(&instant.ledger).unwrap_or(&none);
            let outside = self.outside.entry(instant.ledger).or_default();
            outside.prove(&mut *snapshot, &mut instant, lost, &mut inquiry).await?;
            round.proven(instant.ledger, &instant.totals);
            // money that its accounts get by its own doors cannot be added up
            if recounted && !instant.own_world {
                let waiting = outside.without_receipt();
                let receipts = Receipts::of(instant.known.highest, waiting, lost);
                let rows = accounts::elsewhere(&mut *snapshot, ledger, receipts, &mut inquiry);
                round.accounts(instant.ledger, rows.await);
            }
        }
        self.losses.know(&status);
        for ledger in ledgers.iter().filter(|ledger| ledger.enlist().is_some()) {
            let (id, holds) = (ledger.id(), holds.contains(&ledger.id()));
            let books = books(&mut *snapshot, id, holds, &mut inquiry).await?;
            round.proven(id, &books);
            if recounted {
                let rows = accounts::enlisted(&mut *snapshot, id, holds, &mut inquiry).await?;
                round.accounts(id, Ok(rows));
            }
        }
        let begun = journal.now();
        self.lines.walk(journal, snapshot, &mut inquiry).await?;
        let met = status.ledgers.iter().map(|(id, _)| *id);
        let met = met.chain(inquiry.running.ledgers()).chain(self.lines.ledgers());
        round.mark_unconfigured(met, ledgers);
        let assets = round.assets;
        let paced = journal.now().saturating_sub(begun);
        self.round = self.round.saturating_add(1);
        let breaks: Vec<Break> = std::mem::take(&mut self.breaks).into_values().collect();
        Ok(Report {
            at: journal.now(),
            round: self.round,
            ok: breaks.is_empty(),
            ledgers: self.proven.values().cloned().collect(),
            assets,
            breaks,
            accepted: self.losses.listed(),
            waiting: self.outside.values().map(OperationMatcher::waiting).sum(),
            recounted,
            paced,
        })
    }
}

/// Counts every row where it is time, and looks for clients' keys without a transfer in the same instant. Returns true
/// where it did.
async fn count_rows(
    journal: &dyn Journal,
    snapshot: &mut dyn Snapshot,
    ledgers: &[Arc<dyn Ledger>],
    inquiry: &mut Inquiry<'_>,
) -> Result<bool, Cause> {
    let all = ledgers.iter().map(|ledger| ledger.id());
    let Some(breaks) = inquiry.running.recount(snapshot, all, journal.now()).await? else {
        return Ok(false);
    };
    let unmatched = snapshot.unmatched_keys(MOST_BREAKS).await?;
    inquiry.add(breaks.into_iter().chain(unmatched.iter().map(reconcile::unmatched_key)));
    Ok(true)
}

/// A remote ledger, and its answer at one instant.
type Looked<'l> = (&'l dyn Ledger, Result<Instant, Cause>);

/// Reads each remote ledger that can be proven.
async fn read_ledgers<'l>(
    journal: &dyn Journal,
    ledgers: &'l [Arc<dyn Ledger>],
    outside: &mut BTreeMap<LedgerId, OperationMatcher>,
    inquiry: &mut Inquiry<'_>,
) -> Vec<Looked<'l>> {
    // of one in the simple form there are only our own rows, which are looked at with the transfers
    let proves =
        |ledger: &&Arc<dyn Ledger>| ledger.enlist().is_none() && ledger.form() == LedgerForm::Full;
    let mut instants = Vec::new();
    for ledger in ledgers.iter().filter(proves) {
        let matcher = outside.entry(ledger.id()).or_default();
        instants.push((&**ledger, matcher.read_ledger(journal, &**ledger, inquiry).await));
    }
    instants
}

/// The proofs of a round, ledger by ledger.
struct Round<'a> {
    now: Millis,
    proven: &'a mut BTreeMap<LedgerId, LedgerProof>,
    assets: Vec<AssetLine>,
}

impl Round<'_> {
    fn of(&mut self, ledger: LedgerId) -> &mut LedgerProof {
        let (proven_at, silent, accounts, unlisted) = (None, None, None, None);
        let none = LedgerProof { ledger, proven_at, silent, accounts, unlisted };
        self.proven.entry(ledger).or_insert(none)
    }

    fn mark_silent(&mut self, ledger: LedgerId, cause: Cause) {
        self.of(ledger).silent = Some(cause);
    }

    /// Marks each ledger outside the journal's database that the journal met and that is none of these.
    fn mark_unconfigured(
        &mut self,
        met: impl Iterator<Item = LedgerId>,
        ledgers: &[Arc<dyn Ledger>],
    ) {
        let configured = |id: LedgerId| ledgers.iter().any(|ledger| ledger.id() == id);
        for id in met.filter(|id| !id.is_enlisted() && !configured(*id)) {
            let why = "the journal knows it, and the settings do not name it";
            self.mark_silent(id, Cause::because(LEDGER_NOT_CONFIGURED, why));
        }
    }

    fn proven(&mut self, ledger: LedgerId, totals: &[(AssetId, Totals)]) {
        let now = self.now;
        let proof = self.of(ledger);
        (proof.proven_at, proof.silent) = (Some(now), None);
        let line = |(asset, totals)| AssetLine { asset, ledger, totals };
        self.assets.extend(totals.iter().copied().map(line));
    }

    /// Notes that the accounts of a ledger were compared; where the ledger did not list them, the next
    /// count does it.
    fn accounts(&mut self, ledger: LedgerId, rows: Result<u64, Cause>) {
        let now = self.now;
        let proof = self.of(ledger);
        match rows {
            Ok(rows) => {
                proof.accounts = Some(AccountsProof { at: now, rows });
                proof.unlisted = None;
            }
            Err(cause) => {
                tracing::warn!(ledger = ledger.name(), %cause, "its accounts could not be proven");
                proof.unlisted = Some(cause);
            }
        }
    }
}

/// Proves a ledger in the journal's database, whose books and operations are of the same instant.
async fn books(
    snapshot: &mut dyn Snapshot,
    ledger: LedgerId,
    holds: bool,
    inquiry: &mut Inquiry<'_>,
) -> Result<Vec<(AssetId, Totals)>, Cause> {
    let books: BTreeMap<_, _> = snapshot.books(ledger).await?.into_iter().collect();
    let sums: BTreeMap<_, _> =
        inquiry.running.sums(snapshot, ledger, EVERY).await?.into_iter().collect();
    for asset in books.keys().chain(sums.keys()) {
        let totals = books.get(asset).copied().unwrap_or_default();
        let sums = sums.get(asset).copied().unwrap_or_default();
        inquiry.add(reconcile::books(ledger, holds, *asset, &totals, &sums));
    }
    Ok(books.into_iter().collect())
}
