//! A key that is used again two days later pays nothing twice, whatever became of its transfer, in the same process and in
//! one that began since; and with another body it is refused.
//!
//! Wrong build that turns it red: keys that are forgotten after a day, by the journal or with the transfers that ended.

use super::operators::ChainEnv;
use engine::Refused;
use kernel::ids::Id;
use kernel::record::{Binding, Terms};
use sim::chain::relay_terms;
use sim::journal::Fault;

const TWO_DAYS: u64 = 48 * 3_600_000;

/// What is asked for under the key of a receiver: the body with this fingerprint.
fn terms(env: &ChainEnv, to: &str, amount: u128, body: u8) -> Terms {
    let terms = relay_terms(env.chain_id(), to, amount, &format!("key of {to}"));
    let binding =
        terms.binding.clone().map(|binding| Binding { fingerprint: [body; 32], ..binding });
    Terms { binding, ..terms }
}

fn opens(env: &ChainEnv, to: &str) -> Id {
    let accepted = env.creates(terms(env, to, 100, 0)).unwrap_or_else(|why| panic!("{why:?}"));
    assert!(!accepted.replayed, "{to}");
    accepted.record.id
}

/// The key of a receiver is bound to this transfer, as it stands, and to its body alone.
#[track_caller]
fn is_bound(env: &ChainEnv, to: &str, id: Id, stands: &str) {
    let again = env.creates(terms(env, to, 100, 0)).unwrap_or_else(|why| panic!("{to}: {why:?}"));
    assert_eq!((again.replayed, again.record.id), (true, id), "{to}");
    assert_eq!(env.states(&[id]), [stands], "{to}");
    let other = env.creates(terms(env, to, 999, 1));
    let Err(Refused::Mismatch(bound)) = other else { panic!("{to}: {other:?}") };
    assert_eq!(bound.id, id, "{to}");
}

#[test]
fn a_key_that_is_used_again_after_two_days_pays_nothing_twice() {
    let mut env = ChainEnv::open(None);
    env.chain().register("mallory");
    env.chain().spoil("mallory");
    let (paid, failed) = (opens(&env, "alice"), opens(&env, "mallory"));
    env.run(60_000);
    assert_eq!(env.states(&[paid, failed]), ["COMPLETED", "FAILED"]);
    // this one waits for two days, until persons let the chain go on
    let pause = env.pause();
    let waits = opens(&env, "bob");
    env.run(TWO_DAYS);
    let sent = env.chain().transactions();
    for restarts in [false, true] {
        if restarts {
            env.restart();
        }
        is_bound(&env, "alice", paid, "COMPLETED");
        is_bound(&env, "mallory", failed, "FAILED");
        is_bound(&env, "bob", waits, "QUEUED_TRANSFER");
        env.run(60_000);
        assert_eq!(env.chain().transactions(), sent, "something was sent");
    }
    env.lifts(pause);
    env.run(60_000);
    is_bound(&env, "bob", waits, "COMPLETED");
    let times = |id: &Id| env.chain().paid().get(id).map_or(0, Vec::len);
    assert_eq!([paid, failed, waits].each_ref().map(times), [1, 0, 1]);
    assert_eq!(env.chain().paid().values().map(Vec::len).sum::<usize>(), 2);
    assert_eq!(env.chain().faults(), [""; 0]);
}

/// The second request comes in the same millisecond, so that its id is the same, and its write is lost.
///
/// Wrong build that turns it red: what is found under the id of an opening is carried as well, beside the
/// record that waits; the claim of the two is refused for ever.
#[test]
fn a_request_whose_transfer_is_carried_already_carries_it_no_second_time() {
    for fault in [Fault::LostBefore, Fault::LostAfter] {
        let env = ChainEnv::open(None);
        let pause = env.pause();
        let waits = opens(&env, "bob");
        env.faults().next(fault);
        is_bound(&env, "bob", waits, "QUEUED_TRANSFER");
        env.lifts(pause);
        env.run(60_000);
        assert_eq!(env.states(&[waits]), ["COMPLETED"]);
        assert_eq!(env.chain().paid().get(&waits).map(Vec::len), Some(1));
    }
}
