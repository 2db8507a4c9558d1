//! One of three providers that lies: it neither stops the relay nor fails a transfer, and it is named.

use super::providers::outcome;
use super::world::{World, words};
use devnet::near::near_primitives::views::FinalExecutionStatus;
use devnet::near::{Fault, Lie, Rule};
use kernel::attempt::Lock;
use kernel::ports::chain::{Chain, LaneMark, SignRequest};
use links::near::NearChain;
use serde_json::{Value, json};

/// The time after which what providers show differently is told.
const TOLD_AFTER: u64 = 20_000;

fn told(port: &NearChain) -> Vec<(&'static str, String)> {
    let concerns = port.concerns().into_iter();
    concerns.map(|concern| (concern.kind, concern.facts.to_string())).collect()
}

/// A head that no other provider has.
fn invented(height: u64) -> Value {
    let hash = "1thX6LZfHDZZKUs92febYZhYRcXddmzfzF2NvTkPNE";
    let header = json!({
        "height": height, "hash": hash, "prev_hash": hash, "timestamp_nanosec": "1735689600000000000",
    });
    json!({ "jsonrpc": "2.0", "id": "portage", "result": { "header": header, "chunks": [] } })
}

/// Turns red where one of three keeps the relay from signing, keeps open what two show as paid, stops the chain by logs
/// that it hides, or is not named; and where what was said of it outlives it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_of_three_that_lies_is_outvoted() {
    let world = World::new(3);
    let port = world.port();
    let liar = world.devnet.endpoint(0).unwrap();
    let height = world.devnet.final_height();
    let block = |height| Fault::Answer { code: 200, body: invented(height) };
    let key = world.relay.public_key();
    let none = outcome(FinalExecutionStatus::NotStarted).on(&["tx"]);
    for lie in [
        Rule::always(Lie::Silent),
        Rule::always(Lie::Nonce { nonce: 999_000_000_000 }),
        Rule::always(Lie::Nonce { nonce: 1 }),
        Rule::always(Lie::HiddenKey { key }),
        Rule::always(block(height - 1)).on(&["block"]),
        Rule::always(block(height + 1_000_000)).on(&["block"]),
        Rule::always(Lie::Unknown),
        none,
    ] {
        liar.clear();
        liar.add(lie.clone());
        let lane = port.lanes("ft_transfer").remove(0);
        let key = &world.relay;
        let spent = world.devnet.nonce(&key.account, &key.public_key()).unwrap();
        let lock = Lock(spent.to_string().into());
        let anchor = Some(world.devnet.final_height());
        let mark = LaneMark { lane: lane.clone(), lock: lock.clone(), anchor, seen: None };
        let ahead = port.ahead(&[mark]).await;
        assert_eq!(ahead.map(|lanes| lanes.len()), Ok(0), "{lie:?}");
        let next = port.next_lock(&lane, Some(&lock), &world.members(1)).await;
        assert_eq!(next.map(|lock| lock.to_string()), Ok((spent + 1).to_string()), "{lie:?}");
        let members = world.members(3);
        let mut attempt = world.pay(&port, members.clone()).await;
        let verdicts = world.see_through(&port, &mut attempt).await;
        assert_eq!(words(&verdicts), [("done", false); 3], "{lie:?}");
        assert_eq!((world.paid(&members), attempt.forms.len()), (vec![1; 3], 1), "{lie:?}");
    }
    // it is named once it has gone on for some time
    liar.clear();
    liar.add(Rule::always(Lie::Nonce { nonce: 999_000_000_000 }));
    let lane = port.lanes("ft_transfer").remove(0);
    let lock = port.next_lock(&lane, None, &world.members(1)).await.unwrap();
    world.clock.forward(TOLD_AFTER);
    drop(port.next_lock(&lane, Some(&lock), &world.members(1)).await);
    let address = world.devnet.urls()[0].replace("http://", "");
    let told_of = told(&port);
    let [(kind, facts)] = &told_of[..] else { panic!("{told_of:?}") };
    assert_eq!(*kind, "PROVIDER_OUTVOTED");
    assert!(facts.contains(&format!("{address} shows")), "{facts}");
    liar.clear();
    world.clock.forward(120_000);
    assert_eq!(told(&port), [], "it ends by itself");
}

/// Turns red where one of two decides: what they say differently stays open, with the names of both.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_of_two_keeps_open_what_they_show_differently() {
    let world = World::new(2);
    let port = world.port();
    let mut attempt = world.pay(&port, world.members(2)).await;
    let liar = world.devnet.endpoint(1).unwrap();
    liar.add(Rule::always(Lie::Silent));
    drop(world.look(&port, &attempt).await);
    world.devnet.settle();
    for _ in 0..2 {
        assert_eq!(world.not_yet(&port, &attempt).await, "PROVIDERS_DISAGREE");
        world.clock.forward(TOLD_AFTER);
    }
    let told_of = told(&port);
    let [(kind, facts)] = &told_of[..] else { panic!("{told_of:?}") };
    assert_eq!(*kind, "PROVIDERS_DISAGREE");
    for url in world.devnet.urls() {
        assert!(facts.contains(&url.replace("http://", "")), "{facts}");
    }
    liar.clear();
    let verdicts = world.see_through(&port, &mut attempt).await;
    assert_eq!(words(&verdicts), [("done", false); 2]);
}

/// Turns red where one of three says what a registration costs (run: the first that answers is believed).
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_of_three_sets_no_price_of_a_registration() {
    let world = World::new(3);
    world.devnet.create_account("carol.devnet", 5).unwrap();
    let bounds = json!({ "min": "1", "max": null }).to_string();
    let (height, hash) = (world.devnet.final_height(), world.devnet.final_hash().to_string());
    let result = json!({ "result": bounds.as_bytes(), "logs": [], "block_height": height, "block_hash": hash });
    let body = json!({ "jsonrpc": "2.0", "id": "portage", "result": result });
    for liar in 0..3 {
        let port = world.port();
        let carol = vec![world.record("carol.devnet", 1)];
        let request = world.request(&port, carol.clone()).await;
        // the next question is after the price
        let lie = Rule::times(Fault::Answer { code: 200, body: body.clone() }, 1).on(&["query"]);
        world.devnet.endpoint(liar).unwrap().add(lie);
        let request = SignRequest { act: "storage_deposit", ..request };
        let form = port.sign(&request).await.unwrap().form;
        let mut attempt = world.stored(request.lane, request.lock, carol, form);
        let verdicts = world.see_through(&port, &mut attempt).await;
        assert_eq!(words(&verdicts), [("done", false)], "{liar}");
    }
}
