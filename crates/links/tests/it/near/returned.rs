//! Keys that were proven gone and that the account has again: what each began with, and what it spent since.
//!
//! Red with a wrong build that counts from what is spent now, that says of blocks which are kept no more that nothing was
//! spent in them, or that takes one provider's word for where a key began. That one provider brings no key back is
//! refused twice, by the lists and by the block: the unit test of the lists is red alone.

use super::world::{RELAY, World};
use devnet::near::near_primitives::account::AccessKey;
use devnet::near::near_primitives::action::{Action, AddKeyAction, TransferAction};
use devnet::near::near_primitives::types::Balance;
use devnet::near::{Fault, Lie, Rule, Wallet};
use kernel::attempt::Attempt;
use kernel::ports::chain::{Chain, GoneLane, LaneMark, LanePresence, LaneStart, ReturnedLane};
use links::near::NearChain;
use serde_json::json;
use std::sync::Arc;

/// A key that signed one attempt and was deleted, and the block that is the proof.
struct GoneKey {
    world: World,
    port: NearChain,
    attempt: Attempt,
    gone: GoneLane,
}

async fn gone_key(providers: usize) -> GoneKey {
    let world = World::new(providers);
    let port = world.port();
    let mut attempt = world.pay(&port, world.members(1)).await;
    world.see_through(&port, &mut attempt).await;
    let [first, second] = world.keys() else { unreachable!("two keys") };
    world.devnet.delete_key(second, first.public_key()).unwrap();
    world.devnet.settle();
    let lane: Arc<str> = attempt.lane.clone();
    let height = match port.lane_presence(&lane, None).await {
        Ok(LanePresence::Absent { height, .. }) => height,
        other => {
            assert_eq!(providers, 1, "{other:?}");
            world.devnet.final_height()
        }
    };
    let gone = GoneLane { lane, height };
    GoneKey { world, port, attempt, gone }
}

impl GoneKey {
    /// The block after which the account has the key again.
    fn adds_it_again(&self) -> u64 {
        let [first, second] = self.world.keys() else { unreachable!("two keys") };
        let (public_key, access_key) = (first.public_key(), AccessKey::full_access());
        let add = Action::AddKey(Box::new(AddKeyAction { public_key, access_key }));
        self.world.devnet.advance(40);
        self.world.devnet.run(second, &second.account, vec![add]).unwrap();
        let height = self.world.devnet.height();
        self.world.devnet.settle();
        height
    }

    fn key(&self) -> &Wallet {
        &self.world.keys()[0]
    }

    async fn returned(&self) -> Result<Vec<ReturnedLane>, &'static str> {
        let asked = std::slice::from_ref(&self.gone);
        self.port.returned(asked).await.map_err(|cause| cause.class)
    }

    /// What the key began with, as it is found.
    async fn start(&self) -> Option<LaneStart> {
        let found = self.returned().await;
        let Ok([ReturnedLane { start, .. }]) = found.as_deref() else { unreachable!("{found:?}") };
        start.clone()
    }

    /// The lanes that are ahead of where the key began.
    async fn ahead(&self, LaneStart { lock, height }: LaneStart) -> (usize, Option<String>) {
        let mark =
            LaneMark { lane: self.gone.lane.clone(), lock, anchor: Some(height), seen: None };
        let ahead = self.port.ahead(std::slice::from_ref(&mark)).await.unwrap();
        let uses =
            if ahead.is_empty() { Vec::new() } else { self.port.foreign(&mark).await.unwrap() };
        (ahead.len(), uses.first().map(|one| one.lock.0.to_string()))
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_key_began_with_is_no_nonce_that_was_spent() {
    let gone = gone_key(2).await;
    assert_eq!(gone.returned().await, Ok(Vec::new()));
    let nonce: u64 = gone.attempt.lock.0.parse().unwrap();
    gone.adds_it_again();
    let began = gone.world.devnet.nonce(&gone.key().account, &gone.key().public_key()).unwrap();
    assert!(began > nonce, "{began} {nonce}");
    let start = gone.start().await.unwrap();
    assert_eq!(&*start.lock.0, began.to_string());
    assert!(start.height > gone.gone.height, "{start:?}");
    assert_eq!(gone.ahead(start.clone()).await, (0, None));
    // much later it is found all the same, and what it spends since is counted from there
    gone.world.devnet.advance(300);
    let nothing = Action::Transfer(TransferAction { deposit: Balance::ZERO });
    let base = gone.world.devnet.final_hash();
    let signed = gone.key().sign(began + 7, base, &RELAY.parse().unwrap(), vec![nothing]);
    gone.world.devnet.submit(signed);
    gone.world.devnet.settle();
    assert_eq!(gone.start().await, Some(start.clone()));
    assert_eq!(gone.ahead(start).await, (1, Some((began + 7).to_string())));
    // without the proof that it was gone it is not known what it did before, and that is said
    let mark = LaneMark {
        lane: gone.gone.lane.clone(),
        lock: gone.attempt.lock.clone(),
        anchor: gone.attempt.forms[0].anchor,
        seen: None,
    };
    let why = gone.port.foreign(&mark).await.unwrap_err();
    assert_eq!(why.class, "KEY_ADDED_AGAIN", "{why}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_provider_alone_brings_no_key_back() {
    let gone = gone_key(2).await;
    gone.adds_it_again();
    let hidden = Lie::HiddenKey { key: gone.key().public_key() };
    gone.world.devnet.endpoint(0).unwrap().add(Rule::always(hidden));
    assert_eq!(gone.returned().await, Err("PROVIDERS_DISAGREE"));
    gone.world.clear();
    gone.world.devnet.endpoint(1).unwrap().add(Rule::always(Fault::Refuse).on(&["query"]));
    assert!(gone.returned().await.is_err(), "a silent one does not agree");
    gone.world.clear();
    assert!(gone.start().await.is_some());
    // nor is it where the blocks are kept no more
    let cause = json!({ "name": "UNKNOWN_BLOCK", "info": {} });
    let error = json!({ "name": "HANDLER_ERROR", "cause": cause, "code": -32_000, "message": "-" });
    let body = json!({ "jsonrpc": "2.0", "id": "1", "error": error });
    gone.world.everywhere(&Rule::always(Fault::Answer { code: 200, body }).on(&["block"]));
    assert_eq!(gone.start().await, None);
    // with one provider it is known that the key is back, and not what it did
    let gone = gone_key(1).await;
    gone.adds_it_again();
    assert_eq!(gone.start().await, None);
}
