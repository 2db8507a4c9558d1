//! The swap cases of the generic tests, and the behaviour of their accounts on the chains.

use crate::chain::{QUARANTINE, SimChain};
use crate::generic::draws::{one_of, within};
use crate::world::SplitMix;
use flows::swaps::fees::{SwapFees, SwapPrices, SwapQuote};
use kernel::flow::life::Outcome;
use kernel::money::Amount;
use std::borrow::Cow;

/// A deposit that a watcher finds, and the state that its swap ends in.
#[derive(Debug, Clone, Copy)]
pub struct SwapDeposit {
    /// Whose account it came from.
    pub sender: &'static str,
    /// Whom its memo names (`swap_in`), or an asset of the sender that maps it (`swap_out`); empty: no account.
    pub receiver: &'static str,
    /// How much of the source's asset.
    pub amount: u128,
    /// The state that its swap ends in.
    pub ends: &'static str,
}

/// How the quarantine account fares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quarantining {
    /// What is sent there arrives.
    Arrives,
    /// The first transaction that pays it fails in its block.
    FailsOnce,
    /// The first transaction that pays it never comes to a block.
    LostOnce,
}

/// Deposits that one watcher finds, one after the other, and how each must end.
#[derive(Debug, Clone)]
pub struct SwapCase {
    /// The flow's stored name.
    pub flow: &'static str,
    /// What it shows, in a few words.
    pub name: &'static str,
    /// The deposits, in the order of the chain.
    pub deposits: Cow<'static, [SwapDeposit]>,
    /// How the quarantine account fares.
    pub quarantine: Quarantining,
}

/// More than there ever is in an inventory.
const MUCH: u128 = 1_000_000_000_000;
/// What every swap costs.
pub(super) const FEE: u128 = 10;
/// The smallest credit that is taken in.
pub(super) const DUST: u128 = 5;
/// What a refund costs.
pub(super) const REFUND_FEE: u128 = 4;

/// What a swap costs, in both directions.
pub const PRICES: SwapPrices = SwapPrices {
    flat: Amount(FEE),
    basis_points: 0,
    refund: Amount(REFUND_FEE),
    minimum: Amount(2 * FEE + 1),
};

/// What is agreed of a deposit, in both directions. Prices that do not fit keep all of it, and no case ends as it should.
pub(super) fn quote(amount: Amount) -> SwapQuote {
    let kept = SwapQuote { fee: amount, net: Amount::ZERO, refund_fee: amount };
    SwapFees::new(PRICES).map_or(kept, |fees| fees.quote(amount))
}

const fn deposit(
    sender: &'static str,
    receiver: &'static str,
    amount: u128,
    ends: &'static str,
) -> SwapDeposit {
    SwapDeposit { sender, receiver, amount, ends }
}

const fn swap_in(
    name: &'static str,
    deposits: &'static [SwapDeposit],
    quarantine: Quarantining,
) -> SwapCase {
    SwapCase { flow: "swap_in", name, deposits: Cow::Borrowed(deposits), quarantine }
}

const fn swap_out(
    name: &'static str,
    deposits: &'static [SwapDeposit],
    quarantine: Quarantining,
) -> SwapCase {
    SwapCase { flow: "swap_out", name, deposits: Cow::Borrowed(deposits), quarantine }
}

const PAID: &str = "processed";
const BACK: &str = "refund_confirmed";
const QUARANTINED: &str = "quarantined";

