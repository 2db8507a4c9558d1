//! Which chain a provider is of: nothing that another one says counts, from the request on at which it is another one.
//!
//! The clock stands still unless a test says so: what was shown a moment ago is not asked for again by itself.

use super::world::{VALIDITY, World};
use devnet::near::near_primitives::hash::CryptoHash;
use devnet::near::{Fault, Lie, Rule};
use kernel::ports::chain::{
    CHAIN_UNBOUND, Chain, ChainIdentity, ProviderReport, ProviderState, WRONG_CHAIN,
};
use links::near::{NearChain, NearNetwork};

fn another(chain_id: &str) -> Rule {
    let genesis_hash = CryptoHash::hash_bytes(b"another");
    Rule::always(Lie::OtherChain { chain_id: chain_id.to_owned(), genesis_hash })
}

/// The endpoints of a world are of another chain of the same name, but for what they hold.
fn becomes_another(world: &World) {
    world.everywhere(&another("portage-devnet"));
}

fn states(port: &NearChain) -> Vec<ProviderState> {
    port.providers().iter().map(|report: &ProviderReport| report.state).collect()
}

/// How often the endpoints were asked which chain they are, and anything else.
fn asked(world: &World) -> (u64, u64) {
    let requests = world.devnet.requests();
    let status = requests.get("status").copied().unwrap_or(0);
    (status, requests.values().sum::<u64>() - status)
}

async fn locks(port: &NearChain, world: &World) -> Result<(), &'static str> {
    let lane = port.lanes("ft_transfer").remove(0);
    let lock = port.next_lock(&lane, None, &world.members(1)).await;
    lock.map(|_| ()).map_err(|cause| cause.class)
}

/// One question to one provider.
async fn reads(port: &NearChain) -> Result<(), &'static str> {
    port.fee_balance().await.map(|_| ()).map_err(|cause| cause.class)
}

/// Turns red where the name of the network is not compared, and where a provider of another one is asked for more.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_network_of_the_settings_is_the_one_that_is_shown() {
    let world = World::new(2);
    let mut settings = world.settings();
    settings.network = NearNetwork::Testnet;
    let port = world.unbound(settings);
    let shown = port.identity().await.map_err(|cause| cause.class);
    assert_eq!(shown, Err(WRONG_CHAIN));
    // nor does a journal help that is bound to it: the settings name another one
    port.bind(&world.identity());
    assert_eq!(locks(&port, &world).await, Err(WRONG_CHAIN));
    assert_eq!(states(&port), [ProviderState::WrongChain; 2]);
    assert_eq!(asked(&world).1, 0, "nothing else is asked");
    let kinds: Vec<&str> = port.concerns().iter().map(|concern| concern.kind).collect();
    assert_eq!(kinds, [WRONG_CHAIN, "WRONG_PROVIDER"]);
}

/// Turns red where one of two chains of the right name is taken for the right one, and where silence is another chain.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_chains_that_fit_bind_nothing() {
    let world = World::new(2);
    let port = world.unbound(world.settings());
    let second = world.devnet.endpoint(1).unwrap();
    second.add(another("portage-devnet"));
    assert_eq!(port.identity().await.unwrap_err().class, "PROVIDERS_DISAGREE");
    assert_eq!(locks(&port, &world).await, Err(CHAIN_UNBOUND));
    assert_eq!(states(&port), [ProviderState::Unknown; 2]);
    second.clear();
    second.add(Rule::always(Fault::Refuse));
    let port = world.unbound(world.settings());
    let silent = port.identity().await.unwrap_err().class;
    assert!(![WRONG_CHAIN, "PROVIDERS_DISAGREE"].contains(&silent), "{silent}");
    assert!(!port.concerns().iter().any(|concern| concern.kind.starts_with("WRONG")));
    second.clear();
    let ChainIdentity { name, genesis } = world.identity();
    assert_eq!(port.identity().await, Ok(Some(ChainIdentity { name, genesis })));
}

/// Turns red where what a provider showed is believed for ever, where it is asked with each request, and where one
/// that was silent is believed as before: another node may have come to its address.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_provider_is_asked_again_after_a_while_and_after_silence() {
    let world = World::new(1);
    let port = world.port();
    for _ in 0..3 {
        assert_eq!(reads(&port).await, Ok(()));
    }
    assert_eq!(asked(&world), (1, 3));
    becomes_another(&world);
    assert_eq!(reads(&port).await, Ok(()), "it was asked a moment ago");
    world.clock.forward(10_000);
    assert_eq!(reads(&port).await, Err(WRONG_CHAIN));
    world.clear();
    world.clock.forward(10_000);
    assert_eq!(reads(&port).await, Ok(()), "it is the right one again");
    // the connection is lost, and behind the address is another node
    world.everywhere(&Rule::times(Fault::Refuse, 1).on(&["query"]));
    becomes_another(&world);
    assert!(reads(&port).await.is_err());
    assert_eq!(states(&port), [ProviderState::Unknown]);
    assert_eq!(reads(&port).await, Err(WRONG_CHAIN));
}

/// Turns red where a transaction is signed on the block of a node that is another one by then: it would be valid on
/// that chain.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_signed_on_the_block_of_another_chain() {
    let world = World::new(2);
    let port = world.port();
    let request = world.request(&port, world.members(1)).await;
    assert!(port.sign(&request).await.is_ok());
    becomes_another(&world);
    let signed = port.sign(&request).await.map(|_| ()).map_err(|unsigned| unsigned.cause.class);
    assert_eq!(signed, Err(WRONG_CHAIN));
    world.clear();
    world.clock.forward(10_000);
    assert!(port.sign(&request).await.is_ok());
}

/// Turns red where an attempt ends by what a chain says that is another one by then: there its key was never added.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_is_deleted_only_on_the_right_chain() {
    let world = World::new(2);
    let port = world.port();
    let members = world.members(1);
    world.withhold();
    let attempt = world.pay(&port, members.clone()).await;
    drop(world.look(&port, &attempt).await);
    let [first, second] = world.keys() else { unreachable!("two keys") };
    world.clear();
    world.devnet.delete_key(second, first.public_key()).unwrap();
    world.devnet.advance(VALIDITY);
    // each shows the right chain behind the two blocks that a look begins with, and then another one
    world.everywhere(&Rule::times(Fault::Delay { millis: 0 }, 2).on(&["status"]));
    becomes_another(&world);
    assert_eq!(world.not_yet(&port, &attempt).await, "LOCK_SPENT");
    world.clear();
    world.clock.forward(10_000);
    let proof = world.look(&port, &attempt).await;
    assert!(matches!(proof, kernel::ports::chain::AttemptProof::Closed(_)), "{proof:?}");
    assert_eq!(world.paid(&members), [0]);
}
