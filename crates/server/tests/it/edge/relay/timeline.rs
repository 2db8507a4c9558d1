//! The events of a transfer by the binary, on a local chain: the source document's own example.

use super::super::eventually;
use super::super::relay_chain::LocalChain;
use super::{pays_to, reads};
use devnet::near::{Fault, Rule};
use serde_json::Value;

/// The events of a transfer, by name.
fn names(shown: &Value) -> Vec<&str> {
    let events = shown["events"].as_array().expect("events");
    events.iter().map(|event| event["event"].as_str().expect("a name")).collect()
}

/// Turns red where a step of the source's timeline is a status and no event, where a receiver that is known
/// waits for a registration, and where a transaction that may be on the wire is not told of.
#[test]
fn the_events_are_those_of_the_sources_example() {
    let chain = LocalChain::start();
    let served = chain.served(1);
    let shown = |key: &str| reads(&served, "payouts", key).1;
    assert_eq!(pays_to(&served, "alice.devnet", "k-1").0, 201);
    eventually("the first is paid", || shown("k-1")["status"] == "COMPLETED");
    let first = shown("k-1");
    let way = ["REGISTERED", "QUEUED_TRANSFER", "SUBMITTED", "QUEUED_VERIFICATION", "COMPLETED"];
    let all = [&["RECEIVED", "QUEUED_REGISTRATION"], &way[..]].concat();
    assert_eq!(names(&first), all, "{first}");
    let events = first["events"].as_array().expect("events");
    let times: Vec<&str> = events.iter().filter_map(|event| event["time"].as_str()).collect();
    assert!(times.is_sorted() && times.len() == all.len(), "{first}");
    assert_eq!(events[4]["tx_hash"], first["tx_hash"], "{first}");
    assert_eq!(pays_to(&served, "alice.devnet", "k-2").0, 201);
    eventually("the second is paid", || shown("k-2")["status"] == "COMPLETED");
    let second = shown("k-2");
    assert_eq!(names(&second), [&["RECEIVED"], &way[..]].concat(), "{second}");
    chain.everywhere(&Rule::always(Fault::Withhold).on(&["send_tx"]));
    assert_eq!(pays_to(&served, "alice.devnet", "k-3").0, 201);
    eventually("it is sent", || shown("k-3")["status"] == "QUEUED_VERIFICATION");
    let third = shown("k-3");
    assert_eq!(names(&third).last(), Some(&"QUEUED_VERIFICATION"), "{third}");
}
