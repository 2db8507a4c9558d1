//! What the token's methods are called with, and what they say, in JSON.

use near_primitives::types::AccountId;
use serde::{Deserialize, Deserializer, Serialize, de::Error};

#[derive(Deserialize)]
pub(super) struct New {
    pub(super) owner_id: AccountId,
    pub(super) name: String,
    pub(super) symbol: String,
    pub(super) decimals: u8,
}

#[derive(Deserialize)]
pub(super) struct Transfer {
    pub(super) receiver_id: AccountId,
    #[serde(deserialize_with = "number")]
    pub(super) amount: u128,
    pub(super) memo: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct Mint {
    pub(super) account_id: AccountId,
    #[serde(deserialize_with = "number")]
    pub(super) amount: u128,
}

#[derive(Deserialize)]
pub(super) struct Holder {
    pub(super) account_id: AccountId,
}

#[derive(Deserialize)]
pub(super) struct StorageDeposit {
    pub(super) account_id: Option<AccountId>,
}

#[derive(Deserialize)]
pub(super) struct Unregister {
    pub(super) force: Option<bool>,
}

#[derive(Deserialize)]
pub(super) struct Paused {
    pub(super) paused: bool,
}

#[derive(Serialize)]
pub(super) struct Minted<'a> {
    pub(super) owner_id: &'a AccountId,
    pub(super) amount: String,
}

#[derive(Serialize)]
pub(super) struct Transferred<'a> {
    pub(super) old_owner_id: &'a AccountId,
    pub(super) new_owner_id: &'a AccountId,
    pub(super) amount: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) memo: Option<&'a str>,
}

#[derive(Serialize)]
pub(super) struct StorageBalance {
    pub(super) total: String,
    pub(super) available: &'static str,
}

#[derive(Serialize)]
pub(super) struct StorageBounds {
    pub(super) min: String,
    pub(super) max: String,
}

fn number<'de, D: Deserializer<'de>>(from: D) -> Result<u128, D::Error> {
    String::deserialize(from)?.parse().map_err(D::Error::custom)
}
