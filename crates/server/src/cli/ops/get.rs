//! The read commands of `portage ops`: cases, transfers, approvals, actions and more.

use super::{OpsTarget, fields, rows};
use crate::auth::Scope;
use crate::cli::exit::{Exit, Fault};
use crate::cli::{Global, output, user_number};
use client::escaped;
use serde_json::Value;

/// A page of a list.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct PageArgs {
    /// Where it begins: the `next` of the page before.
    #[arg(long)]
    cursor: Option<String>,
    #[command(flatten)]
    target: OpsTarget,
}

/// List cases, which ask for an operator's decision, newest first.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  portage ops cases --status all")]
pub(in crate::cli) struct CasesArgs {
    /// `open`, `closed` or `all`.
    #[arg(long, default_value = "open")]
    status: String,
    /// Only about this: `service`, `transfer/<id>`, `user/4001`, `ledger/SPOT`.
    #[arg(long)]
    subject: Option<String>,
    #[command(flatten)]
    page: PageArgs,
}

/// One of them, by its id.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  portage ops case 1\n  portage ops show 1\n  portage ops show payout-7"
)]
pub(in crate::cli) struct IdArgs {
    /// Its id; of a transfer also its number, or the key of its client.
    id: String,
    #[command(flatten)]
    target: OpsTarget,
}

/// Find transfers of every user, newest first.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  portage ops find --state OPEN --min-age 60\n  portage ops find --key payout-7\n  portage ops find --flow relay --receiver alice.near"
)]
pub(in crate::cli) struct FindArgs {
    /// `internal`, `account`, `relay` or `swap_in`.
    #[arg(long)]
    flow: Option<String>,
    /// A state of the flow, `OPEN` or `ENDED`; without `--flow` of `internal`, or of the one flow that has it.
    #[arg(long)]
    state: Option<String>,
    /// To this account, as its system names it: a receiver of the relay, the number of a numbered account.
    #[arg(long)]
    receiver: Option<String>,
    /// Only transfers of this user.
    #[arg(long, value_parser = user_number)]
    user: Option<u64>,
    /// Only transfers that this caller made: `issuer|sub`.
    #[arg(long)]
    caller: Option<String>,
    /// Made under this key of their client; faster with `--user` or `--caller`.
    #[arg(long)]
    key: Option<String>,
    /// With this reference of their client; faster with `--user` or `--caller`.
    #[arg(long)]
    reference: Option<String>,
    /// Only transfers of this asset.
    #[arg(long)]
    asset: Option<String>,
    /// Minimum age, in seconds.
    #[arg(long)]
    min_age: Option<u64>,
    /// Minimum number of unknown answers.
    #[arg(long)]
    min_attempts: Option<u32>,
    /// With this last error.
    #[arg(long)]
    error_class: Option<String>,
    /// An account type, or a time of RFC 3339.
    #[arg(long)]
    from: Option<String>,
    /// An account type, or a time of RFC 3339.
    #[arg(long)]
    to: Option<String>,
    #[command(flatten)]
    page: PageArgs,
}

/// What waits for another person, and what was decided.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  portage ops approvals --status PENDING")]
pub(in crate::cli) struct ApprovalsArgs {
    /// `PENDING`, `APPROVED`, `REJECTED`, `SUPERSEDED` or `LAPSED`.
    #[arg(long)]
    status: Option<String>,
    #[command(flatten)]
    page: PageArgs,
}

/// Every HALT that was raised, with its number and reason, newest first.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  portage ops halts")]
pub(in crate::cli) struct HaltsArgs {
    #[command(flatten)]
    page: PageArgs,
}

/// Deposits and withdrawals, newest first, each with who booked it and why.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  portage ops movements --user 4001\n  portage ops movements --ref wire-7"
)]
pub(in crate::cli) struct MovementsArgs {
    /// Only of this user's accounts.
    #[arg(long, value_parser = user_number)]
    user: Option<u64>,
    /// Only with this id of the outside world.
    #[arg(long = "ref", value_name = "ID")]
    reference: Option<String>,
    #[command(flatten)]
    page: PageArgs,
}

/// What people did, newest first.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  portage ops actions --subject service")]
pub(in crate::cli) struct ActionsArgs {
    /// Only of this subject: a transfer's id, `service`, `account/4001/SPOT`.
    #[arg(long)]
    subject: Option<String>,
    #[command(flatten)]
    page: PageArgs,
}

/// All of them, in one list.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  portage ops pauses\n  portage ops assets\n  portage ops stats"
)]
pub(in crate::cli) struct ListArgs {
    #[command(flatten)]
    target: OpsTarget,
}

async fn print_found(
    global: &Global,
    target: &OpsTarget,
    path: &str,
    text: impl FnOnce(&Value) -> String,
) -> Result<(), Fault> {
    let found = target.client(global, Scope::OpsRead)?.get(path).await?;
    if target.json { output::print_json(&found) } else { output::print(&text(&found)) }
}

