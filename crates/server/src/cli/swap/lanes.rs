//! `portage swap lanes`: lists the lanes as the chain has them, creates those that are missing, and closes one.

use super::settings;
use crate::cli::exit::{Exit, Fault};
use crate::cli::ops::rows;
use crate::cli::whole_number;
use crate::cli::{Global, output, wait};
use crate::config::Swap;
use crate::swap;
use kernel::answer::Cause;
use kernel::ids::Millis;
use kernel::money::Amount;
use links::solana::{CreatedLane, LaneAccount, LaneClosing, LaneCreation, LaneState};
use serde_json::{Value, json};

/// The decimals of SOL.
const SOL: u8 = 9;

/// The lanes of the settings as final blocks show them. It asks the providers of the settings itself; no store is opened.
#[derive(Debug, clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:\n  portage swap lanes\n  portage swap lanes create"
)]
pub(in crate::cli) struct LanesArgs {
    #[command(subcommand)]
    command: Option<LanesCommand>,
    /// Print the answer as JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Subcommand)]
enum LanesCommand {
    /// Create the lanes that are missing, at the cost of the vault's key (0.00144768 SOL each).
    Create(CreateArgs),
    /// Close a lane beyond those of swap.solana_lanes: what it has goes back to the key.
    Close(CloseArgs),
}

/// Each lane is created once, however often this is asked for: what final blocks show decides, and never a reply.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  portage swap lanes create")]
struct CreateArgs {
    #[command(flatten)]
    wait: WaitArgs,
}

/// First lower swap.solana_lanes and start every server anew, so that none takes the lane for a payment; then see with
/// `portage swap status` that no payment has it.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  portage swap lanes close 15")]
struct CloseArgs {
    /// The number of the lane; it is not below swap.solana_lanes.
    number: usize,
    #[command(flatten)]
    wait: WaitArgs,
}

#[derive(Debug, clap::Args)]
struct WaitArgs {
    /// Maximum wait for a final block, in seconds; then the command ends with 75, and may be repeated.
    #[arg(long, default_value_t = 120, value_name = "SECONDS", value_parser = whole_number)]
    timeout: u64,
    /// Print the answer as JSON.
    #[arg(long)]
    json: bool,
}

impl WaitArgs {
    const fn wait_ms(&self) -> Millis {
        self.timeout.saturating_mul(1_000)
    }
}

pub(super) fn run(global: &Global, args: &LanesArgs) -> Result<(), Fault> {
    let config = settings(global)?;
    wait(async {
        match &args.command {
            None => list(&config.swap, args.json).await,
            Some(LanesCommand::Create(args)) => create(&config.swap, args).await,
            Some(LanesCommand::Close(args)) => close(&config.swap, args).await,
        }
    })
}

async fn list(settings: &Swap, json: bool) -> Result<(), Fault> {
    let chain = swap::chain_without_key(settings).await?;
    let lanes = chain.lane_accounts().await.map_err(|cause| not_done(&cause))?;
    print(lanes.iter().map(row).collect(), json)
}

async fn create(settings: &Swap, args: &CreateArgs) -> Result<(), Fault> {
    let chain = swap::chain_with_key(settings).await?;
    let created =
        chain.create_lanes(args.wait.wait_ms()).await.map_err(|cause| not_done(&cause))?;
    print(created.iter().map(created_row).collect(), args.wait.json)?;
    let open = created.iter().find_map(|one| match &one.outcome {
        LaneCreation::NotYet(cause) => Some((one.lane.number, cause)),
        LaneCreation::Existed | LaneCreation::Created | LaneCreation::Unusable => None,
    });
    match open {
        None => Ok(()),
        Some((number, cause)) => {
            let what =
                format!("lane {number}: no final block shows it yet ({cause}); repeat the command");
            Err(Fault::new(Exit::TempFail, what))
        }
    }
}

async fn close(settings: &Swap, args: &CloseArgs) -> Result<(), Fault> {
    let chain = swap::chain_with_key(settings).await?;
    let closing = chain.close_lane(args.number, args.wait.wait_ms()).await;
    let word = match closing.map_err(|cause| not_done(&cause))? {
        LaneClosing::Absent => "absent",
        LaneClosing::Closed => "closed",
        LaneClosing::NotYet(cause) => {
            let what = format!("final blocks still show it ({cause}); repeat the command");
            return Err(Fault::new(Exit::TempFail, what));
        }
    };
    if args.wait.json {
        return output::print_json(&json!({ "lane": args.number, "state": word }));
    }
    output::print(&format!("lane {}: {word}", args.number))
}

/// Why nothing was sent.
fn not_done(cause: &Cause) -> Fault {
    let exit = match cause.class {
        "LANE_IN_USE" | "KEY_RESTRICTED" => Exit::Usage,
        "NO_KEY" => Exit::Config,
        "FEES_LOW" => Exit::TempFail,
        _ => Exit::Unavailable,
    };
    Fault::new(exit, cause.to_string())
}

fn print(list: Value, json: bool) -> Result<(), Fault> {
    if json {
        return output::print_json(&list);
    }
    output::print(&rows(&list, [">number", "lane", "state", ">sol", "lock"]))
}

fn row(lane: &LaneAccount) -> Value {
    let sol = |lamports: u64| Amount(lamports.into()).decimal(SOL);
    let (state, lamports, lock) = match &lane.state {
        LaneState::Missing { lamports } => ("missing".to_owned(), Some(sol(*lamports)), None),
        LaneState::Usable { lock, lamports } => {
            ("usable".to_owned(), Some(sol(*lamports)), Some(lock.to_string()))
        }
        LaneState::Unusable { lamports } => {
            ("another account".to_owned(), Some(sol(*lamports)), None)
        }
        LaneState::NotKnown(cause) => (format!("not known: {cause}"), None, None),
    };
    json!({
        "number": lane.number, "lane": &*lane.address, "state": state, "sol": lamports, "lock": lock,
    })
}

fn created_row(created: &CreatedLane) -> Value {
    let mut row = row(&created.lane);
    let word = match &created.outcome {
        LaneCreation::Existed => "existed".to_owned(),
        LaneCreation::Created => "created".to_owned(),
        LaneCreation::Unusable => "another account is there: no creation helps".to_owned(),
        LaneCreation::NotYet(cause) => format!("not shown yet: {cause}"),
    };
    if let Some(fields) = row.as_object_mut() {
        fields.insert("state".to_owned(), json!(word));
    }
    row
}
