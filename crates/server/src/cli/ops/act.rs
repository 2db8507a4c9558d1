//! What an operator does. Each command is one action in the audit, with its reason.

use super::super::exit::Fault;
use super::super::{Global, show};
use super::{Desk, escaped, fields, usage};
use crate::auth::Scope;
use client::Method;
use serde_json::{Value, json};

/// Why, and under which key.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Why {
    /// Why, for the audit.
    #[arg(long)]
    reason: String,
    /// The same action under the same key is done once; one is made where none is given.
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
    #[command(flatten)]
    desk: Desk,
}

/// One transfer.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  portage ops retry 01JFVQ2X8Z0Y1M3N4P5R6S7T8V --reason \"the ledger is back\"\n  portage ops ask 01JFVQ2X8Z0Y1M3N4P5R6S7T8V --reason \"ticket 4711\"\n  portage ops hold 01JFVQ2X8Z0Y1M3N4P5R6S7T8V --reason \"ticket 4711\"\n  portage ops release 01JFVQ2X8Z0Y1M3N4P5R6S7T8V --reason \"ticket 4711\""
)]
pub(in crate::cli) struct Steer {
    /// The transfer.
    id: String,
    #[command(flatten)]
    why: Why,
}

/// Propose an answer to a transfer's open call; another person approves, and the ledger must bear
/// it out.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  portage ops resolve 01JFVQ2X8Z0Y1M3N4P5R6S7T8V --answer rejected --evidence \"ticket=4711\" --reason \"never arrived\""
)]
pub(in crate::cli) struct Resolve {
    /// The transfer.
    id: String,
    /// `done`, `rejected` or `dead`.
    #[arg(long)]
    answer: String,
    /// What bears it out, as `name=text`; may be given many times.
    #[arg(long, value_name = "NAME=TEXT")]
    evidence: Vec<String>,
    #[command(flatten)]
    why: Why,
}

/// Another person's decision.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  portage ops approve 01JFVQ2X8Z0Y1M3N4P5R6S7T8V --as second --reason \"seen in the statement\"\n  portage ops reject 01JFVQ2X8Z0Y1M3N4P5R6S7T8V --as second --reason \"wait for the ledger\""
)]
pub(in crate::cli) struct Decide {
    /// The approval.
    id: String,
    #[command(flatten)]
    why: Why,
}

/// Stop all money, until two persons resume.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  portage ops halt --reason \"numbers do not add up\"")]
pub(in crate::cli) struct Halt {
    #[command(flatten)]
    why: Why,
}

/// Propose that money moves again; another person approves.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  portage ops resume --accept \"FUNDING/3/clearing=-1500000\" --reason \"explained in ticket 4711\""
)]
pub(in crate::cli) struct Resume {
    /// A break of conservation that is accepted, as `key=amount` from `portage check`.
    #[arg(long, value_name = "KEY=AMOUNT")]
    accept: Vec<String>,
    #[command(flatten)]
    why: Why,
}

/// Hold a flow, a ledger, an asset or an account where it stands.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  portage ops pause ledger SPOT --reason \"maintenance\"\n  portage ops pause account 4001/SPOT --reason \"ticket 4711\""
)]
pub(in crate::cli) struct NewPause {
    /// `flow`, `ledger`, `asset` or `account`.
    kind: String,
    /// Which one: `internal`, `SPOT`, `USDT`, `4001/SPOT`.
    name: String,
    #[command(flatten)]
    why: Why,
}

/// Lift a pause.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  portage ops unpause 3 --reason \"maintenance is over\"")]
pub(in crate::cli) struct Unpause {
    /// The pause.
    id: u64,
    #[command(flatten)]
    why: Why,
}

/// Freeze, disable or free an account.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  portage ops account 4001 SPOT FROZEN --reason \"court order 12\""
)]
pub(in crate::cli) struct Account {
    /// Whose.
    user: u64,
    /// The account type.
    account: String,
    /// `ACTIVE`, `FROZEN` (receives, does not pay) or `DISABLED`.
    status: String,
    #[command(flatten)]
    why: Why,
}

/// Add an asset.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  portage ops add-asset EURC --precision 6 --min 0.01 --reason \"listed on Monday\""
)]
pub(in crate::cli) struct NewAsset {
    /// 1 to 16 upper-case letters and digits.
    symbol: String,
    /// Its decimals; they never change.
    #[arg(long)]
    precision: u8,
    /// The least of one transfer, in its unit.
    #[arg(long)]
    min: Option<String>,
    /// The most of one transfer.
    #[arg(long)]
    max: Option<String>,
    /// The most of one user on one day in UTC.
    #[arg(long)]
    daily: Option<String>,
    #[command(flatten)]
    why: Why,
}

