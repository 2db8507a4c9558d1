//! `portage backup` and `portage restore` where the journal is in PostgreSQL: Spot and the database come
//! back as of one instant, halted; what is not of one instant is refused, and nothing is written.
//!
//! Wrong builds that were run, and found: `paired` compares nothing; the log's place taken some time before
//! Spot stands still, or after it went on; a restore that halts nothing.

use super::{Served, portage, process, said};
use serde_json::Value;
use std::path::Path;
use tempfile::TempDir;
use testbed::{Base, Database, Recovery, Server};

const URL: &str = "DATABASE_URL";
const ALONE: (&str, &str) = ("PORTAGE_OPS__FOUR_EYES", "false");
const HALTED: &str = "SELECT count(*) FROM service_state WHERE name = 'halted'";

/// As a fleet reaches a Spot that is served.
const ELSEWHERE: [(&str, &str); 3] = [
    ("PORTAGE_LEDGERS__SPOT__KIND", "remote"),
    ("PORTAGE_LEDGERS__SPOT__URL", "http://127.0.0.1:1"),
    ("PORTAGE_LEDGERS__SPOT__TOKEN", "a-token-of-enough-letters-for-a-test"),
];

/// A server of its own with a copy of it, and a service on it.
struct Fixture {
    server: Server,
    database: Database,
    base: Base,
    served: Served,
}

fn fixture() -> Fixture {
    let mut server = Server::start().expect("a PostgreSQL");
    let database = server.database().expect("a database");
    let base = server.base_backup().expect("a copy");
    let served = Served::start(&[(URL, database.url()), ALONE]);
    served.fund("4001", "1000");
    Fixture { server, database, base, served }
}

/// How a command ended, and what it said.
fn ran(dir: &Path, settings: &[(&str, &str)], words: &[&str]) -> (Option<i32>, String) {
    said(&portage(dir, &process::settings(settings)).args(words).output().expect("it runs"))
}

/// What a command says that ends like this. On a busy machine the database may not answer it in time;
/// then it is said again, as its code asks for.
fn comes_to(wanted: i32, mut run: impl FnMut() -> (Option<i32>, String)) -> String {
    let mut last = None;
    for _ in 0..20 {
        match run() {
            (Some(code), text) if code == wanted => return text,
            (Some(69 | 75), text) => last = Some(text),
            other => panic!("not {wanted}: {other:?}"),
        }
    }
    panic!("not {wanted}: {last:?}")
}

impl Served {
    /// What `portage backup` prints of a new backup.
    fn backup(&self, name: &str) -> Value {
        let words = ["backup", name, "--json"];
        let text = comes_to(0, || said(&self.run(&words)));
        serde_json::from_str(&text).unwrap_or_else(|fault| panic!("{fault}: {text}"))
    }

    /// A transfer under a client's key, to its end.
    fn moves(&self, key: &str, from: &str, amount: &str) {
        let to = if from == "FUNDING" { "SPOT" } else { "FUNDING" };
        let words = ["transfer", "create", "--user", "4001", "--from", from, "--to", to];
        let more = ["--asset", "USDT", "--amount", amount, "--cid", key, "--json"];
        let words = [&words[..], &more[..]].concat();
        let mut last = None;
        // a busy machine may not know in time what became of it
        for _ in 0..20 {
            let out = self.run(&words);
            let done: Option<Value> = serde_json::from_slice(&out.stdout).ok();
            match done.filter(|done| done["state"] == "COMMITTED") {
                Some(_) => return,
                None => last = Some(out),
            }
        }
        panic!("{key}: {last:?}")
    }
}

/// Where the log stood, by the manifest.
fn place(manifest: &Value) -> String {
    manifest["database"]["lsn"].as_str().expect("a place").to_owned()
}

