//! The view of the terms that a transfer agreed after its opening, for operators.

use crate::http::format;
use kernel::agreed::Agreed;
use kernel::audit::hex;
use kernel::money::Asset;
use serde::Serialize;
use utoipa::ToSchema;

/// What the acceptance of a transfer agreed: from then on its target side.
#[derive(Debug, Serialize, ToSchema)]
pub struct AgreedView {
    /// The ledger or the chain of who is paid.
    #[schema(example = "NEXUS")]
    pub system: &'static str,
    /// The account that is paid.
    pub account: String,
    /// The asset that it gets.
    #[schema(example = "USDD")]
    pub asset: String,
    /// How much of it, in the asset's unit.
    #[schema(example = "99.5")]
    pub amount: String,
    /// What is kept, in the unit of the source's asset.
    #[schema(example = "0.5")]
    pub fee: String,
    /// Under which the payment is found at the target.
    pub reference: Option<String>,
    /// The version of the service's terms.
    #[schema(example = 1)]
    pub terms_version: u32,
    /// RFC 3339, by the source chain's time.
    pub deadline: Option<String>,
    /// The hash of it, in hexadecimal: the entry that accepted has the same.
    pub hash: String,
}

impl AgreedView {
    /// `fees`: the decimal places of the source's asset.
    pub(super) fn of(assets: &[Asset], agreed: &Agreed, fees: u8) -> Self {
        let Agreed { target, fee, reference, terms_version, deadline } = agreed;
        let (asset, precision) = format::asset(assets, target.asset);
        Self {
            system: target.system.name(),
            account: target.account.to_string(),
            asset,
            amount: target.amount.decimal(precision),
            fee: fee.decimal(fees),
            reference: reference.as_deref().map(str::to_owned),
            terms_version: *terms_version,
            deadline: deadline.map(format::time),
            hash: hex(&agreed.hash()),
        }
    }
}
