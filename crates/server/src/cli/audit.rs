//! `portage audit verify`: computes the audit again, on the folder itself or by asking its server.

use super::exit::{Exit, Fault};
use super::remote::{Minted, Remote};
use super::{Global, show, wait};
use crate::auth::{Scope, key};
use crate::config::Config;
use crate::house;
use crate::http::audit as http;
use crate::stores;
use client::types::AuditProof;
use engine::audit::{kept, prove};
use kernel::audit::seal::SealKey;
use kernel::ports::audit::Audit;
use std::sync::Arc;

/// Prove that the audit was not changed.
#[derive(Debug, clap::Subcommand)]
#[command(after_help = "Example:\n  portage audit verify")]
pub(super) enum Command {
    /// Compute every hash and every seal again, and name what does not fit.
    Verify(Verify),
}

/// Compute every hash and every seal again, and name what does not fit.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  portage audit verify --data-dir ./portage-data\n\n\
    Opens the folder when no server holds it, else asks the server at --url, or the one that holds \
    the folder; with a database it asks the server at --url where one is named. Ends with 0 only if \
    nothing was changed, removed or cut off. Whoever may write to the folder may cut off its end, with \
    the seals there: only a seal that was kept elsewhere (the log has each of them) tells. Give it with \
    --seal.")]
pub(super) struct Verify {
    /// A seal that was kept elsewhere, as the log said it.
    #[arg(long, value_name = "NUMBER:ROOT:MAC", value_parser = seal)]
    seal: Option<String>,
    #[command(flatten)]
    remote: Remote,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

fn seal(text: &str) -> Result<String, String> {
    let good = kept(text).is_some();
    good.then(|| text.to_owned()).ok_or_else(|| "as the log said it: NUMBER:ROOT:MAC".to_owned())
}

pub(super) fn run(global: &Global, command: &Command) -> Result<(), Fault> {
    let Command::Verify(args) = command;
    let config = global.settings()?;
    let proof = wait(async {
        if args.remote.opens(&config)? {
            match opened(&config, args).await {
                // somebody holds it: the owner's note says who
                Err(fault) if fault.exit == Exit::TempFail => {}
                proof => return proof,
            }
        }
        let client = args.remote.client(global, Minted::Operator, Scope::OpsRead)?;
        Ok(client.audit_verify(args.seal.as_deref()).await?)
    })?;
    if args.json {
        show::json(&proof)?;
    } else {
        show::say(&told(&proof))?;
    }
    if proof.ok {
        return Ok(());
    }
    Err(Fault::new(Exit::Data, "the audit was changed"))
}

/// The journal alone is opened: nothing is carried on.
async fn opened(config: &Config, args: &Verify) -> Result<AuditProof, Fault> {
    let failed = |cause| Fault::new(Exit::Io, format!("the proof could not be made: {cause}"));
    let audit: Arc<dyn Audit> = if config.database.is_set() {
        stores::journal(config).await?
    } else {
        house::journal(&config.data.dir)?
    };
    let key = match config.audit.mac_secret.reveal() {
        "" => key::read(&config.data.dir, key::AUDIT)?,
        secret => secret.as_bytes().to_vec(),
    };
    let mut trail = audit.trail().await.map_err(failed)?;
    let kept = args.seal.as_deref().and_then(kept);
    let found = prove(&mut *trail, SealKey::new(&key), kept).await.map_err(failed)?;
    let value = serde_json::to_value(http::proof(&found)).and_then(serde_json::from_value);
    value.map_err(|fault| Fault::new(Exit::Software, fault.to_string()))
}

fn told(proof: &AuditProof) -> String {
    let mut text = format!(
        "{} transfers, {} entries, {} units, {} seals; {} units not sealed yet",
        proof.transfers, proof.entries, proof.units, proof.seals, proof.unsealed
    );
    if let Some(last) = &proof.last {
        text.push_str(&format!(
            "\nThe last seal, of {}, to be kept elsewhere:\n{}",
            last.at, last.seal
        ));
    }
    for fault in &proof.faults {
        text.push_str(&format!("\nWRONG {fault}"));
    }
    let unnamed = proof.wrong.saturating_sub(u64::try_from(proof.faults.len()).unwrap_or(u64::MAX));
    if unnamed > 0 {
        text.push_str(&format!("\n… and {unnamed} more"));
    }
    let verdict = if proof.ok {
        "\nNothing was changed, removed or cut off."
    } else {
        "\nThis is not what was written."
    };
    text.push_str(verdict);
    text
}
