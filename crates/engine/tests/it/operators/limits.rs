//! Daily limits: counted in the unit that opens, given back with the unit that ends in vain.
//!
//! Wrong builds that were run, each of which turns one of these red: a count without its guard;
//! nothing given back; a count given back to the day of the end; a limit that is looked at before the
//! key; a dry run that counts, or sees no limit; a caller who is never told of an end that another
//! worker wrote.

use crate::fixture::defaults::{COIN, FUNDING, NEVER, SPOT, terms};
use crate::fixture::faulty_ledger::CallFault;
use crate::fixture::test_service::TestService;
use engine::operators::{AdminAction, AssetChange};
use engine::{Accepted, Refused, Settings};
use kernel::code::Code;
use kernel::ids::{Day, LedgerId, UserId};
use kernel::limits::DailyUsage;
use kernel::money::Amount;
use kernel::ports::journal::{ServiceQueries as _, TransferQueries as _, UnitWriter as _};
use kernel::ports::ledger::{AccountStatus, StatusChange};
use kernel::record::Binding;
use kernel::retry::Backoff;
use testkit::{MINUTE, wait_for, wait_until};
use tokio::task::JoinSet;

fn code(refused: &Result<Accepted, Refused>) -> Option<Code> {
    match refused {
        Err(Refused::Code(code)) => Some(*code),
        Ok(_) | Err(Refused::Mismatch(_) | Refused::Unknown(_)) => None,
    }
}

async fn spent(service: &TestService, day: Day) -> (u64, u128) {
    let DailyUsage { transfers, amount } =
        service.store().daily_usage(UserId(1), day, COIN).await.expect("a count");
    (transfers, amount.0)
}

fn today(service: &TestService) -> Day {
    Day::of(service.store().now())
}

async fn would(service: &TestService, from: LedgerId, amount: u128) -> Option<Code> {
    let flow = service.engine.flows().named("internal").expect("the flow");
    service.engine.checks.would(flow, &terms(from, 1, amount, COIN)).await.err()
}

/// Fused, plain, and past a full ring.
async fn services(tune: impl Fn(&mut Settings) + Copy) -> Vec<TestService> {
    let mut services = Vec::new();
    for (fuse, ring) in [(true, 10_000), (false, 10_000), (true, 1)] {
        let tuned = |settings: &mut Settings| {
            settings.ring = ring;
            tune(settings);
        };
        services.push(TestService::open_with(fuse, NEVER, tuned).await);
    }
    services
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_day_has_a_maximum_number_of_transfers_and_what_failed_is_given_back() {
    for service in services(|settings| settings.limits.transfers_per_day = 3).await {
        let day = today(&service);
        let failed = service.open_transfer(FUNDING, 1, 5_000_000).await;
        service.wait_for_end(&[failed]).await;
        assert_eq!(spent(&service, day).await, (0, 0), "a refusal takes nothing");
        let mut ids = Vec::new();
        for amount in [100, 200, 300] {
            assert_eq!(would(&service, FUNDING, amount).await, None);
            ids.push(service.open_transfer(FUNDING, 1, amount).await);
        }
        service.wait_for_end(&ids).await;
        assert_eq!(would(&service, FUNDING, 1).await, Some(Code::DailyLimitExceeded));
        assert_eq!(code(&service.create(FUNDING, 1, 1).await), Some(Code::DailyLimitExceeded));
        assert_eq!(spent(&service, day).await, (3, 600), "the dry runs took nothing");
        let other = service.open_transfer(FUNDING, 2, 1).await;
        service.wait_for_end(&[other]).await;
        service.clock.forward(86_400_000);
        ids.push(service.open_transfer(FUNDING, 1, 400).await);
        service.wait_for_end(&ids).await;
        assert_eq!(spent(&service, today(&service)).await, (1, 400));
        assert_eq!(spent(&service, day).await, (3, 600));
        service.assert_in_order().await;
    }
}

/// It is rolled back on the day after: the day that it was taken from gets it back.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_rolled_back_is_given_back_to_its_own_day() {
    for service in services(|settings| settings.limits.transfers_per_day = 5).await {
        let first = service.open_transfer(FUNDING, 1, 10).await;
        service.wait_for_end(&[first]).await;
        let day = today(&service);
        service.faulty_spot.set_fault(CallFault::LoseRequests);
        let id = service.open_transfer(FUNDING, 1, 500).await;
        service.wait_for_state(id, "TARGET_PENDING").await;
        assert_eq!(spent(&service, day).await, (2, 510));
        service.clock.forward(86_400_000);
        service.faulty_spot.set_fault(CallFault::None);
        service.faulty_spot.set_fault(CallFault::LoseRequests);
        service.disable_at_spot(1).await;
        service.faulty_spot.set_fault(CallFault::None);
        service.wait_for_end(&[id]).await;
        assert_eq!(service.states(&[id]).await.get(&id), Some(&"ROLLED_BACK"));
        assert_eq!(spent(&service, day).await, (1, 10));
        assert_eq!(spent(&service, today(&service)).await, (0, 0));
    }
}

