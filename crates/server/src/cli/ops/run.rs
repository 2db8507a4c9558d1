//! The write commands of `portage ops`. Each is one action in the audit, with its reason.

use super::{OpsTarget, fields, usage};
use crate::auth::Scope;
use crate::cli::exit::{Exit, Fault};
use crate::cli::whole_number;
use crate::cli::{Global, output, user_number};
use api::accounts::SetStatus;
use api::admin::actions::{AcceptedBreak, ActionOutcome, Done, ReasonBody};
use api::admin::assets::{AddAsset, ChangeAsset};
use api::admin::cases::{Assign, Comment};
use api::admin::halts::Resume;
use api::admin::pauses::{NewPause, Pauses};
use api::admin::transfer_actions::{NewTransferNote, Resolve};
use client::Method;
use client::escaped;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// What an operator does: each command is one action in the audit.
#[derive(Debug, clap::Subcommand)]
pub(in crate::cli) enum ActionCommand {
    /// Say who looks after a case.
    Assign(AssignArgs),
    /// Add words to a case.
    Comment(CommentArgs),
    /// Make a transfer's next attempt due now.
    Retry(TransferActionArgs),
    /// Ask the ledger what it stored for a transfer's open call.
    Ask(TransferActionArgs),
    /// Pause one transfer: it takes no further step.
    #[command(alias = "hold")]
    PauseTransfer(TransferActionArgs),
    /// Resume a paused transfer.
    #[command(alias = "release")]
    ResumeTransfer(TransferActionArgs),
    /// Add words to a transfer, for operators alone.
    Note(NoteArgs),
    /// Propose an answer to a transfer's open call.
    Resolve(ResolveArgs),
    /// Approve what another person proposed.
    Approve(DecideArgs),
    /// Reject what a person proposed.
    Reject(DecideArgs),
    /// Stop all money, until two persons resume.
    Halt(HaltArgs),
    /// Propose that money moves again after a HALT.
    Resume(ResumeArgs),
    /// Pause a flow, a ledger, a chain, an asset, an account or a consumer group.
    Pause(PauseArgs),
    /// Lift a pause by its number.
    Unpause(UnpauseArgs),
    /// Freeze, disable or free an account.
    Account(AccountStatusArgs),
    /// Add an asset, which begins ACTIVE.
    AddAsset(AddAssetArgs),
    /// Suspend, delist or limit an asset.
    SetAsset(SetAssetArgs),
}

pub(super) async fn run(global: &Global, command: &ActionCommand) -> Result<(), Fault> {
    match command {
        ActionCommand::Assign(args) => assign(global, args).await,
        ActionCommand::Comment(args) => comment(global, args).await,
        ActionCommand::Retry(args) => transfer_action(global, args, "retry").await,
        ActionCommand::Ask(args) => transfer_action(global, args, "ask").await,
        ActionCommand::PauseTransfer(args) => transfer_action(global, args, "pause").await,
        ActionCommand::ResumeTransfer(args) => transfer_action(global, args, "resume").await,
        ActionCommand::Note(args) => note(global, args).await,
        ActionCommand::Resolve(args) => resolve(global, args).await,
        ActionCommand::Approve(args) => decide(global, args, "approve").await,
        ActionCommand::Reject(args) => decide(global, args, "reject").await,
        ActionCommand::Halt(args) => halt(global, args).await,
        ActionCommand::Resume(args) => resume(global, args).await,
        ActionCommand::Pause(args) => pause(global, args).await,
        ActionCommand::Unpause(args) => unpause(global, args).await,
        ActionCommand::Account(args) => account(global, args).await,
        ActionCommand::AddAsset(args) => add_asset(global, args).await,
        ActionCommand::SetAsset(args) => set_asset(global, args).await,
    }
}

/// Why, and under which key.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct ActionArgs {
    /// Why, for the audit.
    #[arg(long)]
    reason: String,
    /// The same action under the same key is done once; one is made where none is given.
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
    #[command(flatten)]
    target: OpsTarget,
}

impl ActionArgs {
    pub(in crate::cli) fn target(&self) -> &OpsTarget {
        &self.target
    }

    pub(in crate::cli) fn reason(&self) -> &str {
        &self.reason
    }

    /// The reason alone, for an action that needs no more.
    pub(in crate::cli) fn why(&self) -> ReasonBody {
        ReasonBody { reason: self.reason.clone() }
    }

