//! Compares clients' keys with their transfers: a key without its row, or with another transfer's, lets a client's
//! repeat move the money a second time.

use super::Break;
use crate::ports::journal::{KeyRow, Line, UnmatchedKey};

/// The break of a transfer whose key has no row of its own. No money is missing yet, so its amount is 0.
pub(super) fn of_line(line: &Line) -> Option<Break> {
    let what = match line.key_row {
        KeyRow::Keyless => return None,
        KeyRow::Names(serial) if serial == line.serial => return None,
        KeyRow::Names(serial) => format!("its client's key names transfer number {serial}"),
        KeyRow::Missing => "its client's key has no row".to_owned(),
    };
    let key = format!("{}/key", line.id);
    let what = format!("{key}: {what}; a repeat of the request is not answered with this transfer");
    Some(Break { key, amount: 0, what })
}

/// The break of a row to which no transfer belongs.
pub fn unmatched_key(row: &UnmatchedKey) -> Break {
    let UnmatchedKey { flow, scope, key, serial } = row;
    let key = format!("keys/{flow}/{scope}/{key}");
    let what = format!(
        "{key}: the row names transfer number {serial}, which is not there or has another key"
    );
    Break { key, amount: 0, what }
}
