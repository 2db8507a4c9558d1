//! The requests of clients in the account campaign: moves between ten accounts, some with too little money, some to
//! accounts that do not exist.

use super::services::Services;
use crate::Outcome;
use crate::rng::Rng;
use crate::two_servers::{Load, Request};
use client::types::{CreateAccountTransfer, NumberedMovement};
use client::{Client, Error};
use serde_json::json;
use std::time::Duration;

/// Number of accounts that move money among them.
pub(super) const ACCOUNTS: u64 = 10;
const FIRST_OWNER: u64 = 4001;
/// What each account is given, in whole units of the asset.
const GIVEN: u64 = 1_000;
/// The same in base units.
pub(super) const GIVEN_UNITS: u64 = GIVEN * 1_000_000;
const CURRENCY: &str = "USDT";
/// An account that does not exist.
const NOWHERE: &str = "ACC-NOWHERE";

/// The number of an account.
pub(super) fn number(n: u64) -> String {
    format!("ACC-{n}")
}

/// A transfer that a client asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Wanted {
    pub from: String,
    pub to: String,
    /// The amount in base units of the asset.
    pub units: u64,
}

impl Request for Wanted {
    const KEYS: &'static str = "account";
    const REST: Duration = Duration::from_millis(20);

    fn drawn(rng: &mut Rng) -> Self {
        let from = rng.below(ACCOUNTS);
        let to = (from + 1 + rng.below(ACCOUNTS - 1)) % ACCOUNTS;
        let to = if rng.percent(4) { NOWHERE.to_owned() } else { number(to) };
        // most can be paid, and some never
        let most = if rng.percent(6) { 50_000_000_000 } else { 20_000_000 };
        Self { from: number(from), to, units: 1 + rng.below(most) }
    }

    async fn ask(&self, client: &Client, key: &str) -> Result<String, Error> {
        let new = CreateAccountTransfer {
            from_account_number: self.from.clone(),
            to_account_number: self.to.clone(),
            amount: format!("{}.{:06}", self.units / 1_000_000, self.units % 1_000_000),
            currency: CURRENCY.to_owned(),
            description: None,
        };
        client.create_account_transfer(&new, key).await.map(|found| found.transfer.transfer_id)
    }
}

/// Opens the accounts, gives each its money, and starts clients.
pub(super) fn start(services: &Services, rng: &mut Rng) -> Outcome<Load<Wanted>> {
    for n in 0..ACCOUNTS {
        let number = number(n);
        let body = json!({
            "number": number, "owner": FIRST_OWNER + n, "currency": CURRENCY, "reason": "campaign",
        });
        services.servers.act("/ops/accounts/pipeline", &body, &format!("open-{n}"))?;
        let movement = NumberedMovement {
            currency: CURRENCY.to_owned(),
            amount: GIVEN.to_string(),
            reference: format!("given-{n}"),
            reason: "campaign".to_owned(),
        };
        let body = serde_json::to_value(&movement).map_err(|error| error.to_string())?;
        let path = format!("/ops/accounts/pipeline/{number}/deposits");
        services.servers.act(&path, &body, &format!("given-{n}"))?;
    }
    Ok(Load::start(&services.servers, rng))
}
