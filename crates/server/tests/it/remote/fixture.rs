//! A home, one remote ledger, and the network between them.

use super::home::{GIVEN, Home, USERS, elsewhere};
use super::proxy::Crooked;
use super::served::Served;
use crate::fixture::runtime;
use kernel::ids::{AssetId, Id, LedgerId};
use kernel::operation::Operation;
use kernel::ports::ledger::{Ledger, Reply, Totals};
use ledgers::spot::Spot;
use server::config::{LedgerForm, Ledgers};
use std::sync::atomic::Ordering;
use tempfile::TempDir;
use tokio::runtime::Runtime;

/// A home, the ledger elsewhere, and the way between them.
pub(crate) struct Fixture {
    pub home: Home,
    pub way: Crooked,
    pub served: Option<Served>,
    pub outside: Runtime,
    pub folder: TempDir,
    ledger: LedgerId,
}

/// Everything that tells whether something was executed in a core.
pub(crate) type Books = (u64, Vec<(AssetId, Totals)>, Vec<Operation>);

impl Fixture {
    /// A scene in which this ledger is a Spot core behind HTTP.
    pub(crate) fn open(ledger: LedgerId, fuse: bool) -> Self {
        let outside = runtime();
        let folder = tempfile::tempdir().expect("a folder");
        let served = outside.block_on(Served::folder(folder.path()));
        let way = outside.block_on(Crooked::to(served.at));
        let ledgers = Ledgers::default().with(ledger, elsewhere(way.at, LedgerForm::Full));
        let home = Home::open(fuse, ledgers);
        Self { home, way, served: Some(served), outside, folder, ledger }
    }

    /// From Funding to the ledger elsewhere.
    pub(crate) const fn there(&self) -> (LedgerId, LedgerId) {
        (LedgerId::FUNDING, self.ledger)
    }

    /// From the ledger elsewhere to Funding.
    pub(crate) const fn back(&self) -> (LedgerId, LedgerId) {
        (self.ledger, LedgerId::FUNDING)
    }

    /// One transfer of each user that way.
    pub(crate) fn send(&self, way: (LedgerId, LedgerId), amount: u128) -> Vec<Id> {
        USERS.map(|user| self.home.opened(way, user, amount)).collect()
    }

    /// Transfers of all users, there and back, to their end.
    pub(crate) fn work(&self, rounds: u128) {
        for round in 0..rounds {
            for (way, amount) in [(self.there(), 100 + round), (self.back(), 30 + round)] {
                let states = self.home.ended(&self.send(way, amount));
                assert!(states.iter().all(|state| *state == "COMMITTED"), "{states:?}");
            }
        }
    }

    /// Every unit is where it should be, on both sides, and no case is open.
    pub(crate) fn exact(&self, elsewhere: u128) {
        self.way.fair();
        self.home.adds_up();
        let users = u128::from(USERS.end - USERS.start);
        assert_eq!(self.home.has(self.ledger), elsewhere);
        assert_eq!(self.home.has(LedgerId::FUNDING), users * GIVEN - elsewhere);
        let alarms = self.home.cases().into_iter().filter(|(_, severity)| severity == "CRITICAL");
        assert_eq!(alarms.count(), 0, "{:?}", self.home.cases());
        assert_eq!(self.way.trapped.load(Ordering::Relaxed), 0, "a client followed a redirect");
    }

    /// The core that is served.
    pub(crate) fn spot(&self) -> &Spot {
        &self.served.as_ref().expect("it is served").spot
    }

    /// What the core says of its totals and its operations.
    pub(crate) fn books(&self, spot: &Spot) -> Books {
        let (totals, operations) = self
            .outside
            .block_on(async { (spot.totals().await, spot.operations(0, usize::MAX).await) });
        match (totals, operations) {
            (Reply::Answered(known, totals), Reply::Answered(_, operations)) => {
                (known.highest, totals, operations)
            }
            silent => panic!("{silent:?}"),
        }
    }
}
