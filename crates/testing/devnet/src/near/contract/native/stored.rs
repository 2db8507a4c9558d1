//! The bytes that the token stores, as its wasm writes them.

use crate::near::contract::session::{Session, Stop};
use borsh::{BorshDeserialize, BorshSerialize};
use near_primitives::types::AccountId;

const STATE: &[u8] = b"STATE";

/// The contract's state; the layout is that of `contract/src/lib.rs`.
#[derive(Debug, BorshSerialize, BorshDeserialize)]
pub(super) struct Contract {
    pub(super) owner: AccountId,
    pub(super) paused: bool,
    pub(super) metadata: Metadata,
    pub(super) prefix: Vec<u8>,
    pub(super) total_supply: u128,
    pub(super) account_storage_usage: u64,
}

#[derive(Debug, BorshSerialize, BorshDeserialize, serde::Serialize)]
pub(super) struct Metadata {
    pub(super) spec: String,
    pub(super) name: String,
    pub(super) symbol: String,
    pub(super) icon: Option<String>,
    pub(super) reference: Option<String>,
    pub(super) reference_hash: Option<Vec<u8>>,
    pub(super) decimals: u8,
}

impl Contract {
    pub(super) fn load(session: &mut Session) -> Result<Self, Stop> {
        let bytes = session.read(STATE)?;
        let bytes =
            bytes.ok_or_else(|| Stop::Panic("The contract is not initialized".to_owned()))?;
        borsh::from_slice(&bytes)
            .map_err(|_| Stop::Panic("Cannot deserialize the contract state.".to_owned()))
    }

    pub(super) fn exists(session: &mut Session) -> Result<bool, Stop> {
        session.has(STATE)
    }

    pub(super) fn save(&self, session: &mut Session) -> Result<(), Stop> {
        session.write(STATE, &bytes(self)?).map(drop)
    }

    pub(super) fn balance(
        &self,
        session: &mut Session,
        account: &AccountId,
    ) -> Result<Option<u128>, Stop> {
        let Some(value) = session.read(&self.key(account)?)? else { return Ok(None) };
        let value = <[u8; 16]>::try_from(&*value)
            .map_err(|_| Stop::Panic("Cannot deserialize value with Borsh".to_owned()))?;
        Ok(Some(u128::from_le_bytes(value)))
    }

    pub(super) fn put(
        &self,
        session: &mut Session,
        account: &AccountId,
        balance: u128,
    ) -> Result<(), Stop> {
        session.write(&self.key(account)?, &balance.to_le_bytes()).map(drop)
    }

    pub(super) fn forget(&self, session: &mut Session, account: &AccountId) -> Result<(), Stop> {
        session.remove(&self.key(account)?).map(drop)
    }

    fn key(&self, account: &AccountId) -> Result<Vec<u8>, Stop> {
        let mut key = self.prefix.clone();
        key.extend(bytes(account)?);
        Ok(key)
    }
}

fn bytes(value: &impl BorshSerialize) -> Result<Vec<u8>, Stop> {
    borsh::to_vec(value).map_err(|error| Stop::Host(error.to_string()))
}