/// Suspend, delist or limit an asset.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  portage ops set-asset USDT --status SUSPENDED --reason \"the issuer stopped\""
)]
pub(in crate::cli) struct SetAsset {
    /// The asset.
    symbol: String,
    /// `ACTIVE`, `SUSPENDED` or `DELISTED`.
    #[arg(long)]
    status: Option<String>,
    /// Whether users may move it between their accounts.
    #[arg(long)]
    transferable: Option<bool>,
    /// The least of one transfer, in its unit.
    #[arg(long)]
    min: Option<String>,
    /// The most of one transfer; `none` lifts it.
    #[arg(long)]
    max: Option<String>,
    /// The most of one user on one day in UTC; `none` lifts it.
    #[arg(long)]
    daily: Option<String>,
    #[command(flatten)]
    why: Why,
}

/// Say who looks after a case.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  portage ops assign 12 --to ops-7")]
pub(in crate::cli) struct Assign {
    /// The case.
    id: u64,
    /// Who looks after it.
    #[arg(long)]
    to: String,
    #[command(flatten)]
    desk: Desk,
}

/// Add words to a case.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  portage ops comment 12 \"restarted at 14:00\"")]
pub(in crate::cli) struct Comment {
    /// The case.
    id: u64,
    /// The words.
    text: String,
    #[command(flatten)]
    desk: Desk,
}

/// One action under its key: asked, and what it came to.
async fn act(
    global: &Global,
    why: &Why,
    scope: Scope,
    what: (Method, &str),
    body: Option<Value>,
) -> Result<(), Fault> {
    let key = why.key.clone().unwrap_or_else(client::fresh_cid);
    let acted = note(global, (&why.desk, &key), scope, what, body).await;
    acted.map_err(|fault| repeatable(fault, &key))
}

/// An unclear outcome is cleared up by the same again, which takes the key of this time.
fn repeatable(fault: Fault, key: &str) -> Fault {
    if !fault.unclear {
        return fault;
    }
    let sentence =
        format!("{}; repeat it with --key {key}: it is never done twice", fault.sentence);
    Fault { sentence, ..fault }
}

/// One action, asked, and what it came to.
async fn note(
    global: &Global,
    (desk, key): (&Desk, &str),
    scope: Scope,
    (method, path): (Method, &str),
    body: Option<Value>,
) -> Result<(), Fault> {
    let client = desk.client(global, scope)?;
    let acted = loop {
        let acted = client.act(method.clone(), path, body.as_ref(), key).await?;
        let of = |name: &str| acted.answer.get(name).and_then(Value::as_u64).unwrap_or(0);
        if acted.answer.get("outcome").and_then(Value::as_str) != Some("PROVING") {
            break acted;
        }
        // the same again under the same key waits for the proof that is being made
        show::complain(&format!("proving: {} of {} transfers", of("proven"), of("transfers")));
    };
    if desk.json {
        return show::json(&acted);
    }
    let again =
        if acted.replayed { "\n(done before under this key; nothing was done now)" } else { "" };
    show::say(&(fields(&acted.answer) + again))
}

/// Sets a field of an object.
fn set(body: &mut Value, name: &str, value: Value) {
    if let Some(fields) = body.as_object_mut() {
        fields.insert(name.to_owned(), value);
    }
}

async fn post(global: &Global, why: &Why, path: &str, mut body: Value) -> Result<(), Fault> {
    set(&mut body, "reason", json!(why.reason));
    act(global, why, Scope::OpsAct, (Method::POST, path), Some(body)).await
}

pub(super) async fn steer(global: &Global, args: &Steer, action: &str) -> Result<(), Fault> {
    let path = format!("/ops/transfers/{}/{action}", escaped(&args.id));
    post(global, &args.why, &path, json!({})).await
}

pub(super) async fn resolve(global: &Global, args: &Resolve) -> Result<(), Fault> {
    let mut evidence = serde_json::Map::new();
    for pair in &args.evidence {
        let (name, text) = pair.split_once('=').ok_or_else(|| usage("--evidence is NAME=TEXT"))?;
        evidence.insert(name.to_owned(), json!(text));
    }
    let path = format!("/ops/transfers/{}/resolve", escaped(&args.id));
    post(global, &args.why, &path, json!({ "answer": args.answer, "evidence": evidence })).await
}

