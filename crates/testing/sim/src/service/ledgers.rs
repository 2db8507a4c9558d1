//! The ledgers of a simulated service: Funding in its store, Spot outside.

use super::ProcessBase;
use crate::ledger::Faulty;
use crate::world::Sim;
use conformance::journal::Site;
use engine::Parts;
use kernel::ids::LedgerId;
use kernel::ports::Fut;
use kernel::ports::ledger::Ledger;
use std::sync::Arc;
use testkit::OpenedStore;
use testkit::wrapper::Wrapper;

/// Starts the outside ledger over the data that its last start left; it is told the highest
/// operation that the journal has a receipt of.
pub type Restart = Arc<dyn Fn(u64) -> Fut<'static, Arc<dyn Ledger>> + Send + Sync>;

/// The links that each process reaches Funding and Spot through. A handle: clones are the same ones.
#[derive(Debug, Clone)]
pub struct LedgerPorts {
    funding: Arc<Wrapper<Faulty>>,
    spot: Arc<Wrapper<Faulty>>,
}

impl LedgerPorts {
    /// Links that lead nowhere until a process begins.
    pub fn new(sim: &Sim) -> Self {
        let link = |id| Arc::new(Wrapper(Faulty::new(id, Arc::new(sim.clone()), sim.crash())));
        Self { funding: link(LedgerId::FUNDING), spot: link(LedgerId::SPOT) }
    }

    /// The journal's site, where each process finds Spot started and the links leading to both ledgers.
    pub fn site(&self, mut journal: Site, restart: Restart) -> Site {
        let ports = self.clone();
        Box::new(move || {
            ports.lead(None, None);
            let (opening, restart, ports) = (journal(), restart.clone(), ports.clone());
            Box::pin(async move {
                let opened: OpenedStore = opening.await;
                let status = opened.journal.service_status().await;
                let Ok(status) = status else { panic!("refused to start: {status:?}") };
                let known = status.ledger(LedgerId::SPOT);
                let spot = restart(known.map_or(0, |known| known.highest)).await;
                ports.lead(Some(opened.funding.clone()), Some(spot));
                opened
            })
        })
    }

    fn lead(&self, funding: Option<Arc<dyn Ledger>>, spot: Option<Arc<dyn Ledger>>) {
        self.funding.0.route.lead(funding);
        self.spot.0.route.lead(spot);
    }

    /// The link to Spot, or else to Funding.
    pub fn link(&self, ledger: LedgerId) -> &Faulty {
        if ledger == LedgerId::SPOT { &self.spot.0 } else { &self.funding.0 }
    }

    /// The ledgers themselves, past what goes wrong on the links.
    pub fn ledgers(&self) -> Vec<Arc<dyn Ledger>> {
        [&self.funding, &self.spot].into_iter().filter_map(|link| link.0.route.leads_to()).collect()
    }

    /// What a process is made of.
    pub fn parts(&self, base: ProcessBase<'_>) -> Parts {
        Parts { ledgers: vec![self.funding.clone(), self.spot.clone()], ..base.parts }
    }
}
