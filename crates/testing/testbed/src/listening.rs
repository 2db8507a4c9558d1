//! Starts a program in a process of its own that prints a line once it listens.

use crate::Outcome;
use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How long a start or an end may take.
const TIMEOUT: Duration = Duration::from_secs(300);

/// A process that listens; it ends with this value.
#[derive(Debug)]
pub struct Listening {
    child: Mutex<Child>,
    /// Where it listens, by the last word of its first line.
    pub url: String,
    log: Option<PathBuf>,
}

/// A process that ended, or was ended, before it listened.
#[derive(Debug)]
pub struct NotListening {
    /// How it ended; none where it could not be started.
    pub status: Option<ExitStatus>,
    /// What it wrote to its log, or why it could not be started.
    pub why: String,
}

impl fmt::Display for NotListening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.status {
            Some(status) => write!(f, "nothing listens, {status}: {}", self.why),
            None => write!(f, "nothing listens: {}", self.why),
        }
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.kill();
    }
}

impl Listening {
    /// Starts it, and waits for its first line.
    ///
    /// # Errors
    /// It cannot be started, or it ends or waits without a line.
    pub fn start(mut command: Command) -> Result<Self, NotListening> {
        let unstarted = |fault: io::Error| NotListening { status: None, why: fault.to_string() };
        let mut child = command.stdout(Stdio::piped()).spawn().map_err(unstarted)?;
        let out = child.stdout.take();
        let mut started = Self { child: Mutex::new(child), url: String::new(), log: None };
        let (tell, first) = mpsc::channel();
        std::thread::spawn(move || {
            let mut lines = BufReader::new(out?);
            let mut line = String::new();
            let _read = lines.read_line(&mut line);
            let _gone = tell.send(line);
            // whatever it prints later must not stop it
            io::copy(&mut lines, &mut io::sink()).ok()
        });
        let line = first.recv_timeout(TIMEOUT);
        match line.as_deref().unwrap_or_default().split_whitespace().last() {
            Some(word) => {
                word.clone_into(&mut started.url);
                Ok(started)
            }
            // without a line it ended, or it says nothing
            None => Err(NotListening {
                status: line.ok().and_then(|_| started.wait()),
                why: String::new(),
            }),
        }
    }

    /// The same, with its log at the end of this file.
    ///
    /// # Errors
    /// As [`Self::start`]; the file cannot be written.
    pub fn logged(mut command: Command, log: &Path) -> Result<Self, NotListening> {
        let before = read(log).len();
        let file = File::options().create(true).append(true).open(log);
        let file = file.map_err(|fault| NotListening { status: None, why: fault.to_string() })?;
        command.stderr(file);
        match Self::start(command) {
            Ok(mut started) => {
                started.log = Some(log.to_owned());
                Ok(started)
            }
            Err(mut failed) => {
                failed.why.push_str(read(log).get(before..).unwrap_or_default());
                Err(failed)
            }
        }
    }

    fn child(&self) -> MutexGuard<'_, Child> {
        self.child.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of its process.
    pub fn id(&self) -> u32 {
        self.child().id()
    }

    /// The port at the end of its address; 0 where it has none.
    pub fn port(&self) -> u16 {
        self.url.rsplit(':').next().and_then(|port| port.parse().ok()).unwrap_or_default()
    }

    /// Everything in its log.
    pub fn log(&self) -> String {
        self.log.as_deref().map(read).unwrap_or_default()
    }

    /// Sends it a signal.
    ///
    /// # Errors
    /// There is no shell.
    pub fn signal(&self, name: &str) -> Outcome {
        crate::signal(name, &[self.id()])
    }

    /// `kill -9`, while others may still talk to it; it is gone afterwards.
    pub fn kill(&self) {
        let mut child = self.child();
        // it may have ended already
        let _ended = child.kill();
        let _reaped = child.wait();
    }

    /// How it ended, where it has.
    pub fn ended(&self) -> Option<ExitStatus> {
        self.child().try_wait().ok().flatten()
    }

    /// Waits for its end; none where it goes on.
    pub fn wait(&self) -> Option<ExitStatus> {
        crate::until(TIMEOUT, || self.ended())
    }
}

fn read(log: &Path) -> String {
    std::fs::read_to_string(log).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{Command, Listening};

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn the_last_word_of_the_first_line_is_where_it_listens() {
        let script = "echo it listens on http://127.0.0.1:7; exec sleep 60";
        let listening = Listening::start(shell(script)).unwrap();
        assert_eq!((&*listening.url, listening.port()), ("http://127.0.0.1:7", 7));
        assert_eq!(listening.ended(), None);
        listening.signal("TERM").unwrap();
        assert!(listening.wait().is_some_and(|ended| !ended.success()));
    }

    #[test]
    fn what_ends_without_a_line_says_why() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("log");
        std::fs::write(&log, "of an earlier start; ").unwrap();
        let failed = Listening::logged(shell("echo no port >&2; exit 69"), &log).unwrap_err();
        assert_eq!(failed.status.and_then(|ended| ended.code()), Some(69));
        assert_eq!(failed.why, "no port\n");
    }
}
