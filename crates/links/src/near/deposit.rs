//! Reads what a contract asks for the registration of a receiver, and holds registrations back where it asks for more
//! than the settings allow. Payments go on meanwhile.

use super::NearLink;
use super::rpc::{BlockAt, view};
use super::sign::yocto;
use super::tokens::TokenState;
use crate::rest::{RestCause, TokenFailure};
use flows::relay::Act;
use kernel::answer::Cause;
use serde_json::{Value, json};

/// The cause where a contract asks for more than the settings allow.
const DEPOSIT_TOO_HIGH: &str = "DEPOSIT_TOO_HIGH";

impl NearLink {
    /// The cost of a registration: the contract's own bound, no more than the settings allow.
    pub(super) async fn deposit(&self, token: &TokenState) -> Result<u128, Cause> {
        if let Some(deposit) = token.deposit() {
            return Ok(deposit);
        }
        let contract = &token.token.contract;
        let call = view(contract, "storage_balance_bounds", &json!({}), BlockAt::Final);
        // a failing registration is held against its receiver, and the day's budget counts it: two providers show the
        // price alike
        let deposit = least_deposit(&self.rpc.agreed(&call).await?)?;
        let most = self.settings.most_storage_deposit;
        let rest = token.rest(Act::Register);
        if deposit > most {
            let facts = format!(
                "{contract} asks for {deposit} yoctoNEAR for a registration, and relay.max_registration_deposit is {most}"
            );
            // what is claimed already would take a lane at each try, and payments need it
            let why = RestCause::Price;
            let failure = TokenFailure { why, facts: facts.as_str().into(), height: 0 };
            rest.failed(failure, self.clock.ticks(), self.settings.token_rest_ms);
            return Err(Cause::because(DEPOSIT_TOO_HIGH, facts));
        }
        rest.end(RestCause::Price);
        token.deposit_is(Some(deposit));
        Ok(deposit)
    }
}

/// What a contract asks for a registration at least, by its `storage_balance_bounds`.
pub(super) fn least_deposit(bounds: &Value) -> Result<u128, Cause> {
    bounds.get("min").map(yocto).transpose()?.ok_or(Cause::of("BAD_REPLY"))
}
