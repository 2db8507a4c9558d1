//! Accounts with a number of their own, at the accounts ledger (`accounts_tb`). Each has one asset and one
//! owner.

use crate::answer::Evidence;
use crate::code::Code;
use crate::ids::{AssetId, UserId, user_text};
use crate::money::Amount;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Whether a numbered account may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum NumberedStatus {
    /// The account may pay and receive.
    Active,
    /// It may receive, not pay.
    Frozen,
    /// It is empty, and may neither receive nor pay again.
    Closed,
}

impl NumberedStatus {
    /// Every status, in the order of the declaration.
    pub const ALL: &'static [Self] = &[Self::Active, Self::Frozen, Self::Closed];

    /// The stored and wire spelling.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Active => "ACTIVE",
            Self::Frozen => "FROZEN",
            Self::Closed => "CLOSED",
        }
    }

    /// The status of that spelling.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|status| status.name() == text)
    }

    /// The code of a refused payment out of the account; `None` where it may pay.
    pub const fn bars_payment(self) -> Option<Code> {
        match self {
            Self::Active => None,
            Self::Frozen => Some(Code::AccountFrozen),
            Self::Closed => Some(Code::AccountClosed),
        }
    }

    /// The code of refused money into the account; `None` where it may receive.
    pub const fn bars_receipt(self) -> Option<Code> {
        match self {
            Self::Active | Self::Frozen => None,
            Self::Closed => Some(Code::AccountClosed),
        }
    }
}

/// The most characters of a new account's number: an IBAN has up to 34.
pub const LONGEST_NUMBER: usize = 34;

/// Whether this is the number of an account: 1 to [`LONGEST_NUMBER`] upper-case letters, digits and
/// dashes. It begins with no dash, which a command line takes for an option.
pub fn is_account_number(text: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=LONGEST_NUMBER).contains(&text.len()) && text.bytes().all(fits) && !text.starts_with('-')
}

/// A numbered account as it is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NumberedAccount {
    /// The account's number: a text of its operator's choice, unique for ever.
    pub number: Arc<str>,
    /// The user who may move its money.
    #[serde(with = "user_text")]
    pub owner: UserId,
    /// The one asset that it holds (`currency`).
    pub asset: AssetId,
    /// What it holds, in base units.
    pub balance: Amount,
    /// Whether it may be used.
    pub status: NumberedStatus,
    /// Raised by every write of its row; above 0.
    pub version: u64,
}

impl NumberedAccount {
    /// The balance that is left when the account has paid this amount.
    ///
    /// # Errors
    /// The code by which it may not pay.
    pub fn balance_after_payment(&self, asset: AssetId, amount: Amount) -> Result<Amount, Code> {
        if self.asset != asset {
            return Err(Code::CurrencyMismatch);
        }
        match self.status.bars_payment() {
            Some(code) => Err(code),
            None => self.balance.minus(amount).ok_or(Code::InsufficientBalance),
        }
    }

    /// The account that receives from this one; `None`: there is none of that number.
    ///
    /// # Errors
    /// Why it may not receive. Of an account of the same owner the exact code; of any other
    /// `TARGET_ACCOUNT_NOT_FOUND`, and the exact code in the document, which operators alone read: a payer must
    /// not find out which numbers exist.
    pub fn check_payee<'a>(
        &self,
        payee: Option<&'a Self>,
        asset: AssetId,
    ) -> Result<&'a Self, Evidence> {
        let Some(payee) = payee else { return Err(hidden(Code::AccountNotFound)) };
        let other = (payee.asset != asset).then_some(Code::CurrencyMismatch);
        match payee.status.bars_receipt().or(other) {
            None => Ok(payee),
            Some(code) if payee.owner == self.owner => Err(Evidence::code(code)),
            Some(code) => Err(hidden(code)),
        }
    }
}

/// The refusal of a payee whose exact code is for operators.
fn hidden(code: Code) -> Evidence {
    Evidence { doc: Some(code.name().into()), ..Evidence::code(Code::TargetAccountNotFound) }
}

/// A selection of numbered accounts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AccountsOf {
    /// Those of these numbers; unknown ones are left out.
    Numbers(Vec<Arc<str>>),
    /// Every account of this owner.
    Owner(UserId),
    /// The next ones above this number in the order of its bytes, and the maximum number of them.
    After(Arc<str>, usize),
}
