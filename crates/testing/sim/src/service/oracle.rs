//! The oracle of the simulated service: it checks journal and ledgers once everything has come to rest.

use super::SimProcess;
use kernel::audit::{Hash, birth, link};
use kernel::flow::life::{Leg, Place};
use kernel::flow::table::Table;
use kernel::ids::{AssetId, Id, LedgerId, Serial, UserId};
use kernel::operation::{Key, StoredOutcome};
use kernel::ports::journal::{Line, Linked};
use kernel::ports::ledger::{Ledger, Reply, Totals, Whose};
use kernel::record::System;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What a user has at a ledger at the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Expected {
    pub ledger: LedgerId,
    pub user: UserId,
    pub asset: AssetId,
    /// How much, all of it available.
    pub amount: u128,
}

/// Everything that the oracles look at, read at one moment of rest.
#[derive(Debug)]
pub struct Truth {
    books: BTreeMap<LedgerId, Vec<(AssetId, Totals)>>,
    holdings: BTreeMap<(LedgerId, UserId, AssetId), (u128, u128)>,
    /// Which effects exist, by the ledgers' own lists.
    effects: BTreeMap<(Id, LedgerId), Vec<Leg>>,
    lines: Vec<Line>,
    histories: BTreeMap<Id, Vec<Linked>>,
    /// The hashes before the histories' first entries.
    births: BTreeMap<Id, Hash>,
    open: u64,
    /// Two rounds of the proof, one after the other.
    breaks: Vec<String>,
    halted: Option<Arc<str>>,
}

fn said<T>(reply: Reply<T>) -> Result<T, String> {
    match reply {
        Reply::Answered(_, said) => Ok(said),
        Reply::OtherLedger(known) => Err(format!("another ledger: {known:?}")),
        Reply::NoAnswer(cause) => Err(format!("a ledger does not answer: {cause}")),
    }
}

impl Truth {
    /// Reads it, of this process and of the ledgers themselves.
    ///
    /// # Errors
    /// A part does not answer.
    pub async fn read(process: SimProcess, ledgers: Vec<Arc<dyn Ledger>>) -> Result<Self, String> {
        let mut truth = Self {
            books: BTreeMap::new(),
            holdings: BTreeMap::new(),
            effects: BTreeMap::new(),
            lines: Vec::new(),
            histories: BTreeMap::new(),
            births: BTreeMap::new(),
            open: 0,
            breaks: Vec::new(),
            halted: None,
        };
        for _ in 0..2 {
            let report =
                process.engine.reconciler.check_now().await.map_err(|cause| cause.to_string())?;
            truth.breaks.extend(report.breaks.iter().map(|b| format!("{b:?}")));
        }
        for ledger in &ledgers {
            truth.ledger(&**ledger).await?;
        }
        let journal = &process.opened.journal;
        let mut snapshot = journal.snapshot().await.map_err(|cause| cause.to_string())?;
        truth.lines =
            snapshot.lines(Serial(0), 100_000).await.map_err(|cause| cause.to_string())?;
        drop(snapshot);
        for line in &truth.lines {
            let history = journal.history(line.id).await.map_err(|cause| cause.to_string())?;
            truth.histories.insert(line.id, history);
        }
        let ids = truth.lines.iter().map(|line| line.id).collect();
        for record in journal.get(ids).await.map_err(|cause| cause.to_string())? {
            let flow = process.engine.flows().table(record.flow).flow;
            truth.births.insert(record.id, birth(record.id, flow, &record.terms));
        }
        let counts = journal.counts().await.map_err(|cause| cause.to_string())?;
        truth.open = counts.iter().map(|count| count.transfers).sum();
        truth.halted = process.engine.halted();
        Ok(truth)
    }

    async fn ledger(&mut self, ledger: &dyn Ledger) -> Result<(), String> {
        let id = ledger.id();
        self.books.insert(id, said(ledger.totals().await)?);
        for holding in said(ledger.accounts(Whose::After(0, 100_000)).await)? {
            let key = (id, holding.user, holding.asset);
            self.holdings.insert(key, (holding.available.0, holding.frozen.0));
        }
        for operation in said(ledger.operations(0, 100_000).await)? {
            if operation.outcome == StoredOutcome::Done {
                let Key { id: transfer, leg } = operation.op.key;
                self.effects.entry((transfer, id)).or_default().push(leg);
            }
        }
        Ok(())
    }

    /// Everything that is wrong; nothing where all is well.
    pub fn faults(&self, table: &Table, expected: &[Expected]) -> Vec<String> {
        let mut faults = self.breaks.clone();
        faults.extend(self.halted.iter().map(|why| format!("halted: {why}")));
        if self.open > 0 {
            faults.push(format!("{} transfers are still open", self.open));
        }
        self.books_balance(&mut faults);
        for line in &self.lines {
            self.legs_fit(table, line, &mut faults);
            self.history_fits(table, line, &mut faults);
        }
        for Expected { ledger, user, asset, amount } in expected {
            let has = self.holdings.get(&(*ledger, *user, *asset)).copied().unwrap_or_default();
            if has != (*amount, 0) {
                let name = ledger.name();
                faults.push(format!("user {user} has {has:?} at {name} instead of {amount}"));
            }
        }
        faults
    }

