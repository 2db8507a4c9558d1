//! The simple form: the table of the source, and nothing beside it.

use super::reply;
use crate::remote::classify::{Simple, simple};
use kernel::life::Leg::Withdraw;

fn said(status: u16, body: &str) -> Simple {
    simple("01ABC", Withdraw, reply(status, body))
}

#[test]
fn the_sources_table() {
    assert_eq!(said(200, "{\"success\": true}"), Simple::Done);
    let broke = Simple::Refused("Insufficient funds".to_owned());
    assert_eq!(said(200, "{\"error\": \"Insufficient funds\"}"), broke);
    let invalid = Simple::Refused("Invalid amount".to_owned());
    assert_eq!(said(400, "{\"error\": \"Invalid amount\"}"), invalid);
    for status in [500, 503, 0, 302, 404] {
        assert!(matches!(said(status, "{\"success\": true}"), Simple::Unknown(_)), "{status}");
        assert!(matches!(said(status, "{\"error\": \"no\"}"), Simple::Unknown(_)), "{status}");
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
            assert!(matches!(said(status, body), Simple::Unknown(_)), "{status} {body:.80}");
        }
    }
    assert!(matches!(said(400, "{\"success\":true}"), Simple::Unknown(_)));
    assert_eq!(
        said(200, "{\"success\":true,\"req_id\":\"01ABC\",\"leg\":\"WITHDRAW\"}"),
        Simple::Done
    );
    let huge = format!("{{\"success\":true,\"x\":\"{}\"}}", "y".repeat(64 << 10));
    assert!(matches!(said(200, &huge), Simple::Unknown(_)));
    // one byte less than too many
    let done = "{\"success\":true}";
    let most = format!("{done}{}", " ".repeat((64 << 10) - done.len()));
    assert_eq!(most.len(), 65_536);
    assert_eq!(said(200, &most), Simple::Done);
}
