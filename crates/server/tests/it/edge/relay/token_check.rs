//! What the relay by the binary finds out of its token at the start, on a local chain.

use super::super::relay_chain::LocalChain;
use super::super::{Served, eventually};
use super::pays_to;
use devnet::near::{Fault, Rule, TokenOptions};
use serde_json::Value;

const CODE: &str = "TOKEN_CONTRACT_INVALID";

/// The relay over this chain, with another token.
fn served(chain: &LocalChain, contract: &str) -> Served {
    let dir = tempfile::tempdir().expect("a folder");
    let key = chain.keys[0].key.to_string();
    chain.served_in(dir, &[("RELAY_ACCESS_KEYS", &key), ("FT_TOKEN_ADDRESS", contract)])
}

fn told(served: &Served) -> bool {
    let cases = served.json(&["ops", "cases"]);
    let cases = cases["cases"].as_array().expect("cases").clone();
    cases.iter().any(|case| case["kind"] == CODE && case["severity"] == "CRITICAL")
}

fn refusal(served: &Served) -> String {
    let (status, body): (u16, Value) = pays_to(served, "alice.devnet", "k-1");
    assert_eq!((status, &body["code"]), (503, &Value::from(CODE)), "{body}");
    body["error"].as_str().expect("a sentence").to_owned()
}

/// Turns red where a token that does not exist is found by its first transfer.
#[test]
fn a_token_that_is_none_refuses_transfers_from_the_start() {
    let chain = LocalChain::start();
    let mut relay = served(&chain, "late.devnet");
    eventually("a person is told", || told(&relay));
    assert!(refusal(&relay).contains("the chain has no account late.devnet"));
    assert!(relay.log().contains("relay.token_contract"), "{}", relay.log());
    chain.devnet.deploy_token("late.devnet", &TokenOptions::default()).expect("a token");
    relay.again(|_| ());
    assert_eq!(pays_to(&relay, "alice.devnet", "k-1").0, 201);
    eventually("the case is closed", || !told(&relay));
    let other = served(&chain, "alice.devnet");
    eventually("a person is told", || told(&other));
    assert!(refusal(&other).contains("alice.devnet has no contract"));
}

/// Turns red where limits and sums are kept in other decimals than those that the contract shows to everyone else.
#[test]
fn a_token_of_other_decimals_is_not_paid() {
    let chain = LocalChain::start();
    let fine = TokenOptions { decimals: 18, ..TokenOptions::default() };
    chain.devnet.deploy_token("fine.devnet", &fine).expect("a token");
    let relay = served(&chain, "fine.devnet");
    eventually("a person is told", || told(&relay));
    let said = refusal(&relay);
    assert!(said.contains("relay.asset: fine.devnet has 18 decimals, and the asset 6"), "{said}");
}

/// Turns red where a token whose contract is deleted under the running service is told of by payments alone that wait.
#[test]
fn a_token_that_is_deleted_later_refuses_transfers() {
    let chain = LocalChain::start();
    let relay = served(&chain, "usdc.devnet");
    assert_eq!(pays_to(&relay, "alice.devnet", "k-0").0, 201);
    eventually("it is paid", || chain.payments().len() == 1);
    chain.devnet.delete_account(&chain.token).expect("it is deleted");
    assert_eq!(pays_to(&relay, "alice.devnet", "k-00").0, 201);
    eventually("a person is told", || {
        // a look at the keys asks after the token too, as the watch does each minute
        drop(relay.json(&["relay", "keys"]));
        told(&relay)
    });
    assert!(refusal(&relay).contains("the chain has no account usdc.devnet"));
}

/// Turns red where a provider that does not answer keeps the service from starting, or from taking transfers in.
#[test]
fn a_provider_that_does_not_answer_refuses_nothing() {
    let chain = LocalChain::start();
    chain.everywhere(&Rule::always(Fault::Refuse));
    let relay = served(&chain, "usdc.devnet");
    assert_eq!(pays_to(&relay, "alice.devnet", "k-1").0, 201);
    assert!(!told(&relay));
}
