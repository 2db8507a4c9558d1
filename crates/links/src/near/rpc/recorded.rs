//! Tests that the adapter reads recorded answers of nodes of the network.

use super::calls::{
    BlockAt, KeyView, access_key, access_keys, account, block, chunk, chunks, code, identity,
    objection, send, transaction, validity, view,
};
use super::dialect::NearDialect;
use super::status::{ExecutionResult, FinalTransaction, StatusReply};
use crate::near::tx::{base58, from_base58};
use crate::rpc::{self, RpcCall, RpcFailure};
use devnet::near::recorded;
use serde_json::{Value, json};

/// What a call makes of a recorded body, under the number of our request.
fn read<T>(call: &RpcCall<T>, body: &str) -> Result<T, RpcFailure> {
    let mut body: Value = serde_json::from_str(body).unwrap();
    let id = "7";
    body.as_object_mut().unwrap().insert("id".to_owned(), json!(id));
    (call.read)(rpc::read(&NearDialect, 200, body.to_string().as_bytes(), id))
}

fn final_transaction(body: &str) -> FinalTransaction {
    match read(&transaction(&[1; 32], "sender.testnet"), body) {
        Ok(StatusReply::Final(found)) => *found,
        other => unreachable!("{other:?}"),
    }
}

/// Turns red where an answer before its last stage, or one without an outcome of its receipt, is believed, and where the
/// block is that of the transaction instead of that of its receipt.
#[test]
fn transactions_are_read() {
    let found = final_transaction(recorded::TRANSACTION);
    assert_eq!(found.name(), "6zgh2u9DqHHiXzdy9ouTP7oGky2T4nugqzqt9wJZwNFm");
    assert_eq!(found.signer, "sender.testnet");
    assert_eq!(found.key, "ed25519:Gowpa4kXNyTMRKgt5W7147pmcc2PxiFic8UHW9rsNvJ6");
    assert_eq!((found.nonce, found.gas_burnt), (15, 223_182_562_500));
    assert_eq!(found.result, ExecutionResult::Success);
    assert_eq!(base58(&found.block), "GgFTVr33r4MrpAiHc9mr8TZqLnpZAX1BaZTNvhBnciy2");
    let called = final_transaction(recorded::TRANSACTION_WITH_RECEIPTS);
    assert_eq!((called.nonce, called.result), (77, ExecutionResult::Success));
    assert_eq!(called.logs, ["Transferring 1000 to account @bowen"]);
    for (from, to) in [("\"FINAL\"", "\"EXECUTED\""), ("SuccessReceiptId", "Unknown")] {
        let less = recorded::TRANSACTION.replacen(from, to, 1);
        let reply = read(&transaction(&[1; 32], "sender.testnet"), &less);
        assert!(matches!(reply, Ok(StatusReply::Pending(_))), "{to}: {reply:?}");
    }
}

/// Turns red where a refusal of bytes counts as a word about their transaction.
#[test]
fn refusals_say_nothing_of_a_transaction() {
    for (body, why) in [(recorded::INVALID_NONCE, "InvalidNonce"), (recorded::EXPIRED, "Expired")] {
        assert!(matches!(read(&send(&[1]), body), Err(RpcFailure::Refused { .. })));
        let asked = read(&transaction(&[1; 32], "sender.testnet"), body);
        assert!(matches!(asked, Err(RpcFailure::Refused { .. })), "{asked:?}");
        let text = read(&objection(&[1]), body).unwrap().unwrap();
        assert!(text.contains(why), "{text}");
    }
}

#[test]
fn blocks_chunks_and_the_node_are_read() {
    let head = read(&block(BlockAt::Final), recorded::BLOCK).unwrap();
    assert_eq!(head.height, 187_310_138);
    assert_eq!(base58(&head.hash), "6RWmTYhXCzjMjoY3Mz1rfFcnBm8E6XeDDbFEPUA4sv1w");
    assert_eq!(base58(&head.before), "Wj6B3RTv73EWDNbSammRDeA9315RaPyRrJYmiP4nG4X");
    let names = read(&chunks(187_310_138), recorded::BLOCK).unwrap();
    assert_eq!(names.len(), 2, "{names:?}");
    let [found] = &read(&chunk("CzPa"), recorded::CHUNK).unwrap()[..] else { unreachable!() };
    assert_eq!(
        (found.signer.as_str(), found.nonce),
        ("account.rpc-examples.testnet", 187_309_654_000_001)
    );
    assert!(from_base58(&found.hash).is_some());
    assert_eq!(read(&validity(), recorded::PROTOCOL_CONFIG), Ok(86_400));
    let shown = read(&identity(), recorded::STATUS).unwrap();
    assert_eq!(&*shown.name, "testnet");
    assert_eq!(&*shown.genesis, "FWJ9kR6KFWoyMoNjpLXXGHeuiy7tEY6GmoFeCA5yuc6b");
}

/// Turns red where a key that may call one method counts as one that may attach deposits.
#[test]
fn keys_accounts_and_views_are_read() {
    let one = read(
        &access_key("client.chainlink.testnet", &[1; 32], BlockAt::Final),
        recorded::ACCESS_KEY,
    );
    assert_eq!(one, Ok(KeyView { height: 19_884_918, nonce: Some(85), full_access: false }));
    let all = read(&access_keys("example.testnet"), recorded::ACCESS_KEYS).unwrap();
    let full: Vec<&str> = all.names().filter(|key| all.view(key).full_access).collect();
    assert_eq!((all.height, all.names().count(), full.len()), (17_798_231, 3, 2));
    assert_eq!(
        read(&account("near.test"), recorded::ACCOUNT),
        Ok(Some(10_000_000_999_999_952_626_000_000))
    );
    assert_eq!(read(&code("near.test"), recorded::ACCOUNT), Ok(Some(false)));
    let said = read(&view("c.testnet", "get_greeting", &json!({}), BlockAt::Final), recorded::VIEW);
    assert_eq!(said, Ok(json!("Greetings from NEAR Protocol!")));
}
