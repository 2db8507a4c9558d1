//! The schedules by which the relay once paid twice, stranded or failed payments: by the binary, with three providers.
//! `docs/proof/wrong-builds.md` lists them.

use super::super::relay_chain::LocalChain;
use super::super::relay_foreign::{keep, set_back};
use super::super::{Served, eventually, listens, portage, process, said};
use super::{
    RELAY, cases, completed, pause, pauses, pays_to, reads, status, taken_in, told, unpause,
};
use devnet::near::near_primitives::action::{Action, FunctionCallAction};
use devnet::near::near_primitives::types::{Balance, Gas};
use devnet::near::{Edit, Fault, Lie, Rule, Wallet};
use serde_json::json;
use std::collections::BTreeSet;
use std::time::Duration;
use tempfile::TempDir;
use testbed::{Database, Listening};

const KEYS: &str = "RELAY_ACCESS_KEYS";
/// What callers of Spot show.
const WORD: &str = "a-word-that-workers-and-spot-share-in-tests";

fn three() -> LocalChain {
    LocalChain::of_providers(3)
}

fn queued(served: &Served, keys: &[&str]) {
    let waits = |key: &&str| status(served, key) == "QUEUED_TRANSFER";
    eventually("they wait", || keys.iter().all(waits));
}

/// Another program with a key pays these transfers in one transaction.
fn pays_elsewhere(chain: &LocalChain, key: &Wallet, ids: &[String]) {
    let call = |id: &String| {
        let args = json!({ "receiver_id": "alice.devnet", "amount": "7", "memo": id });
        Action::FunctionCall(Box::new(FunctionCallAction {
            method_name: "ft_transfer".to_owned(),
            args: args.to_string().into_bytes(),
            gas: Gas::from_teragas(10),
            deposit: Balance::from_yoctonear(1),
        }))
    };
    let calls = ids.iter().map(call).collect();
    chain.devnet.run(key, &chain.token, calls).expect("it is paid");
}

/// No provider shows blocks by their height: what another program did stays unexplained.
fn hides_blocks(chain: &LocalChain) {
    let name = "UNKNOWN_BLOCK".to_owned();
    chain.everywhere(&Rule::always(Lie::Refused { name }).on(&["block height"]));
}

/// The chain paid this number of transfers, and none of them twice.
fn paid_once(chain: &LocalChain, transfers: usize) {
    let memos: Vec<String> = chain.payments().into_iter().map(|(memo, _)| memo).collect();
    let each: BTreeSet<&String> = memos.iter().collect();
    assert_eq!((memos.len(), each.len()), (transfers, transfers), "{memos:?}");
}

fn stays_so(seconds: u64) {
    std::thread::sleep(Duration::from_secs(seconds));
}

/// What servers share: a database, and a Spot that is served by itself.
struct Fleet {
    database: Database,
    spot: Listening,
    _dir: TempDir,
}

impl Fleet {
    fn given() -> Self {
        let database = Database::given().expect("a database");
        let dir = tempfile::tempdir().expect("a folder");
        let token = [("PORTAGE_SPOT__TOKEN".to_owned(), WORD.to_owned())];
        let spot = listens(&["spot", "serve"], dir.path(), &token);
        Self { database, spot: spot.unwrap_or_else(|why| panic!("{why}")), _dir: dir }
    }

    /// A server with workers, and with one key of the chain.
    fn worker(&self, chain: &LocalChain, key: &Wallet) -> Served {
        let more = [
            (KEYS, &*key.key.to_string()),
            ("DATABASE_URL", self.database.url()),
            ("PORTAGE_ENGINE__LEASE_SECONDS", "5"),
            ("PORTAGE_LEDGERS__SPOT__KIND", "remote"),
            ("PORTAGE_LEDGERS__SPOT__URL", &self.spot.url),
            ("PORTAGE_LEDGERS__SPOT__TOKEN", WORD),
            ("PORTAGE_AUTH__HS256_SECRET", "a secret for tests that share workers, long enough"),
            ("PORTAGE_AUDIT__MAC_SECRET", "a secret for tests that share workers, long enough"),
        ];
        chain.served_in(tempfile::tempdir().expect("a folder"), &more)
    }
}

