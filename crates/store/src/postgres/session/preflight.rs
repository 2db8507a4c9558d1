//! Checks, before the store writes anything, that the database does not lose what it acknowledges.

use super::client::ConnectionError;
use super::connect::{Database, connect_once};
use crate::postgres::DatabaseOpenError;

/// The oldest release of PostgreSQL that this one is written for.
const OLDEST: i32 = 150_000;

/// Refuses a server that would lose what it acknowledged, or that is too old.
///
/// # Errors
/// [`DatabaseOpenError::Unsafe`], with what to do about it; or it does not answer.
pub async fn check(database: &Database) -> Result<(), DatabaseOpenError> {
    let client = connect_once(database).await?;
    let sql = "SELECT current_setting('server_version_num')::int, current_setting('fsync'), \
               current_setting('full_page_writes'), pg_is_in_recovery(), current_setting('server_version'), \
               current_setting('server_encoding')";
    let unreachable = |error: ConnectionError| DatabaseOpenError::Unreachable(error.to_string());
    let row = client.query_one(sql, &[]).await.map_err(unreachable)?;
    let unreachable = |error: tokio_postgres::Error| unreachable(error.into());
    let version: i32 = row.try_get(0).map_err(unreachable)?;
    let fsync: String = row.try_get(1).map_err(unreachable)?;
    let pages: String = row.try_get(2).map_err(unreachable)?;
    let standby: bool = row.try_get(3).map_err(unreachable)?;
    let name: String = row.try_get(4).map_err(unreachable)?;
    let encoding: String = row.try_get(5).map_err(unreachable)?;
    let unsafe_ = |what: String| Err(DatabaseOpenError::Unsafe(what));
    if version < OLDEST {
        return unsafe_(format!(
            "it is PostgreSQL {name}, and Portage is written for 15 and later: upgrade the server"
        ));
    }
    for (setting, value) in [("fsync", fsync), ("full_page_writes", pages)] {
        if value != "on" {
            return unsafe_(format!(
                "`{setting} = {value}`: a crash of the machine then loses transfers that were \
                 acknowledged, or tears pages. Set `{setting} = on` in postgresql.conf and reload \
                 the server"
            ));
        }
    }
    // others refuse letters of references and reasons in the middle of a unit, at each repeat
    if encoding != "UTF8" {
        return unsafe_(format!(
            "its encoding is {encoding}, which cannot hold every text: make another database, with \
             `CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0`"
        ));
    }
    if standby {
        return unsafe_(
            "it is a standby, which takes no writes: name the primary in database.url \
             (`target_session_attrs=read-write` chooses it among several hosts)"
                .to_owned(),
        );
    }
    Ok(())
}
