//! Which chain the relay pays on, by the binary on local chains of one name with the same accounts and keys: none but
//! the one that the settings name and that the store is bound to is signed for, or believed.

use super::super::relay_chain::LocalChain;
use super::super::{Served, eventually, head, said};
use super::{completed, status, taken_in};
use devnet::near::near_primitives::hash::CryptoHash;
use devnet::near::{Fault, Lie, Options, Rule};
use serde_json::{Value, json};

/// The severity of an open case of that kind, and its facts.
fn case(served: &Served, kind: &str) -> Option<(String, String)> {
    let cases = served.json(&["ops", "cases"]);
    let open = cases["cases"].as_array().expect("cases");
    let found = open.iter().find(|case| case["kind"] == kind)?;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    Some((text(&found["severity"]), text(&found["facts"])))
}

/// What `/health` shows of all parts.
fn health(served: &Served) -> Value {
    served.ask(&head("GET", "/health", "x", "")).body
}

/// Waits until `/health` has these numbers of providers: configured, usable, of another chain.
fn has_providers(served: &Served, rpc: &str, [configured, usable, wrong]: [u64; 3]) {
    let counts = json!({ "configured": configured, "usable": usable, "wrong_chain": wrong });
    eventually("its providers are seen so", || {
        let health = health(served);
        health["rpc"] == rpc && health["providers"] == counts
    });
}

/// The state of each provider in `portage relay status`.
fn states(served: &Served) -> Vec<String> {
    let found = served.json(&["relay", "status"]);
    let providers = found["providers"].as_array().expect("providers");
    providers.iter().map(|row| row["status"].as_str().unwrap_or_default().to_owned()).collect()
}

/// What the endpoints of a chain were asked, but for the chain's identity.
fn asked(chain: &LocalChain) -> Vec<String> {
    chain.devnet.requests().into_keys().filter(|kind| kind != "status").collect()
}

fn other_chain() -> Rule {
    let genesis_hash = CryptoHash::hash_bytes(b"another");
    Rule::always(Lie::OtherChain { chain_id: "portage-devnet".to_owned(), genesis_hash })
}

fn set(served: &mut Served, name: &str, value: &str) {
    for setting in &mut served.settings {
        if setting.0 == name {
            value.clone_into(&mut setting.1);
        }
    }
}

/// Turns red where the network of the settings is compared with nothing: it would pay, and be bound to the chain.
#[test]
fn another_network_than_that_of_the_settings_is_not_paid_on() {
    let chain = LocalChain::start();
    let mut settings = chain.settings(&[("RELAY_ACCESS_KEYS", &chain.access_keys(1))]);
    settings.retain(|(name, _)| name != "NEAR_NETWORK");
    settings.push(("NEAR_NETWORK".to_owned(), "mainnet".to_owned()));
    let settings: Vec<(&str, &str)> =
        settings.iter().map(|(name, value)| (&**name, &**value)).collect();
    let mut served = Served::start(&settings);
    taken_in(&served, "k-1");
    eventually("a person is told", || case(&served, "WRONG_CHAIN").is_some());
    let (severity, facts) = case(&served, "WRONG_CHAIN").expect("a case");
    assert_eq!(severity, "CRITICAL");
    assert!(facts.contains("portage-devnet") && facts.contains("mainnet"), "{facts}");
    has_providers(&served, "wrong chain", [2, 0, 2]);
    assert_eq!(states(&served), ["wrong_chain", "wrong_chain"]);
    let (code, text) = said(&served.run(&["relay", "status"]));
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("no chain yet") && text.contains("WRONG_CHAIN"), "{text}");
    assert_eq!(asked(&chain), [""; 0], "it is asked which chain it is, and nothing else");
    // the settings are mended: nothing of the wrong chain was kept
    set(&mut served, "NEAR_NETWORK", "localnet");
    served.again(|_| ());
    completed(&served, &["k-1"]);
    assert_eq!(chain.payments().len(), 1);
    eventually("the case is closed", || case(&served, "WRONG_CHAIN").is_none());
    has_providers(&served, "connected", [2, 2, 0]);
}

