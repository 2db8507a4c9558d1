//! Wrong builds of external money.

use kernel::answer::Cause;
use kernel::code::Code;
use kernel::money::Amount;
use kernel::ports::Fut;
use kernel::ports::ledger::{Authority, External, Moved, World};
use std::sync::Arc;

pub(super) fn mutated(name: Option<&str>, inner: Arc<dyn World>) -> Arc<dyn World> {
    match name.unwrap_or_default() {
        "world-overdraws" => Arc::new(Overdraws(inner)),
        "world-books-under-halt" => Arc::new(BooksUnderHalt(inner)),
        _ => inner,
    }
}

/// Says that it booked what a HALT refuses.
struct BooksUnderHalt(Arc<dyn World>);

impl World for BooksUnderHalt {
    fn book(&self, movement: External, authority: Authority) -> Fut<'_, Result<Moved, Cause>> {
        Box::pin(async move {
            let available = movement.amount;
            let moved = self.0.book(movement, authority).await?;
            if moved != Moved::Refused(Code::Halted) {
                return Ok(moved);
            }
            Ok(Moved::Done { operation: 0, available, at: 0, replayed: false })
        })
    }

    fn booked(&self, movement: External) -> Fut<'_, Result<Option<Moved>, Cause>> {
        self.0.booked(movement)
    }
}

/// Pays out to the world what a transfer took a moment before.
struct Overdraws(Arc<dyn World>);

impl World for Overdraws {
    fn book(&self, movement: External, authority: Authority) -> Fut<'_, Result<Moved, Cause>> {
        Box::pin(async move {
            let moved = self.0.book(movement, authority).await?;
            if moved != Moved::Refused(Code::InsufficientBalance) {
                return Ok(moved);
            }
            let available = Amount::ZERO;
            Ok(Moved::Done { operation: 0, available, at: 0, replayed: false })
        })
    }

    fn booked(&self, movement: External) -> Fut<'_, Result<Option<Moved>, Cause>> {
        self.0.booked(movement)
    }
}
