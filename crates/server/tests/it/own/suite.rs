//! `portage ledger check` over the guide's service: the service keeps every rule, again where it has been used, and
//! each of the guide's mistakes breaks the rule that is about it.

use super::script::{Elsewhere, Program, TOKEN, port};
use crate::fixture::process::binary;
use std::path::Path;
use std::process::Output;
use std::time::Duration;
use std::{env, fs, thread};

/// Runs the command over a service.
fn check(service: &Elsewhere, args: &[&str]) -> Output {
    let mut command = binary();
    command.args(["ledger", "check", &format!("http://{}", service.at)]).args(args);
    command.env("PATH", env::var_os("PATH").unwrap_or_default());
    command.env("PORTAGE_LEDGER_TOKEN", TOKEN).output().expect("it runs")
}

/// The same; where the command asks for a restart, the service is killed with -9 and started again.
fn check_over_restart(program: &Program, store: &Path, only: &str) -> Output {
    let (file, port) = (store.join("restart"), port());
    let asks = format!("touch {0}; while [ -e {0} ]; do sleep 0.02; done", file.display());
    let service = Elsewhere::start(program, store, port);
    thread::scope(|scope| {
        let checked = scope.spawn(|| check(&service, &["--only", only, "--restart", &asks]));
        while !file.exists() && !checked.is_finished() {
            thread::sleep(Duration::from_millis(10));
        }
        service.strike();
        let _again = Elsewhere::start(program, store, port);
        let _unless_it_ended = fs::remove_file(&file);
        checked.join().expect("the command ends")
    })
}

fn printed(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn the_guides_ledger_keeps_every_rule() {
    let (program, dir) = (Program::guide("own_ledger.py"), tempfile::tempdir().expect("a folder"));
    let service = Elsewhere::start(&program, dir.path(), 0);
    let first = check(&service, &[]);
    assert!(first.status.success(), "{first:?}");
    assert!(printed(&first).ends_with(" rules, 0 broken\n"), "{first:?}");
    let in_use = check(&service, &[]);
    assert_eq!(in_use.status.code(), Some(64), "{in_use:?}");
    let again = check(&service, &["--used"]);
    assert_eq!(printed(&again), printed(&first), "{again:?}");
    let absent = check(&service, &["--used", "--only", "no such rule"]);
    assert_eq!(absent.status.code(), Some(64), "{absent:?}");
    let store = tempfile::tempdir().expect("a folder");
    let over = check_over_restart(&program, store.path(), "");
    assert!(over.status.success(), "{over:?}");
    assert!(printed(&over).contains("holds   every answer outlives a restart"), "{over:?}");
}

/// What it is, how the file is changed, and the rule that it breaks.
type Mistake = (&'static str, &'static [(&'static str, &'static str)], &'static str);

/// What the guide warns of, as changes of its file.
const MISTAKES: [Mistake; 8] = [
    (
        "an error that is not stored",
        &[(
            "return keep(op, \"INSUFFICIENT_BALANCE\")",
            "return {\"req_id\": op[\"req_id\"], \"leg\": leg, \"seq\": 1, \"error\": \"INSUFFICIENT_BALANCE\"}",
        )],
        "rejected is sticky",
    ),
    (
        "a forgotten key",
        &[
            ("if before := stored(op[\"req_id\"], leg):", "if before := None:"),
            ("INSERT INTO operations (", "INSERT OR REPLACE INTO operations ("),
        ],
        "done is sticky",
    ),
    (
        "a check beside the booking",
        &[
            ("DB.execute(\"BEGIN IMMEDIATE\")", "pass"),
            (
                "    if leg == \"REFUND\":\n",
                "    LOCK.release(); threading.Event().wait(0.01); LOCK.acquire()\n    if leg == \"REFUND\":\n",
            ),
        ],
        "withdraws at the same time take no more than there is",
    ),
    (
        "a horizon that is ignored",
        &[(
            "    if forgotten(op[\"req_id\"]):\n        return unknown(",
            "    if False:\n        return unknown(",
        )],
        "nothing is executed afresh below the horizon",
    ),
    (
        "each host is served",
        &[("if method == \"POST\" or \"ledger\" in asked:", "if False:")],
        "a request for another ledger executes nothing",
    ),
    (
        "the number of a HALT that is not compared",
        &[(
            "case \"POST\", \"operations\" if halt < last_halt():",
            "case \"POST\", \"operations\" if False:",
        )],
        "who does not know of a halt moves nothing",
    ),
    (
        "a token that is not compared",
        &[("if not hmac.compare_digest(shown, f\"Bearer {TOKEN}\".encode()):", "if False:")],
        "a request without the token executes nothing",
    ),
    (
        "keys in memory",
        &[("sqlite3.connect(sys.argv[1],", "sqlite3.connect(\":memory:\",")],
        "every answer outlives a restart",
    ),
];

#[test]
fn each_of_the_guides_mistakes_breaks_its_rule() {
    let Program::Python(file) = Program::guide("own_ledger.py") else { panic!("it is Python") };
    let right = fs::read_to_string(file).expect("the file");
    let dir = tempfile::tempdir().expect("a folder");
    for (n, (mistake, changes, rule)) in MISTAKES.into_iter().enumerate() {
        let mut wrong = right.clone();
        for (from, to) in changes {
            assert_eq!(wrong.matches(from).count(), 1, "{mistake}: {from}");
            wrong = wrong.replace(from, to);
        }
        let store = dir.path().join(n.to_string());
        fs::create_dir(&store).expect("a folder");
        let file = store.join("ledger.py");
        fs::write(&file, wrong).expect("it is written");
        let checked = check_over_restart(&Program::Python(file), &store, rule);
        assert_eq!(checked.status.code(), Some(65), "{mistake}: {checked:?}");
        let broken = format!("BROKEN  {rule}\n");
        assert!(printed(&checked).contains(&broken), "{mistake}: {checked:?}");
    }
}
