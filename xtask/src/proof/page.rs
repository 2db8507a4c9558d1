//! The acceptance page: its table read, and what the table must say before anything is run.

use std::collections::{BTreeMap, BTreeSet};

use crate::Outcome;

/// One line of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) id: String,
    /// What the names of its tests begin with.
    pub(super) test: String,
    pub(super) wrong: Option<String>,
    /// What the failed assertion prints under the wrong build.
    pub(super) assertion: String,
}

/// Stay green under every wrong build: one that breaks the plain way shows nothing about a single id.
pub(super) const PLAIN: [&str; 2] = ["FSM-001", "FSM-002"];

/// A build that turned many ids red would show little about each.
const AT_MOST: usize = 3;

/// The ids that must have a row: a family, and its last number.
const FAMILIES: [(&str, u8); 9] = [
    ("INV", 4),
    ("ATK", 13),
    ("BAL", 5),
    ("FSM", 6),
    ("CRA", 6),
    ("CON", 4),
    ("IDP", 4),
    ("FND", 6),
    ("MON", 4),
];

/// Reads every table of the page whose head is `id | test | wrong build | assertion …`.
pub(super) fn rows(text: &str) -> Outcome<Vec<Row>> {
    let mut rows = Vec::new();
    let mut inside = false;
    for (number, line) in (1..).zip(text.lines()) {
        let Some(cells) = cells(line) else {
            inside = false;
            continue;
        };
        if is_head(&cells) {
            inside = true;
        } else if inside && !cells.iter().all(|cell| is_rule(cell)) {
            rows.push(row(&cells).ok_or_else(|| format!("line {number}: four cells are needed"))?);
        }
    }
    if rows.is_empty() {
        return Err("no table with the head `id | test | wrong build | assertion`".to_owned());
    }
    Ok(rows)
}

/// Everything that the table lacks or overdoes.
pub(super) fn faults(rows: &[Row]) -> Vec<String> {
    let mut faults = Vec::new();
    let mut served: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for row in rows {
        let name = row.id.to_lowercase().replace('-', "_");
        if !row.test.contains(&name) {
            faults.push(format!("{}: its test is named `…{name}…`, not `{}`", row.id, row.test));
        }
        if let Some(wrong) = &row.wrong {
            served.entry(wrong).or_default().insert(&row.id);
            if row.assertion.is_empty() {
                faults.push(format!("{}: no assertion for wrong build `{wrong}`", row.id));
            }
        }
    }
    for (wrong, ids) in &served {
        if ids.len() > AT_MOST {
            let what = format!("wrong build `{wrong}` serves {} ids, at most {AT_MOST}", ids.len());
            faults.push(what);
        }
    }
    for id in required() {
        if !rows.iter().any(|row| row.id == id) {
            faults.push(format!("{id} has no row"));
        } else if !PLAIN.contains(&id.as_str()) && !served.values().any(|ids| ids.contains(&*id)) {
            faults.push(format!("{id} names no wrong build"));
        }
    }
    faults
}

fn required() -> impl Iterator<Item = String> {
    let numbers = |(family, last)| (1..=last).map(move |number| format!("{family}-{number:03}"));
    FAMILIES.into_iter().flat_map(numbers)
}

/// The cells of a table line, or none for any other line. `\|` is a bar inside a cell.
fn cells(line: &str) -> Option<Vec<String>> {
    let inner = line.trim().strip_prefix('|')?.strip_suffix('|')?.replace("\\|", "\0");
    let plain = |cell: &str| cell.trim().trim_matches('`').trim().replace('\0', "|");
    Some(inner.split('|').map(plain).collect())
}

fn is_head(cells: &[String]) -> bool {
    let [id, test, wrong, assertion] = cells else { return false };
    let names = [id, test, wrong].map(|cell| cell.to_lowercase());
    names == ["id", "test", "wrong build"] && assertion.to_lowercase().starts_with("assertion")
}

