//! Prints the results of commands: tables for people, JSON for programs.

use super::exit::{Exit, Fault};
use comfy_table::{Cell, CellAlignment, LineStyle, Table, TableStyle};
use serde::Serialize;
use std::io::Write;
use std::time::Duration;

/// Prints to stdout. A reader that went away is an error too: a demo without a reader must not
/// leave its server behind, nor claim that all of it held.
///
/// # Errors
/// stdout cannot be written.
pub(super) fn print(text: &str) -> Result<(), Fault> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{text}")?;
    Ok(out.flush()?)
}

/// Prints a line to stdout as far as that works, and waits for no reader: for a service that has begun.
pub(super) fn announce(text: String) {
    let line = move || {
        let _closed = print(&text);
    };
    let _no_thread = std::thread::Builder::new().spawn(line);
}

/// Prints to stderr, as far as that works within a second.
pub(super) fn eprint(text: &str) {
    eprint_line(&format!("portage: {text}"));
}

/// The same without the program's name before it, for a program that reads it.
pub(super) fn eprint_line(line: &str) {
    let (printed, done) = std::sync::mpsc::sync_channel(1);
    let line = line.to_owned();
    let written = std::thread::Builder::new().spawn(move || {
        let _closed = writeln!(std::io::stderr(), "{line}");
        let _late = printed.send(());
    });
    if written.is_ok() {
        let _late = done.recv_timeout(Duration::from_secs(1));
    }
}

/// Prints a value as JSON.
///
/// # Errors
/// stdout cannot be written.
pub(super) fn print_json(value: &impl Serialize) -> Result<(), Fault> {
    let text = serde_json::to_string_pretty(value)
        .map_err(|fault| Fault::new(Exit::Software, fault.to_string()))?;
    print(&text)
}

/// One rule, below the titles.
const RULED: TableStyle =
    TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));

/// No column of ids, times and codes is cut below this: each of them stays whole.
const WHOLE: usize = 26;

/// No column of sentences or JSON is cut below this.
const FIRST_WORDS: usize = 12;

/// A table that fits the terminal that it is printed to, as far as that goes; what goes elsewhere is
/// whole. Columns whose title begins with `>` stand on the right.
pub(super) fn table<const N: usize>(titles: [&str; N], rows: Vec<[String; N]>) -> String {
    fitted(titles, rows, columns())
}

/// The same of a list with many columns: where the terminal has no room for the table, each row is printed as lines.
pub(super) fn list<const N: usize>(titles: [&str; N], rows: Vec<[String; N]>) -> String {
    listed(titles, rows, columns())
}

/// The width of the terminal, where it is one.
fn columns() -> Option<usize> {
    let terminal = terminal_size::terminal_size_of(std::io::stdout());
    terminal.map(|(width, _)| usize::from(width.0))
}

fn listed<const N: usize>(
    titles: [&str; N],
    rows: Vec<[String; N]>,
    most: Option<usize>,
) -> String {
    let text = fitted(titles, rows.clone(), most);
    let has_room = most.is_none_or(|most| wide(&text) <= most);
    if has_room || rows.is_empty() { text } else { records(titles, &rows) }
}

/// The length of the longest line.
fn wide(text: &str) -> usize {
    largest(text.lines().map(|line| line.trim_end().chars().count()))
}

/// The widest columns that may still be cut are, until the lines are no longer than this.
fn fitted<const N: usize>(
    titles: [&str; N],
    mut rows: Vec<[String; N]>,
    most: Option<usize>,
) -> String {
    let least: Vec<usize> = (0..N).map(|column| least(&rows, column)).collect();
    loop {
        let text = laid(titles, rows.clone());
        let over = most.map(|most| wide(&text).saturating_sub(most));
        let Some(over) = over.filter(|over| *over > 0) else { return text };
        let width = |n: usize| {
            largest(rows.iter().filter_map(|row| row.get(n)).map(|cell| cell.chars().count()))
        };
        let cut = least.iter().enumerate().filter(|(column, least)| width(*column) > **least);
        let widest = cut.max_by_key(|(column, _)| width(*column));
        let Some((column, least)) = widest else { return text };
        let room = width(column).saturating_sub(over);
        let keeps = if room < *least { *least } else { room };
        for cell in rows.iter_mut().filter_map(|row| row.get_mut(column)) {
            if cell.chars().count() > keeps {
                *cell = cell.chars().take(keeps.saturating_sub(1)).chain(['…']).collect();
            }
        }
    }
}

