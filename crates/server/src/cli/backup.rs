//! `portage backup` and `portage restore`: copy the whole service to a folder, and make a data folder of such a
//! copy.

use super::exit::{Exit, Fault};
use super::remote::{self, Minted, Remote};
use super::{Global, output, wait};
use crate::auth::Scope;
use crate::backup::{self, BackupError, Manifest, verified};
use crate::bootstrap::{SPOT, Service};
use crate::config::{Config, Ledger};
use crate::open_store;
use crate::runtime::{Fatal, SystemRng};
use kernel::ids::{Id, LedgerId};
use kernel::ports::clock::{Clock, Rng};
use kernel::ports::meter::NoMeter;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Copy everything as of one instant, also while a server runs.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  portage backup /mnt/backups/2026-11-21\n  \
    portage backup --verify /mnt/backups/2026-11-21\n\n\
    Opens the data folder when no server holds it; else asks the server, which writes below its\n\
    backup.dir, and moves the backup from there to DIR. DIR must not exist, or be empty. A backup is\n\
    as confidential as the data folder. With database.url it copies Spot, and says to which place of\n\
    its log the database belongs; that is copied by PostgreSQL's own tools.")]
pub(super) struct BackupArgs {
    /// Where it is to be.
    #[arg(value_name = "DIR")]
    dir: PathBuf,
    /// Only see whether the backup in DIR is whole.
    #[arg(long)]
    verify: bool,
    #[command(flatten)]
    remote: Remote,
    /// Print the answer as JSON.
    #[arg(long)]
    json: bool,
}

/// Make a data folder of a backup.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  \
    portage restore /mnt/backups/2026-11-21 --data-dir ./portage-data\n\n\
    The data folder must not exist, or be empty. Its first start is halted, with a CRITICAL case\n\
    RESTORED that names the point: no money moves until a person has compared it with the outside.\n\
    With database.url: recover the database first, to the place that the backup names.")]
pub(super) struct RestoreArgs {
    /// The folder that holds the backup.
    #[arg(value_name = "DIR")]
    dir: PathBuf,
    /// Print the answer as JSON.
    #[arg(long)]
    json: bool,
}

fn fault(error: BackupError) -> Fault {
    let exit = match &error {
        BackupError::Exists(_) => Exit::CantCreate,
        BackupError::Elsewhere => Exit::Config,
        BackupError::Silent(_) => Exit::Unavailable,
        BackupError::Apart(_) => Exit::Data,
        BackupError::Full(_) => Exit::TempFail,
        BackupError::Io(_, fault) if fault.kind() == std::io::ErrorKind::InvalidData => Exit::Data,
        BackupError::Io(_, fault) if fault.kind() == std::io::ErrorKind::NotFound => Exit::NoInput,
        BackupError::Io(..) => Exit::Io,
    };
    Fault::new(exit, error.to_string())
}

fn none(dir: &Path) -> impl FnOnce(std::io::Error) -> Fault + '_ {
    let exit = if dir.exists() { Exit::Data } else { Exit::NoInput };
    move |fault| Fault::new(exit, format!("{}: no backup: {fault}", dir.display()))
}

pub(super) fn run(global: &Global, args: &BackupArgs) -> Result<(), Fault> {
    if args.verify {
        return verify(&args.dir, args.json);
    }
    let mut config = global.settings()?;
    let (data, database) = (&config.data.dir, config.database.is_set());
    let there = match database {
        true => data.join(SPOT).is_dir(),
        false => data.join(store::sqlite::FILE).is_file(),
    };
    if !there && !args.remote.has_url() {
        return Err(if database { no_spot(data) } else { remote::none(data) });
    }
    backup::may_be_made(&args.dir).map_err(fault)?;
    if there && database {
        // what the fleet reaches by a URL is here: the folder itself is copied
        config.ledgers = config.ledgers.with(LedgerId::SPOT, Ledger::default());
    }
    let (manifest, waited) = wait(async {
        match opened(&config, &args.dir).await {
            // another process holds it
            Err(fault) if fault.exit == Exit::TempFail => asked(global, args).await,
            made => made,
        }
    })?;
    if args.json {
        return output::print_json(&manifest);
    }
    let text = format!("{}\nCalls at Spot waited {waited} µs.", told(&manifest, &args.dir));
    output::print(&text)
}

