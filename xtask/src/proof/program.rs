//! A test program: built, asked for its tests, run on one of them.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus},
    thread,
    time::Duration,
};

use serde::Deserialize;

use crate::{Outcome, run, tree};

/// The folder of the package and the name of its test target.
const FOLDER: &str = "crates/server";
pub(super) const TARGET: &str = "it";

/// The test program reads from it which part to make wrong.
const VARIABLE: &str = "PORTAGE_WRONG_BUILD";

/// A wrong build may wait for what never comes; on the right one no test takes a tenth of this.
const TIME_LIMIT: Duration = Duration::from_secs(300);
const STEP: Duration = Duration::from_millis(20);

/// The built test program.
#[derive(Debug)]
pub(super) struct Program {
    path: PathBuf,
    /// Where each run leaves what it printed, for the reader who looks for the reason.
    logs: PathBuf,
}

/// How one run of one test ended.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) passed: bool,
    pub(super) printed: String,
    pub(super) log: PathBuf,
}

/// Builds the program. The whole workspace is named, so that its crates are built with the features that
/// `cargo test --workspace` gave them, and not a second time.
pub(super) fn build() -> Outcome<Program> {
    let mut cargo = run::cargo(&["test", "--workspace", "--locked", "--test", TARGET, "--no-run"]);
    cargo.args(crate::kafka::FEATURES);
    cargo.args(["--quiet", "--message-format=json-render-diagnostics"]);
    let manifest = format!("{FOLDER}/Cargo.toml");
    let path = executable(&run::output(cargo)?, &manifest)
        .ok_or_else(|| format!("cargo built no test program `{TARGET}` for {manifest}"))?;
    let logs = tree::target().join("proof");
    fs::create_dir_all(&logs).map_err(|error| format!("{}: {error}", logs.display()))?;
    Ok(Program { path, logs })
}

impl Program {
    /// The names of all its tests.
    pub(super) fn list(&self) -> Outcome<Vec<String>> {
        let mut command = self.command();
        command.args(["--list", "--format", "terse"]);
        Ok(listed(&run::output(command)?))
    }

    /// Runs one test to its end, on the real build or on a wrong one.
    pub(super) fn test(&self, name: &str, wrong: Option<&str>) -> Outcome<Ended> {
        let file = format!("{}.{}.log", name.replace("::", "-"), wrong.unwrap_or("right"));
        let log = self.logs.join(file);
        let mut command = self.command();
        command.args(["--exact", name, "--nocapture"]);
        if let Some(wrong) = wrong {
            command.env(VARIABLE, wrong);
        }
        ran(command, log, TIME_LIMIT)
    }

    /// As `cargo test` would start it: in the package's folder, and on the real build.
    fn command(&self) -> Command {
        let folder = tree::root().join(FOLDER);
        let mut command = run::program(&self.path);
        command.current_dir(&folder).env("CARGO_MANIFEST_DIR", &folder).env_remove(VARIABLE);
        command
    }
}

/// Runs a command on one test to its end, and keeps what it prints.
pub(super) fn ran(mut command: Command, log: PathBuf, time_limit: Duration) -> Outcome<Ended> {
    let fault = |error: std::io::Error| format!("{}: {error}", log.display());
    let out = File::create(&log).map_err(fault)?;
    command.stderr(out.try_clone().map_err(fault)?).stdout(out);
    let status = wait(command.spawn().map_err(fault)?, time_limit).map_err(fault)?;
    let printed = String::from_utf8_lossy(&fs::read(&log).map_err(fault)?).into_owned();
    // A name that matches nothing passes too: the count tells.
    let passed = status.is_some_and(|status| status.success()) && printed.contains("ok. 1 passed");
    Ok(Ended { passed, printed, log })
}

/// Waits for the end; a run that outlives the limit is killed and has no status.
fn wait(mut child: Child, limit: Duration) -> std::io::Result<Option<ExitStatus>> {
    let mut waited = Duration::ZERO;
    while waited < limit {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        thread::sleep(STEP);
        waited += STEP;
    }
    child.kill()?;
    child.wait()?;
    Ok(None)
}

#[derive(Debug, Deserialize)]
struct Message {
    #[serde(default)]
    manifest_path: PathBuf,
    target: Option<Target>,
    executable: Option<PathBuf>,
}

#[derive(Debug, Deserialize)]
struct Target {
    name: String,
}

/// The program's path among cargo's messages, one JSON object a line.
pub(super) fn executable(messages: &str, manifest: &str) -> Option<PathBuf> {
    messages
        .lines()
        .filter_map(|line| serde_json::from_str::<Message>(line).ok())
        .filter(|message| message.manifest_path.ends_with(Path::new(manifest)))
        .filter(|message| message.target.as_ref().is_some_and(|target| target.name == TARGET))
        .find_map(|message| message.executable)
}

/// The names in the answer to `--list`, a line `name: test` each.
fn listed(text: &str) -> Vec<String> {
    text.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_is_found_among_cargos_messages() {
        let line = |folder: &str, target: &str, file: &str| {
            format!(
                r#"{{"reason":"compiler-artifact","manifest_path":"/a/{folder}/Cargo.toml","target":{{"name":"{target}"}},"executable":{file}}}"#
            )
        };
        let messages = [
            line("crates/store", "it", "\"/t/it-1\""),
            line("crates/server", "server", "null"),
            line("crates/server", "it", "\"/t/it-2\""),
            r#"{"reason":"build-finished","success":true}"#.to_owned(),
        ];
        let found = executable(&messages.join("\n"), "crates/server/Cargo.toml");
        assert_eq!(found, Some(PathBuf::from("/t/it-2")));
        assert_eq!(executable(&messages[0], "crates/server/Cargo.toml"), None);
    }

    #[test]
    fn only_tests_are_listed() {
        let text = "acceptance::inv_001: test\nspeed: benchmark\n\n1 test, 1 benchmark\n";
        assert_eq!(listed(text), ["acceptance::inv_001"]);
    }

    #[test]
    fn a_run_that_never_ends_is_ended() {
        let child = Command::new("sleep").arg("600").spawn().unwrap();
        assert_eq!(wait(child, STEP).unwrap(), None);
        let child = Command::new("true").spawn().unwrap();
        assert!(wait(child, TIME_LIMIT).unwrap().unwrap().success());
    }
}
