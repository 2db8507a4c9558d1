//! The bytes of a form: what the network's own types read out of them, and what the adapter refuses to read as a form.

use super::world::{MOST_PRICE, PRICE, World, act};
use devnet::solana::{OLD_MEMO_PROGRAM, TOKEN_PROGRAM, Wallet};
use kernel::attempt::{Form, Purpose};
use kernel::ports::chain::{Chain, FOREIGN_FORM};
use kernel::record::Record;
use links::solana::{KeyRing, SolanaChain, SolanaSettings};
use solana_system_interface::instruction::transfer;
use solana_transaction::versioned::VersionedTransaction;
use std::sync::Arc;

fn read(bytes: &[u8]) -> VersionedTransaction {
    bincode::deserialize(bytes).unwrap()
}

/// Turns red where a form pays more than its member, lacks the memo with the transfer's id, or does not begin with the
/// advance of its lane.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_form_is_an_advance_a_fee_a_payment_and_a_memo() {
    let world = World::new(2);
    let port = world.port();
    let member = world.member();
    let request = world.request(&port, 0, None, member.clone()).await;
    let signed = port.sign(&request).await.unwrap();
    let (transaction, lock) = (read(&signed.form.bytes), world.lock(0));
    assert!(transaction.verify_with_results().iter().all(|valid| *valid));
    assert_eq!(transaction.message.recent_blockhash(), &lock);
    let keys = transaction.message.static_account_keys();
    let instructions = transaction.message.instructions();
    let programs: Vec<_> =
        instructions.iter().map(|one| keys[usize::from(one.program_id_index)]).collect();
    assert_eq!(programs.len(), 5);
    assert_eq!(programs[3], TOKEN_PROGRAM);
    assert_eq!(keys[usize::from(instructions[0].accounts[0])], world.lane(0));
    assert_eq!(keys[usize::from(instructions[3].accounts[2])], world.alices);
    assert!(String::from_utf8_lossy(&instructions[4].data).contains(&member.id.to_string()));
    assert_eq!(&*signed.form.name, transaction.signatures[0].as_ref());
    assert!(signed.form.repeatable && signed.form.expires.is_none());
    assert_eq!(signed.pays.len(), 1);
    assert_eq!(signed.pays[0].account, member.target().account);
    // a wallet stands for its associated account
    let wallet = world.record(&world.alice.address(), 7);
    let request = world.request(&port, 1, None, wallet.clone()).await;
    let signed = port.sign(&request).await.unwrap();
    let transaction = read(&signed.form.bytes);
    let keys = transaction.message.static_account_keys();
    let pays = &transaction.message.instructions()[3];
    assert_eq!(keys[usize::from(pays.accounts[2])], world.alices);
    assert_eq!(signed.pays[0].account, wallet.target().account);
}

/// Turns red where the fee of another form does not rise to its cap, where it pays another amount or is under another
/// lock, and where one at the cap is signed once more.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_form_of_a_lock_has_twice_the_fee_up_to_a_cap() {
    let world = World::new(2);
    let port = world.port();
    let mut attempt = world.pay(&port, world.member()).await;
    let price = |form: &Form| {
        let transaction = read(&form.bytes);
        let data = &transaction.message.instructions()[2].data;
        u64::from_le_bytes(data[1..].try_into().unwrap())
    };
    assert_eq!(price(&attempt.forms[0]), PRICE);
    for expected in [2 * PRICE, MOST_PRICE] {
        let signed = world.another_form(&port, &attempt, Purpose::Pay).await.unwrap();
        assert_eq!(price(&signed.form), expected);
        let (first, other) = (read(&attempt.forms[0].bytes), read(&signed.form.bytes));
        assert_eq!(first.message.recent_blockhash(), other.message.recent_blockhash());
        let pays = |one: &VersionedTransaction| one.message.instructions()[3].clone();
        assert_eq!(pays(&first), pays(&other));
        attempt.forms.push(signed.form);
    }
    let refused = world.another_form(&port, &attempt, Purpose::Pay).await.unwrap_err();
    assert_eq!(refused.cause.class, "SAME_FORM");
    let void = world.another_form(&port, &attempt, Purpose::Void).await.unwrap();
    assert!(void.pays.is_empty());
    assert_eq!(read(&void.form.bytes).message.instructions().len(), 1);
}

