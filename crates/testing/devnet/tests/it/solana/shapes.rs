//! The wire: every answer is read by the types of a node's own release and written again without a change, and has the
//! fields that a node was documented to show.

use super::world::{SUPPLY, World, signature};
use crate::client::rpc;
use crate::shapes::holds;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use solana_account_decoder_client_types::{UiAccount, token::UiTokenAmount};
use solana_rpc_client_types::response::{
    Response, RpcBlockhash, RpcConfirmedTransactionStatusWithSignature, RpcPrioritizationFee,
    RpcSimulateTransactionResult, RpcVersionInfo,
};
use solana_transaction_status_client_types::{
    EncodedConfirmedTransactionWithStatusMeta, TransactionStatus,
};

/// Reads an answer as this type and writes it again: turns red if a field is missing, has another name, or is unknown.
fn same<T: DeserializeOwned + Serialize>(answer: &Value) -> T {
    let read: T =
        serde_json::from_value(answer.clone()).unwrap_or_else(|error| panic!("{error}: {answer}"));
    assert_eq!(serde_json::to_value(&read).unwrap(), *answer);
    read
}

fn ask(world: &World, method: &str, params: &Value) -> Value {
    rpc(&world.url, method, params).unwrap()
}

/// A chain with a payment of the vault and its signature.
fn paid() -> (World, String) {
    let world = World::manual();
    let paid = world.payout(world.lock(), 3);
    world.send(&paid, false).unwrap();
    world.devnet.settle();
    let id = signature(&paid).to_string();
    (world, id)
}

/// Turns red if what a node says of itself and its blocks has another shape.
#[test]
fn the_node_and_its_blocks() {
    let (world, _) = paid();
    assert_eq!(ask(&world, "getHealth", &json!([])), json!("ok"));
    same::<RpcVersionInfo>(&ask(&world, "getVersion", &json!([])));
    let genesis = ask(&world, "getGenesisHash", &json!([]));
    assert_eq!(genesis.as_str().unwrap().parse(), Ok(world.devnet.genesis_hash()));
    let latest = same::<Response<RpcBlockhash>>(&ask(&world, "getLatestBlockhash", &json!([])));
    assert_eq!(latest.value.last_valid_block_height, world.devnet.final_height() + 150);
    let rent = ask(&world, "getMinimumBalanceForRentExemption", &json!([80]));
    assert_eq!(rent, json!(1_447_680));
    assert_eq!(ask(&world, "getMinimumBalanceForRentExemption", &json!([165])), json!(2_039_280));
    assert!(ask(&world, "getBlockTime", &json!([ask(&world, "getSlot", &json!([]))])).is_i64());
}

/// Turns red if an account, a balance or an absent account has another shape.
#[test]
fn accounts_and_balances() {
    let (world, _) = paid();
    let (vault, account) = (world.vault.address().to_string(), world.account.to_string());
    let base64 = json!({"encoding": "base64"});
    let one = ask(&world, "getAccountInfo", &json!([account, base64]));
    let one = same::<Response<Option<UiAccount>>>(&one).value.unwrap();
    assert_eq!((one.space, one.lamports), (Some(165), 2_039_280));
    let nothing = devnet::solana::Wallet::derived("no account").address().to_string();
    let asked = json!([[vault, nothing, account], base64]);
    let several = ask(&world, "getMultipleAccounts", &asked);
    let several = same::<Response<Vec<Option<UiAccount>>>>(&several).value;
    assert_eq!(several.iter().map(Option::is_some).collect::<Vec<_>>(), [true, false, true]);
    let slice = json!([account, {"encoding": "base58", "dataSlice": {"offset": 64, "length": 8}}]);
    let slice = same::<Response<UiAccount>>(&ask(&world, "getAccountInfo", &slice)).value;
    assert_eq!(slice.data.decode().unwrap(), (SUPPLY - 3).to_le_bytes());
    let legacy = ask(&world, "getAccountInfo", &json!([vault]));
    assert_eq!(legacy["value"]["data"], json!(""), "without an encoding: base 58 in one text");
    let program = devnet::solana::TOKEN_PROGRAM.to_string();
    let program = ask(
        &world,
        "getAccountInfo",
        &json!([program, {"encoding": "base64", "dataSlice": {"offset": 0, "length": 0}}]),
    );
    assert_eq!(program["value"]["executable"], json!(true));
    let lamports = same::<Response<u64>>(&ask(&world, "getBalance", &json!([vault]))).value;
    assert_eq!(lamports, world.devnet.lamports(&world.vault.address()));
    let amount = ask(&world, "getTokenAccountBalance", &json!([account]));
    let amount = same::<Response<UiTokenAmount>>(&amount).value;
    assert_eq!((amount.amount.as_str(), amount.ui_amount_string.as_str()), ("999997", "0.999997"));
}