/// F1. Turns red where a worker lifts the stop of a chain for a key that it does not have.
#[test]
fn f1_a_worker_without_the_key_lifts_no_stop() {
    let chain = three();
    let fleet = Fleet::given();
    let first = fleet.worker(&chain, &chain.keys[0]);
    taken_in(&first, "k-1");
    completed(&first, &["k-1"]);
    let second = fleet.worker(&chain, &chain.keys[1]);
    pause(&first);
    let waiting = ["k-2", "k-3", "k-4", "k-5"];
    let ids = waiting.map(|key| taken_in(&first, key));
    queued(&first, &waiting);
    hides_blocks(&chain);
    pays_elsewhere(&chain, &chain.keys[0], &ids);
    unpause(&first);
    eventually("the chain is stopped", || told(&first, "LANE_AHEAD"));
    stays_so(10);
    assert!(!pauses(&second, false).is_empty(), "the stop is over: {:?}", cases(&second));
    paid_once(&chain, 5);
    chain.forgets_rules();
    completed(&first, &waiting);
    eventually("the stop is over", || pauses(&first, false).is_empty());
    taken_in(&second, "k-6");
    completed(&second, &["k-6"]);
    paid_once(&chain, 6);
}

/// F1. Turns red where a stop is over once no worker's settings have its key any more, and where a worker without the key
/// does not read what it did.
#[test]
fn f1_a_stop_outlives_the_key_in_the_settings() {
    let chain = three();
    let fleet = Fleet::given();
    let mut first = fleet.worker(&chain, &chain.keys[0]);
    taken_in(&first, "k-1");
    completed(&first, &["k-1"]);
    let mut second = fleet.worker(&chain, &chain.keys[1]);
    pause(&first);
    let waiting = ["k-2", "k-3"];
    let ids = waiting.map(|key| taken_in(&first, key));
    queued(&first, &waiting);
    hides_blocks(&chain);
    pays_elsewhere(&chain, &chain.keys[0], &ids);
    unpause(&first);
    eventually("the chain is stopped", || told(&first, "LANE_AHEAD"));
    has_keys(&mut first, &chain.keys[1].key.to_string());
    first.again(|_| ());
    second.again(|_| ());
    stays_so(10);
    assert!(!pauses(&second, false).is_empty(), "the stop is over: {:?}", cases(&second));
    paid_once(&chain, 3);
    chain.forgets_rules();
    completed(&second, &waiting);
    eventually("the stop is over", || pauses(&second, false).is_empty());
    taken_in(&second, "k-4");
    completed(&second, &["k-4"]);
    paid_once(&chain, 4);
}

fn has_keys(served: &mut Served, keys: &str) {
    for setting in served.settings.iter_mut().filter(|setting| setting.0 == KEYS) {
        keys.clone_into(&mut setting.1);
    }
}

/// F2. Turns red where a key that was used after the backup, and has no row in it, begins behind what it did.
#[test]
fn f2_a_key_that_a_restored_journal_never_saw_is_compared_first() {
    let chain = three();
    let mut served = chain.served(1);
    taken_in(&served, "k-1");
    completed(&served, &["k-1"]);
    pause(&served);
    let waiting = ["k-2", "k-3", "k-4"];
    waiting.iter().for_each(|key| drop(taken_in(&served, key)));
    queued(&served, &waiting);
    served.again(keep);
    has_keys(&mut served, &chain.keys[1].key.to_string());
    served.again(|_| ());
    unpause(&served);
    completed(&served, &waiting);
    has_keys(&mut served, &chain.access_keys(2));
    served.again(set_back);
    completed(&served, &waiting);
    unpause(&served);
    taken_in(&served, "k-5");
    completed(&served, &["k-5"]);
    paid_once(&chain, 5);
}

