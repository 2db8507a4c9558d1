//! A vault beside its books: both are equal at every instant, a vault that has less stops every chain on which books are
//! kept, and a payment that no attempt explains is accepted by two persons.

use crate::fixture::test_service::TestService;
use crate::observed_deposits::{at, deposit};
use crate::vault_watch::{OWN, SOLANA, ScriptedVault, USDC, deposited, inventory, opened, watched};
use engine::operators::{ActionResult, AdminAction, Objection};
use engine::reconciliation::vaults::read_vaults;
use kernel::attempt::{Attempt, AttemptId, Form, Purpose};
use kernel::books::ChainBook;
use kernel::books::vault::{VaultBooks, Withdrawal};
use kernel::ids::ChainId;
use kernel::money::Amount;
use kernel::operators::release::{release_name, released};
use kernel::operators::{ApprovalStatus, Scope};
use kernel::ports::deposits::VaultMovement;
use kernel::ports::journal::{ServiceQueries as _, UnitWriter as _};
use kernel::record::Terms;
use kernel::unit::{Put, Unit, Wrote};
use std::sync::Arc;
use std::time::Duration;
use testkit::{MINUTE, wait_until};

const NEXUS: ChainId = ChainId(31);

/// A watched vault that is compared with its books all the time.
async fn compared() -> (TestService, Arc<ScriptedVault>) {
    let (mut service, vault) = watched().await;
    service.settings.conservation_interval_ms = 50;
    service.restart().await;
    (service, vault)
}

/// The one vault, and its books, at one instant.
async fn books(service: &TestService) -> VaultBooks {
    let vaults = read_vaults(&**service.store()).await.expect("the journal answers");
    vaults.into_iter().next().expect("a vault")
}

async fn write(service: &TestService, puts: Vec<Put>) {
    let wrote = service.store().write(vec![Unit::puts(puts)]).await;
    assert!(matches!(*wrote, [Wrote::Written(_)]), "{wrote:?}");
}

fn left(form: &[u8], amount: u128) -> VaultMovement {
    VaultMovement::Left { form: form.into(), amount: Amount(amount), facts: "to 9xQe".into() }
}

/// Waits until the open cases are these, whatever was opened first.
async fn open_cases(service: &TestService, wanted: &[(&str, ChainId)]) {
    let mut wanted: Vec<_> = wanted
        .iter()
        .map(|(kind, chain)| ((*kind).to_owned(), format!("chain/{}", chain.name())))
        .collect();
    wanted.sort();
    let these = wait_until(MINUTE, async || {
        let open = service.episodes().into_iter().filter(|(_, _, closed)| closed.is_none());
        let mut open: Vec<_> = open.map(|(kind, of, _)| (kind, of)).collect();
        open.sort();
        open == wanted
    });
    assert!(these.await, "wanted {wanted:?}, there are {:?}", service.episodes());
}

async fn stopped(service: &TestService) -> Vec<Scope> {
    let paused = service.service_status().await.paused;
    let mut chains: Vec<Scope> = paused.iter().map(|paused| paused.scope).collect();
    chains.sort();
    chains
}

/// Turns red where what left the vault without an attempt is counted among what was read as paid, and where one chain
/// alone stops.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_vault_that_is_short_stops_every_chain_with_books() {
    let (service, vault) = compared().await;
    write(&service, vec![Put::Add { counter: ChainBook::Inventory.counter(NEXUS, USDC), n: 5 }])
        .await;
    vault.moves(deposited("a", 10_000));
    assert!(opened(&service, "a").await);
    assert_eq!(books(&service).await.difference(), 0);
    vault.moves(left(b"a stranger's", 40));
    let short = [("FOREIGN_PAYMENT", SOLANA), ("VAULT_SHORT", SOLANA), ("VAULT_SHORT", NEXUS)];
    open_cases(&service, &short).await;
    assert_eq!(books(&service).await.difference(), -40);
    assert_eq!(stopped(&service).await, [Scope::Chain(SOLANA), Scope::Chain(NEXUS)]);
    vault.moves(deposited("b", 20_000));
    assert!(opened(&service, "b").await, "deposits are taken in all the same");
    assert_eq!(books(&service).await.difference(), -40);
}