    /// The key that was given, or a new one.
    pub(in crate::cli) fn key(&self) -> String {
        self.key.clone().unwrap_or_else(client::fresh_cid)
    }
}

/// One transfer, and why it is acted on.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  portage ops retry 01JFVQ2X8Z0Y1M3N4P5R6S7T8V --reason \"the ledger is back\"\n  portage ops ask 01JFVQ2X8Z0Y1M3N4P5R6S7T8V --reason \"ticket 4711\"\n  portage ops pause-transfer 01JFVQ2X8Z0Y1M3N4P5R6S7T8V --reason \"ticket 4711\"\n  portage ops resume-transfer 01JFVQ2X8Z0Y1M3N4P5R6S7T8V --reason \"ticket 4711\""
)]
pub(in crate::cli) struct TransferActionArgs {
    /// The id of the transfer.
    id: String,
    #[command(flatten)]
    action: ActionArgs,
}

/// Add words to a transfer in any state, also under HALT. Operators read them with `portage ops show`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  portage ops note 01JFVQ2X8Z0Y1M3N4P5R6S7T8V --text \"their bank confirmed by phone\" --reason \"ticket 4711\""
)]
pub(in crate::cli) struct NoteArgs {
    /// The id of the transfer.
    id: String,
    /// The words: 1 to 1000 characters.
    #[arg(long)]
    text: String,
    #[command(flatten)]
    action: ActionArgs,
}

/// Propose an answer to a transfer's open call; another person approves, and the ledger must bear
/// it out. A transfer of the relay of which nothing was sent, or one between accounts that waits for its message, ends
/// so with `rejected`, as CANCELLED.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  portage ops resolve 01JFVQ2X8Z0Y1M3N4P5R6S7T8V --answer rejected --evidence \"ticket=4711\" --reason \"never arrived\""
)]
pub(in crate::cli) struct ResolveArgs {
    /// The id of the transfer.
    id: String,
    /// `done`, `rejected` or `dead`.
    #[arg(long)]
    answer: String,
    /// What bears it out, as `name=text`; may be given many times.
    #[arg(long, value_name = "NAME=TEXT")]
    evidence: Vec<String>,
    #[command(flatten)]
    action: ActionArgs,
}

/// Approve or reject what another person proposed.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  portage ops approve 01JFVQ2X8Z0Y1M3N4P5R6S7T8V --as second --reason \"seen in the statement\"\n  portage ops reject 01JFVQ2X8Z0Y1M3N4P5R6S7T8V --as second --reason \"wait for the ledger\""
)]
pub(in crate::cli) struct DecideArgs {
    /// The id of the approval.
    id: String,
    #[command(flatten)]
    action: ActionArgs,
}

/// Stop all money, until two persons resume.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  portage ops halt --reason \"numbers do not add up\"")]
pub(in crate::cli) struct HaltArgs {
    #[command(flatten)]
    action: ActionArgs,
}

/// Propose that money moves again after a HALT; another person approves.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  portage ops resume --accept \"FUNDING/3/clearing=-1500000\" --reason \"explained in ticket 4711\""
)]
pub(in crate::cli) struct ResumeArgs {
    /// A break of conservation that is accepted, as `key=amount` from `portage check`.
    #[arg(long, value_name = "KEY=AMOUNT")]
    accept: Vec<String>,
    #[command(flatten)]
    action: ActionArgs,
}

/// Pause a flow, a ledger, a chain, an asset, an account or a consumer group.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  portage ops pause ledger SPOT --reason \"maintenance\"\n  portage ops pause account 4001/SPOT --reason \"ticket 4711\""
)]
pub(in crate::cli) struct PauseArgs {
    /// `flow`, `ledger`, `chain`, `asset`, `account` or `group`.
    kind: String,
    /// Which one: `internal`, `SPOT`, `NEAR`, `USDT`, `4001/SPOT`, `audit-group`.
    name: String,
    #[command(flatten)]
    action: ActionArgs,
}

/// Lift a pause by its number.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  portage ops unpause 3 --reason \"maintenance is over\"")]
pub(in crate::cli) struct UnpauseArgs {
    /// The number of the pause, from `portage ops pauses`.
    #[arg(value_parser = whole_number)]
    id: u64,
    #[command(flatten)]
    action: ActionArgs,
}

