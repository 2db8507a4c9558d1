//! The service of a test that offers `account`: accounts, transfers between them, and what the bus has.

use crate::fixture::crash_points::Side;
use crate::fixture::defaults::{COIN, NEVER};
use crate::fixture::test_service::TestService;
use engine::Settings;
use flows::account;
use kernel::accounts::{AccountsOf, NumberedStatus};
use kernel::flow::life::Life as _;
use kernel::ids::{Id, LedgerId, UserId};
use kernel::money::Amount;
use kernel::owner::TransferOwner;
use kernel::ports::bus::{Bus as _, BusMessage};
use kernel::ports::clock::Rng as _;
use kernel::ports::journal::{OperatorQueries as _, TransferQueries as _, UnitWriter as _};
use kernel::ports::ledger::{Direction, External};
use kernel::ports::outbox::Outbox as _;
use kernel::record::{Account, Party, Record, System, Terms};
use kernel::retry::Backoff;
use kernel::unit::{Guard, Put, Unit, Wrote};
use links::in_process::InProcess;
use std::collections::BTreeSet;
use std::ops::Deref;
use std::sync::Arc;
use testkit::{MINUTE, UniqueRng, book, deposit, wait_until};

pub(crate) const TOPICS: [&str; 4] =
    ["transfer-validation", "transfer-execution", "transfer-completed", "transfer-failed"];

/// Where transfers should stand.
pub(crate) struct Expected {
    pub ids: Vec<Id>,
    pub state: &'static str,
}

/// A transfer of user 1 from one account to another.
pub(crate) fn account_terms(from: &str, to: &str, amount: u128) -> Terms {
    let at = |number: &str| Party {
        system: System::Ledger(LedgerId::ACCOUNT),
        account: Account::Named(number.into()),
        asset: COIN,
        amount: Amount(amount),
    };
    let owner = TransferOwner::User(UserId(1));
    Terms::between("test|1".into(), owner, at(from), at(to))
}

pub(crate) struct AccountService {
    pub service: TestService,
}

impl Deref for AccountService {
    type Target = TestService;

    fn deref(&self) -> &TestService {
        &self.service
    }
}

impl AccountService {
    pub(crate) async fn open(fuse: bool) -> Self {
        Self::tuned(fuse, |_| {}).await
    }

    /// Whatever is lost is sent again soon.
    pub(crate) async fn impatient(fuse: bool) -> Self {
        Self::tuned(fuse, |settings| settings.resend = Backoff { base: 50, cap: 200 }).await
    }

    pub(crate) async fn tuned(fuse: bool, tune: impl FnOnce(&mut Settings)) -> Self {
        let mut service = TestService::open_with(fuse, NEVER, tune).await;
        service.bus = Some(Self::new_bus(&service));
        service.restart().await;
        Self { service }
    }

    fn new_bus(service: &TestService) -> InProcess {
        let file = service.dir.path().join(format!("bus-{}.db", service.engine.journal().now()));
        InProcess::open(&file, Arc::new(service.clock.clone())).expect("a bus")
    }

    /// A bus that has nothing, in the next life: its offsets are gone too.
    pub(crate) async fn lose_bus(&mut self) {
        self.service.bus = Some(Self::new_bus(&self.service));
        self.service.restart().await;
    }

    pub(crate) fn bus(&self) -> &InProcess {
        self.service.bus.as_ref().expect("a bus")
    }

    /// Makes an account of a user, with this amount of money.
    pub(crate) async fn account(&self, number: &str, owner: u64, amount: u128) {
        let (number, owner): (Arc<str>, _) = (number.into(), UserId(owner));
        let status = NumberedStatus::Active;
        let put = Put::Account { number: number.clone(), owner, asset: COIN, status };
        let guard = Guard::Account { number: number.clone(), version: 0 };
        self.written(Unit::guarded(vec![guard], vec![put])).await;
        if amount > 0 {
            self.book(Direction::In, &number, owner, amount).await;
        }
    }

    pub(crate) async fn out(&self, number: &str, amount: u128) {
        let found = self.stored(number).await;
        self.book(Direction::Out, number, found.owner, amount).await;
    }

    async fn book(&self, direction: Direction, number: &str, user: UserId, amount: u128) {
        let movement = deposit(&format!("{number}-{direction:?}"), user.0, COIN, amount);
        let movement = External { direction, number: Some(number.into()), ..movement };
        book(&*self.opened.world, movement).await;
    }

