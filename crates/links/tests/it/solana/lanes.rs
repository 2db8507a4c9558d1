//! Which lock a lane's next attempt takes.
//!
//! Red with a wrong build that takes the account's value for the next lock, whatever spent it
//! (`a_lane_that_is_used_elsewhere_gives_no_lock`), or that takes any transaction of its history for a use of it
//! (`a_stranger_who_names_a_lane_changes_nothing`).

use super::world::{World, act};
use devnet::solana::sign_message;
use kernel::attempt::Lock;
use kernel::ports::chain::{Chain, KEY_ABSENT, LANE_AHEAD, LaneMark};
use solana_system_interface::instruction::{
    advance_nonce_account, authorize_nonce_account, transfer,
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lane_that_is_used_elsewhere_gives_no_lock() {
    let world = World::new(2);
    let port = world.port();
    let attempt = world.pay(&port, world.member()).await;
    world.send(&port, &attempt).await;
    world.devnet.settle();
    let lane = &attempt.lane;
    let next = port.next_lock(lane, Some(&attempt.lock), &[]).await.unwrap();
    assert_eq!(&*next.0, world.lock(0).to_string());
    world.devnet.submit(world.foreign(world.lock(0), &[]));
    world.devnet.settle();
    for port in [port, world.port()] {
        let ahead = port.next_lock(lane, Some(&attempt.lock), &[]).await.unwrap_err();
        assert_eq!(ahead.class, LANE_AHEAD);
        // from the one that the stranger spent on it goes on
        assert!(port.next_lock(lane, Some(&next), &[]).await.is_ok());
    }
}

/// An advance that is not the first instruction, under a blockhash, names no nonce. Turns red where it is overlooked: the
/// value that it left would be a lock behind the stored one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_advance_under_a_blockhash_is_a_use_too() {
    let world = World::new(2);
    let port = world.port();
    let attempt = world.pay(&port, world.member()).await;
    world.send(&port, &attempt).await;
    world.devnet.settle();
    let vault = world.vault.address();
    let moved = transfer(&vault, &world.alice.address(), 1_000_000);
    let advance = advance_nonce_account(&world.lane(0), &vault);
    world.devnet.run(&[moved, advance], &[&world.vault]).unwrap();
    world.devnet.settle();
    let ahead = port.next_lock(&attempt.lane, Some(&attempt.lock), &[]).await.unwrap_err();
    assert_eq!(ahead.class, LANE_AHEAD);
}

/// Turns red where a form is signed whose lock is spent, or is shown by too few providers: the slot at which its lock stood
/// is what its proof begins at.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_form_is_signed_where_its_lock_is_shown() {
    let world = World::new(2);
    let port = world.port();
    let first = world.request(&port, 0, None, world.member()).await;
    let early = port.sign(&first).await.unwrap().form.anchor.unwrap();
    world.devnet.advance(40);
    world.clock.forward(10_000);
    let later = port.sign(&first).await.unwrap().form.anchor.unwrap();
    assert_eq!(later - early, 40);
    world.devnet.submit(world.foreign(world.lock(0), &[]));
    world.devnet.settle();
    world.clock.forward(10_000);
    assert_eq!(port.sign(&first).await.unwrap_err().cause.class, "LOCK_NOT_SHOWN");
    let next = world.request(&port, 0, None, world.member()).await;
    // one lags so far that it shows the lock of before
    world.endpoint(1).lag(60);
    world.clock.forward(10_000);
    assert_eq!(world.port().sign(&next).await.unwrap_err().cause.class, "LOCK_NOT_SHOWN");
    world.endpoint(1).lag(0);
    assert!(world.port().sign(&next).await.is_ok());
}

/// Anyone may name a lane in a transaction. Turns red where that stops it: it pays the stranger a fee to stop us.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stranger_who_names_a_lane_changes_nothing() {
    let world = World::new(2);
    let port = world.port();
    let attempt = world.pay(&port, world.member()).await;
    world.send(&port, &attempt).await;
    world.devnet.settle();
    let mark = |attempt: &kernel::attempt::Attempt| LaneMark {
        lane: attempt.lane.clone(),
        lock: attempt.lock.clone(),
        anchor: attempt.forms[0].anchor,
        seen: None,
    };
    let names = |lamports| transfer(&world.alice.address(), &world.lane(0), lamports);
    // more than one page of them, and one that tries to advance it
    for n in 0..120 {
        let hash = world.devnet.blockhash();
        let stranger = sign_message(&[names(n + 1)], &[&world.alice], hash).unwrap();
        world.devnet.submit(stranger);
    }
    let theft = advance_nonce_account(&world.lane(0), &world.alice.address());
    let hash = world.devnet.blockhash();
    world.devnet.submit(sign_message(&[theft], &[&world.alice], hash).unwrap());
    world.devnet.settle();
    for port in [port, world.port()] {
        assert_eq!(port.ahead(&[mark(&attempt)]).await, Ok(Vec::new()));
        let next = port.next_lock(&attempt.lane, Some(&attempt.lock), &[]).await.unwrap();
        assert_eq!(&*next.0, world.lock(0).to_string());
        assert_eq!(port.foreign(&mark(&attempt)).await.unwrap().len(), 0);
    }
}

/// Turns red where a lane without an account, or one that another key advances, is signed for.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lane_that_cannot_be_used_gives_no_lock() {
    let world = World::new(2);
    let mut settings = world.settings();
    settings.lanes = 3;
    let port = world.port_with(settings);
    let lanes = port.lanes(act().1);
    let class = async |lane: &str| port.next_lock(lane, None, &[]).await.unwrap_err().class;
    assert_eq!(class(&lanes[2]).await, KEY_ABSENT);
    assert_eq!(class(&world.account.to_string()).await, "NO_KEY");
    let vault = world.vault.address();
    let given = authorize_nonce_account(&world.lane(1), &vault, &world.alice.address());
    world.devnet.run(&[given], &[&world.vault]).unwrap();
    world.devnet.settle();
    assert_eq!(class(&lanes[1]).await, "KEY_RESTRICTED");
    assert!(port.next_lock(&lanes[0], None, &[]).await.is_ok());
    // an unused lane has a row that says so, and begins with the nonce that its creation set
    let new = port.new_lanes(&lanes, None).await.unwrap().unwrap();
    assert_eq!(new.iter().map(|new| &*new.now.lock.0).collect::<Vec<_>>(), ["unspent"; 2]);
    let unspent = Lock("unspent".into());
    let next = port.next_lock(&lanes[0], Some(&unspent), &[]).await.unwrap();
    assert_eq!(&*next.0, world.lock(0).to_string());
    // a lock that no transaction spent is no lock of the lane
    let never = Lock(devnet::solana::Hash::default().to_string().into());
    assert_eq!(port.next_lock(&lanes[0], Some(&never), &[]).await.unwrap_err().class, LANE_AHEAD);
}