/// Freeze, disable or free an account.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  portage ops account 4001 SPOT FROZEN --reason \"court order 12\""
)]
pub(in crate::cli) struct AccountStatusArgs {
    /// The user whose account it is.
    #[arg(value_parser = user_number)]
    user: u64,
    /// The account type, for example SPOT.
    account: String,
    /// `ACTIVE`, `FROZEN` (receives, does not pay) or `DISABLED`.
    status: String,
    #[command(flatten)]
    action: ActionArgs,
}

/// Add an asset, which begins ACTIVE.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  portage ops add-asset EURC --precision 6 --min 0.01 --reason \"listed on Monday\""
)]
pub(in crate::cli) struct AddAssetArgs {
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
    action: ActionArgs,
}

/// Suspend, delist or limit an asset.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  portage ops set-asset USDT --status SUSPENDED --reason \"the issuer stopped\""
)]
pub(in crate::cli) struct SetAssetArgs {
    /// The symbol of the asset.
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
    action: ActionArgs,
}

/// Say who looks after a case.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  portage ops assign 12 --to ops-7")]
pub(in crate::cli) struct AssignArgs {
    /// The number of the case.
    #[arg(value_parser = whole_number)]
    id: u64,
    /// Who looks after it.
    #[arg(long)]
    to: String,
    #[command(flatten)]
    target: OpsTarget,
}

/// Add words to a case.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  portage ops comment 12 \"restarted at 14:00\"")]
pub(in crate::cli) struct CommentArgs {
    /// The number of the case.
    #[arg(value_parser = whole_number)]
    id: u64,
    /// The words: 1 to 2000 characters.
    text: String,
    #[command(flatten)]
    target: OpsTarget,
}

/// The request of one action.
struct ActionRequest<'a> {
    scope: Scope,
    method: Method,
    path: &'a str,
    body: Option<Value>,
}

impl<'a> ActionRequest<'a> {
    /// A POST of an operator who acts.
    fn post(path: &'a str, body: &impl Serialize) -> Result<Self, Fault> {
        let unwritten = |fault: serde_json::Error| Fault::new(Exit::Software, fault.to_string());
        let body = serde_json::to_value(body).map_err(unwritten)?;
        Ok(Self { scope: Scope::OpsAct, method: Method::POST, path, body: Some(body) })
    }
}

/// Sends one action under its key, and prints the result.
async fn run_action(
    global: &Global,
    action: &ActionArgs,
    request: ActionRequest<'_>,
) -> Result<(), Fault> {
    let key = action.key();
    let result = send_action(global, &action.target, &key, request).await;
    result.map_err(|fault| repeatable(fault, &key))
}

/// An unknown outcome is cleared up by the same again, which takes the key of this time.
pub(in crate::cli) fn repeatable(fault: Fault, key: &str) -> Fault {
    if !fault.unknown {
        return fault;
    }
    let sentence =
        format!("{}; repeat it with --key {key}: it is never done twice", fault.sentence);
    Fault { sentence, ..fault }
}

/// Sends one action, and prints the result.
async fn send_action(
    global: &Global,
    target: &OpsTarget,
    key: &str,
    request: ActionRequest<'_>,
) -> Result<(), Fault> {
    let ActionRequest { scope, method, path, body } = request;
    let client = target.client(global, scope)?;
    let result = loop {
        let result = client.run(method.clone(), path, body.as_ref(), key).await?;
        let done = Done::deserialize(&result.answer);
        let Ok(Done { result: ActionOutcome::Proving { proven, transfers }, .. }) = done else {
            break result;
        };
        // the same again under the same key waits for the proof that is being made
        output::eprint(&format!("proving: {proven} of {transfers} transfers"));
    };
    if target.json {
        output::print_json(&result)?;
    } else {
        let replayed = "\n(done before under this key; nothing was done now)";
        let again = if result.replayed { replayed } else { "" };
        output::print(&(fields(&result.answer) + again))?;
    }
    let Ok(Done { result: outcome, .. }) = Done::deserialize(&result.answer) else { return Ok(()) };
    if let ActionOutcome::Halted { quiet: false, stored: true, .. } = outcome {
        output::eprint(&format!(
            "the HALT stands, and not all calls have ended: repeat it with --key {key} until `quiet` is true"
        ));
    }
    is_effective(&outcome, key)
}

