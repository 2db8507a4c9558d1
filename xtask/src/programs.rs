//! The test programs of the workspace: built by one call of cargo, and run several at a time. Many of their tests
//! wait for a server, a disk or a lease to run out, and one program after another would leave the cores idle.

use serde::Deserialize;
use std::{
    collections::VecDeque,
    fs::{self, File},
    num::NonZero,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    thread,
    time::Duration,
};

use crate::{Outcome, kafka, run, stages::timed, tree};

/// Number of concurrent programs. Each has a test thread for each core, or one more ([`WAITS`]); the server's connections are
/// enough for them.
const AT_ONCE: usize = 2;

/// Those that take longest, the longest first: what begins last should end soon.
const LONGEST: [&str; 8] = [
    "server/it",
    "engine-tests/it",
    "sim/it",
    "sim/chain",
    "store/it",
    "relay-tests/it",
    "swap-tests/it",
    "links/it",
];

/// Those whose tests mostly wait for processes of their own: they have one test thread more than there are cores.
const WAITS: [&str; 2] = ["server/it", "relay-tests/it"];

/// A program that cargo built.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Program {
    /// The package's folder and the target: `sim/account`; the library's own tests: `sim/lib`.
    name: String,
    path: PathBuf,
    /// Where cargo would start it.
    folder: PathBuf,
}

/// How a program ended.
#[derive(Debug)]
struct Ended {
    name: String,
    took: Duration,
    fault: Option<String>,
}

/// Builds and runs all of them, also when one fails: one run should show every fault.
pub(crate) fn run() -> Outcome {
    let mut cargo = run::cargo(&["test", "--workspace", "--locked", "--no-run"]);
    cargo.args(kafka::FEATURES).arg("--message-format=json-render-diagnostics");
    let (built, messages) = timed(|| run::output(cargo));
    let programs = longest_first(listed(&messages?));
    println!("{} test programs, built in {} s", programs.len(), built.as_secs());
    let logs = tree::target().join("tests");
    fs::create_dir_all(&logs).map_err(|error| format!("{}: {error}", logs.display()))?;
    let ended = all(programs, &|program| one(program, &logs));
    print!("{}", table(&ended));
    let failed: Vec<String> = ended
        .into_iter()
        .filter_map(|ended| ended.fault.map(|fault| format!("{}: {fault}", ended.name)))
        .collect();
    run::no_faults(&failed)
}

/// Runs all of them in this order, [`AT_ONCE`] at a time.
fn all(programs: Vec<Program>, run: &(dyn Fn(&Program) -> Outcome + Sync)) -> Vec<Ended> {
    let queue = Mutex::new(VecDeque::from(programs));
    let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
    let work = || {
        let mut ended = Vec::new();
        while let Some(program) = next() {
            let (took, outcome) = timed(|| run(&program));
            ended.push(Ended { name: program.name, took, fault: outcome.err() });
        }
        ended
    };
    run::at_once(&[(); AT_ONCE], |()| work()).into_iter().flatten().collect()
}

/// Runs one as `cargo test` would. What it prints is kept, and shown where it fails.
fn one(program: &Program, logs: &Path) -> Outcome {
    let log = logs.join(format!("{}.log", program.name.replace('/', "-")));
    let fault = |error: std::io::Error| format!("{}: {error}", log.display());
    let out = File::create(&log).map_err(fault)?;
    let mut command = run::program(&program.path);
    command.current_dir(&program.folder).env("CARGO_MANIFEST_DIR", &program.folder);
    if WAITS.contains(&program.name.as_str()) {
        let cores = thread::available_parallelism().map_or(1, NonZero::get);
        command.arg(format!("--test-threads={}", cores.saturating_add(1)));
    }
    command.stderr(out.try_clone().map_err(fault)?).stdout(out);
    let outcome = run::must(command);
    let printed = fs::read(&log).map_err(fault)?;
    let printed = String::from_utf8_lossy(&printed);
    match &outcome {
        Ok(()) => println!("{}: {}", program.name, counted(&printed)),
        // in one piece, since another program may end at the same time
        Err(why) => println!("{}: {why}\n{printed}", program.name),
    }
    outcome.map_err(|why| format!("{why}\n{}", faults(&printed)))
}

/// What the harness prints of the tests that failed, without the frames of the stacks: it is shown once more at
/// the end, where a reader begins.
fn faults(printed: &str) -> String {
    let (_, failed) = printed.split_once("\nfailures:\n").unwrap_or_default();
    let mut in_stack = false;
    let mut left = String::new();
    for line in failed.lines() {
        in_stack = line == "stack backtrace:" || (in_stack && line.starts_with(' '));
        if !in_stack && !line.is_empty() {
            left.push_str(line);
            left.push('\n');
        }
    }
    left
}

/// The last line of the test harness; a program that ran none has no such line.
fn counted(printed: &str) -> &str {
    printed.lines().rfind(|line| line.starts_with("test result")).unwrap_or("no test ran")
}