/// Turns red where bytes are sent or believed that do another thing than their member says: another amount, account,
/// transfer, lane or lock, one instruction more, another key, or a payment under the name of a void.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bytes_that_do_another_thing_are_no_form() {
    let world = World::new(2);
    let port = world.port();
    let member = world.member();
    let attempt = world.pay(&port, member.clone()).await;
    let amount = u64::try_from(member.target().amount.0).unwrap();
    let (lock, id) = (world.lock(0), member.id.to_string());
    let other = world.devnet.create_wallet("other").unwrap();
    let others = world.devnet.create_token_account(&other.address()).unwrap();
    let more = transfer(&world.vault.address(), &other.address(), 1);
    let bytes = |transaction: &VersionedTransaction| bincode::serialize(transaction).unwrap();
    let wrong = [
        world.paid_elsewhere(lock, &world.alices, amount + 1, &id),
        world.paid_elsewhere(lock, &others, amount, &id),
        world.paid_elsewhere(lock, &world.alices, amount, &world.member().id.to_string()),
        world.paid_elsewhere(world.lock(1), &world.alices, amount, &id),
        world.foreign(lock, &[more]),
        world.foreign(lock, &[]),
        world.foreign(lock, &world.payment(&OLD_MEMO_PROGRAM, &world.alices, amount, &id)),
    ];
    let is_refused = async |form: Form, what: usize| {
        let attempt = kernel::attempt::Attempt { forms: vec![form], ..attempt.clone() };
        assert_eq!(world.not_yet(&port, &attempt).await, FOREIGN_FORM, "{what}");
        let sent = port.broadcast(std::slice::from_ref(&attempt)).await.pop().unwrap();
        assert_eq!(sent.unwrap_err().class, FOREIGN_FORM, "{what}");
    };
    for (what, transaction) in wrong.iter().enumerate() {
        let name = transaction.signatures[0].as_ref().into();
        let bytes = bytes(transaction).into();
        is_refused(Form { name, bytes, ..attempt.forms[0].clone() }, what).await;
    }
    // the right bytes under another name or purpose, changed in a bit, and with something behind them
    let own = attempt.forms[0].clone();
    is_refused(Form { name: Arc::new([7; 64]), ..own.clone() }, 10).await;
    is_refused(Form { purpose: Purpose::Void, ..own.clone() }, 11).await;
    for at in [70, own.bytes.len() - 1] {
        let mut changed = own.bytes.to_vec();
        changed[at] ^= 1;
        is_refused(Form { bytes: changed.into(), ..own.clone() }, at).await;
    }
    let longer = [&own.bytes[..], &[0]].concat();
    is_refused(Form { bytes: longer.into(), ..own }, 12).await;
    assert_eq!(world.devnet.pooled(), 0, "nothing of it was sent");
}

/// Turns red where settings are taken that would pay no account or agree with themselves, and where a process without the
/// vault's key signs or has lanes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn settings_that_do_not_fit_are_refused() {
    let world = World::new(2);
    let of = |change: fn(&mut SolanaSettings)| {
        let mut settings = world.settings();
        change(&mut settings);
        let key = bs58::encode(world.vault.keypair()).into_string();
        let ring = KeyRing::plain([format!("ed25519:{key}").as_str()]).unwrap();
        SolanaChain::new(settings, Arc::new(ring), world.clock.clone(), world.meter.clone())
    };
    assert!(of(|_| {}).is_ok());
    let changes: [fn(&mut SolanaSettings); 9] = [
        |settings| settings.mint = "no address".into(),
        |settings| settings.vault_account = settings.vault.clone(),
        |settings| settings.quarantine_account = Some(settings.vault_account.clone()),
        |settings| settings.providers_needed = 3,
        |settings| settings.providers_needed = 0,
        |settings| settings.lanes = 0,
        |settings| settings.lanes = 65,
        |settings| settings.priority_fee = settings.most_priority_fee + 1,
        |settings| settings.rpc_urls[1] = settings.rpc_urls[0].clone(),
    ];
    for (at, change) in changes.into_iter().enumerate() {
        assert!(of(change).is_err(), "{at}");
    }
    let other = bs58::encode(Wallet::derived("other").keypair()).into_string();
    let ring = KeyRing::plain([format!("ed25519:{other}").as_str()]).unwrap();
    let (clock, meter) = (world.clock.clone(), world.meter.clone());
    let port = SolanaChain::new(world.settings(), Arc::new(ring), clock, meter).unwrap();
    port.bind(&world.identity());
    assert!(port.lanes(act().1).is_empty());
    let request = world.request(&world.port(), 0, None, world.member()).await;
    assert_eq!(port.sign(&request).await.unwrap_err().cause.class, "NO_KEY");
}

/// What no account of the chain could be paid for.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_member_that_cannot_be_paid_is_the_culprit() {
    let world = World::new(2);
    let port = world.port();
    let request = world.request(&port, 0, None, world.member()).await;
    let of = async |member: Record| {
        let request =
            kernel::ports::chain::SignRequest { members: [member].into(), ..request.clone() };
        let unsigned = port.sign(&request).await.unwrap_err();
        (unsigned.cause.class, unsigned.culprit)
    };
    assert_eq!(of(world.record(&world.account, 5)).await, ("OWN_ACCOUNT", Some(0)));
    assert_eq!(of(world.record(&world.vault.address(), 5)).await, ("OWN_ACCOUNT", Some(0)));
    assert_eq!(of(world.record(&world.alices, 0)).await, ("NO_AMOUNT", Some(0)));
}
