//! The drivers that write units, each with what makes it write and what must come of that.

use crate::events::fixture::{AccountService, account_terms};
use crate::fixture::defaults::{COIN, FUNDING, NEVER, SPOT, terms};
use crate::fixture::faulty_ledger::{CallFault, Lie};
use crate::fixture::running::execute_as;
use crate::fixture::test_service::TestService;
use crate::fixture::write_faults::{IsUnit, WriteFault};
use crate::observed_deposits;
use engine::Settings;
use engine::operators::AdminAction;
use kernel::ids::{ChainId, Id};
use kernel::operation::Known;
use kernel::ports::journal::{OperatorQueries as _, TransferQueries as _};
use kernel::record::{Binding, Record, Terms};
use kernel::retry::Backoff;
use kernel::unit::{Guard, Put, Unit};
use sim::chain::{ChainRules, Locking, RelayFacts, SimChain, relay_terms};
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use testkit::{MINUTE, wait_until};
use tokio::task::JoinHandle;

const RULES: ChainRules =
    ChainRules { id: ChainId(20), block_ms: 20, validity: 500, ..ChainRules::calm(Locking::Nonce) };
/// The pause before something is asked for again.
const AGAIN: Duration = Duration::from_millis(5);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Driver {
    /// The intake opens a transfer.
    Opening,
    /// A station writes the answer of a ledger.
    Station,
    /// A gatherer binds transfers into an attempt.
    Gatherer,
    /// A prover closes an attempt.
    Prover,
    /// A consumer of messages moves a transfer.
    Consumer,
    /// A person's action is written.
    Operator,
    /// A watcher of a chain opens the transfers of the deposits that it found.
    Watcher,
    /// A process takes an attempt over that an earlier one left.
    Recovery,
}

impl Driver {
    pub(super) const ALL: [Self; 8] = [
        Self::Opening,
        Self::Station,
        Self::Gatherer,
        Self::Prover,
        Self::Consumer,
        Self::Operator,
        Self::Watcher,
        Self::Recovery,
    ];

    /// The unit that this driver alone writes in its fixture.
    fn unit(self) -> IsUnit {
        match self {
            Self::Opening => |unit| puts(unit, |put| matches!(put, Put::Open(_))),
            Self::Station => |unit| puts(unit, |put| matches!(put, Put::Receipt { .. })),
            Self::Gatherer => |unit| puts(unit, |put| matches!(put, Put::Attempt(_))),
            Self::Prover => {
                |unit| puts(unit, |put| matches!(put, Put::AttemptHead { closed: Some(_), .. }))
            }
            Self::Consumer => {
                |unit| unit.guards.iter().any(|guard| matches!(guard, Guard::Inbox { .. }))
            }
            Self::Operator => |unit| puts(unit, |put| matches!(put, Put::Action(_))),
            Self::Watcher => |unit| puts(unit, |put| matches!(put, Put::Resource { .. })),
            Self::Recovery => {
                |unit| puts(unit, |put| matches!(put, Put::AttemptHead { closed: None, .. }))
            }
        }
    }
}

fn puts(unit: &Unit, is: impl Fn(&Put) -> bool) -> bool {
    unit.then.puts.iter().any(is)
}

/// A service in which a driver is about to write.
pub(super) struct DriverFixture {
    pub(super) driver: Driver,
    pub(super) service: TestService,
    chain: Option<SimChain>,
    /// The transfer that is open before.
    open: Option<Id>,
    /// What makes the driver write.
    begun: Option<JoinHandle<Option<Record>>>,
}

impl Drop for DriverFixture {
    fn drop(&mut self) {
        if let Some(begun) = &self.begun {
            begun.abort();
        }
    }
}

/// A caller waits for the end of its transfer, and for an answer of the journal only shortly.
fn tune(settings: &mut Settings) {
    settings.sync_timeout_ms = 60_000;
    settings.open_timeout_ms = 500;
}

