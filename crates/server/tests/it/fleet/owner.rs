//! A process with default settings comes to a database that others work on.

use super::{Fleet, SECRET, beside, portage, settings};
use testbed::{Listening, NotListening};

/// Everything that is about money, or stops it. Seals and leases are written all the time.
const TOLD: &str = "SELECT md5(string_agg(t.row, ';' ORDER BY t.row)) FROM ( \
    SELECT 'transfer' || x::text AS row FROM transfers x UNION ALL \
    SELECT 'operation' || x::text FROM operations x UNION ALL \
    SELECT 'balance' || x::text FROM balances_tb x UNION ALL \
    SELECT 'book' || x::text FROM books x UNION ALL \
    SELECT 'ledger' || x::text FROM ledgers_tb x UNION ALL \
    SELECT 'owner' || x::text FROM ledger_owners x UNION ALL \
    SELECT 'state' || x::text FROM service_state x UNION ALL \
    SELECT 'case' || x::text FROM cases x UNION ALL \
    SELECT 'worker' || x.worker::text FROM workers x) t";

/// Turns red where it starts with a Spot of its own, halts the money of those who work there, or leaves
/// a trace of itself. The first was run.
#[test]
fn a_server_with_default_settings_is_refused_and_touches_nothing() {
    let fleet = Fleet::start(1);
    let before = fleet.sql(TOLD);
    // it has the key of the seals: without that it would end before it looks at the cores
    let secret = ("PORTAGE_AUDIT__MAC_SECRET", SECRET);
    let url = settings(&[("DATABASE_URL", fleet.database.url()), secret]);
    let stranger = beside(&fleet, "stranger");
    let mut command = portage(&stranger, &url);
    command.args(["serve", "--listen", "127.0.0.1:0"]);
    let refused = Listening::logged(command, &beside(&fleet, "stranger.log"));
    let NotListening { status, why: text } = refused.expect_err("it does not start");
    assert_eq!(status.and_then(|ended| ended.code()), Some(78), "{text}");
    assert!(text.contains("ledgers.spot.kind = \"remote\""), "{text}");
    assert_eq!(fleet.sql(TOLD), before, "it touched something: {text}");
    assert!(fleet.works.iter().all(super::Process::runs));
}
