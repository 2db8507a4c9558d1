//! NEP-145: registering accounts, and leaving.

use super::{
    call::{Call, panicked},
    inputs::{Holder, StorageBalance, StorageBounds, StorageDeposit, Unregister},
    stored::Contract,
};
use crate::near::contract::session::Stop;

impl Call {
    pub(super) fn storage_deposit(&mut self) -> Result<(), Stop> {
        let StorageDeposit { account_id } = self.input()?;
        let contract = Contract::load(&mut self.session)?;
        let (payer, deposit) =
            (self.session.context.predecessor.clone(), self.session.context.deposit);
        let account = account_id.unwrap_or_else(|| payer.clone());
        let least = self.least(&contract);
        if contract.balance(&mut self.session, &account)?.is_some() {
            self.session
                .log("The account is already registered, refunding the deposit".to_owned())?;
            self.refund(payer, deposit)?;
        } else {
            let Some(more) = deposit.checked_sub(least) else {
                return panicked("The attached deposit is less than the minimum storage balance");
            };
            contract.put(&mut self.session, &account, 0)?;
            self.refund(payer, more)?;
        }
        contract.save(&mut self.session)?;
        self.give(&StorageBalance { total: least.to_string(), available: "0" })
    }

    pub(super) fn storage_unregister(&mut self) -> Result<(), Stop> {
        let Unregister { force } = self.input()?;
        let mut contract = Contract::load(&mut self.session)?;
        self.one_yocto()?;
        let account = self.session.context.predecessor.clone();
        let Some(balance) = contract.balance(&mut self.session, &account)? else {
            self.session.log(format!("The account {account} is not registered"))?;
            contract.save(&mut self.session)?;
            return self.give(&false);
        };
        if balance > 0 && force != Some(true) {
            return panicked(
                "Can't unregister the account with the positive balance without force",
            );
        }
        contract.forget(&mut self.session, &account)?;
        contract.total_supply = contract.total_supply.saturating_sub(balance);
        let back = self.least(&contract).saturating_add(1);
        self.session.transfer(account, back)?;
        contract.save(&mut self.session)?;
        self.give(&true)
    }

    pub(super) fn storage_balance_bounds(&mut self) -> Result<(), Stop> {
        let contract = Contract::load(&mut self.session)?;
        let least = self.least(&contract).to_string();
        self.give(&StorageBounds { min: least.clone(), max: least })
    }

    pub(super) fn storage_balance_of(&mut self) -> Result<(), Stop> {
        let Holder { account_id } = self.input()?;
        let contract = Contract::load(&mut self.session)?;
        let known = contract.balance(&mut self.session, &account_id)?.is_some();
        let total = self.least(&contract).to_string();
        self.give(&known.then_some(StorageBalance { total, available: "0" }))
    }
}
