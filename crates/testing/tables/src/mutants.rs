//! Makes tables that have one fault each, to measure how many of them [`kernel::flow::check`] finds. The
//! tests of each flow compare those that it misses with a list of reasons.

use kernel::flow::booking::{Booking, DepositBooking, PayoutBooking};
use kernel::flow::check;
use kernel::flow::life::{Driver, Leg, Manner, Normal, Outcome, Place, Share, Side, Step, Via};
use kernel::flow::table::{A, ActRow, R, S, StateRow, Table};

/// A table that differs from another in one place.
#[derive(Debug)]
pub struct Mutant {
    /// The difference: `INIT -Claim-> FAILED`, `pay: manner Question`, `INIT: money Fees`.
    pub what: String,
    /// The whole table with the difference in it.
    pub table: Table,
}

/// Every edge leads to every other state in turn, every act's manner, leg and side is changed, the act that
/// it asks after and those that it takes back are dropped, every state's money is put elsewhere and booked otherwise, and every
/// declaration is changed: the driver, what is normal, where the money is, what an act moves.
pub fn of(t: &Table) -> Vec<Mutant> {
    let mut all = edges(t);
    all.extend(acts(t));
    all.extend(places(t));
    all.extend(bookings(t));
    all.extend(declarations(t));
    all
}

/// The differences that no check finds.
pub fn survivors(t: &Table) -> Vec<String> {
    let alive = |m: &Mutant| check::faults(&m.table).is_empty();
    of(t).into_iter().filter(alive).map(|m| m.what).collect()
}

fn edges(t: &Table) -> Vec<Mutant> {
    let mut all = Vec::new();
    for s in t.all() {
        for (via, old) in t.edges(s) {
            for to in t.all().filter(|to| *to != old) {
                let what = format!("{} -{via:?}-> {}", t.state(s).name, t.state(to).name);
                all.push(changed(t, what, s, |row| row.step = pointed(row.step, via, to)));
            }
        }
    }
    all
}

fn places(t: &Table) -> Vec<Mutant> {
    use Place::{AtSource, AtTarget, Fees, InFlight, Quarantine};
    let mut all = Vec::new();
    for s in t.all() {
        for place in [AtSource, InFlight, AtTarget, Fees, Quarantine] {
            if t.state(s).money != place {
                let what = format!("{}: money {place:?}", t.state(s).name);
                all.push(changed(t, what, s, |row| row.money = place));
            }
        }
    }
    all
}

fn bookings(t: &Table) -> Vec<Mutant> {
    use DepositBooking::{GivenBack, Held, Kept, MovedOut, Outside, Owed, Swapped};
    use PayoutBooking::{Open, Reserved, Spent};
    let mut all = Vec::new();
    for s in t.all() {
        let Some(here) = t.state(s).booking else { continue };
        let name = t.state(s).name;
        all.push(changed(t, format!("{name}: no booking"), s, |row| row.booking = None));
        for deposit in [Outside, Owed, Held, Kept, Swapped, GivenBack, MovedOut] {
            for payout in [Open, Reserved, Spent] {
                let booking = Booking { deposit, payout };
                if booking != here {
                    let what = format!("{name}: booked {deposit:?}, {payout:?}");
                    all.push(changed(t, what, s, |row| row.booking = Some(booking)));
                }
            }
        }
    }
    all
}

/// A time is only dropped, put where none belongs, or set to zero: no table shows how many seconds are
/// normal.
fn declarations(t: &Table) -> Vec<Mutant> {
    let mut all = Vec::new();
    let mut other = t.clone();
    other.driver = match t.driver {
        Driver::Stations => Driver::Events,
        Driver::Events => Driver::Stations,
    };
    all.push(Mutant { what: format!("driver {:?}", other.driver), table: other });
    for s in t.all() {
        let row = t.state(s);
        for outcome in Outcome::ALL.iter().copied().map(Some).chain([None]) {
            if outcome != row.outcome {
                let what = format!("{}: outcome {outcome:?}", row.name);
                all.push(changed(t, what, s, |row| row.outcome = outcome));
            }
        }
        let times = if t.makes(s).is_some() {
            [Normal::Passing, Normal::Configured, Normal::Seconds(0)]
        } else {
            [Normal::Usual, Normal::Configured, Normal::Seconds(60)]
        };
        for normal in times {
            let alike = matches!((normal, row.normal), (Normal::Seconds(1..), Normal::Seconds(_)));
            if normal != row.normal && !alike {
                let what = format!("{}: normal {normal:?}", row.name);
                all.push(changed(t, what, s, |row| row.normal = normal));
            }
        }
    }
    all
}

fn changed(t: &Table, what: String, s: S, change: impl Fn(&mut StateRow)) -> Mutant {
    let mut table = t.clone();
    table.states.get_mut(usize::from(s)).into_iter().for_each(change);
    Mutant { what, table }
}

fn acts(t: &Table) -> Vec<Mutant> {
    let mut all = Vec::new();
    for (n, row) in t.acts.iter().enumerate() {
        let mut changed = |what: String, change: &dyn Fn(&mut ActRow)| {
            let mut table = t.clone();
            table.acts.get_mut(n).into_iter().for_each(change);
            all.push(Mutant { what: format!("{}: {what}", row.name), table });
        };
        for manner in [Manner::Repeatable, Manner::Once, Manner::Question] {
            if manner != row.manner {
                changed(format!("manner {manner:?}"), &|row| row.manner = manner);
            }
        }
        for leg in Leg::ALL.iter().copied().map(Some).chain([None]) {
            if leg != row.leg {
                changed(format!("leg {leg:?}"), &|row| row.leg = leg);
            }
        }
        for share in Share::ALL.iter().copied().map(Some).chain([None]) {
            if share != row.share {
                changed(format!("share {share:?}"), &|row| row.share = share);
            }
        }
        changed("other side".to_owned(), &|row| {
            row.side = match row.side {
                Side::Source => Side::Target,
                Side::Target => Side::Source,
            }
        });
        if row.about.is_some() {
            changed("asks after nothing".to_owned(), &|row| row.about = None);
        }
        if !row.undoes.is_empty() {
            changed("undoes nothing".to_owned(), &|row| row.undoes.clear());
        }
    }
    all
}

/// The step with one of its edges pointed elsewhere.
fn pointed(step: Step<S, A, R>, via: Via, to: S) -> Step<S, A, R> {
    let new = |edge: Via, old: S| if edge == via { to } else { old };
    match step {
        Step::Claim { to } => Step::Claim { to: new(Via::Claim, to) },
        Step::Decide { rule, yes, no } => {
            Step::Decide { rule, yes: new(Via::Yes, yes), no: new(Via::No, no) }
        }
        Step::Call { act, done, rejected, unknown } => Step::Call {
            act,
            done: new(Via::Done, done),
            rejected: new(Via::Rejected, rejected),
            unknown: new(Via::Unknown, unknown),
        },
        Step::Send { act, done, rejected, dead, unknown } => Step::Send {
            act,
            done: new(Via::Done, done),
            rejected: new(Via::Rejected, rejected),
            dead: new(Via::Dead, dead),
            unknown: new(Via::Unknown, unknown),
        },
        Step::Push { act, done, unknown } => {
            Step::Push { act, done: new(Via::Done, done), unknown: new(Via::Unknown, unknown) }
        }
        Step::End => Step::End,
    }
}
