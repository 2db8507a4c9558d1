//! `portage halt`: writes a HALT into the store itself, without a server and without a token.

use super::exit::{Exit, Fault};
use super::{Global, output, remote, wait};
use crate::config::Config;
use crate::http::admin::fits_as_reason;
use crate::open_store::Store;
use crate::runtime::SystemClock;
use crate::{bootstrap, open_store};
use engine::operators::Actor;
use engine::operators::local_halt::{halt_store, wait_for_workers};
use kernel::answer::Cause;
use kernel::principal::fit_subject;
use std::path::Path;
use std::sync::Arc;

/// Stop all money on the machine itself, without a server and without a token.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  portage halt --reason \"no token is accepted, and money moves\"\n\n\
    For the moment when `portage ops halt` is not let in, or no server answers. Works on database.url (or\n\
    DATABASE_URL), whose servers and workers follow it within a second or two, else on the folder\n\
    data.dir while no server holds it: a held folder ends with 75. The audit keeps it with the name of\n\
    this machine's user. Money moves again as after any HALT: two persons resume through a server."
)]
pub(super) struct LocalHaltArgs {
    /// Why, for the audit.
    #[arg(long, value_parser = reason)]
    reason: String,
}

fn reason(text: &str) -> Result<String, String> {
    let why = || "1 to 256 characters, none of them a control".to_owned();
    fits_as_reason(text).then(|| text.to_owned()).ok_or_else(why)
}

pub(super) fn run(global: &Global, args: &LocalHaltArgs) -> Result<(), Fault> {
    // an unknown setting elsewhere must not keep the money moving
    let config = global.store_settings(&[])?;
    wait(async {
        let store = opened(&config).await?;
        let actor = Actor {
            caller: format!("portage|local:{}", os_user()).into(),
            key: client::fresh_cid().into(),
            reason: args.reason.as_str().into(),
        };
        let unknown = |cause: Cause| {
            let what = format!(
                "it is not known whether the HALT is written: {cause}. Repeat it: a second HALT does no harm"
            );
            Fault::new(Exit::TempFail, what)
        };
        let halt = halt_store(&*store, actor).await.map_err(unknown)?;
        output::print(&format!(
            "HALT {halt} is in force: no claim is written and no call with an effect is begun, until two persons resume"
        ))?;
        if !config.database.is_set() {
            return output::print("The next start is halted.");
        }
        let clock = SystemClock::default();
        let late = wait_for_workers(&*store, &clock, halt).await.map_err(|cause| {
            let what = format!("the HALT stands; which workers follow it cannot be read: {cause}");
            Fault::new(Exit::Unavailable, what)
        })?;
        if late == 0 {
            return output::print("Every worker that is alive follows it.");
        }
        let what = format!("{late} workers have calls under way that began before it");
        Err(Fault::new(Exit::TempFail, what))
    })
}

/// The store of these settings, to write one unit into it.
async fn opened(config: &Config) -> Result<Arc<dyn Store>, Fault> {
    if config.database.is_set() {
        return Ok(open_store::journal(config).await?);
    }
    let dir = &config.data.dir;
    if !dir.join(store::sqlite::FILE).is_file() {
        return Err(remote::none(dir));
    }
    match bootstrap::journal(dir) {
        Err(fault) if fault.exit == Exit::TempFail => Err(held(dir, &fault)),
        opened => Ok(opened?),
    }
}

/// Another process holds the folder, and is the one to halt.
fn held(dir: &Path, fault: &Fault) -> Fault {
    let shown = dir.display();
    let what = format!(
        "nothing was written: {fault}. Halt through that process, whose token the folder's key signs: `portage ops halt \
         --data-dir {shown} --reason …`, or `portage token --sub NAME --scope ops:act` for another client. Where \
         auth.jwks_file or auth.jwks_url is set, give a token of those keys with --token: a set that is stale still \
         lets a HALT in. Or stop that process, and repeat this command: the next start is halted"
    );
    Fault::new(Exit::TempFail, what)
}

/// The name of this process's user on this machine; its number where it has no name that fits.
fn os_user() -> String {
    let id = rustix::process::getuid().as_raw().to_string();
    let all = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let named = all.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)? == id).then(|| name.to_owned())
    });
    named.filter(|name| fit_subject(name).is_ok()).unwrap_or(id)
}