/// Tells an action that took effect from a proposal, from one that was superseded, and from a HALT that a restart forgets.
fn is_effective(outcome: &ActionOutcome, key: &str) -> Result<(), Fault> {
    if let ActionOutcome::Halted { stored: false, .. } = outcome {
        let sentence = format!(
            "the HALT stands in this process alone and is not stored: the store takes no writes, and a restart forgets it. \
             Make room, then repeat it with --key {key} until `stored` is true"
        );
        return Err(Fault::new(Exit::TempFail, sentence));
    }
    if let ActionOutcome::Superseded { .. } = outcome {
        let sentence = "superseded: something else was done meanwhile, and nothing of the proposal";
        return Err(Fault::new(Exit::Data, sentence));
    }
    if let ActionOutcome::Proposed { approval_id } = outcome {
        return Err(Fault::proposed(approval_id));
    }
    Ok(())
}

/// One action at a path.
pub(in crate::cli) async fn post(
    global: &Global,
    action: &ActionArgs,
    path: &str,
    body: &impl Serialize,
) -> Result<(), Fault> {
    run_action(global, action, ActionRequest::post(path, body)?).await
}

/// One change at a path.
pub(in crate::cli) async fn patch(
    global: &Global,
    action: &ActionArgs,
    path: &str,
    body: &impl Serialize,
) -> Result<(), Fault> {
    let request = ActionRequest { method: Method::PATCH, ..ActionRequest::post(path, body)? };
    run_action(global, action, request).await
}

/// Takes away what a path names. The reason stands in the query, since a DELETE has no body.
pub(in crate::cli) async fn delete(
    global: &Global,
    action: &ActionArgs,
    path: &str,
) -> Result<(), Fault> {
    let path = format!("{path}?reason={}", escaped(&action.reason));
    let (scope, method) = (Scope::OpsAct, Method::DELETE);
    run_action(global, action, ActionRequest { scope, method, path: &path, body: None }).await
}

async fn transfer_action(
    global: &Global,
    args: &TransferActionArgs,
    action: &str,
) -> Result<(), Fault> {
    let path = format!("/ops/transfers/{}/{action}", escaped(&args.id));
    post(global, &args.action, &path, &args.action.why()).await
}

async fn note(global: &Global, args: &NoteArgs) -> Result<(), Fault> {
    let path = format!("/ops/transfers/{}/notes", escaped(&args.id));
    let note = NewTransferNote { text: args.text.clone(), reason: args.action.reason.clone() };
    post(global, &args.action, &path, &note).await
}

async fn resolve(global: &Global, args: &ResolveArgs) -> Result<(), Fault> {
    let mut evidence = Map::new();
    for pair in &args.evidence {
        let (name, text) = pair.split_once('=').ok_or_else(|| usage("--evidence is NAME=TEXT"))?;
        evidence.insert(name.to_owned(), text.into());
    }
    let path = format!("/ops/transfers/{}/resolve", escaped(&args.id));
    let resolve = Resolve {
        answer: args.answer.clone(),
        evidence: evidence.into(),
        reason: args.action.reason.clone(),
    };
    post(global, &args.action, &path, &resolve).await
}

async fn decide(global: &Global, args: &DecideArgs, decision: &str) -> Result<(), Fault> {
    let path = format!("/ops/approvals/{}/{decision}", escaped(&args.id));
    let request = ActionRequest::post(&path, &args.action.why())?;
    let request = ActionRequest { scope: Scope::OpsApprove, ..request };
    run_action(global, &args.action, request).await
}

async fn halt(global: &Global, args: &HaltArgs) -> Result<(), Fault> {
    match post(global, &args.action, "/ops/halt", &args.action.why()).await {
        Err(fault) if fault.exit == Exit::Unavailable => {
            let sentence = format!("{}; `portage halt` stops the store itself", fault.sentence);
            Err(Fault { sentence, ..fault })
        }
        other => other,
    }
}

async fn resume(global: &Global, args: &ResumeArgs) -> Result<(), Fault> {
    let one = |pair: &String| {
        let (key, amount) = pair.rsplit_once('=').ok_or_else(|| usage("--accept is KEY=AMOUNT"))?;
        Ok(AcceptedBreak { key: key.to_owned(), amount: amount.to_owned() })
    };
    let accept = args.accept.iter().map(one).collect::<Result<Vec<_>, Fault>>()?;
    let resume = Resume { reason: args.action.reason.clone(), accept };
    post(global, &args.action, "/ops/resume", &resume).await
}

