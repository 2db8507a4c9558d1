//! What the relay's rules learn of receivers, and how they are registered.

use super::world::World;
use super::world::words;
use devnet::near::{Fault, Rule};
use flows::relay::rules::{ATTEMPTS, BUDGET, LATELY, RECEIVER_EXISTS, REGISTERED};
use kernel::answer::Cause;
use kernel::ports::Fut;
use kernel::ports::chain::Chain as _;
use kernel::ports::facts::{FactSource, Gathered};
use kernel::record::{Account, Fact, Facts};
use links::near::{
    RegistrationAllowance, RegistrationLimit, RegistrationLimits, RegistrationRequest, Reservation,
};
use std::sync::{Arc, Mutex};

/// Reserves for everyone, alike, and remembers for whom it was asked.
pub(super) struct Allowed {
    reservation: Reservation,
    asked: Mutex<Vec<Account>>,
}

impl Allowed {
    pub(super) fn everyone(reservation: Reservation) -> Arc<Self> {
        Arc::new(Self { reservation, asked: Mutex::default() })
    }
}

impl RegistrationLimits for Allowed {
    fn allowances<'a>(
        &'a self,
        requests: &'a [RegistrationRequest],
    ) -> Fut<'a, Vec<Result<RegistrationAllowance, Cause>>> {
        let accounts = requests.iter().map(|request| request.record.target().account.clone());
        self.asked.lock().unwrap().extend(accounts);
        let allowance = RegistrationAllowance { tried: 2, reservation: self.reservation };
        Box::pin(std::future::ready(vec![Ok(allowance); requests.len()]))
    }
}

pub(super) fn facts(gathered: &Gathered) -> &Facts {
    match gathered {
        Gathered::Facts(facts) => facts,
        Gathered::Unknown(cause) => unreachable!("{cause}"),
    }
}

/// A receiver that the token knows and the chain has no account of: a provider that is behind says that it is not
/// registered. Turns red where its word ends the transfer.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_provider_that_is_behind_ends_no_transfer() {
    let world = World::new(2);
    let port = world.port();
    let source = port.facts(Allowed::everyone(Reservation::Own));
    let late = ["late.devnet".parse().unwrap()];
    world.devnet.register(&world.token, &late).unwrap();
    let record = [world.record("late.devnet", 1)];
    let replica = world.devnet.endpoint(1).unwrap();
    replica.lag(20);
    let may = source.facts("may register", &record).await;
    assert!(matches!(may[0], Gathered::Unknown(_)), "{may:?}");
    replica.lag(0);
    let may = source.facts("may register", &record).await;
    assert_eq!(facts(&may[0])[RECEIVER_EXISTS], Fact::Flag(true));
    assert_eq!(facts(&may[0])[BUDGET], Fact::Flag(true), "a second deposit is given back");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn receivers_are_asked_after_and_registered() {
    let world = World::new(2);
    let port = world.port();
    let limits = Allowed::everyone(Reservation::Own);
    let source = port.facts(limits.clone());
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
        [true, true, false].map(Fact::Flag),
        "a token's books know r1, the chain does not"
    );
    let asked = limits.asked.lock().unwrap().clone();
    let known: Vec<_> = records[..2].iter().map(|one| one.target().account.clone()).collect();
    assert_eq!(asked, known, "nothing is reserved for one that does not exist");
    assert_eq!(facts(&may[1])[ATTEMPTS], Fact::Number(2));
    assert_eq!(facts(&may[1])[BUDGET], Fact::Flag(true));
    assert!(matches!(source.facts("another rule", &records).await[0], Gathered::Unknown(_)));
    let queries = world.meter.times("NEAR query answered");
    assert_eq!(
        facts(&source.facts("may register", &records[1..2]).await[0])[BUDGET],
        Fact::Flag(true)
    );
    assert_eq!(world.meter.times("NEAR query answered"), queries, "that it exists is remembered");
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

