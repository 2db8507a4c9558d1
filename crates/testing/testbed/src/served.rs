//! Runs a server under a benchmark's load in a process of its own: the benchmark's program again, as the product's
//! command line or as a peer.

use crate::{Listening, Outcome, free_port};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::{Command, Stdio};

/// With this first word a benchmark's program is the product's command line: the server under load is the
/// real one.
pub const PORTAGE: &str = "portage";
/// Signs the benchmark's tokens.
const SECRET: &str = "a key for the benchmark alone, 32 bytes";
/// Settings that the product reads without its prefix.
const OTHERS: [&str; 13] = [
    "DATABASE_URL",
    "KAFKA_BROKERS",
    "RELAY_ACCOUNT_ID",
    "FT_TOKEN_ADDRESS",
    "NEAR_NETWORK",
    "NEAR_RPC_URL",
    "RELAY_ACCESS_KEYS",
    "SOLANA_RPC_URL",
    "SOL_MAIN_ACCOUNT",
    "VAULT_USDC_ACCOUNT",
    "VAULT_KEYPAIR",
    "USDC_MINT",
    "USDC_QUARANTINE_ACCOUNT",
];

/// A process that ends with this value.
#[derive(Debug)]
pub struct Served {
    process: Listening,
    /// The address at which it listens.
    pub address: SocketAddr,
}

/// This program again, with another first word and without the caller's own settings.
///
/// # Errors
/// The program has no path.
pub fn own(first: &str) -> Outcome<Command> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut command = Command::new(program);
    command.arg(first).stdin(Stdio::null());
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy();
        if OTHERS.contains(&&*name) || name.starts_with("PORTAGE_") {
            command.env_remove(&*name);
        }
    }
    command.env("PORTAGE_AUTH__HS256_SECRET", SECRET);
    command.env("PORTAGE_LOG", "warn");
    // one user of the load may ask for many, and one operator funds all
    command.env("PORTAGE_LIMITS__WARN_PER_MINUTE", "0");
    command.env("PORTAGE_LIMITS__REFUSED_PER_HOUR", "0");
    command.env("PORTAGE_OPS__DEFAULT_DEPOSIT_LIMIT", "0");
    Ok(command)
}

impl Served {
    /// The product over a folder, with these settings beside the benchmark's own.
    ///
    /// # Errors
    /// It does not start.
    pub fn portage(folder: &Path, settings: &[(&str, String)]) -> Outcome<Self> {
        let mut command = own(PORTAGE)?;
        command.arg("--data-dir").arg(folder).args(["serve", "--listen"]);
        command.envs(settings.iter().map(|(name, value)| (name, value)));
        Self::start(command, |command, address| {
            command.arg(address);
        })
    }

    /// What `command` starts at an address, which it is given by `listen`. It has started when it prints a
    /// line.
    ///
    /// # Errors
    /// It does not start.
    pub fn start(mut command: Command, listen: impl FnOnce(&mut Command, String)) -> Outcome<Self> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, free_port()?));
        listen(&mut command, address.to_string());
        let process = Listening::start(command).map_err(|failed| failed.to_string())?;
        Ok(Self { process, address })
    }

    /// The number of its process.
    #[must_use]
    pub fn process(&self) -> u32 {
        self.process.id()
    }

    /// Ends it in order, so that its store is whole.
    ///
    /// # Errors
    /// It ended otherwise.
    pub fn stop(self) -> Outcome {
        self.process.signal("TERM")?;
        // a server that does not end is ended
        match self.process.wait() {
            Some(status) if status.success() => Ok(()),
            status => Err(format!("the server ended with {status:?}")),
        }
    }
}

/// A token of a service that acts for any user, and of an operator.
///
/// # Errors
/// What the command line said.
pub fn token(folder: &Path) -> Outcome<String> {
    let mut command = own(PORTAGE)?;
    command.arg("--data-dir").arg(folder);
    command.args(["token", "--sub", "bench", "--scope", "admin", "--ttl", "1h"]);
    let out = command.output().map_err(|error| error.to_string())?;
    if out.status.success() {
        return Ok(String::from_utf8_lossy(&out.stdout).trim().to_owned());
    }
    Err(format!("no token: {}", String::from_utf8_lossy(&out.stderr)))
}