/// F3. Turns red where one payment to a transfer that the journal has lost throws away what the transaction proves of the
/// others, and where a client that repeats a lost key is paid again.
#[test]
fn f3_a_transaction_is_judged_payment_by_payment() {
    let chain = three();
    let mut served = chain.served(1);
    taken_in(&served, "k-1");
    completed(&served, &["k-1"]);
    pause(&served);
    let mut ids = vec![taken_in(&served, "k-2"), taken_in(&served, "k-3")];
    queued(&served, &["k-2", "k-3"]);
    served.again(keep);
    ids.extend([taken_in(&served, "k-4"), taken_in(&served, "k-5")]);
    queued(&served, &["k-4", "k-5"]);
    pays_elsewhere(&chain, &chain.keys[0], &ids);
    served.again(set_back);
    completed(&served, &["k-2", "k-3"]);
    eventually("a person is asked", || {
        let of = |case: &(String, String)| ids[2..].iter().all(|id| case.1.contains(id));
        cases(&served).iter().any(|case| case.0 == "FOREIGN_PAYMENT" && of(case))
    });
    // the clients of what was lost ask again, and two persons let the chain go on
    taken_in(&served, "k-4");
    taken_in(&served, "k-5");
    let stops = pauses(&served, false);
    let [stop] = &stops[..] else { panic!("one stop: {:?}", cases(&served)) };
    two_persons(&served, &["unpause", stop]);
    unpause(&served);
    completed(&served, &["k-4", "k-5"]);
    paid_once(&chain, 5);
}

/// One person proposes, and another one approves; what the second one is told.
fn two_persons(served: &Served, words: &[&str]) -> String {
    let by = |who: &str, words: &[&str]| {
        let more = ["--as", who, "--reason", "ticket 4711"];
        said(&served.run(&[&["ops"], words, &more].concat()))
    };
    let (code, text) = by("ada", words);
    assert_eq!(code, Some(75), "{text}");
    let pending = served.json(&["ops", "approvals", "--status", "PENDING"]);
    let approval = pending["approvals"][0]["id"].as_str().expect("an id").to_owned();
    let (code, text) = by("bob", &["approve", &approval]);
    assert_eq!(code, Some(0), "{text}");
    text
}

/// F4. Turns red where providers that are behind what the journal has stored show a key as level: the stop would be
/// lifted, and what was paid elsewhere paid again.
#[test]
fn f4_a_view_that_is_behind_lifts_no_stop() {
    let chain = three();
    let served = chain.served(1);
    taken_in(&served, "k-1");
    completed(&served, &["k-1"]);
    pause(&served);
    let waiting = ["k-2", "k-3"];
    let ids = waiting.map(|key| taken_in(&served, key));
    queued(&served, &waiting);
    hides_blocks(&chain);
    let before = chain.devnet.height();
    pays_elsewhere(&chain, &chain.keys[0], &ids);
    eventually("the chain is stopped", || told(&served, "LANE_AHEAD"));
    unpause(&served);
    // each provider answers from a replica that stands where the key was still level
    chain.forgets_rules();
    for _ in 0..20 {
        let blocks = chain.devnet.height().saturating_sub(before) + 1;
        chain.forgets_rules();
        chain.everywhere(&Rule::always(Fault::Stale { blocks }));
        std::thread::sleep(Duration::from_millis(500));
        assert!(!pauses(&served, false).is_empty(), "the stop is over");
    }
    chain.forgets_rules();
    completed(&served, &waiting);
    taken_in(&served, "k-4");
    completed(&served, &["k-4"]);
    paid_once(&chain, 4);
}