fn query(path: &str, parameters: &[(&str, Option<String>)]) -> String {
    let given = parameters.iter().filter_map(|(name, value)| {
        value.as_ref().map(|value| format!("{name}={}", escaped(value)))
    });
    let given: Vec<String> = given.collect();
    if given.is_empty() { path.to_owned() } else { format!("{path}?{}", given.join("&")) }
}

/// The list of an answer, as a table with these columns.
struct ListTable<const N: usize> {
    list: &'static str,
    titles: [&'static str; N],
    /// What is said below an empty list.
    none: String,
}

impl<const N: usize> ListTable<N> {
    /// A table of which nothing is said where it is empty.
    const fn of(list: &'static str, titles: [&'static str; N]) -> Self {
        Self { list, titles, none: String::new() }
    }
}

/// One page, and where the next one begins.
async fn page<const N: usize>(
    global: &Global,
    page: &PageArgs,
    path: &str,
    mut parameters: Vec<(&str, Option<String>)>,
    table: ListTable<N>,
) -> Result<(), Fault> {
    parameters.push(("cursor", page.cursor.clone()));
    let path = query(path, &parameters);
    let text = |found: &Value| {
        let list = &found[table.list];
        let is_empty = list.as_array().is_none_or(Vec::is_empty);
        let none = if is_empty { &table.none } else { "" };
        rows(list, table.titles) + none + &more(found)
    };
    print_found(global, &page.target, &path, text).await
}

/// Where the next page begins, where there may be one.
fn more(found: &Value) -> String {
    let next = found["next"].as_str().map(|next| format!("\nmore: --cursor {next}"));
    next.unwrap_or_default()
}

pub(super) async fn cases(global: &Global, args: &CasesArgs) -> Result<(), Fault> {
    let titles = ["id", "severity", "kind", "subject", "status", "opened_at", "assigned", "facts"];
    let wanted = vec![("status", Some(args.status.clone())), ("subject", args.subject.clone())];
    page(global, &args.page, "/cases", wanted, ListTable::of("cases", titles)).await
}

/// One transfer, by its id, its number, or the key of its client.
pub(super) async fn show(global: &Global, args: &IdArgs) -> Result<(), Fault> {
    match one(global, args, "/transfers").await {
        Err(fault) if fault.exit == Exit::NoInput => {}
        other => return other,
    }
    let client = args.target.client(global, Scope::OpsRead)?;
    let found = client.get(&query("/transfers", &[("key", Some(args.id.clone()))])).await?;
    let list = found.get("transfers").and_then(Value::as_array);
    let list = list.map(Vec::as_slice).unwrap_or_default();
    match list {
        [] => {
            let sentence = format!("no transfer has `{}` as its id, number or key", args.id);
            Err(Fault::new(Exit::NoInput, sentence))
        }
        [only] => {
            let id = only.get("req_id").and_then(Value::as_str).unwrap_or_default().to_owned();
            one(global, &IdArgs { id, target: args.target.clone() }, "/transfers").await
        }
        _ => {
            output::print(&transfer_table(&found))?;
            let sentence =
                "several transfers have this key: show the one that is meant by its req_id";
            Err(Fault::new(Exit::Usage, sentence))
        }
    }
}

pub(super) async fn one(global: &Global, args: &IdArgs, kind: &str) -> Result<(), Fault> {
    let path = format!("{kind}/{}", escaped(&args.id));
    let notes = match kind {
        "/cases" => &["at", "by", "assigned", "comment", ""],
        _ => &["at", "by", "text", "reason", ""],
    };
    print_found(global, &args.target, &path, |found| {
        let mut plain = found.clone();
        let mut tables = String::new();
        let lists: [(&str, &[&str; 5]); 3] = [
            ("history", &["at", "event", "from", "to", "detail"]),
            ("legs", &["ledger", "leg", "result", "seq", "code"]),
            ("notes", notes),
        ];
        for (name, titles) in lists {
            let list = plain.as_object_mut().and_then(|fields| fields.remove(name));
            if let Some(list) = list.filter(|list| list.as_array().is_some_and(|l| !l.is_empty())) {
                tables.push_str(&format!("\n\n{name}\n{}", rows(&list, *titles)));
            }
        }
        fields(&plain) + &tables
    })
    .await
}

