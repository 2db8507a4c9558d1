//! Starts and stops the server under test: the real binary, in a process of its own.

use crate::strace::Trace;
use crate::{Outcome, clock};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::Duration;

/// Signs the campaign's tokens, so that no key file is part of what may be lost.
const SECRET: &str = "a key for the crash campaign alone, 32 bytes";
/// How long a start, a stop or an end may take.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(60);

/// What a process is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// It answers, carries, and holds the Spot accounts.
    Alone,
    /// It answers, and others carry.
    Serve,
    /// It carries, and answers no client.
    Work,
    /// It holds the Spot accounts.
    Spot,
}

impl Role {
    const fn words(self) -> &'static [&'static str] {
        match self {
            Self::Alone => &["serve"],
            Self::Serve => &["serve", "--no-workers"],
            Self::Work => &["work"],
            Self::Spot => &["spot", "serve"],
        }
    }
}

/// Where the log of a process goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stderr {
    /// The file of its site.
    File,
    /// A pipe whose reader is gone: each write fails.
    Closed,
    /// A disk without room.
    Full,
}

impl Stderr {
    /// That of the next life: a log that takes nothing fails in the other way.
    #[must_use]
    pub const fn of_next_life(self) -> Self {
        match self {
            Self::File => Self::File,
            Self::Closed => Self::Full,
            Self::Full => Self::Closed,
        }
    }

    fn open(self, file: &Path) -> std::io::Result<Stdio> {
        Ok(match self {
            Self::File => File::options().create(true).append(true).open(file)?.into(),
            Self::Closed => std::io::pipe()?.1.into(),
            Self::Full => File::options().write(true).open("/dev/full")?.into(),
        })
    }
}

/// How the server is started, again and again.
#[derive(Debug, Clone)]
pub struct Site {
    /// What it is for.
    pub role: Role,
    pub program: PathBuf,
    pub data: PathBuf,
    /// Where it listens, always the same.
    pub address: String,
    /// Its log, outside of the folder.
    pub log: PathBuf,
    /// Whether the log goes there.
    pub stderr: Stderr,
    /// Settings beside the campaign's own.
    pub settings: Vec<(&'static str, String)>,
}

impl Site {
    /// A site below a folder, on a port that is free now.
    ///
    /// # Errors
    /// There is no port, or the folder cannot be made.
    pub fn new(program: &Path, below: &Path) -> Outcome<Self> {
        let address = format!("127.0.0.1:{}", testbed::free_port()?);
        let data = below.join("data");
        // the folder's own name in its parent is the operator's to make durable
        std::fs::create_dir_all(&data).map_err(|fault| format!("{}: {fault}", data.display()))?;
        let program = program.to_owned();
        let log = below.join("server.log");
        let (stderr, settings) = (Stderr::File, Vec::new());
        Ok(Self { role: Role::Alone, program, data, address, log, stderr, settings })
    }

    /// Where clients reach it.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    fn command(&self, trace: Option<&Trace>) -> Command {
        let mut command =
            trace.map_or_else(|| Command::new(&self.program), |trace| trace.around(&self.program));
        for (name, _) in std::env::vars_os() {
            if name == "DATABASE_URL" || name.to_string_lossy().starts_with("PORTAGE_") {
                command.env_remove(name);
            }
        }
        command.env("PORTAGE_AUTH__HS256_SECRET", SECRET);
        // one operator funds every user, and the load asks for more than its users have
        command.env("PORTAGE_OPS__DEFAULT_DEPOSIT_LIMIT", "0");
        command.env("PORTAGE_LIMITS__REFUSED_PER_HOUR", "0");
        // what is found after a crash is looked for at once, and asked for often
        command.env("PORTAGE_ENGINE__SCAN_INTERVAL_MS", "100");
        command.env("PORTAGE_ENGINE__BACKOFF_BASE_MS", "20");
        command.env("PORTAGE_ENGINE__BACKOFF_CAP_MS", "500");
        command.env("PORTAGE_AUDIT__SEAL_INTERVAL_MS", "200");
        command.env("PORTAGE_CONSERVATION__INTERVAL_MS", "500");
        command.envs(self.settings.iter().map(|(name, value)| (name, value)));
        command.arg("--data-dir").arg(&self.data).stdin(Stdio::null());
        command
    }

