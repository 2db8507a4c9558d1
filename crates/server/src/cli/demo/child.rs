//! Starts, kills and restarts the demo's server: the same program in a child process.

use super::super::exit::{Exit, Fault};
use super::broken;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

/// Where the server's own log goes, inside the folder.
const LOG: &str = "server.log";

/// The options of a server besides its folder.
#[derive(Debug, Clone)]
struct StartOptions {
    words: &'static [&'static str],
    settings: Vec<(&'static str, String)>,
}

/// A running server. It ends with the demo.
#[derive(Debug)]
pub(super) struct Server {
    child: Process,
    folder: PathBuf,
    options: StartOptions,
    /// Where it listens; the same after a restart.
    pub(super) url: String,
}

/// The server's process. It ends with its owner, also where the demo is ended by a signal.
#[derive(Debug)]
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        // already gone in the normal course
        let _gone = self.0.kill();
        let _reaped = self.0.wait();
    }
}

/// This program, with nothing of the caller's settings.
fn portage(folder: &Path) -> Result<Command, Fault> {
    let program = std::env::current_exe().map_err(|fault| broken(fault.to_string()))?;
    let mut command = Command::new(program);
    for (name, _) in std::env::vars_os() {
        if crate::config::sources::ours(&name.to_string_lossy()) {
            command.env_remove(&name);
        }
    }
    // a `portage.toml` lying about must not reach the demo
    command.current_dir(folder).arg("--data-dir").arg(folder);
    command.stdin(Stdio::null());
    Ok(command)
}

/// How a person calls this program from here.
pub(super) fn spelled() -> Result<String, Fault> {
    let program = std::env::current_exe()?;
    let here = std::env::current_dir()?;
    let short = program.strip_prefix(&here).map(|path| format!("./{}", path.display()));
    Ok(short.unwrap_or_else(|_| program.display().to_string()))
}

/// `portage check` on the folder, as a process of its own.
pub(super) fn check(folder: &Path) -> Result<(), Fault> {
    let out = portage(folder)?.arg("check").output()?;
    if out.status.success() {
        return Ok(());
    }
    let (said, wrong) =
        (String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
    Err(broken(format!("`portage check` disagrees: {said}{wrong}")))
}

/// The token that callers of the ledger in this folder show.
pub(super) fn ledger_token(folder: &Path) -> Result<String, Fault> {
    let out = portage(folder)?.args(["spot", "token"]).output()?;
    if !out.status.success() {
        let wrong = String::from_utf8_lossy(&out.stderr);
        return Err(broken(format!("`portage spot token`: {wrong}")));
    }
    Ok(String::from_utf8_lossy(&out.stdout).trim().to_owned())
}

impl Server {
    /// Starts one on a free port.
    pub(super) async fn start(folder: &Path) -> Result<Self, Fault> {
        Self::with(folder, &[]).await
    }

    /// Starts one with settings of its own.
    pub(super) async fn with(
        folder: &Path,
        settings: &[(&'static str, String)],
    ) -> Result<Self, Fault> {
        Self::of(folder, StartOptions { words: &["serve"], settings: settings.to_vec() }).await
    }

    /// Starts a ledger that is served by itself.
    pub(super) async fn ledger(folder: &Path) -> Result<Self, Fault> {
        Self::of(folder, StartOptions { words: &["spot", "serve"], settings: Vec::new() }).await
    }

    async fn of(folder: &Path, options: StartOptions) -> Result<Self, Fault> {
        let (child, url) = launched(folder, &options, "127.0.0.1:0").await?;
        Ok(Self { child, folder: folder.to_owned(), options, url })
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.0.id()
    }

    /// SIGKILL: the process gets no chance to do anything.
    pub(super) fn kill(&mut self) -> Result<(), Fault> {
        self.child.0.kill()?;
        self.child.0.wait()?;
        Ok(())
    }

    /// Starts it again on the same folder and port.
    pub(super) async fn restart(&mut self) -> Result<(), Fault> {
        let address = self.url.trim_start_matches("http://").to_owned();
        let (child, url) = launched(&self.folder, &self.options, &address).await?;
        self.child = child;
        self.url = url;
        Ok(())
    }

    /// SIGTERM, and waits until it has drained.
    pub(super) async fn stop(&mut self) -> Result<(), Fault> {
        let term = format!("kill -TERM {}", self.child.0.id());
        Command::new("sh").arg("-c").arg(term).status()?;
        for _ in 0..200 {
            match self.child.0.try_wait()? {
                Some(status) if status.success() => return Ok(()),
                Some(status) => return Err(ended(&self.folder, status)),
                None => tokio::time::sleep(Duration::from_millis(50)).await,
            }
        }
        Err(broken("the server did not stop within 10 s"))
    }
}

fn ended(folder: &Path, status: ExitStatus) -> Fault {
    let log = folder.join(LOG);
    broken(format!("the server ended with {status}; its log: {}", log.display()))
}

/// Starts a server and waits for the line that says where it listens.
async fn launched(
    folder: &Path,
    options: &StartOptions,
    listen: &str,
) -> Result<(Process, String), Fault> {
    let log = File::options().create(true).append(true).open(folder.join(LOG))?;
    let mut command = portage(folder)?;
    command.args(options.words).args(["--listen", listen]);
    command.envs(options.settings.iter().map(|(name, value)| (name, value)));
    command.stdout(Stdio::piped()).stderr(log);
    let mut child = Process(command.spawn()?);
    let Some(out) = child.0.stdout.take() else { return Err(broken("the server has no stdout")) };
    let line = tokio::task::spawn_blocking(move || {
        let mut line = String::new();
        BufReader::new(out).read_line(&mut line).map(|_| line)
    });
    let line = line.await.map_err(|fault| Fault::new(Exit::Software, fault.to_string()))??;
    match line.trim().rsplit_once(' ') {
        Some((_, url)) if url.starts_with("http://") => Ok((child, url.to_owned())),
        _ => {
            let status = child.0.wait()?;
            Err(ended(folder, status))
        }
    }
}
