//! A ledger elsewhere as a process of its own: a Python file of the guide, or `portage spot serve`.

use crate::fixture::process::binary;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use testbed::Listening;

pub(crate) const TOKEN: &str = "a-token-for-tests-long-enough-for-anybody";
/// The first of the ports, and how many, that the machine does not hand out by itself: while no one
/// listens there, none is taken away.
const PORTS: (u16, u16) = (20_000, 12_000);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Program {
    /// A file of Python.
    Python(PathBuf),
    /// `portage spot serve` with these variables.
    Spot(Vec<(String, String)>),
}

impl Program {
    /// A file of the guide.
    pub(crate) fn guide(name: &str) -> Self {
        let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide");
        Self::Python(guide.join(name).canonicalize().expect("the guide has this file"))
    }

    fn command(&self, store: &Path, port: u16) -> Command {
        match self {
            Self::Python(file) => {
                let mut command = Command::new("python3");
                command.arg("-B").arg(file).arg(store.join("ledger.db")).arg(port.to_string());
                command.env("LEDGER_TOKEN", TOKEN).stdin(Stdio::null());
                command
            }
            Self::Spot(variables) => {
                let mut command = binary();
                command.args(["spot", "serve", "--data-dir"]).arg(store);
                command.env("PORTAGE_SPOT__LISTEN", format!("127.0.0.1:{port}"));
                command.env("PORTAGE_SPOT__TOKEN", TOKEN).envs(variables.iter().cloned());
                command.stderr(Stdio::null());
                command
            }
        }
    }
}

/// A running ledger; it dies with the test.
pub(crate) struct Elsewhere {
    process: Listening,
    pub at: SocketAddr,
}

/// A port for a ledger that is started there more than once.
pub(crate) fn port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let (first, many) = PORTS;
    let own = u16::try_from(std::process::id() % u32::from(many)).unwrap_or_default();
    let free = (0..many).map(|_| NEXT.fetch_add(1, Ordering::Relaxed)).find_map(|n| {
        let port = first + own.wrapping_add(n) % many;
        TcpListener::bind((Ipv4Addr::LOCALHOST, port)).ok().map(|_| port)
    });
    free.expect("a free port")
}

impl Elsewhere {
    /// Runs it on a folder, at a port (0: any), and waits until it listens.
    pub(crate) fn start(program: &Program, store: &Path, port: u16) -> Self {
        let command = program.command(store, port);
        let process = Listening::start(command).unwrap_or_else(|failed| {
            panic!("{program:?}: {failed} The guide's ledgers need `python3`, 3.10 or later")
        });
        let address = process.url.rsplit("://").next().and_then(|at| at.parse().ok());
        let at = address.unwrap_or_else(|| panic!("{program:?}: no address: {}", process.url));
        Self { process, at }
    }

    /// Kills it with signal 9, so that it can finish nothing.
    pub(crate) fn strike(&self) {
        self.process.kill();
    }
}
