//! A token that cannot be paid: its contract is paused, or the relay has too little of it. No receiver is blamed,
//! nothing is paid twice, a person is told, and what can be paid goes on.
//!
//! Red with a wrong build that blames a receiver for its token or for the relay, that signs under every key
//! after a rest, that lets one large payment hold back small ones, and that knows the end of a pause or a shortage
//! only by a restart.

use super::foreign::pay;
use super::world::{RELAY, SUPPLY, USDC, World, code, words};
use devnet::near::{Fault, Rule, TokenOptions};
use kernel::answer::Answer;
use kernel::ports::chain::Chain;
use kernel::record::Record;
use links::near::{NearChain, TokenCheck};

const DEAD: (&str, bool) = ("dead", false);
const DONE: (&str, bool) = ("done", false);
const REST: u64 = 30_000;

fn kinds(port: &NearChain) -> Vec<&'static str> {
    port.concerns().into_iter().map(|concern| concern.kind).collect()
}

fn rests(port: &NearChain, act: &str, record: &Record) -> Option<u64> {
    port.rests_for(act, record)
}

/// The class of a signature that is refused, and whom it is about.
async fn refused(
    world: &World,
    port: &NearChain,
    members: Vec<Record>,
) -> (&'static str, Option<usize>) {
    let unsigned = port.sign(&world.request(port, members).await).await.unwrap_err();
    (unsigned.cause.class, unsigned.culprit)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_paused_token_blames_no_receiver_and_is_tried_by_one() {
    let world = World::new(2);
    let port = world.port();
    let members = world.members(9);
    let mut attempt = world.pay(&port, members[..5].to_vec()).await;
    let mut other = world.claim_on(&port, 1, members[5..].to_vec()).await;
    world.devnet.set_paused(&world.token, true).unwrap();
    for attempt in [&mut attempt, &mut other] {
        let verdicts = world.see_through(&port, attempt).await;
        assert_eq!(words(&verdicts), vec![DEAD; attempt.members.len()]);
        assert_eq!(code(&verdicts), "TOKEN_PAUSED");
    }
    assert_eq!(kinds(&port), ["TOKEN_PAUSED"]);
    assert_eq!(rests(&port, "ft_transfer", &members[0]), Some(REST), "two failures are one rest");
    assert_eq!(rests(&port, "storage_deposit", &members[0]), None, "registrations go on");
    assert_eq!(refused(&world, &port, members.clone()).await, ("TOKEN_RESTS", None));
    world.clock.forward(REST);
    // one shows that the token is paused still, and the others wait twice as long
    assert_eq!(rests(&port, "ft_transfer", &members[0]), None);
    let mut attempt = world.try_pay(&port, members.clone()).await;
    assert_eq!(attempt.members.len(), 1);
    assert_eq!(refused(&world, &port, members.clone()).await, ("TOKEN_RESTS", None));
    let verdicts = world.see_through(&port, &mut attempt).await;
    assert_eq!((words(&verdicts), code(&verdicts)), (vec![DEAD], "TOKEN_PAUSED".into()));
    let Answer::Dead(why) = &verdicts[0].answer else { unreachable!("{verdicts:?}") };
    let proof = why.doc.as_deref().unwrap_or_default();
    assert!(proof.contains(r#""paused":true"#), "who counts failures reads it: {proof}");
    assert_eq!(rests(&port, "ft_transfer", &members[0]), Some(2 * REST));
    // the contract goes on: one is paid, and then all
    world.devnet.set_paused(&world.token, false).unwrap();
    world.clock.forward(2 * REST);
    let mut attempt = world.try_pay(&port, members.clone()).await;
    assert_eq!(attempt.members.len(), 1);
    assert_eq!(words(&world.see_through(&port, &mut attempt).await), [DONE]);
    assert_eq!((rests(&port, "ft_transfer", &members[0]), kinds(&port)), (None, vec![]));
    let mut attempt = world.try_pay(&port, members[1..].to_vec()).await;
    assert_eq!(words(&world.see_through(&port, &mut attempt).await), [DONE; 8]);
    assert_eq!(world.paid(&members), [1; 9]);
}

/// A contract in trouble that does not say that it is paused. Turns red where its receivers are condemned, where each
/// transfer that waits burns a transaction, and where what it refused in its trouble is held against a receiver later
/// (run: a payment that fails alone is refused where its receiver was registered and the relay had the money).
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_contract_that_refuses_every_account_condemns_no_receiver() {
    let world = World::new(2);
    let port = world.port();
    let members = world.members(5);
    let mut before = world.pay(&port, world.members(1)).await;
    assert_eq!(words(&world.see_through(&port, &mut before).await), [DONE]);
    let words_of_it = "Cannot deserialize the contract state.";
    world.devnet.refuse_every_account(Some(words_of_it));
    let mut batch = world.pay(&port, members.clone()).await;
    let verdicts = world.see_through(&port, &mut batch).await;
    assert_eq!((words(&verdicts)[0], code(&verdicts)), (("dead", true), "SPOILED".into()));
    for (at, member) in members.iter().take(3).enumerate() {
        assert_eq!(rests(&port, "ft_transfer", member), None);
        assert_eq!(kinds(&port), [""; 0], "{at} in a row");
        let mut alone = world.pay(&port, vec![member.clone()]).await;
        assert_eq!(words(&world.see_through(&port, &mut alone).await), [("dead", true)]);
    }
    // three in a row: the token rests, and one of those that wait is tried
    assert_eq!(kinds(&port), ["TOKEN_REFUSES"]);
    assert!(port.concerns()[0].facts.contains(words_of_it), "{:?}", port.concerns());
    let waits = members.iter().map(|member| rests(&port, "ft_transfer", member));
    assert_eq!(waits.collect::<Vec<_>>(), [Some(REST); 5]);
    world.clock.forward(REST);
    let mut probe = world.try_pay(&port, members[3..].to_vec()).await;
    assert_eq!(probe.members.len(), 1);
    assert_eq!(words(&world.see_through(&port, &mut probe).await), [("dead", true)]);
    assert_eq!(rests(&port, "ft_transfer", &members[4]), Some(2 * REST));
    // it is mended: the next try ends the rest
    world.devnet.refuse_every_account(None);
    world.clock.forward(2 * REST);
    let mut probe = world.try_pay(&port, members[4..].to_vec()).await;
    assert_eq!(words(&world.see_through(&port, &mut probe).await), [DONE]);
    assert_eq!(kinds(&port), [""; 0]);
    // it has trouble for a moment again
    world.devnet.refuse_every_account(Some(words_of_it));
    let mut alone = world.pay(&port, members[..1].to_vec()).await;
    assert_eq!(words(&world.see_through(&port, &mut alone).await), [("dead", true)]);
    world.devnet.refuse_every_account(None);
    let mut rest = world.pay(&port, members[..4].to_vec()).await;
    assert_eq!(words(&world.see_through(&port, &mut rest).await), [DONE; 4]);
    assert_eq!(world.paid(&members), [1; 5]);
}

/// Turns red where a registration is held against its receiver though the contract served no other one (run: a
/// registration that fails alone is refused).
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refused_registration_needs_another_one_to_be_held_against_its_receiver() {
    let world = World::new(2);
    let port = world.port();
    let account = |name: &str| world.devnet.create_account(name, 5).unwrap().account;
    let (bad, _good) = (account("bad.devnet"), account("good.devnet"));
    world.devnet.block_account(&bad);
    let register = async |name: &str| {
        let mut attempt = world.claim(&port, "storage_deposit", vec![world.record(name, 1)]).await;
        let verdicts = world.see_through(&port, &mut attempt).await;
        (words(&verdicts)[0], code(&verdicts))
    };
    let refused = |word| ((word, true), "REGISTRATION_REFUSED".to_owned());
    assert_eq!(register("bad.devnet").await, refused("dead"));
    assert_eq!(register("bad.devnet").await, refused("dead"));
    assert_eq!(register("good.devnet").await.0, DONE);
    assert_eq!(register("bad.devnet").await, refused("rejected"));
}

/// A form that replaces an expired one is signed though the token rests: its members have nothing else.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_open_attempt_is_replaced_while_its_token_rests() {
    let world = World::new(2);
    let port = world.port();
    let members = world.members(2);
    world.withhold();
    let mut lost = world.pay(&port, members[..1].to_vec()).await;
    assert_eq!(world.not_yet(&port, &lost).await, "NOT_FOUND");
    world.clear();
    let mut failing = world.claim_on(&port, 1, members[1..].to_vec()).await;
    world.devnet.set_paused(&world.token, true).unwrap();
    world.see_through(&port, &mut failing).await;
    assert!(rests(&port, "ft_transfer", &members[0]).is_some());
    world.devnet.set_paused(&world.token, false).unwrap();
    world.replace(&port, &mut lost).await;
    assert_eq!(words(&world.see_through(&port, &mut lost).await), [DONE]);
    assert_eq!(world.paid(&members[..1]), [1]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_relay_has_not_waits_and_smaller_payments_go_on() {
    let world = World::new(2);
    let port = world.port();
    let rich = |n: u64, amount: u128| world.record(&format!("r{n}.devnet"), amount);
    // two keys sign for the same money, and the first takes it
    let half = SUPPLY / 2 + 100;
    let mut first = world.claim_on(&port, 0, vec![rich(1, half)]).await;
    let both = vec![rich(2, half), rich(3, 1)];
    let mut second = world.claim_on(&port, 1, both.clone()).await;
    assert_eq!(words(&world.see_through(&port, &mut first).await), [DONE]);
    let verdicts = world.see_through(&port, &mut second).await;
    assert_eq!((words(&verdicts), code(&verdicts)), (vec![DEAD; 2], "TREASURY_SHORT".into()));
    assert_eq!(kinds(&port), ["TREASURY_SHORT"]);
    let waits = both.iter().map(|record| rests(&port, "ft_transfer", record));
    assert_eq!(waits.collect::<Vec<_>>(), [Some(REST); 2], "how much is left is not known");
    world.clock.forward(REST);
    // nothing is signed that the relay has not, and only the large one waits for it
    assert_eq!(refused(&world, &port, both.clone()).await, ("TREASURY_SHORT", Some(0)));
    let waits = both.iter().map(|record| rests(&port, "ft_transfer", record));
    assert_eq!(waits.collect::<Vec<_>>(), [Some(REST), None]);
    let mut small = world.try_pay(&port, both[1..].to_vec()).await;
    assert_eq!(words(&world.see_through(&port, &mut small).await), [DONE]);
    assert_eq!(kinds(&port), ["TREASURY_SHORT"], "one that is paid tells nothing of the other");
    // the account is filled: the next try closes it
    world.devnet.mint(&world.token, &[(RELAY.parse().unwrap(), half)]).unwrap();
    world.clock.forward(REST);
    assert_eq!(rests(&port, "ft_transfer", &both[0]), None);
    let mut large = world.try_pay(&port, both[..1].to_vec()).await;
    assert_eq!(kinds(&port), [""; 0]);
    assert_eq!(words(&world.see_through(&port, &mut large).await), [DONE]);
    assert_eq!(world.paid(&both), [1; 2]);
}

/// Turns red where a payment that failed for the money is held against its receiver, since the account had it before
/// that block and after (run: without the token's own words).
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_top_up_in_the_block_of_a_shortage_blames_no_receiver() {
    let world = World::new(2);
    let port = world.port();
    let rich = world.devnet.create_account("rich.devnet", 10).unwrap();
    world.devnet.register(&world.token, std::slice::from_ref(&rich.account)).unwrap();
    world.devnet.mint(&world.token, &[(rich.account.clone(), SUPPLY)]).unwrap();
    let half = SUPPLY / 2;
    let mut drains = world.claim_on(&port, 1, vec![world.record("r2.devnet", half + 1)]).await;
    let mut alone = world.claim_on(&port, 0, vec![world.record("r1.devnet", half)]).await;
    for attempt in [&drains, &alone] {
        assert_eq!(port.broadcast(std::slice::from_ref(attempt)).await, [Ok(())]);
    }
    let (base, key) = (world.devnet.final_hash(), rich.public_key());
    let nonce = world.devnet.nonce(&rich.account, &key).unwrap() + 1;
    let top_up = vec![pay(RELAY, &half.to_string(), "")];
    world.devnet.submit(rich.sign(nonce, base, &world.token, top_up));
    world.devnet.settle();
    assert_eq!(words(&world.see_through(&port, &mut drains).await), [DONE]);
    let verdicts = world.see_through(&port, &mut alone).await;
    assert_eq!((words(&verdicts), code(&verdicts)), (vec![DEAD], "TREASURY_SHORT".into()));
}

/// A token that is paused keeps no other one of the pool back.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn other_tokens_of_the_pool_go_on() {
    let world = World::new(2);
    let (other, port) = world.with_second_token();
    let members = world.members(2);
    let mut attempt = world.pay(&port, members.clone()).await;
    world.devnet.set_paused(&world.token, true).unwrap();
    assert_eq!(words(&world.see_through(&port, &mut attempt).await), [DEAD; 2]);
    let second = world.record_of(other, "r1.devnet", 10);
    assert!(rests(&port, "ft_transfer", &members[0]).is_some());
    assert_eq!((USDC == other, rests(&port, "ft_transfer", &second)), (false, None));
    let mut attempt = world.pay(&port, vec![second]).await;
    assert_eq!(words(&world.see_through(&port, &mut attempt).await), [DONE]);
    assert_eq!(kinds(&port), ["TOKEN_PAUSED"]);
}

/// Turns red where a contract that is deleted behind the start's check is told of by nothing but payments that wait,
/// where such a failure alone is taken for the fact, and where one that is there again is not seen.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_contract_that_is_deleted_later_is_told_of() {
    for signed_before in [true, false] {
        let world = World::new(2);
        let port = world.port();
        assert_eq!(port.check_tokens().await, TokenCheck::Fits);
        let members = world.members(2);
        if signed_before {
            let mut attempt = world.pay(&port, members.clone()).await;
            world.devnet.delete_account(&world.token).unwrap();
            let verdicts = world.see_through(&port, &mut attempt).await;
            let dead = words(&verdicts).iter().all(|(word, _)| *word == "dead");
            assert!(dead, "no receiver is blamed: {verdicts:?}");
        } else {
            world.devnet.delete_account(&world.token).unwrap();
            let _why = refused(&world, &port, members.clone()).await;
        }
        assert!(!kinds(&port).contains(&"TOKEN_CONTRACT_INVALID"));
        // who does not answer says nothing: the next failure asks again
        world.everywhere(&Rule::always(Fault::Refuse).on(&["query"]));
        assert_eq!(port.check_tokens().await, TokenCheck::Fits);
        world.clear();
        world.clock.forward(60_000);
        let _why = refused(&world, &port, members.clone()).await;
        let TokenCheck::Unfit(why) = port.check_tokens().await else { unreachable!("it fits") };
        assert!(why.contains("the chain has no account usdc.devnet"), "{why}");
        assert!(kinds(&port).contains(&"TOKEN_CONTRACT_INVALID"));
        drop(world.devnet.deploy_token("usdc.devnet", &TokenOptions::default()).unwrap());
        assert_eq!(port.check_tokens().await, TokenCheck::Fits);
        assert!(!kinds(&port).contains(&"TOKEN_CONTRACT_INVALID"));
    }
}
