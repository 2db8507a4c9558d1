//! The events of a transfer by the binary, on a local chain: the source document's own example.

use super::super::relay_chain::LocalChain;
use super::super::{Served, eventually, said};
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

/// The errors of a transfer, and after which event each came.
fn errors(shown: &Value) -> Vec<(String, String)> {
    let events = shown["events"].as_array().expect("events");
    let pairs = events.iter().zip(events.iter().skip(1));
    let errors = pairs.filter(|(_, event)| event["event"] == "ERROR");
    let of = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    errors.map(|(before, event)| (of(&before["event"]), of(&event["error_type"]))).collect()
}

/// How often a try for a receiver had no answer in its present state.
fn tries(served: &Served, receiver: &str) -> u64 {
    let found = served.json(&["ops", "find", "--flow", "relay", "--receiver", receiver]);
    found["transfers"][0]["unknown_answers"].as_u64().unwrap_or_default()
}

/// Turns red where providers that hold a transfer up leave no event, where each try or each start of the service leaves
/// one, and where a chain of events with such a line is not proven.
#[test]
fn providers_that_hold_a_transfer_up_are_one_event_an_episode() {
    let chain = LocalChain::start();
    chain.devnet.create_account("bob.devnet", 10).expect("a receiver that is not registered");
    let mut served = chain.served(1);
    let shown = |served: &Served, key: &str| reads(served, "payouts", key).1;
    let is = |served: &Served, key: &str, status: &str| shown(served, key)["status"] == status;
    assert_eq!(pays_to(&served, "alice.devnet", "k-1").0, 201);
    eventually("the first is paid", || is(&served, "k-1", "COMPLETED"));
    assert!(errors(&shown(&served, "k-1")).is_empty(), "nothing held it up");
    chain.everywhere(&Rule::always(Fault::Refuse));
    // one waits for a lock of its key, the other for what the chain knows of its receiver
    assert_eq!(pays_to(&served, "alice.devnet", "k-2").0, 201);
    assert_eq!(pays_to(&served, "bob.devnet", "k-3").0, 201);
    for (key, at) in [("k-2", "QUEUED_TRANSFER"), ("k-3", "RECEIVED")] {
        eventually("its trouble is told", || !errors(&shown(&served, key)).is_empty());
        let told = errors(&shown(&served, key));
        assert!(told.len() == 1 && told[0].0 == at && !told[0].1.is_empty(), "{told:?}");
    }
    eventually("it is tried again", || tries(&served, "bob.devnet") >= 4);
    served.again(|_| ());
    let before = tries(&served, "bob.devnet");
    eventually("it is tried again", || tries(&served, "bob.devnet") >= before + 2);
    for key in ["k-2", "k-3"] {
        assert_eq!(errors(&shown(&served, key)).len(), 1, "{}", shown(&served, key));
    }
    chain.forgets_rules();
    for key in ["k-2", "k-3"] {
        eventually("it is paid", || is(&served, key, "COMPLETED"));
    }
    // what was sent is asked for, and no provider answers that
    chain.everywhere(&Rule::always(Fault::Status { code: 503 }).on(&["tx"]));
    assert_eq!(pays_to(&served, "alice.devnet", "k-4").0, 201);
    eventually("its trouble is told", || !errors(&shown(&served, "k-4")).is_empty());
    served.again(|_| ());
    eventually("it is carried on", || is(&served, "k-4", "QUEUED_VERIFICATION"));
    std::thread::sleep(std::time::Duration::from_secs(3));
    let told = errors(&shown(&served, "k-4"));
    assert_eq!(told, [("QUEUED_VERIFICATION".to_owned(), "HTTP_STATUS".to_owned())]);
    chain.forgets_rules();
    eventually("it is paid", || is(&served, "k-4", "COMPLETED"));
    let (code, text) = said(&served.run(&["audit", "verify"]));
    assert_eq!(code, Some(0), "{text}");
}
