//! Two processes write the first row of a name at the same moment: there is no row yet that either of
//! them could lock.

use super::fixture::{database, open, wait_for_sql};
use crate::fixture::Fixture;
use kernel::ports::journal::UnitWriter as _;
use kernel::unit::{Guard, Put, Unit, Wrote};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use store::postgres::Postgres;
use testbed::Database;

/// Statements of ours that wait for a lock.
const WAITING: &str = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' \
    AND datname = current_database() AND application_name = 'portage: writer'";
const HOLDS: &str = "FROM pg_stat_activity WHERE query LIKE '%pg_sleep%' AND state = 'active' \
    AND datname = current_database() AND pid <> pg_backend_pid()";

/// Names may be looked for, and none is written, until it ends.
struct Holder(JoinHandle<()>);

impl Holder {
    async fn takes(database: &Arc<Database>) -> Self {
        let there = database.clone();
        let held = "BEGIN; LOCK TABLE service_state IN SHARE MODE; SELECT pg_sleep(600)";
        // its session is ended from outside
        let holder = thread::spawn(move || drop(there.sql(held)));
        wait_for_sql(database, &format!("SELECT count(*) {HOLDS}"), "1").await;
        Self(holder)
    }

    fn ends(self, database: &Database) {
        let end = format!("SELECT count(pg_terminate_backend(pid)) {HOLDS}");
        database.sql(&end).expect("SQL");
        self.0.join().expect("it ends");
    }
}

/// Both ask at the same moment; what each was told, once it is known.
async fn both(
    stores: &[Arc<Postgres>; 2],
    database: &Arc<Database>,
    unit: impl Fn(&str) -> Unit,
) -> [Wrote; 2] {
    let [one, two] = stores;
    for round in 0..20 {
        let name = format!("first-{round}");
        let holder = Holder::takes(database).await;
        let asked = async {
            let (one, two) =
                tokio::join!(one.write(vec![unit(&name)]), two.write(vec![unit(&name)]));
            [one, two].map(|mut wrote| wrote.pop().expect("an answer"))
        };
        let released = async {
            wait_for_sql(database, WAITING, "2").await;
            holder.ends(database);
        };
        let (told, ()) = tokio::join!(asked, released);
        // on a machine that stood still a lock may have taken too long
        if !told.iter().any(|wrote| matches!(wrote, Wrote::Unknown(_))) {
            return told;
        }
    }
    panic!("the outcome of each stays unknown")
}

/// Turns red where both are told that they were the first (run: no lock of the name).
#[tokio::test(flavor = "multi_thread")]
async fn of_two_that_write_the_first_row_one_loses() {
    let (fixture, database) = (Fixture::new(), Arc::new(database()));
    let stores = [
        open(database.url(), fixture.clock.clone(), fixture.flows.clone()).await,
        open(database.url(), fixture.clock.clone(), fixture.flows.clone()).await,
    ];
    let resource = |name: &str| {
        let guard = Guard::Resource { name: name.into(), version: 0 };
        let put = Put::Resource { name: name.into(), value: "mine".into() };
        Unit::guarded(vec![guard], vec![put])
    };
    let counter = |name: &str| {
        Unit::guarded(vec![Guard::AtMost { name: name.into(), n: 1, limit: 1 }], vec![])
    };
    for told in [both(&stores, &database, resource).await, both(&stores, &database, counter).await]
    {
        let written = told.iter().filter(|wrote| matches!(wrote, Wrote::Written(_))).count();
        let lost = told.iter().filter(|wrote| matches!(wrote, Wrote::Lost(_))).count();
        assert_eq!((written, lost), (1, 1), "both were the first: {told:?}");
    }
}