pub(super) async fn decide(global: &Global, args: &Decide, decision: &str) -> Result<(), Fault> {
    let path = format!("/ops/approvals/{}/{decision}", escaped(&args.id));
    let body = Some(json!({ "reason": args.why.reason }));
    act(global, &args.why, Scope::OpsApprove, (Method::POST, &path), body).await
}

pub(super) async fn halt(global: &Global, args: &Halt) -> Result<(), Fault> {
    post(global, &args.why, "/ops/halt", json!({})).await
}

pub(super) async fn resume(global: &Global, args: &Resume) -> Result<(), Fault> {
    let one = |pair: &String| {
        let (key, amount) = pair.rsplit_once('=').ok_or_else(|| usage("--accept is KEY=AMOUNT"))?;
        Ok(json!({ "key": key, "amount": amount }))
    };
    let accept = args.accept.iter().map(one).collect::<Result<Vec<_>, Fault>>()?;
    post(global, &args.why, "/ops/resume", json!({ "accept": accept })).await
}

pub(super) async fn pause(global: &Global, args: &NewPause) -> Result<(), Fault> {
    post(global, &args.why, "/ops/pauses", json!({ "kind": args.kind, "name": args.name })).await
}

pub(super) async fn unpause(global: &Global, args: &Unpause) -> Result<(), Fault> {
    let path = format!("/ops/pauses/{}?reason={}", args.id, escaped(&args.why.reason));
    act(global, &args.why, Scope::OpsAct, (Method::DELETE, &path), None).await
}

pub(super) async fn account(global: &Global, args: &Account) -> Result<(), Fault> {
    let path = format!("/ops/accounts/{}/{}/status", args.user, escaped(&args.account));
    post(global, &args.why, &path, json!({ "status": args.status })).await
}

pub(super) async fn add_asset(global: &Global, args: &NewAsset) -> Result<(), Fault> {
    let body = json!({
        "symbol": args.symbol,
        "precision": args.precision,
        "min_transfer_amount": args.min,
        "max_transfer_amount": args.max,
        "daily_amount": args.daily,
    });
    post(global, &args.why, "/ops/assets", body).await
}

pub(super) async fn set_asset(global: &Global, args: &SetAsset) -> Result<(), Fault> {
    let mut body = json!({});
    let limit = |text: &String| if text == "none" { Value::Null } else { json!(text) };
    let changes = [
        ("status", args.status.as_ref().map(|text| json!(text))),
        ("internal_transfer_enabled", args.transferable.map(Value::from)),
        ("min_transfer_amount", args.min.as_ref().map(|text| json!(text))),
        ("max_transfer_amount", args.max.as_ref().map(limit)),
        ("daily_amount", args.daily.as_ref().map(limit)),
    ];
    for (name, value) in changes {
        if let Some(value) = value {
            set(&mut body, name, value);
        }
    }
    let path = format!("/ops/assets/{}", escaped(&args.symbol));
    set(&mut body, "reason", json!(args.why.reason));
    act(global, &args.why, Scope::OpsAct, (Method::PATCH, &path), Some(body)).await
}

pub(super) async fn assign(global: &Global, args: &Assign) -> Result<(), Fault> {
    let path = format!("/cases/{}/assign", args.id);
    let body = Some(json!({ "to": args.to }));
    let key = client::fresh_cid();
    note(global, (&args.desk, &key), Scope::OpsAct, (Method::POST, &path), body).await
}

pub(super) async fn comment(global: &Global, args: &Comment) -> Result<(), Fault> {
    let path = format!("/cases/{}/comment", args.id);
    let body = Some(json!({ "text": args.text }));
    let key = client::fresh_cid();
    note(global, (&args.desk, &key), Scope::OpsAct, (Method::POST, &path), body).await
}

#[cfg(test)]
mod tests {
    use super::{Fault, repeatable};
    use client::Error;

    /// Turns red where an action whose outcome is unknown keeps the key to itself.
    #[test]
    fn what_is_unclear_can_be_repeated_under_its_key() {
        let unclear = repeatable(Error::Unknown("it broke off".to_owned()).into(), "k-1");
        assert!(unclear.sentence.contains("it broke off; repeat it with --key k-1"), "{unclear}");
        let unsent = repeatable(Error::Unreachable("refused".to_owned()).into(), "k-1");
        assert!(unsent.sentence.starts_with("nothing was sent"), "{unsent}");
        assert!(!unsent.sentence.contains("k-1"), "{unsent}");
        let _: Fault = unsent;
    }
}