fn is_rule(cell: &str) -> bool {
    !cell.is_empty() && cell.chars().all(|c| matches!(c, '-' | ':'))
}

fn row(cells: &[String]) -> Option<Row> {
    let [id, test, wrong, assertion] = cells else { return None };
    let none = wrong.is_empty() || wrong == "-" || wrong == "–" || wrong == "—";
    Some(Row {
        id: id.clone(),
        test: test.clone(),
        wrong: (!none).then(|| wrong.clone()),
        assertion: assertion.clone(),
    })
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A row whose test is named as the rules want it.
    pub(in crate::proof) fn sample(id: &str, wrong: Option<&str>) -> Row {
        Row {
            id: id.to_owned(),
            test: format!("acceptance::{}", id.to_lowercase().replace('-', "_")),
            wrong: wrong.map(str::to_owned),
            assertion: "money is lost".to_owned(),
        }
    }

    /// A whole, faultless table: a wrong build of its own for each id but the plain ones.
    fn whole() -> Vec<Row> {
        let of = |id: String| {
            let wrong = (!PLAIN.contains(&id.as_str())).then(|| format!("wrong-{id}"));
            sample(&id, wrong.as_deref())
        };
        required().map(of).collect()
    }

    #[test]
    fn the_table_is_read_and_other_tables_are_not() {
        let text = "# Proof\n\n| a | b |\n|---|---|\n| c | d |\n\n\
                    | id | test | wrong build | assertion that turns red |\n|:--|---|--:|---|\n\
                    | FSM-001 | `acceptance::fsm_001` | – | |\n\
                    | INV-001 | `acceptance::inv_001` | `double-credit` | `a \\| b` |\n\nText.\n";
        let mut plain = sample("FSM-001", None);
        plain.assertion = String::new();
        let mut other = sample("INV-001", Some("double-credit"));
        other.assertion = "a | b".to_owned();
        assert_eq!(rows(text), Ok(vec![plain, other]));
    }

    #[test]
    fn a_page_without_the_table_or_with_a_short_row_is_refused() {
        assert!(rows("# Proof\n").unwrap_err().contains("no table"));
        let short = "| id | test | wrong build | assertion |\n|---|---|---|---|\n| a | b |\n";
        assert_eq!(rows(short), Err("line 3: four cells are needed".to_owned()));
    }

    #[test]
    fn a_whole_table_passes() {
        assert_eq!(whole().len(), 52);
        assert_eq!(faults(&whole()), [""; 0]);
    }

    #[test]
    fn a_missing_id_is_found() {
        let mut rows = whole();
        rows.retain(|row| row.id != "CON-003");
        assert_eq!(faults(&rows), ["CON-003 has no row"]);
    }

    #[test]
    fn an_id_that_nothing_turns_red_is_found() {
        let mut rows = whole();
        rows.iter_mut().filter(|row| row.id == "IDP-002").for_each(|row| row.wrong = None);
        assert_eq!(faults(&rows), ["IDP-002 names no wrong build"]);
    }

    #[test]
    fn a_build_that_serves_too_many_ids_is_found() {
        let mut rows = whole();
        let wrong = Some("everything".to_owned());
        rows.iter_mut().take(3).for_each(|row| row.wrong.clone_from(&wrong));
        assert_eq!(faults(&rows), [""; 0]);
        rows.iter_mut().take(4).for_each(|row| row.wrong.clone_from(&wrong));
        assert_eq!(faults(&rows), ["wrong build `everything` serves 4 ids, at most 3"]);
    }

    #[test]
    fn a_row_names_its_own_test_and_its_assertion() {
        let mut rows = whole();
        rows[0].test = "acceptance::inv_002".to_owned();
        rows[1].assertion = String::new();
        let found = faults(&rows);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].starts_with("INV-001: its test is named `…inv_001…`"), "{found:?}");
        assert!(found[1].starts_with("INV-002: no assertion"), "{found:?}");
    }
}
