//! The accounts ledger: a move between two numbered accounts, and an account that is opened, frozen or
//! closed. Both balances change, or neither.

use super::legs::{Posting, counts, refused, unknown};
use super::{StateReader, Stopped};
use crate::accounts::{NumberedAccount, NumberedStatus};
use crate::answer::{Answer, Cause, Evidence};
use crate::code::Code;
use crate::flow::life::Leg;
use crate::ids::{AssetId, UserId};
use crate::money::Amount;
use crate::operation::Op;
use crate::record::Account;
use crate::unit::Wrote;
use std::sync::Arc;

impl Posting {
    /// Whether a move may be made: then both accounts change.
    pub(super) fn transfer<S: StateReader>(
        &mut self,
        state: &mut S,
        op: &Op,
    ) -> Result<(), Stopped<Answer, S::Error>> {
        let (Account::Named(from), Some(Account::Named(to))) = (&op.account, &op.other) else {
            return Err(unknown("BAD_OPERATION", "not two numbered accounts"));
        };
        if op.key.leg != Leg::Move || !counts(op) || !state.knows(op.asset)? {
            return Err(unknown("BAD_OPERATION", "not a move, or asset or amount"));
        }
        if let Some(why) = state.refused(op.key) {
            return Err(refused(why));
        }
        let no = |code: Code| Err(refused(Evidence::code(code)));
        if from == to {
            return no(Code::SameAccount);
        }
        let Some(payer) = self.account(state, from)? else {
            return no(Code::SourceAccountNotFound);
        };
        let rest = match payer.balance_after_payment(op.asset, op.amount) {
            Ok(rest) => rest,
            Err(code) => return no(code),
        };
        let payee = self.account(state, to)?;
        let payee = payer.check_payee(payee.as_ref(), op.asset).map_err(refused)?.clone();
        let Some(sum) = payee.balance.plus(op.amount) else {
            return Err(unknown("BAD_OPERATION", "a balance too large"));
        };
        self.set_balance(payer, rest);
        self.set_balance(payee, sum);
        Ok(())
    }

    /// A numbered account as this posting leaves it so far.
    pub(super) fn account<S: StateReader>(
        &self,
        state: &mut S,
        number: &Arc<str>,
    ) -> Result<Option<NumberedAccount>, S::Error> {
        match self.accounts.iter().find(|account| account.number == *number) {
            Some(account) => Ok(Some(account.clone())),
            None => state.numbered_account(number),
        }
    }

    pub(super) fn set_balance(&mut self, account: NumberedAccount, balance: Amount) {
        self.sums.numbered(account.asset, account.balance, balance);
        self.set_account(NumberedAccount { balance, ..account });
    }

    fn set_account(&mut self, account: NumberedAccount) {
        match self.accounts.iter_mut().find(|other| other.number == account.number) {
            Some(other) => *other = account,
            None => self.accounts.push(account),
        }
    }

    /// Opens an account, or changes its status. Its owner and its asset never change, and only an empty
    /// account is closed.
    pub(super) fn put_account<S: StateReader>(
        &mut self,
        state: &mut S,
        wanted: &WantedAccount<'_>,
    ) -> Result<(), Stopped<Wrote, S::Error>> {
        let WantedAccount { number, owner, asset, status } = *wanted;
        let no = |class, why: &str| {
            Err(Stopped::Answer(Wrote::Unknown(Cause::because(class, why.to_owned()))))
        };
        let account = match self.account(state, number)? {
            None => {
                if !owner.is_valid() || !state.knows(asset)? || number.is_empty() {
                    return no("BAD_OPERATION", "number, owner or asset");
                }
                let (number, balance) = (number.clone(), Amount::ZERO);
                NumberedAccount { number, owner, asset, balance, status, version: 0 }
            }
            Some(now) if (now.owner, now.asset) != (owner, asset) => {
                return no(Cause::CONTRADICTION, "the account has another owner or currency");
            }
            Some(now) if status == NumberedStatus::Closed && now.balance != Amount::ZERO => {
                return no(Cause::CONTRADICTION, "the account that is closed is not empty");
            }
            Some(now) if now.status == NumberedStatus::Closed && now.status != status => {
                return no(Cause::CONTRADICTION, "the account is closed for ever");
            }
            Some(now) => NumberedAccount { status, ..now },
        };
        self.set_account(account);
        Ok(())
    }
}

/// What a unit says of an account.
#[derive(Debug, Clone, Copy)]
pub(super) struct WantedAccount<'u> {
    pub(super) number: &'u Arc<str>,
    pub(super) owner: UserId,
    pub(super) asset: AssetId,
    pub(super) status: NumberedStatus,
}
