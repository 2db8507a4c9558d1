//! `portage backup` and `portage restore` as processes: beside a server, alone, and killed half-way.

use crate::command::{ends, exit_of, folder, run, served};
use crate::fixture::process::portage;
use rusqlite::Connection;
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

fn json(dir: &Path, words: &[&str]) -> Value {
    let out = run(dir, words);
    let why = String::from_utf8_lossy(&out.stderr).into_owned();
    serde_json::from_slice(&out.stdout).unwrap_or_else(|_| panic!("{words:?}: {why}"))
}

fn deposited(dir: &Path, user: &str) {
    let words = ["deposit", "--user", user, "--asset", "USDT", "--amount", "5", "--ref", user];
    assert_eq!(exit_of(dir, &words), 0);
}

/// A data folder that a server has used and left.
fn used(dir: &Path) {
    let server = served(dir);
    deposited(dir, "7");
    assert_eq!(ends(&server, "TERM"), 0);
}

#[test]
fn beside_a_server_restored_and_halted() {
    let dir = folder();
    let dir = dir.path();
    assert_eq!(exit_of(dir, &["backup", "b"]), 66, "no store");
    let server = served(dir);
    deposited(dir, "7");
    let create = [
        "transfer", "create", "--user", "7", "--from", "FUNDING", "--to", "SPOT", "--asset",
        "USDT", "--amount", "2", "--json",
    ];
    let id = json(dir, &create)["req_id"].as_str().expect("an id").to_owned();
    let made = json(dir, &["backup", "mine", "--json"]);
    assert_eq!((&made["transfers"], &made["spot"]["highest"]), (&1.into(), &1.into()), "{made}");
    deposited(dir, "8");
    // the server made it where it may; it was moved from there
    let left = fs::read_dir(dir.join("data").join("backups")).expect("a folder").count();
    assert_eq!(left, 0);
    assert_eq!(exit_of(dir, &["backup", "mine"]), 73, "it is there already");
    assert_eq!(ends(&server, "TERM"), 0);
    let log = fs::metadata(dir.join("data").join("portage.db-wal")).map_or(0, |about| about.len());
    assert_eq!(log, 0, "after a clean stop the database is one file");
    assert_eq!(exit_of(dir, &["backup", "--verify", "mine"]), 0);
    assert_eq!(exit_of(dir, &["backup", "--verify", "nowhere"]), 66);
    assert_eq!(exit_of(dir, &["restore", "mine"]), 73, "the data folder is in use");
    assert_eq!(exit_of(dir, &["restore", "nowhere", "--data-dir", "again"]), 66);
    assert_eq!(exit_of(dir, &["restore", "mine", "--data-dir", "again/data"]), 0);
    let again = dir.join("again");
    for (name, mode) in [("", 0o700), ("spot", 0o700), ("portage.db", 0o600), ("audit.key", 0o600)]
    {
        let about = fs::metadata(again.join("data").join(name)).expect(name);
        assert_eq!(about.permissions().mode() & 0o777, mode, "{name}");
    }
    // its first start, and every one after it until a person resumes
    for _ in 0..2 {
        let server = served(&again);
        assert_eq!(exit_of(&again, &create), 75, "HALTED");
        let story = json(&again, &["transfer", "get", &id, "--user", "7", "--json"]);
        assert_eq!(story["state"], "COMMITTED", "{story}");
        let proof = json(&again, &["check", "--json"]);
        let reason = proof["halted"].as_str().expect("why").to_owned();
        assert!(reason.starts_with("restored from a backup of "), "{reason}");
        assert_eq!(proof["breaks"], Value::Array(vec![]));
        assert_eq!(exit_of(&again, &["audit", "verify"]), 0);
        assert_eq!(ends(&server, "TERM"), 0);
        assert_eq!(exit_of(&again, &["check"]), 65, "HALT stands");
    }
    let db = Connection::open(again.join("data").join("portage.db")).expect("the file");
    let count = |sql| db.query_row(sql, [], |row| row.get::<_, i64>(0)).expect("a count");
    let open = "SELECT count(*) FROM cases WHERE kind = 'RESTORED' AND closed_at IS NULL";
    assert_eq!(count(open), 1);
    assert_eq!(count("SELECT count(*) FROM externals"), 1, "what came after it is not there");
    // a person resumes, which closes the case
    fs::write(again.join("portage.toml"), "[ops]\nfour_eyes = false\n").expect("a file");
    let server = served(&again);
    assert_eq!(exit_of(&again, &["ops", "resume", "--reason", "compared"]), 0);
    assert_eq!(json(&again, &create)["state"], "COMMITTED");
    for _ in 0..2_400 {
        if count(open) == 0 {
            break;
        }
        std::thread::sleep(Duration::from_millis(25));
    }
    assert_eq!(count(open), 0);
    drop(server);
    assert_eq!(exit_of(&again, &["check"]), 0);
}

