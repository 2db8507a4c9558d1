//! The wrapper trait of a ledger: each method passes its call on by default.

use super::Wrapper;
use kernel::answer::Answer;
use kernel::ids::{AssetId, Id, LedgerId};
use kernel::money::Asset;
use kernel::operation::{Key, Known, Op, Operation};
use kernel::ports::Fut;
use kernel::ports::ledger::{
    Enlist, Holding, Ledger, LedgerForm, Reply, StatusChange, Stored, Totals, Whose,
};
use kernel::ports::sending::SendPermission;
use std::sync::Arc;

/// What stands around a ledger; each default passes its call on.
pub trait LedgerWrapper: Send + Sync {
    fn inner(&self) -> &dyn Ledger;
    /// In the place of [`Ledger::id`].
    fn id(&self) -> LedgerId {
        self.inner().id()
    }
    /// In the place of [`Ledger::form`].
    fn form(&self) -> LedgerForm {
        self.inner().form()
    }
    /// In the place of [`Ledger::own_world`].
    fn own_world(&self) -> bool {
        self.inner().own_world()
    }
    /// In the place of [`Ledger::know`].
    fn know(&self, assets: &[Asset]) {
        self.inner().know(assets);
    }
    /// In the place of [`Ledger::holds`].
    fn holds(&self, asset: &Asset) -> bool {
        self.inner().holds(asset)
    }
    /// In the place of [`Ledger::ask_before_sending`].
    fn ask_before_sending(&self, permission: &Arc<dyn SendPermission>) {
        self.inner().ask_before_sending(permission);
    }
    /// In the place of [`Ledger::hello`].
    fn hello(&self) -> Fut<'_, Reply<()>> {
        self.inner().hello()
    }
    /// In the place of [`Ledger::execute`].
    fn execute(&self, known: Known, ops: Arc<[Op]>) -> Fut<'_, Reply<Vec<Answer>>> {
        self.inner().execute(known, ops)
    }
    /// In the place of [`Ledger::query`].
    fn query(&self, known: Known, key: Key) -> Fut<'_, Reply<Stored>> {
        self.inner().query(known, key)
    }
    /// In the place of [`Ledger::fence`].
    fn fence(&self, known: Known, key: Key) -> Fut<'_, Reply<Stored>> {
        self.inner().fence(known, key)
    }
    /// In the place of [`Ledger::note_halt`].
    fn note_halt(&self, known: Known, number: u64) -> Fut<'_, Reply<Option<u64>>> {
        self.inner().note_halt(known, number)
    }
    /// In the place of [`Ledger::totals`].
    fn totals(&self) -> Fut<'_, Reply<Vec<(AssetId, Totals)>>> {
        self.inner().totals()
    }
    /// In the place of [`Ledger::operations`].
    fn operations(&self, after: u64, limit: usize) -> Fut<'_, Reply<Vec<Operation>>> {
        self.inner().operations(after, limit)
    }
    /// In the place of [`Ledger::horizon`].
    fn horizon(&self, known: Known, id: Id, open: Arc<[Id]>) -> Fut<'_, Reply<()>> {
        self.inner().horizon(known, id, open)
    }
    /// In the place of [`Ledger::accounts`].
    fn accounts(&self, whose: Whose) -> Fut<'_, Reply<Vec<Holding>>> {
        self.inner().accounts(whose)
    }
    /// In the place of [`Ledger::status`].
    fn status(&self, known: Known, change: StatusChange) -> Fut<'_, Reply<bool>> {
        self.inner().status(known, change)
    }
    /// In the place of [`Ledger::enlist`].
    fn enlist(&self) -> Option<&dyn Enlist> {
        self.inner().enlist()
    }
}

impl<T: LedgerWrapper> Ledger for Wrapper<T> {
    fn id(&self) -> LedgerId {
        self.0.id()
    }
    fn form(&self) -> LedgerForm {
        self.0.form()
    }
    fn own_world(&self) -> bool {
        self.0.own_world()
    }
    fn know(&self, assets: &[Asset]) {
        self.0.know(assets);
    }
    fn holds(&self, asset: &Asset) -> bool {
        self.0.holds(asset)
    }
    fn ask_before_sending(&self, permission: &Arc<dyn SendPermission>) {
        self.0.ask_before_sending(permission);
    }
    fn hello(&self) -> Fut<'_, Reply<()>> {
        self.0.hello()
    }
    fn execute(&self, known: Known, ops: Arc<[Op]>) -> Fut<'_, Reply<Vec<Answer>>> {
        self.0.execute(known, ops)
    }
    fn query(&self, known: Known, key: Key) -> Fut<'_, Reply<Stored>> {
        self.0.query(known, key)
    }
    fn fence(&self, known: Known, key: Key) -> Fut<'_, Reply<Stored>> {
        self.0.fence(known, key)
    }
    fn note_halt(&self, known: Known, number: u64) -> Fut<'_, Reply<Option<u64>>> {
        self.0.note_halt(known, number)
    }
    fn totals(&self) -> Fut<'_, Reply<Vec<(AssetId, Totals)>>> {
        self.0.totals()
    }
    fn operations(&self, after: u64, limit: usize) -> Fut<'_, Reply<Vec<Operation>>> {
        self.0.operations(after, limit)
    }
    fn horizon(&self, known: Known, id: Id, open: Arc<[Id]>) -> Fut<'_, Reply<()>> {
        self.0.horizon(known, id, open)
    }
    fn accounts(&self, whose: Whose) -> Fut<'_, Reply<Vec<Holding>>> {
        self.0.accounts(whose)
    }
    fn status(&self, known: Known, change: StatusChange) -> Fut<'_, Reply<bool>> {
        self.0.status(known, change)
    }
    fn enlist(&self) -> Option<&dyn Enlist> {
        self.0.enlist()
    }
}
