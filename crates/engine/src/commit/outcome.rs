//! The outcome of a write, as drivers see it.

use kernel::answer::Cause;
use kernel::code::Code;
use kernel::ids::LedgerId;
use kernel::operation::Known;
use kernel::ports::journal::UnitWriter;
use kernel::unit::{Guard, Unit, UnitRefusal, Written, Wrote};

/// The outcome of one unit. What follows from it for this process has been done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum WriteOutcome {
    /// The journal has it.
    Done(Written),
    /// This guard failed; nothing was written.
    Lost(Guard),
    /// The journal does not show it.
    NotWritten(NotWritten),
}

/// Why the journal does not show a unit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NotWritten {
    pub cause: Cause,
    /// The code for a caller where the store took nothing of it. `None`: the outcome is not known, and it may be written
    /// later; the register then has the transfers that it would give to this process.
    pub refused: Option<Code>,
}

impl NotWritten {
    pub(super) const fn unknown(cause: Cause) -> Self {
        Self { cause, refused: None }
    }

    const fn full() -> Self {
        Self { cause: Cause::of(Cause::FULL), refused: Some(Code::Overloaded) }
    }

    /// The store refused this unit alone.
    fn refused(refusal: UnitRefusal) -> Self {
        let code = match &refusal {
            UnitRefusal::ForNow(cause) => {
                tracing::error!(%cause, "the store refuses a write");
                Code::Overloaded
            }
            UnitRefusal::ForGood(cause) => {
                tracing::error!(%cause, "the store cannot hold a value");
                Code::BadRequest
            }
        };
        Self { cause: refusal.into_cause(), refused: Some(code) }
    }
}

impl WriteOutcome {
    /// Whether the journal has the unit.
    ///
    /// # Errors
    /// `lost` where a guard failed; otherwise the cause for which it is not written, or not known to be.
    pub(crate) fn done(self, lost: &'static str) -> Result<Written, Cause> {
        match self {
            Self::Done(written) => Ok(written),
            Self::Lost(_) => Err(Cause::of(lost)),
            Self::NotWritten(why) => Err(why.cause),
        }
    }
}

/// What the journal answered, where nothing is read back.
impl From<Option<Wrote>> for WriteOutcome {
    fn from(wrote: Option<Wrote>) -> Self {
        match wrote {
            Some(Wrote::Written(written)) => Self::Done(written),
            Some(Wrote::Lost(guard)) => Self::Lost(guard),
            Some(Wrote::Full) => Self::NotWritten(NotWritten::full()),
            Some(Wrote::Refused(why)) => Self::NotWritten(NotWritten::refused(why)),
            Some(Wrote::Unknown(cause)) => Self::NotWritten(NotWritten::unknown(cause)),
            None => Self::NotWritten(NotWritten::unknown(Cause::of("NO_ANSWER"))),
        }
    }
}

/// A unit that is to be written.
#[derive(Debug)]
pub(crate) struct UnitDraft {
    pub unit: Unit,
    /// The ledgers whose incarnations it relies on.
    pub depends_on: Vec<LedgerId>,
    /// The incarnation of the ledger that answered: an answer never counts for another one.
    pub answered_as: Option<(LedgerId, Known)>,
}

impl From<Unit> for UnitDraft {
    fn from(unit: Unit) -> Self {
        Self { unit, depends_on: Vec::new(), answered_as: None }
    }
}

/// Writes a unit into a store beside its servers, or before the engine of this process begins: nothing of a process
/// follows from the outcome.
pub(crate) async fn write_beside<J: UnitWriter + ?Sized>(journal: &J, unit: Unit) -> WriteOutcome {
    journal.write(vec![unit]).await.pop().into()
}