/// F5. Turns red where a wallet that takes the nonce of an open attempt strands its members, or stops the relay.
#[test]
fn f5_a_wallet_that_takes_the_nonce_of_an_open_attempt_strands_nothing() {
    let chain = three();
    let served = chain.served(1);
    taken_in(&served, "k-1");
    completed(&served, &["k-1"]);
    chain.everywhere(&Rule::always(Fault::Withhold).on(&["send_tx"]));
    taken_in(&served, "k-2");
    taken_in(&served, "k-3");
    eventually("it is sent", || status(&served, "k-2") == "QUEUED_VERIFICATION");
    // the nonce of the attempt, and the one behind it
    for _ in 0..2 {
        chain.devnet.wallet_signs(&chain.keys[0]).expect("the key is there");
        stays_so(1);
    }
    chain.forgets_rules();
    completed(&served, &["k-2", "k-3"]);
    chain.devnet.release();
    eventually("every case is over", || cases(&served).is_empty());
    assert_eq!(pauses(&served, false), [""; 0]);
    paid_once(&chain, 3);
}

/// F5. Turns red where an attempt waits for ever whose key no worker has any more and whose nonce a wallet took, and where
/// a member that the wallet paid is paid again.
#[test]
fn f5_a_wallet_takes_the_nonce_of_an_attempt_whose_key_is_taken_out() {
    let chain = three();
    let fleet = Fleet::given();
    let mut first = fleet.worker(&chain, &chain.keys[0]);
    taken_in(&first, "k-1");
    completed(&first, &["k-1"]);
    let second = fleet.worker(&chain, &chain.keys[1]);
    chain.everywhere(&Rule::always(Fault::Withhold).on(&["send_tx"]));
    let ids = ["k-2", "k-3"].map(|key| taken_in(&first, key));
    eventually("it is sent", || status(&first, "k-2") == "QUEUED_VERIFICATION");
    pays_elsewhere(&chain, &chain.keys[0], &ids[..1]);
    has_keys(&mut first, &chain.keys[1].key.to_string());
    first.again(|_| ());
    chain.forgets_rules();
    chain.devnet.release();
    completed(&second, &["k-2", "k-3"]);
    eventually("every case is over", || cases(&second).is_empty());
    assert_eq!(pauses(&second, false), [""; 0]);
    paid_once(&chain, 3);
}

/// F5. Turns red where a person's word ends an attempt of which no provider shows any more what spent its nonce, and where
/// two that keep the blocks, named later, do not.
#[test]
fn f5_blocks_that_no_provider_keeps_are_shown_by_two_that_are_named_later() {
    let chain = LocalChain::of_providers(4);
    let urls = chain.devnet.urls();
    let (few, all) = (urls[..2].join(","), urls.join(","));
    let keys = chain.access_keys(1);
    let more = [(KEYS, &*keys), ("NEAR_RPC_URL", &*few)];
    let mut served = chain.served_in(tempfile::tempdir().expect("a folder"), &more);
    taken_in(&served, "k-1");
    completed(&served, &["k-1"]);
    chain.everywhere(&Rule::always(Fault::Withhold).on(&["send_tx"]));
    let id = taken_in(&served, "k-2");
    eventually("it is sent", || status(&served, "k-2") == "QUEUED_VERIFICATION");
    chain.devnet.wallet_signs(&chain.keys[0]).expect("the key is there");
    chain.forgets_rules();
    let forgets = Lie::Refused { name: "UNKNOWN_BLOCK".to_owned() };
    for at in 0..2 {
        let provider = chain.devnet.endpoint(at).expect("a provider");
        provider.add(Rule::always(forgets.clone()).on(&["block height", "chunk"]));
    }
    eventually("a person is told why", || {
        cases(&served).iter().any(|case| case.0 == "LOCK_SPENT" && case.1.contains("UNKNOWN_BLOCK"))
    });
    for answer in ["rejected", "dead", "done"] {
        let words = ["ops", "resolve", &id, "--answer", answer, "--evidence", "ticket=4711"];
        let (code, text) = said(&served.run(&[&words[..], &["--reason", "a test"]].concat()));
        assert!(code != Some(0) && text.contains("NOT_POSSIBLE"), "{text}");
    }
    assert_eq!(status(&served, "k-2"), "QUEUED_VERIFICATION");
    for setting in served.settings.iter_mut().filter(|setting| setting.1 == few) {
        all.clone_into(&mut setting.1);
    }
    served.again(|_| ());
    completed(&served, &["k-2"]);
    eventually("every case is over", || cases(&served).is_empty());
    chain.devnet.release();
    paid_once(&chain, 2);
}

