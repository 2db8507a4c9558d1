//! The acceptance ids of the strict-FSM source (§10), each as a test of that name.
//!
//! `docs/proof/acceptance.md` names for each id the wrong build that turns it red, and where.

mod atk;
mod bal;
mod con;
mod cra;
mod fnd;
mod fsm;
mod idp;
mod inv;
mod mon;
mod road;

use crate::rig::{Ask, FUSED, Money, PLAIN, Rig, Setup, Way};

/// The user of most tests.
const USER: u64 = 4001;

/// Each id on the fused and on the plain path.
macro_rules! on_both_paths {
    ($($fused:ident $plain:ident = $run:path;)*) => {$(
        #[test]
        fn $fused() {
            $run(FUSED);
        }

        #[test]
        fn $plain() {
            $run(PLAIN);
        }
    )*};
}

on_both_paths! {
    mon_001_fused mon_001_plain = mon::mon_001;
    mon_002_fused mon_002_plain = mon::mon_002;
    mon_003_fused mon_003_plain = mon::mon_003;
    mon_004_fused mon_004_plain = mon::mon_004;
    inv_001_fused inv_001_plain = inv::inv_001;
    inv_002_fused inv_002_plain = inv::inv_002;
    inv_003_fused inv_003_plain = inv::inv_003;
    inv_004_fused inv_004_plain = inv::inv_004;
    bal_001_fused bal_001_plain = bal::bal_001;
    bal_002_fused bal_002_plain = bal::bal_002;
    bal_003_fused bal_003_plain = bal::bal_003;
    bal_004_fused bal_004_plain = bal::bal_004;
    bal_005_fused bal_005_plain = bal::bal_005;
    fsm_001_fused fsm_001_plain = fsm::fsm_001;
    fsm_002_fused fsm_002_plain = fsm::fsm_002;
    fsm_003_fused fsm_003_plain = fsm::fsm_003;
    fsm_004_fused fsm_004_plain = fsm::fsm_004;
    fsm_005_fused fsm_005_plain = fsm::fsm_005;
    fsm_006_fused fsm_006_plain = fsm::fsm_006;
    cra_001_fused cra_001_plain = cra::cra_001;
    cra_002_fused cra_002_plain = cra::cra_002;
    cra_003_fused cra_003_plain = cra::cra_003;
    cra_004_fused cra_004_plain = cra::cra_004;
    cra_005_fused cra_005_plain = cra::cra_005;
    cra_006_fused cra_006_plain = cra::cra_006;
    con_001_fused con_001_plain = con::con_001;
    con_002_fused con_002_plain = con::con_002;
    con_003_fused con_003_plain = con::con_003;
    con_004_fused con_004_plain = con::con_004;
    idp_001_fused idp_001_plain = idp::idp_001;
    idp_002_fused idp_002_plain = idp::idp_002;
    idp_003_fused idp_003_plain = idp::idp_003;
    idp_004_fused idp_004_plain = idp::idp_004;
    fnd_001_fused fnd_001_plain = fnd::fnd_001;
    fnd_002_fused fnd_002_plain = fnd::fnd_002;
    fnd_003_fused fnd_003_plain = fnd::fnd_003;
    fnd_004_fused fnd_004_plain = fnd::fnd_004;
    fnd_005_fused fnd_005_plain = fnd::fnd_005;
    fnd_006_fused fnd_006_plain = fnd::fnd_006;
}

/// Attacks are refused before anything is opened: the path behind makes no difference.
macro_rules! at_the_door {
    ($($name:ident)*) => {$(
        #[test]
        fn $name() {
            atk::$name();
        }
    )*};
}

at_the_door! {
    atk_001 atk_002 atk_003 atk_004 atk_005 atk_006 atk_007 atk_008 atk_009 atk_010 atk_011 atk_012
    atk_013
}

/// A server at which the user has this much at Funding and at Spot.
fn with(setup: Setup, funding: u64, spot: u64) -> Rig {
    let rig = Rig::start(setup);
    fund(&rig, USER, funding, spot);
    rig
}

fn fund(rig: &Rig, user: u64, funding: u64, spot: u64) {
    rig.deposit(user, funding + spot, &format!("seed-{user}"));
    if spot > 0 {
        let reply = rig.post(&Ask::new(user, Way::ToSpot, spot));
        let story = rig.reaches(user, reply.id(), "COMMITTED");
        assert_eq!(story.state, "COMMITTED", "the rig is funded: {reply:?}");
    }
}

/// What a user has after a transfer went through, or came back.
fn after(before: Money, way: Way, amount: u64) -> Money {
    match way {
        Way::ToSpot => Money::at(before.funding - amount, before.spot + amount),
        Way::ToFunding => Money::at(before.funding + amount, before.spot - amount),
    }
}

/// Whether a leg at this ledger is a call of its own, not a part of the journal's write.
fn called(setup: &Setup, ledger: kernel::ids::LedgerId) -> bool {
    !(setup.fuse && ledger == kernel::ids::LedgerId::FUNDING)
}
