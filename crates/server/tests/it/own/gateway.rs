//! A ledger of the simple form behind a gateway that is not one with it: it answers every route alike,
//! loses replies, or delivers a request after it closed the connection.
//!
//! Each schedule was red on the code before decision 0015 asked for the key in an answer; what it said
//! then stands beside it.

use super::script::{Elsewhere, Program, TOKEN};
use crate::release::server::{Answer, Server, token, until};
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::path::Path;
use tempfile::TempDir;
use testbed::{Fault, Hop};

/// What FUNDING is given before anything else happens.
const GIVEN: u64 = 1_000;
/// A unit of USDT in base units.
const UNIT: u64 = 1_000_000;
/// What a gateway says to everything.
const INVALID: (u16, &str) = (400, "{\"error\":\"invalid request\"}");
const WELL: (u16, &str) = (200, "{\"success\":true}");

/// A change of the guide's ledger: this text in the place of that one.
type Change = (&'static str, &'static str);

/// A server, the guide's simple ledger, and a gateway between them.
struct Fixture {
    dir: TempDir,
    _ledger: Elsewhere,
    hop: Hop,
    server: Option<Server>,
    user: String,
    operators: [String; 2],
}

impl Fixture {
    fn open(changes: &[Change]) -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        for name in ["near", "far"] {
            std::fs::create_dir(dir.path().join(name)).expect("a folder");
        }
        let Program::Python(file) = Program::guide("own_ledger_simple.py") else {
            panic!("it is Python")
        };
        let mut text = std::fs::read_to_string(file).expect("the guide's file");
        for (from, to) in changes {
            assert_eq!(text.matches(from).count(), 1, "{from}");
            text = text.replace(from, to);
        }
        let program = dir.path().join("ledger.py");
        std::fs::write(&program, text).expect("it is written");
        let ledger = Elsewhere::start(&Program::Python(program), &dir.path().join("far"), 0);
        let hop = Hop::start(ledger.at).expect("a gateway");
        let near = dir.path().join("near");
        let server = Some(start(&near, &hop));
        let user = token(&near, "4001", "transfers:create transfers:read");
        let operators = ["1", "2"].map(|sub| token(&near, sub, "ops:read ops:act ops:approve"));
        let fixture = Self { dir, _ledger: ledger, hop, server, user, operators };
        let money = json!({
            "user_id": 4001, "asset": "USDT", "amount": GIVEN.to_string(), "ref": "seed",
            "reason": "a test",
        });
        let path = "/api/v1/ops/deposits";
        let booked = fixture.server().must("POST", path, &fixture.operators[0], Some(money));
        assert_eq!(booked.status, 201, "{booked:?}");
        fixture
    }

    fn server(&self) -> &Server {
        self.server.as_ref().expect("it runs")
    }

    /// Kills the server and starts it again.
    fn restart(&mut self) {
        if let Some(server) = self.server.take() {
            server.kill();
        }
        self.server = Some(start(&self.dir.path().join("near"), &self.hop));
    }

    /// Asks for a transfer; its id.
    fn send(&self, from: &str, to: &str, amount: u64) -> String {
        let cid = format!("{from}-{to}-{amount}");
        let answer = self.server().transfer(&self.user, (from, to), &amount.to_string(), &cid);
        answer.expect("an answer").text("req_id").to_owned()
    }

    /// A transfer as an operator sees it.
    fn seen(&self, id: &str) -> Value {
        let path = format!("/api/v1/transfers/{id}");
        self.server().must("GET", &path, &self.operators[0], None).body
    }

    fn state(&self, id: &str) -> String {
        let path = format!("/api/v1/internal_transfer/{id}");
        self.server().must("GET", &path, &self.user, None).text("state").to_owned()
    }

    fn reaches(&self, id: &str, state: &str) {
        assert!(until(|| self.state(id) == state), "{} instead of {state}", self.seen(id));
    }

    /// A transfer that goes to its end.
    fn ends(&self, from: &str, to: &str, amount: u64) {
        let id = self.send(from, to, amount);
        self.reaches(&id, "COMMITTED");
    }

    /// From now on the gateway gives this one answer to everything.
    fn answers_all(&self, answer: (u16, &str)) {
        self.hop.answer_all(answer.0, answer.1);
    }

    /// Waits until the gateway was asked `times` times, or the transfer ended before.
    fn was_asked(&self, times: u64, id: &str) {
        let asked = || self.hop.seen().uniform >= times || self.ended(id);
        assert!(until(asked), "{:?}", self.hop.seen());
    }

    fn ended(&self, id: &str) -> bool {
        ["COMMITTED", "ROLLED_BACK", "FAILED"].contains(&&*self.state(id))
    }

    /// What the user has on both sides, in whole units: at FUNDING (held or not), and in the
    /// ledger's own rows.
    fn has(&self) -> [u64; 2] {
        let balances = self.server().must("GET", "/api/v1/balances", &self.user, None);
        let rows = balances.body.as_array().expect("a list of balances").clone();
        let row = rows.iter().find(|row| row["account"] == "FUNDING" && row["asset"] == "USDT");
        let units = |field: &str| {
            let text = row.map_or("0", |row| row[field].as_str().unwrap_or("0"));
            let whole = text.split_once('.').map_or(text, |(whole, _)| whole);
            whole.parse::<u64>().expect("whole units")
        };
        let db = super::fixture::read(&self.dir.path().join("far/ledger.db"));
        let sum = "SELECT coalesce(sum(CAST(available AS INTEGER)), 0) FROM balances";
        let there: i64 = db.query_row(sum, [], |row| row.get(0)).expect("a sum");
        [units("available") + units("frozen"), there.unsigned_abs() / UNIT]
    }

    /// A verdict of one operator, approved by another.
    fn resolve(&self, id: &str, answer: &str) -> Answer {
        let [one, other] = &self.operators;
        let path = format!("/api/v1/ops/transfers/{id}/resolve");
        let body =
            json!({ "answer": answer, "evidence": {}, "reason": "the ledger was looked at" });
        let proposed = self.server().must("POST", &path, one, Some(body));
        let approval = proposed.text("approval_id").to_owned();
        assert!(!approval.is_empty(), "{proposed:?}");
        let path = format!("/api/v1/ops/approvals/{approval}/approve");
        self.server().must("POST", &path, other, Some(json!({ "reason": "seen too" })))
    }
}

