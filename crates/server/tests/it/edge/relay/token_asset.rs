//! The asset of the relay's token where no setting names it: by the binary, on a local chain.

use super::super::relay_chain::LocalChain;
use super::super::{Served, eventually, portage, said};
use super::{pays_to, reads};
use devnet::near::{Fault, Rule, TokenOptions};
use serde_json::{Value, json};
use tempfile::TempDir;

/// The environment of the source document, and nothing else.
fn source(chain: &LocalChain, contract: &str) -> Vec<(String, String)> {
    let key = chain.keys[0].key.to_string();
    let mut settings =
        chain.settings(&[("RELAY_ACCESS_KEYS", &key), ("FT_TOKEN_ADDRESS", contract)]);
    settings.retain(|(name, _)| name != "PORTAGE_RELAY__ASSET");
    settings
}

fn served(dir: TempDir, settings: &[(String, String)]) -> Served {
    let settings: Vec<_> = settings.iter().map(|(name, value)| (&**name, &**value)).collect();
    Served::within(dir, &settings)
}

fn folder() -> TempDir {
    tempfile::tempdir().expect("a folder")
}

/// A token with this symbol and these decimals, of which the relay has some.
fn token(chain: &LocalChain, name: &str, symbol: &str, decimals: u8) {
    let options = TokenOptions { symbol: symbol.to_owned(), decimals, ..TokenOptions::default() };
    let token = chain.devnet.deploy_token(name, &options).expect("a token");
    let relay = chain.keys[0].account.clone();
    chain.devnet.mint(&token, &[(relay, 1_000_000)]).expect("tokens");
}

fn assets(served: &Served) -> Vec<Value> {
    served.json(&["ops", "assets"])["assets"].as_array().expect("assets").clone()
}

fn asset(served: &Served, symbol: &str) -> Option<Value> {
    assets(served).into_iter().find(|asset| asset["symbol"] == symbol)
}

fn is_paid(served: &Served, receiver: &str, key: &str) {
    assert_eq!(pays_to(served, receiver, key).0, 201);
    eventually("it is paid", || reads(served, "payouts", key).1["status"] == "COMPLETED");
}

/// How `serve` ends with these settings in a folder.
fn refused(dir: &TempDir, settings: &[(String, String)]) -> (Option<i32>, String) {
    let mut command = portage(dir.path(), settings);
    said(&command.args(["serve", "--listen", "127.0.0.1:0"]).output().expect("it runs"))
}

/// Turns red where the source's environment does not start the service, where the choice is asked for again at a later
/// start, and where an asset is added without a row of the audit.
#[test]
fn the_sources_environment_alone_starts_the_service() {
    let chain = LocalChain::start();
    let mut relay = served(folder(), &source(&chain, "usdc.devnet"));
    let known = assets(&relay).len();
    is_paid(&relay, "alice.devnet", "k-1");
    chain.everywhere(&Rule::always(Fault::Refuse));
    relay.again(|_| ());
    assert_eq!(pays_to(&relay, "alice.devnet", "k-2").0, 201, "it starts without providers");
    chain.forgets_rules();
    relay.process.kill();
    token(&chain, "coin.devnet", "COIN", 18);
    let own = served(folder(), &source(&chain, "coin.devnet"));
    is_paid(&own, "alice.devnet", "k-1");
    assert_eq!(assets(&own).len(), known + 1);
    let coin = asset(&own, "COIN").expect("an asset");
    assert_eq!(coin["precision"], json!(18), "{coin}");
    let actions = own.json(&["ops", "actions"]).to_string();
    assert!(actions.contains("ADD_ASSET") && actions.contains("portage|relay"), "{actions}");
    let (code, text) = said(&own.run(&["audit", "verify"]));
    assert_eq!(code, Some(0), "{text}");
}

/// Turns red where a contract that shows another symbol later changes the asset that is paid in.
#[test]
fn a_symbol_that_changes_later_changes_nothing() {
    let chain = LocalChain::start();
    token(&chain, "coin.devnet", "COIN", 6);
    let mut relay = served(folder(), &source(&chain, "coin.devnet"));
    is_paid(&relay, "alice.devnet", "k-1");
    let coin = "coin.devnet".parse().expect("an account");
    chain.devnet.delete_account(&coin).expect("it is deleted");
    token(&chain, "coin.devnet", "USDC", 6);
    relay.again(|_| ());
    chain.devnet.create_account("bob.devnet", 10).expect("a receiver that is not registered");
    is_paid(&relay, "bob.devnet", "k-2");
    let found = relay.json(&["ops", "find", "--flow", "relay", "--receiver", "bob.devnet"]);
    let found = found["transfers"].as_array().expect("transfers");
    assert!(found.len() == 1 && found.iter().all(|one| one["asset"] == "COIN"), "{found:?}");
}