async fn pause(global: &Global, args: &PauseArgs) -> Result<(), Fault> {
    pause_scope(global, &args.action, &args.kind, &args.name).await
}

/// Pauses something, by its kind and name.
pub(in crate::cli) async fn pause_scope(
    global: &Global,
    action: &ActionArgs,
    kind: &str,
    name: &str,
) -> Result<(), Fault> {
    let (kind, name) = (kind.to_owned(), name.to_owned());
    let pause = NewPause { kind, name, reason: action.reason.clone() };
    post(global, action, "/ops/pauses", &pause).await
}

async fn unpause(global: &Global, args: &UnpauseArgs) -> Result<(), Fault> {
    lift(global, &args.action, args.id).await
}

async fn lift(global: &Global, action: &ActionArgs, id: u64) -> Result<(), Fault> {
    delete(global, action, &format!("/ops/pauses/{id}")).await
}

/// Lifts the first pause of something, by its kind and name.
pub(in crate::cli) async fn lift_pause(
    global: &Global,
    action: &ActionArgs,
    kind: &str,
    name: &str,
) -> Result<(), Fault> {
    let found = action.target.client(global, Scope::OpsRead)?.get("/ops/pauses").await?;
    let Pauses { pauses } = Pauses::deserialize(&found)
        .map_err(|fault| Fault::new(Exit::TempFail, fault.to_string()))?;
    let pause = pauses.iter().find(|pause| pause.kind == kind && pause.name == name);
    let none = || usage(format!("the {kind} {name} is not paused"));
    lift(global, action, pause.ok_or_else(none)?.id).await
}

async fn account(global: &Global, args: &AccountStatusArgs) -> Result<(), Fault> {
    let path = format!("/ops/accounts/{}/{}/status", args.user, escaped(&args.account));
    let status = SetStatus { status: args.status.clone(), reason: args.action.reason.clone() };
    post(global, &args.action, &path, &status).await
}

async fn add_asset(global: &Global, args: &AddAssetArgs) -> Result<(), Fault> {
    let asset = AddAsset {
        symbol: args.symbol.clone(),
        precision: args.precision,
        asset_id: None,
        internal_transfer_enabled: None,
        min_transfer_amount: args.min.clone(),
        max_transfer_amount: args.max.clone(),
        daily_amount: args.daily.clone(),
        reason: args.action.reason.clone(),
    };
    post(global, &args.action, "/ops/assets", &asset).await
}

async fn set_asset(global: &Global, args: &SetAssetArgs) -> Result<(), Fault> {
    // `null` lifts a limit
    let limit = |text: &String| Some(text.clone()).filter(|text| text != "none");
    let change = ChangeAsset {
        status: args.status.clone(),
        internal_transfer_enabled: args.transferable,
        min_transfer_amount: args.min.clone(),
        max_transfer_amount: args.max.as_ref().map(limit),
        daily_amount: args.daily.as_ref().map(limit),
        reason: args.action.reason.clone(),
    };
    let path = format!("/ops/assets/{}", escaped(&args.symbol));
    patch(global, &args.action, &path, &change).await
}

async fn assign(global: &Global, args: &AssignArgs) -> Result<(), Fault> {
    let path = format!("/cases/{}/assign", args.id);
    let request = ActionRequest::post(&path, &Assign { to: args.to.clone(), reason: None })?;
    send_action(global, &args.target, &client::fresh_cid(), request).await
}

async fn comment(global: &Global, args: &CommentArgs) -> Result<(), Fault> {
    let path = format!("/cases/{}/comment", args.id);
    let request = ActionRequest::post(&path, &Comment { text: args.text.clone() })?;
    send_action(global, &args.target, &client::fresh_cid(), request).await
}

#[cfg(test)]
mod tests {
    use super::{Fault, repeatable};
    use client::Error;

    /// Turns red where an action whose outcome is unknown keeps the key to itself.
    #[test]
    fn what_is_unknown_can_be_repeated_under_its_key() {
        let unknown = repeatable(Error::Unknown("it broke off".to_owned()).into(), "k-1");
        assert!(unknown.sentence.contains("it broke off; repeat it with --key k-1"), "{unknown}");
        let unsent = repeatable(Error::Unreachable("refused".to_owned()).into(), "k-1");
        assert!(unsent.sentence.starts_with("nothing was sent"), "{unsent}");
        assert!(!unsent.sentence.contains("k-1"), "{unsent}");
        let _: Fault = unsent;
    }
}
