//! The suite that every ledger is held to, from a client over HTTP to a Spot core on a real folder.
//!
//! Seen red with builds that: leave out `min_seq` from what is compared; answer a fence of a done key
//! with `fenced`; write a hindrance as an `error`; list a fence without its number; drop the last
//! operation of a split batch; take a 409 for silence.

use super::served::{Served, client, reached};
use kernel::flow::life::Leg;
use kernel::ids::{AssetId, Id, LedgerId, UserId};
use kernel::money::Amount;
use kernel::operation::{Key, Op};
use kernel::ports::Fut;
use kernel::ports::ledger::Ledger;
use kernel::record::Account;
use ledger_contract::{Profile, run};
use std::path::PathBuf;
use std::sync::Arc;

/// A fresh core behind HTTP with what user 1 is to have. It is served until the test ends.
async fn fresh(within: PathBuf, batch: usize, funds: Vec<(AssetId, Amount)>) -> Arc<dyn Ledger> {
    let folder = tempfile::tempdir_in(within).expect("a folder").keep();
    let served = Served::folder(&folder).await;
    let deposit = |(asset, amount): (AssetId, Amount)| Op {
        key: Key { id: Id(1 + u128::from(asset.0)), leg: Leg::Deposit },
        account: Account::User(UserId(1)),
        other: None,
        asset,
        amount,
    };
    served.spot.execute(served.spot.known(), funds.into_iter().map(deposit).collect()).await;
    let mut settings = reached(served.at);
    settings.batch = batch;
    std::mem::forget(served);
    client(LedgerId::FUTURE, &settings)
}

async fn held(batch: usize) {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().to_owned();
    let fresh = move |funds| -> Fut<'static, Arc<dyn Ledger>> {
        Box::pin(fresh(path.clone(), batch, funds))
    };
    run(Profile::SPOT, fresh).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_core_behind_http_is_a_ledger() {
    held(1_000).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn split_batches_are_the_same_to_a_caller() {
    held(3).await;
}
