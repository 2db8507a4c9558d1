//! `portage audit verify|rekey`: computes the audit's hashes and seals again, on the folder itself or through its
//! server, and changes the key of the seals.

mod rekey;

use crate::auth::{Scope, key};
use crate::cli::exit::{Exit, Fault};
use crate::cli::remote::{Minted, Remote};
use crate::cli::{Global, output, wait};
use crate::config::Config;
use crate::http::admin::audit_proof as http;
use crate::{bootstrap, open_store};
use client::types::AuditProof;
use engine::audit::{parse_seal, prove};
use kernel::ports::audit::Audit;
use std::sync::Arc;
use store::sqlite::LostUnits;

/// Prove that the audit was not changed.
#[derive(Debug, clap::Subcommand)]
#[command(after_help = "Example:\n  portage audit verify")]
pub(in crate::cli) enum AuditCommand {
    /// Compute every hash and every seal again, and name what does not fit.
    Verify(VerifyArgs),
    /// Make a new key for the seals, and print the settings that change to it.
    Rekey(rekey::RekeyArgs),
}

/// Compute every hash and every seal again, and name what does not fit.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  portage audit verify --data-dir ./portage-data\n\n\
    Opens the folder when no server holds it, else asks the server at --url, or the one that holds \
    the folder; with a database it asks the server at --url where one is named. Ends with 0 only if \
    nothing was changed, removed or cut off. A person who may write to the folder may cut off its end, with \
    the seals there: only a seal that was kept elsewhere (the log has each of them) tells. Give it with \
    --seal.")]
pub(in crate::cli) struct VerifyArgs {
    /// A seal that was kept elsewhere, as the log said it.
    #[arg(long, value_name = "NUMBER:ROOT:MAC", value_parser = seal)]
    seal: Option<String>,
    #[command(flatten)]
    remote: Remote,
    /// Print the answer as JSON.
    #[arg(long)]
    json: bool,
}

fn seal(text: &str) -> Result<String, String> {
    let good = parse_seal(text).is_some();
    good.then(|| text.to_owned()).ok_or_else(|| "as the log said it: NUMBER:ROOT:MAC".to_owned())
}

pub(in crate::cli) fn run(global: &Global, command: &AuditCommand) -> Result<(), Fault> {
    match command {
        AuditCommand::Verify(args) => verify(global, args),
        AuditCommand::Rekey(args) => rekey::run(global, args),
    }
}

fn verify(global: &Global, args: &VerifyArgs) -> Result<(), Fault> {
    // what is wrong elsewhere, such as a variable of a ledger that is gone, changes nothing of the proof
    let config = global.store_settings(&["audit"])?;
    let proof = wait(async {
        if args.remote.opens(&config)? {
            match opened(&config, args).await {
                // another process holds it: the owner's note says who
                Err(fault) if fault.exit == Exit::TempFail => {}
                proof => return proof,
            }
        }
        let client = args.remote.client(global, Minted::Operator, Scope::OpsRead)?;
        Ok(client.audit_verify(args.seal.as_deref()).await?)
    })?;
    if args.json {
        output::print_json(&proof)?;
    } else {
        output::print(&told(&proof))?;
    }
    if proof.ok {
        return Ok(());
    }
    Err(Fault::new(Exit::Data, "the audit was changed"))
}

/// The journal alone is opened: nothing is carried on.
async fn opened(config: &Config, args: &VerifyArgs) -> Result<AuditProof, Fault> {
    let failed = |cause| Fault::new(Exit::Io, format!("the proof could not be made: {cause}"));
    let mut lost = None;
    let audit: Arc<dyn Audit> = if config.database.is_set() {
        open_store::journal(config).await?
    } else {
        let folder = bootstrap::journal(&config.data.dir)?;
        lost = folder.lost_units();
        folder
    };
    let key = key::sealing(&config.audit, || key::read(&config.data.dir, key::AUDIT))?;
    let mut trail = audit.trail().await.map_err(failed)?;
    let kept = args.seal.as_deref().and_then(parse_seal);
    let found = prove(&mut *trail, key, kept).await.map_err(failed)?;
    let value = serde_json::to_value(http::proof(&found)).and_then(serde_json::from_value);
    let mut proof: AuditProof =
        value.map_err(|fault| Fault::new(Exit::Software, fault.to_string()))?;
    if let Some(LostUnits { stored, written }) = lost {
        proof.ok = false;
        proof.wrong = proof.wrong.saturating_add(1);
        proof
            .faults
            .push(format!("the journal ends at unit {stored}, and unit {written} was written"));
    }
    Ok(proof)
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
    for one in &proof.unproven {
        text.push_str(&format!("\nNOT PROVEN {one}"));
    }
    let verdict = if proof.ok {
        "\nNothing was changed, removed or cut off."
    } else {
        "\nThis is not what was written."
    };
    text.push_str(verdict);
    text
}
