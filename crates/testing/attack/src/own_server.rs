//! A server of our own, where none is named: the real binary on a folder that goes with it.

use crate::Outcome;
use crate::target::Target;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Signs the tokens of a server of our own.
pub const SECRET: &str = "a key for the attacks alone, of 32 bytes and more";

/// Where no server listens.
const SILENT: &str = "http://127.0.0.1:9";

/// The process, its folder and its log.
#[derive(Debug)]
pub struct OwnServer {
    child: Child,
    below: PathBuf,
    /// The address that it listens on.
    pub target: Target,
}

impl Drop for OwnServer {
    fn drop(&mut self) {
        // nothing of it is wanted any more
        let _gone = self.child.kill();
        let _reaped = self.child.wait();
        let _removed = std::fs::remove_dir_all(&self.below);
    }
}

impl OwnServer {
    /// Starts it and waits until it listens.
    ///
    /// # Errors
    /// It does not.
    pub fn start(program: &Path) -> Outcome<Self> {
        let below = std::env::temp_dir().join(format!("portage-attack-{}", std::process::id()));
        let fault = |fault: std::io::Error| format!("{}: {fault}", program.display());
        std::fs::create_dir_all(&below).map_err(fault)?;
        let log = File::create(below.join("log")).map_err(fault)?;
        let mut command = Command::new(program);
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("PORTAGE_") {
                command.env_remove(name);
            }
        }
        command
            .env("PORTAGE_AUTH__HS256_SECRET", SECRET)
            .env("PORTAGE_SERVER__HEADER_TIMEOUT_MS", "2000")
            .env("PORTAGE_SERVER__BODY_TIMEOUT_MS", "2000")
            // a ledger that is silent: transfers to it stand. It is of the simple form, of which a case
            // tells, and without which a resume can be proven
            .env("PORTAGE_RELAY__ACCOUNT_ID", "relay.near")
            .env("PORTAGE_RELAY__TOKEN_CONTRACT", "usdc.near")
            .env("PORTAGE_RELAY__ASSET", "USDC")
            .env("PORTAGE_LEDGERS__FUTURE__KIND", "remote")
            .env("PORTAGE_LEDGERS__FUTURE__FORM", "simple")
            .env("PORTAGE_LEDGERS__FUTURE__URL", SILENT)
            .env("PORTAGE_LEDGERS__FUTURE__TOKEN", "a-token-that-is-not-used-of-32-bytes")
            .arg("--data-dir")
            .arg(below.join("data"))
            .args(["serve", "--listen", "127.0.0.1:0"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log);
        let mut child = command.spawn().map_err(fault)?;
        let out = child.stdout.take().ok_or("the server has no stdout")?;
        let mut line = String::new();
        BufReader::new(out).read_line(&mut line).map_err(fault)?;
        let url = line.split_whitespace().find(|word| word.starts_with("http://"));
        let target = url.map_or_else(|| Err(format!("it says: {line}")), Target::of);
        let mut own = Self { child, below, target: Target { address: String::new() } };
        own.target = target?;
        Ok(own)
    }

    /// Whether it still runs.
    pub fn lives(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }
}