/// Turns red where a start goes on with an asset of other decimals, or of a symbol that none can have; and where the text
/// of a stranger's contract is printed.
#[test]
fn what_a_contract_shows_is_checked_before_it_is_used() {
    let chain = LocalChain::start();
    token(&chain, "fine.devnet", "USDC", 18);
    let dir = folder();
    let (code, text) = refused(&dir, &source(&chain, "fine.devnet"));
    assert_eq!(code, Some(78), "{text}");
    assert!(text.contains("fine.devnet has 18 decimals, and the asset 6"), "{text}");
    for (at, symbol) in
        ["", "USDC.e", "USD\u{1b}[2J", "USD C", "ABCDEFGHIJKLMNOPQ", "USDС"].into_iter().enumerate()
    {
        let name = format!("evil-{at}.devnet");
        token(&chain, &name, symbol, 6);
        let (code, text) = refused(&dir, &source(&chain, &name));
        assert_eq!(code, Some(78), "{symbol:?}: {text}");
        assert!(text.contains("1 to 16 upper-case letters and digits"), "{symbol:?}: {text}");
        assert!(text.contains("set relay.asset"), "{text}");
        assert!(symbol.is_empty() || !text.contains(symbol), "{text}");
    }
    token(&chain, "many.devnet", "MANY", 39);
    let (code, text) = refused(&dir, &source(&chain, "many.devnet"));
    assert_eq!(code, Some(78), "{text}");
    assert!(text.contains("at most 38 decimals"), "{text}");
    // what was refused left nothing
    let relay = served(dir, &source(&chain, "usdc.devnet"));
    assert!(asset(&relay, "MANY").is_none());
    is_paid(&relay, "alice.devnet", "k-1");
}

/// Turns red where one provider's word chooses an asset (run: the first answer counts), and where a second contract of
/// the same symbol takes the asset of the first.
#[test]
fn a_symbol_needs_two_providers_and_is_one_contracts() {
    let chain = LocalChain::start();
    token(&chain, "coin.devnet", "COIN", 6);
    let dir = folder();
    let metadata = json!({"spec": "ft-1.0.0", "name": "x", "symbol": "USDC", "decimals": 6});
    let bytes = metadata.to_string().into_bytes();
    let body = json!({"jsonrpc": "2.0", "id": "0",
        "result": {"result": bytes, "logs": [], "block_height": 1, "block_hash": "1".repeat(32)}});
    let lie = Rule::always(Fault::Answer { code: 200, body });
    let endpoint = chain.devnet.endpoint(0).expect("an endpoint");
    endpoint.add(lie.on(&["query call_function ft_metadata"]));
    let (code, text) = refused(&dir, &source(&chain, "coin.devnet"));
    assert_eq!(code, Some(69), "{text}");
    assert!(text.contains("PROVIDERS_DISAGREE"), "{text}");
    chain.forgets_rules();
    let relay = served(dir, &source(&chain, "coin.devnet"));
    is_paid(&relay, "alice.devnet", "k-1");
    token(&chain, "twin.devnet", "COIN", 6);
    relay.process.kill();
    let (code, text) = refused(&relay.dir, &source(&chain, "twin.devnet"));
    assert_eq!(code, Some(78), "{text}");
    assert!(text.contains("COIN, which stands for the contract coin.devnet"), "{text}");
}

/// Turns red where a symbol with letters in lower case does not start the service, and where it takes a known asset that
/// is spelled otherwise.
#[test]
fn a_symbol_in_lower_case_is_an_asset_of_its_own() {
    let chain = LocalChain::start();
    token(&chain, "wrap.devnet", "wNEAR", 24);
    let relay = served(folder(), &source(&chain, "wrap.devnet"));
    is_paid(&relay, "alice.devnet", "k-1");
    let wrapped = asset(&relay, "WNEAR").expect("an asset");
    assert_eq!(wrapped["precision"], json!(24), "{wrapped}");
    token(&chain, "bridged.devnet", "Usdc", 6);
    let dir = folder();
    let (code, text) = refused(&dir, &source(&chain, "bridged.devnet"));
    assert_eq!(code, Some(78), "{text}");
    assert!(text.contains("shows the symbol Usdc, and whether that is the asset USDC"), "{text}");
    assert!(text.contains("set relay.asset"), "{text}");
    let mut named = source(&chain, "bridged.devnet");
    named.push(("PORTAGE_RELAY__ASSET".to_owned(), "USDC".to_owned()));
    is_paid(&served(dir, &named), "alice.devnet", "k-1");
}