/// The journal's log is deleted after a crash, and with it the deposits that a client knows of. Seen red before the
/// last unit's number was kept outside the database: healthy, `audit verify` found nothing, the deposits were gone.
#[test]
fn a_deleted_log_of_the_journal_is_noticed() {
    let dir = folder();
    let dir = dir.path();
    used(dir);
    let server = served(dir);
    deposited(dir, "8");
    assert_eq!(ends(&server, "KILL"), -1);
    fs::remove_file(dir.join("data").join("portage.db-wal")).expect("it goes");
    assert_eq!(exit_of(dir, &["audit", "verify"]), 65);
    // the start after it writes on, and still says so
    for _ in 0..2 {
        let server = served(dir);
        let proof = json(dir, &["check", "--json"]);
        let reason = proof["halted"].as_str().expect("why").to_owned();
        assert!(reason.starts_with("the journal lost its units"), "{reason}");
        assert_eq!(ends(&server, "TERM"), 0);
    }
    assert_eq!(exit_of(dir, &["audit", "verify"]), 0, "the loss stands in the record itself");
}

/// The whole database is gone, or emptied, and the rest of the folder is there. Seen red before it was looked for:
/// healthy, `check` and `audit verify` found nothing, and every account was gone.
#[test]
fn a_database_that_is_gone_is_no_new_store() {
    let dir = folder();
    let dir = dir.path();
    used(dir);
    let database = dir.join("data").join("portage.db");
    let kept = fs::read(&database).expect("the file");
    for empty in [false, true] {
        fs::remove_file(&database).expect("it goes");
        if empty {
            fs::write(&database, "").expect("an empty file");
        }
        for words in [&["serve", "--listen", "127.0.0.1:0"][..], &["check"], &["audit", "verify"]] {
            let out = run(dir, words);
            let why = String::from_utf8_lossy(&out.stderr);
            assert_eq!(out.status.code(), Some(65), "{words:?}: {why}");
            assert!(why.contains("portage.db is gone or empty"), "{words:?}: {why}");
        }
        assert_eq!(database.exists(), empty, "nothing is made in its place");
        fs::write(&database, &kept).expect("it comes back");
        assert_eq!(exit_of(dir, &["audit", "verify"]), 0);
    }
}

#[test]
fn what_is_not_whole_is_no_backup() {
    let dir = folder();
    let dir = dir.path();
    used(dir);
    assert_eq!(exit_of(dir, &["backup", "b"]), 0);
    let verify = ["backup", "--verify", "b"];
    let restore = ["restore", "b", "--data-dir", "again"];
    let database = dir.join("b").join("portage.db");
    let whole = fs::read(&database).expect("the file");
    let refused = |what: &str| {
        assert_eq!(exit_of(dir, &verify), 65, "{what}");
        assert_eq!(exit_of(dir, &restore), 65, "{what}");
        assert!(!dir.join("again").exists(), "{what}");
    };
    let mut other = whole.clone();
    *other.last_mut().expect("a byte") ^= 1;
    fs::write(&database, &other).expect("it is written");
    refused("another byte");
    fs::write(&database, &whole[..whole.len() - 1]).expect("it is written");
    refused("a byte less");
    fs::write(&database, &whole).expect("it is written");
    fs::write(dir.join("b").join("portage.db-wal"), b"more").expect("it is written");
    refused("a file more");
    fs::remove_file(dir.join("b").join("portage.db-wal")).expect("it goes");
    assert_eq!(exit_of(dir, &verify), 0);
    fs::rename(dir.join("b").join("backup.json"), dir.join("manifest")).expect("it is renamed");
    assert_eq!(exit_of(dir, &verify), 65, "no manifest");
    assert_eq!(exit_of(dir, &restore), 66, "no manifest");
    fs::rename(dir.join("manifest"), dir.join("b").join("backup.json")).expect("it is renamed");
    fs::remove_dir_all(dir.join("b").join("spot")).expect("it goes");
    refused("no Spot");
}

