//! The token's methods, in the order of checks of the standards crate.

use super::stored::{Contract, Metadata};
use crate::near::contract::session::{Returned, Session, Stop};
use near_primitives::types::AccountId;
use serde::{
    Deserialize, Deserializer, Serialize,
    de::{DeserializeOwned, Error},
};

#[derive(Debug)]
pub(super) struct Call {
    pub(super) session: Session,
}

#[derive(Deserialize)]
struct New {
    owner_id: AccountId,
    name: String,
    symbol: String,
    decimals: u8,
}

#[derive(Deserialize)]
struct Transfer {
    receiver_id: AccountId,
    #[serde(deserialize_with = "number")]
    amount: u128,
    memo: Option<String>,
}

#[derive(Deserialize)]
struct Mint {
    account_id: AccountId,
    #[serde(deserialize_with = "number")]
    amount: u128,
}

#[derive(Deserialize)]
struct Account {
    account_id: AccountId,
}

#[derive(Deserialize)]
struct StorageDeposit {
    account_id: Option<AccountId>,
}

#[derive(Deserialize)]
struct Unregister {
    force: Option<bool>,
}

#[derive(Deserialize)]
struct Paused {
    paused: bool,
}

#[derive(Serialize)]
struct Minted<'a> {
    owner_id: &'a AccountId,
    amount: String,
}

#[derive(Serialize)]
struct Transferred<'a> {
    old_owner_id: &'a AccountId,
    new_owner_id: &'a AccountId,
    amount: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    memo: Option<&'a str>,
}

#[derive(Serialize)]
struct StorageBalance {
    total: String,
    available: &'static str,
}

#[derive(Serialize)]
struct StorageBounds {
    min: String,
    max: String,
}

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
        let Account { account_id } = self.input()?;
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
        let Account { account_id } = self.input()?;
        let contract = Contract::load(&mut self.session)?;
        let known = contract.balance(&mut self.session, &account_id)?.is_some();
        let total = self.least(&contract).to_string();
        self.give(&known.then_some(StorageBalance { total, available: "0" }))
    }

    fn credit(
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

    fn registered(&mut self, contract: &Contract, account: &AccountId) -> Result<u128, Stop> {
        let balance = contract.balance(&mut self.session, account)?;
        balance.ok_or_else(|| Stop::Panic(format!("The account {account} is not registered")))
    }

    fn as_owner(&mut self) -> Result<Contract, Stop> {
        let contract = Contract::load(&mut self.session)?;
        if self.session.context.predecessor != contract.owner {
            return panicked("Only the owner may call this");
        }
        Ok(contract)
    }

    fn least(&self, contract: &Contract) -> u128 {
        let price = self.session.config.storage_amount_per_byte().as_yoctonear();
        price.saturating_mul(u128::from(contract.account_storage_usage))
    }

    fn refund(&mut self, payer: AccountId, amount: u128) -> Result<(), Stop> {
        if amount == 0 { Ok(()) } else { self.session.transfer(payer, amount) }
    }

    fn one_yocto(&self) -> Result<(), Stop> {
        if self.session.context.deposit == 1 {
            Ok(())
        } else {
            panicked("Requires attached deposit of exactly 1 yoctoNEAR")
        }
    }

    fn no_deposit(&self, method: &str) -> Result<(), Stop> {
        if self.session.context.deposit == 0 {
            Ok(())
        } else {
            panicked(&format!("Method {method} doesn't accept deposit"))
        }
    }

    /// A NEP-297 line, with the fields in the order in which the contract writes them.
    fn event(&mut self, name: &str, data: &impl Serialize) -> Result<(), Stop> {
        let data = written(data)?;
        self.session.log(format!(
            r#"EVENT_JSON:{{"standard":"nep141","version":"1.0.0","event":"{name}","data":[{data}]}}"#
        ))
    }

    fn input<T: DeserializeOwned>(&self) -> Result<T, Stop> {
        serde_json::from_slice(&self.session.context.input).map_err(|error| {
            Stop::Panic(format!("Failed to deserialize input from JSON. Error: `{error}`"))
        })
    }

    fn give(&mut self, value: &impl Serialize) -> Result<(), Stop> {
        self.session.returned = Returned::Value(written(value)?.into_bytes());
        Ok(())
    }
}

fn written(value: &impl Serialize) -> Result<String, Stop> {
    serde_json::to_string(value).map_err(|error| Stop::Host(error.to_string()))
}

fn number<'de, D: Deserializer<'de>>(from: D) -> Result<u128, D::Error> {
    String::deserialize(from)?.parse().map_err(D::Error::custom)
}

fn panicked<T>(message: &str) -> Result<T, Stop> {
    Err(Stop::Panic(message.to_owned()))
}
