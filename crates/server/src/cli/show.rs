//! What is printed: tables for people, JSON for programs.

use super::exit::{Exit, Fault};
use comfy_table::{Cell, CellAlignment, LineStyle, Table, TableStyle};
use serde::Serialize;
use std::io::Write;

/// Prints to stdout. A reader that went away is an error too: a demo that nobody reads must not
/// leave its server behind, nor claim that all of it held.
///
/// # Errors
/// stdout cannot be written.
pub(super) fn say(text: &str) -> Result<(), Fault> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.write_all(b"\n")?;
    Ok(out.flush()?)
}

/// Prints to stderr, as far as that works.
pub(super) fn complain(text: &str) {
    let _closed = writeln!(std::io::stderr(), "portage: {text}");
}

/// Prints a value as JSON.
///
/// # Errors
/// stdout cannot be written.
pub(super) fn json(value: &impl Serialize) -> Result<(), Fault> {
    let text = serde_json::to_string_pretty(value)
        .map_err(|fault| Fault::new(Exit::Software, fault.to_string()))?;
    say(&text)
}

/// One rule, below the titles.
const RULED: TableStyle =
    TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));

/// A table; columns whose title begins with `>` stand on the right.
pub(super) fn table<const N: usize>(titles: [&str; N], rows: Vec<[String; N]>) -> String {
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
