//! The relay by the binary, without keys: what it took in outlives a kill, on both stores, and half a relay
//! does not start.

mod cancelled;
mod custody;
mod faults;
mod identity;
mod key_scope;
mod keys;
mod timeline;
mod token_asset;
mod token_check;

use super::{Served, eventually, head, post, refused, said};
use serde_json::{Value, json};

const SENDER: &str = "relay:create relay:read";
const RELAY: [(&str, &str); 3] = [
    ("RELAY_ACCOUNT_ID", "relay.near"),
    ("FT_TOKEN_ADDRESS", "usdc.near"),
    ("PORTAGE_RELAY__ASSET", "USDC"),
];

/// Pays under a key; the status, and the body.
pub(super) fn pays(served: &Served, sub: &str, key: &str, amount: &str) -> (u16, Value) {
    let body = json!({"receiver_id": "alice.near", "amount": amount}).to_string();
    sends(served, sub, key, &body)
}

/// Pays seven units to an account.
pub(super) fn pays_to(served: &Served, receiver: &str, key: &str) -> (u16, Value) {
    pays_amount(served, receiver, key, "7")
}

/// Pays an amount to an account.
pub(super) fn pays_amount(
    served: &Served,
    receiver: &str,
    key: &str,
    amount: &str,
) -> (u16, Value) {
    let body = json!({"receiver_id": receiver, "amount": amount}).to_string();
    sends(served, "payouts", key, &body)
}

pub(super) fn sends(served: &Served, sub: &str, key: &str, body: &str) -> (u16, Value) {
    let (token, key) = (served.token(sub, SENDER), format!("x-idempotency-key: {key}\r\n"));
    let reply = served.ask(&post("/transfer", &token, &key, body));
    (reply.status, reply.body)
}

pub(super) fn reads(served: &Served, sub: &str, key: &str) -> (u16, Value) {
    let token = served.token(sub, SENDER);
    let reply = served.ask(&head("GET", &format!("/transfer/{key}"), &token, ""));
    (reply.status, reply.body)
}

/// The state of the payment under a key.
pub(super) fn status(served: &Served, key: &str) -> Value {
    reads(served, "payouts", key).1["status"].clone()
}

/// Pays under a key; the id of the transfer.
pub(super) fn taken_in(served: &Served, key: &str) -> String {
    let (code, body) = pays_to(served, "alice.devnet", key);
    assert_eq!(code, 201, "{body}");
    body["req_id"].as_str().expect("an id").to_owned()
}

pub(super) fn completed(served: &Served, keys: &[&str]) {
    let done = |key: &&str| status(served, key) == "COMPLETED";
    eventually("they are paid", || keys.iter().all(done));
}

/// The open cases: kind and facts.
pub(super) fn cases(served: &Served) -> Vec<(String, String)> {
    let cases = served.json(&["ops", "cases"]);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let cases = cases["cases"].as_array().expect("cases").iter();
    cases.map(|case| (text(&case["kind"]), text(&case["facts"]))).collect()
}

/// Whether a case of that kind is open.
pub(super) fn told(served: &Served, kind: &str) -> bool {
    cases(served).iter().any(|case| case.0 == kind)
}

fn ops(served: &Served, words: &[&str]) {
    let more = ["--reason", "a test"];
    let (code, text) = said(&served.run(&[&["ops"], words, &more].concat()));
    assert_eq!(code, Some(0), "{text}");
}

/// A person pauses the chain.
pub(super) fn pause(served: &Served) {
    ops(served, &["pause", "chain", "NEAR"]);
}

/// The pauses that stand and that a person set, or the engine.
pub(super) fn pauses(served: &Served, of_person: bool) -> Vec<String> {
    let all = served.json(&["ops", "pauses"]);
    let all = all["pauses"].as_array().expect("pauses").iter();
    let chosen = all.filter(|pause| (pause["reason"] == "a test") == of_person);
    chosen.map(|pause| pause["id"].to_string().trim_matches('"').to_owned()).collect()
}

/// A person lifts what persons paused.
pub(super) fn unpause(served: &Served) {
    let own = pauses(served, true);
    assert!(!own.is_empty(), "a person's pause");
    own.iter().for_each(|number| ops(served, &["unpause", number]));
}

/// What is shown of a transfer, but for when it was written last: a worker that takes it over writes it.
fn story(served: &Served, sub: &str, key: &str) -> Value {
    let (status, mut body) = reads(served, sub, key);
    assert_eq!(status, 200, "{body}");
    body["updated_at"] = Value::Null;
    body
}

