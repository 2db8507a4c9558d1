//! Opens, freezes, frees and closes accounts at the accounts ledger. The owner and the currency of an
//! account never change.

use crate::operators::Operators;
use crate::operators::action_context::{ActionContext, Stop};
use crate::operators::{ActionResult, NewNumberedAccount, Objection};
use kernel::accounts::{
    AccountsOf, LONGEST_NUMBER, NumberedAccount, NumberedStatus, is_account_number,
};
use kernel::answer::Cause;
use kernel::code::Code;
use kernel::ids::Millis;
use kernel::money::Amount;
use kernel::unit::{Guard, Put, Unit};
use std::sync::Arc;

/// How often a change of an account's status is tried again while money moves in and out of it.
const TRIES: usize = 50;

impl Operators {
    pub(super) async fn open_account(
        &self,
        context: &ActionContext,
        new: &NewNumberedAccount,
    ) -> Result<(ActionResult, Millis), Stop> {
        let NewNumberedAccount { number, owner, currency } = new;
        if !is_account_number(number) {
            let why = format!(
                "the number of an account is 1 to {LONGEST_NUMBER} upper-case letters, digits and \
                 dashes, and begins with no dash"
            );
            return Err(Objection::Invalid(why).into());
        }
        let asset = self.shared.asset(currency).ok_or(Objection::Code(Code::InvalidAsset))?.id;
        let in_use = || Objection::NotPossible(format!("the number {number} is in use"));
        if self.numbered_account(number).await?.is_some() {
            return Err(in_use().into());
        }
        let account = NumberedAccount {
            number: number.clone(),
            owner: *owner,
            asset,
            balance: Amount::ZERO,
            status: NumberedStatus::Active,
            version: 0,
        };
        match self.write_account(context, account).await? {
            Ok(done) => Ok(done),
            Err(_) => Err(in_use().into()),
        }
    }

    pub(super) async fn set_account_status(
        &self,
        context: &ActionContext,
        number: &Arc<str>,
        status: NumberedStatus,
    ) -> Result<(ActionResult, Millis), Stop> {
        let mut first = None;
        for _ in 0..TRIES {
            let stored = self.numbered_account(number).await?;
            let account = stored.ok_or(Objection::NotFound("account"))?;
            // what another operator decided meanwhile is not overwritten: this one decides anew
            let before = *first.get_or_insert(account.status);
            if before != account.status {
                let now = account.status.name();
                let why = format!("another operator has just set it: the account is {now}");
                return Err(Objection::NotPossible(why).into());
            }
            self.may_become(&account, status)?;
            let account = NumberedAccount { status, ..account };
            if let Ok(done) = self.write_account(context, account).await? {
                return Ok(done);
            }
        }
        Err(Cause::of("MOVES").into())
    }

    /// Checks that an account may have that status from now on.
    fn may_become(&self, account: &NumberedAccount, status: NumberedStatus) -> Result<(), Stop> {
        let closes = status == NumberedStatus::Closed;
        if account.status == NumberedStatus::Closed && !closes {
            return Err(Objection::Code(Code::AccountClosed).into());
        }
        if closes && account.balance != Amount::ZERO {
            let assets = self.shared.assets();
            let asset = assets.iter().find(|asset| asset.id == account.asset);
            let holds = asset.map_or_else(
                || account.balance.to_string(),
                |asset| format!("{} {}", account.balance.decimal(asset.precision), asset.symbol),
            );
            let why = format!("the account holds {holds}: only an empty one is closed");
            return Err(Objection::NotPossible(why).into());
        }
        Ok(())
    }

    async fn numbered_account(&self, number: &Arc<str>) -> Result<Option<NumberedAccount>, Cause> {
        let of = AccountsOf::Numbers(vec![number.clone()]);
        Ok(self.shared.parts.journal.numbered_accounts(of).await?.pop())
    }

    /// Writes the account over the version that was read, with the action. Returns the guard that failed,
    /// where one did.
    async fn write_account(
        &self,
        context: &ActionContext,
        read: NumberedAccount,
    ) -> Result<Result<(ActionResult, Millis), Guard>, Stop> {
        let NumberedAccount { number, owner, asset, status, version, .. } = read.clone();
        let guards = vec![Guard::Account { number: number.clone(), version }];
        let account = NumberedAccount { version: version.saturating_add(1), ..read };
        let outcome = ActionResult::NumberedAccount { account };
        let put = Put::Account { number, owner, asset, status };
        let unit = Unit::guarded(guards, vec![put, context.action(&outcome)]);
        Ok(self.wrote(context, unit).await?.map(|at| (outcome, at)))
    }
}