/// Turns red where each transfer of a batch asks after its receiver, where a *no* is forgotten at once, and where
/// it is believed for ever.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn transfers_to_one_new_receiver_ask_after_it_once() {
    let world = World::new(2);
    let carol = world.devnet.create_account("carol.devnet", 5).unwrap();
    let source = world.port().facts(Allowed::everyone(Reservation::Other));
    let records = vec![world.record("carol.devnet", 1); 40];
    let asked = || world.meter.times("NEAR query answered");
    let registered = async || {
        let known = source.facts("known receiver", &records).await;
        let flag = known.first().map(|one| facts(one)[REGISTERED].clone());
        assert!(known.iter().all(|one| Some(&facts(one)[REGISTERED]) == flag.as_ref()));
        flag
    };
    let before = asked();
    assert_eq!(registered().await, Some(Fact::Flag(false)));
    assert_eq!(registered().await, Some(Fact::Flag(false)));
    assert_eq!(asked() - before, 1, "one question for all of them, and none a moment later");
    let before = asked();
    let may = source.facts("may register", &records).await;
    assert!(may.iter().all(|one| facts(one)[RECEIVER_EXISTS] == Fact::Flag(true)), "{may:?}");
    assert_eq!(asked() - before, 4, "each provider says once that it exists, and what it costs");
    // another one registers it
    world.devnet.register(&world.token, &[carol.account]).unwrap();
    world.clock.forward(1_000);
    assert_eq!(registered().await, Some(Fact::Flag(true)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_receiver_is_missing_only_where_providers_agree() {
    let world = World::new(2);
    world.devnet.create_account("carol.devnet", 5).unwrap();
    let limits = Allowed::everyone(Reservation::Own);
    let source = world.port().facts(limits.clone());
    let record = [world.record("ghost.devnet", 1)];
    let body = serde_json::json!({"jsonrpc": "2.0", "error": {"name": "HANDLER_ERROR", "cause": {"name": "UNKNOWN_ACCOUNT"}}});
    world.devnet.endpoint(0).unwrap().add(Rule::always(Fault::Answer { code: 200, body }));
    world.devnet.endpoint(1).unwrap().add(Rule::always(Fault::Status { code: 503 }));
    let may = source.facts("may register", &record).await;
    assert!(matches!(may[0], Gathered::Unknown(_)), "one provider's no ends nothing: {may:?}");
    assert!(limits.asked.lock().unwrap().is_empty(), "what may not exist is not reserved for");
    let known = source.facts("known receiver", &record).await;
    assert!(matches!(known[0], Gathered::Unknown(_)), "{known:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_stands_of_a_registration_is_said_as_facts() {
    let world = World::new(2);
    world.devnet.create_account("carol.devnet", 5).unwrap();
    let dave = world.devnet.create_account("dave.devnet", 5).unwrap();
    world.devnet.register(&world.token, &[dave.account]).unwrap();
    let records = [world.record("carol.devnet", 1), world.record("dave.devnet", 1)];
    let port = world.port();
    let limit = RegistrationLimit::CallerShare;
    let exhausted = |waited_out| Reservation::Exhausted { limit, waited_out };
    let no = Some(Fact::Flag(false));
    let yes = Some(Fact::Flag(true));
    for (reservation, carol, dave) in [
        (Reservation::Own, (&no, &yes), (&no, &yes)),
        (Reservation::Other, (&no, &None), (&no, &None)),
        (exhausted(false), (&no, &None), (&no, &None)),
        (exhausted(true), (&no, &no), (&no, &no)),
        (Reservation::JustMade, (&no, &None), (&no, &yes)),
        // carol took the deposit back, and dave is registered still
        (Reservation::Lately, (&yes, &None), (&no, &yes)),
    ] {
        let source = port.facts(Allowed::everyone(reservation));
        let may = source.facts("may register", &records).await;
        for (gathered, (lately, budget)) in may.iter().zip([carol, dave]) {
            let facts = facts(gathered);
            let found = (facts.get(LATELY), facts.get(BUDGET));
            assert_eq!(found, (lately.as_ref(), budget.as_ref()), "{reservation:?}");
        }
    }
    let kinds: Vec<_> = port.concerns().into_iter().map(|concern| concern.kind).collect();
    assert_eq!(kinds, ["REGISTRATION_BUDGET"]);
    assert!(port.concerns()[0].facts.contains("principal:it|relay"), "{:?}", port.concerns());
    let one = World::new(1);
    let kinds: Vec<_> = one.port().concerns().into_iter().map(|concern| concern.kind).collect();
    assert_eq!(kinds, ["ONE_PROVIDER"]);
}

/// A contract that asks for more than the settings allow. Turns red where a registration is reserved or claimed all the
/// same, where payments wait with it, where nothing is told, and where a lower price is not seen (run: the price is read
/// by the signature alone).
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_price_above_the_settings_holds_back_registrations_alone() {
    let world = World::new(2);
    world.devnet.create_account("carol.devnet", 5).unwrap();
    let price = world.devnet.storage_price(&world.token).unwrap();
    let records = [world.record("carol.devnet", 1)];
    let port = world.port_with({
        let mut settings = world.settings();
        settings.most_storage_deposit = price - 1;
        settings
    });
    let limits = Allowed::everyone(Reservation::Own);
    let may = port.facts(limits.clone()).facts("may register", &records).await;
    assert!(
        matches!(&may[0], Gathered::Unknown(why) if why.class == "DEPOSIT_TOO_HIGH"),
        "{may:?}"
    );
    assert!(limits.asked.lock().unwrap().is_empty(), "it is reserved");
    let told = port.concerns();
    let [one] = &told[..] else { panic!("{told:?}") };
    assert_eq!(one.kind, "REGISTRATION_DEPOSIT");
    for word in [price.to_string().as_str(), "relay.max_registration_deposit"] {
        assert!(one.facts.contains(word), "{one:?}");
    }
    assert!(port.rests_for("storage_deposit", &records[0]).is_some());
    assert_eq!(port.rests_for("ft_transfer", &records[0]), None);
    let mut paid = world.pay(&port, world.members(2)).await;
    assert_eq!(words(&world.see_through(&port, &mut paid).await), [("done", false); 2]);
    // the contract asks for less: the next look sees it
    let bounds = serde_json::json!({ "min": (price - 1).to_string(), "max": null }).to_string();
    let (height, hash) = (world.devnet.final_height(), world.devnet.final_hash().to_string());
    let result = serde_json::json!({ "result": bounds.as_bytes(), "logs": [], "block_height": height, "block_hash": hash });
    let body = serde_json::json!({ "jsonrpc": "2.0", "id": "portage", "result": result });
    world.everywhere(&Rule::times(Fault::Answer { code: 200, body }, 1).on(&["query"]));
    let may = port.facts(limits).facts("may register", &records).await;
    assert_eq!(facts(&may[0])[BUDGET], Fact::Flag(true));
    assert_eq!(port.rests_for("storage_deposit", &records[0]), None);
    let kinds: Vec<_> = port.concerns().into_iter().map(|concern| concern.kind).collect();
    assert_eq!(kinds, [""; 0]);
}
