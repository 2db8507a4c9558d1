//! The processes of the swap campaign: two servers with the vault's key, on one PostgreSQL, before one local chain.

use super::chain::SolanaChain;
use super::{SENDS, WrongStore};
use crate::Outcome;
use crate::chain::moments::{self, ChainFixture, Moment};
use crate::two_servers::TwoServers;
use std::path::Path;
use std::sync::Arc;

/// The ends of the flow: kept as a fee, given back.
pub(super) const ENDED: &str = "(70, -30)";
/// What is set so that much happens in a short time.
const QUICK: [(&str, &str); 5] = [
    ("PORTAGE_ENGINE__LEASE_SECONDS", "5"),
    ("PORTAGE_SWAP__SOLANA_POLL_MS", "300"),
    ("PORTAGE_SWAP__SOLANA_RPC_PER_SECOND", "500"),
    ("REFUND_TIMEOUT_SEC", "4"),
    ("ACTION_RETRY_COOLDOWN_SEC", "1"),
];

/// Everything that runs. What is named first ends first.
#[derive(Debug)]
pub(super) struct Services {
    pub(super) servers: TwoServers,
    pub(super) chain: Arc<SolanaChain>,
}

/// Attempts in the journal.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Attempts {
    pub all: u64,
    /// Of them not closed.
    pub open: u64,
}

impl Services {
    pub(super) fn start(program: &Path, devnet: &Path, below: &Path) -> Outcome<Self> {
        let below = below.join("swap");
        let chain = Arc::new(SolanaChain::start(devnet, &below)?);
        let mut settings = chain.settings()?;
        settings.extend(QUICK.map(|(name, value)| (name, value.to_owned())));
        let servers = TwoServers::start(program, &below, &|_| settings.clone())?;
        Ok(Self { servers, chain })
    }

    /// Every endpoint is fair from now on.
    pub(super) fn calm(&self) -> Outcome {
        let chain = &self.chain.process;
        chain.endpoints().try_for_each(|endpoint| chain.calm(endpoint))
    }

    /// Kills the servers that come to a moment; the name of what was met.
    pub(super) fn kill_at(&mut self, moment: Moment) -> Outcome<&'static str> {
        let Self { servers, chain } = self;
        let paid = || {
            let movements = chain.movements()?;
            let refunds = movements.iter().filter(|one| one.change().is_ok_and(|by| by < 0));
            Ok(u64::try_from(refunds.count()).unwrap_or(u64::MAX))
        };
        moments::kill_at(
            moment,
            &mut ChainFixture {
                servers,
                chain: &chain.process,
                sends: &SENDS,
                looks: &["getTransaction", "getSignaturesForAddress"],
                paid: &paid,
                proven: "SELECT count(*) FROM transfers WHERE flow = 'swap_in' AND state = -30",
            },
        )
    }

    /// How many swaps have not ended.
    pub(super) fn open_swaps(&self) -> Outcome<u64> {
        self.servers.number(&format!(
            "SELECT count(*) FROM transfers WHERE flow = 'swap_in' AND state NOT IN {ENDED}"
        ))
    }

    /// How many attempts there are.
    pub(super) fn attempts(&self) -> Outcome<Attempts> {
        let count = |which: &str| {
            self.servers.number(&format!("SELECT count(*) FROM attempts WHERE {which}"))
        };
        Ok(Attempts { all: count("true")?, open: count("closed_at IS NULL")? })
    }

    /// Makes the database wrong, on purpose.
    pub(super) fn spoil(&self, wrong: WrongStore) -> Outcome {
        let last =
            "(SELECT max(transfer_id) FROM transfers WHERE flow = 'swap_in' AND state = -30)";
        let sql = match wrong {
            WrongStore::Lost => format!(
                "DELETE FROM keys WHERE transfer_id = {last}; \
                 DELETE FROM transfers WHERE transfer_id = {last}"
            ),
            // it is asked to be given back once more, as if no attempt had ever carried it
            WrongStore::Forgotten => format!(
                "DELETE FROM attempt_members WHERE transfer_id = {last}; \
                 INSERT INTO due (transfer_id, due_at) VALUES ({last}, 0) \
                   ON CONFLICT (transfer_id) DO UPDATE SET due_at = 0, leased_by = NULL; \
                 UPDATE transfers SET state = -15, due_at = 0 WHERE transfer_id = {last}"
            ),
        };
        self.servers.database.sql(&sql).map(drop)
    }
}