/// Dead at any place of the copy, again and again: there is no folder that passes for a backup, and
/// the next attempt makes one.
#[test]
fn killed_half_way_it_is_none() {
    let dir = folder();
    let dir = dir.path();
    used(dir);
    let db = Connection::open(dir.join("data").join("portage.db")).expect("the file");
    // 48 MB to copy
    let fill = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 6000) \
                INSERT INTO inbox SELECT 'fill', hex(randomblob(6)) || hex(zeroblob(4000)), 0 FROM n";
    db.execute(fill, []).expect("rows");
    drop(db);
    for megabytes in [1, 17, 40] {
        dies_at(dir, megabytes);
    }
    for n in 0..6 {
        killed_after(dir, Duration::from_millis(7 * n));
    }
    assert_eq!(exit_of(dir, &["backup", "b"]), 0);
    assert_eq!(exit_of(dir, &["backup", "--verify", "b"]), 0);
    assert!(!dir.join(PARTIAL).exists());
    assert_eq!(exit_of(dir, &["check"]), 0, "what was copied goes on as it was");
}

const PARTIAL: &str = ".b.partial";
/// What the kernel ends a process with that writes a file beyond its limit.
const SIGXFSZ: i32 = 25;

/// A backup whose process dies when the copy has `megabytes` megabytes, wherever the machine is slow.
fn dies_at(dir: &Path, megabytes: u64) {
    let backup = portage(dir);
    let limit = format!("ulimit -c 0; ulimit -f {}; exec \"$@\"", megabytes * 2048);
    let mut limited = Command::new("/bin/sh");
    limited.current_dir(dir).env_clear().args(["-c", &limit, "sh"]);
    limited.arg(backup.get_program()).args(backup.get_args()).args(["backup", "b"]);
    let out = limited.output().expect("it runs");
    assert_eq!(out.status.signal(), Some(SIGXFSZ), "{out:?}");
    assert!(!dir.join("b").exists());
    let copied = fs::metadata(dir.join(PARTIAL).join("portage.db")).expect("a part of the copy");
    assert!(copied.len() <= megabytes << 20);
    assert_eq!(exit_of(dir, &["backup", "--verify", PARTIAL]), 65);
}

/// A backup that is killed some time after its copy began: wherever it was then, what has the name
/// is whole.
fn killed_after(dir: &Path, time: Duration) {
    let partial = dir.join(PARTIAL);
    // what an earlier attempt left: it is gone when this attempt begins
    let earlier = partial.join("earlier");
    fs::create_dir_all(&partial).expect("a folder");
    fs::write(&earlier, "").expect("a file");
    let mut child = portage(dir)
        .args(["backup", "b"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts");
    let begun = || !earlier.exists() && partial.join("portage.db").exists();
    while !begun() && child.try_wait().expect("a status").is_none() {
        std::thread::sleep(Duration::from_millis(1));
    }
    std::thread::sleep(time);
    child.kill().expect("it is killed");
    let _status = child.wait().expect("a status");
    if dir.join("b").exists() {
        assert_eq!(exit_of(dir, &["backup", "--verify", "b"]), 0, "what has the name is whole");
        fs::remove_dir_all(dir.join("b")).expect("it goes");
    } else {
        assert!(partial.exists(), "a copy that began and has no name yet");
        let code = exit_of(dir, &["backup", "--verify", PARTIAL]);
        let manifest = partial.join("backup.json").exists();
        assert!(code == 65 || manifest, "{code}");
    }
}
