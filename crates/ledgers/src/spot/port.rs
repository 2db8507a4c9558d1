//! Implements the port `Ledger` for the Spot core.

use super::Spot;
use super::core::decide::{Command, CoreReply, Request};
use kernel::answer::{Answer, Cause};
use kernel::ids::{AssetId, Id, LedgerId};
use kernel::money::Asset;
use kernel::operation::{Key, Known, Op, Operation};
use kernel::ports::Fut;
use kernel::ports::ledger::{Holding, Ledger, Reply, StatusChange, Stored, Totals, Whose};
use std::sync::Arc;

impl Ledger for Spot {
    fn id(&self) -> LedgerId {
        LedgerId::SPOT
    }

    /// In memory alone: the next start reads them from the journal.
    fn know(&self, assets: &[Asset]) {
        self.core().assets.extend(assets.iter().map(|asset| asset.id));
    }

    fn hello(&self) -> Fut<'_, Reply<()>> {
        Box::pin(async { self.read(|_| Ok(())) })
    }

    fn execute(&self, known: Known, ops: Arc<[Op]>) -> Fut<'_, Reply<Vec<Answer>>> {
        Box::pin(async move {
            let reply = self.ask(in_process(known, Command::Execute(ops))).await;
            expect_kind(reply, |reply| {
                if let CoreReply::Answers(answers) = reply { Some(answers) } else { None }
            })
        })
    }

    fn query(&self, known: Known, key: Key) -> Fut<'_, Reply<Stored>> {
        Box::pin(async move {
            let reply = self
                .read(|core| Ok(if core.stranger(known) { None } else { Some(core.query(key)?) }));
            match reply {
                Reply::Answered(known, Some(stored)) => Reply::Answered(known, stored),
                Reply::Answered(known, None) | Reply::OtherLedger(known) => {
                    Reply::OtherLedger(known)
                }
                Reply::NoAnswer(cause) => Reply::NoAnswer(cause),
            }
        })
    }

    fn fence(&self, known: Known, key: Key) -> Fut<'_, Reply<Stored>> {
        Box::pin(async move {
            let reply = self.ask(in_process(known, Command::Fence(key))).await;
            expect_kind(reply, |reply| {
                if let CoreReply::Stored(stored) = reply { Some(stored) } else { None }
            })
        })
    }

    fn totals(&self) -> Fut<'_, Reply<Vec<(AssetId, Totals)>>> {
        Box::pin(async { self.read(super::Core::totals) })
    }

    fn operations(&self, after: u64, limit: usize) -> Fut<'_, Reply<Vec<Operation>>> {
        Box::pin(async move { self.read(|core| Ok(core.operations(after, limit))) })
    }

    fn horizon(&self, known: Known, id: Id, open: Arc<[Id]>) -> Fut<'_, Reply<()>> {
        Box::pin(async move {
            let reply = self.ask(in_process(known, Command::Horizon { id, open })).await;
            expect_kind(reply, |reply| (reply == CoreReply::Horizon).then_some(()))
        })
    }

    fn accounts(&self, whose: Whose) -> Fut<'_, Reply<Vec<Holding>>> {
        Box::pin(async move { self.read(|core| Ok(core.holdings(whose))) })
    }

    fn status(&self, known: Known, change: StatusChange) -> Fut<'_, Reply<bool>> {
        Box::pin(async move {
            let reply = self.ask(in_process(known, Command::Status(change))).await;
            expect_kind(reply, |reply| {
                if let CoreReply::Status(changed) = reply { Some(changed) } else { None }
            })
        })
    }
}

impl Spot {
    /// Executes operations of a sender elsewhere, which follows this HALT as the last one. `Err`: the number of a
    /// HALT that the sender does not know; nothing was executed.
    pub async fn execute_numbered(
        &self,
        known: Known,
        halt: u64,
        ops: Arc<[Op]>,
    ) -> Reply<Result<Vec<Answer>, u64>> {
        let command = Command::Execute(ops);
        let reply = self.ask(Request { known, halt: Some(halt), command }).await;
        expect_kind(reply, |reply| match reply {
            CoreReply::Answers(answers) => Some(Ok(answers)),
            CoreReply::StaleHalt(told) => Some(Err(told)),
            CoreReply::Stored(_)
            | CoreReply::Horizon
            | CoreReply::Status(_)
            | CoreReply::Halt(_)
            | CoreReply::Wrong
            | CoreReply::Nothing(_) => None,
        })
    }

    /// Keeps the number of a HALT, durably where it is above all before. Returns the highest of them.
    pub async fn keep_halt(&self, known: Known, number: u64) -> Reply<u64> {
        let reply = self.ask(in_process(known, Command::Halt(number))).await;
        expect_kind(
            reply,
            |reply| {
                if let CoreReply::Halt(highest) = reply { Some(highest) } else { None }
            },
        )
    }
}

/// A request that no number of a HALT is compared of.
const fn in_process(known: Known, command: Command) -> Request {
    Request { known, halt: None, command }
}

/// The one kind of reply that a command has.
fn expect_kind<T>(reply: Reply<CoreReply>, pick: impl FnOnce(CoreReply) -> Option<T>) -> Reply<T> {
    match reply {
        Reply::Answered(known, reply) => match pick(reply) {
            Some(reply) => Reply::Answered(known, reply),
            None => Reply::NoAnswer(Cause::of("BAD_REPLY")),
        },
        Reply::OtherLedger(known) => Reply::OtherLedger(known),
        Reply::NoAnswer(cause) => Reply::NoAnswer(cause),
    }
}