    pub(crate) async fn status(&self, number: &str, status: NumberedStatus) {
        let found = self.stored(number).await;
        let guard = Guard::Account { number: number.into(), version: found.version };
        let (owner, asset) = (found.owner, found.asset);
        let put = Put::Account { number: number.into(), owner, asset, status };
        self.written(Unit::guarded(vec![guard], vec![put])).await;
    }

    async fn written(&self, unit: Unit) {
        let wrote = self.service.store().write(vec![unit]).await;
        assert!(matches!(wrote[..], [Wrote::Written(_)]), "{wrote:?}");
    }

    async fn stored(&self, number: &str) -> kernel::accounts::NumberedAccount {
        let asked = AccountsOf::Numbers(vec![number.into()]);
        let found = self.service.store().numbered_accounts(asked).await;
        found.expect("the journal").pop().expect("an account")
    }

    pub(crate) async fn holds(&self, number: &str, amount: u128) {
        assert_eq!(self.stored(number).await.balance, Amount(amount), "{number}");
    }

    /// Opens a transfer for user 1; the record that the caller is answered with.
    pub(crate) async fn open_transfer(&self, from: &str, to: &str, amount: u128) -> Record {
        let terms = account_terms(from, to, amount);
        let flow = self.service.engine.flows().named(account::State::FLOW).expect("the flow");
        self.service.engine.intake.create(flow, terms).await.expect("it is opened").record
    }

    /// Opens a transfer, and waits until the process dies at the write of this event.
    pub(crate) async fn cut_at(&self, side: Side, event: &'static str) {
        self.service.crash_point.set_event(side, event);
        let mut fell = std::pin::pin!(self.service.crash_point.fell());
        tokio::select! {
            () = &mut fell => {}
            _opened = self.open_transfer("A-1", "B-1", 10) => fell.await,
        }
    }

    /// The transfers that are open.
    pub(crate) async fn open_now(&self) -> Vec<Id> {
        self.service.store().open_below(Id(u128::MAX)).await.expect("the journal")
    }

    /// Waits until the bus has this number of messages and the outbox waits for none; the messages' numbers.
    pub(crate) async fn settled(&self, messages: usize) -> BTreeSet<u128> {
        let mut found = Vec::new();
        let _in_time = wait_until(MINUTE, async || {
            found = self.messages(&TOPICS).await;
            let backlog = self.store().backlog().await.expect("the outbox");
            found.len() >= messages && backlog.messages == 0
        })
        .await;
        assert_eq!(found.len(), messages);
        found.into_iter().map(|message| message.number).collect()
    }

    pub(crate) fn state_of(&self, record: &Record) -> &'static str {
        self.service.engine.flows().table(record.flow).state(record.head.state).name
    }

    pub(crate) async fn expect(&self, expected: &Expected) {
        let states = self.service.states(&expected.ids).await;
        assert!(states.values().all(|state| *state == expected.state), "{states:?}");
    }

    /// The words of a history.
    pub(crate) async fn event_names(&self, id: Id) -> Vec<String> {
        let history = self.service.store().history(id).await.expect("the journal");
        history.into_iter().map(|linked| linked.entry.event).collect()
    }

    /// Every message that the bus has, by topic.
    pub(crate) async fn messages(&self, topics: &[&str]) -> Vec<BusMessage> {
        let mut all = Vec::new();
        for topic in topics {
            let group = format!("test-{}", UniqueRng.next());
            let topics = vec![Arc::from(*topic)];
            let mut member = self.bus().subscribe(group.into(), topics).await.expect("a member");
            loop {
                let polled = member.poll(1_000, 0).await.expect("messages");
                if polled.messages.is_empty() {
                    break;
                }
                all.extend(polled.messages.into_iter().map(|delivery| delivery.message));
            }
        }
        all
    }

    /// Waits until the bus has these messages of a transfer, each once.
    pub(crate) async fn published(&self, id: Id, topics: &[&str]) {
        let mut found: Vec<String> = Vec::new();
        let _in_time = wait_until(MINUTE, async || {
            let mine = |message: &BusMessage| message.payload.contains(&id.to_string());
            let messages = self.messages(&TOPICS).await;
            found = messages.iter().filter(|m| mine(m)).map(|m| m.topic.to_string()).collect();
            found.len() >= topics.len()
        })
        .await;
        let mut should: Vec<&str> = topics.to_vec();
        should.sort_by_key(|topic| TOPICS.iter().position(|known| known == topic));
        assert_eq!(found, should);
    }

    /// Conservation holds, with every row counted.
    pub(crate) async fn in_order(&self) {
        let report = self.service.engine.reconciler.count_now().await.expect("a count");
        assert!(report.ok, "{report:?}");
        assert_eq!(self.service.engine.halted(), None);
    }
}