/// F7. Turns red where a receiver is condemned though no other one was paid since (run: three refusals of a receiver that
/// was alone condemn it), where it waits without a case that names it, and where two persons cannot end it.
#[test]
fn f7_a_receiver_is_condemned_only_beside_another_payment() {
    let chain = three();
    let bob = blocked(&chain);
    let keys = chain.access_keys(1);
    let more = [(KEYS, &*keys), ("PORTAGE_ALERTS__AFTER_SECONDS", "5")];
    let served = chain.served_in(tempfile::tempdir().expect("a folder"), &more);
    let (code, body) = pays_to(&served, bob, "k-1");
    assert_eq!(code, 201, "{body}");
    let id = body["req_id"].as_str().expect("an id");
    eventually("it is refused three times", || refusals(&served, "k-1") >= 3);
    // between two tries it stands in another state for a moment; it is not over
    queued(&served, &["k-1"]);
    eventually("a person is told which", || {
        cases(&served).iter().any(|case| case.0 == "CHAIN_BACKLOG" && case.1.contains(id))
    });
    let words = ["resolve", id, "--answer", "rejected", "--evidence", "ticket=4711"];
    assert!(two_persons(&served, &words).contains("NEVER_SENT"));
    let ended = reads(&served, "payouts", "k-1").1;
    assert!(ended["error_message"].to_string().contains("CANCELLED"), "{ended}");
    // beside another payment it is decided
    assert_eq!(pays_to(&served, bob, "k-2").0, 201);
    taken_in(&served, "k-3");
    completed(&served, &["k-3"]);
    refused_for_good(&served, "k-2");
    eventually("the case is over", || !told(&served, "CHAIN_BACKLOG"));
    paid_once(&chain, 1);
}

/// A receiver that the contract refuses, which exists and is registered.
fn blocked(chain: &LocalChain) -> &'static str {
    let bob = chain.devnet.create_account("bob.devnet", 10).expect("an account").account;
    chain.devnet.register(&chain.token, std::slice::from_ref(&bob)).expect("it is registered");
    chain.devnet.block_account(&bob);
    "bob.devnet"
}

/// The errors in the history of the payment under a key.
fn errors(served: &Served, key: &str) -> Vec<String> {
    let events = reads(served, "payouts", key).1["events"].clone();
    let events = events.as_array().expect("events").iter();
    events.filter_map(|event| event["error_type"].as_str().map(str::to_owned)).collect()
}

/// The number of times that the contract refused the receiver of this payment.
fn refusals(served: &Served, key: &str) -> usize {
    errors(served, key).iter().filter(|error| *error == "RECEIVER_REFUSED").count()
}

fn refused_for_good(served: &Served, key: &str) {
    eventually("it is refused for good", || status(served, key) == "FAILED");
    let ended = reads(served, "payouts", key).1;
    assert!(ended["error_message"].to_string().contains("RECEIVER_REFUSED"), "{ended}");
}

/// F7. Turns red where a worker knows only of the payments that it proved itself: a receiver that the contract refuses is
/// never condemned where all others are another worker's.
#[test]
fn f7_a_payment_of_another_worker_condemns_a_receiver() {
    let chain = three();
    let fleet = Fleet::given();
    let [first, second] = [0, 1].map(|key| fleet.worker(&chain, &chain.keys[key]));
    taken_in(&first, "k-1");
    completed(&first, &["k-1"]);
    assert_eq!(pays_to(&first, blocked(&chain), "k-2").0, 201);
    eventually("it is refused", || refusals(&first, "k-2") >= 1);
    taken_in(&second, "k-3");
    completed(&second, &["k-3"]);
    refused_for_good(&first, "k-2");
    paid_once(&chain, 2);
}

