//! Starting cargo and other programs, each from the repository's root, with its output on our terminal.

use std::ffi::OsString;
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, ScopedJoinHandle};

use crate::{Outcome, tree};

/// The cargo that started us, or the one on the path.
pub(crate) fn cargo(args: &[&str]) -> Command {
    let mut command = program(std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo")));
    command.args(args);
    // Set by `cargo run` for this process alone; below it they would describe the wrong package.
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("CARGO_PKG_") || name == "CARGO_MANIFEST_DIR" {
            command.env_remove(name);
        }
    }
    command
}

/// Variables for every program that is started from now on, and their values.
static HANDED_DOWN: Mutex<Vec<(&str, String)>> = Mutex::new(Vec::new());

fn handed_down() -> MutexGuard<'static, Vec<(&'static str, String)>> {
    HANDED_DOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Gives every program that is started from now on this variable, once.
pub(crate) fn hand_down(name: &'static str, value: &str) -> Outcome {
    let mut all = handed_down();
    if all.iter().any(|(given, _)| *given == name) {
        return Err(format!("{name}: it was handed down already"));
    }
    all.push((name, value.to_owned()));
    Ok(())
}

/// Any program, started in the repository's root.
pub(crate) fn program(name: impl Into<OsString>) -> Command {
    let mut command = Command::new(name.into());
    command.current_dir(tree::root());
    command.envs(handed_down().iter().map(|(name, value)| (*name, value)));
    command
}

/// Runs to the end; an exit code other than 0 is an error that shows the command line.
pub(crate) fn must(mut command: Command) -> Outcome {
    let status = command.status().map_err(|error| format!("{}: {error}", shown(&command)))?;
    if status.success() { Ok(()) } else { Err(format!("{}: {status}", shown(&command))) }
}

/// Works on each item on a thread of its own, and gives the results in the order of the items. A panic goes on here.
pub(crate) fn at_once<I: Sync, T: Send>(items: &[I], work: impl Fn(&I) -> T + Sync) -> Vec<T> {
    let work = &work;
    thread::scope(|scope| {
        let running: Vec<_> = items.iter().map(|item| scope.spawn(move || work(item))).collect();
        let ended = running.into_iter().map(ScopedJoinHandle::join);
        ended.map(|end| end.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
    })
}

/// All of them, a line each, where there are any.
pub(crate) fn no_faults(faults: &[String]) -> Outcome {
    if faults.is_empty() { Ok(()) } else { Err(faults.join("\n")) }
}

/// Runs to the end and gives what was printed to standard output.
pub(crate) fn output(mut command: Command) -> Outcome<String> {
    command.stderr(std::process::Stdio::inherit());
    let done = command.output().map_err(|error| format!("{}: {error}", shown(&command)))?;
    if done.status.success() {
        Ok(String::from_utf8_lossy(&done.stdout).into_owned())
    } else {
        Err(format!("{}: {}", shown(&command), done.status))
    }
}

/// The command line as a person would type it.
fn shown(command: &Command) -> String {
    let name = std::path::Path::new(command.get_program()).file_name().unwrap_or_default();
    let mut words = vec![name.to_string_lossy().into_owned()];
    words.extend(command.get_args().map(|word| word.to_string_lossy().into_owned()));
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_shows_the_command_line() {
        let mut command = program("false");
        command.args(["--a", "b"]);
        let why = must(command).unwrap_err();
        assert!(why.starts_with("false --a b: exit status"), "{why}");
    }

    #[test]
    fn what_is_handed_down_arrives() {
        hand_down("XTASK_HANDED_DOWN", "a value").unwrap();
        let mut command = program("sh");
        command.args(["-c", "echo \"$XTASK_HANDED_DOWN\""]);
        assert_eq!(output(command), Ok("a value\n".to_owned()));
        assert!(hand_down("XTASK_HANDED_DOWN", "another").is_err());
    }

    #[test]
    fn a_missing_program_is_named() {
        let why = output(program("no-such-program-here")).unwrap_err();
        assert!(why.starts_with("no-such-program-here: "), "{why}");
    }
}