/// Turns red if a transaction has another shape in one of its encodings.
#[test]
fn transactions() {
    let (world, id) = paid();
    let asked = json!([id, {"encoding": "json", "maxSupportedTransactionVersion": 0}]);
    let shown = ask(&world, "getTransaction", &asked);
    same::<EncodedConfirmedTransactionWithStatusMeta>(&shown);
    let instruction = json!({"programIdIndex": 1, "accounts": [1], "data": "x", "stackHeight": 1});
    let balance = json!({"accountIndex": 1, "mint": "x", "owner": "x", "programId": "x",
        "uiTokenAmount": {"amount": "1", "decimals": 6, "uiAmount": 0.1, "uiAmountString": "0.1"}});
    let documented = json!({
        "slot": 1, "blockTime": 1, "version": "legacy",
        "transaction": {"signatures": ["x"], "message": {
            "header": {"numRequiredSignatures": 1, "numReadonlySignedAccounts": 1, "numReadonlyUnsignedAccounts": 1},
            "accountKeys": ["x"], "recentBlockhash": "x", "instructions": [instruction],
        }},
        "meta": {"err": null, "status": {"Ok": null}, "fee": 1, "preBalances": [1], "postBalances": [1],
            "preTokenBalances": [balance], "postTokenBalances": [balance], "innerInstructions": [],
            "logMessages": ["x"], "rewards": [], "loadedAddresses": {"writable": [], "readonly": []},
            "computeUnitsConsumed": 1},
    });
    holds(&documented, &shown, "").unwrap();
    let old = ask(&world, "getTransaction", &json!([id, "json"]));
    same::<EncodedConfirmedTransactionWithStatusMeta>(&old);
    assert_eq!(old.get("version"), None, "a client that names no version is shown none");
    assert_eq!(old["meta"].get("loadedAddresses"), None);
    let text = ask(&world, "getTransaction", &json!([id, {"encoding": "base64"}]));
    let text = same::<EncodedConfirmedTransactionWithStatusMeta>(&text);
    let bytes = text.transaction.transaction.decode().unwrap();
    assert_eq!(bytes.signatures[0].to_string(), id);
    let parsed = json!([id, {"encoding": "jsonParsed"}]);
    let refused =
        super::world::refused(&crate::client::raw(&world.url, "getTransaction", &parsed).unwrap());
    assert_eq!(refused.0, -32602, "no other form than those that an adapter reads");
}

/// Turns red if a status or an entry of a history has another shape, of success or of failure.
#[test]
fn statuses_and_histories() {
    let (world, id) = paid();
    let failing = world.payout(world.lock(), SUPPLY);
    world.send(&failing, true).unwrap();
    world.devnet.advance(2);
    let failed = signature(&failing).to_string();
    let asked = json!([[id, failed, "1".repeat(64)]]);
    let statuses = ask(&world, "getSignatureStatuses", &asked);
    let statuses = same::<Response<Vec<Option<TransactionStatus>>>>(&statuses).value;
    assert_eq!(statuses.iter().map(Option::is_some).collect::<Vec<_>>(), [true, true, false]);
    assert!(statuses[1].as_ref().unwrap().err.is_some());
    let page = json!([world.account.to_string(), {"commitment": "confirmed", "limit": 2}]);
    let page = ask(&world, "getSignaturesForAddress", &page);
    let entries = same::<Vec<RpcConfirmedTransactionStatusWithSignature>>(&page);
    assert_eq!(entries.iter().map(|entry| &entry.signature).collect::<Vec<_>>(), [&failed, &id]);
    let documented = json!({"signature": "x", "slot": 1, "err": null, "memo": null, "blockTime": 1,
        "confirmationStatus": "finalized"});
    holds(&documented, &page[1], "").unwrap();
    assert_eq!(page[0]["err"], json!({"InstructionError": [1, {"Custom": 1}]}));
}

/// Turns red if the price of a block is not that of its transactions, or of those that write an account.
#[test]
fn prioritization_fees() {
    let world = World::manual();
    let budget =
        solana_address::Address::from_str_const("ComputeBudget111111111111111111111111111111");
    let mut data = vec![3];
    data.extend(70_u64.to_le_bytes());
    let price = solana_instruction::Instruction::new_with_bytes(budget, &data, vec![]);
    let pays = world.devnet.payment(&world.vault, &world.alices, 1).unwrap();
    let before = world.devnet.lamports(&world.vault.address());
    let paid = world.form(world.lock(), &[price, pays]);
    world.send(&paid, false).unwrap();
    world.devnet.advance(1);
    assert!(world.devnet.lamports(&world.vault.address()) < before - 5_000, "the price is paid");
    let fees = ask(&world, "getRecentPrioritizationFees", &json!([[world.account.to_string()]]));
    let fees = same::<Vec<RpcPrioritizationFee>>(&fees);
    assert_eq!(fees.last().unwrap().prioritization_fee, 70);
    let all =
        same::<Vec<RpcPrioritizationFee>>(&ask(&world, "getRecentPrioritizationFees", &json!([])));
    assert!(all.iter().any(|fee| fee.prioritization_fee == 0));
}

/// Turns red if a failed preflight has another shape.
#[test]
fn a_failed_preflight() {
    let world = World::manual();
    let sent = world.send(&world.payout(world.lock(), SUPPLY * 2), false).unwrap();
    let data = sent.body.pointer("/error/data").unwrap();
    let result = same::<RpcSimulateTransactionResult>(data);
    assert!(result.logs.unwrap().iter().any(|line| line.contains("Program Tokenkeg")));
    assert!(result.err.is_some());
}