/// F7. Turns red where a process that is started anew forgets what the contract refused and carried out before.
#[test]
fn f7_what_condemns_a_receiver_outlives_the_process() {
    let chain = three();
    let mut served = chain.served(1);
    assert_eq!(pays_to(&served, blocked(&chain), "k-1").0, 201);
    // the pause behind the second refusal is longer than a start takes
    eventually("it is refused twice", || refusals(&served, "k-1") >= 2);
    taken_in(&served, "k-2");
    completed(&served, &["k-2"]);
    served.again(|_| ());
    refused_for_good(&served, "k-1");
    paid_once(&chain, 1);
}

/// F8, F9, F11. Turns red where one of three providers that hides logs, shows another price of a registration, or makes up
/// its final block stops the chain, or fails or hinders a transfer. Each process asks for the price once, and the lowest
/// final block is the one that is asked after first.
#[test]
fn f8_f9_f11_one_of_three_that_lies_hinders_nothing() {
    let chain = three();
    let mut served = chain.served(2);
    let edited = |edits: Vec<Edit>| Fault::Edited { edits };
    let price = json!(br#"{"min":"1","max":"1"}"#.as_slice());
    let bounds = "query call_function storage_balance_bounds";
    let made_up = json!("11111111111111111111111111111112");
    let lies = [
        Rule::always(Lie::Silent),
        Rule::always(edited(vec![Edit::set("/result", price)])).on(&[bounds]),
        Rule::always(edited(vec![
            Edit::set("/header/hash", made_up),
            Edit::add("/header/height", -3),
        ]))
        .on(&["block final"]),
    ];
    for (n, lie) in lies.into_iter().enumerate() {
        for at in 0..3 {
            let receiver = format!("new{n}{at}.devnet");
            chain.devnet.create_account(&receiver, 10).expect("a new receiver");
            let liar = chain.devnet.endpoint(at).expect("a provider");
            liar.add(lie.clone());
            served.again(|_| ());
            let keys = [format!("new-{n}-{at}"), format!("k-{n}-{at}")];
            assert_eq!(pays_to(&served, &receiver, &keys[0]).0, 201);
            taken_in(&served, &keys[1]);
            completed(&served, &[&keys[0], &keys[1]]);
            for key in &keys {
                assert_eq!(errors(&served, key), [""; 0], "{lie:?} of {at}");
            }
            assert_eq!(served.json(&["ops", "pauses"])["pauses"], json!([]), "{lie:?} of {at}");
            liar.clear();
        }
    }
    paid_once(&chain, 18);
}

/// F12. Turns red where a batch that was paid stays open since what the token calls behind it failed.
#[test]
fn f12_what_fails_behind_the_payments_takes_none_back() {
    let chain = three();
    chain.devnet.fail_behind_transfers();
    let served = chain.served(1);
    let keys = ["k-1", "k-2", "k-3"];
    keys.iter().for_each(|key| drop(taken_in(&served, key)));
    completed(&served, &keys);
    eventually("a person looks at it", || told(&served, "EVENTS_SURPLUS"));
    paid_once(&chain, 3);
}

/// F13. Turns red where the settings that people paste into tickets show the key that a provider's address has.
#[test]
fn f13_addresses_of_providers_are_shown_up_to_the_port() {
    let dir = tempfile::tempdir().expect("a folder");
    let url = ("NEAR_RPC_URL", "https://rpc.example/v1/canary?key=canary");
    let settings = process::settings(&[&RELAY[..], &[url]].concat());
    let (code, text) = said(&portage(dir.path(), &settings).arg("config").output().unwrap());
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("rpc.example") && !text.contains("canary"), "{text}");
}
