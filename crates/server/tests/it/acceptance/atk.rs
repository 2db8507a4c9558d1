//! Attacks (§10.2): what must not be possible is refused with its code, and leaves no trace.

use super::USER;
use crate::fixture::{FUSED, Fixture, RawRequest, Reply};
use serde_json::{Value, json};

/// Another user, whose money is wanted.
const VICTIM: u64 = 4002;

/// A server at which both users have 100 at Funding and 50 at Spot.
fn crash_case() -> Fixture {
    let fixture = Fixture::start(FUSED);
    for user in [USER, VICTIM] {
        super::fund(&fixture, user, 100, 50);
    }
    fixture
}

/// A transfer of 5 from Funding to Spot, with these fields instead.
fn body(other: &Value) -> Value {
    let mut body = json!({"from": "FUNDING", "to": "SPOT", "asset": "USDT", "amount": "5"});
    if let (Some(body), Some(other)) = (body.as_object_mut(), other.as_object()) {
        body.extend(other.clone());
    }
    body
}

/// The request is refused with this code, and nothing was opened or moved by it.
fn refused(
    id: &str,
    fixture: &Fixture,
    raw_request: &RawRequest,
    body: &Value,
    code: &str,
) -> Reply {
    let before = (fixture.money(USER), fixture.money(VICTIM), fixture.rows());
    let reply = fixture.raw_request(raw_request, body);
    assert_eq!(reply.text("code"), code, "{id}: refused with {code}: {body} {reply:?}");
    assert!(reply.body.get("req_id").is_none(), "{id}: nothing was opened: {reply:?}");
    let after = (fixture.money(USER), fixture.money(VICTIM), fixture.rows());
    assert_eq!(after, before, "{id}: nothing moved, and no row is left: {body}");
    reply
}

/// User A's token and user B's funds: neither moved nor seen.
pub(super) fn atk_001() {
    let fixture = crash_case();
    let theft = body(&json!({"user_id": VICTIM, "cid": "theft"}));
    let reply = refused("ATK-001", &fixture, &RawRequest::user(USER), &theft, "FORBIDDEN");
    assert_eq!(reply.status, 403, "ATK-001: {reply:?}");
    let own = fixture.raw_request(&RawRequest::user(VICTIM), &body(&json!({"cid": "own"})));
    assert_eq!(own.status, 200, "ATK-001: the owner may: {own:?}");
    let seen = fixture.get(USER, own.id());
    assert_eq!((seen.status, seen.text("code")), (404, "NOT_FOUND"), "ATK-001: nor is it seen");
    fixture.sound("ATK-001");
}

/// A `user_id` in the body that is not the token's, in every spelling that a parser might take.
pub(super) fn atk_002() {
    let fixture = crash_case();
    let raw_request = RawRequest::user(USER);
    for (user_id, code) in [
        (json!(VICTIM), "FORBIDDEN"),
        (json!(1), "FORBIDDEN"),
        (json!(u64::MAX), "BAD_REQUEST"),
        (json!(VICTIM.to_string()), "FORBIDDEN"),
        (json!(-4002), "BAD_REQUEST"),
        (json!(4002.0), "BAD_REQUEST"),
        (json!([VICTIM]), "BAD_REQUEST"),
        (json!({"$ne": USER}), "BAD_REQUEST"),
    ] {
        refused("ATK-002", &fixture, &raw_request, &body(&json!({"user_id": user_id})), code);
    }
    let twice = format!(
        r#"{{"from":"FUNDING","to":"SPOT","asset":"USDT","amount":"5","user_id":{USER},"user_id":{VICTIM}}}"#
    );
    let before = fixture.rows();
    let reply = fixture.send_raw(&raw_request, twice);
    assert!(matches!(reply.status, 400 | 403), "ATK-002: a field that comes twice: {reply:?}");
    assert_eq!(fixture.rows(), before, "ATK-002: no row is left");
    fixture.sound("ATK-002");
}

fn amounts(id: &str, texts: &[&str], code: &str) {
    let fixture = crash_case();
    for text in texts {
        for (from, to) in [("FUNDING", "SPOT"), ("SPOT", "FUNDING")] {
            let asked = body(&json!({"from": from, "to": to, "amount": text}));
            refused(id, &fixture, &RawRequest::user(USER), &asked, code);
        }
    }
    fixture.sound(id);
}

