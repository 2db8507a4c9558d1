//! `portage health`: asks a process whether it lives or is ready. The exit code is the answer, for health checks.

use super::exit::{Exit, Fault};
use super::{Global, output, remote, wait};
use crate::bootstrap;
use crate::config::{Config, Server};
use client::Error;
use std::path::PathBuf;

/// Ask a process of this machine whether it is ready: the exit code is the answer.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  portage health\n  portage health work --live\n  \
    portage health spot --url https://spot.example.internal:3100\n\n\
    It ends with 0 where the answer is 200, with 75 where the process answers and is not ready, and with 69\n\
    where no process answers. Without --url it asks the address of the settings: server.listen, work.listen\n\
    or spot.listen.")]
pub(super) struct HealthArgs {
    /// Which process: `portage serve`, `portage work` or `portage spot serve`.
    #[arg(value_enum, default_value_t = ProcessKind::Serve)]
    process: ProcessKind,
    /// Ask only whether it lives (`/livez`), not whether it is ready (`/readyz`).
    #[arg(long)]
    live: bool,
    /// Its address, instead of the one of the settings.
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// The authority that vouches for it, in PEM; without it this machine's own.
    #[arg(long, env = "PORTAGE_CA", value_name = "FILE")]
    ca: Option<PathBuf>,
}

/// The kinds of processes that answer probes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum ProcessKind {
    Serve,
    Work,
    Spot,
}

pub(super) fn run(global: &Global, args: &HealthArgs) -> Result<(), Fault> {
    let url = match &args.url {
        Some(url) => url.clone(),
        None => configured(&global.settings()?, args.process)?,
    };
    // probes show no token
    let client = remote::client_of(&url, "", args.ca.as_deref())?;
    let page = if args.live { "/livez" } else { "/readyz" };
    let answer = wait(async {
        client.probe(page).await.map_err(|error| match error {
            Error::Unreachable(why) => {
                Fault::new(Exit::Unavailable, format!("{url}: no process answers: {why}"))
            }
            other @ (Error::Refused { .. } | Error::Unknown(_) | Error::Unfit(_)) => {
                Fault::new(Exit::TempFail, format!("{url}{page}: {other}"))
            }
        })
    })?;
    if answer.ok {
        return output::print(&answer.status);
    }
    Err(Fault::new(Exit::TempFail, format!("{url}{page}: {}", answer.status)))
}

/// The address of a process by the settings; of a server rather the one that its folder notes.
///
/// # Errors
/// 78: `work.listen` is not set, so workers listen nowhere.
fn configured(config: &Config, process: ProcessKind) -> Result<String, Fault> {
    match process {
        ProcessKind::Serve => {
            let owner = bootstrap::owner(&config.data.dir).filter(|owner| owner.lives());
            let settings = || config.server.local_url(config.server.listen);
            Ok(owner.map_or_else(settings, |owner| owner.url))
        }
        ProcessKind::Work => {
            let unset = "work.listen is not set: `portage work` listens nowhere";
            let address = config.work.listen.ok_or_else(|| Fault::new(Exit::Config, unset))?;
            Ok(Server::default().local_url(address))
        }
        ProcessKind::Spot => Ok(config.spot.door().local_url(config.spot.listen)),
    }
}

#[cfg(test)]
mod tests {
    use super::{ProcessKind, configured};
    use crate::cli::exit::Exit;
    use crate::config::Config;

    /// Turns red where a probe asks an address that stands for all of the machine's.
    #[test]
    fn each_process_is_asked_where_it_listens() {
        let mut config = Config::default();
        config.data.dir = "/no/such/folder".into();
        let of = |config: &Config, process| configured(config, process).map_err(|fault| fault.exit);
        assert_eq!(of(&config, ProcessKind::Serve), Ok("http://127.0.0.1:3000".to_owned()));
        assert_eq!(of(&config, ProcessKind::Spot), Ok("http://127.0.0.1:3100".to_owned()));
        assert_eq!(of(&config, ProcessKind::Work), Err(Exit::Config));
        config.server.listen = "0.0.0.0:3000".parse().unwrap();
        config.server.tls.cert_file = "a.pem".into();
        config.work.listen = Some("[::]:3001".parse().unwrap());
        config.spot.listen = "192.0.2.7:3100".parse().unwrap();
        assert_eq!(of(&config, ProcessKind::Serve), Ok("https://127.0.0.1:3000".to_owned()));
        assert_eq!(of(&config, ProcessKind::Work), Ok("http://[::1]:3001".to_owned()));
        assert_eq!(of(&config, ProcessKind::Spot), Ok("http://192.0.2.7:3100".to_owned()));
    }
}