fn start(near: &Path, hop: &Hop) -> Server {
    let at: SocketAddr = hop.address().parse().expect("an address");
    let set = |key: &str, value: &str| (format!("PORTAGE_{key}"), value.to_owned());
    let of = |key: &str, value: &str| set(&format!("LEDGERS__MARGIN__{key}"), value);
    let variables = [
        of("KIND", "remote"),
        of("URL", &format!("http://{at}")),
        of("TOKEN", TOKEN),
        of("FORM", "simple"),
        of("TIMEOUT_MS", "1000"),
        set("ENGINE__SCAN_INTERVAL_MS", "50"),
        set("ENGINE__BACKOFF_BASE_MS", "10"),
        set("ENGINE__BACKOFF_CAP_MS", "50"),
    ];
    Server::with(near, &variables)
}

/// A ledger that says again what it refused, but does a request anew that it had refused.
const FORGETFUL: [Change; 2] = [
    (
        "if before := stored(op[\"req_id\"], leg):",
        "if (before := stored(op[\"req_id\"], leg)) and \"error\" not in before[1]:",
    ),
    ("INSERT INTO operations", "INSERT OR REPLACE INTO operations"),
];

/// Red before: "ROLLED_BACK, and the user has [1000, 100]".
#[test]
fn a_deposit_that_was_booked_is_not_refused_by_a_gateway() {
    let fixture = Fixture::open(&[]);
    fixture.hop.plan("POST /deposit", &[Fault::LostReply]);
    fixture.answers_all(INVALID);
    let id = fixture.send("FUNDING", "MARGIN", 100);
    fixture.was_asked(6, &id);
    let (state, has) = (fixture.state(&id), fixture.has());
    assert_eq!(state, "TARGET_PENDING", "{state}, and the user has {has:?}");
    fixture.hop.pass();
    fixture.reaches(&id, "COMMITTED");
    assert_eq!(fixture.has(), [GIVEN - 100, 100]);
}

