//! The contract suites over the store on PostgreSQL.

use super::fixture::{database, open};
use crate::folder_store::fund;
use kernel::flow::table::Flows;
use kernel::ports::ledger::Ledger;
use ledger_contract::Profile;
use std::sync::{Arc, Mutex, PoisonError};
use testkit::{ManualClock, OpenedStore};

#[tokio::test(flavor = "multi_thread")]
async fn the_journal_on_postgresql_is_a_journal() {
    Box::pin(conformance::journal::run(|clock: ManualClock, flows: Arc<Flows>| {
        let database = Arc::new(database());
        let site: conformance::journal::Site = Box::new(move || {
            let (database, clock, flows) = (database.clone(), clock.clone(), flows.clone());
            Box::pin(async move {
                let store = open(database.url(), clock, flows).await;
                OpenedStore::of(store.clone(), store.funding(), store.accounts())
            })
        });
        site
    }))
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn funding_on_postgresql_is_a_ledger() {
    // the databases go away with the test
    let kept = Mutex::new(Vec::new());
    ledger_contract::run(Profile::FUNDING, |holdings| {
        let database = database();
        let url = database.url().to_owned();
        kept.lock().unwrap_or_else(PoisonError::into_inner).push(database);
        Box::pin(async move {
            let clock = ManualClock::at(1_700_000_000_000);
            let store = open(&url, clock, Arc::new(flows::registry())).await;
            for (asset, amount) in holdings {
                fund(&*store.funding(), 1, asset, amount).await;
            }
            let ledger: Arc<dyn Ledger> = store.funding();
            ledger
        })
    })
    .await;
}
