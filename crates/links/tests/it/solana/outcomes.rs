//! How a payment ends on the chain, and who is to blame where it fails.
//!
//! Red with wrong builds that overlook an error (`what_fails_is_not_done`), that take any failure for the receiver's
//! (`a_vault_that_cannot_pay_is_no_refusal`), or that take a spent nonce for a payment (`a_void_is_dead`).

use super::world::{SUPPLY, World, said};
use devnet::solana::{Address, Wallet};
use kernel::attempt::Purpose;
use kernel::ports::chain::Chain;
use links::swap_facts::SwapChain as _;
use solana_system_interface::instruction::transfer;

async fn ends(world: &World, receiver: &Address) -> (&'static str, String) {
    let port = world.port();
    let attempt = world.pay(&port, world.record(receiver, 10)).await;
    world.send(&port, &attempt).await;
    world.devnet.settle();
    said(&world.verdict(&port, &attempt).await)
}

/// Turns red where an error of the chain is overlooked, or a failed transaction leaves its lane's lock.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_fails_is_not_done() {
    let world = World::new(2);
    let lock = world.lock(0);
    let no_account = Wallet::derived("no account").address();
    assert_eq!(ends(&world, &no_account).await, ("rejected", "ACCOUNT_MISSING".to_owned()));
    assert_ne!(world.lock(0), lock, "the failure spent it");
    // the lane goes on behind the lock that the failure spent
    let port = world.port();
    let stored = kernel::attempt::Lock(lock.to_string().into());
    let attempt = world.pay_behind(&port, Some(&stored), world.member()).await;
    world.send(&port, &attempt).await;
    world.devnet.settle();
    assert_eq!(world.verdict(&port, &attempt).await.answer.word(), "done");
}

/// Turns red where an account that can never take the payment is asked for ever, or is no refusal.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_receiver_that_cannot_take_it_is_refused() {
    let world = World::new(2);
    world.devnet.freeze(&world.alices, true).unwrap();
    world.devnet.settle();
    assert_eq!(ends(&world, &world.alices).await, ("rejected", "ACCOUNT_FROZEN".to_owned()));
    world.devnet.freeze(&world.alices, false).unwrap();
    world.devnet.settle();
    assert_eq!(ends(&world, &world.alices).await.0, "done");
    // an account of another program, which is a wallet without a token account to the adapter
    let lane = world.lane(1);
    assert_eq!(ends(&world, &lane).await, ("rejected", "ACCOUNT_MISSING".to_owned()));
}

/// The vault is emptied, or frozen, behind the adapter's back once its form is signed. Turns red where that is a refusal
/// by the receiver, where the payment is signed again at once, and where no operator is told.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_vault_that_cannot_pay_is_no_refusal() {
    let world = World::new(2);
    let port = world.port();
    let thief = world.devnet.create_wallet("thief").unwrap();
    let thiefs = world.devnet.create_token_account(&thief.address()).unwrap();
    world.devnet.settle();
    let attempt = world.pay(&port, world.record(&world.alices, 1_000)).await;
    let taken = world.devnet.payment(&world.vault, &thiefs, SUPPLY - 1).unwrap();
    world.devnet.run(&[taken], &[&world.vault]).unwrap();
    world.send(&port, &attempt).await;
    world.devnet.settle();
    assert_eq!(said(&world.verdict(&port, &attempt).await), ("dead", "TREASURY_SHORT".to_owned()));
    let kinds = |port: &links::solana::SolanaChain| {
        port.concerns().into_iter().map(|one| one.kind).collect::<Vec<_>>()
    };
    assert_eq!(kinds(&port), ["TREASURY_SHORT"]);
    assert!(port.rests_for("", &world.member()).is_some(), "nothing is signed for a while");
    let lane = &port.lanes("")[0];
    let waits = port.next_lock(lane, Some(&attempt.lock), &[]).await.unwrap_err();
    assert_eq!(waits.class, "TOKEN_RESTS");
    world.clock.forward(60_000);
    // what is short before it is signed spends no nonce
    let request = world.request(&port, 0, Some(&attempt.lock), world.member()).await;
    assert_eq!(port.sign(&request).await.unwrap_err().cause.class, "TREASURY_SHORT");

    let world = World::new(2);
    let port = world.port();
    let attempt = world.pay(&port, world.member()).await;
    world.devnet.freeze(&world.account, true).unwrap();
    world.send(&port, &attempt).await;
    world.devnet.settle();
    assert_eq!(said(&world.verdict(&port, &attempt).await), ("dead", "VAULT_FROZEN".to_owned()));
    assert_eq!(kinds(&port), ["VAULT_FROZEN"]);
    world.clock.forward(60_000);
    let request = world.request(&port, 0, Some(&attempt.lock), world.member()).await;
    assert_eq!(port.sign(&request).await.unwrap_err().cause.class, "VAULT_FROZEN");
}

