//! Computes the cells of the crash matrix from a flow's table: every crash point, times every answer of every call
//! on a path through it.

use kernel::flow::life::{Step, Via};
use kernel::flow::table::{A, S, Table};
use std::collections::BTreeSet;
use tables::crash_points;
use tables::crash_points::{Moment, Point};

/// What a call was answered in a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CallAnswer {
    Done,
    Rejected,
    /// Unknown: the request was lost.
    Unheard,
    /// Unknown: the reply was lost.
    Unread,
    /// Unknown: the reply made no sense.
    Garbled,
}

impl CallAnswer {
    /// What leaves the caller without knowledge.
    pub const UNKNOWN: [Self; 3] = [Self::Unheard, Self::Unread, Self::Garbled];

    /// Its place among the answers of an act.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Rejected => "rejected",
            Self::Unheard => "request lost",
            Self::Unread => "reply lost",
            Self::Garbled => "garbled",
        }
    }
}

/// A crash at this point, in a run in which that call was so answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cell {
    pub state: S,
    /// The edge, by its place in [`VIAS`]; 0 where it is not known yet.
    pub via: u8,
    /// Just before or after what.
    pub moment: Moment,
    /// The act of the call.
    pub act: A,
    pub said: CallAnswer,
}

/// The edges, in the order in which they are shown.
pub const VIAS: [Option<Via>; 5] =
    [None, Some(Via::Claim), Some(Via::Done), Some(Via::Rejected), Some(Via::Dead)];

/// The place of an edge among them.
pub fn place(via: Option<Via>) -> u8 {
    let at = VIAS.iter().position(|other| *other == via).unwrap_or(VIAS.len());
    u8::try_from(at).unwrap_or(u8::MAX)
}

impl Cell {
    /// Of a point and an answer.
    pub fn of(point: &Point, act: A, said: CallAnswer) -> Self {
        Self { state: point.state, via: place(point.via), moment: point.moment, act, said }
    }
}

/// Every way through a table by definite answers: its edges, in order.
fn courses(table: &Table) -> Vec<Vec<(S, Via)>> {
    let (mut open, mut ended) = (vec![(table.start, Vec::new())], Vec::new());
    while let Some((state, course)) = open.pop() {
        let definite = |via: &Via| !matches!(via, Via::Unknown | Via::Dead);
        let edges = table.edges(state);
        for (via, to) in edges.iter().filter(|(via, _)| definite(via)) {
            let mut longer: Vec<(S, Via)> = course.clone();
            longer.push((state, *via));
            open.push((*to, longer));
        }
        if matches!(table.step(state), Step::End) {
            ended.push(course);
        }
    }
    ended
}

/// Every cell that the table has.
pub fn formula(table: &Table) -> BTreeSet<Cell> {
    let mut cells = BTreeSet::new();
    let points = crash_points::of(table);
    for course in courses(table) {
        let on = |point: &&Point| {
            course.iter().any(|(state, via)| {
                *state == point.state && point.via.is_none_or(|edge| edge == *via)
            })
        };
        for point in points.iter().filter(on) {
            for (state, via) in &course {
                let Some(act) = table.makes(*state) else { continue };
                let last = if *via == Via::Done { CallAnswer::Done } else { CallAnswer::Rejected };
                let said = CallAnswer::UNKNOWN.into_iter().chain([last]);
                cells.extend(said.map(|said| Cell::of(point, act, said)));
            }
        }
    }
    cells
}

/// Every cell that the fused path has: a call at the ledger in the journal's database is part of a
/// write there, so nothing can garble its answer, and where one side of a transfer is called, the
/// other is in that database.
pub fn fused(table: &Table) -> BTreeSet<Cell> {
    let mut cells = formula(table);
    cells.retain(|cell| {
        let side = |act| table.act(act).side;
        let calls = table.makes(cell.state).filter(|_| cell.via == place(None)).map(side);
        cell.said != CallAnswer::Garbled || calls.is_none_or(|called| called == side(cell.act))
    });
    cells
}

/// Every answer of every call that the table has.
pub fn answers(table: &Table) -> BTreeSet<(A, CallAnswer)> {
    formula(table).into_iter().map(|cell| (cell.act, cell.said)).collect()
}
