//! The accounts of a run: pairs of one that pays and one that receives.

use crate::Outcome;
use client::types::NumberedMovement;
use client::{Client, Method};
use serde_json::json;
use std::net::SocketAddr;

/// What every transfer moves.
pub(crate) const AMOUNT: &str = "0.01";
/// The same in base units.
pub(crate) const UNITS: u64 = 10_000;
pub(crate) const CURRENCY: &str = "USDT";
/// What every account that pays has at first.
const FUNDED: &str = "1000000";
/// The same in base units.
pub(crate) const FUNDED_UNITS: u64 = 1_000_000_000_000;
/// Number of tasks that open accounts concurrently.
const AT_ONCE: u64 = 16;

pub(crate) fn payer(pair: u64) -> String {
    format!("P-{pair}")
}

pub(crate) fn receiver(pair: u64) -> String {
    format!("R-{pair}")
}

/// Opens the accounts of a server of ours, and gives those that pay their money.
pub(crate) async fn accounts(address: SocketAddr, token: &str, pairs: u64) -> Outcome {
    let client =
        Client::new(&format!("http://{address}"), token).map_err(|error| error.to_string())?;
    let mut openers = tokio::task::JoinSet::new();
    for first in 0..AT_ONCE {
        let client = client.clone();
        openers.spawn(async move {
            let mut pair = first;
            while pair < pairs {
                open(&client, &payer(pair), pair).await?;
                open(&client, &receiver(pair), pair).await?;
                let movement = NumberedMovement {
                    currency: CURRENCY.to_owned(),
                    amount: FUNDED.to_owned(),
                    reference: format!("bench-{pair}"),
                    reason: "benchmark".to_owned(),
                };
                let booked = client.deposit_numbered(&payer(pair), &movement).await;
                booked.map_err(|error| error.to_string())?;
                pair += AT_ONCE;
            }
            Ok::<_, String>(())
        });
    }
    openers.join_all().await.into_iter().collect()
}

async fn open(client: &Client, number: &str, pair: u64) -> Outcome {
    let body = json!({
        "number": number, "owner": 4_001 + pair, "currency": CURRENCY, "reason": "benchmark",
    });
    let opened = client.run(Method::POST, "/ops/accounts/pipeline", Some(&body), number).await;
    opened.map(drop).map_err(|error| format!("{number}: {error}"))
}
