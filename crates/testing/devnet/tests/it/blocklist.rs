//! Accounts that the token refuses.

use crate::client::{World, transfer};
use devnet::near::{Execution, Options};

/// Turns red if a blocked account is paid or registered, if its neighbour in the batch is, or if one of both executions
/// pays it.
#[test]
fn a_blocked_account_is_neither_paid_nor_registered() {
    for execution in [Execution::Wasm, Execution::Native] {
        let world = World::new(Options { execution, ..Options::manual() }).unwrap();
        let (alice, dave) = ("alice.devnet".parse().unwrap(), "dave.devnet".parse().unwrap());
        world.devnet.block_account(&alice);
        world.devnet.block_account(&dave);
        let batch = vec![transfer("bob.devnet", 1, None), transfer("alice.devnet", 1, None)];
        let paid = world.devnet.run(&world.relay, &world.token, batch);
        assert!(paid.is_err_and(|error| error.contains("alice.devnet is on the blocklist")));
        let balance = |account| world.devnet.balance(&world.token, account).unwrap();
        assert_eq!([balance(&alice), balance(&"bob.devnet".parse().unwrap())], [0, 0]);
        assert!(world.devnet.register(&world.token, std::slice::from_ref(&dave)).is_err());
        assert!(!world.devnet.is_registered(&world.token, &dave).unwrap());
        // what is asked of it is answered
        assert!(world.devnet.is_registered(&world.token, &alice).unwrap());
    }
}

/// Turns red if a transaction is left out, shown before it is final, or given to another key.
#[test]
fn each_final_transaction_spent_one_nonce() {
    let world = World::manual().unwrap();
    let before = world.devnet.spent_nonces(&world.relay.account).len();
    let nonce = world.next_nonce().unwrap();
    let signed = world.sign(nonce, vec![transfer("alice.devnet", 1, None)]);
    world.devnet.submit(signed.clone());
    world.devnet.advance(1);
    assert_eq!(world.devnet.spent_nonces(&world.relay.account).len(), before);
    world.devnet.settle();
    let spent = world.devnet.spent_nonces(&world.relay.account).split_off(before);
    let [one] = &spent[..] else { panic!("{spent:?}") };
    assert_eq!((one.nonce, one.hash), (nonce, signed.get_hash()));
    assert_eq!(one.key, world.relay.public_key());
}