/// Days before yesterday are forgotten, and what comes back to one of them raises no other user's.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_given_back_to_a_forgotten_day_is_nothing() {
    let tune = |settings: &mut Settings| settings.limits.transfers_per_day = 5;
    let service = TestService::open_with(true, NEVER, tune).await;
    let first = service.open_transfer(FUNDING, 1, 10).await;
    service.wait_for_end(&[first]).await;
    let day = today(&service);
    service.faulty_spot.set_fault(CallFault::LoseRequests);
    let id = service.open_transfer(FUNDING, 1, 500).await;
    service.wait_for_state(id, "TARGET_PENDING").await;
    service.clock.forward(86_400_000);
    tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    assert_eq!(spent(&service, day).await, (2, 510), "yesterday is kept");
    let rows = || {
        let count = "SELECT count(*) FROM limits_tb";
        service.tool().query_row(count, [], |row| row.get::<_, i64>(0)).expect("a number")
    };
    service.clock.forward(2 * 86_400_000);
    let _in_time = wait_until(MINUTE, async || {
        service.clock.forward(60_000);
        rows() == 0
    })
    .await;
    assert_eq!((rows(), spent(&service, day).await), (0, (0, 0)));
    service.disable_at_spot(1).await;
    service.faulty_spot.set_fault(CallFault::None);
    service.wait_for_end(&[id]).await;
    assert_eq!(service.states(&[id]).await.get(&id), Some(&"ROLLED_BACK"));
    assert_eq!((rows(), spent(&service, day).await), (0, (0, 0)), "no row comes back");
    service.faulty_spot.set_fault(CallFault::LoseRequests);
    for amount in 1..=5 {
        service.open_transfer(FUNDING, 1, amount).await;
    }
    assert_eq!(code(&service.create(FUNDING, 1, 6).await), Some(Code::DailyLimitExceeded));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_lower_of_two_amounts_holds() {
    let tune = |settings: &mut Settings| {
        settings.limits.daily_amount = [("USDT".to_owned(), "0.001".to_owned())].into();
    };
    for service in services(tune).await {
        let limit = |key: &'static str, daily| {
            let symbol = "USDT".to_owned();
            let change = AssetChange { symbol, daily: Some(daily), ..AssetChange::default() };
            service.execute_as("ada", key, AdminAction::ChangeAsset(change))
        };
        let mut ids = vec![service.open_transfer(FUNDING, 1, 900).await];
        for (refused, amount) in [(true, 101), (false, 100)] {
            let wanted = refused.then_some(Code::DailyAmountExceeded);
            assert_eq!(would(&service, FUNDING, amount).await, wanted);
            let done = service.create(FUNDING, 1, amount).await;
            assert_eq!(code(&done), wanted);
            ids.extend(done.ok().map(|done| done.record.id));
        }
        limit("1", Some(Amount(50))).await.unwrap();
        assert_eq!(code(&service.create(FUNDING, 2, 51).await), Some(Code::DailyAmountExceeded));
        limit("2", None).await.unwrap();
        ids.push(service.open_transfer(FUNDING, 2, 51).await);
        service.wait_for_end(&ids).await;
        service.assert_in_order().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_transfers_take_exactly_what_there_is() {
    for service in services(|settings| settings.limits.transfers_per_day = 10).await {
        let mut creates = JoinSet::new();
        for n in 0..40 {
            let (engine, terms) = (service.engine.clone(), terms(FUNDING, 1, 10 + n, COIN));
            let flow = engine.flows().named("internal").unwrap();
            creates.spawn(async move { engine.intake.create(flow, terms).await });
        }
        let mut ids = Vec::new();
        for create in creates.join_all().await {
            if code(&create) != Some(Code::DailyLimitExceeded) {
                ids.push(create.unwrap().record.id);
            }
        }
        assert_eq!(ids.len(), 10);
        service.wait_for_end(&ids).await;
        assert_eq!(spent(&service, today(&service)).await.0, 10);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replay_is_no_transfer_and_off_is_off() {
    let tune = |settings: &mut Settings| settings.limits.transfers_per_day = 1;
    let service = TestService::open_with(true, NEVER, tune).await;
    let flow = service.engine.flows().named("internal").unwrap();
    let key = Binding { scope: "test|1".into(), key: "k".into(), fingerprint: [0; 32] };
    let bound = || {
        let mut terms = terms(FUNDING, 1, 10, COIN);
        terms.binding = Some(key.clone());
        terms
    };
    let first = service.engine.intake.create(flow, bound()).await.unwrap();
    let again = service.engine.intake.create(flow, bound()).await.unwrap();
    assert_eq!((again.record.id, again.replayed), (first.record.id, true));
    service.wait_for_end(&[first.record.id]).await;
    assert_eq!(spent(&service, today(&service)).await, (1, 10));

    let service = TestService::open(true, NEVER).await;
    service.work(1).await;
    let rows = service.tool().query_row("SELECT count(*) FROM limits_tb", [], |row| row.get(0));
    assert_eq!(rows, Ok(0_i64));
}

/// A dry run says what the source ledger would.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dry_run_says_what_would_become_of_it() {
    let service = TestService::open(true, NEVER).await;
    assert_eq!(would(&service, FUNDING, 5_000_000).await, Some(Code::InsufficientBalance));
    assert_eq!(would(&service, SPOT, 5).await, Some(Code::SourceAccountNotFound));
    assert_eq!(would(&service, FUNDING, 5).await, None);
    let set = |ledger, status, key: &str| {
        let user = UserId(1);
        let (reason, caller) = ("a test".into(), "a test".into());
        let key = key.into();
        service
            .engine
            .ledgers
            .set_status(ledger, StatusChange { user, status, reason, caller, key })
    };
    set(FUNDING, AccountStatus::Frozen, "1").await.unwrap();
    assert_eq!(would(&service, FUNDING, 5).await, Some(Code::AccountFrozen));
    set(FUNDING, AccountStatus::Active, "2").await.unwrap();
    let id = service.open_transfer(FUNDING, 1, 5).await;
    service.wait_for_end(&[id]).await;
    set(SPOT, AccountStatus::Disabled, "3").await.unwrap();
    assert_eq!(would(&service, FUNDING, 5).await, Some(Code::AccountDisabled));
    service.faulty_spot.set_fault(CallFault::Silent);
    assert_eq!(would(&service, FUNDING, 5).await, Some(Code::SystemError));
    let rows = service.tool().query_row("SELECT count(*) FROM transfers_tb", [], |row| row.get(0));
    assert_eq!(rows, Ok(1_i64));
}

/// The caller waits at one engine; another one over the same journal brings the transfer to its end.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_caller_hears_of_an_end_that_another_worker_wrote() {
    let tune = |settings: &mut Settings| {
        settings.backoff = Backoff { base: 600_000, cap: 600_000 };
        settings.sync_timeout_ms = 600_000;
    };
    let service = TestService::open_with(true, NEVER, tune).await;
    service.faulty_spot.set_fault(CallFault::LoseRequests);
    let (engine, terms) = (service.engine.clone(), terms(FUNDING, 1, 10, COIN));
    let flow = engine.flows().named("internal").unwrap();
    let mut waits = JoinSet::new();
    waits.spawn(async move { engine.intake.create(flow, terms).await });
    let retried = wait_for(MINUTE, async || {
        let open = service.store().open_below(kernel::ids::Id(u128::MAX)).await.unwrap();
        let [id] = open[..] else { return None };
        let records = service.records(&[id]).await;
        records.iter().any(|record| record.head.retries > 0).then_some(id)
    });
    let id = retried.await.expect("one is open and is retried");
    service.faulty_spot.set_fault(CallFault::None);
    let rival = service.rival().await;
    let actor = engine::operators::Actor {
        caller: "portage|ada".into(),
        key: "1".into(),
        reason: "a test".into(),
    };
    rival.operators.execute(actor, AdminAction::Retry(id)).await.unwrap();
    let limit = std::time::Duration::from_secs(30);
    let ended = tokio::time::timeout(limit, waits.join_next()).await.expect("it is told");
    let ended = ended.unwrap().unwrap().unwrap();
    let table = service.engine.flows().table(flow);
    assert_eq!(table.state(ended.record.head.state).name, "COMMITTED");
}
