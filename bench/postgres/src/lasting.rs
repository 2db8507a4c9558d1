//! Load that lasts: a row for each minute, and what the server's vacuum did meanwhile.

use crate::Outcome;
use crate::load::Spread;
use crate::peers::Subject;
use crate::report::{Line, What};
use crate::site::Site;
use std::time::Duration;
use testbed::Database;

/// How long a row of it is.
const ROW: Duration = Duration::from_secs(60);

const VACUUMS: &str = "SELECT sum(autovacuum_count) || ' vacuums so far, ' || sum(n_dead_tup) || \
    ' dead rows, ' || pg_size_pretty(pg_database_size(current_database())) FROM pg_stat_user_tables";

/// Measures one level for this number of minutes, a row for each; returns the last row.
pub(crate) async fn lasts(
    (what, subject): (What, &Subject),
    site: &Site,
    (spread, level): (Spread, usize),
    minutes: u64,
) -> Outcome<Option<Line>> {
    let mut last = None;
    for _ in 0..minutes {
        let run = subject.run(site, spread, level, ROW).await?;
        last = Some(Line::show(what, spread, level, run));
        println!("{}", vacuums(subject.database())?);
    }
    Ok(last)
}

fn vacuums(database: &Database) -> Outcome<String> {
    Ok(database.sql(VACUUMS)?.trim().to_owned())
}
