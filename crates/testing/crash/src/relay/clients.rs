//! The requests of clients in the relay campaign: payments to accounts that the token knows, to accounts that it
//! does not know, and to accounts that do not exist.

use super::chain::RECEIVERS;
use crate::rng::Rng;
use crate::two_servers::Request;
use client::types::CreateRelayTransfer;
use client::{Client, Error};
use std::time::Duration;

/// The most base units of one payment.
const MOST: u64 = 1_000_000;
/// Accounts that do not exist.
const GHOSTS: u64 = 50;

/// A payment that a client asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Payout {
    pub receiver: String,
    /// In base units of the token.
    pub units: u64,
}

impl Payout {
    /// Whether there is such an account.
    pub(super) fn can_be_paid(&self) -> bool {
        !self.receiver.starts_with("ghost")
    }
}

impl Request for Payout {
    const KEYS: &'static str = "payout";
    const REST: Duration = Duration::from_millis(120);

    fn drawn(rng: &mut Rng) -> Self {
        let receiver = if rng.percent(4) {
            format!("ghost{}.devnet", rng.below(GHOSTS))
        } else {
            format!("r{}.devnet", rng.below(RECEIVERS))
        };
        Self { receiver, units: 1 + rng.below(MOST) }
    }

    async fn ask(&self, client: &Client, key: &str) -> Result<String, Error> {
        let new = CreateRelayTransfer {
            receiver_id: self.receiver.clone(),
            amount: self.units.to_string(),
        };
        client.create_relay_transfer(&new, key).await.map(|found| found.transfer.transfer_id)
    }
}
