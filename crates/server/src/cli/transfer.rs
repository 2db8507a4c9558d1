//! `portage transfer create|get`.

use super::exit::{Exit, Fault};
use super::remote::{Minted, Remote};
use super::{Global, show, wait};
use crate::auth::Scope;
use client::types::{Created, NewTransfer, Story};
use client::{Client, Error};
use std::time::Duration;

/// Make a transfer, or ask for one.
#[derive(Debug, clap::Subcommand)]
#[command(after_help = "Example:\n  \
    portage transfer create --user 4001 --from FUNDING --to SPOT --asset USDT --amount 100")]
pub(super) enum Command {
    /// Move money between two accounts of one user.
    Create(Create),
    /// Show a transfer with its history.
    Get(Get),
}

/// Move money between two accounts of one user.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  \
    portage transfer create --user 4001 --from FUNDING --to SPOT --asset USDT --amount 100\n\n\
    Ends with 0 when it is COMMITTED, 75 while it is under way or nobody knows, 65 when it moved \
    nothing.")]
pub(super) struct Create {
    /// Whose money; with a token of your own only where it may act for any user.
    #[arg(long)]
    user: Option<u64>,
    /// The account type that pays: FUNDING or SPOT.
    #[arg(long)]
    from: String,
    /// The account type that receives.
    #[arg(long)]
    to: String,
    /// The asset's symbol.
    #[arg(long)]
    asset: String,
    /// A plain decimal in the asset's unit.
    #[arg(long)]
    amount: String,
    /// Your own key; without it a fresh one is made and printed.
    #[arg(long)]
    cid: Option<String>,
    #[command(flatten)]
    remote: Remote,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Show a transfer with its history.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  \
    portage transfer get 01JFVQ2X8Z0Y1M3N4P5R6S7T8V --user 4001")]
pub(super) struct Get {
    /// The transfer's id.
    req_id: String,
    /// Whose transfer it is, where no token is given.
    #[arg(long)]
    user: Option<u64>,
    #[command(flatten)]
    remote: Remote,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(global: &Global, command: &Command) -> Result<(), Fault> {
    match command {
        Command::Create(args) => wait(create(global, args)),
        Command::Get(args) => wait(get(global, args)),
    }
}

async fn create(global: &Global, args: &Create) -> Result<(), Fault> {
    let client = args.remote.client(global, Minted::User(args.user), Scope::TransfersCreate)?;
    let mut new = NewTransfer::new(&args.from, &args.to, &args.asset, &args.amount);
    if let Some(cid) = &args.cid {
        new.cid.clone_from(cid);
    }
    // a minted token is the user's own; one that was given may act for others
    new.user_id = args.user.filter(|_| args.remote.has_token());
    let created = until_known(&client, &new).await?;
    if args.json {
        show::json(&created)?;
    } else {
        show::say(&told(&created))?;
    }
    let transfer = &created.transfer;
    match transfer.state.as_str() {
        "COMMITTED" => Ok(()),
        "PENDING" => Err(Fault::new(Exit::TempFail, "under way; ask for it by its req_id")),
        _ => Err(Fault::new(Exit::Data, transfer.message.clone())),
    }
}

/// Times that an unclear outcome is cleared up by sending the same again.
const TRIES: u32 = 4;

async fn until_known(client: &Client, new: &NewTransfer) -> Result<Created, Fault> {
    let mut tries = 0;
    loop {
        tries += 1;
        match client.create(new).await {
            Err(Error::Unknown(_)) if tries < TRIES => {
                tokio::time::sleep(Duration::from_millis(250 << tries)).await;
            }
            Err(Error::Unknown(why)) => {
                let cid = &new.cid;
                let sentence = format!("{why}; repeat it with --cid {cid}: it is never made twice");
                return Err(Fault::new(Exit::TempFail, sentence));
            }
            other => return Ok(other?),
        }
    }
}

fn told(created: &Created) -> String {
    let t = &created.transfer;
    let what = format!("{} {} from {} to {}", t.amount, t.asset, t.from, t.to);
    let mut pairs = vec![
        ("transfer", what.as_str()),
        ("state", t.state.as_str()),
        ("message", t.message.as_str()),
        ("req_id", t.req_id.as_str()),
        ("cid", t.cid.as_deref().unwrap_or("none")),
    ];
    if let Some(code) = &t.code {
        pairs.push(("code", code));
    }
    if created.replayed {
        pairs.push(("replayed", "this key had been used before; nothing was done now"));
    }
    show::pairs(&pairs)
}

async fn get(global: &Global, args: &Get) -> Result<(), Fault> {
    let client = args.remote.client(global, Minted::User(args.user), Scope::TransfersRead)?;
    let story = client.transfer(&args.req_id).await?;
    if args.json {
        return show::json(&story);
    }
    show::say(&told(&Created { transfer: story.transfer.clone(), replayed: false }))?;
    show::say(&history(&story))
}

pub(super) fn history(story: &Story) -> String {
    let row = |step: &client::types::Step| {
        [
            step.seq.to_string(),
            step.at.clone(),
            step.event.clone(),
            step.from.clone().unwrap_or_default(),
            step.to.clone(),
            step.detail.clone().unwrap_or_default(),
        ]
    };
    let rows = story.history.iter().map(row).collect();
    show::table([">#", "at", "event", "from", "to", "detail"], rows)
}
