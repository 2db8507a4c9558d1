//! The accounts of lanes: listed, created where they are missing, and closed where they are no longer used.

use super::world::{LANES, World, act};
use devnet::solana::{Fault, Rule};
use kernel::ports::chain::Chain;
use links::solana::{KeyRing, LaneAccount, LaneClosing, LaneCreation, LaneState, SolanaChain};
use solana_system_interface::instruction::{authorize_nonce_account, transfer};
use std::sync::Arc;
use std::time::Duration;

/// What the chain asks for an account of that size, as the decision about lanes counts it.
const RENT: u64 = 1_447_680;
const SENDS: &[&str] = &["sendTransaction"];

fn port(world: &World, lanes: usize) -> SolanaChain {
    let mut settings = world.settings();
    settings.lanes = lanes;
    world.port_with(settings)
}

/// What became of each lane, without the words.
async fn create(port: &SolanaChain) -> Vec<&'static str> {
    let all = port.create_lanes(0).await.unwrap();
    let word = |outcome| match outcome {
        LaneCreation::Existed => "existed",
        LaneCreation::Created => "created",
        LaneCreation::Unusable => "unusable",
        LaneCreation::NotYet(_) => "not yet",
    };
    all.into_iter().map(|one| word(one.outcome)).collect()
}

/// What each lane has, where it can be used.
fn rents(lanes: &[LaneAccount]) -> Vec<u64> {
    let of = |lane: &LaneAccount| match &lane.state {
        LaneState::Usable { lamports, .. } => Some(*lamports),
        LaneState::Missing { .. } | LaneState::Unusable { .. } | LaneState::NotKnown(_) => None,
    };
    lanes.iter().filter_map(of).collect()
}

fn sends(world: &World) -> u64 {
    world.devnet.requests().get("sendTransaction").copied().unwrap_or_default()
}

/// Turns red where a reply that is lost, or a wait that ends, says that a lane was not created, and where one that exists
/// is created again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn missing_lanes_are_created_once_whatever_replies_say() {
    let world = World::new(2);
    let port = port(&world, LANES + 2);
    world.everywhere(&Rule::always(Fault::DropReply).on(SENDS));
    assert_eq!(create(&port).await, ["existed", "existed", "not yet", "not yet"]);
    // asked again before a block has it, and under another blockhash
    world.devnet.advance(1);
    assert_eq!(create(&port).await, ["existed", "existed", "not yet", "not yet"]);
    world.clear();
    world.devnet.settle();
    let before = sends(&world);
    assert_eq!(create(&port).await, ["existed"; 4]);
    assert_eq!(sends(&world), before, "nothing more is sent");
    let lanes = port.lane_accounts().await.unwrap();
    assert_eq!(rents(&lanes), [RENT; 4]);
    // and each gives the lock that the list shows
    let names = port.lanes(act().1);
    for (lane, name) in lanes.iter().zip(&names) {
        assert_eq!(lane.address, *name);
        let lock = port.next_lock(name, None, &[]).await.unwrap();
        assert!(matches!(&lane.state, LaneState::Usable { lock: shown, .. } if *shown == lock));
    }
    let new = port.new_lanes(&names, None).await.unwrap().unwrap();
    assert_eq!(new.iter().map(|new| &*new.now.lock.0).collect::<Vec<_>>(), ["unspent"; 4]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_that_waits_sees_the_lane_in_a_final_block() {
    let world = World::new(2);
    let port = port(&world, LANES + 1);
    let blocks = async {
        loop {
            world.devnet.advance(1);
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    let created = tokio::select! {
        created = port.create_lanes(86_400_000) => created.unwrap(),
        () = blocks => unreachable!("blocks do not end"),
    };
    assert_eq!(created.last().unwrap().outcome, LaneCreation::Created);
}

/// Turns red where one provider's view makes a lane missing, so that it is paid for again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lane_that_one_provider_does_not_show_is_not_known() {
    let world = World::new(2);
    let port = port(&world, LANES + 1);
    create(&port).await;
    world.devnet.settle();
    world.endpoint(1).lag(20);
    let before = sends(&world);
    assert_eq!(create(&port).await, ["existed", "existed", "not yet"]);
    let lanes = port.lane_accounts().await.unwrap();
    assert!(matches!(lanes[LANES].state, LaneState::NotKnown(_)), "{lanes:?}");
    assert_eq!(sends(&world), before);
    world.endpoint(1).lag(0);
    assert_eq!(create(&port).await, ["existed"; 3]);
}

/// Turns red where the rent of lanes takes what payments need for their fees.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lanes_leave_the_floor_of_fees() {
    let world = World::new(2);
    let port = port(&world, LANES + 2);
    let (vault, alice) = (world.vault.address(), world.alice.address());
    let floor = world.settings().fee_floor;
    // enough for one of both
    let left = world.devnet.lamports(&vault) - floor - RENT * 3 / 2;
    world.devnet.run(&[transfer(&vault, &alice, left)], &[&world.vault]).unwrap();
    world.devnet.settle();
    assert_eq!(port.create_lanes(0).await.unwrap_err().class, "FEES_LOW");
    assert_eq!((world.devnet.pooled(), sends(&world)), (0, 0), "nothing is sent");
    world.devnet.airdrop(&vault, RENT).unwrap();
    world.devnet.settle();
    create(&port).await;
    world.devnet.settle();
    assert_eq!(create(&port).await, ["existed"; 4]);
    assert!(world.devnet.lamports(&vault) >= floor);
}

/// Turns red where lamports at its address keep a lane from being created, as they keep `create_account_with_seed`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stranger_who_pays_to_its_address_blocks_no_lane() {
    let world = World::new(2);
    let port = port(&world, LANES + 2);
    let alice = world.alice.address();
    for (number, lamports) in [(LANES, 1_000_000), (LANES + 1, RENT + 7)] {
        let paid = transfer(&alice, &world.lane(number), lamports);
        world.devnet.run(&[paid], &[&world.alice]).unwrap();
    }
    world.devnet.settle();
    let lanes = port.lane_accounts().await.unwrap();
    assert_eq!(lanes[LANES].state, LaneState::Missing { lamports: 1_000_000 });
    create(&port).await;
    world.devnet.settle();
    assert_eq!(create(&port).await, ["existed"; 4]);
    assert_eq!(rents(&port.lane_accounts().await.unwrap()), [RENT, RENT, RENT, RENT + 7]);
}

