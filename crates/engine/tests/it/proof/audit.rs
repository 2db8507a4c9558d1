//! The audit of the real store: sealed under load, proven, and tampered with by any SQLite tool.

use crate::fixture::defaults::{FUNDING, NEVER};
use crate::fixture::folders::{copied, store_at};
use crate::fixture::test_service::TestService;
use engine::audit::{SealText, Sealer, parse_seal, prove};
use kernel::audit::proof::{Findings, RecordedSeal};
use kernel::audit::seal::SealKey;
use kernel::operators::Action;
use kernel::ports::audit::Audit;
use kernel::ports::clock::Clock;
use kernel::ports::journal::UnitWriter as _;
use kernel::unit::{Put, Unit, Wrote};
use rusqlite::Connection;
use std::sync::Arc;
use std::time::Duration;
use store::sqlite::{Embedded, FILE};

const KEY: &[u8] = b"the key of these seals";

fn key() -> SealKey {
    SealKey::new(KEY)
}

fn sealer(service: &TestService) -> Arc<Sealer> {
    let (audit, journal) = (service.store().clone(), service.store().clone());
    let clock: Arc<dyn Clock> = Arc::new(service.clock.clone());
    Arc::new(Sealer::new(audit, journal, clock, key(), 1))
}

/// Turns red where a process does not see that another one of its database seals with another key.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_with_another_key_is_noticed() {
    let service = TestService::open(true, NEVER).await;
    let own = sealer(&service);
    let (audit, journal) = (service.store().clone(), service.store().clone());
    let clock: Arc<dyn Clock> = Arc::new(service.clock.clone());
    let other = Sealer::new(audit, journal, clock, SealKey::new(b"another key"), 1);
    assert_eq!((own.other_key().await, other.other_key().await), (Ok(None), Ok(None)));
    service.work(1).await;
    let sealed = own.seal().await.expect("a seal").expect("something is new").number;
    assert_eq!((own.other_key().await, other.other_key().await), (Ok(None), Ok(Some(sealed))));
    service.work(1).await;
    let sealed = other.seal().await.expect("a seal").expect("something is new").number;
    assert_eq!((own.other_key().await, other.other_key().await), (Ok(Some(sealed)), Ok(None)));
}

async fn proven(store: &Embedded, kept: Option<RecordedSeal>) -> Findings {
    let mut trail = store.trail().await.expect("a trail");
    prove(&mut *trail, key(), kept).await.expect("a proof")
}

async fn past_action(service: &TestService, key: &str) {
    let action = Action {
        caller: "ops|1".into(),
        key: key.into(),
        kind: "RETRY",
        subject: "service".into(),
        value: "{}".into(),
        reason: "a test".into(),
        result: "{}".into(),
    };
    let wrote = service.store().write(vec![Unit::puts(vec![Put::Action(action)])]).await;
    assert!(matches!(wrote.as_slice(), [Wrote::Written(_)]), "{wrote:?}");
}

