//! External money, with what is decided and counted beside it.

use super::State;
use kernel::answer::Cause;
use kernel::audit::UnitDigest;
use kernel::code::Code;
use kernel::ids::{Millis, WorkerId};
use kernel::ports::ledger::{Authority, External, Moved};
use std::sync::Arc;

impl State {
    /// Books a movement, once for each reference, where no HALT stands and its authority suffices.
    ///
    /// # Errors
    /// It would not fit.
    pub(in crate::journal) fn external(
        &mut self,
        movement: &External,
        authority: &Authority,
        at: Millis,
    ) -> Result<Moved, Cause> {
        let before = self.books.booked(movement).or_else(|| self.accounts.booked(movement));
        if let Some(before) = before {
            return Ok(before);
        }
        if self.halted.is_some() {
            return Ok(Moved::Refused(Code::Halted));
        }
        let counted = match self.allowed(movement, authority, at) {
            Ok(counted) => counted,
            Err(code) => return Ok(Moved::Refused(code)),
        };
        let moved = match &movement.number {
            None => self.books.external(movement, at)?,
            Some(number) => self.accounts.external(movement, number, at),
        };
        if !matches!(moved, Moved::Done { .. }) {
            return Ok(moved);
        }
        self.counters.extend(counted);
        if let Authority::Approved(approved) = authority {
            let mut digest = UnitDigest::default();
            for put in approved.puts() {
                // neither is of a transfer that a worker could hold
                self.put(WorkerId(0), &mut digest, put, at);
            }
            self.digested(digest);
        }
        Ok(moved)
    }

    /// What is counted of it, or why its authority does not suffice.
    fn allowed(
        &self,
        movement: &External,
        authority: &Authority,
        at: Millis,
    ) -> Result<Option<(Arc<str>, u128)>, Code> {
        match authority {
            Authority::Alone => Ok(None),
            Authority::UpTo(most) => {
                let Some(name) = movement.counter(at) else { return Ok(None) };
                let before = self.counters.get(&name).copied().unwrap_or(0);
                let sum = before.checked_add(movement.amount.0).filter(|sum| *sum <= most.0);
                sum.map(|sum| Some((name, sum))).ok_or(Code::SecondPersonRequired)
            }
            Authority::Approved(approved) => {
                let (caller, key) = (&approved.action.caller, &approved.action.key);
                if self.operators.did(caller, key) {
                    Err(Code::DuplicateRequest)
                } else if self.operators.pending(approved.proposal, at) {
                    Ok(None)
                } else {
                    Err(Code::AlreadyDecided)
                }
            }
        }
    }
}
