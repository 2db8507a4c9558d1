//! `portage transfer list`: lists a user's transfers, newest first.

use crate::auth::Scope;
use crate::cli::exit::{Exit, Fault};
use crate::cli::remote::{Minted, Remote};
use crate::cli::{Global, output, user_number};
use client::types::{
    AccountTransfer, AccountTransferFilter, AccountTransferPage, Filter, Page, Transfer,
};
use client::{Client, Error};

/// List your transfers, newest first.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  \
    portage transfer list --user 4001 --state PENDING\n  \
    portage transfer list --user 4001 --asset USDT --from SPOT --all\n  \
    portage transfer list --user 4001 --from 2026-01-01T00:00:00Z --to 2026-02-01T00:00:00Z\n  \
    portage transfer list --user 4001 --cid payout-7\n  \
    portage transfer list --user 4001 --flow account --state PENDING\n\n\
    A user sees their own; a token with transfers:any sees what it made itself.")]
pub(in crate::cli) struct ListTransfersArgs {
    /// Whose, where no token is given.
    #[arg(long, value_parser = user_number)]
    user: Option<u64>,
    /// The flow that carries them. Of transfers between numbered accounts only --state and --cid say more.
    #[arg(long, value_enum, default_value_t = ListedFlow::Internal)]
    flow: ListedFlow,
    /// Only in this state: INIT … COMMITTED, FAILED, ROLLED_BACK; PENDING is all that have not ended.
    #[arg(long)]
    state: Option<String>,
    /// Only of this asset.
    #[arg(long)]
    asset: Option<String>,
    /// Only from this account type; or opened at or after this time (RFC 3339).
    #[arg(long, value_name = "TYPE|TIME")]
    from: Option<String>,
    /// Only to this account type; or opened before this time (RFC 3339).
    #[arg(long, value_name = "TYPE|TIME")]
    to: Option<String>,
    /// Only the one that was made under this key.
    #[arg(long, value_name = "KEY")]
    cid: Option<String>,
    /// Maximum number of transfers, up to 100; with --all, the size of each page.
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=100))]
    limit: u32,
    /// Where the list begins: `next` of the one before.
    #[arg(long, conflicts_with = "all")]
    cursor: Option<String>,
    /// Fetch every page, up to the oldest transfer.
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    remote: Remote,
    /// Print the answer as JSON.
    #[arg(long)]
    json: bool,
}

/// A flow whose transfers a caller can list.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum ListedFlow {
    /// Transfers between the account types of one user.
    Internal,
    /// Transfers between numbered accounts.
    Account,
}

pub(super) async fn run(global: &Global, args: &ListTransfersArgs) -> Result<(), Fault> {
    let client = args.remote.client(global, Minted::User(args.user), Scope::TransfersRead)?;
    match args.flow {
        ListedFlow::Internal => internal(&client, args).await,
        ListedFlow::Account => account(&client, args).await,
    }
}

impl ListTransfersArgs {
    /// The size of a page.
    const fn page(&self) -> u32 {
        if self.all { 100 } else { self.limit }
    }
}

/// The transfers of one page, or of every page, and where the list goes on.
async fn pages<T>(
    args: &ListTransfersArgs,
    mut fetch: impl AsyncFnMut(Option<String>) -> Result<(Vec<T>, Option<String>), Error>,
) -> Result<(Vec<T>, Option<String>), Fault> {
    let (mut all, mut cursor) = (Vec::new(), args.cursor.clone());
    loop {
        let (page, next) = fetch(cursor).await?;
        all.extend(page);
        if !args.all || next.is_none() {
            return Ok((all, next));
        }
        cursor = next;
    }
}

/// Says how the list goes on, where it does.
fn goes_on(next: Option<&str>) -> Result<(), Fault> {
    match next {
        Some(next) => output::print(&format!("there may be more: --cursor {next}, or --all")),
        None => Ok(()),
    }
}

async fn account(client: &Client, args: &ListTransfersArgs) -> Result<(), Fault> {
    if args.asset.is_some() || args.from.is_some() || args.to.is_some() {
        let sentence = "--flow account: of --asset, --from and --to nothing is known there";
        return Err(Fault::new(Exit::Usage, sentence));
    }
    let mut filter = AccountTransferFilter {
        status: args.state.clone(),
        key: args.cid.clone(),
        cursor: None,
        limit: Some(args.page()),
    };
    let (transfers, next) = pages(args, async |cursor| {
        filter.cursor = cursor;
        let page = client.account_transfers(&filter).await?;
        Ok((page.transfers, page.next))
    })
    .await?;
    let all = AccountTransferPage { transfers, next };
    if args.json {
        return output::print_json(&all);
    }
    let row = |t: &AccountTransfer| {
        [
            t.transfer_id.clone(),
            t.created_at.clone(),
            t.from_account_number.clone(),
            t.to_account_number.clone(),
            t.amount.clone(),
            t.currency.clone(),
            t.status.clone(),
        ]
    };
    let titles = ["transferId", "opened", "from", "to", ">amount", "currency", "status"];
    output::print(&output::table(titles, all.transfers.iter().map(row).collect()))?;
    goes_on(all.next.as_deref())
}

async fn internal(client: &Client, args: &ListTransfersArgs) -> Result<(), Fault> {
    let mut filter = Filter {
        state: args.state.clone(),
        asset: args.asset.clone(),
        from: args.from.clone(),
        to: args.to.clone(),
        cid: args.cid.clone(),
        cursor: None,
        limit: Some(args.page()),
    };
    let (transfers, next) = pages(args, async |cursor| {
        filter.cursor = cursor;
        let page = client.transfers(&filter).await?;
        Ok((page.transfers, page.next))
    })
    .await?;
    let all = Page { transfers, next };
    if args.json {
        return output::print_json(&all);
    }
    output::print(&table(&all.transfers))?;
    goes_on(all.next.as_deref())
}

fn table(transfers: &[Transfer]) -> String {
    let row = |t: &Transfer| {
        [
            t.transfer_id.to_string(),
            t.req_id.clone(),
            t.created_at.clone(),
            t.from.clone(),
            t.to.clone(),
            t.amount.clone(),
            t.asset.clone(),
            t.state.clone(),
            t.reference.clone().unwrap_or_default(),
        ]
    };
    let titles = [">#", "req_id", "opened", "from", "to", ">amount", "asset", "state", "reference"];
    output::table(titles, transfers.iter().map(row).collect())
}
