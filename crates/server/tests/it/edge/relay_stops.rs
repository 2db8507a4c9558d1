//! What keeps the relay by the binary from paying: a token that is paused, an account with too little of it, a
//! chain that is stopped. Nothing is lost or failed for it, a person is told, and all else goes on.

use super::account_transfers::{balance, opens, runs};
use super::relay::{pays_amount, pays_to, reads, told};
use super::relay_chain::LocalChain;
use super::{Served, USER, asked, eventually, said, transfer};
use devnet::near::near_primitives::action::{Action, FunctionCallAction};
use devnet::near::near_primitives::types::{Balance, Gas};
use devnet::near::{Lie, Rule};
use serde_json::{Value, json};

/// The id of a transfer that was never opened here.
const UNKNOWN: &str = "01M8A43T77DP9RF15Z12N0RAZP";

fn status(served: &Served, key: &str) -> String {
    reads(served, "payouts", key).1["status"].to_string()
}

fn completed(served: &Served, keys: &[&str]) -> bool {
    keys.iter().all(|key| status(served, key) == "\"COMPLETED\"")
}

/// Turns red where a paused token fails a transfer, stops intake, or burns gas under each key; where a payment that is
/// too large holds smaller ones back; and where either case is closed by a person only.
#[test]
fn a_paused_token_and_a_short_account_fail_no_transfer() {
    let chain = LocalChain::start();
    let served = chain.served(2);
    assert_eq!(pays_to(&served, "alice.devnet", "k-1").0, 201);
    eventually("the first is paid", || completed(&served, &["k-1"]));
    chain.devnet.set_paused(&chain.token, true).expect("a pause");
    assert_eq!(pays_to(&served, "alice.devnet", "k-2").0, 201);
    eventually("a person is told", || told(&served, "TOKEN_PAUSED"));
    // it is taken in all the same
    for key in ["k-3", "k-4"] {
        assert_eq!(pays_to(&served, "alice.devnet", key).0, 201);
    }
    eventually("it waits", || status(&served, "k-4") == "\"QUEUED_TRANSFER\"");
    assert_eq!(chain.payments().len(), 1);
    chain.devnet.set_paused(&chain.token, false).expect("its end");
    eventually("all are paid", || completed(&served, &["k-2", "k-3", "k-4"]));
    eventually("the case is closed", || !told(&served, "TOKEN_PAUSED"));

    let (code, body) = pays_amount(&served, "alice.devnet", "k-5", "2000000");
    assert_eq!(code, 201, "{body}");
    eventually("a person is told", || told(&served, "TREASURY_SHORT"));
    assert_eq!(pays_to(&served, "alice.devnet", "k-6").0, 201);
    eventually("a smaller one is paid", || completed(&served, &["k-6"]));
    assert_eq!(status(&served, "k-5"), "\"QUEUED_TRANSFER\"");
    let relay = chain.keys[0].account.clone();
    chain.devnet.mint(&chain.token, &[(relay, 2_000_000)]).expect("tokens");
    eventually("the large one is paid", || completed(&served, &["k-5"]));
    eventually("the case is closed", || !told(&served, "TREASURY_SHORT"));
    let mut memos: Vec<String> = chain.payments().into_iter().map(|(memo, _)| memo).collect();
    memos.sort();
    memos.dedup();
    assert_eq!((memos.len(), chain.payments().len()), (6, 6), "each is paid once");
    let (code, text) = said(&served.run(&["check"]));
    assert_eq!(code, Some(0), "{text}");
}

/// Turns red where a chain that is stopped stops a flow that is not its own, or what is asked of the relay.
#[test]
fn a_stopped_chain_leaves_intake_and_other_flows_going() {
    let chain = LocalChain::start();
    let served = chain.served(1);
    assert_eq!(pays_to(&served, "alice.devnet", "k-1").0, 201);
    eventually("the first is paid", || completed(&served, &["k-1"]));
    // the key is used elsewhere, in the name of a transfer that the journal does not know
    let args = json!({ "receiver_id": "alice.devnet", "amount": "1", "memo": UNKNOWN });
    let call = Action::FunctionCall(Box::new(FunctionCallAction {
        method_name: "ft_transfer".to_owned(),
        args: args.to_string().into_bytes(),
        gas: Gas::from_teragas(10),
        deposit: Balance::from_yoctonear(1),
    }));
    chain.devnet.run(&chain.keys[0], &chain.token, vec![call]).expect("it is sent");
    assert_eq!(pays_to(&served, "alice.devnet", "k-2").0, 201);
    eventually("the chain is stopped", || told(&served, "FOREIGN_PAYMENT"));
    let pauses = served.json(&["ops", "pauses"]).to_string();
    assert!(pauses.contains("engine"), "{pauses}");

    assert_eq!(pays_to(&served, "alice.devnet", "k-3").0, 201, "it is taken in");
    others_go_on(&served);
    eventually("it waits", || status(&served, "k-3") == "\"QUEUED_TRANSFER\"");
    assert_eq!(status(&served, "k-2"), "\"QUEUED_TRANSFER\"");
    let ours = chain.payments().into_iter().filter(|(memo, _)| memo != UNKNOWN);
    assert_eq!(ours.count(), 1);
    assert!(told(&served, "FOREIGN_PAYMENT"));
    two_persons_end(&served, "FOREIGN_PAYMENT", UNKNOWN);
    eventually("they are paid", || completed(&served, &["k-2", "k-3"]));
    eventually("the case is closed", || !told(&served, "FOREIGN_PAYMENT"));
}