/// Red before: "FAILED, and the user has [800, 100]".
#[test]
fn a_withdrawal_that_was_booked_is_not_refused_by_a_gateway() {
    let fixture = Fixture::open(&[]);
    fixture.ends("FUNDING", "MARGIN", 200);
    fixture.hop.plan("POST /withdraw", &[Fault::LostReply]);
    fixture.answers_all(INVALID);
    let id = fixture.send("MARGIN", "FUNDING", 100);
    fixture.was_asked(6, &id);
    let (state, has) = (fixture.state(&id), fixture.has());
    assert_eq!(state, "SOURCE_PENDING", "{state}, and the user has {has:?}");
    fixture.hop.pass();
    fixture.reaches(&id, "COMMITTED");
    assert_eq!(fixture.has(), [GIVEN - 100, 100]);
}

/// The ledger refuses the repeat in its own name, and its query says so; then the first request comes
/// out of the hop that had closed its connection. Red before: "FAILED, and the user has [800, 100]".
#[test]
fn a_request_that_arrives_after_its_connection_closed_is_waited_for() {
    let fixture = Fixture::open(&FORGETFUL);
    fixture.hop.plan("POST /withdraw", &[Fault::Late]);
    let id = fixture.send("MARGIN", "FUNDING", 100);
    assert!(until(|| fixture.hop.kept() == 1), "{:?}", fixture.hop.seen());
    let passed = fixture.hop.seen().passed;
    assert!(until(|| fixture.hop.seen().passed >= passed + 6 || fixture.ended(&id)));
    fixture.hop.plan("POST /withdraw", &[Fault::LostRequest; 10]);
    fixture.ends("FUNDING", "MARGIN", 200);
    assert_eq!(fixture.hop.deliver_late(), 1);
    fixture.hop.pass();
    let ended = until(|| fixture.ended(&id));
    let (state, has) = (fixture.state(&id), fixture.has());
    assert!(ended && state == "COMMITTED", "{state}, and the user has {has:?}");
    assert_eq!(has, [GIVEN - 100, 100]);
}

/// Red before: "COMMITTED, and the user has [900, 0]".
#[test]
fn a_gateway_that_says_well_to_everything_pays_nothing() {
    let fixture = Fixture::open(&[]);
    fixture.answers_all(WELL);
    let id = fixture.send("FUNDING", "MARGIN", 100);
    fixture.was_asked(6, &id);
    let (state, has) = (fixture.state(&id), fixture.has());
    assert_eq!(state, "TARGET_PENDING", "{state}, and the user has {has:?}");
    fixture.hop.pass();
    fixture.reaches(&id, "COMMITTED");
    assert_eq!(fixture.has(), [GIVEN - 100, 100]);
}

/// Red before: "COMMITTED, and the user has [1100, 0]".
#[test]
fn a_gateway_that_says_well_to_everything_takes_nothing() {
    let fixture = Fixture::open(&[]);
    fixture.answers_all(WELL);
    let id = fixture.send("MARGIN", "FUNDING", 100);
    fixture.was_asked(6, &id);
    let (state, has) = (fixture.state(&id), fixture.has());
    assert_eq!(state, "SOURCE_PENDING", "{state}, and the user has {has:?}");
    assert_eq!(has, [GIVEN, 0]);
}

/// What the ledger refuses in its own name, at the first request, ends the transfer by itself.
#[test]
fn a_refusal_by_name_ends_a_transfer() {
    let fixture = Fixture::open(&[]);
    let id = fixture.send("MARGIN", "FUNDING", 100);
    fixture.reaches(&id, "FAILED");
    assert_eq!(fixture.has(), [GIVEN, 0]);
}