    /// Each ledger's books add up to nothing, and with nothing in flight so does what is between
    /// them.
    fn books_balance(&self, faults: &mut Vec<String>) {
        let mut between: BTreeMap<AssetId, i128> = BTreeMap::new();
        for (ledger, books) in &self.books {
            for (asset, t) in books {
                *between.entry(*asset).or_default() += t.clearing;
                if t.users + t.frozen + t.clearing + t.world != 0 || t.frozen != 0 {
                    faults.push(format!("the books of {} at rest: {asset} {t:?}", ledger.name()));
                }
            }
        }
        for (asset, sum) in between.into_iter().filter(|(_, sum)| *sum != 0) {
            faults.push(format!("{sum} of asset {asset} is between the ledgers at rest"));
        }
    }

    /// Exactly the effects that the state says, each once.
    fn legs_fit(&self, table: &Table, line: &Line, faults: &mut Vec<String>) {
        let (System::Ledger(source), System::Ledger(target)) =
            (line.source.system, line.target.system)
        else {
            return;
        };
        let holds = source == LedgerId::FUNDING;
        let state = table.state(line.state);
        let withdrawn = line.operations.iter().any(|(at, o)| {
            *at == source && o.op.key.leg == Leg::Withdraw && o.outcome == StoredOutcome::Done
        });
        let (mut at_source, mut at_target) = (Vec::new(), Vec::new());
        match state.money {
            Place::AtTarget => {
                at_source.push(Leg::Withdraw);
                at_source.extend(holds.then_some(Leg::Settle));
                at_target.push(Leg::Deposit);
            }
            Place::AtSource if withdrawn => at_source.extend([Leg::Withdraw, Leg::Refund]),
            Place::AtSource => {}
            Place::InFlight | Place::Fees | Place::Quarantine => {
                faults.push(format!("{} rests in {}", line.id, state.name));
            }
        }
        for (ledger, should) in [(source, at_source), (target, at_target)] {
            let mut has = self.effects.get(&(line.id, ledger)).cloned().unwrap_or_default();
            has.sort_unstable();
            if has != should {
                let name = ledger.name();
                let what = format!("{has:?} at {name} instead of {should:?}");
                faults.push(format!("{} ended {} with {what}", line.id, state.name));
            }
        }
    }

    /// A chain from the beginning to the end along the table's edges.
    fn history_fits(&self, table: &Table, line: &Line, faults: &mut Vec<String>) {
        let history = self.histories.get(&line.id).map_or(&[][..], Vec::as_slice);
        let birth = self.births.get(&line.id).copied().unwrap_or_default();
        let (mut prev, mut stands) = (birth, None);
        for (seq, linked) in (0..).zip(history) {
            let entry = &linked.entry;
            let legal = match (entry.from, table.coded(entry.to)) {
                (None, Some(to)) => seq == 0 && to == table.start,
                (Some(from), Some(to)) => table.coded(from).is_some_and(|from| {
                    // what a case or a person adds moves nothing, and may come after the end
                    let remark = from == to && matches!(&*entry.event, "RETRY" | "OPERATOR");
                    let edge = || table.leads(from, to);
                    Some(from) == stands && (remark || edge())
                }),
                (_, None) => false,
            };
            let chained = linked.prev == prev && link(prev, entry) == linked.hash;
            if !legal || !chained || entry.seq != seq {
                faults.push(format!("{}: its history at {seq}: {entry:?}", line.id));
                return;
            }
            (prev, stands) = (linked.hash, table.coded(entry.to));
        }
        if stands != Some(line.state) {
            faults.push(format!("{}: its history ends elsewhere than it stands", line.id));
        }
    }

    /// Where each transfer stands, in the order of opening.
    pub fn states(&self, table: &Table) -> Vec<&'static str> {
        self.lines.iter().map(|line| table.state(line.state).name).collect()
    }

    /// Each transfer's history as words, in the order of opening: equal traces are equal lives.
    pub fn traces(&self) -> Vec<Vec<(String, Option<String>)>> {
        let words = |line: &Line| {
            let history = self.histories.get(&line.id).map_or(&[][..], Vec::as_slice);
            history.iter().map(|l| (l.entry.event.clone(), l.entry.detail.clone())).collect()
        };
        self.lines.iter().map(words).collect()
    }

    /// The transfers, none twice.
    pub fn transfers(&self) -> BTreeSet<Id> {
        self.lines.iter().map(|line| line.id).collect()
    }
}
