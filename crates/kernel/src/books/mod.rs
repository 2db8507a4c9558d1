//! The books of the chains on which the service keeps money of its own: for each chain and asset the journal has one
//! counter for each book, and their sum is what the vault must hold.
//!
//! A balance that a chain shows lags behind what was promised, so no rule reads one. Each unit that moves a transfer moves
//! the counters as the flow's table declares ([`Booking`]): the unit that accepts a payout takes it from the inventory,
//! or is lost. Four more counters say what went into a vault and out of it, as the transfers booked it and as the watch
//! read it, so that vault and books are compared at every instant ([`vault`]).

pub mod vault;

use crate::flow::booking::{Booking, DepositBooking, PayoutBooking};
use crate::flow::life::{Leg, Side};
use crate::flow::table::{ActRow, S, Table};
use crate::ids::{AssetId, ChainId};
use crate::money::Amount;
use crate::record::{Party, Record, System};
use crate::unit::Put;
use std::sync::Arc;

/// What a part of a vault's money is for, or what went into the vault and out of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ChainBook {
    /// The service's own: what payouts are made from.
    Inventory,
    /// What is reserved for payouts that are promised or on their way.
    Reserved,
    /// What is owed to the depositors.
    Owed,
    /// Held until an operator decides about it.
    Held,
    /// Fees that the service earned there.
    Fees,
    /// What acts of transfers paid out of the vault. It never falls.
    PaidOut,
    /// What acts of transfers took into the vault, or called back. It never falls.
    TakenIn,
    /// What the watch of the vault read of payments that an attempt explains. It never falls.
    ReadOut,
    /// What the watch of the vault read of what acts took in. It never falls.
    ReadIn,
}

impl ChainBook {
    /// Every book, in the order of the declaration.
    pub const ALL: &'static [Self] = &[
        Self::Inventory,
        Self::Reserved,
        Self::Owed,
        Self::Held,
        Self::Fees,
        Self::PaidOut,
        Self::TakenIn,
        Self::ReadOut,
        Self::ReadIn,
    ];
    /// The books of what is in the vault: their sum is what it must hold.
    pub const IN_VAULT: &'static [Self] =
        &[Self::Inventory, Self::Reserved, Self::Owed, Self::Held, Self::Fees];

    /// The word for it in the names of counters.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Inventory => "inventory",
            Self::Reserved => "reserved",
            Self::Owed => "owed",
            Self::Held => "held",
            Self::Fees => "fees",
            Self::PaidOut => "paid_out",
            Self::TakenIn => "taken_in",
            Self::ReadOut => "read_out",
            Self::ReadIn => "read_in",
        }
    }

    /// The counter of this book of a chain and an asset, in base units: `books/SOLANA/4/inventory`.
    pub fn counter(self, chain: ChainId, asset: AssetId) -> Arc<str> {
        format!("{PREFIX}{}/{}/{}", chain.name(), asset.0, self.name()).into()
    }

    /// The chain of such a counter; `None` for another counter.
    pub fn chain_of(counter: &str) -> Option<ChainId> {
        ChainId::parse(counter.strip_prefix(PREFIX)?.split('/').next()?)
    }

    /// True for the counter of a book of what is in the vault.
    pub fn is_in_vault(counter: &str) -> bool {
        let book = counter.strip_prefix(PREFIX).and_then(|rest| rest.rsplit('/').next());
        Self::IN_VAULT.iter().any(|one| book == Some(one.name()))
    }

    /// True for the counter of an inventory.
    pub fn is_inventory(counter: &str) -> bool {
        let book = counter.strip_prefix(PREFIX).and_then(|rest| rest.rsplit('/').next());
        book == Some(Self::Inventory.name())
    }
}

/// The beginning of the name of every counter of a book.
pub const PREFIX: &str = "books/";

/// What a transfer has in one book.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BookLine {
    /// The counter of the book.
    pub counter: Arc<str>,
    /// The counter that is raised where the line goes, of a book that never falls.
    pub undone_in: Option<Arc<str>>,
    /// How much, in base units; above zero.
    pub amount: Amount,
    /// The transfer took it from this book.
    pub lacks: bool,
}

