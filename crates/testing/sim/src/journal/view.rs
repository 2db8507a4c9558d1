//! A snapshot of the simulated journal, for reconciliation.

use super::state::{State, bound};
use crate::books::{add_up, by_account};
use kernel::answer::Cause;
use kernel::ids::{AssetId, Id, LedgerId, Serial};
use kernel::operation::{Key, Operation};
use kernel::ports::Fut;
use kernel::ports::journal::{
    AccountSums, KeyRow, Line, Recount, Resource, Snapshot, Sums, UnmatchedKey,
};
use kernel::ports::ledger::Totals;
use kernel::record::Record;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

pub(super) struct View {
    state: Arc<State>,
    /// What is left of the sums by account that are being read, and of which ledger.
    reading: Option<(LedgerId, std::vec::IntoIter<AccountSums>)>,
}

impl View {
    pub(super) const fn of(state: Arc<State>) -> Self {
        Self { state, reading: None }
    }

    fn line(&self, id: &Id) -> Option<Line> {
        let record = self.state.transfers.get(id)?;
        Some(Line {
            serial: record.serial?,
            id: *id,
            flow: record.flow,
            state: record.head.state,
            source: record.source().clone(),
            target: record.target().clone(),
            refund_fee: record.terms.refund_fee,
            key_row: self.key_row(record),
            operations: self.state.legs(*id),
        })
    }
}

impl View {
    fn key_row(&self, record: &Record) -> KeyRow {
        let Some(key) = bound(record) else { return KeyRow::Keyless };
        let named = self.state.bindings.get(&key).and_then(|id| self.state.transfers.get(id));
        named.and_then(|named| named.serial).map_or(KeyRow::Missing, KeyRow::Names)
    }
}