/// The receiver closes its account while it is paid, and opens it again. Turns red where one receiver makes all payments
/// wait, or where what it can take now is refused for ever.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_receiver_that_spoils_its_payment_holds_up_no_other() {
    let world = World::new(2);
    let port = world.port();
    let attempt = world.pay(&port, world.member()).await;
    let (alice, program) = (world.alice.address(), devnet::solana::TOKEN_PROGRAM);
    let close = spl_token_interface::instruction::close_account(
        &program,
        &world.alices,
        &alice,
        &alice,
        &[],
    );
    world.devnet.run(&[close.unwrap()], &[&world.alice]).unwrap();
    world.send(&port, &attempt).await;
    world.devnet.settle();
    world.devnet.create_token_account(&alice).unwrap();
    world.devnet.settle();
    assert_eq!(said(&world.verdict(&port, &attempt).await), ("dead", "PAYMENT_FAILED".to_owned()));
    assert!(port.rests_for("", &world.member()).is_none());
    let again = world.pay_behind(&port, Some(&attempt.lock), world.member()).await;
    world.send(&port, &again).await;
    world.devnet.settle();
    assert_eq!(said(&world.verdict(&port, &again).await).0, "done");
}

/// Turns red where a fee below the floor is spent.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_signed_below_the_floor_of_fees() {
    let world = World::new(2);
    let port = world.port();
    let fees = port.fee_balance().await.unwrap().unwrap();
    assert_eq!(fees.units, u128::from(world.devnet.lamports(&world.vault.address())));
    let request = world.request(&port, 0, None, world.member()).await;
    let left = u64::try_from(fees.units - fees.floor).unwrap();
    let (vault, alice) = (world.vault.address(), world.alice.address());
    world.devnet.run(&[transfer(&vault, &alice, left)], &[&world.vault]).unwrap();
    world.devnet.settle();
    world.clock.forward(10_000);
    assert_eq!(port.sign(&request).await.unwrap_err().cause.class, "FEES_LOW");
    assert_eq!(port.concerns().first().map(|one| one.kind), Some("FEES_LOW"));
    world.devnet.airdrop(&vault, left).unwrap();
    world.devnet.settle();
    world.clock.forward(10_000);
    assert!(port.sign(&request).await.is_ok());
    assert!(port.concerns().is_empty());
}

/// Turns red where a void that landed is a payment, or where what it fenced lands later.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_void_is_dead() {
    let world = World::new(2);
    let port = world.port();
    let mut attempt = world.pay(&port, world.member()).await;
    world.withhold();
    world.send(&port, &attempt).await;
    world.clear();
    let void = world.another_form(&port, &attempt, Purpose::Void).await.unwrap();
    attempt.forms.push(void.form);
    world.send(&port, &attempt).await;
    world.devnet.settle();
    assert_eq!(said(&world.verdict(&port, &attempt).await), ("dead", "VOIDED".to_owned()));
    assert_eq!(world.devnet.release(), 1);
    world.devnet.settle();
    assert_eq!(world.paid(&attempt.members[0]), 0);
    assert_eq!(said(&world.verdict(&port, &attempt).await), ("dead", "VOIDED".to_owned()));
}

/// The answers that the flows' rules are given.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn accounts_that_take_money_and_the_time_of_the_chain_are_shown() {
    let world = World::new(2);
    let port = world.port();
    let takes = async |address: String| port.takes_money(&address).await.unwrap();
    assert!(takes(world.alices.to_string()).await, "a token account");
    assert!(takes(world.alice.address().to_string()).await, "a wallet that has one");
    assert!(!takes(Wallet::derived("no account").address().to_string()).await);
    assert!(!takes(world.account.to_string()).await, "the vault's own");
    assert!(!takes("no address".to_owned()).await);
    world.devnet.freeze(&world.alices, true).unwrap();
    world.devnet.settle();
    assert!(!takes(world.alices.to_string()).await, "a frozen one");
    let time = port.chain_time().await.unwrap();
    let head = world.devnet.time()();
    assert!(time < head && head - time < 60_000, "{time} of {head}: the newest final block");
    // one that is behind holds the time back, and never puts a deadline forward
    world.endpoint(1).lag(50);
    assert!(port.chain_time().await.unwrap() < time);
}
