//! Opens the remote ledgers of the settings.

use crate::cli::exit::{Exit, Fault};
use crate::config::{LedgerForm, Ledgers};
use kernel::ports::ledger::Ledger;
use ledgers::remote::{AssetCodes, Remote, SimpleRemote};
use std::sync::Arc;

/// The ledgers of the settings that other services keep. Nothing is sent yet.
///
/// # Errors
/// 78: the settings of one cannot be used.
pub(super) fn open(
    settings: &Ledgers,
    symbols: &AssetCodes,
) -> Result<Vec<Arc<dyn Ledger>>, Fault> {
    let mut ledgers: Vec<Arc<dyn Ledger>> = Vec::new();
    for (id, ledger) in settings.remote() {
        let unfit = |why: ledgers::remote::Unfit| {
            let name = id.name().to_lowercase();
            Fault::new(Exit::Config, format!("ledgers.{name}: {why}"))
        };
        let reached = ledger.reached();
        let open = reached.url.starts_with("http://") && !reached.url.starts_with("http://127.");
        if open && !ledger.token.is_empty() {
            tracing::warn!(ledger = id.name(), "its token crosses the network in the clear");
        }
        if ledger.token.is_empty() {
            tracing::warn!(
                ledger = id.name(),
                "no token is set for it: one that asks for a token answers 401"
            );
        }
        ledgers.push(match ledger.form {
            LedgerForm::Full => {
                Arc::new(Remote::new(id, &reached, symbols.clone()).map_err(unfit)?)
            }
            LedgerForm::Simple => {
                let refusals = ledger.refusals.iter().cloned().collect();
                let simple = SimpleRemote::new(id, &reached, symbols.clone(), refusals);
                Arc::new(simple.map_err(unfit)?)
            }
        });
    }
    Ok(ledgers)
}
