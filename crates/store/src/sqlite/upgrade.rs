//! Upgrades the tables of a store, step by step, from the shape of a former release to the present one.
//!
//! `schema.sql` is the shape of 0.1.0, and a fresh store runs the steps behind it too, so it always has
//! the tables of a store that was upgraded. A released step is never edited; a change is a new entry at
//! the end of [`STEPS`] with a file in `upgrades/`.

use super::{APPLICATION, OpenError, columns};
use kernel::money::Asset;
use rusqlite::{Connection, Row, params};
use std::collections::BTreeMap;

/// The shape of `schema.sql`, the first that a release wrote.
const FIRST: i64 = 5;

/// One step from a shape of the tables to the next.
#[derive(Debug, Clone, Copy)]
pub struct Upgrade {
    /// The shape that it makes.
    pub shape: i64,
    pub name: &'static str,
    sql: &'static str,
}

/// Every one, in their order, each from the shape before it.
const STEPS: &[Upgrade] = &[
    Upgrade { shape: 6, name: "outbox", sql: include_str!("upgrades/outbox.sql") },
    Upgrade { shape: 7, name: "accounts", sql: include_str!("upgrades/accounts.sql") },
    Upgrade { shape: 8, name: "terms", sql: include_str!("upgrades/terms.sql") },
    Upgrade { shape: 9, name: "attempts", sql: include_str!("upgrades/attempts.sql") },
    Upgrade { shape: 10, name: "parked", sql: include_str!("upgrades/parked.sql") },
    Upgrade { shape: 11, name: "webhooks", sql: include_str!("upgrades/webhooks.sql") },
    Upgrade { shape: 12, name: "agreed", sql: include_str!("upgrades/agreed.sql") },
    Upgrade { shape: 13, name: "flows", sql: include_str!("upgrades/flows.sql") },
    Upgrade { shape: 14, name: "refund fee", sql: include_str!("upgrades/refund_fee.sql") },
];

/// The shape of the tables that this release reads and writes.
pub(super) const VERSION: i64 = last(STEPS);

const fn last(steps: &[Upgrade]) -> i64 {
    match steps.last() {
        Some(step) => step.shape,
        None => FIRST,
    }
}

/// How the store in a file stands to this release.
#[derive(Debug)]
pub enum ShapeState {
    /// No table of ours in it.
    Empty,
    /// These are still to be run.
    Behind(&'static [Upgrade]),
    /// As this release needs it.
    Current,
}

/// Looks, and changes nothing.
///
/// # Errors
/// A newer release or a build before the first one wrote it, or it is not a store.
pub(super) fn state(db: &Connection) -> Result<ShapeState, OpenError> {
    among(db, STEPS)
}

fn among(db: &Connection, steps: &'static [Upgrade]) -> Result<ShapeState, OpenError> {
    let version: i64 = db.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    if version == 0 {
        return Ok(ShapeState::Empty);
    }
    if version > last(steps) {
        return Err(OpenError::Newer(version));
    }
    if version < FIRST {
        return Err(OpenError::Unreleased(version));
    }
    let owner: i64 = db.query_row("PRAGMA application_id", [], |row| row.get(0))?;
    if owner != APPLICATION {
        return Err(OpenError::Damaged("not our file".to_owned()));
    }
    let done = steps.iter().take_while(|step| step.shape <= version).count();
    let (done, missing) = steps.split_at_checked(done).unwrap_or((steps, &[]));
    if let Some(different) = differs(db, done)? {
        return Err(OpenError::OtherSchema { shape: version, different });
    }
    Ok(if missing.is_empty() { ShapeState::Current } else { ShapeState::Behind(missing) })
}

/// The first table, index, view or trigger of a released store of this shape that a store lacks or has in another form:
/// builds between releases used the numbers of released shapes. What was added beside that does not count.
fn differs(db: &Connection, done: &[Upgrade]) -> rusqlite::Result<Option<String>> {
    let released = Connection::open_in_memory()?;
    create(&released)?;
    for step in done {
        released.execute_batch(step.sql)?;
    }
    let found = definitions(db)?;
    let all = definitions(&released)?.into_iter();
    Ok(all.filter(|(name, sql)| found.get(name) != Some(sql)).map(|(name, _)| name).next())
}

/// The definition of each table, index, view and trigger by its name, without white space and quotes: these
/// differ by the version of SQLite that ran a step.
fn definitions(db: &Connection) -> rusqlite::Result<BTreeMap<String, String>> {
    let sql = "SELECT name, coalesce(sql, '') FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%'";
    let read = |row: &Row<'_>| {
        let definition: String = row.get(1)?;
        let kept = definition.chars().filter(|c| !c.is_whitespace() && !"\"`[]".contains(*c));
        Ok((row.get(0)?, kept.collect()))
    };
    db.prepare(sql)?.query_map([], read)?.collect()
}

