//! The oracle of the journal at every write: edges, versions, the chain of hashes, evidence, and ends that are
//! true.

use super::super::operator::DRILL;
use super::effects::EffectSums;
use super::{Halts, Inner, Life, Oracles, Wrong, at, must};
use crate::journal::{Durable, Observer};
use kernel::audit::link;
use kernel::flow::life::{Leg, Place};
use kernel::flow::table::Table;
use kernel::ids::{Id, LedgerId};
use kernel::ports::journal::Linked;
use kernel::record::Record;
use std::collections::BTreeSet;

/// Cases that only a fault of the product opens, unless a folder was changed or a person halted.
const NEVER: [&str; 4] = ["CONTRADICTION", "CONSERVATION", "RESTORED", "TORN_TAIL"];

impl Observer for Oracles {
    fn wrote(&self, durable: &Durable<'_>) {
        self.look(|inner| {
            inner.halted.wrote(durable)?;
            for id in durable.touched() {
                if let Some(record) = durable.record(*id) {
                    inner.follow(durable, record)?;
                }
            }
            let cursor = inner.ledgers.get(&LedgerId::FUNDING).map_or(0, |kept| kept.cursor);
            let new = durable.funding().operations(cursor, usize::MAX);
            for operation in &new {
                inner.effect(LedgerId::FUNDING, operation, EffectSums::InItsUnit)?;
            }
            inner.books(LedgerId::FUNDING, &durable.funding().totals())?;
            for id in durable.touched() {
                inner.stands_rightly(*id)?;
            }
            for operation in &new {
                inner.stands_rightly(operation.op.key.id)?;
            }
            inner.flags(durable)
        });
    }
}

impl Inner {
    /// The flags, the questions and the rows of the audit.
    fn flags(&mut self, durable: &Durable<'_>) -> Wrong {
        let halts = self.halts;
        if let Some(why) = durable.halted() {
            let meant = match halts {
                Halts::Never => self.misread,
                Halts::ByHand => why.contains(DRILL) || self.misread,
                Halts::WrongLedger => true,
            };
            must(meant, || format!("it halted: {why}"))?;
        }
        for (kind, facts) in durable.cases(self.cases) {
            self.cases += 1;
            // the proof lists what a ledger that was set back has lost, and a worker that goes on
            // while another folder comes in may see it there first
            let changed = halts == Halts::WrongLedger;
            let seen = (changed || self.misread) && kind == "CONSERVATION";
            let wrong = (NEVER.contains(&kind) && !seen) || (kind == "WRONG_LEDGER" && !changed);
            must(!wrong, || format!("a case {kind}: {facts}"))?;
        }
        let (rows, entries) = durable.audited();
        must(rows == entries, || format!("the audit has {rows} rows for {entries} entries"))
    }

    /// What a write did to a transfer and its history.
    fn follow(&mut self, durable: &Durable<'_>, record: &Record) -> Wrong {
        let (id, history) = (record.id, durable.history(record.id));
        let Some(table) = self.flows.0.first() else { return Ok(()) };
        let new = !self.lives.contains_key(&id);
        let life = self.lives.entry(id).or_insert_with(|| Life {
            terms: record.terms.clone(),
            state: table.start,
            version: 0,
            retries: 0,
            entries: 0,
            hash: durable.birth(record),
            stood: BTreeSet::new(),
            effects: BTreeSet::new(),
            ended: false,
        });
        if new {
            self.opened += 1;
            self.open += 1;
            if let Some(binding) = &record.terms.binding {
                let told = self.keys.entry(binding.key.clone()).or_default();
                must(told.bound.is_none(), || format!("{} is bound twice", binding.key))?;
                told.bound = Some(id);
            }
        }
        must(life.terms == record.terms, || format!("{id} has other terms now"))?;
        let head = record.head;
        let moved = (life.state, life.version) != (head.state, head.version);
        must(!moved || new || head.version > life.version, || {
            format!("{id} went from version {} to {}", life.version, head.version)
        })?;
        let done = self.done.remove(&id);
        let put_off = life.state == head.state && head.retries > life.retries;
        must(!put_off || done.is_none(), || {
            format!(
                "{id} was told that {done:?} is done, and is put off as if its outcome were unknown"
            )
        })?;
        life.retries = head.retries;
        let entries = history.get(life.entries..).unwrap_or_default();
        life.extended(table, id, entries)?;
        let from: Vec<i16> = entries
            .iter()
            .filter(|linked| linked.entry.from != Some(linked.entry.to))
            .filter_map(|linked| linked.entry.from)
            .collect();
        must(life.state == head.state, || {
            let (stands, last) = (table.state(head.state).name, table.state(life.state).name);
            format!("{id} stands {stands}, and its history ends {last}")
        })?;
        life.version = head.version;
        let ends = table.ends(life.state);
        if ends && !life.ended {
            life.ended = true;
            self.open -= 1;
        }
        self.claims_nothing(record, &from)
    }

