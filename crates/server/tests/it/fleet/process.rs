//! One process of a fleet: killed, stopped in order, halted where it stands, and started again.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use testbed::signal;

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
    child: Mutex<Child>,
}

pub(super) fn free_port() -> u16 {
    let bound = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
    bound.local_addr().expect("its number").port()
}

/// The binary with a folder and these settings, and nothing of the caller's.
pub(super) fn portage(dir: &Path, settings: &[(String, String)]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_portage"));
    command.env_clear().stdin(Stdio::null()).arg("--data-dir").arg(dir);
    command.envs(settings.iter().map(|(name, value)| (name, value)));
    command
}

/// How a command ended, and all that it said.
pub(super) fn said(out: &Output) -> (Option<i32>, String) {
    let text = [&out.stdout[..], &out.stderr[..]].concat();
    (out.status.code(), String::from_utf8_lossy(&text).into_owned())
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
        let child = Mutex::new(launched(role, &dir, port, &settings));
        Self { role, port, dir, settings, child }
    }

    fn child(&self) -> MutexGuard<'_, Child> {
        self.child.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn signal(&self, name: &str) {
        signal(name, &[self.child().id()]).expect("it is sent");
    }

    /// `kill -9`, and it is gone.
    pub(super) fn kill9(&self) {
        let mut child = self.child();
        child.kill().expect("it can be killed");
        child.wait().expect("it is gone");
    }

    /// Tells it to end in order.
    pub(super) fn term(&self) {
        self.signal("TERM");
    }

    /// Waits for its end.
    pub(super) fn wait(&self) -> ExitStatus {
        self.child().wait().expect("it ends")
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
        let child = launched(self.role, &self.dir, self.port, &self.settings);
        *self.child() = child;
    }

    /// Whether it runs still.
    pub(super) fn runs(&self) -> bool {
        self.child().try_wait().expect("it is asked").is_none()
    }

    /// What it wrote to its log.
    pub(super) fn log(&self) -> String {
        log_of(&self.dir)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let mut child = self.child();
        // it may have ended already
        let _gone = child.kill();
        let _reaped = child.wait();
    }
}

/// Starts it until it is there: where its database does not answer in time it ends and asks for that
/// (69, 75), and the supervisor starts it again.
fn launched(role: Role, dir: &Path, port: u16, settings: &[(String, String)]) -> Child {
    for _ in 0..20 {
        let mut command = portage(dir, settings);
        command.args(role.words());
        if role != Role::Work {
            command.args(["--listen", &format!("127.0.0.1:{port}")]);
        }
        let log = File::options().create(true).append(true).open(dir.join("log")).expect("a log");
        let mut child = command.stdout(Stdio::piped()).stderr(log).spawn().expect("it starts");
        let mut line = String::new();
        let out = child.stdout.take().expect("its stdout");
        BufReader::new(out).read_line(&mut line).expect("a line");
        if line.starts_with("portage ") {
            return child;
        }
        let ended = child.wait().expect("it ends");
        assert!(matches!(ended.code(), Some(69 | 75)), "{role:?}: {ended}: {line}{}", log_of(dir));
    }
    panic!("{role:?} does not start: {}", log_of(dir))
}

fn log_of(dir: &Path) -> String {
    fs::read_to_string(dir.join("log")).unwrap_or_default()
}