/// Makes the tables of a fresh store, or runs the steps that a former release's store lacks: all in
/// one transaction. Gives back the steps that an older store lacked.
///
/// # Errors
/// As [`state`]; a step that failed leaves the store as it was.
pub(super) fn run(db: &Connection) -> Result<&'static [Upgrade], OpenError> {
    through(db, STEPS)
}

fn through(db: &Connection, steps: &'static [Upgrade]) -> Result<&'static [Upgrade], OpenError> {
    let (fresh, missing) = match among(db, steps)? {
        ShapeState::Current => return Ok(&[]),
        ShapeState::Empty => (true, steps),
        ShapeState::Behind(missing) => (false, missing),
    };
    let all = db.unchecked_transaction()?;
    if fresh {
        create(&all)?;
    }
    for step in missing {
        run_step(&all, step).map_err(|error| OpenError::Upgrade {
            shape: step.shape,
            name: step.name,
            error: error.to_string(),
        })?;
    }
    all.pragma_update(None, "user_version", last(steps))?;
    all.commit()?;
    Ok(if fresh { &[] } else { missing })
}

fn run_step(db: &Connection, step: &Upgrade) -> rusqlite::Result<()> {
    db.execute_batch(step.sql)?;
    // a step that ends the transaction would leave its half behind
    if db.is_autocommit() { Err(rusqlite::Error::InvalidQuery) } else { Ok(()) }
}

/// The tables of the first shape, and what a fresh store knows.
fn create(db: &Connection) -> rusqlite::Result<()> {
    db.execute_batch(include_str!("schema.sql"))?;
    for asset in Asset::fresh() {
        db.execute(
            "INSERT INTO assets_tb VALUES (?, ?, ?, ?, ?, ?, NULL, NULL)",
            params![
                asset.id.0,
                asset.symbol,
                asset.precision,
                asset.status.name(),
                asset.transferable,
                columns::amount(asset.min),
            ],
        )?;
    }
    db.execute(
        "INSERT INTO service_state VALUES ('identity', lower(hex(randomblob(16))), 1, 0)",
        [],
    )?;
    db.pragma_update(None, "application_id", APPLICATION)
}

#[cfg(test)]
mod tests {
    use super::{FIRST, OpenError, STEPS, ShapeState, Upgrade, among, through};
    use rusqlite::Connection;

    const ONE: Upgrade =
        Upgrade { shape: 6, name: "one", sql: "CREATE TABLE one (n INTEGER NOT NULL)" };
    const TWO: Upgrade = Upgrade {
        shape: 7,
        name: "two",
        sql: "ALTER TABLE one ADD COLUMN m INTEGER; INSERT INTO one VALUES (1, 2)",
    };
    const FAILS: Upgrade = Upgrade {
        shape: 7,
        name: "fails",
        sql: "INSERT INTO one VALUES (1); INSERT INTO one VALUES (NULL)",
    };
    const COMMITS: Upgrade =
        Upgrade { shape: 7, name: "commits", sql: "CREATE TABLE two (n); COMMIT" };

    fn shape(db: &Connection) -> (i64, Vec<String>) {
        let version = db.query_row("PRAGMA user_version", [], |row| row.get(0)).expect("a shape");
        let sql = "SELECT name || coalesce(sql, '') FROM sqlite_schema ORDER BY 1";
        let mut names = db.prepare(sql).expect("a list");
        let names = names.query_map([], |row| row.get(0)).expect("a list");
        (version, names.collect::<Result<_, _>>().expect("names"))
    }

    fn store() -> Connection {
        let db = Connection::open_in_memory().expect("a database");
        through(&db, &[]).expect("the first shape");
        assert_eq!(shape(&db).0, FIRST);
        db
    }

    #[test]
    fn each_step_follows_the_shape_before_it() {
        for (n, step) in (1_i64..).zip(STEPS) {
            assert_eq!(step.shape, FIRST + n, "{}", step.name);
        }
    }

    #[test]
    fn what_is_missing_runs_once_in_its_order() {
        let db = store();
        assert!(matches!(among(&db, &[ONE, TWO]), Ok(ShapeState::Behind([_, _]))));
        let names = |ran: &[Upgrade]| ran.iter().map(|step| step.name).collect::<Vec<_>>();
        assert_eq!(names(through(&db, &[ONE]).expect("one")), ["one"]);
        assert_eq!(names(through(&db, &[ONE, TWO]).expect("two")), ["two"]);
        assert_eq!(names(through(&db, &[ONE, TWO]).expect("nothing")), [""; 0]);
        assert!(matches!(among(&db, &[ONE, TWO]), Ok(ShapeState::Current)));
        assert!(matches!(among(&db, &[ONE]), Err(OpenError::Newer(7))));
        let fresh = Connection::open_in_memory().expect("a database");
        assert_eq!(names(through(&fresh, &[ONE, TWO]).expect("fresh")), [""; 0]);
        assert_eq!(shape(&db), shape(&fresh), "upgraded and fresh");
    }

    #[test]
    fn a_step_that_fails_leaves_the_store_as_it_was() {
        let db = store();
        let before = shape(&db);
        let refused = through(&db, &[ONE, FAILS]).expect_err("a failure");
        assert!(refused.to_string().contains("shape 7 (fails)"), "{refused}");
        assert_eq!(shape(&db), before);
        through(&db, &[ONE, TWO]).expect("the right steps");
    }

    /// Turns red where a store is upgraded by its number alone: it was, and could be read by no release then.
    #[test]
    fn a_store_of_a_build_before_the_first_release_stays_as_it_is() {
        for change in [
            "DROP TABLE halts",
            "ALTER TABLE cases ADD COLUMN more TEXT",
            "DROP TABLE halts; CREATE VIEW halts AS SELECT 1",
        ] {
            let db = store();
            db.execute_batch(change).expect("a change");
            let before = shape(&db);
            let refused = through(&db, &[ONE]).expect_err(change);
            assert!(matches!(refused, OpenError::OtherSchema { shape: FIRST, .. }), "{refused}");
            assert_eq!(shape(&db), before);
        }
        // a store that lacks no step is looked at as well
        let db = store();
        through(&db, &[ONE]).expect("a step");
        db.execute_batch("DROP TABLE one; CREATE TABLE one (n TEXT)").expect("another schema");
        let before = shape(&db);
        let refused = through(&db, &[ONE]).expect_err("another schema of the same number");
        assert!(refused.to_string().contains("`one`"), "{refused}");
        assert!(among(&db, &[ONE]).is_err());
        assert_eq!(shape(&db), before);
        let db = store();
        db.execute_batch("CREATE INDEX of_ours ON cases (kind)").expect("an index");
        through(&db, &[ONE]).expect("an operator's index");
    }

    #[test]
    fn a_step_that_commits_is_refused_before_the_shape_is_written() {
        let db = store();
        assert!(through(&db, &[ONE, COMMITS]).is_err());
        assert_eq!(shape(&db).0, FIRST);
    }
}
