//! What `devnet solana` sets up for a user.

use crate::client::{http, rpc};
use crate::serve::Running;
use devnet::solana::serve::{CUSTOMER, INVENTORY, Request, Served, describe, environment, start};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

fn served(dir: &Path) -> Served {
    let request = Request {
        port: None,
        endpoints: 2,
        customers: 2,
        lanes: 3,
        block_millis: 20,
        finality_lag: 5,
        seed: None,
        dir: dir.to_owned(),
    };
    start(&request).unwrap()
}

/// Until it holds, for a minute at most.
fn eventually(holds: impl Fn() -> bool) -> bool {
    (0..6_000).any(|_| {
        std::thread::sleep(Duration::from_millis(10));
        holds()
    })
}

/// Turns red if the vault lacks its tokens, a lane or its key, or if a setting is not printed.
#[test]
fn a_user_gets_a_chain_that_is_ready() {
    let dir = tempfile::tempdir().unwrap();
    let served = served(dir.path());
    let devnet = &served.devnet;
    assert_eq!(devnet.balance(&served.vault_account), INVENTORY);
    assert_eq!(served.lanes.len(), 3);
    assert!(served.lanes.iter().all(|lane| devnet.final_nonce(lane).is_some()));
    let keypair = std::fs::read_to_string(&served.keypair_file).unwrap();
    let keypair: Vec<u8> = serde_json::from_str(&keypair).unwrap();
    assert_eq!(keypair, served.vault.keypair());
    let text = describe(&served);
    for (name, value) in environment(&served) {
        assert!(text.contains(&format!("{name}={value}\n")), "{name} is missing in {text}");
    }
    let quarantine = json!([served.quarantine_account.to_string(), {"commitment": "processed"}]);
    let held = rpc(&devnet.urls()[0], "getTokenAccountBalance", &quarantine).unwrap();
    assert_eq!(held["value"]["amount"], json!("0"));
}

/// Turns red if a person cannot deposit over HTTP, or the oracle does not show what came.
#[test]
fn a_person_makes_a_deposit() {
    let dir = tempfile::tempdir().unwrap();
    let served = served(dir.path());
    let url = &served.devnet.urls()[0];
    let vault = served.vault_account.to_string();
    let asked = json!({"customer": 1, "to": vault, "amount": 25_000_000, "memo": "nexus:8Bk5"});
    let sent = http(url, "POST", "/devnet/deposit", &asked.to_string()).unwrap();
    let signature = sent.body["signature"].clone();
    let path = format!("/devnet/events?account={vault}");
    let arrived = || http(url, "GET", &path, "").unwrap().body.as_array().unwrap().last().cloned();
    assert!(eventually(|| arrived().is_some_and(|event| event["signature"] == signature)));
    let event = arrived().unwrap();
    assert_eq!(event["after"], json!((INVENTORY + 25_000_000).to_string()));
    assert_eq!((&event["memos"], &event["error"]), (&json!(["nexus:8Bk5"]), &Value::Null));
    let from = served.devnet.create_token_account(&served.customers[1].address()).unwrap();
    assert_eq!(served.devnet.balance(&from), CUSTOMER - 25_000_000);
    let to = served.vault.address().to_string();
    let before = served.devnet.lamports(&served.vault.address());
    let drop = json!({"to": to, "lamports": 7}).to_string();
    assert_eq!(http(url, "POST", "/devnet/airdrop", &drop).unwrap().status, 200);
    assert!(eventually(|| served.devnet.lamports(&served.vault.address()) == before + 7));
    let wrong = json!({"customer": 1, "to": "nowhere", "amount": 1}).to_string();
    assert_eq!(http(url, "POST", "/devnet/deposit", &wrong).unwrap().status, 400);
}

/// Turns red if the program prints where it listens, and does not listen.
#[test]
fn the_program_serves_what_it_prints() {
    let dir = tempfile::tempdir().unwrap();
    let mut program = Command::new(env!("CARGO_BIN_EXE_devnet"));
    program.args(["solana", "--port", "0", "--endpoints", "1", "--block-millis", "20"]);
    program.args(["--customers", "1", "--lanes", "1", "--dir"]).arg(dir.path());
    let mut process = Running(program.stdout(Stdio::piped()).spawn().unwrap());
    let lines = BufReader::new(process.0.stdout.take().unwrap()).lines().map(Result::unwrap);
    let mut urls = lines.filter_map(|line| Some(line.strip_prefix("SOLANA_RPC_URL=")?.to_owned()));
    let url = urls.next().unwrap();
    let head = json!([{"commitment": "processed"}]);
    let slot = || rpc(&url, "getSlot", &head).unwrap().as_u64().unwrap();
    let first = slot();
    assert!(eventually(|| slot() > first), "no slot after {first}");
}

/// Turns red if a chain that is started again accepts what was signed for the one before.
#[test]
fn each_start_is_another_chain() {
    let dir = tempfile::tempdir().unwrap();
    let (one, two) = (served(dir.path()), served(dir.path()));
    assert_ne!(one.devnet.genesis_hash(), two.devnet.genesis_hash());
}
