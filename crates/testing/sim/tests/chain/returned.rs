//! A key that was retired and proven gone, and that the account has again: it may sign, pays nothing of ours, stops
//! nothing by being there, and what another program spends of it is seen.
//!
//! Wrong builds that turn it red: that it is gone stays in the journal; its first nonce counts as one that was spent
//! elsewhere; a process that begins claims before it looked; a key is called gone by a block from before it was back.

use super::operators::ChainEnv;
use engine::operators::{ActionResult, AdminAction, Objection};
use kernel::answer::Cause;
use kernel::ids::{AssetId, Id};
use kernel::money::Amount;
use kernel::operators::LaneName;
use kernel::ports::Fut;
use kernel::ports::chain::{Chain, LanePresence};
use sim::chain::{ChainRules, Paid};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use testkit::wrapper::{ChainWrapper, Wrapper};

const GONE: &str = "key-1";
const FIVE: [&str; 5] = ["alice", "bob", "carol", "dave", "erin"];
/// Longer than the watch of the lanes waits between two looks.
const A_LOOK: u64 = 61_000;

/// A port that keeps from which block on the last question was whether a key is there.
struct Since {
    inner: Arc<dyn Chain>,
    asked: Arc<AtomicU64>,
}

impl ChainWrapper for Since {
    fn inner(&self) -> &dyn Chain {
        &*self.inner
    }

    fn lane_presence<'a>(
        &'a self,
        lane: &'a str,
        since: Option<u64>,
    ) -> Fut<'a, Result<LanePresence, Cause>> {
        self.asked.store(since.unwrap_or_default(), Ordering::SeqCst);
        self.inner.lane_presence(lane, since)
    }
}

fn key(env: &ChainEnv) -> LaneName {
    LaneName { chain: env.chain_id(), lane: GONE.into() }
}

/// The row of the key's lane.
fn row(env: &ChainEnv) -> Arc<str> {
    let journal = env.journal();
    let read = env.block_on(async move { journal.resource("lane:NEAR:key-1".into()).await });
    let Ok(Some(row)) = read else { panic!("{read:?}") };
    row.value
}

fn attempts(env: &ChainEnv) -> usize {
    let (journal, chain) = (env.journal(), env.chain_id());
    let found = env.block_on(async move { journal.attempts_of_lane(chain, GONE.into(), 99).await });
    found.unwrap_or_else(|cause| panic!("{cause}")).len()
}

fn proves_gone(env: &ChainEnv, times: &str) -> Result<ActionResult, Objection> {
    let action = AdminAction::ProveLaneGone(key(env));
    env.executes(times, action).map(|done| done.outcome)
}

fn kinds(env: &ChainEnv) -> Vec<String> {
    env.open_cases().into_iter().map(|(kind, _)| kind).collect()
}

/// A service whose first key was used, is retired, and was proven gone.
struct GoneKey {
    env: ChainEnv,
    /// The final block that the proof is of.
    gone_at: u64,
    /// From this block on it was asked for last.
    since: Arc<AtomicU64>,
}

fn gone_key() -> GoneKey {
    let since = Arc::new(AtomicU64::new(0));
    let asked = since.clone();
    let env = ChainEnv::around(Some(Arc::new(move |inner| {
        Arc::new(Wrapper(Since { inner, asked: asked.clone() }))
    })));
    let ids = env.pays(&FIVE);
    env.run(30_000);
    assert_eq!(env.states(&ids), ["COMPLETED"; 5]);
    let retired = env.executes("retire", AdminAction::RetireLane(key(&env)));
    assert!(matches!(retired.map(|done| done.outcome), Ok(ActionResult::LaneRetired { .. })));
    env.chain().delete_key(GONE);
    env.run(10_000);
    match proves_gone(&env, "gone") {
        Ok(ActionResult::LaneGone { height, .. }) => GoneKey { env, gone_at: height, since },
        other => panic!("{other:?}"),
    }
}

fn pays_in_full(env: &ChainEnv, ids: &[Id]) {
    assert_eq!(env.states(ids), vec!["COMPLETED"; ids.len()]);
    let paid = env.chain().paid();
    assert!(ids.iter().all(|id| paid.get(id).map(Vec::len) == Some(1)), "{paid:?}");
    assert_eq!(env.chain().faults(), [""; 0]);
}

#[test]
fn a_key_that_is_back_is_told_of_and_stops_nothing() {
    let GoneKey { mut env, gone_at, since } = gone_key();
    let before = attempts(&env);
    env.run(A_LOOK);
    assert!(row(&env).contains(&format!(r#""gone_at":{gone_at}"#)), "{}", row(&env));
    env.chain().add_key(GONE);
    env.run(A_LOOK);
    assert!(row(&env).contains(r#""gone_at":null,"returned_at":"#), "{}", row(&env));
    let ids = env.pays_again(&FIVE);
    env.run(A_LOOK);
    pays_in_full(&env, &ids);
    assert_eq!((env.pauses(), kinds(&env)), (vec![], vec!["KEY_RETURNED".to_owned()]));
    assert_eq!(attempts(&env), before, "a retired key pays nothing");
    env.restart();
    env.run(A_LOOK);
    assert_eq!((env.pauses(), kinds(&env)), (vec![], vec!["KEY_RETURNED".to_owned()]));
    // it is there, and a block from before it was back says nothing
    let there = proves_gone(&env, "there");
    let Err(Objection::NotPossible(why)) = there else { panic!("{there:?}") };
    assert!(why.contains("the chain has the key at block"), "{why}");
    let back = since.load(Ordering::SeqCst);
    assert!(back > gone_at, "a block of before it was back counts: {back}");
    // it is deleted again
    env.chain().delete_key(GONE);
    env.run(10_000);
    let gone = proves_gone(&env, "gone again");
    assert!(matches!(gone, Ok(ActionResult::LaneGone { height, .. }) if height > gone_at));
    env.run(A_LOOK);
    assert_eq!((env.pauses(), kinds(&env)), (vec![], vec![]));
    // and it may come back as often as it likes
    env.chain().add_key(GONE);
    env.run(A_LOOK);
    assert_eq!((env.pauses(), kinds(&env)), (vec![], vec!["KEY_RETURNED".to_owned()]));
}

/// In the first case the process runs when the key is back; in the second it begins later.
#[test]
fn what_a_key_that_is_back_paid_is_not_paid_again() {
    for restarts in [false, true] {
        let GoneKey { mut env, .. } = gone_key();
        let pause = env.pause();
        let ids = env.pays_again(&["alice", "bob"]);
        env.run(5_000);
        assert_eq!(env.states(&ids), ["QUEUED_TRANSFER"; 2]);
        env.chain().add_key(GONE);
        if !restarts {
            env.run(A_LOOK);
            assert!(row(&env).contains(r#""gone_at":null"#), "{}", row(&env));
        }
        let one =
            Paid { id: ids[0], account: "alice".into(), asset: AssetId(3), amount: Amount(100) };
        drop(env.chain().spends_elsewhere(GONE, vec![one]));
        env.run(5_000);
        if restarts {
            env.restart();
        }
        env.lifts(pause);
        env.run(A_LOOK);
        pays_in_full(&env, &ids);
        assert_eq!((env.pauses(), kinds(&env)), (vec![], vec!["KEY_RETURNED".to_owned()]));
        let validity = ChainRules::calm(sim::chain::Locking::Nonce).validity;
        env.run(validity * 500);
        pays_in_full(&env, &ids);
    }
}
