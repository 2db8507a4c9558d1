//! Puts the parts of a write, one for each table, together as one statement, since each statement and
//! each answer costs the server more than a row.

use super::connection::WriteConnection;
use crate::postgres::error::StoreError;
use std::fmt::Write;
use tokio_postgres::types::ToSql;

pub(crate) type Params = Vec<Box<dyn ToSql + Sync + Send>>;

/// A parameter that outlives its statement.
pub(crate) fn boxed(value: impl ToSql + Sync + Send + 'static) -> Box<dyn ToSql + Sync + Send> {
    Box::new(value)
}

/// Parameters as the driver takes them.
pub(crate) fn borrowed(params: &Params) -> Vec<&(dyn ToSql + Sync)> {
    params.iter().map(|param| -> &(dyn ToSql + Sync) { &**param }).collect()
}

macro_rules! params {
    ($($value:expr),* $(,)?) => { vec![$($crate::postgres::write::statement::boxed($value)),*] };
}
pub(crate) use params;

/// The change of one table. Its parameters count from $1; no two parts touch the same row.
struct Part {
    sql: &'static str,
    params: Params,
    /// The number of rows that it must change; it returns each of them.
    rows: Option<i64>,
}

/// The parts of a write.
#[derive(Default)]
pub(crate) struct Statements(Vec<Part>);

impl Statements {
    /// A part that changes as many rows as it changes.
    pub(crate) fn add(&mut self, sql: &'static str, params: Params) {
        self.0.push(Part { sql, params, rows: None });
    }

    /// A part that must change exactly `rows` rows, and returns each.
    pub(crate) fn exactly(&mut self, rows: usize, sql: &'static str, params: Params) {
        let rows = Some(i64::try_from(rows).unwrap_or(i64::MAX));
        self.0.push(Part { sql, params, rows });
    }

    /// The one statement. The same kinds of parts give the same text, which is prepared once.
    fn together(self) -> (String, Params) {
        let (mut sql, mut params) = ("WITH ".to_owned(), Params::new());
        let mut checks = Vec::new();
        for (n, part) in self.0.into_iter().enumerate() {
            let comma = if n == 0 { "" } else { ", " };
            let body = shifted(part.sql, params.len());
            params.extend(part.params);
            // writing to a text cannot fail
            let _written = write!(sql, "{comma}w{n} AS ({body})");
            if let Some(rows) = part.rows {
                params.push(Box::new(rows));
                checks.push(format!(
                    "portage_expect((SELECT count(*) FROM w{n}), ${})",
                    params.len()
                ));
            }
        }
        let checks = if checks.is_empty() { "1".to_owned() } else { checks.join(", ") };
        let _written = write!(sql, " SELECT {checks}");
        (sql, params)
    }
}

/// The text with `by` added to the number of each parameter.
fn shifted(sql: &str, by: usize) -> String {
    let mut pieces = sql.split('$');
    let mut text = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let digits = piece.bytes().take_while(u8::is_ascii_digit).count();
        let (number, rest) = piece.split_at(digits);
        let number = number.parse::<usize>().unwrap_or(0).saturating_add(by);
        let _written = write!(text, "${number}{rest}");
    }
    text
}

impl WriteConnection {
    /// Sends the statement, and COMMIT behind it where `commit`. An error of the statement: nothing
    /// was written. An error of COMMIT, or a notice beside it: the outcome is unknown.
    pub(crate) async fn run(&self, all: Statements, commit: bool) -> Result<(), StoreError> {
        let (sql, params) = all.together();
        let statement = self.prepared(&sql).await?;
        let params = borrowed(&params);
        if commit {
            return self.client.execute_and_commit(&statement, &params).await;
        }
        self.client.execute(&statement, &params).await?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_count_their_parameters_one_after_the_other() {
        let mut all = Statements::default();
        all.exactly(2, "UPDATE a SET x = $1 WHERE y = $2 RETURNING 1", params![7_i64, 8_i64]);
        all.add("INSERT INTO b VALUES ($1, $2, $10)", params![9_i64]);
        let (sql, params) = all.together();
        assert_eq!(
            sql,
            "WITH w0 AS (UPDATE a SET x = $1 WHERE y = $2 RETURNING 1), \
             w1 AS (INSERT INTO b VALUES ($4, $5, $13)) \
             SELECT portage_expect((SELECT count(*) FROM w0), $3)"
        );
        assert_eq!(params.len(), 4);
    }
}
