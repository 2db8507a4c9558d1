//! Checks that the books of chains follow what is done there: a vault changes by what an act moves, and by nothing else.

use crate::flow::booking::{Booking, DepositBooking, PayoutBooking};
use crate::flow::life::{Leg, Outcome, Place, Step, Via};
use crate::flow::table::{A, S, Table};

/// What a deposit leaves in the vault of its chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Left {
    NothingYet,
    All,
    RefundFee,
    NothingMore,
}

/// Checks each edge and each end of a flow that keeps books.
pub(super) fn faults(t: &Table) -> Vec<String> {
    let mut bad = Vec::new();
    let keeps = t.states.iter().any(|row| row.booking.is_some());
    for s in t.all().filter(|_| keeps) {
        let name = t.state(s).name;
        let Some(here) = t.state(s).booking else {
            bad.push(format!("{name}: other states keep books, and this one does not"));
            continue;
        };
        if !fits(here.deposit, t.state(s).money) {
            bad.push(format!("{name}: books the deposit as {:?}", here.deposit));
        }
        if t.ends(s) && !ends(here, t.state(s).outcome) {
            bad.push(format!("{name}: ends with {here:?}"));
        }
        if s == t.start && here.payout != PayoutBooking::Open {
            bad.push(format!("{name}: begins with {here:?}"));
        }
        for (via, to) in t.edges(s) {
            let Some(there) = t.state(to).booking else { continue };
            let claims = matches!(t.step(to), Step::Claim { .. });
            let reserves = there.payout == PayoutBooking::Reserved && here.payout != there.payout;
            if !follows(t, s, via, here, there) || (reserves && !claims) {
                bad.push(format!("{name}: {via:?} leads from {here:?} to {there:?}"));
            }
        }
    }
    bad
}

/// The books say where the money is, as the flow does.
const fn fits(deposit: DepositBooking, money: Place) -> bool {
    use DepositBooking::{GivenBack, Held, Kept, MovedOut, Outside, Owed, Swapped};
    match money {
        Place::AtSource => matches!(deposit, Outside | GivenBack),
        Place::InFlight => matches!(deposit, Owed | GivenBack),
        Place::AtTarget => matches!(deposit, Swapped),
        Place::Fees => matches!(deposit, Kept),
        Place::Quarantine => matches!(deposit, Held | MovedOut),
    }
}

/// The books of an end say what its outcome says; nothing is promised any more.
fn ends(booking: Booking, outcome: Option<Outcome>) -> bool {
    let deposit = match outcome {
        Some(Outcome::Paid) => DepositBooking::Swapped,
        Some(Outcome::GivenBack) => DepositBooking::GivenBack,
        Some(Outcome::Kept) => DepositBooking::Kept,
        Some(Outcome::Held) => DepositBooking::MovedOut,
        Some(Outcome::Failed) => DepositBooking::Outside,
        None => return false,
    };
    let paid = deposit == DepositBooking::Swapped;
    let payout = if paid { PayoutBooking::Spent } else { PayoutBooking::Open };
    booking == Booking { deposit, payout }
}

/// Inventory is reserved by a rule alone, which leads to the claim; what is spent was reserved, and both vaults change
/// by what was done.
fn follows(t: &Table, s: S, via: Via, here: Booking, there: Booking) -> bool {
    use PayoutBooking::{Open, Reserved, Spent};
    let payout = match (here.payout, there.payout) {
        // in a unit of its own, which is lost where the inventory is short
        (Open, Reserved) => via == Via::Yes && t.gathers(s).is_some(),
        (Open, Spent) | (Spent, Reserved) => false,
        (Reserved, Spent) => makes(t, s, via, Leg::Deposit),
        (Spent, Open) => undoes(t, s, via, Leg::Deposit),
        (Reserved, Open) | (Open, Open) | (Reserved, Reserved) | (Spent, Spent) => {
            !makes(t, s, via, Leg::Deposit)
        }
    };
    if via == Via::Claim && here != there {
        return false;
    }
    let swapped = there.deposit != DepositBooking::Swapped || there.payout == Spent;
    payout && swapped && deposit_follows(t, s, via, left(here.deposit), left(there.deposit))
}

fn deposit_follows(t: &Table, s: S, via: Via, before: Left, after: Left) -> bool {
    let made = |leg| makes(t, s, via, leg);
    match (before, after) {
        (Left::NothingYet, Left::All) => made(Leg::Withdraw),
        (Left::All, Left::NothingMore) => made(Leg::Quarantine),
        (Left::All, Left::RefundFee) => made(Leg::Refund),
        (Left::RefundFee, Left::All) => undoes(t, s, via, Leg::Refund),
        (Left::NothingYet, Left::RefundFee | Left::NothingMore)
        | (Left::All | Left::RefundFee | Left::NothingMore, Left::NothingYet)
        | (Left::RefundFee, Left::NothingMore)
        | (Left::NothingMore, Left::All | Left::RefundFee) => false,
        (Left::NothingYet, Left::NothingYet)
        | (Left::All, Left::All)
        | (Left::RefundFee, Left::RefundFee)
        | (Left::NothingMore, Left::NothingMore) => {
            !made(Leg::Withdraw) && !made(Leg::Quarantine) && !made(Leg::Refund)
        }
    }
}

const fn left(deposit: DepositBooking) -> Left {
    match deposit {
        DepositBooking::Outside => Left::NothingYet,
        DepositBooking::MovedOut => Left::NothingMore,
        DepositBooking::GivenBack => Left::RefundFee,
        DepositBooking::Owed
        | DepositBooking::Held
        | DepositBooking::Kept
        | DepositBooking::Swapped => Left::All,
    }
}

/// The act that is done with this edge.
fn done(t: &Table, s: S, via: Via) -> Option<A> {
    t.makes(s).filter(|_| via == Via::Done)
}

fn makes(t: &Table, s: S, via: Via, leg: Leg) -> bool {
    done(t, s, via).is_some_and(|act| t.act(act).leg == Some(leg))
}

fn undoes(t: &Table, s: S, via: Via, leg: Leg) -> bool {
    let undone = |act: A| t.act(act).undoes.iter().any(|undone| t.act(*undone).leg == Some(leg));
    done(t, s, via).is_some_and(|act| t.act(act).leg == Some(Leg::Cost) && undone(act))
}