/// Turns red where more in the vault opens no case, or stops a chain, and where the case stays.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_surplus_is_a_warning_until_the_books_are_equal() {
    let (service, vault) = compared().await;
    vault.moves(deposited("a", 10_000));
    assert!(opened(&service, "a").await);
    let counter = ChainBook::Inventory.counter(SOLANA, USDC);
    write(&service, vec![Put::Take { counter: counter.clone(), n: 5 }]).await;
    open_cases(&service, &[("VAULT_SURPLUS", SOLANA)]).await;
    assert_eq!(books(&service).await.difference(), 5);
    assert_eq!(stopped(&service).await, []);
    write(&service, vec![Put::Add { counter, n: 5 }]).await;
    open_cases(&service, &[]).await;
}

/// A block has more deposits than one unit takes, and the last of them cannot be stored: what is opened already is not
/// missing in the vault.
///
/// Turns red where a cursor does not say what was opened behind its place.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_opened_of_a_block_is_equal_before_the_block_is_passed() {
    let (mut service, vault) = watched().await;
    // the maximum number that one unit opens of a page
    let most = 100;
    assert!(service.settings.batch_max >= most);
    vault.moves(deposited("first", 10_000));
    assert!(opened(&service, "first").await);
    service.stop().await;
    {
        let mut script = vault.now();
        script.in_one_block = true;
        script.movements.extend((0..2 * most + 1).map(|n| deposited(&format!("dust {n}"), 1)));
        script.movements.push(deposited("of nothing", 0));
    }
    service.start().await;
    let last = format!("dust {}", 2 * most - 1);
    assert!(opened(&service, &last).await);
    // it is read again and again
    let of_block = books(&service).await;
    assert_eq!((of_block.difference(), of_block.cursor.ahead.0), (0, 200));
    if let Some(VaultMovement::Deposited(terms)) = vault.now().movements.last_mut() {
        *terms = deposit("of something", 1);
    }
    assert!(opened(&service, "of something").await);
    let passed = books(&service).await;
    assert_eq!((passed.difference(), passed.cursor.ahead), (0, Amount::ZERO));
}

/// An attempt that gives the deposit back, with a form of this name.
async fn gives_back(service: &TestService, key: &str, form: &[u8]) {
    let record = at(service, key).await.expect("the transfer");
    let table = service.engine.flows().table(record.flow);
    let state =
        table.all().find(|state| table.state(*state).name == "refund sent, awaiting confirmation");
    let attempt = Attempt {
        id: AttemptId(record.id.0),
        chain: SOLANA,
        flow: record.flow,
        state: state.expect("the state"),
        version: Attempt::FIRST,
        lane: "lane".into(),
        lock: "1".into(),
        members: vec![record].into(),
        forms: vec![Form {
            purpose: Purpose::Pay,
            name: form.into(),
            bytes: b"bytes".as_slice().into(),
            repeatable: true,
            expires: None,
            anchor: None,
            reference: None,
        }],
        sent: true,
        due_at: None,
        closed: None,
    };
    write(service, vec![Put::Attempt(attempt)]).await;
}

/// Turns red where a payment belongs to an attempt whatever it pays, and where the open attempts of other processes are
/// not asked after: what was read of them is not booked yet.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_payment_is_its_attempts_by_its_amount() {
    let (service, vault) = compared().await;
    vault.moves(deposited("a", 1_000));
    assert!(opened(&service, "a").await);
    gives_back(&service, "a", b"ours").await;
    vault.moves(left(b"ours", 1_000));
    let read = || async { books(&service).await.says(ChainBook::ReadOut) };
    assert!(wait_until(MINUTE, async || read().await == 1_000).await);
    assert_eq!(books(&service).await.difference(), 0, "and it is on its way to be booked");
    // it is compared some times more
    tokio::time::sleep(Duration::from_millis(400)).await;
    assert_eq!(service.episodes(), []);
    vault.moves(left(b"ours", 999));
    open_cases(&service, &[("FOREIGN_PAYMENT", SOLANA), ("VAULT_SHORT", SOLANA)]).await;
    assert_eq!(books(&service).await.difference(), -999);
    assert_eq!(inventory(&service).await, OWN);
}