/// Three rounds of transfers and two actions, sealed now and then, and one round that is not.
async fn lived() -> TestService {
    let mut service = TestService::open(true, NEVER).await;
    for round in 0..3 {
        service.work(1).await;
        past_action(&service, &format!("key-{round}")).await;
        past_action(&service, &format!("again-{round}")).await;
        assert!(sealer(&service).seal().await.expect("a seal").is_some());
        assert_eq!(sealer(&service).seal().await, Ok(None), "nothing is new");
        service.restart().await;
    }
    service.open_transfer(FUNDING, 1, 7).await;
    service
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_lived_is_proven() {
    let service = lived().await;
    let found = proven(service.store(), None).await;
    assert_eq!(found.faults, []);
    assert_eq!((found.transfers, found.seals), (55, 3));
    assert!(found.unsealed > 0 && found.entries > 55 * 4, "{found:?}");
    let last = found.last.expect("a seal");
    let said = parse_seal(&SealText(&last).to_string()).expect("as it was said");
    assert_eq!(proven(service.store(), Some(said)).await.faults, []);
}

/// What is done to a copy of the folder, and what is said of it.
#[rustfmt::skip]
const TAMPERED: [(&str, &str, &str); 16] = [
    ("an amount", "UPDATE transfers SET amount = '000000000000000000000000000000000001000' WHERE transfer_id = 3", "what was agreed"),
    ("an account", "UPDATE transfers SET target_account = '5' WHERE transfer_id = 3", "what was agreed"),
    ("an amount that is none", "UPDATE transfers SET amount = 'plenty' WHERE transfer_id = 3", "transfer number 3 cannot be read"),
    ("an entry", "UPDATE transfers SET history = replace(history, 'SOURCE_OK', 'SOURCE_KO') WHERE transfer_id = 4", "entry 2 was changed"),
    ("a state", "UPDATE transfers SET state = -10 WHERE transfer_id = 4", "its state is not that of its history's end"),
    ("a history that is none", "UPDATE transfers SET history = '[' WHERE transfer_id = 4", "transfer number 4 cannot be read"),
    ("a transfer", "DELETE FROM transfers WHERE transfer_id = 5", "transfer number 5 was removed"),
    ("external money", "UPDATE externals SET amount = '000000000000000000000000000000009000000' WHERE user_id = 3", "external movements: entry 2 was changed"),
    ("external money that was made up", "INSERT INTO externals SELECT 99999, direction, 'x', user_id, asset_id, amount, available, reason, caller, at, 9, hash, 9, NULL FROM externals LIMIT 1", "external movements: entry 9 was changed"),
    ("an action", "UPDATE operator_actions SET caller = 'ops|2' WHERE action_id = 2", "operators' actions: entry 1 was changed"),
    ("a removed action", "DELETE FROM operator_actions WHERE action_id = 6", "1 of its entries are missing"),
    ("a unit", "DELETE FROM audit_units WHERE n = 12", "unit 0:12: it is missing"),
    ("a digest", "UPDATE audit_units SET digest = zeroblob(32) WHERE n = 12", "unit 0:12: its entries are not those that were written"),
    ("a seal", "UPDATE audit_seals SET at = at + 1 WHERE seal = 2", "seal 2: its MAC is not of the key: forged"),
    ("a seal's lanes", "UPDATE audit_seals SET lanes = 'none' WHERE seal = 2", "seal 2: its MAC is not of the key: forged"),
    ("a removed seal", "DELETE FROM audit_seals WHERE seal = 2", "seal 3: seals before it are missing"),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_is_tampered_with_is_named() {
    let mut service = lived().await;
    service.stop().await;
    for (what, sql, said) in TAMPERED {
        let copy = copied(service.dir.path());
        let tool = Connection::open(copy.path().join(FILE)).expect("the file");
        assert_eq!(tool.execute(sql, []).expect(sql), 1, "{what}");
        drop(tool);
        let found = proven(&store_at(copy.path(), &service.flows, &service.clock), None).await;
        let words: Vec<_> = found.faults.iter().map(ToString::to_string).collect();
        assert!(words.iter().any(|word| word.contains(said)), "{what}: {words:#?}");
    }
}

/// The newest transfers, their units and even their seals are gone, and nothing dangles.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cut_end_is_found() {
    let mut service = lived().await;
    let last = proven(service.store(), None).await.last.expect("a seal");
    service.stop().await;
    let copy = copied(service.dir.path());
    let tool = Connection::open(copy.path().join(FILE)).expect("the file");
    let crash_point = "DELETE FROM operator_actions WHERE action_id > 4; \
               DELETE FROM transfers WHERE transfer_id > 36; \
               DELETE FROM audit_units WHERE n > (SELECT max(audit_unit) FROM operator_actions);";
    tool.execute_batch(crash_point).expect("it is cut");
    let store = store_at(copy.path(), &service.flows, &service.clock);
    let found = proven(&store, None).await;
    let [fault] = found.faults.as_slice() else { panic!("{:?}", found.faults) };
    assert!(fault.to_string().starts_with("the end was cut off: seal 3"), "{fault}");
    drop(store);
    tool.execute_batch("DELETE FROM audit_seals WHERE seal > 2").expect("it is cut");
    let store = store_at(copy.path(), &service.flows, &service.clock);
    // what is left is whole in itself; only the seal in the log tells
    assert_eq!(proven(&store, None).await.faults, []);
    let said = parse_seal(&SealText(&last).to_string());
    let found = proven(&store, said).await;
    let [fault] = found.faults.as_slice() else { panic!("{:?}", found.faults) };
    assert!(fault.to_string().contains("it is not there: the end was cut off"), "{fault}");
}

/// Proofs and seals while transfers run: what is half written is never half sealed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sealed_and_proven_under_load() {
    let service = TestService::open(true, NEVER).await;
    let sealer = sealer(&service);
    let (running, store) = (sealer.clone(), service.store().clone());
    let mut seals = tokio::task::JoinSet::new();
    seals.spawn(async move {
        loop {
            running.seal().await.expect("a seal");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    });
    let mut proofs = tokio::task::JoinSet::new();
    proofs.spawn(async move {
        for _ in 0..20 {
            assert_eq!(proven(&store, None).await.faults, []);
        }
    });
    let held = loop {
        service.work(1).await;
        if let Some(held) = proofs.try_join_next() {
            break held;
        }
    };
    held.expect("every proof held");
    seals.shutdown().await;
    // one that was on its way when its task was ended may come first
    while sealer.seal().await.is_err() {}
    let found = proven(service.store(), None).await;
    assert_eq!((found.faults, found.unsealed), (vec![], 0));
    assert!(found.seals > 5, "{}", found.seals);
}
