//! The rows of the table: what the first provider answers, method by method.

use super::End::{self, Ends, NotTwice, Waits};
use super::Lie;
use super::run::Load;
use devnet::near::near_primitives::hash::CryptoHash;
use devnet::near::near_primitives::views::{FinalExecutionStatus, TxExecutionStatus};
use devnet::near::{self, Edit, Fault, Rule};
use serde_json::{Value, json};

const PLAIN: Load = Load::Plain;
const STEADY: Load = Load::Steady;
const SPOILED: Load = Load::Spoiled;
const WALLET: Load = Load::Wallet;
const LOST: Load = Load::Lost;

const WRONG: Option<&str> = Some("WRONG_PROVIDER");
const OUTVOTED: Option<&str> = Some("PROVIDER_OUTVOTED");
/// Nothing depends on it, or the provider is silent, which is its health and no case.
const UNNAMED: Option<&str> = None;

/// A method with its ends for the lies of [`any_method`].
type AnyMethod = (&'static str, [End; 4], [End; 4]);

/// Each method that the adapter calls, as `devnet` names what it asks.
#[rustfmt::skip]
const METHODS: [AnyMethod; 15] = [
    ("send_tx", [Ends, NotTwice, NotTwice, Waits], [Ends, Ends, Ends, Ends]),
    ("tx", [Waits, Waits, Waits, Waits], [Waits, Waits, Waits, Waits]),
    ("query view_access_key", [NotTwice, NotTwice, NotTwice, NotTwice], [Waits, Waits, Waits, Ends]),
    ("query view_access_key_list", [Waits, Waits, Waits, Waits], [Waits, Waits, Waits, Waits]),
    ("query view_account", [Waits, Waits, Waits, Waits], [Waits, Waits, Waits, Waits]),
    ("query call_function storage_balance_of", [Waits, Waits, Waits, Ends], [Ends, Ends, Ends, Ends]),
    ("query call_function storage_balance_bounds", [Waits, Waits, Waits, Waits], [Waits, Waits, Waits, Ends]),
    ("query call_function ft_balance_of", [Waits, Waits, Waits, Waits], [Ends, Ends, Ends, Ends]),
    ("query call_function ft_metadata", [Ends, Ends, Ends, Ends], [Ends, Ends, Ends, Ends]),
    ("block final", [Waits, Waits, Waits, Waits], [Ends, Ends, Ends, Ends]),
    ("block hash", [Waits, Waits, Waits, Waits], [Waits, Waits, Waits, Waits]),
    ("block height", [NotTwice, NotTwice, NotTwice, NotTwice], [Waits, Waits, Waits, Ends]),
    ("chunk", [NotTwice, NotTwice, NotTwice, NotTwice], [Waits, Waits, Waits, Ends]),
    ("status", [Waits, Waits, Waits, Ends], [Waits, Waits, Waits, Ends]),
    ("EXPERIMENTAL_protocol_config", [Ends, Ends, Ends, Ends], [Ends, Ends, Ends, Ends]),
];

/// A hash of no block.
const NO_BLOCK: &str = "1thX6LZfHDZZKUs92febYZhYRcXddmzfzF2NvTkPNE";

/// The rows of the table.
pub(super) fn rows() -> Vec<Lie> {
    let mut rows = whole();
    rows.extend(METHODS.into_iter().flat_map(any_method));
    rows.extend(transactions());
    rows.extend(failures());
    rows.extend(keys());
    rows.extend(accounts());
    rows.extend(views());
    rows.extend(blocks());
    rows.extend(chain());
    rows
}

/// The ends of a row: of one of one, of one of two, and what names it as one of three.
type Ended = (End, End, Option<&'static str>);

fn row(
    method: &'static str,
    lie: &'static str,
    fault: Fault,
    load: Load,
    (alone, of_two, named): Ended,
) -> Lie {
    let rules = vec![Rule::always(fault)];
    let rules = match method {
        "any" => rules,
        method => rules.into_iter().map(|rule| rule.on(&[method])).collect(),
    };
    Lie { method, lie, rules, of_method: true, load, alone, of_two, named }
}

fn refused(name: &str) -> Fault {
    near::Lie::Refused { name: name.to_owned() }.into()
}

fn edited<const N: usize>(edits: [Edit; N]) -> Fault {
    Fault::Edited { edits: edits.into() }
}

fn set(at: &str, value: Value) -> Fault {
    edited([Edit::set(at, value)])
}

fn add(at: &str, amount: i64) -> Fault {
    edited([Edit::add(at, amount)])
}

/// The result of a view: its bytes.
fn returns(json: &str) -> Fault {
    set("/result", json!(json.as_bytes()))
}

fn garbage() -> Fault {
    Fault::Answer { code: 200, body: json!("garbage") }
}

/// What befalls every method of a provider at once.
fn whole() -> Vec<Lie> {
    let of = |lie, fault, ended| row("any", lie, fault, PLAIN, ended);
    vec![
        of("takes no connection", Fault::Refuse, (Waits, Waits, UNNAMED)),
        of("does as it is asked and does not answer", Fault::DropReply, (Waits, Waits, UNNAMED)),
        of("HTTP 503", Fault::Status { code: 503 }, (Waits, Waits, UNNAMED)),
        of("garbage", garbage(), (Waits, Waits, UNNAMED)),
        of("5 blocks behind", Fault::Stale { blocks: 5 }, (Ends, Ends, UNNAMED)),
        of("200 blocks behind", Fault::Stale { blocks: 200 }, (Waits, Waits, UNNAMED)),
    ]
}

/// What may be wrong with the answer to any method, and the ends of each for one of one and one of two.
fn any_method((method, alone, of_two): AnyMethod) -> Vec<Lie> {
    let load = match method {
        "query view_access_key" | "block height" | "chunk" => WALLET,
        _ => PLAIN,
    };
    let lies = [
        ("no answer", Fault::DropReply),
        ("an error", refused("INTERNAL_ERROR")),
        ("garbage", garbage()),
        ("20 blocks behind", Fault::Stale { blocks: 20 }),
    ];
    let ends = alone.into_iter().zip(of_two);
    let rows = lies.into_iter().zip(ends).map(|((lie, fault), (alone, of_two))| {
        let row = row(method, lie, fault, load, (alone, of_two, UNNAMED));
        Lie { of_method: false, ..row }
    });
    rows.collect()
}

fn transactions() -> Vec<Lie> {
    let ended =
        |status| Fault::Lie(near::Lie::Outcome { status, execution: TxExecutionStatus::Final });
    let success = FinalExecutionStatus::SuccessValue(Vec::new());
    let failure = json!({"Failure": {"ActionError": {
        "index": 0, "kind": {"FunctionCallError": {"ExecutionError": "Smart contract panicked: no"}},
    }}});
    let failed = edited([
        Edit::set("/status", failure.clone()),
        Edit::set("/receipts_outcome/0/outcome/status", failure),
        Edit::set("/receipts_outcome/0/outcome/logs", json!([])),
    ]);
    let event = |text: &str| format!("EVENT_JSON:{text}");
    let stolen = event(
        r#"{"standard":"nep141","version":"1.0.0","event":"ft_transfer","data":[{"old_owner_id":"relay.devnet","new_owner_id":"stranger.devnet","amount":"1"}]}"#,
    );
    let at = "/receipts_outcome/0/outcome/logs";
    let of = |method, lie, fault, ended| row(method, lie, fault, PLAIN, ended);
    let tx = |lie, fault, ended| of("tx", lie, fault, ended);
    vec![
        of("send_tx", "takes it and drops it", Fault::Withhold, (NotTwice, Ends, UNNAMED)),
        of("send_tx", "invalid", refused("INVALID_TRANSACTION"), (NotTwice, Ends, UNNAMED)),
        of("send_tx", "a timeout", near::Lie::Timeout.into(), (Ends, Ends, UNNAMED)),
        tx("shows it as unknown", near::Lie::Unknown.into(), (Waits, Waits, UNNAMED)),
        tx("invalid", refused("INVALID_TRANSACTION"), (Waits, Waits, UNNAMED)),
        tx("what succeeded failed", failed, (Waits, Waits, OUTVOTED)),
        tx("it hides the logs", near::Lie::Silent.into(), (NotTwice, Waits, OUTVOTED)),
        tx("it invents logs", set(at, json!([stolen])), (NotTwice, Waits, OUTVOTED)),
        tx(
            "never final",
            set("/final_execution_status", json!("INCLUDED")),
            (Waits, Waits, UNNAMED),
        ),
        tx("final at once", set("/final_execution_status", json!("FINAL")), (Ends, Ends, UNNAMED)),
        tx(
            "in another block",
            set("/receipts_outcome/0/block_hash", json!(NO_BLOCK)),
            (Waits, Waits, OUTVOTED),
        ),
        tx("other gas", add("/receipts_outcome/0/outcome/gas_burnt", 1), (Ends, Waits, OUTVOTED)),
        tx("another nonce", add("/transaction/nonce", 1), (Waits, Waits, OUTVOTED)),
        row("tx", "what was lost succeeded", ended(success), LOST, (NotTwice, Ends, UNNAMED)),
    ]
}

/// What is said of transactions that failed.
fn failures() -> Vec<Lie> {
    let both = |inner: &str, value: &Value| {
        let at = [format!("/status{inner}"), format!("/receipts_outcome/0/outcome/status{inner}")];
        Fault::Edited { edits: at.iter().map(|at| Edit::set(at, value.clone())).collect() }
    };
    let text = "/Failure/ActionError/kind/FunctionCallError/ExecutionError";
    let of = |lie, fault, ended| row("tx", lie, fault, SPOILED, ended);
    let success = json!({"SuccessValue": ""});
    vec![
        of("what failed succeeded", both("", &success), (NotTwice, Waits, OUTVOTED)),
        of(
            "another action failed",
            both("/Failure/ActionError/index", &json!(1)),
            (NotTwice, Waits, OUTVOTED),
        ),
        of(
            "the contract is paused",
            both(text, &json!("Smart contract panicked: the token is paused")),
            (NotTwice, Waits, OUTVOTED),
        ),
        of(
            "out of gas",
            both(text, &json!("Exceeded the prepaid gas.")),
            (NotTwice, Waits, OUTVOTED),
        ),
        of(
            "the sender has too little",
            both(text, &json!("Smart contract panicked: The account doesn't have enough balance")),
            (NotTwice, Waits, OUTVOTED),
        ),
    ]
}

fn keys() -> Vec<Lie> {
    let (key, list) = ("query view_access_key", "query view_access_key_list");
    let nonces = "/keys/*/access_key/nonce";
    let restricted =
        json!({"FunctionCall": {"allowance": null, "receiver_id": "x", "method_names": []}});
    let of = |method, lie, fault, ended| {
        let load = if method == key { WALLET } else { PLAIN };
        row(method, lie, fault, load, ended)
    };
    vec![
        of(key, "a nonce that is 1 higher", add("/nonce", 1), (NotTwice, Waits, UNNAMED)),
        of(key, "a nonce that is 1000 higher", add("/nonce", 1_000), (NotTwice, Waits, UNNAMED)),
        of(key, "a nonce that is 1 lower", add("/nonce", -1), (NotTwice, Waits, UNNAMED)),
        of(key, "no such key", refused("UNKNOWN_ACCESS_KEY"), (NotTwice, Waits, UNNAMED)),
        of(key, "a restricted key", set("/permission", restricted), (NotTwice, Waits, UNNAMED)),
        of(list, "nonces that are 1 higher", add(nonces, 1), (NotTwice, Waits, OUTVOTED)),
        of(list, "nonces that are 1000 higher", add(nonces, 1_000), (NotTwice, Waits, OUTVOTED)),
        of(list, "nonces that are 1 lower", add(nonces, -1), (NotTwice, Waits, UNNAMED)),
        of(list, "no keys", set("/keys", json!([])), (Waits, Waits, OUTVOTED)),
        of(list, "at a block far ahead", add("/block_height", 1_000_000), (Ends, Ends, UNNAMED)),
    ]
}

fn accounts() -> Vec<Lie> {
    let of = |lie, fault, ended| row("query view_account", lie, fault, PLAIN, ended);
    vec![
        of("no such account", refused("UNKNOWN_ACCOUNT"), (NotTwice, Waits, OUTVOTED)),
        row(
            "query view_account",
            "no NEAR",
            set("/amount", json!("0")),
            STEADY,
            (Waits, Ends, OUTVOTED),
        ),
        of(
            "much NEAR",
            set("/amount", json!("1000000000000000000000000000000")),
            (Ends, Ends, UNNAMED),
        ),
        of(
            "no code",
            set("/code_hash", json!("11111111111111111111111111111111")),
            (Ends, Ends, UNNAMED),
        ),
    ]
}

fn views() -> Vec<Lie> {
    let registered = "query call_function storage_balance_of";
    let bounds = "query call_function storage_balance_bounds";
    let balance = "query call_function ft_balance_of";
    let metadata = "query call_function ft_metadata";
    let of = |method, lie, fault, ended| row(method, lie, fault, PLAIN, ended);
    vec![
        of(
            registered,
            "each is registered",
            returns(r#"{"total":"1250000000000000000000","available":"0"}"#),
            (NotTwice, Ends, UNNAMED),
        ),
        of(registered, "none is registered", returns("null"), (NotTwice, Waits, UNNAMED)),
        of(
            bounds,
            "a deposit of 1",
            returns(r#"{"min":"1","max":"1"}"#),
            (NotTwice, Waits, UNNAMED),
        ),
        of(
            bounds,
            "a huge deposit",
            returns(r#"{"min":"1000000000000000000000000","max":null}"#),
            (Waits, Waits, UNNAMED),
        ),
        row(balance, "nothing", returns(r#""0""#), STEADY, (Waits, Ends, OUTVOTED)),
        of(
            balance,
            "a huge balance",
            returns(r#""1000000000000000000000000""#),
            (Ends, Ends, UNNAMED),
        ),
        of(
            metadata,
            "other decimals",
            returns(r#"{"spec":"ft-1.0.0","name":"x","symbol":"x","decimals":18}"#),
            (Ends, Ends, UNNAMED),
        ),
    ]
}

fn blocks() -> Vec<Lie> {
    let (last, named, at) = ("block final", "block hash", "block height");
    let hash = || set("/header/hash", json!(NO_BLOCK));
    let time = |ns: &str| {
        let number: u64 = ns.parse().unwrap();
        edited([
            Edit::set("/header/timestamp_nanosec", json!(ns)),
            Edit::set("/header/timestamp", json!(number)),
        ])
    };
    let of = |method, lie, fault, load, ended| row(method, lie, fault, load, ended);
    let transaction = |field: &str, value| set(&format!("/transactions/0/{field}"), value);
    vec![
        of(last, "a hash of no block", hash(), PLAIN, (Waits, Waits, OUTVOTED)),
        of(last, "far ahead", add("/header/height", 1_000_000), PLAIN, (Ends, Waits, OUTVOTED)),
        of(last, "a little ahead", add("/header/height", 3), PLAIN, (Ends, Ends, UNNAMED)),
        of(last, "far behind", add("/header/height", -500), PLAIN, (Waits, Ends, UNNAMED)),
        of(last, "of 2025", time("1735689600000000000"), PLAIN, (Ends, Ends, UNNAMED)),
        of(last, "of 2100", time("4102444800000000000"), PLAIN, (Ends, Ends, UNNAMED)),
        of(named, "another height", add("/header/height", 7), PLAIN, (Waits, Waits, OUTVOTED)),
        of(named, "of 2025", time("1735689600000000000"), PLAIN, (Ends, Waits, OUTVOTED)),
        of(at, "a hash of no block", hash(), WALLET, (NotTwice, Waits, UNNAMED)),
        of(at, "no chunks", set("/chunks", json!([])), WALLET, (NotTwice, Waits, UNNAMED)),
        of(
            "chunk",
            "no transactions",
            set("/transactions", json!([])),
            WALLET,
            (NotTwice, Waits, UNNAMED),
        ),
        of(
            "chunk",
            "another transaction",
            transaction("hash", json!(NO_BLOCK)),
            WALLET,
            (NotTwice, Waits, UNNAMED),
        ),
        of(
            "chunk",
            "another nonce",
            edited([Edit::add("/transactions/0/nonce", 7)]),
            WALLET,
            (NotTwice, Waits, UNNAMED),
        ),
    ]
}

fn chain() -> Vec<Lie> {
    let config = "EXPERIMENTAL_protocol_config";
    let validity = |blocks: u64| set("/transaction_validity_period", json!(blocks));
    let other = |chain_id: &str| {
        Fault::Lie(near::Lie::OtherChain {
            chain_id: chain_id.to_owned(),
            genesis_hash: CryptoHash::hash_bytes(b"another chain"),
        })
    };
    let of = |method, lie, fault, ended| row(method, lie, fault, PLAIN, ended);
    vec![
        of("status", "another network", other("mainnet"), (Waits, Waits, WRONG)),
        of("status", "another first block", other("portage-devnet"), (NotTwice, Waits, WRONG)),
        of(config, "a validity of 1 block", validity(1), (Ends, Ends, UNNAMED)),
        of(config, "a validity of no block", validity(0), (Ends, Ends, UNNAMED)),
        of(config, "a huge validity", validity(1_000_000_000), (Ends, Ends, UNNAMED)),
    ]
}