/// Turns red where an acceptance leaves the inventory as it was, where one person is enough for it, and where a withdrawal
/// is accepted twice.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_withdrawal_is_accepted_by_two_persons() {
    let (service, vault) = compared().await;
    vault.moves(deposited("a", 10_000));
    vault.moves(left(b"ours", 40));
    open_cases(&service, &[("FOREIGN_PAYMENT", SOLANA), ("VAULT_SHORT", SOLANA)]).await;
    let accept = |form: &[u8]| AdminAction::AcceptWithdrawal(Withdrawal::name(SOLANA, form));
    let unknown = service.execute_as("ada", "1", accept(b"another")).await;
    assert!(matches!(unknown, Err(Objection::NotFound("withdrawal"))), "{unknown:?}");
    let proposal = service.propose_as("ada", "2", accept(b"ours")).await;
    let twice = service.propose_as("eve", "2", accept(b"ours")).await;
    let alone = service.execute_as("ada", "3", AdminAction::Approve(proposal)).await;
    assert!(matches!(alone, Err(Objection::SamePerson)), "{alone:?}");
    assert_eq!(inventory(&service).await, OWN);
    let done = service.execute_as("bob", "4", AdminAction::Approve(proposal)).await;
    let outcome = done.expect("it is accepted").outcome;
    assert_eq!(outcome, ActionResult::WithdrawalAccepted);
    assert_eq!((inventory(&service).await, books(&service).await.difference()), (OWN - 40, 0));
    let again = service.execute_as("bob", "5", AdminAction::Approve(twice)).await;
    assert!(matches!(again, Err(Objection::Decided(ApprovalStatus::Superseded))), "{again:?}");
    let anew = service.execute_as("ada", "6", accept(b"ours")).await;
    assert!(matches!(anew, Err(Objection::NotPossible(_))), "{anew:?}");
    assert_eq!(inventory(&service).await, OWN - 40);
    // the books are equal again; the stop is lifted for itself
    open_cases(&service, &[("FOREIGN_PAYMENT", SOLANA)]).await;
}

/// What is owed to depositors is not the operators' to take.
///
/// Turns red where an acceptance takes more than the inventory has.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn more_than_the_inventory_is_not_accepted() {
    let (service, vault) = compared().await;
    vault.moves(deposited("a", 10_000));
    vault.moves(left(b"too much", OWN + 1));
    open_cases(&service, &[("FOREIGN_PAYMENT", SOLANA), ("VAULT_SHORT", SOLANA)]).await;
    let accept = AdminAction::AcceptWithdrawal(Withdrawal::name(SOLANA, b"too much"));
    let proposal = service.propose_as("ada", "1", accept).await;
    let refused = service.execute_as("bob", "2", AdminAction::Approve(proposal)).await;
    assert!(matches!(refused, Err(Objection::NotPossible(_))), "{refused:?}");
    assert_eq!(inventory(&service).await, OWN);
    vault.moves(VaultMovement::Funded(Amount(1)));
    assert!(wait_until(MINUTE, async || inventory(&service).await == OWN + 1).await);
    let done = service.execute_as("bob", "3", AdminAction::Approve(proposal)).await;
    assert!(done.is_ok(), "{done:?}");
    assert_eq!((inventory(&service).await, books(&service).await.difference()), (0, 0));
}

/// Turns red where a refund is released in every state, or by one person.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_held_refund_is_released_by_two_persons() {
    let (service, vault) = watched().await;
    // nothing is left of it to give back, and no quarantine account is known
    let held = Terms { memo: None, refund_fee: Amount(10_000), ..deposit("held", 10_000) };
    vault.moves(VaultMovement::Deposited(held));
    vault.moves(deposited("waits", 10_000));
    assert!(opened(&service, "held").await && opened(&service, "waits").await);
    let id = async |key| at(&service, key).await.expect("the transfer").id;
    let (held, waits) = (id("held").await, id("waits").await);
    service.wait_for_state(held, "to be quarantined").await;
    service.wait_for_state(waits, "ready for processing").await;
    let early = service.execute_as("ada", "1", AdminAction::ReleaseRefund(waits)).await;
    assert!(matches!(early, Err(Objection::NotPossible(_))), "{early:?}");
    let stored = async || {
        let row = service.store().resource(release_name(held)).await.expect("the journal answers");
        row.as_ref().and_then(released)
    };
    let proposal = service.propose_as("ada", "2", AdminAction::ReleaseRefund(held)).await;
    assert_eq!(stored().await, None, "it is proposed");
    let alone = service.execute_as("ada", "3", AdminAction::Approve(proposal)).await;
    assert!(matches!(alone, Err(Objection::SamePerson)), "{alone:?}");
    let done = service.execute_as("bob", "4", AdminAction::Approve(proposal)).await;
    let outcome = done.expect("it is released").outcome;
    assert_eq!(outcome, ActionResult::RefundReleased { refusals: 0 });
    assert_eq!(stored().await, Some(0));
}
