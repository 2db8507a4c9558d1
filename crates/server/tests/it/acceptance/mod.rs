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

use crate::fixture::{
    Direction, FUSED, Fixture, JournalKind, Money, PLAIN, Setup, TransferRequest,
};

/// The user of most tests.
const USER: u64 = 4001;

/// Each id on the fused and on the plain path, with the journal in the folder and in PostgreSQL.
macro_rules! on_every_path {
    ($($family:ident: $($id:ident)*;)*) => {$($(
        mod $id {
            use super::{FUSED, PLAIN, on_postgres};

            #[test]
            fn fused() {
                super::$family::$id(FUSED);
            }

            #[test]
            fn plain() {
                super::$family::$id(PLAIN);
            }

            #[test]
            fn fused_on_postgres() {
                super::$family::$id(on_postgres(FUSED));
            }

            #[test]
            fn plain_on_postgres() {
                super::$family::$id(on_postgres(PLAIN));
            }
        }
    )*)*};
}

on_every_path! {
    mon: mon_001 mon_002 mon_003 mon_004;
    inv: inv_001 inv_002 inv_003 inv_004;
    bal: bal_001 bal_002 bal_003 bal_004 bal_005;
    fsm: fsm_001 fsm_002 fsm_003 fsm_004 fsm_005 fsm_006;
    cra: cra_001 cra_002 cra_003 cra_004 cra_005 cra_006;
    con: con_001 con_002 con_003 con_004;
    idp: idp_001 idp_002 idp_003 idp_004;
    fnd: fnd_001 fnd_002 fnd_003 fnd_004 fnd_005 fnd_006;
}

const fn on_postgres(setup: Setup) -> Setup {
    Setup { kept: JournalKind::Postgres, ..setup }
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
fn with(setup: Setup, funding: u64, spot: u64) -> Fixture {
    let fixture = Fixture::start(setup);
    fund(&fixture, USER, funding, spot);
    fixture
}

fn fund(fixture: &Fixture, user: u64, funding: u64, spot: u64) {
    fixture.deposit(user, funding + spot, &format!("seed-{user}"));
    if spot > 0 {
        let reply = fixture.post(&TransferRequest::new(user, Direction::ToSpot, spot));
        let story = fixture.reaches(user, reply.id(), "COMMITTED");
        assert_eq!(story.state, "COMMITTED", "the fixture is funded: {reply:?}");
    }
}

/// What a user has after a transfer went through, or came back.
fn after(before: Money, way: Direction, amount: u64) -> Money {
    match way {
        Direction::ToSpot => Money::at(before.funding - amount, before.spot + amount),
        Direction::ToFunding => Money::at(before.funding + amount, before.spot - amount),
    }
}

/// Whether a leg at this ledger is a call of its own, not a part of the journal's write.
fn called(setup: &Setup, ledger: kernel::ids::LedgerId) -> bool {
    !(setup.fuse && ledger == kernel::ids::LedgerId::FUNDING)
}