/// Turns red where the store is bound to no genesis, or anew at each start: the second chain has the same accounts,
/// keys and heights, and would pay.
fn another_genesis_is_not_paid_on(more: &[(&str, &str)]) -> Served {
    let chain = LocalChain::start();
    let settings = chain.settings(&[("RELAY_ACCESS_KEYS", &chain.access_keys(1))]);
    let settings = settings.iter().map(|(name, value)| (&**name, &**value));
    let mut served = Served::start(&settings.chain(more.iter().copied()).collect::<Vec<_>>());
    taken_in(&served, "k-1");
    completed(&served, &["k-1"]);
    let key = chain.keys[0].public_key().to_string();
    let retire = ["relay", "keys", "retire", &*key, "--reason", "ticket 4711", "--timeout", "1"];
    let other = LocalChain::over(Options { seed: 1, ..LocalChain::options() });
    set(&mut served, "NEAR_RPC_URL", &other.devnet.urls().join(","));
    served.again(|_| ());
    taken_in(&served, "k-2");
    eventually("a person is told", || case(&served, "WRONG_CHAIN").is_some());
    let (_, facts) = case(&served, "WRONG_CHAIN").expect("a case");
    for devnet in [&chain.devnet, &other.devnet] {
        assert!(facts.contains(&devnet.genesis_hash().to_string()), "{facts}");
    }
    has_providers(&served, "wrong chain", [2, 0, 2]);
    let (code, text) = said(&served.run(&retire));
    assert!(code != Some(0) && text.contains("another chain"), "{code:?} {text}");
    assert_eq!((asked(&other), other.payments()), (Vec::new(), Vec::new()));
    // another key pays what waits, on the chain of the store
    let keys: Vec<String> = chain.keys.iter().map(|wallet| wallet.key.to_string()).collect();
    set(&mut served, "RELAY_ACCESS_KEYS", &keys.join(","));
    set(&mut served, "NEAR_RPC_URL", &chain.devnet.urls().join(","));
    served.again(|_| ());
    completed(&served, &["k-2"]);
    assert_eq!((chain.payments().len(), other.payments().len()), (2, 0));
    served
}

#[test]
fn another_genesis_under_the_same_folder_is_not_paid_on() {
    let served = another_genesis_is_not_paid_on(&[]);
    eventually("the case is closed", || case(&served, "WRONG_CHAIN").is_none());
}

#[test]
fn another_genesis_under_the_same_database_is_not_paid_on() {
    let database = testbed::Database::given().expect("a database");
    // the case is closed ten minutes later: the process that opened it may have been one of several
    drop(another_genesis_is_not_paid_on(&[("DATABASE_URL", database.url())]));
}

/// Turns red where a release before, which kept no identity, leaves a store that is refused, or that is never bound.
#[test]
fn a_store_of_a_release_before_is_bound_to_the_first_chain_that_it_meets() {
    let chain = LocalChain::start();
    let mut served = chain.served(1);
    taken_in(&served, "k-1");
    completed(&served, &["k-1"]);
    served.again(|dir| {
        let file = dir.join("data").join(store::sqlite::FILE);
        let db = rusqlite::Connection::open(file).expect("the store");
        let gone = db.execute("DELETE FROM service_state WHERE name = 'resource/chain:NEAR'", []);
        assert_eq!(gone, Ok(1), "the row by which it is bound");
    });
    taken_in(&served, "k-2");
    completed(&served, &["k-2"]);
    let bound = served.json(&["relay", "status"])["identity"].clone();
    assert_eq!(bound["genesis_hash"], json!(chain.devnet.genesis_hash().to_string()), "{bound}");
}

/// Turns red where two chains show up at once that both fit the settings, and the store is bound to either.
#[test]
fn two_chains_that_fit_the_settings_bind_nothing() {
    let chain = LocalChain::start();
    let [first, second] = [0, 1].map(|at| chain.devnet.endpoint(at).expect("an endpoint"));
    second.add(other_chain());
    let served = chain.served(1);
    taken_in(&served, "k-1");
    eventually("both answer", || {
        [&first, &second].iter().all(|endpoint| asked_often(&endpoint.requests()))
    });
    let found = served.json(&["relay", "status"]);
    assert_eq!(found["identity"], Value::Null, "it is bound to one of two: {found}");
    assert_eq!((chain.payments().len(), status(&served, "k-1") != "COMPLETED"), (0, true));
    second.clear();
    completed(&served, &["k-1"]);
    let bound = served.json(&["relay", "status"])["identity"].clone();
    assert_eq!(bound["genesis_hash"], json!(chain.devnet.genesis_hash().to_string()), "{bound}");
}