impl Snapshot for View {
    fn books(&mut self, ledger: LedgerId) -> Fut<'_, Result<Vec<(AssetId, Totals)>, Cause>> {
        self.reading = None;
        let books = match ledger {
            LedgerId::FUNDING => Ok(self.state.books.totals()),
            LedgerId::ACCOUNT => Ok(self.state.accounts.totals()),
            _ => Err(Cause::of("NOT_ENLISTED")),
        };
        Box::pin(std::future::ready(books))
    }

    fn sums(
        &mut self,
        ledger: LedgerId,
        upto: u64,
    ) -> Fut<'_, Result<Vec<(AssetId, Sums)>, Cause>> {
        self.reading = None;
        let sums = if ledger == LedgerId::FUNDING {
            self.state.books.sums(upto)
        } else if ledger == LedgerId::ACCOUNT {
            self.state.accounts.sums(upto)
        } else {
            let own =
                self.state.receipts.iter().filter(|((at, _), o)| *at == ledger && o.seq <= upto);
            add_up(own.map(|(_, operation)| operation))
        };
        Box::pin(std::future::ready(Ok(sums.into_iter().collect())))
    }

    fn receipts(
        &mut self,
        ledger: LedgerId,
        after: u64,
        limit: usize,
    ) -> Fut<'_, Result<Vec<Operation>, Cause>> {
        self.reading = None;
        let own = self.state.receipts.iter().filter(|((at, _), o)| *at == ledger && o.seq > after);
        let mut found: Vec<Operation> = own.map(|(_, operation)| operation.clone()).collect();
        found.sort_by_key(|operation| (operation.seq, operation.op.key));
        found.truncate(limit);
        Box::pin(std::future::ready(Ok(found)))
    }

    fn recount(&mut self) -> Fut<'_, Result<Recount, Cause>> {
        self.reading = None;
        let funding = self.state.books.sums(u64::MAX).into_iter();
        let mut all: Vec<_> = funding.map(|(asset, s)| (LedgerId::FUNDING, asset, s)).collect();
        let numbered = self.state.accounts.sums(u64::MAX).into_iter();
        all.extend(numbered.map(|(asset, s)| (LedgerId::ACCOUNT, asset, s)));
        for ledger in self.state.receipt_ledgers() {
            let own = self.state.receipts.iter().filter(|((at, _), _)| *at == ledger);
            let sums = add_up(own.map(|(_, operation)| operation));
            all.extend(sums.into_iter().map(|(asset, s)| (ledger, asset, s)));
        }
        Box::pin(std::future::ready(Ok(all)))
    }

    fn unmatched_keys(&mut self, limit: usize) -> Fut<'_, Result<Vec<UnmatchedKey>, Cause>> {
        self.reading = None;
        let mut unmatched = Vec::new();
        for (key, id) in &self.state.bindings {
            let record = self.state.transfers.get(id);
            if record.and_then(bound).as_ref() != Some(key) && unmatched.len() < limit {
                let (flow, scope, key) = key;
                let flow = self.state.flows.table(*flow).flow.to_owned();
                let serial = record.and_then(|record| record.serial).unwrap_or(Serial(0));
                let (scope, key) = (scope.to_string(), key.to_string());
                unmatched.push(UnmatchedKey { flow, scope, key, serial });
            }
        }
        Box::pin(std::future::ready(Ok(unmatched)))
    }

    fn account_sums(
        &mut self,
        ledger: LedgerId,
        upto: u64,
        limit: usize,
    ) -> Fut<'_, Result<Vec<AccountSums>, Cause>> {
        let begun = self.reading.take().filter(|(of, _)| *of == ledger);
        let (_, mut rest) = begun.unwrap_or_else(|| {
            let all = if ledger == LedgerId::FUNDING {
                self.state.books.account_sums(upto)
            } else if ledger == LedgerId::ACCOUNT {
                self.state.accounts.account_sums(upto)
            } else {
                let own = self.state.receipts.iter();
                let own = own.filter(|((at, _), o)| *at == ledger && o.seq <= upto);
                by_account(own.map(|(_, operation)| operation)).into_values().collect()
            };
            (ledger, all.into_iter())
        });
        let page: Vec<AccountSums> = rest.by_ref().take(limit).collect();
        if !page.is_empty() {
            self.reading = Some((ledger, rest));
        }
        Box::pin(std::future::ready(Ok(page)))
    }

    fn complete(&mut self) -> Fut<'_, Result<Serial, Cause>> {
        self.reading = None;
        let last = self.state.by_serial.keys().next_back().copied().unwrap_or(Serial(0));
        Box::pin(std::future::ready(Ok(last)))
    }

    fn lines(&mut self, after: Serial, limit: usize) -> Fut<'_, Result<Vec<Line>, Cause>> {
        self.reading = None;
        let above = self.state.by_serial.range((Bound::Excluded(after), Bound::Unbounded));
        let lines = above.take(limit).filter_map(|(_, id)| self.line(id)).collect();
        Box::pin(std::future::ready(Ok(lines)))
    }

    fn lines_of(&mut self, keys: Vec<Key>) -> Fut<'_, Result<Vec<Line>, Cause>> {
        self.reading = None;
        let ids: BTreeSet<Id> = keys.iter().map(|key| key.id).collect();
        let lines = ids.iter().filter_map(|id| self.line(id)).collect();
        Box::pin(std::future::ready(Ok(lines)))
    }

    fn resources(&mut self, prefix: Arc<str>) -> Fut<'_, Result<Vec<Resource>, Cause>> {
        self.reading = None;
        Box::pin(std::future::ready(Ok(self.state.named_resources(&prefix))))
    }

    fn counters(&mut self, prefix: Arc<str>) -> Fut<'_, Result<BTreeMap<Arc<str>, u128>, Cause>> {
        self.reading = None;
        Box::pin(std::future::ready(Ok(self.state.named_counters(&prefix))))
    }
}

#[cfg(test)]
mod tests {
    use kernel::flow::life::Leg;

    /// Turns red where a leg is added below or above those that ranges of one transfer's begin and
    /// end with: a line would lack its operation.
    #[test]
    fn every_leg_lies_within_the_range_of_a_transfer() {
        assert!(Leg::ALL.iter().all(|leg| (Leg::Withdraw..=Leg::Cost).contains(leg)));
    }
}
