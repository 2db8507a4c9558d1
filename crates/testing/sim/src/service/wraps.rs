//! The wrappers around the ports of a process, on the engine's side: a wrong build, or none.

use engine::BusParts;
use engine::Parts;
use kernel::ports::bus::Bus;
use kernel::ports::chain::Chain;
use kernel::ports::inbox::Inbox;
use kernel::ports::journal::Journal;
use kernel::ports::ledger::Ledger;
use kernel::ports::outbox::Outbox;
use std::fmt;
use std::sync::Arc;
use testkit::OpenedStore;

/// What stands around a port of that kind.
pub type Wrap<P> = Arc<dyn Fn(Arc<P>) -> Arc<P> + Send + Sync>;

/// What stands around the ports of each process.
#[derive(Clone)]
pub struct PortWraps {
    /// Around the journal, on which sources of facts count as well.
    pub journal: Wrap<dyn Journal>,
    /// Around the outbox that the publisher reads.
    pub outbox: Wrap<dyn Outbox>,
    /// Around the inbox that consumers park in.
    pub inbox: Wrap<dyn Inbox>,
    /// Around the ledger of accounts.
    pub accounts: Wrap<dyn Ledger>,
    /// Around the bus, and with it its members.
    pub bus: Wrap<dyn Bus>,
    /// Around the port of each chain.
    pub chain: Wrap<dyn Chain>,
}

/// One wrap around another one: the outer one is what the engine reaches.
pub fn around<P: ?Sized + 'static>(outer: Wrap<P>, inner: Wrap<P>) -> Wrap<P> {
    Arc::new(move |port| outer(inner(port)))
}

impl Default for PortWraps {
    /// Nothing stands around them.
    fn default() -> Self {
        Self {
            journal: Arc::new(|port| port),
            outbox: Arc::new(|port| port),
            inbox: Arc::new(|port| port),
            accounts: Arc::new(|port| port),
            bus: Arc::new(|port| port),
            chain: Arc::new(|port| port),
        }
    }
}

impl fmt::Debug for PortWraps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PortWraps").finish_non_exhaustive()
    }
}

impl PortWraps {
    /// The store as the engine reaches it.
    pub(super) fn around_store(&self, store: OpenedStore) -> OpenedStore {
        OpenedStore {
            journal: (self.journal)(store.journal),
            outbox: (self.outbox)(store.outbox),
            inbox: (self.inbox)(store.inbox),
            accounts: (self.accounts)(store.accounts),
            ..store
        }
    }

    /// The parts with what stands around the links to bus and chains.
    pub(super) fn around_links(&self, parts: Parts) -> Parts {
        let bus = parts.bus.map(|parts| BusParts { bus: (self.bus)(parts.bus), ..parts });
        let chains = parts.chains.into_iter().map(|port| (self.chain)(port)).collect();
        Parts { bus, chains, ..parts }
    }
}