/// With the journal in PostgreSQL a backup copies Spot's folder alone, and there is none.
fn no_spot(data: &Path) -> Fault {
    let what = "no Spot here to copy. database.url (or DATABASE_URL) is set, so the journal is in PostgreSQL and is copied by \
                its own tools; unset it to copy the journal of this folder";
    Fault::new(Exit::NoInput, format!("{}: {what}", data.display()))
}

/// The folder itself; nothing is carried on.
async fn opened(config: &Config, to: &Path) -> Result<(Manifest, u64), Fault> {
    let fatal: Fatal = Arc::new(|what| {
        output::eprint(&what);
        std::process::exit(Exit::Io.code());
    });
    let service = Service::of(config, Arc::new(NoMeter), fatal).await?;
    let made = service.source().back_up(to, None).await.map_err(fault)?;
    if let Err(fault) = service.rest().await {
        tracing::debug!(%fault, "the write-ahead log stays");
    }
    Ok((made.manifest, made.stood_still_us))
}

/// The server makes it where it may, and it is moved from there.
async fn asked(global: &Global, args: &BackupArgs) -> Result<(Manifest, u64), Fault> {
    let client = args.remote.client(global, Minted::Operator, Scope::Admin)?;
    let rng = SystemRng::default();
    let random = (u128::from(rng.next()) << 64) | u128::from(rng.next());
    let name = Id::new(crate::runtime::SystemClock::default().now(), random).to_string();
    let made = client.backup(&name).await?;
    let from = Path::new(&made.dir);
    if !from.is_dir() {
        let what = format!(
            "the backup is at {} on the server's machine, which is not this one: fetch it there",
            made.dir
        );
        return Err(Fault::new(Exit::NoInput, what));
    }
    let manifest = backup::moved(from, &args.dir).map_err(|error| {
        let fault = fault(error);
        Fault::new(fault.exit, format!("{}; the backup stays at {}", fault.sentence, made.dir))
    })?;
    Ok((manifest, made.stood_still_us))
}

fn verify(dir: &Path, json: bool) -> Result<(), Fault> {
    let (manifest, faults) = verified(dir).map_err(none(dir))?;
    if !faults.is_empty() {
        let what = format!("{}: not whole: {}", dir.display(), faults.join("; "));
        return Err(Fault::new(Exit::Data, what));
    }
    if json {
        return output::print_json(&manifest);
    }
    output::print(&format!("{}\nEvery file is as it was copied.", told(&manifest, dir)))
}

pub(super) fn restore(global: &Global, args: &RestoreArgs) -> Result<(), Fault> {
    let config = global.settings()?;
    let data = config.data.dir.clone();
    let about = backup::whole(&args.dir, &data).map_err(fault)?;
    match (&about.database, config.database.is_set()) {
        (None, false) => {}
        // before there is a folder that could be started
        (Some(wanted), true) => wait(async {
            let store = open_store::journal(&config).await?;
            backup::paired(&store, &about, wanted).await.map_err(fault)
        })?,
        (Some(wanted), false) => {
            let what = format!(
                "the journal of this backup is in PostgreSQL: recover that to recovery_target_lsn = \
                 '{}' first, and set database.url",
                wanted.lsn
            );
            return Err(Fault::new(Exit::Config, what));
        }
        (None, true) => {
            let what =
                "this backup has a journal of its own, and database.url names another: unset it";
            return Err(Fault::new(Exit::Config, what));
        }
    }
    let manifest = backup::restored(&args.dir, &data).map_err(fault)?;
    if args.json {
        return output::print_json(&manifest);
    }
    output::print(&format!(
        "{}\nRestored into {}. Its first start is halted: compare it with the outside, see the case \
         RESTORED, then resume.",
        told(&manifest, &args.dir),
        data.display()
    ))
}

fn told(manifest: &Manifest, dir: &Path) -> String {
    let spot = match &manifest.spot {
        Some(spot) => format!("Spot up to operation {}", spot.highest),
        None => "without Spot, which is elsewhere".to_owned(),
    };
    let database = manifest.database.as_ref().map_or_else(String::new, |place| {
        format!(
            "\nthe database is to be recovered to recovery_target_lsn = '{}', with \
             recovery_target_inclusive = off (timeline {}, system identifier {})",
            place.lsn, place.timeline, place.system_identifier
        )
    });
    format!(
        "{}: a backup of {}, by release {}\ntransfers up to number {}, {spot}; {} files, {} bytes{database}",
        dir.display(),
        manifest.at,
        manifest.release,
        manifest.transfers,
        manifest.files.len(),
        manifest.bytes()
    )
}
