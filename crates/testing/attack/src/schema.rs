//! schemathesis: requests drawn from the server's own description, and answers held to it.

use crate::Outcome;
use crate::operations::{TABLE, Who};
use crate::report::Part;
use crate::target::{Request, Target};
use crate::tokens::{Role, Tokens};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Who asks for what: each token with the operations that are its own.
const RUNS: [(Role, &[Who]); 4] = [
    (Role::User, &[Who::Creates, Who::Reads, Who::All]),
    (Role::Watcher, &[Who::Watches, Who::Page]),
    (Role::Approver, &[Who::Approves]),
    // at the end, since one of them halts the server
    (Role::Actor, &[Who::Acts]),
];
/// A description cannot say what money allows (a balance, an asset that exists, one key spelled
/// twice), so a request that fits it may be refused with 400 or 422.
const LEFT_OUT: &str = "positive_data_acceptance";
/// What makes the things that a request must name; read by schemathesis itself.
const HOOKS: &str = include_str!("schema_hooks.py");
/// An operation that was well answered less often is a finding.
const OFTEN: u64 = 50;
/// Maximum number of rounds, each with another seed, for operations that were seldom well answered:
/// an operation without input is asked three times in one.
const ROUNDS: u32 = 24;

/// The program, installed below a folder where it is not there yet.
///
/// # Errors
/// What is missing, and how to get it.
pub fn installed(below: &Path) -> Outcome<PathBuf> {
    let venv = below.join("schemathesis");
    let program = venv.join("bin/schemathesis");
    if program.exists() {
        return Ok(program);
    }
    let quiet = |command: &mut Command| {
        let done = command.output().map_err(|fault| fault.to_string())?;
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        if done.status.success() { Ok(()) } else { Err(said) }
    };
    let made = quiet(Command::new("python3").args(["-m", "venv"]).arg(&venv));
    let made = made.and_then(|()| {
        quiet(Command::new(venv.join("bin/pip")).args([
            "install",
            "--quiet",
            "schemathesis>=4.32,<5",
        ]))
    });
    made.map(|()| program).map_err(|why| {
        format!("schemathesis cannot be installed, which needs python3 with venv and PyPI: {why}")
    })
}

/// How often each operation, by method and path, was answered well.
type Well = BTreeMap<(String, String), u64>;

/// What came of all rounds so far.
#[derive(Default)]
struct Seen {
    part: Part,
    well: Well,
}

/// One server that is drawn for.
struct Drawn<'a> {
    program: &'a Path,
    below: &'a Path,
    target: &'a Target,
    tokens: &'a Tokens,
    hooks: PathBuf,
    seeds: String,
    page: Value,
}

/// Every check but one, all phases, with a token of each scope; then again what was seldom answered
/// well, by its own count.
///
/// # Errors
/// It cannot be started.
pub fn run(program: &Path, below: &Path, target: &Target, tokens: &Tokens) -> Outcome<Part> {
    let page = Request::get("/openapi.json");
    let page = tokens.of(Role::Watcher).iter().fold(page, |page, token| page.token(token));
    let page = target.ask(&page)?.json();
    let hooks = below.join("schemathesis-hooks.py");
    std::fs::write(&hooks, HOOKS).map_err(|fault| format!("{}: {fault}", hooks.display()))?;
    let seeds = seeds(target, tokens).to_string();
    let drawn = Drawn { program, below, target, tokens, hooks, seeds, page };
    let mut seen = Seen::default();
    for round in 1..=ROUNDS {
        for (role, whose) in RUNS {
            let seldom: Vec<_> = TABLE
                .iter()
                .filter(|(method, path, who)| {
                    whose.contains(who) && often(&seen.well, method, path) < OFTEN
                })
                .map(|(method, path, _)| (*method, *path))
                .collect();
            if !seldom.is_empty() {
                drawn.round(round, role, &seldom, &mut seen)?;
            }
        }
        if !seen.part.findings.is_empty() {
            break;
        }
    }
    reached(&seen.well, tokens, &mut seen.part);
    Ok(seen.part)
}

fn often(well: &Well, method: &str, path: &str) -> u64 {
    well.get(&(method.to_owned(), path.to_owned())).copied().unwrap_or(0)
}