impl BookLine {
    /// The change of the counter where the line comes, or goes.
    fn put(self, comes: bool) -> Put {
        let Self { counter, undone_in, amount: Amount(n), lacks } = self;
        match undone_in {
            Some(counter) if !comes => Put::Add { counter, n },
            Some(_) | None if comes == lacks => Put::Take { counter, n },
            Some(_) | None => Put::Add { counter, n },
        }
    }
}

/// The lines of one party's chain; a party at a ledger has none.
fn of_party(party: &Party, lines: &[(ChainBook, Amount, bool)]) -> Vec<BookLine> {
    let System::Chain(chain) = party.system else { return Vec::new() };
    let some = lines.iter().filter(|(_, amount, _)| *amount != Amount::ZERO);
    let line = |(book, amount, lacks): &(ChainBook, Amount, bool)| BookLine {
        counter: book.counter(chain, party.asset),
        // what is called back comes in: of two sums that never fall each can be compared with what was read
        undone_in: (*book == ChainBook::PaidOut)
            .then(|| ChainBook::TakenIn.counter(chain, party.asset)),
        amount: *amount,
        lacks: *lacks,
    };
    some.map(line).collect()
}

/// What a transfer has in the books of both its chains while it is in a state; nothing in a flow that keeps none.
pub fn lines(table: &Table, record: &Record, state: S) -> Vec<BookLine> {
    table.state(state).booking.map_or_else(Vec::new, |booking| {
        let takes_in = |act: &ActRow| act.leg == Some(Leg::Withdraw) && act.side == Side::Source;
        booked(booking, record, table.acts.iter().any(takes_in))
    })
}

/// `taken_in`: an act takes the deposit into the vault, so that its arrival opens no transfer.
fn booked(booking: Booking, record: &Record, taken_in: bool) -> Vec<BookLine> {
    let (source, target) = (record.source(), record.target());
    let (gross, net) = (source.amount, target.amount);
    // what is kept, and the rest; a fee above the amount keeps all of it
    let parted = |fee: Amount| match gross.minus(fee) {
        Some(rest) => (fee, rest),
        None => (gross, Amount::ZERO),
    };
    let mut deposit = match booking.deposit {
        DepositBooking::Outside => vec![],
        DepositBooking::MovedOut => vec![(ChainBook::PaidOut, gross, false)],
        DepositBooking::Owed => vec![(ChainBook::Owed, gross, false)],
        DepositBooking::Held => vec![(ChainBook::Held, gross, false)],
        DepositBooking::Kept => vec![(ChainBook::Fees, gross, false)],
        DepositBooking::Swapped => {
            let (fee, rest) = parted(record.fee());
            vec![(ChainBook::Fees, fee, false), (ChainBook::Inventory, rest, false)]
        }
        DepositBooking::GivenBack => {
            let (fee, rest) = parted(record.terms.refund_fee);
            vec![(ChainBook::Fees, fee, false), (ChainBook::PaidOut, rest, false)]
        }
    };
    if taken_in && booking.deposit != DepositBooking::Outside {
        deposit.push((ChainBook::TakenIn, gross, false));
    }
    let payout = match booking.payout {
        PayoutBooking::Open => vec![],
        PayoutBooking::Reserved => {
            vec![(ChainBook::Inventory, net, true), (ChainBook::Reserved, net, false)]
        }
        PayoutBooking::Spent => {
            vec![(ChainBook::Inventory, net, true), (ChainBook::PaidOut, net, false)]
        }
    };
    let mut lines = of_party(source, &deposit);
    lines.extend(of_party(target, &payout));
    lines
}

/// The puts by which a transfer that goes from one state to another moves the books; `from` is `None` where it is opened.
/// Takes come first: a unit that takes more inventory than there is is lost.
pub fn moved(table: &Table, record: &Record, from: Option<S>, to: S) -> Vec<Put> {
    let before = from.map_or_else(Vec::new, |from| lines(table, record, from));
    let after = lines(table, record, to);
    let goes =
        before.iter().filter(|line| !after.contains(line)).map(|line| line.clone().put(false));
    let comes =
        after.iter().filter(|line| !before.contains(line)).map(|line| line.clone().put(true));
    let (takes, adds): (Vec<Put>, Vec<Put>) =
        goes.chain(comes).partition(|put| matches!(put, Put::Take { .. }));
    takes.into_iter().chain(adds).collect()
}
