//! `portage transfer watch`: follows one transfer until it ends.

use super::told;
use crate::auth::Scope;
use crate::cli::exit::{Exit, Fault};
use crate::cli::remote::{Minted, Remote};
use crate::cli::{Global, output, user_number};
use client::types::HistoryEntry;
use client::{Error, Looked, state};
use std::time::Duration;

/// Follow a transfer to its end.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  \
    portage transfer watch 01JFVQ2X8Z0Y1M3N4P5R6S7T8V --user 4001\n\n\
    Prints each step when it comes. Ends with 0 when it is COMMITTED, 65 when it ended and moved \
    nothing, 75 when --patience is over.")]
pub(in crate::cli) struct WatchArgs {
    /// The id of the transfer.
    req_id: String,
    /// Whose transfer it is, where no token is given.
    #[arg(long, value_parser = user_number)]
    user: Option<u64>,
    /// Maximum wait, in seconds; without it, no limit.
    #[arg(long = "patience", value_name = "SECONDS")]
    timeout: Option<u64>,
    #[command(flatten)]
    remote: Remote,
    /// Print JSON, one line for each step.
    #[arg(long)]
    json: bool,
}

/// The first wait between two looks; each is longer by a half, up to the longest.
const SOON: Duration = Duration::from_millis(200);
const LATER: Duration = Duration::from_secs(2);

pub(super) async fn run(global: &Global, args: &WatchArgs) -> Result<(), Fault> {
    let Some(seconds) = args.timeout else { return follow(global, args).await };
    let timeout = Duration::from_secs(seconds);
    tokio::time::timeout(timeout, follow(global, args)).await.unwrap_or_else(|_| {
        Err(Fault::new(Exit::TempFail, format!("not ended after {seconds} s; it goes on")))
    })
}

async fn follow(global: &Global, args: &WatchArgs) -> Result<(), Fault> {
    let minted = Minted::User(args.user);
    let mut wait = SOON;
    let mut silent = false;
    let mut watch = client::Watch::new(
        args.remote.client(global, minted.clone(), Scope::TransfersRead)?,
        &args.req_id,
    );
    loop {
        match watch.look().await {
            Ok(looked) => {
                if silent {
                    output::eprint("the server answers again");
                    silent = false;
                }
                if !looked.fresh.is_empty() {
                    wait = SOON;
                }
                for step in &looked.fresh {
                    output::print(&line(step, args.json)?)?;
                }
                if looked.ended {
                    return ended(&looked, args.json);
                }
            }
            // a minted token lives for a minute, a transfer may take longer
            Err(Error::Refused { status: 401, .. }) if !args.remote.has_token() => {
                watch.with(args.remote.client(global, minted.clone(), Scope::TransfersRead)?);
            }
            // a server that restarts carries its transfers on
            Err(Error::Unknown(why) | Error::Unreachable(why)) => {
                if !silent {
                    output::eprint(&format!("{why}; still watching"));
                    silent = true;
                }
            }
            Err(other) => return Err(other.into()),
        }
        tokio::time::sleep(wait).await;
        let longer = wait.saturating_mul(3) / 2;
        wait = if longer > LATER { LATER } else { longer };
    }
}

fn line(step: &HistoryEntry, json: bool) -> Result<String, Fault> {
    if json {
        return serde_json::to_string(step)
            .map_err(|fault| Fault::new(Exit::Software, fault.to_string()));
    }
    let HistoryEntry { at, event, from, to, detail, .. } = step;
    let from = from.as_deref().unwrap_or("·");
    let detail = detail.as_deref().unwrap_or_default();
    Ok(format!("{at}  {event:<12} {from:>14} → {to:<14} {detail}").trim_end().to_owned())
}

fn ended(looked: &Looked, json: bool) -> Result<(), Fault> {
    let transfer = &looked.story.transfer;
    if !json {
        output::print(&told(transfer, None, false))?;
    }
    match transfer.state.as_str() {
        state::PAID => Ok(()),
        _ => Err(Fault::new(Exit::Data, transfer.message.clone())),
    }
}
