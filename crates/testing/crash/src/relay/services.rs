//! The processes of the relay campaign: two servers with a relay each, on one PostgreSQL, before one local chain.

use super::chain::NearChain;
use super::{SENDS, WrongStore};
use crate::Outcome;
use crate::chain::moments::{self, ChainFixture, Moment};
use crate::two_servers::TwoServers;
use std::path::Path;

const LEASE_SECONDS: &str = "5";

/// Everything that runs. What is named first ends first.
#[derive(Debug)]
pub(super) struct Services {
    pub(super) servers: TwoServers,
    pub(super) chain: NearChain,
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
        let chain = NearChain::start(devnet)?;
        let settings = |server| {
            let mut settings = chain.settings(server);
            settings.push(("PORTAGE_ENGINE__LEASE_SECONDS", LEASE_SECONDS.to_owned()));
            settings
        };
        let servers = TwoServers::start(program, &below.join("relay"), &settings)?;
        Ok(Self { servers, chain })
    }

    /// Kills the servers that come to a moment; the name of what was met.
    pub(super) fn kill_at(&mut self, moment: Moment) -> Outcome<&'static str> {
        let Self { servers, chain } = self;
        let paid = || Ok(u64::try_from(chain.payments()?.len()).unwrap_or(u64::MAX));
        moments::kill_at(
            moment,
            &mut ChainFixture {
                servers,
                chain: &chain.process,
                sends: &SENDS,
                looks: &["tx", "EXPERIMENTAL_tx_status"],
                paid: &paid,
                proven: "SELECT count(*) FROM transfers WHERE flow = 'relay' AND state = 60",
            },
        )
    }

    /// How many transfers have not ended.
    pub(super) fn open_transfers(&self) -> Outcome<u64> {
        self.servers.number(
            "SELECT count(*) FROM transfers WHERE flow = 'relay' AND state NOT IN (60, -10)",
        )
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
        let last = "(SELECT max(transfer_id) FROM transfers WHERE flow = 'relay' AND state = 60)";
        let sql = match wrong {
            WrongStore::Lost => format!(
                "DELETE FROM keys WHERE transfer_id = {last}; \
                 DELETE FROM transfers WHERE transfer_id = {last}"
            ),
            // it is asked to be paid once more, as if no attempt had ever carried it
            WrongStore::Forgotten => format!(
                "DELETE FROM attempt_members WHERE transfer_id = {last}; \
                 INSERT INTO due (transfer_id, due_at) VALUES ({last}, 0) \
                   ON CONFLICT (transfer_id) DO UPDATE SET due_at = 0, leased_by = NULL; \
                 UPDATE transfers SET state = 20, due_at = 0 WHERE transfer_id = {last}"
            ),
        };
        self.servers.database.sql(&sql).map(drop)
    }
}
