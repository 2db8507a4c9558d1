//! A service with one user's money in it, and what is looked at before and after.

use super::Wrong;
use crate::fixture::{TestService, TestSetup};
use kernel::flow::life::Leg;
use kernel::ids::{AssetId, Id, LedgerId, Serial, UserId};
use kernel::money::Amount;
use kernel::operation::{Key, Op};
use kernel::ports::ledger::{
    AccountStatus, Direction, External, Ledger, Moved, Reply, StatusChange, Whose,
};
use kernel::record::{Account, Record};
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

pub(super) const USER: UserId = UserId(4001);
pub(super) const OTHER: UserId = UserId(4002);
pub(super) const USDT: AssetId = AssetId(3);
pub(super) const UNIT: u128 = 1_000_000;

/// A service with an engine and a door that need not be called.
pub(super) struct Bare(TestService);

impl Deref for Bare {
    type Target = TestService;

    fn deref(&self) -> &TestService {
        &self.0
    }
}

/// What a wrong thing would have changed.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Seen(Vec<(&'static str, String)>);

impl Bare {
    /// Both users have 100 at both ledgers; what a row needs besides is done.
    pub(super) async fn open(wrong: Wrong) -> Self {
        let mut setup = TestSetup { sql: ASSETS, ..TestSetup::default() };
        let config = &mut setup.config;
        // after the first round no further one finds what is done past the engine
        config.conservation.interval_ms = 3_600_000;
        if wrong == Wrong::Crowded {
            config.engine.max_open = 0;
        }
        // one was made today, or more is asked for than is allowed
        if wrong == Wrong::DayFull {
            config.limits.transfers_per_day = 1;
        }
        if wrong == Wrong::AmountFull {
            config.limits.daily_amount = [("USDT".to_owned(), "4.999999".to_owned())].into();
        }
        let bare = Self(TestService::with(setup).await);
        bare.first_round().await;
        bare.fund().await;
        bare.prepare(wrong).await;
        bare
    }

    /// Waits for the round of conservation with which every start begins: it counts all rows, and
    /// would halt the service for an operation that it sees at a ledger without a transfer.
    async fn first_round(&self) {
        while self.app.engine.reconciler.report().is_none() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        let report = self.app.engine.reconciler.report().expect("a round");
        assert!(report.ok && report.recounted, "no count follows in the background: {report:?}");
    }

    /// Waits for the end of a transfer, after which it moves nothing.
    pub(super) async fn ends(&self, mut record: Record) {
        while !self.app.engine.flows().table(record.flow).ends(record.head.state) {
            tokio::time::sleep(Duration::from_millis(2)).await;
            let found = self.app.engine.transfer(record.id).await.expect("the journal answers");
            record = found.expect("it was opened").0;
        }
    }

    pub(super) fn core(&self) -> Arc<dyn Ledger> {
        self.service.spot.clone().expect("Spot is here")
    }

    async fn fund(&self) {
        for user in [USER, OTHER] {
            for asset in [USDT, AssetId(1)] {
                let movement = External {
                    direction: Direction::In,
                    reference: format!("{user}-{asset}").into(),
                    user,
                    number: None,
                    asset,
                    amount: Amount(100 * UNIT),
                    reason: "a test".into(),
                    caller: "test".into(),
                };
                let moved = self.service.store.funding().external(movement).await;
                assert!(matches!(moved, Ok(Moved::Done { .. })), "{moved:?}");
                let n = user.0 * 10 + u64::from(asset.0);
                let op = Op { asset, ..op(n, Leg::Deposit, 100 * UNIT).of(user) };
                assert_eq!(self.call(&*self.core(), op).await, "done");
            }
        }
    }

    /// Sets the status of the user's account at a ledger.
    pub(super) async fn set(&self, ledger: &dyn Ledger, status: AccountStatus) {
        let change = StatusChange {
            user: USER,
            status,
            reason: "a test".into(),
            caller: "test".into(),
            key: status.name().into(),
        };
        let known = known(ledger).await;
        let reply = ledger.status(known, change).await;
        assert!(matches!(reply, Reply::Answered(_, true)), "{reply:?}");
    }

    /// Everything that must stay as it is.
    pub(super) async fn seen(&self) -> Seen {
        let mut seen = Vec::new();
        let ledgers: [(&str, Arc<dyn Ledger>); 2] =
            [("Funding", self.service.store.funding()), ("Spot", self.core())];
        for (name, ledger) in ledgers {
            for user in [USER, OTHER, UserId(4003), UserId(i64::MAX.unsigned_abs())] {
                let Reply::Answered(_, mut held) = ledger.accounts(Whose::User(user)).await else {
                    panic!("{name} says what user {user} has")
                };
                // a row sets a status on purpose
                held.iter_mut().for_each(|held| held.status = AccountStatus::Active);
                seen.push((name, format!("{held:?}")));
            }
            let Reply::Answered(_, totals) = ledger.totals().await else {
                panic!("{name}'s totals")
            };
            seen.push((name, format!("{totals:?}")));
        }
        let mut snapshot = self.service.store.snapshot().await.expect("a snapshot");
        let rows = snapshot.lines(Serial(0), 1_000).await.expect("lines").len();
        seen.push(("transfers", rows.to_string()));
        Seen(seen)
    }

    /// What is not as it was.
    pub(super) async fn since(&self, before: Seen) -> Vec<String> {
        let now = self.seen().await.0.into_iter();
        let moved = now.zip(before.0).filter(|(now, before)| now != before);
        moved.map(|(now, before)| format!("{now:?} was {before:?}")).collect()
    }
}

/// Each refusal of steps 5 and 6 has an asset.
const ASSETS: &str = "
    UPDATE assets_tb SET status = 'SUSPENDED' WHERE symbol = 'ETH';
    UPDATE assets_tb SET status = 'DELISTED' WHERE symbol = 'USDC';
    UPDATE assets_tb SET internal_transfer_enabled = 0 WHERE symbol = 'USD';
    UPDATE assets_tb SET min_transfer_amount = printf('%039d', 1000000),
        max_transfer_amount = printf('%039d', 500000000) WHERE symbol = 'USDT';";

/// The n-th transfer's leg, of USDT at the user.
pub(super) fn op(n: u64, leg: Leg, amount: u128) -> Op {
    Op {
        key: Key { id: Id::new(1_700_000_000_000 + n, 7), leg },
        account: Account::User(USER),
        other: None,
        asset: USDT,
        amount: Amount(amount),
    }
}

/// The same of another user.
pub(super) trait Of {
    fn of(self, user: UserId) -> Self;
}

impl Of for Op {
    fn of(self, user: UserId) -> Self {
        Self { account: Account::User(user), ..self }
    }
}

pub(super) async fn known(ledger: &dyn Ledger) -> kernel::operation::Known {
    match ledger.hello().await {
        Reply::Answered(known, ()) => known,
        silent @ (Reply::OtherLedger(_) | Reply::NoAnswer(_)) => panic!("{silent:?}"),
    }
}

pub(super) const FUNDING: LedgerId = LedgerId::FUNDING;
pub(super) const SPOT: LedgerId = LedgerId::SPOT;
