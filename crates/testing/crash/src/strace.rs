//! Traces the system calls of a process with `strace`, and injects faults into them from outside.

use crate::Outcome;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

/// A fault, or only a look.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trace {
    /// Where what was seen goes.
    pub out: PathBuf,
    /// Which calls are looked at.
    pub calls: &'static str,
    /// What is done to them: the words of `strace`'s `inject`.
    pub inject: Option<Inject>,
    /// Only calls about these files.
    pub files: Vec<PathBuf>,
    /// What is written is in the trace, byte by byte.
    pub bytes: bool,
}

/// What is done to which calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inject {
    /// The calls by name, separated by commas.
    pub calls: &'static str,
    /// What: `signal=SIGKILL`, `error=EIO`, `retval=0`.
    pub what: &'static str,
    /// From which on, of each thread's own: `3`, `3+`, or all of them.
    pub when: Option<String>,
}

/// More than any call writes.
const LONGEST: &str = "4194304";

impl Trace {
    /// A look at nothing yet.
    pub const fn to(out: PathBuf, calls: &'static str) -> Self {
        Self { out, calls, inject: None, files: Vec::new(), bytes: false }
    }

    /// The command that runs a program under it. The program keeps the process that is started,
    /// with its exit code; the tracer is another.
    pub fn around(&self, program: &Path) -> Command {
        let mut command = Command::new("strace");
        command.args(["-D", "-qq"]);
        // it is faster, but with it strace 6.1 does not count calls right
        if self.inject.as_ref().is_none_or(|inject| inject.when.is_none()) {
            command.arg("--seccomp-bpf");
        }
        self.words(&mut command);
        command.arg(program);
        command
    }

    fn words(&self, command: &mut Command) {
        command.args(["-f", "-y"]);
        command.arg("-o").arg(&self.out);
        let injected = self.inject.as_ref().map(|inject| inject.calls);
        let all: Vec<&str> = [Some(self.calls), injected]
            .into_iter()
            .flatten()
            .filter(|calls| !calls.is_empty())
            .collect();
        command.arg("-e").arg(format!("trace={}", all.join(",")));
        if self.bytes {
            command.args(["-xx", "-s", LONGEST]);
        } else {
            command.args(["-s", "0"]);
        }
        if let Some(Inject { calls, what, when }) = &self.inject {
            let when = when.as_ref().map(|when| format!(":when={when}")).unwrap_or_default();
            command.arg("-e").arg(format!("inject={calls}:{what}{when}"));
        }
        for file in &self.files {
            command.arg("-P").arg(file);
        }
    }
}

/// A tracer of a process that runs already; its calls count from here.
#[derive(Debug)]
pub struct Attached(Child);

impl Attached {
    /// Begins; returns once every thread is traced.
    ///
    /// # Errors
    /// The tracer's.
    pub fn to(process: u32, trace: &Trace) -> Outcome<Self> {
        // what an earlier one saw is not of this one
        let _none = std::fs::remove_file(&trace.out);
        let mut command = Command::new("strace");
        trace.words(&mut command);
        command.args(["-p", &process.to_string()]).stdin(Stdio::null()).stderr(Stdio::piped());
        let mut tracer = command.spawn().map_err(|fault| format!("strace: {fault}"))?;
        let said = tracer.stderr.take().ok_or("strace says nothing")?;
        let (tell, told) = mpsc::channel();
        std::thread::spawn(move || {
            for line in BufReader::new(said).lines().map_while(Result::ok) {
                let _gone = tell.send(line);
            }
        });
        let line = told.recv_timeout(Duration::from_secs(20));
        let line = line.map_err(|_| "strace does not attach".to_owned())?;
        if line.contains("attached") { Ok(Self(tracer)) } else { Err(line) }
    }

    /// Lets go; the process runs on.
    ///
    /// # Errors
    /// The system's.
    pub fn detach(mut self) -> Outcome {
        let word = Command::new("kill").args(["-INT", &self.0.id().to_string()]).status();
        word.map_err(|fault| format!("kill: {fault}"))?;
        self.0.wait().map(drop).map_err(|fault| format!("strace: {fault}"))
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        // it ends with the process that it traces
        let _gone = self.0.kill();
        let _reaped = self.0.wait();
    }
}

/// That there is an `strace` which can do it.
///
/// # Errors
/// What is missing, and how to get it.
pub fn ready() -> Outcome {
    let mut look = Command::new("strace");
    look.args(["-D", "-f", "--seccomp-bpf", "-o", "/dev/null", "true"]);
    match look.stdout(Stdio::null()).stderr(Stdio::null()).status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!(
            "strace cannot trace here ({status}): it needs ptrace and seccomp, which some \
             containers forbid (Docker: --cap-add=SYS_PTRACE)"
        )),
        Err(fault) => Err(format!("no strace ({fault}): apt-get install strace")),
    }
}