fn longest_first(mut programs: Vec<Program>) -> Vec<Program> {
    let place = |program: &Program| LONGEST.iter().position(|name| *name == program.name);
    programs.sort_by_key(|program| place(program).unwrap_or(LONGEST.len()));
    programs
}

fn table(ended: &[Ended]) -> String {
    let mut rows: Vec<&Ended> = ended.iter().collect();
    rows.sort_by_key(|ended| std::cmp::Reverse(ended.took));
    let line = |ended: &&Ended| {
        let word = if ended.fault.is_some() { "FAILED" } else { "ok" };
        format!("{:<20} {:>9.1}  {word}\n", ended.name, ended.took.as_secs_f64())
    };
    rows.iter().map(line).collect()
}

#[derive(Debug, Deserialize)]
struct Message {
    #[serde(default)]
    manifest_path: PathBuf,
    target: Option<Target>,
    profile: Option<Profile>,
    executable: Option<PathBuf>,
}

#[derive(Debug, Deserialize)]
struct Target {
    name: String,
    kind: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct Profile {
    test: bool,
}

/// The test programs among cargo's messages, one JSON object a line.
fn listed(messages: &str) -> Vec<Program> {
    let messages = messages.lines().filter_map(|line| serde_json::from_str::<Message>(line).ok());
    messages.filter_map(program).collect()
}

fn program(message: Message) -> Option<Program> {
    let (target, profile, path) = (message.target?, message.profile?, message.executable?);
    let folder = message.manifest_path.parent()?.to_owned();
    let package = folder.file_name()?.to_string_lossy().into_owned();
    let library = target.kind.iter().any(|kind| kind == "lib");
    let name = if library { "lib" } else { &target.name };
    let name = format!("{package}/{name}");
    profile.test.then_some(Program { name, path, folder })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(name: &str) -> Program {
        Program { name: name.to_owned(), path: "true".into(), folder: "/".into() }
    }

    #[test]
    fn test_programs_are_found_among_cargos_messages() {
        let line = |folder: &str, target: &str, kind: &str, test: bool| {
            format!(
                r#"{{"reason":"compiler-artifact","manifest_path":"/a/{folder}/Cargo.toml","target":{{"name":"{target}","kind":["{kind}"]}},"profile":{{"test":{test}}},"executable":"/t/{target}-1"}}"#
            )
        };
        let messages = [
            line("crates/sim", "sim", "lib", true),
            line("crates/sim", "account", "test", true),
            line("crates/server", "portage", "bin", false),
            r#"{"reason":"build-finished","success":true}"#.to_owned(),
            "a warning".to_owned(),
        ];
        let found = listed(&messages.join("\n"));
        let names: Vec<&str> = found.iter().map(|program| program.name.as_str()).collect();
        assert_eq!(names, ["sim/lib", "sim/account"]);
        assert_eq!(found[1].path, PathBuf::from("/t/account-1"));
        assert_eq!(found[1].folder, PathBuf::from("/a/crates/sim"));
    }

    #[test]
    fn the_longest_begin_first() {
        let names = ["kernel/it", "engine-tests/it", "flows/it", "server/it"];
        let sorted = longest_first(names.map(sample).to_vec());
        let names: Vec<&str> = sorted.iter().map(|program| program.name.as_str()).collect();
        assert_eq!(names, ["server/it", "engine-tests/it", "kernel/it", "flows/it"]);
    }

    /// Turns red where the programs behind one that fails are not run, or its fault is not told.
    #[test]
    fn one_that_fails_is_told_and_the_others_run() {
        let programs = vec![sample("a"), sample("b"), sample("c"), sample("d")];
        let run = |program: &Program| match program.name.as_str() {
            "b" => Err("it fails".to_owned()),
            _ => Ok(()),
        };
        let mut ended = all(programs, &run);
        ended.sort_by(|one, other| one.name.cmp(&other.name));
        let faults: Vec<_> = ended.iter().map(|e| (e.name.as_str(), e.fault.as_deref())).collect();
        assert_eq!(faults, [("a", None), ("b", Some("it fails")), ("c", None), ("d", None)]);
        assert!(table(&ended).contains("FAILED"));
    }

    #[test]
    fn a_failed_test_is_told_without_its_stack() {
        let printed = "test a ... ok\ntest b ... FAILED\n\nfailures:\n\n---- b stdout ----\n\nthread 'b' \
                       panicked at b.rs:1:\nit is red\nstack backtrace:\n   0: begin\n             at \
                       /rustc\nnote: more\n\nfailures:\n    b\n";
        let told = "---- b stdout ----\nthread 'b' panicked at b.rs:1:\nit is red\nnote: more\nfailures:\n    b\n";
        assert_eq!(faults(printed), told);
        assert_eq!(faults("killed"), "");
    }

    #[test]
    fn what_the_harness_counted_is_shown() {
        let printed = "running 1 test\ntest a ... ok\n\ntest result: ok. 1 passed; 0 failed\n\n";
        assert_eq!(counted(printed), "test result: ok. 1 passed; 0 failed");
        assert_eq!(counted("error"), "no test ran");
    }
}
