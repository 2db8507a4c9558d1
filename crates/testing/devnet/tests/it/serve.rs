//! What `devnet near` sets up for a user.

use crate::client::rpc;
use devnet::near::serve::{Request, describe, start};
use serde_json::json;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

fn request(native: bool) -> Request {
    Request {
        port: None,
        endpoints: 1,
        keys: 3,
        receivers: 4,
        block_millis: 20,
        native,
        validity_period: 1_000,
        seed: None,
    }
}

/// Turns red if the relay has no tokens, lacks a key, or the receivers are all registered or none.
#[test]
fn a_user_gets_a_chain_that_is_ready() {
    for native in [false, true] {
        let served = start(&request(native)).unwrap();
        let devnet = &served.devnet;
        assert_eq!(devnet.balance(&served.token, &served.relay.account), Ok(1_000_000_000_000));
        let registered = served
            .receivers
            .iter()
            .map(|receiver| devnet.is_registered(&served.token, receiver).unwrap());
        assert_eq!(registered.collect::<Vec<_>>(), [true, false, true, false]);
        let url = &devnet.urls()[0];
        let keys = json!({
            "request_type": "view_access_key_list", "finality": "final",
            "account_id": served.relay.account,
        });
        let keys = rpc(url, "query", &keys).unwrap();
        assert_eq!(keys["keys"].as_array().unwrap().len(), 3);
        let text = describe(&served);
        for part in [url.as_str(), "usdc.devnet", "relay.devnet", &served.keys[2].key.to_string()] {
            assert!(text.contains(part), "{part} is missing in {text}");
        }
    }
}

/// A process that ends with the test, also where the test fails.
pub(crate) struct Running(pub Child);

impl Drop for Running {
    fn drop(&mut self) {
        // it may have ended by itself
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// Turns red if the program prints where it listens, and does not listen.
#[test]
fn the_program_serves_what_it_prints() {
    let mut program = Command::new(env!("CARGO_BIN_EXE_devnet"));
    program.args(["near", "--port", "0", "--endpoints", "1", "--block-millis", "20"]);
    let mut process = Running(program.stdout(Stdio::piped()).spawn().unwrap());
    let lines = BufReader::new(process.0.stdout.take().unwrap()).lines().map(Result::unwrap);
    let mut urls = lines.filter_map(|line| {
        let url = line.strip_prefix("rpc_urls = [\"")?.strip_suffix("\"]")?;
        Some(url.to_owned())
    });
    let url = urls.next().unwrap();
    let height = || {
        let status = rpc(&url, "status", &json!([])).unwrap();
        status["sync_info"]["latest_block_height"].as_u64().unwrap()
    };
    let first = height();
    // until it does, for a minute at most
    let grows = (0..6_000).any(|_| {
        std::thread::sleep(Duration::from_millis(10));
        height() > first
    });
    assert!(grows, "no block after {first}");
}

/// Turns red if a chain that is started again accepts what was signed for the one before.
#[test]
fn each_start_is_another_chain() {
    let (one, two) = (start(&request(true)).unwrap(), start(&request(true)).unwrap());
    let genesis = |served: &devnet::near::serve::Served| {
        rpc(&served.devnet.urls()[0], "status", &json!([])).unwrap()["genesis_hash"].clone()
    };
    assert_ne!(genesis(&one), genesis(&two));
}
