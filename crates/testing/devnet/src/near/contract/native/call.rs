//! A call of the token in Rust: what its methods share.

use super::stored::Contract;
use crate::near::contract::session::{Returned, Session, Stop};
use near_primitives::types::AccountId;
use serde::{Serialize, de::DeserializeOwned};

#[derive(Debug)]
pub(super) struct Call {
    pub(super) session: Session,
}

impl Call {
    pub(super) fn credit(
        &mut self,
        contract: &mut Contract,
        account: &AccountId,
        balance: u128,
        amount: u128,
    ) -> Result<(), Stop> {
        let Some(sum) = balance.checked_add(amount) else {
            return panicked("Balance overflow");
        };
        contract.put(&mut self.session, account, sum)?;
        let Some(supply) = contract.total_supply.checked_add(amount) else {
            return panicked("Total supply overflow");
        };
        contract.total_supply = supply;
        Ok(())
    }

    pub(super) fn registered(
        &mut self,
        contract: &Contract,
        account: &AccountId,
    ) -> Result<u128, Stop> {
        let balance = contract.balance(&mut self.session, account)?;
        balance.ok_or_else(|| Stop::Panic(format!("The account {account} is not registered")))
    }

    pub(super) fn as_owner(&mut self) -> Result<Contract, Stop> {
        let contract = Contract::load(&mut self.session)?;
        if self.session.context.predecessor != contract.owner {
            return panicked("Only the owner may call this");
        }
        Ok(contract)
    }

    pub(super) fn least(&self, contract: &Contract) -> u128 {
        let price = self.session.config.storage_amount_per_byte().as_yoctonear();
        price.saturating_mul(u128::from(contract.account_storage_usage))
    }

    pub(super) fn refund(&mut self, payer: AccountId, amount: u128) -> Result<(), Stop> {
        if amount == 0 { Ok(()) } else { self.session.transfer(payer, amount) }
    }

    pub(super) fn one_yocto(&self) -> Result<(), Stop> {
        if self.session.context.deposit == 1 {
            Ok(())
        } else {
            panicked("Requires attached deposit of exactly 1 yoctoNEAR")
        }
    }

    pub(super) fn no_deposit(&self, method: &str) -> Result<(), Stop> {
        if self.session.context.deposit == 0 {
            Ok(())
        } else {
            panicked(&format!("Method {method} doesn't accept deposit"))
        }
    }

    /// A NEP-297 line, with the fields in the order in which the contract writes them.
    pub(super) fn event(&mut self, name: &str, data: &impl Serialize) -> Result<(), Stop> {
        let data = written(data)?;
        self.session.log(format!(
            r#"EVENT_JSON:{{"standard":"nep141","version":"1.0.0","event":"{name}","data":[{data}]}}"#
        ))
    }

    pub(super) fn input<T: DeserializeOwned>(&self) -> Result<T, Stop> {
        serde_json::from_slice(&self.session.context.input).map_err(|error| {
            Stop::Panic(format!("Failed to deserialize input from JSON. Error: `{error}`"))
        })
    }

    pub(super) fn give(&mut self, value: &impl Serialize) -> Result<(), Stop> {
        self.session.returned = Returned::Value(written(value)?.into_bytes());
        Ok(())
    }
}

fn written(value: &impl Serialize) -> Result<String, Stop> {
    serde_json::to_string(value).map_err(|error| Stop::Host(error.to_string()))
}

pub(super) fn panicked<T>(message: &str) -> Result<T, Stop> {
    Err(Stop::Panic(message.to_owned()))
}
