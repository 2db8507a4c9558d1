//! The exit codes of the command line (sysexits), and `Fault`, the error of a command that carries one.

use crate::runtime::Fatal;
use crate::telemetry;
use client::Error;
use kernel::code::Code;
use serde::Serialize;
use std::io;
use std::sync::Arc;

/// How the process ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Wrong words on the command line.
    Usage,
    /// What was given, or what was found, is wrong: a refusal, a break.
    Data,
    /// Something that must be there is not.
    NoInput,
    /// The server cannot be reached, or the address is taken.
    Unavailable,
    /// A fault of ours.
    Software,
    /// A folder or a file cannot be made.
    CantCreate,
    /// Reading or writing failed.
    Io,
    /// It is not done yet: try again later, or another person has to approve it.
    TempFail,
    /// The token does not allow it.
    NoPerm,
    /// The settings cannot be used.
    Config,
}

impl Exit {
    /// The exit code of sysexits.
    pub const fn code(self) -> i32 {
        match self {
            Self::Usage => 64,
            Self::Data => 65,
            Self::NoInput => 66,
            Self::Unavailable => 69,
            Self::Software => 70,
            Self::CantCreate => 73,
            Self::Io => 74,
            Self::TempFail => 75,
            Self::NoPerm => 77,
            Self::Config => 78,
        }
    }
}

/// Ends the process on the spot: nothing may be answered after it.
pub(crate) fn fatal(exit: Exit) -> Fatal {
    Arc::new(move |what| {
        let _ends = EndsProcess(exit);
        tracing::error!("{what}; ending: what was acknowledged is durable");
    })
}

/// Ends the process on the spot: its database is another one, and the next start finds out what that
/// means.
pub(crate) fn elsewhere() -> Fatal {
    Arc::new(|what| {
        let _ends = EndsProcess(Exit::TempFail);
        tracing::error!("{what}");
    })
}

/// Ends the process when it is dropped: also where the line that says why cannot be written, or panics.
pub(crate) struct EndsProcess(pub Exit);

impl Drop for EndsProcess {
    fn drop(&mut self) {
        telemetry::finish();
        std::process::exit(self.0.code());
    }
}

/// The error of a command that failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{sentence}")]
pub struct Fault {
    /// How the process ends.
    pub exit: Exit,
    /// For a person, on stderr; empty where there is nothing to say.
    pub sentence: String,
    /// It may have been done all the same.
    pub unknown: bool,
    /// Nothing was done yet: it is proposed, and another person has to approve it.
    pub proposed: bool,
    /// What the server said, where it refused.
    pub problem: Option<Box<ServerProblem>>,
}

/// A refusal of the server, for a program that reads it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ServerProblem {
    code: String,
    /// The address of the code's page on the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    docs: Option<String>,
    request_id: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    mismatched_fields: Vec<String>,
}

/// A fault as `--json` prints it.
#[derive(Debug, Serialize)]
struct FaultJson<'a> {
    error: &'a str,
    exit: i32,
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<&'static str>,
    #[serde(flatten)]
    problem: Option<&'a ServerProblem>,
}

impl Fault {
    /// A fault whose command did nothing.
    pub fn new(exit: Exit, sentence: impl Into<String>) -> Self {
        let sentence = sentence.into();
        Self { exit, sentence, unknown: false, proposed: false, problem: None }
    }

    /// Nothing was done: the action is a proposal that another person approves.
    pub(super) fn proposed(approval: &str) -> Self {
        let sentence = format!(
            "nothing was done yet: another person has to approve it, with `portage ops approve \
             {approval} --as NAME --reason WHY`"
        );
        Self { proposed: true, ..Self::new(Exit::TempFail, sentence) }
    }

    /// The fault as one line of JSON.
    pub fn json(&self) -> String {
        let outcome = match (self.unknown, self.proposed) {
            (true, _) => Some("unknown"),
            (false, true) => Some("proposed"),
            (false, false) => None,
        };
        let (error, exit, problem) = (&*self.sentence, self.exit.code(), self.problem.as_deref());
        // made of texts and a number, so it can be written
        serde_json::to_string(&FaultJson { error, exit, outcome, problem }).unwrap_or_default()
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        let sentence = match &error {
            // a server that is there, and speaks otherwise, is not to be started
            Error::Unreachable(why) if why.contains("Connection refused") => format!(
                "nothing was sent: no server listens at {}. Start it with `portage serve`, or name another with --url",
                address(why)
            ),
            Error::Unreachable(why) => format!("nothing was sent: {why}"),
            Error::Refused { mismatched, .. } if !mismatched.is_empty() => {
                format!("{error}: it differs in {}", mismatched.join(", "))
            }
            Error::Refused { status: 401, .. } => {
                format!("{error}. `portage token check -` says what is wrong with a token")
            }
            Error::Refused { .. } | Error::Unknown(_) | Error::Unfit(_) => error.to_string(),
        };
        let proposed = error.code() == Some(Code::SecondPersonRequired);
        let exit = match &error {
            Error::Refused { .. } if proposed => Exit::TempFail,
            Error::Refused { status: 400, .. } => Exit::Usage,
            Error::Refused { status: 401 | 403, .. } => Exit::NoPerm,
            Error::Refused { status: 404, .. } => Exit::NoInput,
            Error::Refused { status: 429 | 503, .. } | Error::Unknown(_) => Exit::TempFail,
            Error::Refused { .. } => Exit::Data,
            Error::Unreachable(_) => Exit::Unavailable,
            Error::Unfit(_) => Exit::Usage,
        };
        let unknown = matches!(error, Error::Unknown(_));
        let problem = match error {
            Error::Refused { code, request_id, mismatched, .. } => {
                let docs = Code::parse(&code).map(|code| format!("/docs/errors/{code}"));
                Some(Box::new(ServerProblem {
                    code,
                    docs,
                    request_id,
                    mismatched_fields: mismatched,
                }))
            }
            Error::Unknown(_) | Error::Unreachable(_) | Error::Unfit(_) => None,
        };
        Self { exit, sentence, unknown, proposed, problem }
    }
}

