//! Transactions that fail: nothing of them took place, and the place of the failing action only isolates.
//!
//! Red with a wrong build that refuses the member whose action failed (`an_unregistered_receiver_is_isolated`,
//! `one_that_fails_alone_is_refused_only_registered_and_funded`).

use super::world::{RELAY, World, code, words};
use kernel::ports::chain::Chain;

const DEAD: (&str, bool) = ("dead", false);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unregistered_receiver_is_isolated() {
    let world = World::new(2);
    let port = world.port();
    let mut members = world.members(3);
    // its name is in the contract's words, and stops nothing
    members.insert(1, world.record("paused.devnet", 10));
    let mut attempt = world.pay(&port, members.clone()).await;
    let verdicts = world.see_through(&port, &mut attempt).await;
    assert_eq!(words(&verdicts), [DEAD, ("dead", true), DEAD, DEAD]);
    assert_eq!(world.paid(&members), [0; 4]);
    // the others go on, and the one alone is registered and not refused
    let culprit = members.remove(1);
    let mut rest = world.pay(&port, members.clone()).await;
    assert_eq!(words(&world.see_through(&port, &mut rest).await), [("done", false); 3]);
    let mut alone = world.pay(&port, vec![culprit.clone()]).await;
    let verdicts = world.see_through(&port, &mut alone).await;
    assert_eq!(
        (words(&verdicts), code(&verdicts)),
        (vec![("dead", true)], "NOT_REGISTERED".into())
    );
    world.devnet.register(&world.token, &["paused.devnet".parse().unwrap()]).unwrap();
    let mut alone = world.pay(&port, vec![culprit.clone()]).await;
    assert_eq!(words(&world.see_through(&port, &mut alone).await), [("done", false)]);
    assert_eq!((world.paid(&members), world.paid(&[culprit])), (vec![1; 3], vec![1]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_that_fails_alone_is_refused_only_registered_and_funded() {
    let world = World::new(2);
    let port = world.port();
    // its own account is registered and has the money: the contract refuses the transfer itself
    let mut alone = world.pay(&port, vec![world.record(RELAY, 10)]).await;
    let verdicts = world.see_through(&port, &mut alone).await;
    assert_eq!(words(&verdicts), [("rejected", false)].map(|(word, _)| (word, true)));
    assert_eq!(code(&verdicts), "RECEIVER_REFUSED");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_are_one_transaction() {
    let world = World::new(2);
    let port = world.port();
    let members = world.members(100);
    assert_eq!(port.cap("ft_transfer"), 100);
    let mut attempt = world.pay(&port, members.clone()).await;
    let verdicts = world.see_through(&port, &mut attempt).await;
    assert_eq!((verdicts.len(), world.paid(&members)), (100, vec![1; 100]));
}
