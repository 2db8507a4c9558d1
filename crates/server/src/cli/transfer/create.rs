//! `portage transfer create`: creates one internal transfer, or shows by a dry run what it would do.

use super::told;
use super::until::until_known;
use crate::auth::Scope;
use crate::cli::exit::{Exit, Fault};
use crate::cli::remote::{Minted, Remote};
use crate::cli::{Global, output, user_number};
use api::user_id::UserIdText;
use client::state;
use client::types::{CreateTransfer, DryRun};
use serde::Serialize;

/// Move money between two accounts of one user.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  \
    portage transfer create --user 4001 --from FUNDING --to SPOT --asset USDT --amount 100\n  \
    portage transfer create --user 4001 --from SPOT --to FUNDING --asset USDT --amount 5 --dry-run\n\n\
    Ends with 0 when it is COMMITTED, 75 while it is under way or unknown, 65 when it moved \
    nothing. A dry run ends with 0 when it would be COMMITTED, else with 65.")]
pub(in crate::cli) struct CreateArgs {
    /// Whose money; with a token of your own only where it may act for any user.
    #[arg(long, value_parser = user_number)]
    user: Option<u64>,
    /// The account type that pays, such as FUNDING or SPOT (`portage account list` shows a user's).
    #[arg(long)]
    from: String,
    /// The account type that receives.
    #[arg(long)]
    to: String,
    /// The symbol of the asset that moves.
    #[arg(long)]
    asset: String,
    /// A plain decimal in the asset's unit.
    #[arg(long, allow_hyphen_values = true)]
    amount: String,
    /// Your own key; without it a fresh one is made and printed.
    #[arg(long)]
    cid: Option<String>,
    /// Your own reference, up to 64 characters.
    #[arg(long, value_name = "TEXT")]
    reference: Option<String>,
    /// Your own words, up to 8: a name and a short value.
    #[arg(long, value_name = "NAME=VALUE", value_parser = word)]
    metadata: Vec<(String, String)>,
    /// Only say what would become of it.
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    remote: Remote,
    /// Print the answer as JSON.
    #[arg(long)]
    json: bool,
}

fn word(text: &str) -> Result<(String, String), String> {
    let parts = text.split_once('=').filter(|(name, _)| !name.is_empty());
    let (name, value) = parts.ok_or("write it as NAME=VALUE")?;
    Ok((name.to_owned(), value.to_owned()))
}

impl CreateArgs {
    fn wanted(&self) -> Result<CreateTransfer, Fault> {
        let mut new = client::new_transfer(&self.from, &self.to, &self.asset, &self.amount);
        if self.cid.is_some() {
            new.cid.clone_from(&self.cid);
        }
        // a minted token is the user's own; one that was given may act for others
        new.user_id = self.user.filter(|_| self.remote.has_token()).map(UserIdText);
        new.reference.clone_from(&self.reference);
        for (name, value) in &self.metadata {
            let words = new.metadata.get_or_insert_default();
            if words.insert(name.clone(), value.clone()).is_some() {
                let sentence = format!("--metadata {name}: given twice");
                return Err(Fault::new(Exit::Usage, sentence));
            }
        }
        Ok(new)
    }
}

pub(super) async fn run(global: &Global, args: &CreateArgs) -> Result<(), Fault> {
    let new = args.wanted()?;
    let client = args.remote.client(global, Minted::User(args.user), Scope::TransfersCreate)?;
    if args.dry_run {
        return dry(args, &client.dry_run(&new).await?);
    }
    let cid = new.cid.as_deref().unwrap_or_default();
    let created = until_known(async || client.create(&new).await, &format!("--cid {cid}")).await?;
    let transfer = &created.transfer;
    if args.json {
        output::print_json(&created)?;
    } else {
        output::print(&told(transfer, created.code.as_deref(), created.replayed))?;
    }
    match transfer.state.as_str() {
        state::PAID => Ok(()),
        state::PENDING => {
            let id = &transfer.req_id;
            let whose = args.user.map_or_else(String::new, |user| format!(" --user {user}"));
            let sentence =
                format!("under way; follow it with `portage transfer watch {id}{whose}`");
            Err(Fault::new(Exit::TempFail, sentence))
        }
        _ => Err(Fault::new(Exit::Data, transfer.message.clone())),
    }
}

/// A dry run as JSON: its answer, without saying that it is one.
#[derive(Debug, Serialize)]
struct Foreseen<'a> {
    would: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    req_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mismatched_fields: Option<&'a [String]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unasked: Option<&'a [String]>,
}

impl<'a> Foreseen<'a> {
    fn of(run: &'a DryRun) -> Self {
        let DryRun { dry_run: _, would, req_id, mismatched_fields, unasked } = run;
        Self {
            would,
            req_id: req_id.as_deref(),
            mismatched_fields: mismatched_fields.as_deref(),
            unasked: unasked.as_deref(),
        }
    }
}

fn dry(args: &CreateArgs, run: &DryRun) -> Result<(), Fault> {
    if args.json {
        output::print_json(&Foreseen::of(run))?;
    } else {
        let differs = run.mismatched_fields.as_deref().unwrap_or_default().join(", ");
        let mut pairs = vec![("would", run.would.as_str())];
        pairs.extend(run.req_id.as_deref().map(|id| ("bound to", id)));
        pairs.extend(Some(("differs in", differs.as_str())).filter(|_| !differs.is_empty()));
        let unasked = run.unasked.as_deref().unwrap_or_default().join(", ");
        pairs.extend(Some(("not asked", unasked.as_str())).filter(|_| !unasked.is_empty()));
        output::print(&output::pairs(&pairs))?;
    }
    match run.would.as_str() {
        state::PAID => Ok(()),
        state::PENDING => {
            Err(Fault::new(Exit::TempFail, "its key is bound to one that is under way"))
        }
        code => Err(Fault::new(Exit::Data, format!("it would be answered with {code}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::word;

    #[test]
    fn a_word_is_a_name_and_a_value() {
        assert_eq!(word("a=b=c"), Ok(("a".to_owned(), "b=c".to_owned())));
        assert_eq!(word("a="), Ok(("a".to_owned(), String::new())));
        assert!(word("a").is_err() && word("=b").is_err());
    }
}
