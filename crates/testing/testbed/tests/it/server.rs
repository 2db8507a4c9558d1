//! A server's life: databases, settings, kills, and its end with its maker.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use testbed::{Options, Server};

#[test]
fn it_is_durable_and_takes_our_settings() {
    let settings = vec![("track_io_timing".to_owned(), "on".to_owned())];
    let options = Options { max_connections: 37, settings, ..Options::default() };
    let server = Server::with(&options).unwrap();
    let database = server.database().unwrap();
    for (name, value) in [
        ("fsync", "on"),
        ("synchronous_commit", "on"),
        ("full_page_writes", "on"),
        ("max_connections", "37"),
        ("track_io_timing", "on"),
    ] {
        assert_eq!(database.sql(&format!("SHOW {name}")).unwrap(), value, "{name}");
    }
    assert!(server.used().unwrap() > Duration::ZERO);
}

#[test]
fn databases_are_apart_and_go_away() {
    let server = Server::start().unwrap();
    let (one, two) = (server.database().unwrap(), server.database().unwrap());
    assert_ne!(one.name(), two.name());
    one.sql("CREATE TABLE t (n int)").unwrap();
    assert!(two.sql("SELECT * FROM t").unwrap_err().contains("does not exist"));
    let left = format!("SELECT count(*) FROM pg_database WHERE datname = '{}'", one.name());
    assert_eq!(two.sql(&left).unwrap(), "1");
    drop(one);
    assert_eq!(two.sql(&left).unwrap(), "0");
}

#[test]
fn what_was_committed_survives_kill_9_and_what_was_not_does_not() {
    let mut server = Server::start().unwrap();
    let database = server.database().unwrap();
    database.sql("CREATE TABLE t (n int)").unwrap();
    database.sql("INSERT INTO t SELECT generate_series(1, 100)").unwrap();
    let mut idle = Command::new("psql");
    idle.args(["-X", "-q", "-d", database.url()]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut idle = idle.stderr(Stdio::null()).spawn().unwrap();
    let words = "BEGIN; INSERT INTO t VALUES (101);\n\\echo inside\n";
    std::io::Write::write_all(idle.stdin.as_mut().unwrap(), words.as_bytes()).unwrap();
    let mut line = String::new();
    BufReader::new(idle.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "inside\n");
    server.kill9().unwrap();
    assert!(database.sql("SELECT 1").is_err());
    drop(idle.stdin.take());
    idle.wait().unwrap();
    server.restart().unwrap();
    assert_eq!(database.sql("SELECT count(*) FROM t").unwrap(), "100");
    assert!(server.last_words().unwrap().contains("not properly shut down"), "it was killed");
    server.stop().unwrap();
    assert!(database.sql("SELECT 1").is_err());
    server.restart().unwrap();
    // and where it runs
    server.restart().unwrap();
    assert_eq!(database.sql("SELECT count(*) FROM t").unwrap(), "100");
}

#[test]
fn a_setting_that_it_refuses_is_said_in_its_own_words() {
    let settings = vec![("no_such_setting".to_owned(), "1".to_owned())];
    let why = Server::with(&Options { settings, ..Options::default() }).unwrap_err();
    assert!(why.contains("no_such_setting"), "{why}");
}

#[test]
fn dropped_it_leaves_neither_process_nor_folder() {
    let server = Server::start().unwrap();
    let data = server.data().unwrap();
    let pid = pid(&data);
    assert!(Path::new(&format!("/proc/{pid}")).exists());
    drop(server);
    assert!(!data.exists());
    assert!(!Path::new(&format!("/proc/{pid}")).exists());
}

/// Run by the test below in a process that is killed; by itself it does nothing.
#[test]
fn starts_a_server_and_waits() {
    if std::env::var_os("TESTBED_WAITS").is_none() {
        return;
    }
    let server = Server::start().unwrap();
    println!("at {}", server.data().unwrap().display());
    std::io::stdin().read_line(&mut String::new()).unwrap();
}

#[test]
fn a_server_does_not_outlive_a_test_that_is_killed() {
    let mut test = Command::new(std::env::current_exe().unwrap());
    test.args(["--exact", "server::starts_a_server_and_waits", "--nocapture"]);
    test.env("TESTBED_WAITS", "1").stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut test = test.spawn().unwrap();
    let lines = BufReader::new(test.stdout.take().unwrap()).lines();
    let data: PathBuf = lines
        .map_while(Result::ok)
        .find_map(|line| Some(PathBuf::from(line.split_once("at ")?.1)))
        .unwrap();
    let pid = pid(&data);
    assert!(Path::new(&format!("/proc/{pid}")).exists());
    test.kill().unwrap();
    test.wait().unwrap();
    for _ in 0..1_000 {
        if !data.exists() && !Path::new(&format!("/proc/{pid}")).exists() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("{} or process {pid} is still there", data.display());
}

#[test]
fn a_server_that_was_not_given_is_asked_for_in_words() {
    match (std::env::var(testbed::GIVEN), Server::given()) {
        (Ok(url), Ok(mut server)) => {
            assert_eq!(server.url(), url);
            assert_eq!(server.database().unwrap().sql("SELECT 1").unwrap(), "1");
            assert!(server.kill9().unwrap_err().contains("was given"));
        }
        (Err(_), Err(why)) => {
            assert!(why.contains(testbed::GIVEN) && why.contains("cargo xtask test"), "{why}");
        }
        (named, found) => panic!("{named:?} and {found:?}"),
    }
}

fn pid(data: &Path) -> String {
    let text = std::fs::read_to_string(data.join("postmaster.pid")).unwrap();
    text.lines().next().unwrap().to_owned()
}