/// Accounts whose names say what they do: what is sent to `lost…` never arrives, the first four payments to `tardy…` do
/// not, nor does the first transaction that takes in what they sent, `bad…` spoils its
/// transaction, `ghost…` does not exist, `gone…` can receive nothing any more, `never…` takes no debit,
/// `late…` likewise, and the first void of it is lost, `wakes…` takes it when it is called back;
/// what is sent to `poor…` is above every inventory, what `stale…` sent can be taken in no more, what `fickle…` sent was
/// called back, `freed…` fails three times, until a person allows one more refund. The asset that maps a credit to `slow…` is found at the last look alone.
pub const SWAP_CASES: [SwapCase; 21] = [
    swap_in(
        "both are paid",
        &[deposit("Sam", "Anna", 1_000, PAID), deposit("Sue", "Bert", 2_000, PAID)],
        Quarantining::Arrives,
    ),
    swap_in(
        "nothing to swap",
        &[
            deposit("Sam", "", 1_000, BACK),
            deposit("Sue", "Anna", 2 * FEE, "processed, amount after fees <= 0"),
            deposit("Sam", "ghost1", 1_000, BACK),
        ],
        Quarantining::Arrives,
    ),
    swap_in(
        "dust with a bad memo",
        &[deposit("Sam", "", 1, "processed, amount after fees <= 0")],
        Quarantining::Arrives,
    ),
    swap_in("no inventory in time", &[deposit("Sam", "poor1", MUCH, BACK)], Quarantining::Arrives),
    swap_in(
        "one spoils its debit",
        &[deposit("Sam", "Anna", 1_000, PAID), deposit("Sam", "bad1", 1_000, BACK)],
        Quarantining::Arrives,
    ),
    swap_in("debits are lost", &[deposit("Sam", "Tardy1", 1_000, PAID)], Quarantining::Arrives),
    swap_in("no debit arrives", &[deposit("Sam", "Lost1", 1_000, BACK)], Quarantining::Arrives),
    swap_in(
        "not taken",
        &[
            deposit("Sam", "never1", 1_000, BACK),
            deposit("Sue", "wakes1", 1_000, PAID),
            deposit("Sid", "Late1", 1_000, BACK),
        ],
        Quarantining::Arrives,
    ),
    swap_in(
        "one is quarantined",
        &[
            deposit("gone1", "", 1_000, QUARANTINED),
            deposit("Sam", "Anna", 1_000, PAID),
            deposit("Sue", "", 500, BACK),
        ],
        Quarantining::FailsOnce,
    ),
    swap_in(
        "refunds are lost or refused",
        &[deposit("tardy2", "", 1_000, BACK), deposit("bad2", "", 1_000, QUARANTINED)],
        Quarantining::LostOnce,
    ),
    swap_in(
        "a person allows one more",
        &[deposit("freed1", "", 1_000, BACK)],
        Quarantining::Arrives,
    ),
    swap_out(
        "mapped receivers are paid",
        &[
            deposit("Nora", "Anna", 1_000, PAID),
            deposit("Nick", "slow1", 2_000, PAID),
            deposit("Nils", "ghost1", 500, "refunded"),
        ],
        Quarantining::Arrives,
    ),
    swap_out(
        "one spoils its payout",
        &[deposit("Nora", "Anna", 1_000, PAID), deposit("Nick", "bad1", 1_000, "refunded")],
        Quarantining::Arrives,
    ),
    swap_out("payouts are lost", &[deposit("Nora", "Tardy1", 1_000, PAID)], Quarantining::Arrives),
    swap_out(
        "no payout arrives",
        &[deposit("Nora", "Lost1", 1_000, "refunded")],
        Quarantining::Arrives,
    ),
    swap_out(
        "no inventory in time",
        &[deposit("Nora", "poor1", MUCH, "refunded")],
        Quarantining::Arrives,
    ),
    swap_out(
        "what is sent is left",
        &[
            deposit("stale1", "Anna", 1_000, "not taken"),
            deposit("Nora", "Anna", 1_000, PAID),
            deposit("Nick", "Anna", DUST - 1, "not taken"),
            deposit("fickle1", "Anna", 1_000, "not taken"),
        ],
        Quarantining::Arrives,
    ),
    swap_out(
        "no receiver is named",
        &[
            deposit("Nora", "", 1_000, "refunded"),
            deposit("Nick", "", FEE, "processed as fees"),
            deposit("wakes2", "", 700, "refunded"),
        ],
        Quarantining::Arrives,
    ),
    swap_out(
        "no refund is taken",
        &[deposit("never2", "", 1_000, QUARANTINED), deposit("Nora", "", 1_000, "refunded")],
        Quarantining::Arrives,
    ),
    swap_out(
        "refunds are lost or not taken",
        &[deposit("tardy2", "", 1_000, "refunded"), deposit("late2", "", 700, QUARANTINED)],
        Quarantining::FailsOnce,
    ),
    swap_out(
        "a person allows one more",
        &[deposit("freed1", "", 1_000, "refunded")],
        Quarantining::Arrives,
    ),
];

