//! Opens, freezes, frees and closes accounts at the accounts ledger. The owner and the currency of an
//! account never change.

use crate::operators::Operators;
use crate::operators::account_status::{SET_AGAIN, StatusTrail};
use crate::operators::action_context::{ActionContext, Stop};
use crate::operators::verdict::decides;
use crate::operators::{ActionResult, NewNumberedAccount, Objection};
use kernel::accounts::{
    AccountsOf, LONGEST_NUMBER, NumberedAccount, NumberedStatus, is_account_number,
};
use kernel::answer::Cause;
use kernel::code::Code;
use kernel::ids::{Id, Millis};
use kernel::money::Amount;
use kernel::operators::{ACCOUNT_STATUS, ApprovalStatus, Proposed, ProposedAccountStatus};
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
        match self.write_account(context, account, None).await? {
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
            // whatever sets it after this reading changes the version too
            if let Some(proposed) = self.frees_own(context, number, status).await? {
                return self.proposes(context, &Proposed::AccountStatus(proposed)).await;
            }
            let account = NumberedAccount { status, ..account };
            if let Ok(done) = self.write_account(context, account, None).await? {
                return Ok(done);
            }
        }
        Err(Cause::of("MOVES").into())
    }

    /// The proposal in the place of a change by which a person would free what that person froze.
    async fn frees_own(
        &self,
        context: &ActionContext,
        number: &Arc<str>,
        status: NumberedStatus,
    ) -> Result<Option<ProposedAccountStatus>, Cause> {
        if !self.shared.parts.settings.four_eyes {
            return Ok(None);
        }
        let trail = self.status_trail(ACCOUNT_STATUS, &context.subject).await?;
        let above = |word: &str| NumberedStatus::parse(word).is_some_and(|barred| barred > status);
        let own = trail.frees_own_bar(&context.actor.caller, above);
        let StatusTrail { set, reason: stop, .. } = trail;
        let account_number = number.clone();
        Ok(own.then_some(ProposedAccountStatus { account_number, status, set, stop }))
    }

    /// Frees an account for which a person who froze it proposed that, where its status is still the one that
    /// both persons knew.
    pub(super) async fn approve_account_status(
        &self,
        context: &ActionContext,
        approval: Id,
        subject: &Arc<str>,
        proposed: &ProposedAccountStatus,
    ) -> Result<(ActionResult, Millis), Stop> {
        for _ in 0..TRIES {
            let stored = self.numbered_account(&proposed.account_number).await?;
            let account = stored.ok_or(Objection::NotFound("account"))?;
            if self.status_trail(ACCOUNT_STATUS, subject).await?.set != proposed.set {
                return self.supersede_proposal(context, approval, SET_AGAIN).await;
            }
            self.may_become(&account, proposed.status)?;
            let account = NumberedAccount { status: proposed.status, ..account };
            if let Ok(done) = self.write_account(context, account, Some(approval)).await? {
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

    /// Writes the account over the version that was read, with the action, and with the proposal that it
    /// approves. Returns the guard that failed, where one did.
    async fn write_account(
        &self,
        context: &ActionContext,
        read: NumberedAccount,
        approval: Option<Id>,
    ) -> Result<Result<(ActionResult, Millis), Guard>, Stop> {
        let NumberedAccount { number, owner, asset, status, version, .. } = read.clone();
        let mut guards = vec![Guard::Account { number: number.clone(), version }];
        guards.extend(approval.map(Guard::Pending));
        let account = NumberedAccount { version: version.saturating_add(1), ..read };
        let outcome = ActionResult::NumberedAccount { account };
        let put = Put::Account { number, owner, asset, status };
        let decide = approval.map(|id| decides(context, id, ApprovalStatus::Approved));
        let puts = decide.into_iter().chain([put, context.action(&outcome)]).collect();
        let unit = Unit::guarded(guards, puts);
        Ok(self.write_unit(unit).await?.map(|at| (outcome, at)))
    }
}