/// Turns red where a transaction that shows no payment counts as paid, or its members are paid again; and where it
/// stops a flow that is not of its chain.
#[test]
fn a_transaction_that_shows_no_payment_stops_its_chain_only() {
    let chain = LocalChain::start();
    let served = chain.served(1);
    assert_eq!(pays_to(&served, "alice.devnet", "k-1").0, 201);
    eventually("the first is paid", || completed(&served, &["k-1"]));
    chain.everywhere(&Rule::always(Lie::Silent));
    assert_eq!(pays_to(&served, "alice.devnet", "k-2").0, 201);
    eventually("the chain is stopped", || told(&served, "EVENTS_MISMATCH"));
    assert_eq!(pays_to(&served, "alice.devnet", "k-3").0, 201, "it is taken in");
    others_go_on(&served);
    eventually("it waits", || status(&served, "k-3") == "\"QUEUED_TRANSFER\"");
    assert!(!completed(&served, &["k-2"]));
    assert_eq!(chain.payments().len(), 2, "the second is paid, whatever is shown");
    chain.forgets_rules();
    two_persons_end(&served, "EVENTS_MISMATCH", "1 payments were signed");
    eventually("both end", || completed(&served, &["k-2", "k-3"]));
    eventually("the case is closed", || !told(&served, "EVENTS_MISMATCH"));
    assert_eq!(chain.payments().len(), 3, "each is paid once");
}

/// Transfers that no chain carries are opened, and end.
fn others_go_on(served: &Served) {
    served.fund("4001", "10");
    let token = served.token("4001", USER);
    // the same again says what it is now
    eventually("an internal transfer ends", || {
        let reply = asked(&mut served.connect(), &transfer(&token, "c-1"));
        reply.is_some_and(|reply| reply.page.contains("COMMITTED"))
    });
    for (number, owner) in [("ACC-1", 4001), ("ACC-2", 4002)] {
        runs(served, &format!("open {number} --owner {owner} --currency USDT --reason contract"));
    }
    runs(served, "deposit ACC-1 --currency USDT --amount 5 --ref wire-1");
    assert!(opens(served, &token, 1));
    eventually("an account transfer ends", || balance(served, "ACC-2") == "1.000000");
}

/// One person proposes to end the engine's pause of that reason, and another one approves.
fn two_persons_end(served: &Served, kind: &str, reason: &str) {
    let pauses = served.json(&["ops", "pauses"]);
    let of_engine =
        |pause: &&Value| pause["by"] == "engine" && pause["reason"].to_string().contains(reason);
    let pause = pauses["pauses"].as_array().expect("pauses").iter().find(of_engine);
    let id = pause.unwrap_or_else(|| panic!("{pauses}"))["id"].to_string();
    let by = |who: &str, words: &[&str]| {
        let more = ["--as", who, "--reason", "compared with the chain, ticket 4711"];
        said(&served.run(&[&["ops"], words, &more].concat()))
    };
    let (code, text) = by("ada", &["unpause", id.trim_matches('"')]);
    assert_eq!(code, Some(75), "{text}");
    assert!(text.contains("PROPOSED"), "{text}");
    let approvals = served.json(&["ops", "approvals", "--status", "PENDING"]);
    let proposal = &approvals["approvals"][0];
    assert_eq!(
        (&proposal["kind"], &proposal["value"]["chain"]),
        (&json!("UNPAUSE"), &json!("NEAR"))
    );
    assert!(proposal["value"]["stop"].to_string().contains(kind), "{proposal}");
    let approval = proposal["id"].as_str().expect("an id").to_owned();
    let (code, text) = by("ada", &["approve", &approval]);
    assert_ne!(code, Some(0), "{text}");
    assert_eq!(served.json(&["ops", "pauses"]), pauses, "one person was enough");
    let (code, text) = by("bob", &["approve", &approval]);
    assert_eq!(code, Some(0), "{text}");
}
