//! The cases: who is paid, what happens between signing and sending, and which forms are sent in which order.

/// The account that a payment names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Receiver {
    /// A token account of the vault's mint.
    TokenAccount,
    /// A wallet that has an associated account.
    Wallet,
    /// A wallet that has none.
    NoAccount,
    /// A token account of another mint.
    OtherMint,
}

/// What happens on the chain once the forms are signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    Nothing,
    /// The issuer freezes the receiver's account.
    ReceiverFrozen,
    /// The receiver's owner closes its account.
    ReceiverClosed,
    /// The issuer freezes the vault's account.
    VaultFrozen,
    /// Another program takes all but one unit of the vault's tokens.
    VaultShort,
    /// Another program takes all lamports of the vault's key.
    NoFees,
    /// It leaves as many as the key must have, and none for a fee.
    FeesBelowRent,
}

/// One of the three forms that the adapter signs under one nonce.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FormKind {
    First,
    /// The same payment with twice the priority fee.
    Higher,
    /// The advance of the nonce alone, which pays nothing.
    Void,
}

/// What becomes of a form that is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ends {
    Done,
    /// A block holds it with an error: it pays its fee and spends its nonce.
    Failed,
    /// No block holds it: it costs nothing.
    Refused,
}

/// A form that is sent, and the end without which the case tests nothing.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Step {
    pub(crate) form: FormKind,
    pub(crate) ends: Ends,
}

#[derive(Debug)]
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) receiver: Receiver,
    pub(crate) change: Change,
    pub(crate) steps: Vec<Step>,
}

use Ends::{Done, Failed, Refused};
use FormKind::{First, Higher, Void};

pub(crate) fn cases() -> Vec<Case> {
    let paid = |name, receiver| Case {
        name,
        receiver,
        change: Change::Nothing,
        steps: first_of(&[First, First, Higher, Void], Done),
    };
    // what fails must spend its nonce: else one of the forms behind it pays
    let fails = |name, receiver, change| Case {
        name,
        receiver,
        change,
        steps: first_of(&[First, First, Higher, Void], Failed),
    };
    let refused = |name, change| Case {
        name,
        receiver: Receiver::TokenAccount,
        change,
        steps: first_of(&[First, Void], Refused),
    };
    let token = Receiver::TokenAccount;
    vec![
        paid("a payment to a token account", token),
        paid("a payment to a wallet", Receiver::Wallet),
        Case {
            steps: first_of(&[Higher, First, Void], Done),
            ..paid("a higher priority fee", token)
        },
        Case { steps: first_of(&[Void, First, Higher, Void], Done), ..paid("a void", token) },
        fails("a receiver without an account", Receiver::NoAccount, Change::Nothing),
        fails("a receiver of another mint", Receiver::OtherMint, Change::Nothing),
        fails("a frozen receiver", token, Change::ReceiverFrozen),
        fails("a receiver that closed its account", token, Change::ReceiverClosed),
        fails("a vault that is short", token, Change::VaultShort),
        fails("a frozen vault", token, Change::VaultFrozen),
        Case {
            steps: first_of(&[Void, First], Done),
            ..fails("a void before a payment that would fail", token, Change::VaultShort)
        },
        refused("no lamports for a fee", Change::NoFees),
        refused("lamports for the rent alone", Change::FeesBelowRent),
    ]
}

/// These forms one after the other: the first ends so, and no block holds one of the others.
fn first_of(forms: &[FormKind], first: Ends) -> Vec<Step> {
    let ends = std::iter::once(first).chain(std::iter::repeat(Refused));
    forms.iter().zip(ends).map(|(form, ends)| Step { form: *form, ends }).collect()
}
