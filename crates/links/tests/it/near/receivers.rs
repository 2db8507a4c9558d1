//! What the relay's rules learn of receivers, and how they are registered.

use super::world::World;
use super::world::words;
use flows::relay::rules::{ATTEMPTS, BUDGET, RECEIVER_EXISTS, REGISTERED};
use kernel::answer::Cause;
use kernel::ports::Fut;
use kernel::ports::facts::{FactSource, Gathered};
use kernel::record::{Fact, Facts, Record};
use links::near::{RegistrationAllowance, RegistrationLimits};
use std::sync::Arc;

struct Allowed;

impl RegistrationLimits for Allowed {
    fn allowances<'a>(
        &'a self,
        records: &'a [Record],
    ) -> Fut<'a, Vec<Result<RegistrationAllowance, Cause>>> {
        let allowance = RegistrationAllowance { tried: 2, budget: true };
        Box::pin(std::future::ready(vec![Ok(allowance); records.len()]))
    }
}

fn facts(gathered: &Gathered) -> &Facts {
    match gathered {
        Gathered::Facts(facts) => facts,
        Gathered::Unknown(cause) => unreachable!("{cause}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn receivers_are_asked_after_and_registered() {
    let world = World::new(2);
    let port = world.port();
    let source = port.facts(Arc::new(Allowed));
    let wallet = world.devnet.create_account("carol.devnet", 5).unwrap();
    let records = [
        world.record("r1.devnet", 1),
        world.record("carol.devnet", 1),
        world.record("ghost.devnet", 1),
    ];
    let known = source.facts("known receiver", &records).await;
    let flags: Vec<_> = known.iter().map(|one| facts(one)[REGISTERED].clone()).collect();
    assert_eq!(flags, [true, false, false].map(Fact::Flag));
    let may = source.facts("may register", &records).await;
    let exists: Vec<_> = may.iter().map(|one| facts(one)[RECEIVER_EXISTS].clone()).collect();
    assert_eq!(
        exists,
        [false, true, false].map(Fact::Flag),
        "a token's books know r1, the chain does not"
    );
    assert_eq!(facts(&may[1])[ATTEMPTS], Fact::Number(2));
    assert_eq!(facts(&may[1])[BUDGET], Fact::Flag(true));
    assert!(matches!(source.facts("another rule", &records).await[0], Gathered::Unknown(_)));
    // one registration, and one more that the contract gives back
    let carol = || world.record("carol.devnet", 1);
    let mut attempt = world.claim(&port, "storage_deposit", vec![carol(), carol()]).await;
    assert_eq!(words(&world.see_through(&port, &mut attempt).await), [("done", false); 2]);
    let known = source.facts("known receiver", &records[1..2]).await;
    assert_eq!(facts(&known[0])[REGISTERED], Fact::Flag(true));
    // it takes its deposit back: the memory is stale, and a payment isolates it and mends the memory
    world.devnet.unregister(&world.token, &wallet).unwrap();
    let known = source.facts("known receiver", &records[1..2]).await;
    assert_eq!(facts(&known[0])[REGISTERED], Fact::Flag(true));
    let mut attempt = world.pay(&port, vec![world.record("r2.devnet", 1), carol()]).await;
    assert_eq!(
        words(&world.see_through(&port, &mut attempt).await),
        [("dead", false), ("dead", true)]
    );
    let known = source.facts("known receiver", &records[1..2]).await;
    assert_eq!(facts(&known[0])[REGISTERED], Fact::Flag(false));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_receiver_is_missing_only_where_providers_agree() {
    use devnet::near::{Fault, Rule};
    let world = World::new(2);
    world.devnet.create_account("carol.devnet", 5).unwrap();
    let source = world.port().facts(Arc::new(Allowed));
    let record = [world.record("ghost.devnet", 1)];
    let body = serde_json::json!({"jsonrpc": "2.0", "error": {"name": "HANDLER_ERROR", "cause": {"name": "UNKNOWN_ACCOUNT"}}});
    world.devnet.endpoint(0).unwrap().add(Rule::always(Fault::Answer { code: 200, body }));
    world.devnet.endpoint(1).unwrap().add(Rule::always(Fault::Status { code: 503 }));
    let may = source.facts("may register", &record).await;
    assert!(matches!(may[0], Gathered::Unknown(_)), "one provider's no ends nothing: {may:?}");
    let known = source.facts("known receiver", &record).await;
    assert!(matches!(known[0], Gathered::Unknown(_)), "{known:?}");
}