impl Drawn<'_> {
    /// One role's operations, once.
    fn round(
        &self,
        round: u32,
        role: Role,
        operations: &[(&str, &str)],
        seen: &mut Seen,
    ) -> Outcome<()> {
        let Some(token) = self.tokens.of(role) else { return Ok(()) };
        let report = self.below.join(format!("schemathesis-{}-{round}.ndjson", role.name()));
        let mut command = Command::new(self.program);
        command.current_dir(self.below);
        command.env("SCHEMATHESIS_HOOKS", &self.hooks).env("ATTACK_SEEDS", &self.seeds);
        command.arg("run").arg(format!("http://{}/openapi.json", self.target.address));
        command.arg("--header").arg(format!("Authorization: Bearer {token}"));
        command.args(["--checks", "all", "--exclude-checks", LEFT_OUT, "--no-color"]);
        command.args(["--max-examples", "100", "--suppress-health-check", "all"]);
        command.args(["--seed", &round.to_string()]);
        command.arg("--report-ndjson-path").arg(&report);
        for (method, path) in operations {
            let place = self.page.get("paths").and_then(|paths| paths.get(*path));
            let id = place.and_then(|item| item.get(method.to_lowercase())?.get("operationId"));
            command.args(
                id.and_then(Value::as_str).iter().flat_map(|id| ["--include-operation-id", id]),
            );
        }
        let done = command.output().map_err(|fault| format!("schemathesis: {fault}"))?;
        let said = String::from_utf8_lossy(&done.stdout).into_owned();
        seen.part
            .must(done.status.success(), || format!("as `{}`:\n{}", role.name(), failures(&said)));
        let text = std::fs::read_to_string(&report).unwrap_or_default();
        seen.part.tried = seen.part.tried.saturating_add(count(&text, &mut seen.well));
        Ok(())
    }
}

/// Where the hooks ask, and with which tokens.
fn seeds(target: &Target, tokens: &Tokens) -> Value {
    let of = |role: Role| tokens.of(role).map(|token| (role.name().to_owned(), token.into()));
    let all: serde_json::Map<String, Value> =
        Role::ALL.into_iter().filter_map(|(role, ..)| of(role)).collect();
    json!({ "url": format!("http://{}", target.address), "tokens": all })
}

/// From the first failure on.
fn failures(said: &str) -> &str {
    said.find("= FAILURES")
        .or_else(|| said.find("= ERRORS"))
        .and_then(|at| said.get(at..))
        .unwrap_or(said)
}

/// Counts good answers by method and path. All requests are returned.
fn count(report: &str, well: &mut Well) -> u64 {
    let mut all = 0_u64;
    for line in report.lines() {
        let event: Value = serde_json::from_str(line).unwrap_or_default();
        let Some(recorder) = event.pointer("/ScenarioFinished/recorder") else { continue };
        let answers = recorder.get("interactions").and_then(Value::as_object);
        for (case, answer) in answers.into_iter().flatten() {
            all = all.saturating_add(1);
            let status = answer.pointer("/response/status_code").and_then(Value::as_u64);
            let of = recorder.get("cases").and_then(|cases| cases.get(case)?.get("value"));
            let text = |name: &str| of.and_then(|of| of.get(name)?.as_str()).unwrap_or_default();
            if status.is_some_and(|status| (200..300).contains(&status)) {
                let key = (text("method").to_owned(), text("path").to_owned());
                let count = well.entry(key).or_default();
                *count = count.saturating_add(1);
            }
        }
    }
    all
}

/// An operation that was seldom answered well is a finding: who is refused proves little.
fn reached(well: &Well, tokens: &Tokens, part: &mut Part) {
    for (method, path, who) in TABLE {
        let asked =
            RUNS.iter().any(|(role, whose)| whose.contains(&who) && tokens.of(*role).is_some());
        if !asked {
            println!("      {method} {path}: not asked, of no role here");
            continue;
        }
        let count = often(well, method, path);
        part.must(count >= OFTEN, || format!("{method} {path}: {count} good answers"));
    }
}

#[cfg(test)]
mod tests {
    use super::{count, failures};
    use std::collections::BTreeMap;

    #[test]
    fn good_answers_are_counted_by_operation() {
        let line = r#"{"ScenarioFinished": {"recorder": {
            "cases": {"a": {"value": {"method": "GET", "path": "/x/{id}"}}, "b": {"value": {}}},
            "interactions": {"a": {"response": {"status_code": 200}}, "b": {"response": null}}}}}"#;
        let mut well = BTreeMap::new();
        assert_eq!(count(&line.replace('\n', " "), &mut well), 2);
        assert_eq!(well.get(&("GET".to_owned(), "/x/{id}".to_owned())), Some(&1));
        assert_eq!(failures("a = FAILURES b"), "= FAILURES b");
    }
}
