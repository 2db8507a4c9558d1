//! Payments to wallets without an account of the token, where the settings have them created. Without the setting such a
//! payment is refused: `outcomes::what_fails_is_not_done`.

use super::world::{World, act, said};
use devnet::solana::{Address, Wallet};
use kernel::attempt::{Attempt, Form, Purpose};
use kernel::ports::chain::{Chain, FOREIGN_FORM};
use links::solana::SolanaChain;
use links::swap_facts::SwapChain as _;
use solana_system_interface::instruction::{create_nonce_account, transfer};
use solana_transaction::versioned::VersionedTransaction;
use spl_associated_token_account_interface::address::get_associated_token_address;
use spl_associated_token_account_interface::instruction::create_associated_token_account_idempotent;

/// What the chain asks for a token account, in lamports.
const RENT: u64 = 2_039_280;

/// A port that creates accounts and signs with any balance, and a wallet that has none.
fn begun() -> (World, SolanaChain, Address) {
    let world = World::new(2);
    let port = creating(&world);
    (world, port, Wallet::derived("new").address())
}

fn creating(world: &World) -> SolanaChain {
    let mut settings = world.settings();
    settings.create_token_accounts = true;
    settings.fee_floor = 0;
    world.port_with(settings)
}

fn instructions(form: &Form) -> usize {
    let transaction: VersionedTransaction = bincode::deserialize(&form.bytes).unwrap();
    transaction.message.instructions().len()
}

async fn ends(world: &World, port: &SolanaChain, attempt: &Attempt) -> (&'static str, String) {
    world.send(port, attempt).await;
    world.devnet.settle();
    said(&world.verdict(port, attempt).await)
}

/// Turns red where the account is not created, where the balance that it did not have before is no proof, and where each
/// later payment offers to create it again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wallet_without_an_account_is_paid_once_in_a_new_one() {
    let (world, port, wallet) = begun();
    let account = get_associated_token_address(&wallet, &world.mint);
    assert!(port.takes_money(&wallet.to_string()).await.unwrap());
    assert!(!world.port().takes_money(&wallet.to_string()).await.unwrap(), "not without it");
    let mut attempt = world.pay(&port, world.record(&wallet, 10)).await;
    assert_eq!(instructions(&attempt.forms[0]), 6);
    let signed = world.another_form(&port, &attempt, Purpose::Pay).await.unwrap();
    assert_eq!((instructions(&signed.form), signed.pays.len()), (6, 1));
    attempt.forms.push(signed.form);
    assert_eq!(ends(&world, &port, &attempt).await.0, "done");
    assert_eq!((world.devnet.balance(&account), world.paid(&attempt.members[0])), (10, 1));
    // another process, which reads the stored form, is of the same mind, also without the setting
    assert_eq!(said(&world.verdict(&world.port(), &attempt).await).0, "done");
    let next = world.pay_behind(&port, Some(&attempt.lock), world.record(&wallet, 5)).await;
    assert_eq!(instructions(&next.forms[0]), 5);
    assert_eq!(ends(&world, &port, &next).await.0, "done");
    assert_eq!(world.devnet.balance(&account), 15);
}

/// Turns red where the creation fails because another one was faster.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_account_that_another_created_meanwhile_is_paid() {
    let (world, port, wallet) = begun();
    let attempt = world.pay(&port, world.record(&wallet, 10)).await;
    let account = world.devnet.create_token_account(&wallet).unwrap();
    assert_eq!(ends(&world, &port, &attempt).await.0, "done");
    assert_eq!(world.devnet.balance(&account), 10);
}

/// Turns red where an account is created for what is no wallet, or for one whose account takes nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_no_wallet_gets_no_account() {
    let (world, port, wallet) = begun();
    world.devnet.freeze(&world.alices, true).unwrap();
    let (alice, nonce) = (world.alice.address(), Wallet::derived("nonce"));
    let created = create_nonce_account(&alice, &nonce.address(), &alice, 1_447_680);
    world.devnet.run(&created, &[&world.alice, &nonce]).unwrap();
    world.devnet.settle();
    // an address that no key can sign for, a nonce account, a mint, a program, a wallet whose account is frozen
    let unsignable = get_associated_token_address(&wallet, &world.mint);
    let program = devnet::solana::TOKEN_PROGRAM;
    let refused = [
        (unsignable, "ACCOUNT_MISSING"),
        (nonce.address(), "ACCOUNT_MISSING"),
        (world.mint, "ACCOUNT_NOT_INITIALISED"),
        (program, "ACCOUNT_MISSING"),
        (alice, "ACCOUNT_FROZEN"),
    ];
    let mut last = None;
    for (receiver, code) in refused {
        assert!(!port.takes_money(&receiver.to_string()).await.unwrap(), "{receiver}");
        let member = world.record(&receiver, 10);
        let attempt = world.pay_behind(&port, last.as_ref(), member).await;
        assert_eq!(instructions(&attempt.forms[0]), 5, "{receiver}");
        let ended = ends(&world, &port, &attempt).await;
        assert_eq!(ended, ("rejected", code.to_owned()), "{receiver}");
        last = Some(attempt.lock);
    }
}

/// The vault's key cannot pay for the account once the form is signed. Turns red where that is the receiver's fault: it has
/// no account, and is not to blame for it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_account_that_we_cannot_pay_for_is_no_refusal() {
    let (world, port, wallet) = begun();
    let attempt = world.pay(&port, world.record(&wallet, 10)).await;
    let (vault, alice) = (world.vault.address(), world.alice.address());
    let left = world.devnet.lamports(&vault) - RENT;
    world.devnet.run(&[transfer(&vault, &alice, left)], &[&world.vault]).unwrap();
    assert_eq!(ends(&world, &port, &attempt).await, ("dead", "FEES_LOW".to_owned()));
    assert_eq!(port.concerns().first().map(|one| one.kind), Some("FEES_LOW"));
    assert!(port.rests_for(act().1, &world.member()).is_some(), "nothing is signed for a while");
    world.devnet.airdrop(&vault, left).unwrap();
    world.devnet.settle();
    world.clock.forward(60_000);
    let again = world.pay_behind(&port, Some(&attempt.lock), attempt.members[0].clone()).await;
    assert_eq!(ends(&world, &port, &again).await.0, "done");
    assert!(port.concerns().is_empty());
}

/// Turns red where bytes are a form that create another account than they pay.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_form_that_creates_another_account_is_none() {
    let (world, port, wallet) = begun();
    let member = world.record(&wallet, 10);
    let attempt = world.pay(&port, member.clone()).await;
    let (vault, program) = (world.vault.address(), devnet::solana::TOKEN_PROGRAM);
    let account = get_associated_token_address(&wallet, &world.mint);
    let memo = member.id.to_string();
    let paid = world.payment(&devnet::solana::MEMO_PROGRAM, &account, 10, &memo);
    let other = Wallet::derived("other").address();
    for creates in [other, account] {
        let create =
            create_associated_token_account_idempotent(&vault, &creates, &world.mint, &program);
        let mut all = paid.to_vec();
        all.insert(2, create);
        let transaction = world.foreign(world.lock(0), &all);
        let name = transaction.signatures[0].as_ref().into();
        let bytes = bincode::serialize(&transaction).unwrap().into();
        let form = Form { name, bytes, ..attempt.forms[0].clone() };
        let attempt = Attempt { forms: vec![form], ..attempt.clone() };
        assert_eq!(world.not_yet(&port, &attempt).await, FOREIGN_FORM);
    }
}
