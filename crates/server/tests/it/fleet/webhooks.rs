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
