//! Several servers of one fleet have the address to which webhooks are posted.

use super::Fleet;
use crate::receiver::{Mood, Receiver, SECRET};
use std::collections::BTreeSet;
use std::time::Duration;

/// Cases that stand, each with its first half to be told.
const CASES: &str = "WITH made AS (INSERT INTO cases (kind, severity, subject, facts, status, opened_at) \
     SELECT 'POISON', 'CRITICAL', 'user/' || n, 'a test', 'OPEN', portage_now() \
     FROM generate_series(1, 60) n RETURNING case_id) \
     INSERT INTO webhook_deliveries \
     SELECT case_id, 'case.opened', portage_now(), 0, portage_now(), NULL FROM made";

/// Turns red where each server posts what it sees due (run: `take_up` is always true).
#[test]
fn a_webhook_is_posted_by_one_of_several_servers() {
    // so that a round of one outlasts the wait of the other
    let receiver = Receiver::at(0, Mood::Dawdles(Duration::from_millis(250)));
    let hook = [
        ("PORTAGE_ALERTS__WEBHOOK_URL", &*receiver.url()),
        ("PORTAGE_ALERTS__WEBHOOK_SECRET", SECRET),
    ];
    let fleet = Fleet::with(1, &hook);
    fleet.sql(CASES);
    fleet.until("SELECT count(*) FROM webhook_deliveries WHERE due_at IS NOT NULL", "0");
    let posted = receiver.posted();
    let ids: BTreeSet<_> = posted.iter().map(|one| one.id()).collect();
    assert!(ids.len() >= 60, "{}", ids.len());
    assert_eq!(posted.len(), ids.len(), "some were posted by both");
    let tries = "SELECT max(attempts) FROM webhook_deliveries";
    assert_eq!(fleet.sql(tries), "1");
}

/// Turns red where a claim is no compare-and-swap, and where two fan-outs write what one cursor says
/// (not run).
#[test]
fn an_endpoint_is_told_once_by_several_servers() {
    let receiver = Receiver::at(0, Mood::Dawdles(Duration::from_millis(100)));
    let fleet = Fleet::with(1, &[("PORTAGE_WEBHOOKS__ALLOW_PRIVATE", "true")]);
    let body = serde_json::json!({
        "target": receiver.url(), "events": ["transfer.*"], "reason": "a test",
    });
    let added = fleet
        .square
        .insist(0, &super::post("/api/v1/webhooks", &fleet.token, "", &body.to_string()));
    assert_eq!(added.status, 201, "{added:?}");
    for user in super::FIRST..super::FIRST + super::USERS {
        for n in 0..3 {
            let wish =
                super::Wish { user, cid: format!("told-{n}-{user}"), to_spot: true, amount: 1 };
            fleet.square.move_money(0, wish);
        }
    }
    fleet.ended();
    let made = fleet.sql("SELECT count(*) FROM transfers WHERE cid LIKE 'told-%'");
    let all = "SELECT count(*) FROM webhook_messages WHERE delivered_at IS NOT NULL";
    fleet.until(all, &made);
    let posted = receiver.posted();
    let ids: BTreeSet<_> = posted.iter().map(|one| one.id()).collect();
    assert_eq!(ids.len().to_string(), made);
    assert_eq!(posted.len(), ids.len(), "some were posted by both");
    let again = serde_json::json!({ "since": "2020-01-01T00:00:00Z", "reason": "a test" });
    let id = added.text("id");
    let path = format!("/api/v1/webhooks/{id}/replay");
    let asked = fleet.square.insist(0, &super::post(&path, &fleet.token, "", &again.to_string()));
    assert_eq!(asked.status, 202, "{asked:?}");
    // those before the endpoint too: every transfer that ended
    let ended = "SELECT count(*) FROM transfers";
    let total = fleet.sql(ended);
    fleet.until(all, &total);
    let ids: BTreeSet<String> = receiver.posted().iter().map(|one| one.id().to_owned()).collect();
    assert_eq!(ids.len().to_string(), total);
}
