//! The proxy in front of a real server, with `psql` as the client.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::OnceLock;
use testbed::{Database, Direction, Healing, Proxy, Server, Side, Silence, Strike};

struct ProxyFixture {
    proxy: Proxy,
    database: Database,
}

/// One server for all; it ends with the process.
static SERVER: OnceLock<Server> = OnceLock::new();

fn fixture() -> ProxyFixture {
    let server = SERVER.get_or_init(|| Server::start().unwrap());
    let proxy = Proxy::start(&server.address().unwrap()).unwrap();
    let database = server.database().unwrap();
    database.sql("CREATE TABLE t (n int)").unwrap();
    ProxyFixture { proxy, database }
}

impl ProxyFixture {
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
    fn open(fixture: &ProxyFixture) -> Self {
        Self::named(fixture, "psql")
    }

    fn named(fixture: &ProxyFixture, name: &str) -> Self {
        let url = fixture.database.through(&fixture.proxy).unwrap();
        let mut psql = Command::new("psql");
        psql.args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", &url]);
        psql.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        psql.env("PGAPPNAME", name);
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
        let mut reply = String::new();
        self.out.read_line(&mut reply).unwrap();
        reply.trim() == line
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
    let fixture = fixture();
    assert!(fixture.insert(1));
    assert_eq!(fixture.rows(), "1");
    let seen = fixture.proxy.seen();
    assert_eq!((seen.connections, seen.commits, seen.struck), (1, 1, 0));
    assert!(seen.sent > 50 && seen.received > 50, "{seen:?}");
}

#[test]
fn a_lost_reply_is_of_a_commit_that_happened() {
    let fixture = fixture();
    for n in 1..=20 {
        fixture.proxy.strike(&[Strike::ReplyLost]);
        assert!(!fixture.insert(n), "the client was told of {n}");
        assert!(fixture.rows().split(',').any(|row| row == n.to_string()), "{n} did not happen");
    }
    // also one that takes its time
    let slow = "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS
                'BEGIN PERFORM pg_sleep(2); RETURN NULL; END';
                CREATE CONSTRAINT TRIGGER slow AFTER INSERT ON t DEFERRABLE INITIALLY DEFERRED
                FOR EACH ROW WHEN (NEW.n = 99) EXECUTE FUNCTION slow()";
    fixture.database.sql(slow).unwrap();
    fixture.proxy.strike(&[Strike::ReplyLost]);
    assert!(!fixture.insert(99));
    assert!(fixture.rows().ends_with(",99"), "it is cut before it has happened");
    assert!(fixture.insert(21), "only those that were asked for are struck");
    assert_eq!(fixture.proxy.seen().struck, 21);
}

#[test]
fn a_commit_that_never_arrived_did_not_happen() {
    let fixture = fixture();
    fixture.proxy.strike(&[Strike::NeverSent, Strike::ReplyLost]);
    assert!(!fixture.insert(1));
    assert!(!fixture.insert(2));
    assert!(fixture.insert(3));
    assert_eq!(fixture.rows(), "2,3");
}

#[test]
fn a_cut_at_a_commit_tells_the_client_nothing() {
    let fixture = fixture();
    fixture.proxy.strike(&[Strike::Cut; 10]);
    for n in 1..=10 {
        assert!(!fixture.insert(n), "the client was told of {n}");
    }
    assert_eq!(fixture.proxy.seen().struck, 10);
}

#[test]
fn a_cut_ends_all_connections_and_refusing_keeps_them_away() {
    let fixture = fixture();
    let (mut one, mut two) = (Psql::open(&fixture), Psql::open(&fixture));
    for psql in [&mut one, &mut two] {
        psql.say("SELECT 7;");
        assert!(psql.hears("7"));
    }
    assert_eq!(fixture.proxy.seen().open, 2);
    fixture.proxy.refuse(true);
    fixture.proxy.cut();
    for psql in [&mut one, &mut two] {
        psql.say("SELECT 8;");
        assert!(!psql.hears("8"));
    }
    assert!(!fixture.insert(1));
    assert_eq!(fixture.proxy.seen().connections, 2);
    fixture.proxy.refuse(false);
    assert!(fixture.insert(2));
    assert_eq!(fixture.rows(), "2");
}

#[test]
fn held_bytes_arrive_when_they_are_released() {
    let fixture = fixture();
    let mut psql = Psql::open(&fixture);
    psql.say("SELECT 7;");
    assert!(psql.hears("7"));
    fixture.proxy.hold();
    let before = fixture.proxy.seen();
    psql.say("INSERT INTO t VALUES (1);\n\\echo done");
    while fixture.proxy.seen().sent == before.sent {
        std::thread::yield_now();
    }
    // it has left the client, and is not at the server
    for _ in 0..5 {
        assert_eq!(fixture.rows(), "");
    }
    assert_eq!(fixture.proxy.seen().received, before.received);
    fixture.proxy.release();
    assert!(psql.hears("done"));
    assert_eq!(fixture.rows(), "1");
}

/// Two clients that are connected: a writer and a reader.
fn two(fixture: &ProxyFixture) -> [Psql; 2] {
    ["writer", "reader"].map(|name| {
        let mut psql = Psql::named(fixture, name);
        psql.say("SELECT 7;");
        assert!(psql.hears("7"));
        psql
    })
}

fn writers(directions: &[Direction]) -> Silence {
    let (name, directions) = (Some("writer".to_owned()), directions.to_vec());
    Silence { name, directions, later: false, closed: None }
}

/// How many sessions of that name the server has.
fn sessions(fixture: &ProxyFixture, name: &str) -> String {
    let of = "FROM pg_stat_activity WHERE datname = current_database() AND application_name";
    fixture.database.sql(&format!("SELECT count(*) {of} = '{name}'")).unwrap()
}

fn until(what: impl Fn() -> bool) {
    while !what() {
        std::thread::yield_now();
    }
}

#[test]
fn only_connections_of_a_name_fall_silent_and_what_they_said_may_arrive_late() {
    let fixture = fixture();
    let [mut writer, mut reader] = two(&fixture);
    assert_eq!(fixture.proxy.silence(&writers(&Direction::ALL)), 1);
    let before = fixture.proxy.seen().sent;
    writer.say("INSERT INTO t VALUES (1);\n\\echo done");
    until(|| fixture.proxy.seen().sent > before);
    reader.say("SELECT count(*) FROM t;");
    assert!(reader.hears("0"), "its bytes pass, and the writer's do not");
    // one that connects now is not concerned
    assert!(fixture.insert(2));
    fixture.proxy.heal(Healing::Late);
    assert!(writer.hears("done"));
    assert_eq!(fixture.rows(), "1,2");
}

#[test]
fn what_is_silent_in_one_direction_happens_without_a_reply() {
    let fixture = fixture();
    let [mut writer, _] = two(&fixture);
    fixture.proxy.silence(&writers(&[Direction::FromServer]));
    writer.say("INSERT INTO t VALUES (1);\n\\echo done");
    until(|| fixture.rows() == "1");
    fixture.proxy.heal(Healing::Closed);
    assert!(!writer.hears("done"), "its answer was swallowed");
}

#[test]
fn a_silence_may_be_of_later_connections_too_and_one_that_never_heals_stays() {
    let fixture = fixture();
    let [mut writer, mut reader] = two(&fixture);
    assert_eq!(fixture.proxy.silence(&Silence { later: true, ..writers(&Direction::ALL) }), 1);
    let connections = fixture.proxy.seen().connections;
    let mut late = Psql::named(&fixture, "writer");
    late.say("INSERT INTO t VALUES (1);\n\\echo done");
    until(|| fixture.proxy.seen().connections > connections);
    // its first message is at the proxy, and no session begins for it
    reader.say("SELECT pg_sleep(0.2);");
    assert!(reader.hears(""));
    assert_eq!(sessions(&fixture, "writer"), "1");
    fixture.proxy.heal(Healing::Never);
    let mut fresh = Psql::named(&fixture, "writer");
    fresh.say("INSERT INTO t VALUES (2);\n\\echo done");
    assert!(fresh.hears("done"));
    for psql in [&mut writer, &mut late] {
        psql.say("INSERT INTO t VALUES (3);\n\\echo done");
    }
    fixture.proxy.cut();
    for psql in [&mut writer, &mut late] {
        assert!(!psql.hears("done"), "it was silent until it was cut");
    }
    assert_eq!(fixture.rows(), "2");
}

#[test]
fn of_a_half_open_connection_one_side_knows() {
    let fixture = fixture();
    let [mut writer, _reader] = two(&fixture);
    fixture.proxy.silence(&Silence { closed: Some(Side::Server), ..writers(&[]) });
    until(|| sessions(&fixture, "writer") == "0");
    assert_eq!(sessions(&fixture, "reader"), "1");
    writer.say("SELECT 8;");
    assert!(writer.child.try_wait().unwrap().is_none(), "it waits for an answer");
    fixture.proxy.heal(Healing::Closed);
    assert!(!writer.hears("8"));
    let [mut writer, _reader] = two(&fixture);
    fixture.proxy.silence(&Silence { closed: Some(Side::Client), ..writers(&[]) });
    writer.say("SELECT 8;");
    assert!(!writer.hears("8"), "it was closed");
    assert_eq!(sessions(&fixture, "writer"), "1", "and the server did not notice");
}

#[test]
fn the_reply_of_a_commit_is_swallowed_and_nothing_is_closed() {
    let fixture = fixture();
    let mut psql = Psql::open(&fixture);
    fixture.proxy.strike(&[Strike::ReplySwallowed]);
    psql.say("BEGIN;\nINSERT INTO t VALUES (1);\nCOMMIT;\n\\echo done");
    until(|| fixture.rows() == "1");
    assert_eq!(fixture.proxy.seen().struck, 1);
    assert!(psql.child.try_wait().unwrap().is_none(), "it waits for an answer");
    fixture.proxy.heal(Healing::Late);
    assert!(psql.hears("done"));
}

#[test]
fn new_connections_may_lead_to_another_server() {
    let fixture = fixture();
    let other = Server::start().unwrap();
    let mut old = Psql::open(&fixture);
    let which = "SELECT inet_server_port();";
    let port = |address: String| address.rsplit_once(':').unwrap().1.to_owned();
    let first = port(SERVER.get().unwrap().address().unwrap());
    old.say(which);
    assert!(old.hears(&first));
    fixture.proxy.lead_to(&other.address().unwrap());
    let mut psql = Command::new("psql");
    let at = format!("postgres://postgres@{}/postgres", fixture.proxy.address());
    psql.args(["-X", "-A", "-t", "-d", &at, "-c", which]);
    let told = String::from_utf8(psql.output().unwrap().stdout).unwrap();
    assert_eq!(told.trim(), port(other.address().unwrap()));
    old.say(which);
    assert!(old.hears(&first), "what is open stays where it is");
}
