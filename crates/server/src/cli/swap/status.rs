//! `portage swap status`: shows the vault and its chain as the server has them.

use crate::auth::Scope;
use crate::cli::exit::Fault;
use crate::cli::ops::{OpsTarget, rows};
use crate::cli::{Global, output};
use serde_json::{Value, json};

/// The vault beside its books; its chain: the lanes, the payments that have them, and the providers.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  portage swap status")]
pub(in crate::cli) struct SwapStatusArgs {
    #[command(flatten)]
    target: OpsTarget,
}

pub(super) async fn run(global: &Global, args: &SwapStatusArgs) -> Result<(), Fault> {
    let client = args.target.client(global, Scope::OpsRead)?;
    let chain = client.get("/ops/chains/SOLANA").await?;
    let vaults = client.get("/ops/vaults").await?;
    if args.target.json {
        return output::print_json(&json!({ "chain": chain, "vaults": vaults }));
    }
    print_chain(&chain)?;
    print_vaults(&vaults)?;
    let lanes = list(&chain, "lanes").iter().map(with_attempt).collect();
    let columns = ["lane", "status", "here", "last_lock", ">forms", "sent", ">age_seconds"];
    output::print(&rows(&lanes, columns))
}

/// Each vault beside its books, and what left one without an attempt.
fn print_vaults(vaults: &Value) -> Result<(), Fault> {
    let flat = |vault: &Value| {
        let mut row = vault.as_object().cloned().unwrap_or_default();
        let books = vault.get("books").and_then(Value::as_object).cloned();
        row.extend(books.unwrap_or_default());
        Value::Object(row)
    };
    let all: Value = list(vaults, "vaults").iter().map(flat).collect();
    let columns = [
        "flow",
        ">balance",
        ">inventory",
        ">reserved",
        ">owed",
        ">held",
        ">fees",
        ">difference",
        "read_to",
    ];
    output::print(&rows(&all, columns))?;
    let withdrawals: Value = list(vaults, "withdrawals").to_vec().into();
    if list(vaults, "withdrawals").is_empty() {
        return Ok(());
    }
    output::print(&rows(&withdrawals, ["chain", "transaction", "asset", ">amount", "accepted_by"]))
}

/// The lines on the chain as a whole: fees, providers, and what keeps it from being sent to.
fn print_chain(chain: &Value) -> Result<(), Fault> {
    let text = |name: &str| chain.get(name).and_then(Value::as_str).unwrap_or_default();
    let fees = match (text("balance"), text("balance_floor")) {
        ("", _) => "not known now".to_owned(),
        (balance, floor) => format!("{balance} (nothing is signed below {floor})"),
    };
    let bound = chain.get("identity").and_then(genesis);
    let bound = bound.unwrap_or_else(|| "no chain yet: nothing is signed".to_owned());
    let pairs = [("chain", text("chain")), ("SOL", &fees), ("bound to", &bound)];
    output::print(&output::pairs(&pairs))?;
    if !text("chain_unknown").is_empty() {
        output::print(&format!("what the chain has is not known now: {}", text("chain_unknown")))?;
    }
    let provider = |provider: &Value| {
        let mut row = provider.as_object().cloned().unwrap_or_default();
        let shows = provider.get("shows").and_then(genesis).unwrap_or_default();
        row.insert("shows".to_owned(), json!(shows));
        Value::Object(row)
    };
    let providers: Value = list(chain, "providers").iter().map(provider).collect();
    output::print(&rows(&providers, ["provider", "status", "shows", ">failures"]))?;
    for reason in list(chain, "paused").iter().filter_map(Value::as_str) {
        output::print(&format!("nothing is claimed or sent: {reason}"))?;
    }
    for line in list(chain, "unexplained").iter().filter_map(Value::as_str) {
        output::print(&format!("not explained: {line}"))?;
    }
    Ok(())
}

fn list<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value.get(name).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// The words for a chain; none for null.
fn genesis(identity: &Value) -> Option<String> {
    let text = |name: &str| identity.get(name).and_then(Value::as_str);
    Some(format!("{} (genesis {})", text("chain_id")?, text("genesis_hash")?))
}

/// A lane with the fields of its attempt beside its own.
fn with_attempt(lane: &Value) -> Value {
    let mut row = lane.as_object().cloned().unwrap_or_default();
    let attempt = lane.get("attempt").and_then(Value::as_object).cloned().unwrap_or_default();
    for name in ["forms", "sent", "age_seconds"] {
        row.insert(name.to_owned(), attempt.get(name).cloned().unwrap_or(Value::Null));
    }
    Value::Object(row)
}