    /// Where a transfer stands is borne out by evidence.
    fn stands_rightly(&self, id: Id) -> Wrong {
        let (Some(life), Some(table)) = (self.lives.get(&id), self.table()) else {
            return Ok(());
        };
        let row = table.state(life.state);
        let (source, target) = (at(&life.terms.source), at(&life.terms.target));
        let says = |wanted: &str| format!("{id} is {} and {wanted}: {:?}", row.name, life.effects);
        let holds = source == Some(LedgerId::FUNDING);
        let only = |legs: &[Leg]| life.effects == legs.iter().copied().collect();
        let refused =
            |ledger: Option<LedgerId>, leg| ledger.is_some_and(|l| self.refused(l, id, leg));
        match row.name {
            "COMMITTED" if holds => {
                must(only(&[Leg::Withdraw, Leg::Deposit, Leg::Settle]), || says("not all is done"))
            }
            "COMMITTED" => must(only(&[Leg::Withdraw, Leg::Deposit]), || says("not all is done")),
            "ROLLED_BACK" => {
                must(only(&[Leg::Withdraw, Leg::Refund]), || says("it was not given back"))?;
                must(refused(target, Leg::Deposit), || says("no ledger refused it"))
            }
            "FAILED" => {
                must(only(&[]), || says("something was done"))?;
                must(refused(source, Leg::Withdraw), || says("no ledger refused it"))
            }
            "COMPENSATING" => must(refused(target, Leg::Deposit), || says("no ledger refused it")),
            _ => {
                let out = row.money == Place::InFlight;
                must(!out || life.has(Leg::Withdraw), || says("nothing left the source"))
            }
        }
    }
}

impl Life {
    /// Its history goes on from where it ended, along the table's edges, in one chain.
    fn extended(&mut self, table: &Table, id: Id, entries: &[Linked]) -> Wrong {
        for linked in entries {
            let entry = &linked.entry;
            let to = table.coded(entry.to);
            let legal = match entry.from.map(|from| table.coded(from)) {
                None => self.entries == 0 && to == Some(table.start),
                Some(from) => {
                    // what a case or a person adds moves nothing, and may come after the end
                    let remark = from == to && matches!(&*entry.event, "RETRY" | "OPERATOR");
                    let edge = || to.is_some_and(|to| table.leads(self.state, to));
                    self.entries > 0 && from == Some(self.state) && (remark || edge())
                }
            };
            let chained = linked.prev == self.hash && link(self.hash, entry) == linked.hash;
            let counted = usize::try_from(entry.seq) == Ok(self.entries);
            must(legal && chained && counted, || {
                let state = table.state(self.state).name;
                format!("the history of {id}, which stood {state}, goes on with {linked:?}")
            })?;
            self.entries += 1;
            self.hash = linked.hash;
            self.state = to.unwrap_or(self.state);
            self.stood.insert(self.state);
        }
        Ok(())
    }
}
