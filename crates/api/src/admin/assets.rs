//! The bodies of assets: the list, a new asset, and a change.

use crate::given::given;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Every asset, in whatever status.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Assets {
    /// The assets, by their number.
    pub assets: Vec<AssetRow>,
}

/// An asset. Amounts are in its own unit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AssetRow {
    /// The number that stored rows know it by.
    #[schema(example = 3)]
    pub asset_id: u32,
    /// The symbol that requests name it by.
    #[schema(example = "USDT")]
    pub symbol: String,
    /// Its decimals; they never change.
    #[schema(maximum = 38, example = 6)]
    pub precision: u8,
    /// `ACTIVE`, `SUSPENDED` or `DELISTED`.
    #[schema(example = "ACTIVE")]
    pub status: String,
    /// Whether users may move it between their accounts.
    #[schema(example = true)]
    pub internal_transfer_enabled: bool,
    /// The least of one transfer.
    #[schema(example = "0.000001")]
    pub min_transfer_amount: String,
    /// The most of one transfer, where there is a limit.
    pub max_transfer_amount: Option<String>,
    /// The most of one user on one day in UTC, where there is a limit.
    pub daily_amount: Option<String>,
}

/// An asset that is added. It begins ACTIVE.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AddAsset {
    /// 1 to 16 upper-case letters and digits, not in use.
    #[schema(pattern = "^[A-Z0-9]{1,16}$", example = "EURC")]
    pub symbol: String,
    /// Its decimals, at most 38. They never change.
    #[schema(maximum = 38, example = 6)]
    pub precision: u8,
    /// Its number; the next one where nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asset_id: Option<u32>,
    /// Whether users may move it between their accounts; yes where nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub internal_transfer_enabled: Option<bool>,
    /// The least of one transfer, in its unit; one base unit where nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "0.01")]
    pub min_transfer_amount: Option<String>,
    /// The most of one transfer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_transfer_amount: Option<String>,
    /// The most of one user on one day in UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub daily_amount: Option<String>,
    /// Why, for the audit: 1 to 256 characters.
    #[schema(min_length = 1, max_length = 256, example = "listed on Monday")]
    pub reason: String,
}

/// What changes of an asset; what is not there stays. `null` lifts a limit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ChangeAsset {
    /// `ACTIVE`, `SUSPENDED` or `DELISTED`. What was accepted before goes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(pattern = "^(ACTIVE|SUSPENDED|DELISTED)$", example = "SUSPENDED")]
    pub status: Option<String>,
    /// Whether users may move it between their accounts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub internal_transfer_enabled: Option<bool>,
    /// The least of one transfer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_transfer_amount: Option<String>,
    /// The most of one transfer; `null` lifts it.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub max_transfer_amount: Option<Option<String>>,
    /// The most of one user on one day in UTC; `null` lifts it.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub daily_amount: Option<Option<String>>,
    /// Why, for the audit: 1 to 256 characters.
    #[schema(min_length = 1, max_length = 256, example = "the issuer stopped redeeming")]
    pub reason: String,
}