/// Turns red where a lane of the settings is closed, and where a reply decides whether one was.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_a_lane_beyond_the_settings_is_closed() {
    let world = World::new(2);
    let more = port(&world, LANES + 2);
    create(&more).await;
    world.devnet.settle();
    let port = port(&world, LANES);
    assert_eq!(port.lane_accounts().await.unwrap().len(), LANES + 2, "those beyond are shown");
    assert_eq!(port.close_lane(LANES - 1, 0).await.unwrap_err().class, "LANE_IN_USE");
    let before = world.devnet.lamports(&world.vault.address());
    world.everywhere(&Rule::always(Fault::DropReply).on(SENDS));
    let closing = port.close_lane(LANES + 1, 0).await.unwrap();
    assert!(matches!(closing, LaneClosing::NotYet(_)), "{closing:?}");
    world.clear();
    world.devnet.settle();
    assert_eq!(port.close_lane(LANES + 1, 0).await.unwrap(), LaneClosing::Absent);
    assert_eq!(port.close_lane(1_000, 0).await.unwrap(), LaneClosing::Absent);
    let back = world.devnet.lamports(&world.vault.address()) - before;
    assert!(back <= RENT && back > RENT - 20_000, "{back}");
    // one that another key advances is neither closed nor created
    let vault = world.vault.address();
    let given = authorize_nonce_account(&world.lane(LANES), &vault, &world.alice.address());
    world.devnet.run(&[given], &[&world.vault]).unwrap();
    world.devnet.settle();
    assert_eq!(port.close_lane(LANES, 0).await.unwrap_err().class, "KEY_RESTRICTED");
    assert_eq!(create(&more).await, ["existed", "existed", "unusable", "not yet"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_without_the_key_lists_lanes_and_creates_none() {
    let world = World::new(2);
    let mut settings = world.settings();
    settings.lanes = LANES + 1;
    let other = bs58::encode(world.alice.keypair()).into_string();
    let ring = KeyRing::plain([format!("ed25519:{other}").as_str()]).unwrap();
    let (clock, meter) = (world.clock.clone(), world.meter.clone());
    let port = SolanaChain::new(settings, Arc::new(ring), clock, meter).unwrap();
    port.bind(&world.identity());
    assert_eq!(port.lane_accounts().await.unwrap().len(), LANES + 1);
    assert_eq!(port.create_lanes(0).await.unwrap_err().class, "NO_KEY");
    assert_eq!(world.devnet.pooled(), 0);
}
