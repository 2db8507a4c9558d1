//! Asks once more whether a request may be sent, when its connection stands and right before its first byte:
//! since the engine asked, a HALT may have come, or this worker's lease may have run out.

use crate::ids::Id;
use crate::record::System;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// The cause of a request of which no byte was sent, since it may not be sent any more.
pub const NOT_SENT: &str = "NOT_SENT";

/// Says whether what has an effect may be sent now. It answers at once.
pub trait SendPermission: Send + Sync {
    /// False under HALT, where the system is paused, where a pause stops one of these transfers, and where the other
    /// workers may take this one for dead. A port that does not know the transfers of a request names none: then a
    /// pause counts that stops any transfer whose call at the system goes on.
    fn may_send(&self, system: System, transfers: &[Id]) -> bool;
    /// The number of the last HALT that this process follows, 0 before the first one. A request that carries it
    /// reads it before it asks whether it may be sent.
    fn last_halt(&self) -> u64;
}

/// The permission that a port asks for, of the engine that it serves. Without an engine everything may be sent.
/// Clones are the same one.
#[derive(Clone, Default)]
pub struct SendCheck(Arc<Mutex<Option<Arc<dyn SendPermission>>>>);

impl fmt::Debug for SendCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SendCheck")
    }
}

impl SendCheck {
    /// Asks this engine from now on.
    pub fn ask(&self, permission: &Arc<dyn SendPermission>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(permission.clone());
    }

    fn permission(&self) -> Option<Arc<dyn SendPermission>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The number of the last HALT that the engine follows; 0 without an engine.
    pub fn last_halt(&self) -> u64 {
        self.permission().map_or(0, |permission| permission.last_halt())
    }

    /// Asks whether what has an effect may be sent to the system now, for these transfers; none: whichever they are.
    ///
    /// # Errors
    /// [`NotSent`], where it may not be sent.
    pub fn passes(&self, system: System, transfers: &[Id]) -> Result<(), NotSent> {
        if self.permission().is_none_or(|permission| permission.may_send(system, transfers)) {
            Ok(())
        } else {
            Err(NotSent)
        }
    }
}

/// The error of a body that was not sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotSent;

impl fmt::Display for NotSent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("it may not be sent any more")
    }
}

impl std::error::Error for NotSent {}

impl NotSent {
    /// True where this is behind an error.
    pub fn is_behind(error: &(dyn std::error::Error + 'static)) -> bool {
        std::iter::successors(Some(error), |error| error.source()).any(|error| error.is::<Self>())
    }
}
