//! Plans units for flows that events drive: what a message moves, and what is sent again when its time has
//! come.
//!
//! Every unit of such a flow frees its transfer until a time: no worker holds it. Should the message be
//! lost that moves it on, the scanner sends it again.

use crate::plan::plan_waits::put_off;
use crate::plan::planner::{FuseMode, Plan, Planned, Transition, UnitBuilder};
use kernel::answer::Answer;
use kernel::flow::life::{Step, Via};
use kernel::flow::table::A;
use kernel::ids::Millis;
use kernel::message::{self, Emission, Message, Outgoing};
use kernel::record::{Head, Record};
use kernel::unit::{Guard, Hold, Put};

/// What a message allows its transfer, and what its unit must know.
#[derive(Debug)]
pub(crate) struct ConsumedStep<'a> {
    /// The row of the message in its group's inbox, where this unit writes it.
    pub inbox: Option<Guard>,
    /// The answer to [`Plan::question_of`], or to a call that was made by itself.
    pub answer: Option<&'a Answer>,
    pub fuse_mode: FuseMode,
    /// When the scanner looks at the transfer, should no other message move it before.
    pub due: Millis,
}

impl Plan {
    /// True where a message of this topic moves a record on from its state.
    pub(crate) fn is_moved_by(&self, record: &Record, topic: &str) -> bool {
        let emits = self.table(record.flow).emits;
        let moves = emits(record.head.state, record, Emission::Due);
        moves.is_some_and(|message| message.topic == topic)
    }

    /// True where a message of this number is one that was sent to the topic about this record: the first of
    /// its type, or one of those that were sent again.
    pub(crate) fn sends_number(&self, record: &Record, topic: &str, number: u128) -> bool {
        let table = self.table(record.flow);
        let sends = |state| {
            [Emission::Entered, Emission::Due]
                .map(|emission| (table.emits)(state, record, emission))
        };
        let mut messages = table.all().flat_map(sends).flatten();
        messages.any(|Message { topic: to, kind, .. }| {
            let mut sent = (0..=record.head.retries).rev();
            to == topic && sent.any(|n| message::number(record.id, kind, n) == number)
        })
    }

    /// The record as it stands when its call is made: where it stands before the claim, as it stands behind
    /// it.
    pub(crate) fn calling(&self, record: &Record) -> Record {
        let mut calling = record.clone();
        if let Step::Claim { to } = self.table(record.flow).step(record.head.state) {
            calling.head.state = to;
        }
        calling
    }

    /// The question that is asked before a message moves this record.
    pub(crate) fn question_of(&self, record: &Record) -> Option<A> {
        self.table(record.flow).asks(self.calling(record).head.state)
    }

    /// The unit that a message leads to, with its inbox row. `None`: the message moves nothing.
    pub(crate) fn consumed(&self, record: &Record, step: ConsumedStep<'_>) -> Option<Planned> {
        let ConsumedStep { inbox, answer, fuse_mode, due } = step;
        let mut builder = UnitBuilder::of(record);
        builder.received = true;
        let mut planned = if let Some(answer) = answer {
            if let Step::Claim { to } = self.table(record.flow).step(record.head.state) {
                (builder.moves, builder.received) = (true, false);
                self.go(&mut builder, Transition { via: Via::Claim, to }, None);
            }
            self.answered_from(builder, answer, fuse_mode)?
        } else {
            self.sealed(builder, fuse_mode, None)
        };
        let stays = planned.next.otherwise.state == record.head.state;
        if stays && planned.unit.then.fork.is_none() {
            return None;
        }
        planned.unit.guards.extend(inbox);
        self.free(record, &mut planned, due);
        Some(planned)
    }

    /// Frees the record from all workers until that time, on every branch of its unit; an ended one is not
    /// due.
    fn free(&self, record: &Record, planned: &mut Planned, due: Millis) {
        let table = self.table(record.flow);
        let free = |puts: &mut Vec<Put>| {
            for put in puts {
                if let Put::Head { head, hold, .. } = put
                    && !table.ends(head.state)
                {
                    (head.due_at, *hold) = (Some(due), Hold::Free);
                }
            }
        };
        let then = &mut planned.unit.then;
        free(&mut then.puts);
        if let Some(fork) = &mut then.fork {
            free(&mut fork.done.puts);
            if let Some(rejected) = &mut fork.rejected {
                free(&mut rejected.puts);
            }
        }
    }

    /// Sends again what moves a record on, to be looked at again at that time. The message has a new
    /// number: the count of resends rises over the whole life of a transfer.
    pub(crate) fn sent_again(&self, record: &Record, due: Millis) -> Planned {
        let retries = record.head.retries.saturating_add(1);
        let counted = Record { head: Head { retries, ..record.head }, ..record.clone() };
        let mut planned = put_off(&counted, due, None, Hold::Free);
        let emits = self.table(record.flow).emits;
        if let Some(message) = emits(record.head.state, record, Emission::Due) {
            let outgoing = Outgoing { message, id: record.id, n: retries, event: None };
            planned.unit.then.outbox.push(outgoing);
        }
        planned
    }

    /// Puts a record off, without a message and without a count: something is paused that persons must
    /// lift.
    pub(crate) fn looked_at_later(&self, record: &Record, due: Millis) -> Planned {
        put_off(record, due, None, Hold::Free)
    }
}
