//! Transactions that fail: nothing of them took place, and the place of the failing action only isolates.
//!
//! Red with a wrong build that refuses the member whose action failed (`an_unregistered_receiver_is_isolated`,
//! `one_that_fails_alone_is_refused_only_registered_and_funded`), or that blames a receiver for its token or
//! for the relay (`what_is_about_the_token_blames_no_receiver`).

use super::world::{RELAY, SUPPLY, World, code, words};
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
async fn what_is_about_the_token_blames_no_receiver() {
    let world = World::new(2);
    let port = world.port();
    let members = world.members(1);
    let mut attempt = world.pay(&port, members.clone()).await;
    world.devnet.set_paused(&world.token, true).unwrap();
    let verdicts = world.see_through(&port, &mut attempt).await;
    assert_eq!((words(&verdicts), code(&verdicts)), (vec![DEAD], "TOKEN_PAUSED".into()));
    // the token rests, and then goes on
    let lane = port.lanes("ft_transfer").remove(0);
    let next = port.next_lock(&lane, Some(&attempt.lock), &members).await;
    assert_eq!(next.unwrap_err().class, "TOKEN_RESTS");
    world.devnet.set_paused(&world.token, false).unwrap();
    world.clock.pass(60_000);
    let mut attempt = world.pay(&port, members.clone()).await;
    assert_eq!(words(&world.see_through(&port, &mut attempt).await), [("done", false)]);
    assert_eq!(world.paid(&members), [1]);
    // the relay's own money is short: two lanes sign for the same money, and the first takes it
    let half = SUPPLY / 2 + 100;
    let rich = |n: u64| world.record(&format!("r{n}.devnet"), half);
    let mut first = world.claim_on(&port, 0, vec![rich(1)]).await;
    let mut second = world.claim_on(&port, 1, vec![rich(2)]).await;
    assert_eq!(words(&world.see_through(&port, &mut first).await), [("done", false)]);
    let verdicts = world.see_through(&port, &mut second).await;
    assert_eq!((words(&verdicts), code(&verdicts)), (vec![DEAD], "TREASURY_SHORT".into()));
    // and nothing is signed that the relay has not
    let short = port.sign(&world.request(&port, vec![rich(3)]).await).await.unwrap_err();
    assert_eq!((short.cause.class, short.culprit), ("TREASURY_SHORT", Some(0)));
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