/// The address in the words of the HTTP client: `… for url (http://127.0.0.1:3000/health): …`.
fn address(why: &str) -> &str {
    let named = why.split_once("url (").and_then(|(_, rest)| rest.split_once(')'));
    named.map_or("the address of the settings", |(address, _)| address)
}

impl From<crate::config::ConfigError> for Fault {
    fn from(error: crate::config::ConfigError) -> Self {
        let exit = match &error {
            crate::config::ConfigError::NoFile(_) => Exit::NoInput,
            crate::config::ConfigError::Bad(_) => Exit::Config,
        };
        Self::new(exit, error.to_string())
    }
}

impl From<crate::auth::key::KeyFileError> for Fault {
    fn from(error: crate::auth::key::KeyFileError) -> Self {
        use crate::auth::key::KeyFileError as Key;
        let exit = match &error {
            Key::Missing(_) => Exit::NoInput,
            Key::Unfit(..) => Exit::Config,
            // a restart changes no mode of a file
            Key::Io(_, fault) if fault.kind() == io::ErrorKind::PermissionDenied => Exit::Config,
            Key::Io(..) => Exit::Io,
        };
        Self::new(exit, error.to_string())
    }
}

impl From<crate::auth::keys::KeySourceError> for Fault {
    fn from(error: crate::auth::keys::KeySourceError) -> Self {
        use crate::auth::keys::KeySourceError as Keys;
        let exit = match &error {
            Keys::Unreachable(_) => Exit::Unavailable,
            Keys::Unfit(_) => Exit::Config,
        };
        Self::new(exit, error.to_string())
    }
}

/// A full disk below stdout, or a closed pipe: its reader has seen enough, as with `| head -1`, so
/// the command ends there and has nothing to complain of.
impl From<std::io::Error> for Fault {
    fn from(error: std::io::Error) -> Self {
        let closed = error.kind() == std::io::ErrorKind::BrokenPipe;
        Self::new(Exit::Io, if closed { String::new() } else { error.to_string() })
    }
}

#[cfg(test)]
mod tests {
    use super::{Exit, fatal};
    use crate::config::Log;
    use crate::runtime::Tasks;
    use crate::telemetry;
    use kernel::ports::spawn::{OnEnd, Spawn, Task};
    use std::io::{Write, pipe};
    use std::process::{Command, Stdio};
    use std::time::Duration;

    /// Set in the process whose task dies.
    const VARIABLE: &str = "PORTAGE_TEST_TASK_DIES";
    /// The capacity of a pipe (pipe(7)).
    const CAPACITY: usize = 65_536;

    /// Turns red where a panic of a task, or the end that it is for `serve`, `work` and `spot serve`, waits for a
    /// reader of stderr, as the panic hook of the standard library waits at a full pipe.
    #[test]
    fn a_task_that_dies_ends_a_process_without_a_reader_of_its_log() {
        for full in [false, true] {
            let (reader, mut stderr) = pipe().unwrap();
            let unread = full.then(|| {
                stderr.write_all(&[b'.'; CAPACITY]).unwrap();
                reader
            });
            let mut child = Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "cli::exit::tests::the_process_whose_task_dies"])
                .args(["--nocapture", "--test-threads=1"])
                .env(VARIABLE, "1")
                .stdout(Stdio::null())
                .stderr(stderr)
                .spawn()
                .unwrap();
            let ended = testbed::until(Duration::from_secs(60), || child.try_wait().unwrap());
            child.kill().unwrap();
            child.wait().unwrap();
            let code = ended.and_then(|status| status.code());
            assert_eq!(code, Some(Exit::Software.code()), "full: {full}");
            drop(unread);
        }
    }

    /// Is run by the test above in a process of its own.
    #[tokio::test]
    async fn the_process_whose_task_dies() {
        if std::env::var_os(VARIABLE).is_none() {
            return;
        }
        telemetry::start(&Log::default()).unwrap();
        let task = Task { name: "big", on_end: OnEnd::EndsProcess };
        Tasks::new(fatal(Exit::Software)).spawn(task, Box::pin(async { panic!("on purpose") }));
        std::future::pending().await
    }
}