impl DriverFixture {
    /// `endless`: nothing sleeps for this time.
    pub(super) async fn open(driver: Driver, endless: Option<u64>) -> Self {
        let (mut chain, mut open) = (None, None);
        let service = match driver {
            Driver::Opening if endless.is_none() => TestService::open_with(true, NEVER, tune).await,
            Driver::Opening | Driver::Consumer => account(endless).await,
            Driver::Station => {
                let mut service = TestService::open_with(false, NEVER, tune).await;
                service.cores = vec![SPOT];
                service.restart().await;
                service
            }
            Driver::Gatherer | Driver::Prover | Driver::Recovery => {
                let (service, relayed) = relay().await;
                chain = Some(relayed);
                service
            }
            Driver::Operator => {
                let service = TestService::open_with(false, NEVER, |settings| {
                    tune(settings);
                    settings.sync_timeout_ms = 20;
                    settings.backoff = Backoff { base: 600_000, cap: 600_000 };
                });
                let service = service.await;
                open = Some(service.open_retried(FUNDING, CallFault::LoseRequests).await);
                service
            }
            Driver::Watcher => observed_deposits::service().await,
        };
        let mut fixture = Self { driver, service, chain, open, begun: None };
        if driver == Driver::Recovery {
            fixture.leaves_an_attempt().await;
        }
        fixture
    }

    /// An attempt is sent that reaches no block, and the process ends.
    async fn leaves_an_attempt(&mut self) {
        let chain = self.chain.clone().expect("a chain");
        chain.swallow(true);
        self.begun = Some(self.creates("relay", relay_terms(RULES.id, "good-1", 100, "left")));
        let sent = "SELECT count(*) FROM attempts WHERE sent AND closed_at IS NULL";
        let is_sent =
            async || self.service.tool().query_row(sent, [], |row| row.get::<_, i64>(0)) == Ok(1);
        assert!(wait_until(MINUTE, is_sent).await, "no attempt is sent");
        let open = self.service.store().open_below(Id(u128::MAX)).await.expect("the journal");
        self.open = open.first().copied();
        if let Some(begun) = self.begun.take() {
            begun.abort();
        }
        self.service.stop().await;
        chain.swallow(false);
    }

    /// Makes the driver write, which meets this fault.
    pub(super) async fn begins(&mut self, fault: WriteFault) {
        let faults = self.service.write_faults.clone();
        faults.arm(self.driver.unit(), fault);
        self.begun = Some(match self.driver {
            Driver::Opening | Driver::Consumer if self.service.bus.is_some() => {
                self.creates("account", bound(account_terms("A-1", "B-1", 10)))
            }
            Driver::Opening | Driver::Consumer | Driver::Station => {
                self.creates("internal", bound(terms(FUNDING, 1, 500, COIN)))
            }
            Driver::Gatherer | Driver::Prover => {
                self.creates("relay", relay_terms(RULES.id, "good-1", 100, "begun"))
            }
            Driver::Operator => self.retries(),
            Driver::Watcher => self.observes(),
            Driver::Recovery => {
                self.service.restart().await;
                caller(async { None })
            }
        });
        let met = wait_until(MINUTE, async || faults.met().is_some()).await;
        assert!(met, "{:?} writes nothing", self.driver);
    }

    /// A client asks for a transfer until it has an answer.
    fn creates(&self, flow: &str, terms: Terms) -> JoinHandle<Option<Record>> {
        let engine = self.service.engine.clone();
        let flow = engine.flows().named(flow).expect("the flow");
        caller(asked(move || {
            let (engine, terms) = (engine.clone(), terms.clone());
            async move { Some(engine.intake.create(flow, terms).await.ok()?.record) }
        }))
    }

    /// A person has the transfer tried again, until there is an answer.
    fn retries(&self) -> JoinHandle<Option<Record>> {
        let (engine, id) = (self.service.engine.clone(), self.open.expect("an open transfer"));
        caller(async move {
            while execute_as(&engine, "ada", "again", AdminAction::Retry(id)).await.is_err() {
                tokio::time::sleep(AGAIN).await;
            }
            None
        })
    }

