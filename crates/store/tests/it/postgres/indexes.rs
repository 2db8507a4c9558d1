//! Indexes outlive the sorting rules of the system that they were built on.

use super::fixture::{database, open};
use crate::fixture::Fixture;

/// Text that an index sorts by rules of the system's library.
const UNSURE: &str = "SELECT i.indexrelid::regclass, a.attname FROM pg_index i \
    JOIN pg_class c ON c.oid = i.indrelid AND c.relnamespace = 'public'::regnamespace \
    CROSS JOIN LATERAL generate_subscripts(i.indcollation, 1) n \
    LEFT JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[n] \
    WHERE i.indcollation[n] NOT IN (0, '\"C\"'::regcollation)";

/// After an upgrade of the system's library such an index may not find a key that is there, and binds
/// it once more.
///
/// Turns red where a column of an index, a new one's above all, compares as the system does (run: all
/// of them, as they were before).
#[tokio::test(flavor = "multi_thread")]
async fn no_index_depends_on_the_systems_sorting() {
    let (fixture, database) = (Fixture::new(), database());
    let _store = open(database.url(), fixture.clock.clone(), fixture.flows.clone()).await;
    let sure = "SELECT count(*) > 15 FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid \
        AND c.relnamespace = 'public'::regnamespace WHERE '\"C\"'::regcollation = ANY(i.indcollation)";
    assert_eq!(database.sql(sure).expect("SQL"), "t", "text is in many indexes");
    assert_eq!(database.sql(UNSURE).expect("SQL"), "");
}