/// Turns red where 201 is answered before the transfer is durable, where its key is free again after a
/// kill, and where the day's count is one of the process.
fn what_was_answered_outlives_a_kill(settings: &[(&str, &str)]) {
    let mut settings = [&RELAY[..], settings].concat();
    settings.push(("PORTAGE_RELAY__DAILY_AMOUNT", "100"));
    let mut served = Served::start(&settings);
    assert_eq!(pays(&served, "payouts", "k-1", "60").0, 201);
    let before = story(&served, "payouts", "k-1");
    assert_eq!(before["status"], "RECEIVED", "{before}");
    served.again(|_| ());
    assert_eq!(story(&served, "payouts", "k-1"), before);
    assert_eq!(pays(&served, "payouts", "k-1", "60").0, 200);
    assert_eq!(pays(&served, "payouts", "k-1", "61").0, 409);
    assert_eq!(reads(&served, "refunds", "k-1").0, 404);
    let (status, day) = pays(&served, "payouts", "k-2", "41");
    assert_eq!((status, &day["code"]), (429, &json!("DAILY_AMOUNT_EXCEEDED")), "{day}");
    assert_eq!(pays(&served, "refunds", "k-2", "41").0, 201);
    // the settings changed between the two: the client asks for the same, and is answered the same
    for setting in &mut served.settings {
        if setting.0 == "RELAY_ACCOUNT_ID" {
            "relay-2.near".clone_into(&mut setting.1);
        }
    }
    served.again(|_| ());
    assert_eq!(pays(&served, "payouts", "k-1", "60").0, 200);
    let (code, text) = said(&served.run(&["relay", "status"]));
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("relay-2.near"), "{text}");
    let (code, text) = said(&served.run(&["check"]));
    assert_eq!(code, Some(0), "{text}");
}

#[test]
fn what_was_answered_outlives_a_kill_in_a_folder() {
    what_was_answered_outlives_a_kill(&[]);
}

/// With `relay.shared_keys` a key has the scope that a release before had for every key. Turns red where such a
/// key's maker pays twice by repeating it, where it blocks another caller, and where the way back from one
/// setting to the other pays twice.
#[test]
fn keys_of_the_shared_scope_stay_found_by_their_makers() {
    const SHARED: &str = "PORTAGE_RELAY__SHARED_KEYS";
    let mut served = Served::start(&[&RELAY[..], &[(SHARED, "true")]].concat());
    let switch = |served: &mut Served, on: &str| {
        for setting in served.settings.iter_mut().filter(|setting| setting.0 == SHARED) {
            on.clone_into(&mut setting.1);
        }
        served.again(|_| ());
    };
    assert_eq!(pays(&served, "payouts", "old", "60").0, 201);
    let old = story(&served, "payouts", "old");
    assert_eq!(pays(&served, "refunds", "old", "60").0, 409);
    switch(&mut served, "false");
    for _ in 0..2 {
        assert_eq!(story(&served, "payouts", "old"), old);
        assert_eq!(pays(&served, "payouts", "old", "60").0, 200);
        assert_eq!(pays(&served, "payouts", "old", "61").0, 409);
        served.again(|_| ());
    }
    assert_eq!(reads(&served, "refunds", "old").0, 404);
    assert_eq!(pays(&served, "refunds", "old", "9").0, 201, "its own");
    assert_eq!(pays(&served, "refunds", "old", "9").0, 200);
    assert_eq!(pays(&served, "payouts", "new", "7").0, 201);
    switch(&mut served, "true");
    assert_eq!(pays(&served, "payouts", "new", "7").0, 200);
    assert_eq!(pays(&served, "refunds", "old", "9").0, 200);
    assert_eq!(story(&served, "payouts", "old"), old);
}

/// Without keys a worker would hold transfers back from the processes that have some, so that here it has
/// no workers; those need a Spot core by itself.
#[test]
fn a_worker_without_keys_shares_no_journal() {
    let url = ("DATABASE_URL", "postgres://nowhere.invalid/portage");
    let (code, text) = refused(&[&RELAY[..], &[url]].concat());
    assert_eq!(code, Some(78), "{text}");
    assert!(text.contains("relay.keystore"), "{text}");
}

/// Turns red where half a relay starts, as if it were whole or as if there were none.
#[test]
fn half_a_relay_does_not_start() {
    for (name, value, says) in [
        ("RELAY_ACCOUNT_ID", "Relay.near", "an account on NEAR"),
        ("FT_TOKEN_ADDRESS", "", "relay.token_contract"),
        ("RELAY_ACCOUNT_ID", "", "the flow is not offered"),
        ("PORTAGE_RELAY__ASSET", "NONE", "there is no asset NONE"),
        ("PORTAGE_RELAY__DAILY_AMOUNT", "ten", "base units"),
        ("NEAR_RPC_URL", "http://rpc.example", "https://"),
    ] {
        let mut settings: Vec<_> = RELAY.into_iter().filter(|(other, _)| *other != name).collect();
        settings.push((name, value));
        let (code, text) = refused(&settings);
        assert_eq!(code, Some(78), "{name}={value}: {text}");
        assert!(text.contains(says), "{name}={value}: {text}");
    }
}

/// Turns red where a key of the settings is printed.
#[test]
fn keys_are_not_shown() {
    const CANARY: &str = "ed25519:canary5secret";
    let (code, text) = refused(
        &[&RELAY[..], &[("RELAY_ACCESS_KEYS", CANARY), ("NEAR_RPC_URL", "https://rpc.example")]]
            .concat(),
    );
    assert!(code.is_some_and(|code| code != 0), "{text}");
    assert!(!text.contains("canary"), "{text}");
}