/// A create with a negative amount.
pub(super) fn atk_003() {
    amounts("ATK-003", &["-100", "-0.000001", "-0", "-1e2", "\u{2212}5"], "INVALID_AMOUNT");
}

/// An amount of zero.
pub(super) fn atk_004() {
    amounts("ATK-004", &["0", "0.0", "0.000000", "000"], "INVALID_AMOUNT");
}

/// More decimals than the asset has, also where they are zeros.
pub(super) fn atk_005() {
    amounts("ATK-005", &["0.000000001", "5.0000001", "5.0000000"], "PRECISION_OVERFLOW");
}

/// An amount above 2^64 base units, in units and in digits.
pub(super) fn atk_006() {
    let most = ["18446744073709.551616", "18446744073709551616", "9223372036854.775808"];
    amounts("ATK-006", &most, "OVERFLOW");
    amounts("ATK-006", &["9".repeat(60).as_str()], "OVERFLOW");
}

/// From an account to itself.
pub(super) fn atk_007() {
    let fixture = crash_case();
    for account in ["SPOT", "FUNDING"] {
        let asked = body(&json!({"from": account, "to": account}));
        refused("ATK-007", &fixture, &RawRequest::user(USER), &asked, "SAME_ACCOUNT");
    }
    fixture.sound("ATK-007");
}

/// An account type that does not exist.
pub(super) fn atk_008() {
    let fixture = crash_case();
    for name in ["INVALID", "", "spot", "SPOT ", "Spot", "1", "FUNDING; DROP TABLE balances_tb"] {
        for end in ["from", "to"] {
            let asked = body(&json!({end: name}));
            refused("ATK-008", &fixture, &RawRequest::user(USER), &asked, "INVALID_ACCOUNT_TYPE");
        }
    }
    fixture.sound("ATK-008");
}

/// An asset that does not exist.
pub(super) fn atk_009() {
    let fixture = crash_case();
    for name in ["999999", "", "usdt", "USDT ", "XYZ", "3", "' OR 1=1 --"] {
        let asked = body(&json!({"asset": name}));
        refused("ATK-009", &fixture, &RawRequest::user(USER), &asked, "INVALID_ASSET");
    }
    fixture.sound("ATK-009");
}

/// The same cid twice: the second answer is the first result.
pub(super) fn atk_010() {
    let fixture = crash_case();
    let asked = body(&json!({"cid": "again"}));
    let first = fixture.raw_request(&RawRequest::user(USER), &asked);
    assert_eq!(first.status, 200, "ATK-010: {first:?}");
    let before = (fixture.money(USER), fixture.rows());
    for _ in 0..3 {
        let again = fixture.raw_request(&RawRequest::user(USER), &asked);
        assert_eq!(again.text("req_id"), first.text("req_id"), "ATK-010: the first result again");
        assert!(again.replayed(), "ATK-010: it says so: {again:?}");
        assert_eq!((fixture.money(USER), fixture.rows()), before, "ATK-010: it is made once");
    }
    let other = body(&json!({"cid": "again", "amount": "6"}));
    refused("ATK-010", &fixture, &RawRequest::user(USER), &other, "DUPLICATE_REQUEST");
    fixture.sound("ATK-010");
}

fn strangers(id: &str, raw_requests: &[RawRequest]) {
    let fixture = crash_case();
    for raw_request in raw_requests {
        let reply = refused(id, &fixture, raw_request, &body(&json!({})), "UNAUTHORIZED");
        assert_eq!(reply.status, 401, "{id}: {raw_request:?}: {reply:?}");
    }
    fixture.sound(id);
}

/// A create without a token.
pub(super) fn atk_011() {
    let header = |text: &str| RawRequest::header(text);
    strangers(
        "ATK-011",
        &[
            RawRequest::no_token(),
            header(""),
            header("Bearer"),
            header("Bearer "),
            header("Basic YTpi"),
        ],
    );
}

/// A token whose time is over.
pub(super) fn atk_012() {
    strangers("ATK-012", &[RawRequest::expired(USER, 60), RawRequest::expired(USER, 86_400)]);
}

/// A token that another issuer signed, or none.
pub(super) fn atk_013() {
    strangers(
        "ATK-013",
        &[RawRequest::forged(USER), RawRequest::unsigned(USER), RawRequest::altered(USER)],
    );
}
