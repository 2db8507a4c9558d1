//! Keeps in the journal in which scope clients' keys are bound: among those of their caller, or of all callers
//! (`relay.shared_keys`). Each opening is guarded by that row, so that two processes which differ never make two
//! transfers of one key: the one that started before a change opens nothing any more.

use crate::cli::exit::{Exit, Fault};
use crate::config::Relay;
use crate::open_store::Store;
use kernel::answer::Cause;
use kernel::ids::WorkerId;
use kernel::unit::{Guard, Put, Unit, Wrote};

/// The row; its version counts the changes.
const ROW: &str = "relay-keys";

/// The stored word of a scope.
const fn word(shared_keys: bool) -> &'static str {
    if shared_keys { "shared" } else { "caller" }
}

/// The guard of each opening by these settings. The first start stores their scope. Another one than is stored is
/// stored only where no other worker lives: a process that the setting was not changed for refuses to start.
///
/// # Errors
/// 78: other processes live, with the scope that is stored; 74: the journal does not answer.
pub(crate) async fn opening_guard(
    settings: &Relay,
    store: &dyn Store,
    worker: WorkerId,
) -> Result<Guard, Fault> {
    let own = word(settings.shared_keys);
    // a start at the same moment may store its own first
    for _ in 0..2 {
        let row = store.resource(ROW.into()).await.map_err(not_answered)?;
        let (version, stored) = row.map_or((0, None), |row| (row.version, Some(row.value)));
        let guard = Guard::Resource { name: ROW.into(), version };
        if stored.as_deref() == Some(own) {
            return Ok(guard);
        }
        if let Some(stored) = stored {
            let status = store.service_status().await.map_err(not_answered)?;
            if status.workers.iter().any(|other| *other != worker) {
                return Err(differs(&stored, own));
            }
            tracing::warn!(
                from = &*stored,
                to = own,
                "relay: the scope of clients' keys is changed"
            );
        }
        let put = Put::Resource { name: ROW.into(), value: own.into() };
        match store.write(vec![Unit::guarded(vec![guard], vec![put])]).await.pop() {
            Some(Wrote::Written(_)) => {
                let version = version.saturating_add(1);
                return Ok(Guard::Resource { name: ROW.into(), version });
            }
            // whether it was written is read
            Some(Wrote::Lost(_) | Wrote::Full | Wrote::Refused(_) | Wrote::Unknown(_)) | None => {}
        }
    }
    Err(not_answered(Cause::of("NOT_WRITTEN")))
}

fn differs(stored: &str, own: &str) -> Fault {
    let what = format!(
        "relay.shared_keys: this process binds clients' keys in the scope `{own}`, and those that live in the scope \
         `{stored}`: one key would be two transfers. Give every process the same setting. To change it stop all of \
         them, wait until their leases have run out (engine.lease_seconds), and start them again"
    );
    Fault::new(Exit::Config, what)
}

fn not_answered(cause: Cause) -> Fault {
    Fault::new(Exit::Io, format!("the journal does not answer: {cause}"))
}
