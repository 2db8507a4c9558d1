//! The contract suites over the embedded store.

use crate::folder_store::{fund, open};
use kernel::flow::table::Flows;
use kernel::ports::clock::Clock;
use kernel::ports::ledger::Ledger;
use ledger_contract::Profile;
use std::sync::Arc;
use testkit::{ManualClock, OpenedStore};

#[tokio::test(flavor = "multi_thread")]
async fn the_embedded_journal_is_a_journal() {
    Box::pin(conformance::journal::run(|clock: ManualClock, flows: Arc<Flows>| {
        let dir = Arc::new(tempfile::tempdir().expect("a folder"));
        let clock: Arc<dyn Clock> = Arc::new(clock);
        let site: conformance::journal::Site = Box::new(move || {
            let (dir, clock, flows) = (dir.clone(), clock.clone(), flows.clone());
            Box::pin(async move {
                let store = open(dir.path(), clock, flows);
                OpenedStore::of(store.clone(), store.funding(), store.accounts())
            })
        });
        site
    }))
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn embedded_funding_is_a_ledger() {
    ledger_contract::run(Profile::FUNDING, |holdings| {
        Box::pin(async move {
            let dir = tempfile::tempdir().expect("a folder").keep();
            let store = open(
                &dir,
                Arc::new(ManualClock::at(1_700_000_000_000)),
                Arc::new(flows::registry()),
            );
            for (asset, amount) in holdings {
                fund(&*store.funding(), 1, asset, amount).await;
            }
            let ledger: Arc<dyn Ledger> = store.funding();
            ledger
        })
    })
    .await;
}