pub(super) async fn find(global: &Global, args: &FindArgs) -> Result<(), Fault> {
    let wanted = vec![
        ("flow", args.flow.clone()),
        ("state", args.state.clone()),
        ("receiver", args.receiver.clone()),
        ("user", args.user.map(|user| user.to_string())),
        ("caller", args.caller.clone()),
        ("key", args.key.clone()),
        ("reference", args.reference.clone()),
        ("asset", args.asset.clone()),
        ("min_age", args.min_age.map(|age| age.to_string())),
        ("min_attempts", args.min_attempts.map(|n| n.to_string())),
        ("error_class", args.error_class.clone()),
        ("from", args.from.clone()),
        ("to", args.to.clone()),
        ("cursor", args.page.cursor.clone()),
    ];
    let path = query("/transfers", &wanted);
    print_found(global, &args.page.target, &path, |found| transfer_table(found) + &more(found))
        .await
}

/// Found transfers as a table; with who pays and who is paid, where any has one.
fn transfer_table(found: &Value) -> String {
    let list = &found["transfers"];
    let named = |field: &str| {
        let names = |row: &Value| row[field].is_string();
        list.as_array().is_some_and(|rows| rows.iter().any(names))
    };
    let [id, req, user] = [">transfer_id", "req_id", ">user_id"];
    let [asset, amount, state] = ["asset", ">amount", "state"];
    let [retries, class, created] = [">retry_count", "error_class", "created_at"];
    match (named("payer"), named("receiver")) {
        (false, false) => {
            let columns =
                [id, req, user, "from", "to", asset, amount, state, retries, class, created];
            rows(list, columns)
        }
        (payer, _) => {
            let from = if payer { "payer" } else { "from" };
            let columns = [
                id, req, user, from, "to", "receiver", asset, amount, state, retries, class,
                created,
            ];
            rows(list, columns)
        }
    }
}

pub(super) async fn approvals(global: &Global, args: &ApprovalsArgs) -> Result<(), Fault> {
    let titles =
        ["id", "kind", "subject", "value", "by", "status", "expires_at", "decided_by", "reason"];
    let wanted = vec![("status", args.status.clone())];
    page(global, &args.page, "/ops/approvals", wanted, ListTable::of("approvals", titles)).await
}

pub(super) async fn halts(global: &Global, args: &HaltsArgs) -> Result<(), Fault> {
    let titles = [">number", "at", "lifted_at", "reason"];
    page(global, &args.page, "/ops/halts", Vec::new(), ListTable::of("halts", titles)).await
}

pub(super) async fn movements(global: &Global, args: &MovementsArgs) -> Result<(), Fault> {
    let titles = [
        ">operation_id",
        "at",
        "kind",
        "user_id",
        "number",
        "asset",
        ">amount",
        "ref",
        "by",
        "reason",
    ];
    let user = args.user.map(|user| user.to_string());
    let wanted = vec![("user", user), ("ref", args.reference.clone())];
    page(global, &args.page, "/ops/movements", wanted, ListTable::of("movements", titles)).await
}

pub(super) async fn pauses(global: &Global, args: &ListArgs) -> Result<(), Fault> {
    let titles = ["id", "kind", "name", "by", "at", "reason"];
    print_found(global, &args.target, "/ops/pauses", |found| rows(&found["pauses"], titles)).await
}

pub(super) async fn assets(global: &Global, args: &ListArgs) -> Result<(), Fault> {
    let titles = [
        ">asset_id",
        "symbol",
        ">precision",
        "status",
        "internal_transfer_enabled",
        ">min_transfer_amount",
        ">max_transfer_amount",
        ">daily_amount",
    ];
    print_found(global, &args.target, "/ops/assets", |found| rows(&found["assets"], titles)).await
}

pub(super) async fn actions(global: &Global, args: &ActionsArgs) -> Result<(), Fault> {
    let titles = ["id", "at", "by", "kind", "subject", "value", "outcome", "reason"];
    let subject = args.subject.as_deref();
    let subject = subject.map(|subject| subject.trim_start_matches("transfer/").to_owned());
    let none = subject.as_ref().map_or_else(String::new, |subject| {
        format!(
            "\nno action has the subject `{subject}`. A subject is a transfer's req_id, `service`, `ledger/SPOT`, \
             `account/4001/FUNDING`, `account/ACC-1`, an asset's symbol, `pause/2` or `approval/ID`"
        )
    });
    let table = ListTable { list: "actions", titles, none };
    page(global, &args.page, "/ops/audit", vec![("subject", subject)], table).await
}

pub(super) async fn stats(global: &Global, args: &ListArgs) -> Result<(), Fault> {
    print_found(global, &args.target, "/stats", |found| {
        let states = rows(&found["states"], ["flow", "state", ">transfers", ">oldest_seconds"]);
        let flows = rows(
            &found["flows"],
            ["flow", ">open", ">ended", ">refund_ratio", ">quarantine_ratio"],
        );
        let dwell = rows(&found["dwell"], ["flow", "state", ">transfers", ">mean_ms", ">max_ms"]);
        format!("{states}\n\n{flows}\n\n{dwell}")
    })
    .await
}
