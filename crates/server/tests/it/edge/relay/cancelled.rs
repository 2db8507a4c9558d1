//! A payment that can never be made, ended by two persons through the command line: by the binary, on a local chain.

use super::super::relay_chain::LocalChain;
use super::super::{Served, eventually, said};
use super::{pays_amount, pays_to, reads, status, told};
use devnet::near::{Fault, Rule};
use serde_json::json;

/// The id of the one transfer in a state.
fn id_in(served: &Served, state: &str) -> String {
    let found = served.json(&[
        "ops",
        "find",
        "--flow",
        "relay",
        "--receiver",
        "alice.devnet",
        "--state",
        state,
    ]);
    let transfers = found["transfers"].as_array().expect("transfers");
    assert_eq!(transfers.len(), 1, "{found}");
    let id = transfers[0]["req_id"].as_str().expect("an id").to_owned();
    let shown = served.json(&["ops", "show", &id]);
    assert_eq!(
        (&shown["receiver"], &shown["token_contract"]),
        (&json!("alice.devnet"), &json!("usdc.devnet")),
        "{shown}"
    );
    let other = ["ops", "find", "--flow", "relay", "--receiver", "bob.devnet"];
    assert_eq!(served.json(&other)["transfers"], json!([]));
    id
}

fn by(served: &Served, who: &str, words: &[&str]) -> (Option<i32>, String) {
    let more = ["--as", who, "--reason", "ticket 4711"];
    said(&served.run(&[&["ops"], words, &more].concat()))
}

fn cancels(served: &Served, id: &str) -> (Option<i32>, String) {
    by(served, "ada", &["resolve", id, "--answer", "rejected", "--evidence", "ticket=4711"])
}

/// Turns red where an amount above the treasury waits for ever, where one person ends it, and where it is paid once
/// there is money.
#[test]
fn two_persons_end_a_payment_above_the_treasury() {
    let chain = LocalChain::start();
    let mut served = chain.served(1);
    let (code, body) = pays_amount(&served, "alice.devnet", "k-1", "2000000");
    assert_eq!(code, 201, "{body}");
    eventually("a person is told", || told(&served, "TREASURY_SHORT"));
    let id = id_in(&served, "QUEUED_TRANSFER");
    let (code, text) = cancels(&served, &id);
    assert_eq!(code, Some(75), "{text}");
    assert!(text.contains("PROPOSED"), "{text}");
    let approvals = served.json(&["ops", "approvals", "--status", "PENDING"]);
    let proposal = &approvals["approvals"][0];
    assert_eq!(proposal["value"]["state"], "QUEUED_TRANSFER", "{proposal}");
    let approval = proposal["id"].as_str().expect("an id").to_owned();
    let (code, text) = by(&served, "ada", &["approve", &approval]);
    assert_ne!(code, Some(0), "one person was enough: {text}");
    assert_eq!(status(&served, "k-1"), "QUEUED_TRANSFER");
    let (code, text) = by(&served, "bob", &["approve", &approval]);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("NEVER_SENT"), "{text}");
    let ended = reads(&served, "payouts", "k-1").1;
    assert_eq!(ended["status"], "FAILED", "{ended}");
    let error = ended["error_message"].as_str().expect("an error");
    assert!(error.ends_with("CANCELLED"), "{error}");
    let events = ended["events"].as_array().expect("events");
    assert_eq!(events.last().expect("an event")["event"], "FAILED", "{ended}");
    // its key stays its own, and money that comes later is not for it
    served.again(|_| ());
    let relay = chain.keys[0].account.clone();
    chain.devnet.mint(&chain.token, &[(relay, 2_000_000)]).expect("tokens");
    assert_eq!(pays_amount(&served, "alice.devnet", "k-1", "2000000").0, 200);
    assert_eq!(pays_to(&served, "alice.devnet", "k-2").0, 201);
    eventually("the next one is paid", || status(&served, "k-2") == "COMPLETED");
    eventually("the case is closed", || !told(&served, "TREASURY_SHORT"));
    assert_eq!(chain.payments().len(), 1, "what was ended is paid");
    let (code, text) = said(&served.run(&["check"]));
    assert_eq!(code, Some(0), "{text}");
}

/// Turns red where a payment is ended whose transaction may still land.
#[test]
fn what_may_still_land_is_refused() {
    let chain = LocalChain::start();
    let served = chain.served(1);
    assert_eq!(pays_to(&served, "alice.devnet", "k-1").0, 201);
    eventually("the first is paid", || status(&served, "k-1") == "COMPLETED");
    chain.everywhere(&Rule::always(Fault::Withhold).on(&["send_tx"]));
    assert_eq!(pays_to(&served, "alice.devnet", "k-2").0, 201);
    eventually("it is sent", || status(&served, "k-2") == "QUEUED_VERIFICATION");
    let id = id_in(&served, "SUBMITTED");
    let (code, text) = cancels(&served, &id);
    assert_ne!(code, Some(0), "{text}");
    assert!(text.contains("NOT_POSSIBLE") && text.contains("proof of NEAR"), "{text}");
    chain.forgets_rules();
    chain.devnet.release();
    eventually("it is paid", || status(&served, "k-2") == "COMPLETED");
    assert_eq!(chain.payments().len(), 2);
}