/// Turns red where Spot and the log's place are not of one instant, or where what was restored moves
/// money before a person looked.
#[test]
fn both_come_back_as_of_one_instant() {
    let Fixture { mut server, database, base, served } = fixture();
    let here = served.dir.path().to_owned();
    let mut made = Vec::new();
    // while money moves both ways
    std::thread::scope(|scope| {
        for user in 0..2 {
            let served = &served;
            scope.spawn(move || {
                for n in 0..12 {
                    let from = if n % 3 == 2 { "SPOT" } else { "FUNDING" };
                    served.moves(&format!("{user}-{n}"), from, "3");
                }
            });
        }
        for n in 0..4 {
            made.push(served.backup(&format!("b{n}")));
        }
    });
    let last = served.backup("last");
    served.moves("after", "FUNDING", "50");
    served.process.kill();
    let (code, text) = ran(&here, &[], &["backup", "--verify", "last"]);
    assert_eq!((code, text.contains(&place(&last))), (Some(0), true), "{text}");
    let settings = [(URL, database.url()), ALONE];
    for (n, manifest) in made.iter().enumerate() {
        server.restore(&base, &Recovery::Upto(place(manifest))).expect("it comes back");
        let again = tempfile::tempdir().expect("a folder");
        let from = here.join(format!("b{n}"));
        let words = ["restore", from.to_str().expect("a path")];
        let _restored = comes_to(0, || ran(again.path(), &settings, &words));
        let text = comes_to(65, || ran(again.path(), &settings, &["check"]));
        assert!(text.contains("HALT stands") && !text.contains("BREAK"), "{text}");
        goes_on(again, &settings);
    }
}

/// Halted until a person resumes; then what clients repeat is done once.
fn goes_on(dir: TempDir, settings: &[(&str, &str)]) {
    let served = Served::within(dir, settings);
    let words = ["transfer", "create", "--user", "4001", "--from", "FUNDING", "--to", "SPOT"];
    let out = served.run(&[&words[..], &["--asset", "USDT", "--amount", "1"]].concat());
    assert_eq!(out.status.code(), Some(75), "{out:?}");
    let resume = ["ops", "resume", "--reason", "compared"];
    let _resumed = comes_to(0, || said(&served.run(&resume)));
    for (key, amount) in [("0-0", "3"), ("1-11", "3"), ("after", "50")] {
        let from = if key == "1-11" { "SPOT" } else { "FUNDING" };
        served.moves(key, from, amount);
    }
    let _sound = comes_to(0, || said(&served.run(&["check"])));
}

/// Turns red where anything that is not of one instant is restored, or something is left behind by
/// what was refused.
#[test]
fn what_is_not_of_one_instant_is_refused() {
    let Fixture { mut server, database, base, served } = fixture();
    let here = served.dir.path().to_owned();
    served.moves("first", "FUNDING", "3");
    let made = served.backup("mine");
    served.moves("second", "FUNDING", "3");
    let (code, text) = ran(&here, &[(URL, database.url())], &["backup", "mine"]);
    assert_eq!(code, Some(73), "it is there already: {text}");
    served.process.kill();
    let mine = here.join("mine");
    let again = tempfile::tempdir().expect("a folder");
    let words = ["restore", mine.to_str().expect("a path")];
    let refused = |url: &str, wanted: i32, what: &str| {
        let settings: &[(&str, &str)] = if url.is_empty() { &[] } else { &[(URL, url)] };
        let (code, text) = ran(again.path(), settings, &words);
        assert_eq!((code, text.contains(what)), (Some(wanted), true), "{what}: {text}");
        assert!(!again.path().join("data").exists(), "{what}");
    };
    refused("", 78, "set database.url");
    refused(database.url(), 65, "Spot's operations up to 2, the backup has 1");
    assert_eq!(database.sql(HALTED).expect("a count"), "0");
    let other = server.database().expect("a database");
    let (code, text) = ran(again.path(), &[(URL, other.url())], &["migrate"]);
    assert_eq!(code, Some(0), "{text}");
    refused(other.url(), 65, "the database's journal is");
    assert_eq!(other.sql(HALTED).expect("a count"), "0");
    drop(other);
    server.restore(&base, &Recovery::Upto(place(&made))).expect("it comes back");
    // a folder that is taken is seen before the database is halted
    let (code, text) = ran(&here, &[(URL, database.url())], &words);
    assert_eq!(code, Some(73), "{text}");
    assert_eq!(database.sql(HALTED).expect("a count"), "0");
    server.stop().expect("it stops");
    refused(database.url(), 69, "does not answer");
    // by `cp -r` nobody would be halted
    std::fs::rename(&mine, again.path().join("data")).expect("it moves");
    server.restart().expect("it comes back");
    let (code, text) = ran(again.path(), &[(URL, database.url())], &["serve"]);
    assert_eq!((code, text.contains("this is a backup")), (Some(78), true), "{text}");
}

