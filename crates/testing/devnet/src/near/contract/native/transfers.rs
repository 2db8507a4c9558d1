//! NEP-141 and NEP-148: transfers, balances, the description.

use super::{
    call::{Call, panicked},
    inputs::{Holder, Transfer, Transferred},
    stored::Contract,
};
use crate::near::contract::session::Stop;

impl Call {
    pub(super) fn ft_transfer(&mut self) -> Result<(), Stop> {
        let Transfer { receiver_id, amount, memo } = self.input()?;
        let mut contract = Contract::load(&mut self.session)?;
        if contract.paused {
            return panicked("The contract is paused");
        }
        self.one_yocto()?;
        let sender = self.session.context.predecessor.clone();
        if sender == receiver_id {
            return panicked("Sender and receiver should be different");
        }
        if amount == 0 {
            return panicked("The amount should be a positive number");
        }
        let balance = self.registered(&contract, &sender)?;
        let Some(left) = balance.checked_sub(amount) else {
            return panicked("The account doesn't have enough balance");
        };
        contract.put(&mut self.session, &sender, left)?;
        contract.total_supply = contract.total_supply.saturating_sub(amount);
        let balance = self.registered(&contract, &receiver_id)?;
        self.credit(&mut contract, &receiver_id, balance, amount)?;
        let transferred = Transferred {
            old_owner_id: &sender,
            new_owner_id: &receiver_id,
            amount: amount.to_string(),
            memo: memo.as_deref(),
        };
        self.event("ft_transfer", &transferred)?;
        contract.save(&mut self.session)
    }

    pub(super) fn ft_balance_of(&mut self) -> Result<(), Stop> {
        let Holder { account_id } = self.input()?;
        let contract = Contract::load(&mut self.session)?;
        let balance = contract.balance(&mut self.session, &account_id)?.unwrap_or(0);
        self.give(&balance.to_string())
    }

    pub(super) fn ft_total_supply(&mut self) -> Result<(), Stop> {
        let contract = Contract::load(&mut self.session)?;
        self.give(&contract.total_supply.to_string())
    }

    pub(super) fn ft_metadata(&mut self) -> Result<(), Stop> {
        let contract = Contract::load(&mut self.session)?;
        self.give(&contract.metadata)
    }
}