    /// A watcher stores what it found, until there is an answer.
    fn observes(&self) -> JoinHandle<Option<Record>> {
        let found = vec![observed_deposits::deposit("a", 10_000_000)];
        let found = observed_deposits::observation(&self.service, 0, found);
        let engine = self.service.engine.clone();
        caller(async move {
            while engine.observed_deposits.store_observation(found.clone()).await.is_err() {
                tokio::time::sleep(AGAIN).await;
            }
            None
        })
    }

    /// Waits until everything has come to the end that it has without a fault, and the caller knows it.
    pub(super) async fn ends(&mut self) {
        let told = self.begun.take().expect("it begins").await.expect("no panic");
        let flows = self.service.engine.flows();
        let id = told.as_ref().map(|record| record.id).or(self.open);
        if self.driver == Driver::Watcher {
            assert!(observed_deposits::at(&self.service, "a").await.is_some(), "no transfer");
        } else {
            self.service.wait_for_end(&[id.expect("a transfer")]).await;
        }
        if let (Driver::Station, Some(told)) = (self.driver, &told) {
            let end = flows.table(told.flow).ends(told.head.state);
            assert!(end, "the caller is told of {:?}", told.head);
        }
        if let (Some(chain), Some(id)) = (&self.chain, id) {
            assert_eq!(chain.paid().get(&id).map(Vec::len), Some(1), "{:?}", chain.paid());
            assert_eq!(chain.faults(), [""; 0]);
        }
        assert_eq!(self.service.engine.halted(), None);
    }

    /// Returns what the journal knows of Spot. From now on it says of itself that it is
    /// another ledger.
    pub(super) async fn spot_lies(&self) -> Option<Known> {
        let known = self.service.known_spot().await;
        self.service.faulty_spot.set_lie(Lie::Stranger);
        known
    }

    /// Opens a transfer and waits for its end: the journal adopts its ledgers.
    pub(super) async fn moves_money(&self) {
        let id = self.service.open_transfer(FUNDING, 9, 1).await;
        self.service.wait_for_end(&[id]).await;
    }

    /// Whether the journal has an open case of this kind.
    pub(super) async fn has_case(&self, kind: &str) -> bool {
        let open = self.service.store().open_cases().await.expect("the journal");
        open.iter().any(|case| &*case.kind == kind)
    }
}

async fn asked<F: Future<Output = Option<Record>>>(ask: impl Fn() -> F) -> Option<Record> {
    loop {
        if let Some(record) = ask().await {
            return Some(record);
        }
        tokio::time::sleep(AGAIN).await;
    }
}

/// The same terms under a client's key.
fn bound(mut terms: Terms) -> Terms {
    let (scope, fingerprint) = (terms.principal.clone(), terms.fingerprint());
    terms.binding = Some(Binding { scope, key: "begun".into(), fingerprint });
    terms
}

async fn account(endless: Option<u64>) -> TestService {
    let mut account = AccountService::tuned(false, tune).await;
    account.account("A-1", 1, 100).await;
    account.account("B-1", 2, 0).await;
    if endless.is_some() {
        account.service.endless_sleep = endless;
        account.service.restart().await;
    }
    account.service
}

async fn relay() -> (TestService, SimChain) {
    let mut service = TestService::open_with(true, NEVER, tune).await;
    let chain = SimChain::new(RULES, Arc::new(service.clock.clone()), 7);
    chain.register("good-1");
    service.chain = Some(chain.clone());
    service.facts.insert("relay", Arc::new(RelayFacts(chain.clone())));
    service.restart().await;
    (service, chain)
}

/// Someone who asks and waits for an answer.
#[expect(clippy::disallowed_methods, reason = "a caller, not a task of the engine")]
fn caller(
    asks: impl Future<Output = Option<Record>> + Send + 'static,
) -> JoinHandle<Option<Record>> {
    tokio::spawn(asks)
}
