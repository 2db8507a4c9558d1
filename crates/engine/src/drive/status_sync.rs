//! Reads the flags and assets of the journal again and again, so that this process follows the changes of
//! other workers.

use crate::chains::Chains;
use crate::drive::Pipeline;
use crate::reconciliation::Reconciler;
use crate::state::ledgers::identity::Ledgers;
use crate::state::shared::SharedState;
use kernel::answer::Cause;
use kernel::ports::journal::ServiceStatus;
use kernel::ports::meter::Seen;
use std::sync::Arc;

/// Follows the journal's flags and assets, and goes on with what they allow again.
pub(crate) struct StatusSync {
    shared: Arc<SharedState>,
    ledgers: Arc<Ledgers>,
    chains: Arc<Chains>,
    reconciler: Arc<Reconciler>,
    pipeline: Arc<Pipeline>,
}

impl StatusSync {
    pub(crate) fn new(
        shared: &Arc<SharedState>,
        ledgers: &Arc<Ledgers>,
        chains: &Arc<Chains>,
        reconciler: &Arc<Reconciler>,
        pipeline: &Arc<Pipeline>,
    ) -> Arc<Self> {
        Arc::new(Self {
            shared: shared.clone(),
            ledgers: ledgers.clone(),
            chains: chains.clone(),
            reconciler: reconciler.clone(),
            pipeline: pipeline.clone(),
        })
    }

    /// Follows the journal's flags and assets, among them the changes of other workers.
    ///
    /// # Errors
    /// The cause for which the journal does not answer.
    pub(crate) async fn refresh(&self) -> Result<ServiceStatus, Cause> {
        loop {
            let epoch = self.shared.controls.epoch();
            let status = self.shared.parts.journal.service_status().await?;
            self.chains.close_lane_checks(&status);
            let Some(followed) = self.shared.controls.follow(epoch, &status) else {
                // something began here meanwhile: what was read may be older
                self.shared.parts.clock.sleep(1).await;
                continue;
            };
            self.shared.lease.hear(&status);
            self.know(&status);
            self.compare(&status);
            if followed.resumed {
                self.resumed();
            }
            if followed.resumed || followed.unpaused {
                self.pipeline.go_on().await;
            }
            return Ok(status);
        }
    }

    /// Finds ledgers of which another process adopted another incarnation than the one that we call. For a
    /// core in a process its owner's epoch says that: a former owner raises no HALT.
    fn compare(&self, status: &ServiceStatus) {
        for (ledger, stored) in &status.ledgers {
            let ours = self
                .shared
                .controls
                .known(*ledger)
                .filter(|ours| ours.incarnation != stored.incarnation);
            let served = self.shared.plan.owner(*ledger).is_none();
            if served {
                self.shared.writer.new_incarnation(*ledger, ours);
            }
        }
    }

    /// Follows assets. Each ledger gets to know an asset before any transfer uses it.
    pub(crate) fn know(&self, status: &ServiceStatus) {
        self.shared.assets.read(status.assets_version, &status.assets, || {
            self.shared.parts.ledgers.iter().for_each(|ledger| ledger.know(&status.assets));
        });
    }

    /// Looks again at ledgers that were not adopted, once money may move again.
    fn resumed(&self) {
        tracing::warn!("resumed from HALT: money moves again");
        self.reconciler.forget_halts();
        self.shared.parts.meter.see(Seen::Halted(false));
        for ledger in self.shared.parts.ledgers.iter().map(|ledger| ledger.id()) {
            if !self.shared.controls.adopted(ledger) {
                self.ledgers.find_out(ledger);
            }
        }
    }
}
