//! Monitoring and alerts (§10.9): a person is told, once, and told when it is over.

use super::{USER, with};
use crate::fixture::points::Fault;
use crate::fixture::{Direction, Fixture, Setup, TransferRequest};
use axum::http::Method;
use kernel::flow::life::Leg;
use serde_json::{Value, json};

/// An operator on call.
const FIRST: u64 = 1;
/// The operator who approves what the first one proposed.
const SECOND: u64 = 2;
const SCOPE: &str = "ops:read ops:act ops:approve";

/// The thresholds of these tests, in seconds and failures: a test does not wait a minute.
const IMPATIENT: fn(Setup) -> Setup =
    |setup| Setup { target_pending_s: 1, timeout_ms: 50, ..setup };

/// The cases of that kind, newest first.
fn cases(fixture: &Fixture, kind: &str) -> Vec<Value> {
    let path = "/api/v1/cases?status=all";
    let reply = fixture.person((FIRST, SCOPE), Method::GET, path, None);
    let all = reply.body["cases"].as_array().expect("a list of cases").clone();
    all.into_iter().filter(|case| case["kind"] == kind).collect()
}

/// Waits for a case of that kind, and looks at what it says.
fn told(id: &str, fixture: &Fixture, kind: &str, severity: &str, about: &str) {
    let open = || cases(fixture, kind).iter().any(|case| case["status"] == "OPEN");
    assert!(fixture.until(open), "{id}: a person is told: {kind}");
    let all = cases(fixture, kind);
    assert_eq!(all.len(), 1, "{id}: once: {all:?}");
    let seen = (&all[0]["severity"], &all[0]["subject"]);
    assert_eq!(seen, (&json!(severity), &json!(about)), "{id}: {all:?}");
}

/// Waits until the case is closed, by the fact that ended it.
fn over(id: &str, fixture: &Fixture, kind: &str) {
    let closed = || cases(fixture, kind).iter().all(|case| case["status"] == "CLOSED");
    assert!(
        fixture.until(closed),
        "{id}: the fact that ends it closes it: {:?}",
        cases(fixture, kind)
    );
    assert_eq!(cases(fixture, kind).len(), 1, "{id}: and none is opened again");
}

/// A transfer that waits for its target for longer than it may.
pub(super) fn mon_001(setup: Setup) {
    let fixture = with(IMPATIENT(setup), 100, 50);
    fixture.control().hinder(Direction::ToSpot.target(), Leg::Deposit, Fault::LoseRequest, 10_000);
    let of = fixture.post(&TransferRequest::new(USER, Direction::ToSpot, 5)).id();
    assert_eq!(fixture.reaches(USER, of, "TARGET_PENDING").state, "TARGET_PENDING");
    let about = format!("transfer/{of}");
    told("MON-001", &fixture, "TARGET_PENDING", "CRITICAL", &about);
    assert_eq!(fixture.story(USER, of).state, "TARGET_PENDING", "MON-001: telling changes nothing");
    fixture.control().heal();
    assert_eq!(fixture.reaches(USER, of, "COMMITTED").state, "COMMITTED", "MON-001: it goes on");
    over("MON-001", &fixture, "TARGET_PENDING");
}

/// A refund that does not succeed, three times.
pub(super) fn mon_002(setup: Setup) {
    let fixture = with(IMPATIENT(setup), 100, 50);
    fixture.set_status(USER, Direction::ToFunding.target(), "DISABLED");
    fixture.control().hinder(
        Direction::ToFunding.source(),
        Leg::Refund,
        Fault::LoseRequest,
        10_000,
    );
    let of = fixture.post(&TransferRequest::new(USER, Direction::ToFunding, 5)).id();
    assert_eq!(fixture.reaches(USER, of, "COMPENSATING").state, "COMPENSATING");
    told("MON-002", &fixture, "COMPENSATION", "CRITICAL", &format!("transfer/{of}"));
    fixture.control().heal();
    assert_eq!(fixture.reaches(USER, of, "ROLLED_BACK").state, "ROLLED_BACK", "MON-002: it ends");
    over("MON-002", &fixture, "COMPENSATION");
}

/// Books that do not add up: CRITICAL, and no money moves until two persons resume.
pub(super) fn mon_003(setup: Setup) {
    let mut fixture = with(setup, 100, 50);
    fixture.slip(USER, 7);
    let proof =
        fixture.person((FIRST, SCOPE), Method::GET, "/api/v1/ops/conservation?fresh=true", None);
    assert_eq!(proof.body["ok"], false, "MON-003: the proof fails: {proof:?}");
    let refused = |fixture: &Fixture, when: &str| {
        let reply = fixture.post(&TransferRequest::new(USER, Direction::ToSpot, 5));
        let seen = (reply.status, reply.text("code"));
        assert_eq!(seen, (503, "HALTED"), "MON-003: no money moves {when}: {reply:?}");
    };
    refused(&fixture, "from then on");
    told("MON-003", &fixture, "CONSERVATION", "CRITICAL", "service");
    assert!(fixture.halt_is_stored(), "MON-003: the HALT is stored");
    fixture.crash();
    refused(&fixture, "after a restart");
    let proof =
        fixture.person((FIRST, SCOPE), Method::GET, "/api/v1/ops/conservation?fresh=true", None);
    let breaks = proof.body["breaks"].as_array().expect("breaks").clone();
    let accept: Vec<Value> =
        breaks.iter().map(|b| json!({"key": b["key"], "amount": b["amount"]})).collect();
    assert!(!accept.is_empty(), "MON-003: each break is named: {proof:?}");
    let resume = |accept: &[Value]| {
        let body = json!({"reason": "explained", "accept": accept});
        let asked = fixture.person((FIRST, SCOPE), Method::POST, "/api/v1/ops/resume", Some(body));
        let path = format!("/api/v1/ops/approvals/{}/approve", asked.text("approval_id"));
        fixture.person((SECOND, SCOPE), Method::POST, &path, Some(json!({"reason": "seen"})))
    };
    let refusal = resume(&[]);
    let code = refusal.text("code");
    assert_eq!(code, "BREAKS_NOT_ACCEPTED", "MON-003: all or nothing: {refusal:?}");
    refused(&fixture, "while a break is not accepted");
    let resumed = resume(&accept);
    assert_eq!(resumed.text("outcome"), "RESUMED", "MON-003: two persons resume: {resumed:?}");
    let made = fixture.post(&TransferRequest::new(USER, Direction::ToSpot, 5));
    assert_eq!(made.status, 200, "MON-003: money moves again: {made:?}");
    // a break of an account is shown where accounts are counted
    let proof =
        fixture.person((FIRST, SCOPE), Method::GET, "/api/v1/ops/conservation?full=true", None);
    assert_eq!(proof.body["ok"], true, "MON-003: what was accepted is subtracted: {proof:?}");
    let shown = proof.body["accepted"].as_array().map(Vec::len);
    assert_eq!(shown, Some(accept.len()), "MON-003: and still shown: {proof:?}");
    over("MON-003", &fixture, "CONSERVATION");
}

/// Far more creates of one user than usual: no caller is refused, an operator is told.
pub(super) fn mon_004(setup: Setup) {
    let fixture = with(Setup { warn_per_minute: 5, ..setup }, 100, 50);
    for n in 0..5 {
        let reply = fixture
            .post(&TransferRequest::new(USER, Direction::ToSpot, 1).keyed(format!("mon-{n}")));
        assert_eq!(reply.status, 200, "MON-004: nothing is refused: {reply:?}");
    }
    told("MON-004", &fixture, "ABNORMAL_FREQUENCY", "WARNING", "user/4001");
}
