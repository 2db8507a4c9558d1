//! The Spot core as a ledger.

use super::Spot;
use super::decide::{Command, Reply};
use kernel::answer::{Answer, Cause};
use kernel::ids::{AssetId, Id, LedgerId};
use kernel::money::Asset;
use kernel::ports::Fut;
use kernel::ports::ledger::{Heard, Holding, Known, Ledger, StatusChange, Stored, Totals, Whose};
use kernel::unit::{Key, Op, Operation};
use std::sync::Arc;

impl Ledger for Spot {
    fn id(&self) -> LedgerId {
        LedgerId::SPOT
    }

    /// In memory alone: whoever opens it again reads them from the journal.
    fn know(&self, assets: &[Asset]) {
        self.core().assets.extend(assets.iter().map(|asset| asset.id));
    }

    fn hello(&self) -> Fut<'_, Heard<()>> {
        Box::pin(async { self.read(|_| Ok(())) })
    }

    fn execute(&self, known: Known, ops: Arc<[Op]>) -> Fut<'_, Heard<Vec<Answer>>> {
        Box::pin(async move {
            let heard = self.ask(known, Command::Execute(ops)).await;
            only(
                heard,
                |reply| {
                    if let Reply::Answers(answers) = reply { Some(answers) } else { None }
                },
            )
        })
    }

    fn query(&self, known: Known, key: Key) -> Fut<'_, Heard<Stored>> {
        Box::pin(async move {
            let heard = self
                .read(|core| Ok(if core.stranger(known) { None } else { Some(core.query(key)?) }));
            match heard {
                Heard::Said(known, Some(stored)) => Heard::Said(known, stored),
                Heard::Said(known, None) | Heard::Wrong(known) => Heard::Wrong(known),
                Heard::Nothing(cause) => Heard::Nothing(cause),
            }
        })
    }

    fn fence(&self, known: Known, key: Key) -> Fut<'_, Heard<Stored>> {
        Box::pin(async move {
            let heard = self.ask(known, Command::Fence(key)).await;
            only(heard, |reply| if let Reply::Stored(stored) = reply { Some(stored) } else { None })
        })
    }

    fn totals(&self) -> Fut<'_, Heard<Vec<(AssetId, Totals)>>> {
        Box::pin(async { self.read(super::Core::totals) })
    }

    fn operations(&self, after: u64, limit: usize) -> Fut<'_, Heard<Vec<Operation>>> {
        Box::pin(async move { self.read(|core| Ok(core.operations(after, limit))) })
    }

    fn horizon(&self, known: Known, id: Id, open: Arc<[Id]>) -> Fut<'_, Heard<()>> {
        Box::pin(async move {
            let heard = self.ask(known, Command::Horizon { id, open }).await;
            only(heard, |reply| (reply == Reply::Horizon).then_some(()))
        })
    }

    fn accounts(&self, whose: Whose) -> Fut<'_, Heard<Vec<Holding>>> {
        Box::pin(async move { self.read(|core| Ok(core.holdings(whose))) })
    }

    fn status(&self, known: Known, change: StatusChange) -> Fut<'_, Heard<bool>> {
        Box::pin(async move {
            let heard = self.ask(known, Command::Status(change)).await;
            only(
                heard,
                |reply| {
                    if let Reply::Status(changed) = reply { Some(changed) } else { None }
                },
            )
        })
    }
}

/// The one kind of reply that a command has.
fn only<T>(heard: Heard<Reply>, pick: impl FnOnce(Reply) -> Option<T>) -> Heard<T> {
    match heard {
        Heard::Said(known, reply) => match pick(reply) {
            Some(reply) => Heard::Said(known, reply),
            None => Heard::Nothing(Cause::of("BAD_REPLY")),
        },
        Heard::Wrong(known) => Heard::Wrong(known),
        Heard::Nothing(cause) => Heard::Nothing(cause),
    }
}
