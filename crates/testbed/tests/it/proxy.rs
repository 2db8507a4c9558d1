//! The proxy in front of a real server, with `psql` as the client.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::OnceLock;
use testbed::{Database, Proxy, Server, Strike};

struct Bed {
    proxy: Proxy,
    database: Database,
}

/// One server for all; it ends with the process.
static SERVER: OnceLock<Server> = OnceLock::new();

fn bed() -> Bed {
    let server = SERVER.get_or_init(|| Server::start().unwrap());
    let proxy = Proxy::start(&server.address().unwrap()).unwrap();
    let database = server.database().unwrap();
    database.sql("CREATE TABLE t (n int)").unwrap();
    Bed { proxy, database }
}

impl Bed {
    /// A transaction through the proxy; whether the client was told that it happened.
    fn insert(&self, n: u32) -> bool {
        let mut psql = Psql::open(self);
        psql.say(&format!("BEGIN;\nINSERT INTO t VALUES ({n});\nCOMMIT;\n\\echo done"));
        psql.hears("done")
    }

    fn rows(&self) -> String {
        self.database
            .sql("SELECT coalesce(string_agg(n::text, ',' ORDER BY n), '') FROM t")
            .unwrap()
    }
}

/// A client whose statements go out one by one.
struct Psql {
    child: Child,
    out: BufReader<ChildStdout>,
}

impl Psql {
    fn open(bed: &Bed) -> Self {
        let url = bed.database.through(&bed.proxy).unwrap();
        let mut psql = Command::new("psql");
        psql.args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", &url]);
        psql.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = psql.spawn().unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        Self { child, out }
    }

    fn say(&mut self, text: &str) {
        // a client whose connection was cut reads no more
        let _gone = writeln!(self.child.stdin.as_mut().unwrap(), "{text}");
    }

    /// Whether its next line is this one; false also where it ended.
    fn hears(&mut self, line: &str) -> bool {
        let mut heard = String::new();
        self.out.read_line(&mut heard).unwrap();
        heard.trim() == line
    }
}

impl Drop for Psql {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _gone = self.child.kill();
        let _reaped = self.child.wait();
    }
}

#[test]
fn bytes_pass_and_are_counted() {
    let bed = bed();
    assert!(bed.insert(1));
    assert_eq!(bed.rows(), "1");
    let seen = bed.proxy.seen();
    assert_eq!((seen.connections, seen.commits, seen.struck), (1, 1, 0));
    assert!(seen.sent > 50 && seen.received > 50, "{seen:?}");
}

#[test]
fn a_lost_reply_is_of_a_commit_that_happened() {
    let bed = bed();
    for n in 1..=20 {
        bed.proxy.strike(&[Strike::ReplyLost]);
        assert!(!bed.insert(n), "the client was told of {n}");
        assert!(bed.rows().split(',').any(|row| row == n.to_string()), "{n} did not happen");
    }
    // also one that takes its time
    let slow = "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS
                'BEGIN PERFORM pg_sleep(2); RETURN NULL; END';
                CREATE CONSTRAINT TRIGGER slow AFTER INSERT ON t DEFERRABLE INITIALLY DEFERRED
                FOR EACH ROW WHEN (NEW.n = 99) EXECUTE FUNCTION slow()";
    bed.database.sql(slow).unwrap();
    bed.proxy.strike(&[Strike::ReplyLost]);
    assert!(!bed.insert(99));
    assert!(bed.rows().ends_with(",99"), "it is cut before it has happened");
    assert!(bed.insert(21), "only those that were asked for are struck");
    assert_eq!(bed.proxy.seen().struck, 21);
}

#[test]
fn a_commit_that_never_arrived_did_not_happen() {
    let bed = bed();
    bed.proxy.strike(&[Strike::NeverSent, Strike::ReplyLost]);
    assert!(!bed.insert(1));
    assert!(!bed.insert(2));
    assert!(bed.insert(3));
    assert_eq!(bed.rows(), "2,3");
}

#[test]
fn a_cut_at_a_commit_tells_the_client_nothing() {
    let bed = bed();
    bed.proxy.strike(&[Strike::Cut; 10]);
    for n in 1..=10 {
        assert!(!bed.insert(n), "the client was told of {n}");
    }
    assert_eq!(bed.proxy.seen().struck, 10);
}

#[test]
fn a_cut_ends_all_connections_and_refusing_keeps_them_away() {
    let bed = bed();
    let (mut one, mut two) = (Psql::open(&bed), Psql::open(&bed));
    for psql in [&mut one, &mut two] {
        psql.say("SELECT 7;");
        assert!(psql.hears("7"));
    }
    assert_eq!(bed.proxy.seen().open, 2);
    bed.proxy.refuse(true);
    bed.proxy.cut();
    for psql in [&mut one, &mut two] {
        psql.say("SELECT 8;");
        assert!(!psql.hears("8"));
    }
    assert!(!bed.insert(1));
    assert_eq!(bed.proxy.seen().connections, 2);
    bed.proxy.refuse(false);
    assert!(bed.insert(2));
    assert_eq!(bed.rows(), "2");
}

#[test]
fn held_bytes_arrive_when_they_are_released() {
    let bed = bed();
    let mut psql = Psql::open(&bed);
    psql.say("SELECT 7;");
    assert!(psql.hears("7"));
    bed.proxy.hold();
    let before = bed.proxy.seen();
    psql.say("INSERT INTO t VALUES (1);\n\\echo done");
    while bed.proxy.seen().sent == before.sent {
        std::thread::yield_now();
    }
    // it has left the client, and is not at the server
    for _ in 0..5 {
        assert_eq!(bed.rows(), "");
    }
    assert_eq!(bed.proxy.seen().received, before.received);
    bed.proxy.release();
    assert!(psql.hears("done"));
    assert_eq!(bed.rows(), "1");
}
