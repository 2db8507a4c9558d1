//! Tests the simple form: the classifier takes the table of the source, and nothing beside it.

use super::reply;
use crate::remote::classify::{Simple, SimpleReply, denies, simple};
use kernel::answer::Cause;
use kernel::flow::life::Leg::Withdraw;

fn said(status: u16, body: &str) -> Result<SimpleReply, Cause> {
    simple("01ABC", Withdraw, reply(status, body))
}

const fn unnamed(simple: Simple) -> Result<SimpleReply, Cause> {
    Ok(SimpleReply { simple, named: false, stored: false })
}

#[test]
fn the_sources_table() {
    assert_eq!(said(200, "{\"success\": true}"), unnamed(Simple::Done));
    let broke = unnamed(Simple::Refused("Insufficient funds".to_owned()));
    assert_eq!(said(200, "{\"error\": \"Insufficient funds\"}"), broke);
    let invalid = unnamed(Simple::Refused("Invalid amount".to_owned()));
    assert_eq!(said(400, "{\"error\": \"Invalid amount\"}"), invalid);
    for status in [500, 503, 0, 302, 404] {
        assert!(said(status, "{\"success\": true}").is_err(), "{status}");
        assert!(said(status, "{\"error\": \"no\"}").is_err(), "{status}");
    }
}

#[test]
fn everything_else_is_unknown() {
    let long = format!("{{\"error\":\"{}\"}}", "x".repeat(257));
    let bad = [
        "",
        "OK",
        "<html>200 OK</html>",
        "true",
        "[{\"success\":true}]",
        "{}",
        "{\"success\":false}",
        "{\"success\":\"true\"}",
        "{\"success\":true,\"error\":\"x\"}",
        "{\"success\":true,\"error\":null}",
        "{\"success\":false,\"error\":\"x\"}",
        "{\"status\":\"processing\"}",
        "{\"error\":null}",
        "{\"error\":\"\"}",
        "{\"error\":\"a\\nb\"}",
        "{\"error\":{}}",
        "{\"success\":true,\"success\":true}",
        "{\"success\":true} {}",
        "{\"success\":true",
        "{\"success\":true,\"req_id\":\"01ABD\"}",
        "{\"success\":true,\"req_id\":7}",
        "{\"success\":true,\"leg\":\"DEPOSIT\"}",
        "{\"error\":\"x\",\"req_id\":\"01abc\"}",
        &long,
    ];
    for body in bad {
        for status in [200, 400] {
            assert!(said(status, body).is_err(), "{status} {body:.80}");
        }
    }
    assert!(said(400, "{\"success\":true}").is_err());
    assert_eq!(
        said(200, "{\"success\":true,\"req_id\":\"01ABC\",\"leg\":\"WITHDRAW\"}"),
        Ok(SimpleReply { simple: Simple::Done, named: true, stored: false })
    );
    let huge = format!("{{\"success\":true,\"x\":\"{}\"}}", "y".repeat(64 << 10));
    assert!(said(200, &huge).is_err());
    // one byte less than too many
    let done = "{\"success\":true}";
    let most = format!("{done}{}", " ".repeat((64 << 10) - done.len()));
    assert_eq!(most.len(), 65_536);
    assert_eq!(said(200, &most), unnamed(Simple::Done));
}

/// Seen red with a build that takes one of the two names for both.
#[test]
fn an_answer_is_named_by_both_of_its_names() {
    for (fields, named) in [
        ("\"req_id\":\"01ABC\",\"leg\":\"WITHDRAW\"", true),
        ("\"req_id\":\"01ABC\"", false),
        ("\"leg\":\"WITHDRAW\"", false),
        ("\"request\":{\"req_id\":\"01ABC\",\"leg\":\"WITHDRAW\"}", false),
    ] {
        let body = format!("{{\"error\":\"no\",{fields}}}");
        let simple = Simple::Refused("no".to_owned());
        assert_eq!(said(200, &body), Ok(SimpleReply { simple, named, stored: false }), "{fields}");
    }
    let other = "{\"success\":true,\"req_id\":\"01ABC\",\"leg\":\"DEPOSIT\"}";
    assert!(said(200, other).is_err());
}

#[test]
fn a_mark_says_what_is_stored() {
    for (fields, stored) in [
        ("\"stored\":true", true),
        ("\"seq\":7", true),
        ("\"stored\":false", false),
        ("\"stored\":\"true\"", false),
        ("\"seq\":0", false),
        ("\"refused_at\":\"2026-11-28\"", false),
    ] {
        let body = format!("{{\"error\":\"no\",{fields}}}");
        let reply = SimpleReply { simple: Simple::Refused("no".to_owned()), named: false, stored };
        assert_eq!(said(400, &body), Ok(reply), "{fields}");
    }
}

#[test]
fn silence_and_trouble_deny_nothing() {
    for (status, body) in
        [(404, ""), (404, "{}"), (200, "{\"error\":\"unknown id\"}"), (400, "no"), (200, "{}")]
    {
        assert!(denies(reply(status, body)), "{status} {body}");
    }
    for (status, body) in
        [(200, "{\"success\":true}"), (404, "{\"success\":true,\"x\":1}"), (500, ""), (302, "{}")]
    {
        assert!(!denies(reply(status, body)), "{status} {body}");
    }
}
