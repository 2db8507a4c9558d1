//! Applies operations and movements that no unit carries: the product's rules decide each, and each is a write of
//! its own.

use super::State;
use super::state_reader::Reader;
use kernel::answer::{Answer, Cause};
use kernel::audit::UnitDigest;
use kernel::ids::{LedgerId, Millis, WorkerId};
use kernel::operation::{Key, Op};
use kernel::ports::ledger::{Authority, External, Moved, Stored};
use kernel::rules::{self, MovementPlan, Request, Stopped};

impl State {
    /// One leg at an enlisted ledger.
    pub(in crate::journal) fn leg(&mut self, ledger: LedgerId, op: &Op, at: Millis) -> Answer {
        let Ok((answer, posting)) = rules::leg(&mut Reader::of(self, at), ledger, op);
        self.post(&posting);
        answer
    }

    /// A tombstone, or what is stored already.
    ///
    /// # Errors
    /// A HALT stands.
    pub(in crate::journal) fn fence(
        &mut self,
        ledger: LedgerId,
        key: Key,
        at: Millis,
    ) -> Result<Stored, Cause> {
        match rules::fence(&mut Reader::of(self, at), ledger, key) {
            Ok((stored, posting)) => {
                self.post(&posting);
                Ok(stored)
            }
            Err(Stopped::Answer(cause)) => Err(cause),
            Err(Stopped::Error(never)) => match never {},
        }
    }

    /// What the reference of a movement was booked for before.
    pub(in crate::journal) fn booked(&self, movement: &External) -> Option<Moved> {
        let numbered = || self.accounts.movements.booked(movement);
        self.books.movements.booked(movement).or_else(numbered)
    }

    /// Books a movement, once for each reference, where no HALT stands and its authority suffices.
    pub(in crate::journal) fn external(&mut self, request: &Request, at: Millis) -> Moved {
        self.book(request, at, |reader| reader)
    }

    /// Books a movement whatever stands.
    pub(in crate::journal) fn unguarded(&mut self, request: &Request, at: Millis) -> Moved {
        self.book(request, at, |reader| reader.seeing_no_halt())
    }

    fn book(
        &mut self,
        request: &Request,
        at: Millis,
        over: impl FnOnce(Reader<'_>) -> Reader<'_>,
    ) -> Moved {
        let movement = &request.movement;
        if let Some(before) = self.booked(movement) {
            return before;
        }
        let booking = match rules::book(&mut over(Reader::of(self, at)), request) {
            Ok(booking) => booking,
            Err(Stopped::Answer(code)) => return Moved::Refused(code),
            Err(Stopped::Error(never)) => match never {},
        };
        let MovementPlan { available, posting, counter, .. } = booking;
        self.post(&posting);
        let movements = match &movement.number {
            None => &mut self.books.movements,
            Some(_) => &mut self.accounts.movements,
        };
        let moved = movements.add(movement, available, at);
        self.counters.extend(counter);
        if let Authority::Approved(approved) = &request.authority {
            let mut digest = UnitDigest::default();
            for put in approved.puts() {
                // neither is of a transfer that a worker could hold
                self.put(WorkerId(0), &mut digest, put, at);
            }
            self.digested(digest);
        }
        moved
    }
}
