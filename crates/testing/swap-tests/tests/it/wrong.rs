//! Wrong builds that only a whole flow shows; the right build passes the same trial.
//!
//! Others are found where the adapter is tested alone (`links`, `tests/it/solana`): a cursor that passes a gap
//! (`deposits::a_movement_that_is_left_out_is_a_gap`), the signature alone as a deposit's key
//! (`deposits::each_payment_of_a_transaction_is_a_deposit`), `confirmed` taken for final
//! (`deposits::a_deposit_that_is_taken_back_is_none`, `sends::a_block_that_is_taken_back_proves_nothing`), an overlooked
//! error (`outcomes::what_fails_is_not_done`), one provider believed (`providers::one_lying_provider_proves_nothing`), a
//! memo believed that is doubled (`deposits::one_memo_names_the_receiver`).

use super::case::{SolanaCase, SolanaTrial};
use super::providers::Sends;
use super::solana::RULES;
use sim::generic::chain::undisturbed;
use sim::wrong;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The case, where what is sent fares so.
fn trial(mut case: SolanaCase, sends: Sends) -> SolanaTrial {
    case.setup.sends = sends;
    SolanaTrial { cases: vec![case], fuse: vec![true], ..SolanaTrial::new(RULES) }
}

/// Plays the trial with a wrong build around the adapter; why it failed.
#[track_caller]
fn fails(trial: &SolanaTrial, name: &str) -> String {
    let wraps = wrong::chains(name).unwrap_or_else(|| panic!("no wrong build {name}"));
    let trial = SolanaTrial { wraps, ..trial.clone() };
    let played = catch_unwind(AssertUnwindSafe(|| undisturbed(&trial)));
    let Err(why) = played else { panic!("it was not found") };
    why.downcast_ref::<String>().cloned().unwrap_or_default()
}

/// What is not found is taken for dead, so that the deposit is given back again while the first refund may land.
#[test]
fn not_found_is_dead() {
    let trial = trial(SolanaCase::given_back(), Sends::Late { blocks: 12 });
    let why = fails(&trial, "not-found-is-dead");
    assert!(why.contains("the vault has "), "{why}");
    undisturbed(&trial);
}