/// After a request without an answer two persons decide, by what the ledger has stored by name; the
/// transfer says so to every reader.
#[test]
fn a_refusal_after_silence_waits_for_two_persons() {
    let fixture = Fixture::open(&[]);
    fixture.hop.plan("POST /withdraw", &[Fault::LostRequest]);
    let id = fixture.send("MARGIN", "FUNDING", 100);
    let says = |text: &str| until(|| fixture.seen(&id).to_string().contains(text));
    assert!(says("UNANSWERED_BEFORE"), "{}", fixture.seen(&id));
    assert_eq!(fixture.state(&id), "SOURCE_PENDING");
    let done = fixture.resolve(&id, "done");
    assert_ne!(done.status, 200, "the ledger holds a refusal: {done:?}");
    let rejected = fixture.resolve(&id, "rejected");
    assert_eq!(rejected.status, 200, "{rejected:?}");
    fixture.reaches(&id, "FAILED");
    assert_eq!(fixture.has(), [GIVEN, 0]);
}

/// A claim of an earlier run: the process that made it may have sent a request that is on its way.
/// Red before: "FAILED".
#[test]
fn a_claim_of_an_earlier_run_is_not_refused() {
    let mut fixture = Fixture::open(&FORGETFUL);
    fixture.hop.plan("POST /withdraw", &[Fault::Late]);
    let body = json!({
        "from": "MARGIN", "to": "FUNDING", "asset": "USDT", "amount": "100", "cid": "killed",
    });
    let asks = || {
        fixture.server().ask("POST", "/api/v1/internal_transfer", &fixture.user, Some(body.clone()))
    };
    std::thread::scope(|scope| {
        scope.spawn(asks);
        assert!(until(|| fixture.hop.kept() == 1), "{:?}", fixture.hop.seen());
        fixture.server().strike();
    });
    fixture.restart();
    let path = "/api/v1/internal_transfer";
    let id =
        fixture.server().must("POST", path, &fixture.user, Some(body)).text("req_id").to_owned();
    let passed = fixture.hop.seen().passed;
    assert!(until(|| fixture.hop.seen().passed >= passed + 6 || fixture.ended(&id)));
    assert_eq!(fixture.state(&id), "SOURCE_PENDING");
    fixture.hop.plan("POST /withdraw", &[Fault::LostRequest; 10]);
    fixture.ends("FUNDING", "MARGIN", 200);
    assert_eq!(fixture.hop.deliver_late(), 1);
    fixture.hop.pass();
    fixture.reaches(&id, "COMMITTED");
    assert_eq!(fixture.has(), [GIVEN - 100, 100]);
}

/// The guide's ledger as it was before it named what it answers.
const NAMELESS: [Change; 1] = [(
    "    return {\"req_id\": op[\"req_id\"], \"leg\": op[\"leg\"], **json.loads(answer)}",
    "    return json.loads(answer)",
)];

/// A service that knows only the source's table goes on while all is well; what it refuses, and what
/// was repeated, waits, and says what its owner has to change.
#[test]
fn a_ledger_that_names_nothing_is_asked_to() {
    let fixture = Fixture::open(&NAMELESS);
    fixture.ends("FUNDING", "MARGIN", 100);
    fixture.ends("MARGIN", "FUNDING", 40);
    let id = fixture.send("MARGIN", "FUNDING", 500);
    let says = |text: &str| until(|| fixture.seen(&id).to_string().contains(text));
    assert!(says("UNNAMED_ANSWER"), "{}", fixture.seen(&id));
    assert!(says("repeat req_id and leg"), "{}", fixture.seen(&id));
    assert_eq!(fixture.state(&id), "SOURCE_PENDING");
    assert_eq!(fixture.has(), [GIVEN - 60, 60]);
}
