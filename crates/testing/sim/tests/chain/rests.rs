//! Assets that cannot be paid for a while: their transfers wait without a trace, and all others go on.

use super::operators::ChainEnv;
use kernel::answer::Cause;
use kernel::ids::{AssetId, Id, Millis};
use kernel::ports::Fut;
use kernel::ports::chain::{Chain, SignRequest, Signed, Unsigned};
use kernel::record::Record;
use sim::chain::relay_terms;
use sim::service::Wrap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use testkit::wrapper::{ChainWrapper, Wrapper};

const RESTS: AssetId = AssetId(3);
const GOES_ON: AssetId = AssetId(4);

/// A port that signs nothing of one asset while that rests.
struct Rests {
    inner: Arc<dyn Chain>,
    resting: Arc<AtomicBool>,
}

impl Rests {
    fn rests(&self, record: &Record) -> bool {
        record.target().asset == RESTS && self.resting.load(Ordering::SeqCst)
    }
}

impl ChainWrapper for Rests {
    fn inner(&self) -> &dyn Chain {
        &*self.inner
    }

    fn rests_for(&self, act: &str, record: &Record) -> Option<Millis> {
        (act == "ft_transfer" && self.rests(record)).then_some(600_000)
    }

    fn sign<'a>(&'a self, request: &'a SignRequest) -> Fut<'a, Result<Signed, Unsigned>> {
        if request.members.iter().any(|member| self.rests(member)) {
            return Box::pin(std::future::ready(Err(Cause::of("TOKEN_RESTS").into())));
        }
        self.inner.sign(request)
    }
}

fn pays(env: &ChainEnv, asset: AssetId, receivers: &[&str]) -> Vec<Id> {
    env.opens(receivers, |chain, to| {
        let mut terms = relay_terms(chain, to, 100, &format!("{asset} to {to}"));
        terms.source.asset = asset;
        terms.target.asset = asset;
        terms
    })
}

/// Turns red where what cannot be paid stands before what can, where each look at it is written, and where the
/// end of its rest is known only when the rest would have been over.
#[test]
fn an_asset_that_rests_holds_no_other_back() {
    let resting = Arc::new(AtomicBool::new(true));
    let shared = resting.clone();
    let around: Wrap<dyn Chain> =
        Arc::new(move |inner| Arc::new(Wrapper(Rests { inner, resting: shared.clone() })));
    let env = ChainEnv::around(Some(around));
    let waits = pays(&env, RESTS, &["alice", "bob", "carol"]);
    env.service.sim.run_for(3_000);
    let before = env.records(&waits);
    let goes = pays(&env, GOES_ON, &["alice", "bob", "carol"]);
    env.service.sim.run_for(120_000);
    assert_eq!(env.states(&goes), ["COMPLETED"; 3]);
    assert_eq!(env.states(&waits), ["QUEUED_TRANSFER"; 3]);
    let heads = |records: Vec<Record>| records.into_iter().map(|r| r.head).collect::<Vec<_>>();
    assert_eq!(heads(env.records(&waits)), heads(before), "nothing is written of it");
    resting.store(false, Ordering::SeqCst);
    env.service.sim.run_for(30_000);
    assert_eq!(env.states(&waits), ["COMPLETED"; 3]);
    assert_eq!(env.ports.chain.faults(), [""; 0]);
}