    /// Starts it; it is ready when [`Server::ready`] says so.
    ///
    /// # Errors
    /// It cannot be started at all.
    pub fn start(&self, trace: Option<&Trace>) -> Outcome<Server> {
        let fault = |error: std::io::Error| format!("{}: {error}", self.program.display());
        let log = self.stderr.open(&self.log).map_err(fault)?;
        let mut command = self.command(trace);
        command.args(self.role.words());
        if self.role != Role::Work {
            command.args(["--listen", &self.address]);
        }
        let mut child = command.stdout(Stdio::piped()).stderr(log).spawn().map_err(fault)?;
        let out = child.stdout.take().ok_or("the server has no stdout")?;
        let (tell, first) = mpsc::channel();
        std::thread::spawn(move || {
            let mut line = String::new();
            let read = BufReader::new(out).read_line(&mut line);
            let _gone = tell.send(read.is_ok() && line.starts_with("portage "));
        });
        let trace = trace.map(|trace| trace.out.clone());
        Ok(Server { child, first, trace })
    }

    /// Runs another command of the binary on the folder, to its end.
    ///
    /// # Errors
    /// What it said, where it did not end well.
    pub fn run(&self, words: &[&str]) -> Outcome<String> {
        let mut command = self.command(None);
        let out = command.args(words).output().map_err(|fault| format!("{words:?}: {fault}"))?;
        let said = String::from_utf8_lossy(&out.stdout).into_owned();
        if out.status.success() {
            return Ok(said);
        }
        let wrong = String::from_utf8_lossy(&out.stderr);
        Err(format!("`portage {}` ended with {}: {said}{wrong}", words.join(" "), out.status))
    }

    /// The end of its log.
    pub fn last_words(&self) -> String {
        let log = std::fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = log.lines().rev().take(5).collect();
        lines.into_iter().rev().collect::<Vec<_>>().join("\n")
    }

    /// A token of a service that acts for any user, and of an operator.
    ///
    /// # Errors
    /// The binary's.
    pub fn token(&self) -> Outcome<String> {
        let words = ["token", "--sub", "campaign", "--scope", "admin", "--ttl", "1h"];
        Ok(self.run(&words)?.trim().to_owned())
    }
}

/// A process that was started.
#[derive(Debug)]
pub struct Server {
    child: Child,
    first: mpsc::Receiver<bool>,
    trace: Option<PathBuf>,
}

impl Drop for Server {
    fn drop(&mut self) {
        // already gone in the normal course
        let _gone = self.child.kill();
        let _reaped = self.child.wait();
    }
}

impl Server {
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits until it listens. False: it ended before.
    pub fn ready(&self) -> bool {
        self.first.recv_timeout(TIMEOUT).unwrap_or(false)
    }

    /// Whether it ended by itself, and how.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// Waits at most this time for its end.
    pub fn ends_within(&mut self, limit: Duration) -> Option<ExitStatus> {
        clock::until(limit, || self.ended())
    }

    /// SIGKILL: the process gets no chance to do anything.
    ///
    /// # Errors
    /// The system's.
    pub fn kill(mut self) -> Outcome {
        // it may have ended by itself
        let _gone = self.child.kill();
        self.child.wait().map_err(|fault| format!("the server cannot be waited for: {fault}"))?;
        self.traced()
    }

    /// SIGTERM: it drains and stops.
    ///
    /// # Errors
    /// The system's.
    pub fn terminate(&self) -> Outcome {
        let word = Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status();
        word.map(drop).map_err(|fault| format!("kill: {fault}"))
    }

    /// The tracer has written all that it saw.
    fn traced(&self) -> Outcome {
        let Some(out) = &self.trace else { return Ok(()) };
        let tracer = format!("{}", out.display());
        clock::until(TIMEOUT, || (!traces(&tracer)).then_some(()))
            .ok_or_else(|| format!("strace does not end: {tracer}"))
    }
}

/// Whether a process writes this trace still: the tracer has no parent here.
fn traces(out: &str) -> bool {
    let Ok(all) = std::fs::read_dir("/proc") else { return false };
    all.flatten().any(|process| {
        let name = process.file_name();
        let number = name.to_string_lossy().bytes().all(|byte| byte.is_ascii_digit());
        let line = number.then(|| std::fs::read(process.path().join("cmdline")));
        let line = line.and_then(Result::ok).unwrap_or_default();
        line.starts_with(b"strace\0") && line.split(|byte| *byte == 0).any(|w| w == out.as_bytes())
    })
}