/// Each row as `title  value` lines without its empty cells, for a terminal that has no room for the table.
fn records<const N: usize>(titles: [&str; N], rows: &[[String; N]]) -> String {
    let record = |row: &[String; N]| {
        let cells = titles.iter().zip(row).filter(|(_, cell)| !cell.is_empty());
        let lines: Vec<(&str, &str)> =
            cells.map(|(title, cell)| (title.trim_start_matches('>'), cell.as_str())).collect();
        pairs(&lines)
    };
    rows.iter().map(record).collect::<Vec<_>>().join("\n\n")
}

/// What a column keeps at least: its first words where it has sentences or JSON.
fn least<const N: usize>(rows: &[[String; N]], column: usize) -> usize {
    let words = |cell: &String| cell.contains([' ', '{', '[']);
    let is_text = rows.iter().filter_map(|row| row.get(column)).any(words);
    if is_text { FIRST_WORDS } else { WHOLE }
}

fn largest(all: impl Iterator<Item = usize>) -> usize {
    all.fold(0, |most, one| if one > most { one } else { most })
}

fn laid<const N: usize>(titles: [&str; N], rows: Vec<[String; N]>) -> String {
    let right = titles.map(|title| title.starts_with('>'));
    let mut table = Table::new();
    table.load_style(RULED);
    table.set_header(titles.map(|title| title.trim_start_matches('>')));
    for row in rows {
        let aligned = row.into_iter().zip(right).map(|(text, right)| {
            let side = if right { CellAlignment::Right } else { CellAlignment::Left };
            Cell::new(text).set_alignment(side)
        });
        table.add_row(aligned);
    }
    table.to_string()
}

/// `name: value` lines, the values under each other.
pub(super) fn pairs(pairs: &[(&str, &str)]) -> String {
    let widest = pairs
        .iter()
        .map(|(name, _)| name.len())
        .fold(0, |most, len| if len > most { len } else { most });
    let line = |(name, value): &(&str, &str)| format!("{name:widest$}  {value}");
    pairs.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::{fitted, listed};

    /// Turns red where a long fact makes every line longer than the terminal.
    #[test]
    fn a_long_fact_is_cut_and_an_id_is_not() {
        let id = "01JFVQ2X8Z0Y1M3N4P5R6S7T8V";
        let facts = "the ledger answered something else than before: ".repeat(9);
        let row = || vec![[id.to_owned(), facts.clone(), "x\u{e9}".repeat(30)]];
        let whole = fitted(["id", "facts", "why"], row(), None);
        assert!(whole.contains(facts.trim_end()), "{whole}");
        for most in [100, 120, 300] {
            let text = fitted(["id", "facts", "why"], row(), Some(most));
            let wide = text.lines().map(|line| line.trim_end().chars().count()).max();
            assert!(
                wide <= Some(most) && text.contains('…') && text.contains(id),
                "{most}: {text}"
            );
        }
        let narrow = fitted(["id", "facts", "why"], row(), Some(20));
        assert!(narrow.contains(id), "what is cut below that says nothing: {narrow}");
        let by = "portage|operator-of-the-night";
        let row = || [id, by, r#"{"amount":"20000.000000"}"#, "booked on the command line"];
        let text =
            fitted(["id", "by", "value", "reason"], vec![row().map(str::to_owned)], Some(95));
        let wide = text.lines().map(|line| line.trim_end().chars().count()).max();
        assert!(wide <= Some(95) && text.contains(id), "sentences give way below an id: {text}");
        assert_eq!(
            fitted(["id"], vec![[id.to_owned()]], Some(80)),
            fitted(["id"], vec![[id.to_owned()]], None)
        );
    }

    /// Turns red where the lines of a list wrap because it has more columns than the terminal has room for.
    #[test]
    fn a_list_without_room_is_printed_row_by_row() {
        let id = "01JFVQ2X8Z0Y1M3N4P5R6S7T8V";
        let titles = ["id", "kind", ">number", "by", "decided_by", "at"];
        let row = [id, "ACCOUNT_STATUS", "7", "portage|operator", "", "2026-12-02T04:17:37.110Z"];
        let rows = || vec![row.map(str::to_owned), row.map(str::to_owned)];
        let record = format!(
            "id      {id}\nkind    ACCOUNT_STATUS\nnumber  7\nby      portage|operator\n\
             at      2026-12-02T04:17:37.110Z"
        );
        assert_eq!(listed(titles, rows(), Some(80)), format!("{record}\n\n{record}"));
        assert_eq!(listed(titles, rows(), Some(160)), fitted(titles, rows(), None));
        assert!(listed(titles, Vec::new(), Some(20)).contains("decided_by"), "no rows: the titles");
    }
}