/// Maximum number of deposits of a drawn case.
const MOST: u64 = 8;

impl SwapCase {
    /// Deposits of the cases of one flow, each of another sender: whom an asset maps a credit to is told by its
    /// sender.
    pub(crate) fn drawn(draws: &mut SplitMix) -> Self {
        let flow = if draws.once_in(1, 2) { "swap_in" } else { "swap_out" };
        let cases = SWAP_CASES.into_iter().filter(|case| case.flow == flow);
        let known: Vec<SwapDeposit> = cases.flat_map(|case| case.deposits.into_owned()).collect();
        let mut deposits: Vec<SwapDeposit> = Vec::new();
        for _ in 0..within(draws, 1, MOST) {
            let drawn = one_of(draws, &known);
            let new =
                |deposit: &SwapDeposit| deposits.iter().all(|has| has.sender != deposit.sender);
            deposits.extend(drawn.filter(new));
        }
        let ways = [Quarantining::Arrives, Quarantining::FailsOnce, Quarantining::LostOnce];
        let quarantine = one_of(draws, &ways).unwrap_or(Quarantining::Arrives);
        Self { flow, name: "drawn", deposits: Cow::Owned(deposits), quarantine }
    }
}

/// A name begins so, in any case.
fn begins(account: &str, with: &str) -> bool {
    account.get(..with.len()).is_some_and(|start| start.eq_ignore_ascii_case(with))
}

/// Whether a chain has an account of that name.
pub fn exists(account: &str) -> bool {
    !begins(account, "ghost")
}

/// Whether an account can be given its money back.
pub fn receives(account: &str) -> bool {
    exists(account) && !begins(account, "gone")
}

/// Whether there is inventory for a payment to it.
pub(super) fn covered(account: &str) -> bool {
    !begins(account, "poor")
}

/// Whether the asset that maps a credit to it is found at the last look alone.
pub(super) fn is_found_late(account: &str) -> bool {
    begins(account, "slow")
}

/// Whether no payment to it arrives.
pub(super) fn is_lost(account: &str) -> bool {
    begins(account, "lost")
}

/// Whether what it sent can be taken in.
pub(super) fn credit_possible(account: &str) -> bool {
    !begins(account, "stale")
}

/// Whether a person allows one more refund to it.
pub(super) fn is_freed(account: &str) -> bool {
    begins(account, "freed")
}

/// Whether it spoils a transaction that pays it, and with it the attempts of those in its company.
pub fn spoils(account: &str) -> bool {
    begins(account, "bad")
}

/// An account is as its name says.
pub(super) fn settle(chain: &SimChain, account: &str) {
    if exists(account) {
        chain.register(account);
    }
    if spoils(account) {
        chain.spoil(account);
    }
    if begins(account, "freed") {
        chain.spoils_first(account, 3);
    }
    if is_lost(account) {
        chain.loses_payments(account, usize::MAX);
    }
    if begins(account, "tardy") {
        chain.loses_payments(account, 4);
        chain.loses_credits(account, 1);
    }
    if begins(account, "never") || begins(account, "late") {
        chain.sleeps(account, true);
    }
    if begins(account, "late") {
        chain.loses_voids(account, 1);
    }
    if begins(account, "fickle") {
        chain.revokes(account);
    }
    if begins(account, "wakes") {
        chain.sleeps(account, false);
    }
}

/// The quarantine account fares so.
pub(super) fn prepare_quarantine(chain: &SimChain, quarantine: Quarantining) {
    chain.register(QUARANTINE);
    match quarantine {
        Quarantining::Arrives => {}
        Quarantining::FailsOnce => chain.spoils_first(QUARANTINE, 1),
        Quarantining::LostOnce => chain.loses_payments(QUARANTINE, 1),
    }
}

/// How often a swap that ended so has paid its receiver, given back, and quarantined, all told.
pub(super) const fn wanted(outcome: Option<Outcome>) -> [usize; 3] {
    match outcome {
        Some(Outcome::Paid) => [1, 0, 0],
        Some(Outcome::GivenBack) => [0, 1, 0],
        Some(Outcome::Held) => [0, 0, 1],
        Some(Outcome::Kept | Outcome::Failed) | None => [0, 0, 0],
    }
}
