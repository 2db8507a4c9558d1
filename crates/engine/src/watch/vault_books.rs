//! Opens and closes the cases about vaults that differ from their books, and stops the chains where one has less.

use crate::reconciliation::vaults::{VaultComparison, VaultFault};
use crate::state::case_kinds::{VAULT_SHORT, VAULT_SURPLUS};
use crate::watch::monitor::Monitor;
use kernel::ids::ChainId;
use kernel::operators::{Case, OpenCase, Severity, Subject};
use std::sync::Arc;

impl Monitor {
    /// Where a vault has less than its books say, every chain on which books are kept stops: what is
    /// missing may be owed by another one. A stop that persons lifted while its case is open is not set again.
    pub(super) fn look_at_vault_books(&self, open: &[OpenCase]) {
        let Some(round) = self.reconciler.vault_round() else { return };
        for comparison in &round.vaults {
            if let Some(facts) = facts(comparison, true) {
                for chain in &round.chains {
                    let subject = Subject::Chain(*chain);
                    let is_open =
                        |case: &OpenCase| &*case.kind == VAULT_SHORT && case.subject == subject;
                    if !open.iter().any(is_open) {
                        self.chains.stop_chain(VAULT_SHORT, *chain, facts.to_string());
                    }
                }
            }
            if let Some(facts) = facts(comparison, false) {
                self.cases.case(Case {
                    kind: VAULT_SURPLUS,
                    severity: Severity::Warning,
                    subject: Subject::Chain(comparison.chain),
                    facts,
                });
            }
        }
    }

    /// The fact that ends a case about a vault's books: a comparison behind its opening found them equal.
    pub(super) fn vault_case_over(&self, case: &OpenCase, chain: ChainId) -> Option<String> {
        let round = self.reconciler.vault_round()?;
        let short = &*case.kind == VAULT_SHORT;
        let equal = |comparison: &VaultComparison| {
            // a process that began since has to see for itself what another one saw
            let [booked, read] = comparison.settled;
            let settled = if short { booked } else { booked && read };
            settled && facts(comparison, short).is_none()
        };
        // what is short on one chain stopped all
        let mut of_case = round.vaults.iter().filter(|one| short || one.chain == chain);
        let over = of_case.all(equal) && self.cases.may_say(case);
        over.then(|| "the vault has what its books say".to_owned())
    }
}

/// What a comparison found short, or beyond; `None`: nothing.
fn facts(comparison: &VaultComparison, short: bool) -> Option<Arc<str>> {
    let found = comparison.faults.iter().filter(|fault| fault.short == short);
    let facts: Vec<&str> = found.map(|VaultFault { facts, .. }| &**facts).collect();
    (!facts.is_empty()).then(|| facts.join("; ").into())
}
