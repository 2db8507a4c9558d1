//! One process of a fleet: killed, stopped in order, halted where it stands, and started again.

use crate::fixture::process::binary;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::sync::{Mutex, MutexGuard, PoisonError};
use testbed::Listening;

/// What a process is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Spot,
    Serve,
    Work,
}

impl Role {
    const fn words(self) -> &'static [&'static str] {
        match self {
            Self::Spot => &["spot", "serve"],
            Self::Serve => &["serve", "--no-workers"],
            Self::Work => &["work"],
        }
    }
}

/// One process, with a folder of its own; it ends with this value.
#[derive(Debug)]
pub(super) struct Process {
    pub(super) role: Role,
    pub(super) port: u16,
    dir: PathBuf,
    settings: Vec<(String, String)>,
    running: Mutex<Listening>,
}

pub(super) fn free_port() -> u16 {
    testbed::free_port().expect("a free port")
}

/// The binary with a folder and these settings, and nothing of the caller's.
pub(super) fn portage(dir: &Path, settings: &[(String, String)]) -> Command {
    let mut command = binary();
    command.arg("--data-dir").arg(dir).envs(settings.iter().cloned());
    command
}

impl Process {
    /// Starts it, and waits until it says that it is there.
    pub(super) fn start(
        role: Role,
        dir: PathBuf,
        port: u16,
        settings: &[(String, String)],
    ) -> Self {
        fs::create_dir_all(&dir).expect("a folder");
        let settings = settings.to_vec();
        let running = Mutex::new(launched(role, &dir, port, &settings));
        Self { role, port, dir, settings, running }
    }

    fn running(&self) -> MutexGuard<'_, Listening> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn signal(&self, name: &str) {
        self.running().signal(name).expect("it is sent");
    }

    /// `kill -9`, and it is gone.
    pub(super) fn kill9(&self) {
        self.running().kill();
    }

    /// Tells it to end in order.
    pub(super) fn term(&self) {
        self.signal("TERM");
    }

    /// Waits for its end.
    pub(super) fn wait(&self) -> ExitStatus {
        self.running().wait().expect("it ends")
    }

    /// Halts it where it stands.
    pub(super) fn halt(&self) {
        self.signal("STOP");
    }

    /// Lets it go on.
    pub(super) fn resume(&self) {
        self.signal("CONT");
    }

    /// Starts it once more, on its own folder and port.
    pub(super) fn again(&self) {
        *self.running() = launched(self.role, &self.dir, self.port, &self.settings);
    }

    /// Whether it runs still.
    pub(super) fn runs(&self) -> bool {
        self.running().ended().is_none()
    }

    /// What it wrote to its log.
    pub(super) fn log(&self) -> String {
        self.running().log()
    }
}

/// Starts it until it is there: where its database does not answer in time it ends and asks for that
/// (69, 75), and the supervisor starts it again.
fn launched(role: Role, dir: &Path, port: u16, settings: &[(String, String)]) -> Listening {
    for _ in 0..20 {
        let mut command = portage(dir, settings);
        command.args(role.words());
        if role != Role::Work {
            command.args(["--listen", &format!("127.0.0.1:{port}")]);
        }
        match Listening::logged(command, &dir.join("log")) {
            Ok(listening) => return listening,
            Err(failed) => {
                let code = failed.status.and_then(|ended| ended.code());
                assert!(matches!(code, Some(69 | 75)), "{role:?}: {failed}");
            }
        }
    }
    panic!("{role:?} does not start: 20 times it ended with 69 or 75")
}
