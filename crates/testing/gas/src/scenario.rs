//! The receipts that are executed on both sides, in order: each finds the contract as the one before left it.

use crate::receipt::Call;
use crate::relay::attached;
use serde_json::{Value, json};

/// Who sends a receipt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Caller {
    /// The account that may mint.
    Owner,
    /// The account that pays.
    Relay,
}

/// How near the gas of both sides has to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Nearness {
    /// The same to the last unit: the contract executes nothing, or all of the gas.
    Equal,
    /// Within the tolerance of the campaign.
    Near,
    /// Within a tenth: nearly all of the gas is the contract's own loops.
    Rough,
}

/// One receipt and what is asked of it.
#[derive(Debug, Clone)]
pub(crate) struct Step {
    pub(crate) name: &'static str,
    pub(crate) caller: Caller,
    pub(crate) calls: Vec<Call>,
    pub(crate) nearness: Nearness,
    /// The relay sends such a receipt: what it attaches must be enough.
    pub(crate) of_relay: bool,
    /// Whether it succeeds, so that a scenario that tests nothing is seen.
    pub(crate) succeeds: bool,
}

/// Gas that is enough for any of these calls.
const PLENTY: u64 = 100_000_000_000_000;
/// What a contract of the standards crate asks for an account, in yoctoNEAR: 125 bytes.
const PRICE: u128 = 1_250_000_000_000_000_000_000;
/// Thirty-eight digits: as long as an amount gets.
const LONG: &str = "10000000000000000000000000000000000000";
/// A receiver as long as an account id gets.
const LONGEST: &str = "f1e2d3c4b5a697887766554433221100f1e2d3c4b5a697887766554433221100";
/// A memo as the relay writes it: the 26 characters of a transfer's id.
const MEMO: &str = "01ARZ3NDEKTSV4RRFFQ69G5FAV";

pub(crate) fn steps() -> Vec<Step> {
    [set_up(), registrations(), payments(), views(), refusals(), too_little_gas()].concat()
}

/// The views, which are also run as a node runs them: without a transaction.
pub(crate) fn views_alone() -> Vec<Call> {
    views().into_iter().flat_map(|step| step.calls).collect()
}

pub(crate) fn payment(receiver: &str, amount: &str, gas: u64) -> Call {
    let args = json!({ "receiver_id": receiver, "amount": amount, "memo": MEMO });
    call("ft_transfer", args, gas, 1)
}

pub(crate) fn registration(account: &str, gas: u64) -> Call {
    let args = json!({ "account_id": account, "registration_only": true });
    call("storage_deposit", args, gas, PRICE)
}

pub(crate) fn mint() -> Call {
    let supply = json!({ "account_id": "relay.devnet", "amount": format!("{LONG}0") });
    call("mint", supply, PLENTY, 0)
}

fn set_up() -> Vec<Step> {
    let token =
        json!({ "owner_id": "owner.devnet", "name": "Dollar", "symbol": "USDC", "decimals": 6 });
    let owner = |step: Step| Step { caller: Caller::Owner, ..step };
    vec![
        owner(near("new", vec![call("new", token.clone(), PLENTY, 0)])),
        owner(refused("new, twice", vec![call("new", token, PLENTY, 0)])),
        owner(near("mint", vec![mint()])),
    ]
}

fn registrations() -> Vec<Step> {
    let many = (0..100).map(|n| registration(&numbered(n), attached(100))).collect();
    vec![
        of_relay("storage_deposit", vec![registration("alice.devnet", attached(1))]),
        of_relay("storage_deposit, repeated", vec![registration("alice.devnet", attached(1))]),
        of_relay("storage_deposit, longest name", vec![registration(LONGEST, attached(1))]),
        of_relay("storage_deposit × 100", many),
    ]
}

fn payments() -> Vec<Step> {
    let pay = |receiver: &str, calls| payment(receiver, "7", attached(calls));
    let memo = json!({ "receiver_id": "alice.devnet", "amount": "7", "memo": "x".repeat(8_000) });
    let long_memo = call("ft_transfer", memo, PLENTY, 1);
    let hundred = |n: u64| if n.is_multiple_of(2) { LONGEST.to_owned() } else { numbered(n) };
    let many = (0..100).map(|n| payment(&hundred(n), "123456789", attached(100))).collect();
    vec![
        of_relay("ft_transfer", vec![pay("alice.devnet", 1)]),
        of_relay("ft_transfer, longest", vec![payment(LONGEST, LONG, attached(1))]),
        Step { nearness: Nearness::Rough, ..near("ft_transfer, memo of 8 KB", vec![long_memo]) },
        of_relay("ft_transfer × 5", (0..5).map(|n| pay(&numbered(n), 5)).collect()),
        of_relay("ft_transfer × 100", many),
    ]
}

fn views() -> Vec<Step> {
    let of = |account: &str| json!({ "account_id": account });
    let view = |name, method, args| near(name, vec![call(method, args, PLENTY, 0)]);
    vec![
        view("ft_balance_of", "ft_balance_of", of("relay.devnet")),
        view("ft_balance_of, unknown", "ft_balance_of", of("stranger.devnet")),
        view("storage_balance_of", "storage_balance_of", of("alice.devnet")),
        view("storage_balance_of, unknown", "storage_balance_of", of("stranger.devnet")),
        view("storage_balance_bounds", "storage_balance_bounds", json!({})),
        view("ft_metadata", "ft_metadata", json!({})),
    ]
}

fn refusals() -> Vec<Step> {
    let gas = attached(1);
    let pay = |receiver, amount| payment(receiver, amount, gas);
    let free = |call: Call| Call { deposit: 0, ..call };
    let second = ["alice.devnet", "stranger.devnet", "alice.devnet"];
    let second = second.map(|to| payment(to, "1", attached(3)));
    vec![
        refused("receiver not registered", vec![pay("stranger.devnet", "1")]),
        refused("no yocto attached", vec![free(pay("alice.devnet", "1"))]),
        refused("balance too short", vec![pay("alice.devnet", &format!("{LONG}1"))]),
        refused("to itself", vec![pay("relay.devnet", "1")]),
        refused("amount of zero", vec![pay("alice.devnet", "0")]),
        refused("no account id", vec![pay("Alice!", "1")]),
        refused("deposit too small", vec![free(registration("bob.devnet", gas))]),
        refused("second of three refused", second.to_vec()),
    ]
}

fn too_little_gas() -> Vec<Step> {
    let equal = |name, calls| Step { nearness: Nearness::Equal, ..refused(name, calls) };
    vec![
        equal("no such method", vec![call("ft_burn", json!({}), PLENTY, 0)]),
        equal("gas 1", vec![payment("alice.devnet", "1", 1)]),
        equal("ft_transfer, 0.3 TGas", vec![payment("alice.devnet", "1", 300_000_000_000)]),
        equal("storage_deposit, 0.3 TGas", vec![registration("bob.devnet", 300_000_000_000)]),
    ]
}

fn near(name: &'static str, calls: Vec<Call>) -> Step {
    let (caller, nearness) = (Caller::Relay, Nearness::Near);
    Step { name, caller, calls, nearness, of_relay: false, succeeds: true }
}

fn of_relay(name: &'static str, calls: Vec<Call>) -> Step {
    Step { of_relay: true, ..near(name, calls) }
}

fn refused(name: &'static str, calls: Vec<Call>) -> Step {
    Step { succeeds: false, ..near(name, calls) }
}

fn call(method: &'static str, args: Value, gas: u64, deposit: u128) -> Call {
    Call { method, args, gas, deposit }
}

fn numbered(n: u64) -> String {
    format!("receiver-{n}.devnet")
}