/// Turns red where a provider of another chain is believed or sent to, or keeps the others from paying.
#[test]
fn one_provider_of_another_chain_among_three_is_left_out() {
    let chain = LocalChain::of_providers(3);
    let liar = chain.devnet.endpoint(1).expect("an endpoint");
    let mainnet = Lie::OtherChain {
        chain_id: "mainnet".to_owned(),
        genesis_hash: CryptoHash::hash_bytes(b"another"),
    };
    liar.add(Rule::always(mainnet));
    let served = chain.served(1);
    taken_in(&served, "k-1");
    completed(&served, &["k-1"]);
    let left_out: Vec<String> =
        liar.requests().into_keys().filter(|kind| kind != "status").collect();
    assert_eq!(left_out, [""; 0], "it is asked nothing else");
    eventually("a person is told", || case(&served, "WRONG_PROVIDER").is_some());
    let (severity, facts) = case(&served, "WRONG_PROVIDER").expect("a case");
    assert_eq!((&*severity, facts.contains("mainnet")), ("WARNING", true), "{facts}");
    assert_eq!(case(&served, "WRONG_CHAIN"), None, "enough others are left");
    has_providers(&served, "connected", [3, 2, 1]);
    assert_eq!(states(&served), ["usable", "wrong_chain", "usable"]);
    liar.clear();
    eventually("the case is closed", || case(&served, "WRONG_PROVIDER").is_none());
    has_providers(&served, "connected", [3, 3, 0]);
}

/// Turns red where a provider that becomes one of another chain under the running service is believed for longer than
/// it takes to ask it again, and where two that must agree are one.
#[test]
fn one_of_two_that_becomes_another_chain_stops_the_relay() {
    let chain = LocalChain::start();
    let served = chain.served(1);
    taken_in(&served, "k-1");
    completed(&served, &["k-1"]);
    let liar = chain.devnet.endpoint(0).expect("an endpoint");
    liar.add(other_chain());
    eventually("a person is told", || case(&served, "WRONG_CHAIN").is_some());
    taken_in(&served, "k-2");
    eventually("it waits", || served.log().contains("no next lock"));
    let (severity, facts) = case(&served, "WRONG_CHAIN").expect("a case");
    assert_eq!(severity, "CRITICAL", "{facts}");
    has_providers(&served, "connected", [2, 1, 1]);
    assert_eq!((chain.payments().len(), status(&served, "k-2") != "FAILED"), (1, true));
    liar.clear();
    completed(&served, &["k-2"]);
    assert_eq!(chain.payments().len(), 2);
    eventually("the case is closed", || case(&served, "WRONG_CHAIN").is_none());
}

/// Turns red where a provider that does not answer counts as one of another chain, or as one of the right one; and
/// where nothing binds the store once it answers.
#[test]
fn providers_that_are_down_at_start_are_unknown() {
    let chain = LocalChain::start();
    chain.everywhere(&Rule::always(Fault::Refuse));
    let served = chain.served(1);
    taken_in(&served, "k-1");
    has_providers(&served, "unavailable", [2, 0, 0]);
    assert_eq!(states(&served), ["unknown", "unknown"]);
    let found = served.json(&["relay", "status"]);
    assert_eq!(found["identity"], Value::Null, "nothing is bound: {found}");
    assert_eq!(case(&served, "WRONG_CHAIN"), None);
    // one alone binds nothing where two have to agree
    let first = chain.devnet.endpoint(0).expect("an endpoint");
    first.clear();
    eventually("it answers", || asked_often(&first.requests()));
    assert_eq!(served.json(&["relay", "status"])["identity"], Value::Null);
    chain.forgets_rules();
    completed(&served, &["k-1"]);
    let bound = served.json(&["relay", "status"])["identity"].clone();
    assert_eq!(bound["chain_id"], json!("portage-devnet"), "{bound}");
    has_providers(&served, "connected", [2, 2, 0]);
    assert_eq!((chain.payments().len(), case(&served, "WRONG_CHAIN")), (1, None));
}

fn asked_often(requests: &std::collections::BTreeMap<String, u64>) -> bool {
    requests.get("status").is_some_and(|times| *times >= 4)
}
