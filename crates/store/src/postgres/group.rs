//! One group of items as one transaction: read, decide, write.

use super::board::{Held, Purse, Stop};
use super::fault::Fault;
use super::fetch::{Turn, Wait};
use super::lane::Lane;
use super::needs::Needs;
use super::purses::Owner;
use super::recall::Known;
use super::statement::Statements;
use super::work::Item;
use super::writer::Writers;
use crate::rules::Balance;
use kernel::answer::Answer;
use kernel::ids::Id;
use kernel::unit::{Key, Wrote};
use std::sync::Arc;

/// What became of one item.
#[derive(Debug)]
pub(crate) enum Said {
    /// A unit's answer.
    Wrote(Wrote),
    /// A leg's answer.
    Answer(Answer),
    /// An item before it did something to the same rows: it comes in the next group.
    Again,
    /// Somebody else holds a row that it needs.
    Locked,
}

/// How a group is tried.
#[derive(Debug, Clone)]
pub(crate) struct Manner {
    /// What is opened is taken for new; writing it finds out.
    pub(crate) believe: bool,
    /// How it meets rows that somebody else holds.
    pub(crate) wait: Wait,
    /// The one leg that the database refused when it was tried alone.
    pub(crate) refused: Option<(Key, Arc<str>)>,
    /// False: everything is tried and nothing kept.
    pub(crate) keep: bool,
}

impl Manner {
    /// As a group is tried first.
    pub(crate) const FIRST: Self =
        Self { believe: true, wait: Wait::Skip, refused: None, keep: true };
}

/// What a group does not read, since this process wrote it last.
struct Believed {
    /// Transfers.
    known: Vec<(Id, Known)>,
    /// Balances.
    held: Vec<(Owner, Balance)>,
}

impl Believed {
    /// Takes it out of what is to be read.
    fn taken(writers: &Writers, needs: &mut Needs, manner: &Manner) -> Self {
        if !manner.believe {
            return Self { known: Vec::new(), held: Vec::new() };
        }
        Self { known: writers.recall.take(needs), held: writers.purses.take(needs) }
    }
}

impl Lane {
    /// Tries the items in one transaction. The answers count: they are durable.
    ///
    /// # Errors
    /// Nothing of the group was written, or ([`Fault::Cut`]) nobody knows.
    pub(crate) async fn group(
        &mut self,
        writers: &Writers,
        items: &[Item],
        manner: &Manner,
    ) -> Result<Vec<Said>, Fault> {
        let mut needs = Needs::of(items.iter(), manner.believe);
        let believed = Believed::taken(writers, &mut needs, manner);
        let transfers: Vec<Id> = believed.known.iter().map(|(id, _)| *id).collect();
        let owners: Vec<Owner> = believed.held.iter().map(|(owner, _)| *owner).collect();
        let tried = self.tried(writers, items, (&needs, believed), manner).await;
        if tried.is_err() {
            writers.recall.forget(transfers.iter().chain(&needs.seats));
            writers.purses.doubt(&owners);
        }
        match tried {
            Ok(said) => Ok(said),
            Err(fault @ Fault::Cut(_)) => Err(fault),
            Err(fault) => {
                self.rollback().await?;
                Err(fault)
            }
        }
    }

    async fn tried(
        &mut self,
        Writers { flows, batches, recall, purses, .. }: &Writers,
        items: &[Item],
        (needs, Believed { known, held }): (&Needs, Believed),
        manner: &Manner,
    ) -> Result<Vec<Said>, Fault> {
        let mut board = self.fetch(flows, needs, (manner.wait, Turn::default())).await?;
        let believed = board.believe(known);
        let open = |(owner, was)| (owner, Purse::Open(Held::believed(was)));
        board.purses.extend(held.into_iter().map(open));
        board.refused.clone_from(&manner.refused);
        let mut said = Vec::with_capacity(items.len());
        for item in items {
            let decided = match item {
                Item::Unit(unit, _) => board.unit(flows, unit).map(Said::Wrote),
                Item::Leg(op, _) => board.leg(op).map(Said::Answer),
            };
            said.push(match decided {
                Ok(answer) => answer,
                Err(Stop::Again) => Said::Again,
                Err(Stop::Locked) => Said::Locked,
                Err(Stop::Fault(fault)) => return Err(fault),
            });
        }
        board.checks(believed)?;
        if board.untouched() {
            if board.believes() {
                // nothing is written that would check them
                return Err(Fault::Believed);
            }
            let read = self.read();
            self.rollback().await?;
            self.stands(read).await?;
            // a unit that does nothing was told this time: the next one is not told an earlier one
            self.written(board.at);
            return Ok(said);
        }
        let (mut all, ended) = Statements::of(self, flows, &mut board, batches.worker());
        all.sweep(if manner.keep { batches.over() } else { Vec::new() });
        self.run(all, manner.keep).await?;
        if manner.keep {
            self.wrote(&board);
            batches.count(ended);
            purses.keep(&board);
            recall.keep(flows, &mut board);
        } else {
            self.rollback().await?;
        }
        Ok(said)
    }

    /// What was written is durable: the lane stands behind it.
    pub(crate) fn wrote(&mut self, board: &super::board::Board) {
        let (n, seq) = self.after(&board.numbers, !board.changes.entries.is_empty());
        (self.n, self.at, self.seq) = (n, board.at, seq);
        if !board.changes.entries.is_empty() {
            self.noted(self.n, self.at);
        }
        self.written(board.at);
    }
}
