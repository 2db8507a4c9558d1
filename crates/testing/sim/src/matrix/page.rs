//! Prints the crash matrix as a page: a row for each crash point, a column for each answer of each call.

use super::MatrixStats;
use super::cells::{Cell, answers, formula};
use kernel::flow::life::Via;
use kernel::flow::table::Table;
use tables::crash_points;
use tables::crash_points::{Moment, Point};

const fn moment(moment: Moment) -> &'static str {
    match moment {
        Moment::BeforeWrite => "before the write",
        Moment::TornWrite => "in the write",
        Moment::AfterWrite => "after the write",
        Moment::SignedNotStored => "signed, not stored",
        Moment::BeforeSend => "before the call",
        Moment::ReplyLost => "effect, no reply",
        Moment::ReplyNotStored => "reply, not stored",
        Moment::ProofNotStored => "proof, not stored",
    }
}

const fn edge(via: Option<Via>) -> &'static str {
    match via {
        None => "",
        Some(Via::Claim) => "claim",
        Some(Via::Yes) => "yes",
        Some(Via::No) => "no",
        Some(Via::Done) => "done",
        Some(Via::Rejected) => "rejected",
        Some(Via::Dead) => "dead",
        Some(Via::Unknown) => "unknown",
    }
}

/// The page. A cell that the table has and no run reached says so in words.
pub fn page(table: &Table, stats: &MatrixStats) -> String {
    let (cells, columns, points) = (formula(table), answers(table), crash_points::of(table));
    let counts =
        format!("**{} points · {} answers · {} cells**", points.len(), columns.len(), cells.len());
    let names = columns.iter().map(|(act, said)| {
        let act = table.act(*act).name;
        format!("{act} {}", said.name())
    });
    let head = row(["crash point".to_owned(), String::new()].into_iter().chain(names));
    let rule = format!("|{}", "---|".repeat(columns.len() + 2));
    let rows = points.iter().map(|point| {
        let marks = columns.iter().map(|(act, said)| {
            let cell = Cell::of(point, *act, *said);
            mark(cells.contains(&cell), stats.of(&cell)).to_owned()
        });
        row([place(table, point), moment(point.moment).to_owned()].into_iter().chain(marks))
    });
    let lines: Vec<_> = [counts, String::new(), head, rule].into_iter().chain(rows).collect();
    format!("{}\n", lines.join("\n"))
}

fn row(fields: impl Iterator<Item = String>) -> String {
    format!("| {} |", fields.collect::<Vec<_>>().join(" | "))
}

/// The state of a point, and the edge where it is known.
fn place(table: &Table, point: &Point) -> String {
    let edge = edge(point.via);
    let gap = if edge.is_empty() { "" } else { " · " };
    format!("{}{gap}{edge}", table.state(point.state).name)
}

/// Reached on both paths, on one of them, not reached, or not there to reach.
const fn mark(there: bool, [plain, fused]: [u64; 2]) -> &'static str {
    match (there, plain, fused) {
        (false, 0, 0) => "",
        (false, ..) => "NOT IN THE TABLE",
        (true, 0, 0) => "NOT REACHED",
        (true, _, 0) => "plain",
        (true, 0, _) => "fused",
        (true, ..) => "both",
    }
}
