//! What `devnet near` sets up for a user.

use crate::client::rpc;
use devnet::near::serve::{Request, describe, start};
use serde_json::json;

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

/// Turns red if a chain that is started again accepts what was signed for the one before.
#[test]
fn each_start_is_another_chain() {
    let (one, two) = (start(&request(true)).unwrap(), start(&request(true)).unwrap());
    let genesis = |served: &devnet::near::serve::Served| {
        rpc(&served.devnet.urls()[0], "status", &json!([])).unwrap()["genesis_hash"].clone()
    };
    assert_ne!(genesis(&one), genesis(&two));
}
