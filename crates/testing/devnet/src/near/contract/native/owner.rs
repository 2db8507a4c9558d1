//! What only the token's owner does: the beginning, new tokens, a pause.

use super::{
    call::{Call, panicked},
    inputs::{Mint, Minted, New, Paused},
    stored::{Contract, Metadata},
};
use crate::near::contract::session::Stop;
use near_primitives::types::AccountId;

impl Call {
    pub(super) fn initialize(&mut self) -> Result<(), Stop> {
        self.no_deposit("new")?;
        let New { owner_id, name, symbol, decimals } = self.input()?;
        if Contract::exists(&mut self.session)? {
            return panicked("The contract has already been initialized");
        }
        let metadata = Metadata {
            spec: "ft-1.0.0".to_owned(),
            name,
            symbol,
            icon: None,
            reference: None,
            reference_hash: None,
            decimals,
        };
        let mut contract = Contract {
            owner: owner_id,
            paused: false,
            metadata,
            prefix: b"t".to_vec(),
            total_supply: 0,
            account_storage_usage: 0,
        };
        contract.account_storage_usage = self.measure(&contract)?;
        contract.save(&mut self.session)
    }

    /// The size of the longest account's entry, by writing one.
    fn measure(&mut self, contract: &Contract) -> Result<u64, Stop> {
        let longest: AccountId =
            "a".repeat(64).parse().map_err(|_| Stop::Host("account id".to_owned()))?;
        let before = self.session.storage_usage;
        contract.put(&mut self.session, &longest, 0)?;
        let after = self.session.storage_usage;
        contract.forget(&mut self.session, &longest)?;
        Ok(after.saturating_sub(before))
    }

    pub(super) fn mint(&mut self) -> Result<(), Stop> {
        self.no_deposit("mint")?;
        let Mint { account_id, amount } = self.input()?;
        let mut contract = self.as_owner()?;
        let balance = contract.balance(&mut self.session, &account_id)?.unwrap_or(0);
        self.credit(&mut contract, &account_id, balance, amount)?;
        let minted = Minted { owner_id: &account_id, amount: amount.to_string() };
        self.event("ft_mint", &minted)?;
        contract.save(&mut self.session)
    }

    pub(super) fn set_paused(&mut self) -> Result<(), Stop> {
        self.no_deposit("set_paused")?;
        let Paused { paused } = self.input()?;
        let mut contract = self.as_owner()?;
        contract.paused = paused;
        contract.save(&mut self.session)
    }
}