/// Turns red where a backup is made of a Spot that the journal does not know, or of none.
#[test]
fn what_is_not_here_is_not_backed_up() {
    let Fixture { mut server, database, served, .. } = fixture();
    served.moves("first", "FUNDING", "3");
    let settings = [(URL, database.url())];
    let empty = tempfile::tempdir().expect("a folder");
    let (code, text) = ran(empty.path(), &settings, &["backup", "mine"]);
    assert_eq!((code, text.contains("no Spot here to copy")), (Some(66), true), "{text}");
    std::fs::create_dir_all(empty.path().join("data/spot")).expect("a folder");
    let (code, text) = ran(empty.path(), &settings, &["backup", "mine"]);
    assert_eq!(
        (code, text.contains("not the one that the journal knows")),
        (Some(65), true),
        "{text}"
    );
    let remote = [&settings[..], &ELSEWHERE].concat();
    let (code, text) = ran(empty.path(), &remote, &["backup", "mine"]);
    assert_eq!(code, Some(65), "nor where the fleet reaches its own: {text}");
    server.stop().expect("it stops");
    let (code, text) = ran(empty.path(), &settings, &["backup", "mine"]);
    assert_eq!(code, Some(69), "{text}");
    assert!(!empty.path().join("mine").exists());
    // beside the server whose database is gone: it says so, and makes none
    let out = served.run(&["backup", "mine"]);
    assert!(!out.status.success(), "{out:?}");
    assert!(!served.dir.path().join("mine").exists());
}

/// Turns red where the folder of a Spot that a fleet reaches by a URL cannot be backed up with the
/// fleet's own settings, while it has no server.
#[test]
fn a_served_spot_is_backed_up_where_it_lies() {
    let Fixture { server: _server, database, served, .. } = fixture();
    served.moves("first", "FUNDING", "3");
    served.process.kill();
    let here = served.dir.path().to_owned();
    let fleet = [&[(URL, database.url())][..], &ELSEWHERE].concat();
    let text = comes_to(0, || ran(&here, &fleet, &["backup", "theirs"]));
    assert!(text.contains("Spot up to operation 1;"), "{text}");
    let (code, text) = ran(&here, &fleet, &["backup", "--verify", "theirs"]);
    assert_eq!(code, Some(0), "{text}");
}

/// Turns red where a server goes on over a database that became another one, also one that is older
/// than its tables, or where it ends with another code.
#[test]
fn a_server_whose_database_went_back_ends() {
    // the database goes away with its value
    let Fixture { mut server, database: _database, base, served } = fixture();
    served.moves("first", "FUNDING", "3");
    server.restore(&base, &Recovery::Same).expect("it comes back");
    let mut code = None;
    super::eventually("it ends", || {
        code = served.process.ended().map(|status| status.code());
        code.is_some()
    });
    assert_eq!(code, Some(Some(75)), "{}", served.log());
    assert!(served.log().contains("is not the one that this process has been working on"));
}
