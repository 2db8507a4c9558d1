//! Stores resources and counters, which are rows of `service_state`. A write reads them under their
//! locks in the order of their names, decides on one after the other, and writes them in arrays.

use super::columns::{int, read_amount, uint};
use super::error::StoreError;
use super::read::read_pool::{ReadPool, rows};
use super::session::connect::Pooled;
use super::write::connection::WriteConnection;
use super::write::read_rows::{LockMode, Query, locking};
use super::write::row_set::RowSet;
use super::write::statement::{Statements, params};
use super::write::workspace::{BatchWorkspace, Undecided};
use super::write::write_rows::column;
use kernel::answer::Cause;
use kernel::ports::journal::Resource;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;
use tokio_postgres::Row;

/// A named value in a write.
#[derive(Debug, Clone)]
pub(crate) enum NamedRow {
    /// It is ours for this write, or not there yet.
    Owned(NamedValue),
    /// Another transaction holds it.
    Locked,
}

/// A named value that is decided on.
#[derive(Debug, Clone, Default)]
pub(crate) struct NamedValue {
    /// The version of its row; 0: it has none yet.
    was: u64,
    version: u64,
    value: Arc<str>,
}

impl NamedValue {
    /// The next value; each is a version.
    fn set(&mut self, value: Arc<str>) {
        self.version = self.version.saturating_add(1);
        self.value = value;
    }
}

/// The full name of a resource.
pub(crate) fn resource(name: &str) -> Arc<str> {
    format!("resource/{name}").into()
}

/// The full name of a counter.
pub(crate) fn counter(name: &str) -> Arc<str> {
    format!("counter/{name}").into()
}

const READ: &str = "SELECT name, version, value FROM service_state WHERE name = ANY($1) \
    ORDER BY name FOR NO KEY UPDATE";

const CHANGED: &str = "UPDATE service_state s SET value = n.value, version = n.version, at = $1 \
    FROM (SELECT unnest($2::text[]) AS name, unnest($3::text[]) AS value, \
      unnest($4::bigint[]) AS version, unnest($5::bigint[]) AS was) n \
    WHERE s.name = n.name AND s.version = n.was RETURNING 1";

const FIRST: &str = "INSERT INTO service_state (at, name, value, version) \
    SELECT $1, unnest($2::text[]), unnest($3::text[]), unnest($4::bigint[]) \
    ON CONFLICT DO NOTHING RETURNING 1";

fn texts<'n>(names: impl Iterator<Item = &'n Arc<str>>) -> Vec<String> {
    names.map(|name| name.to_string()).collect()
}

/// The query for the values that items name; it takes their locks in one order.
pub(crate) fn query(row_set: &RowSet, wait: LockMode) -> Option<Query> {
    let names = texts(row_set.named.iter());
    (!names.is_empty()).then(|| -> Query { (locking(READ, wait), params![names]) })
}

pub(crate) fn take(workspace: &mut BatchWorkspace, rows: &[Row]) -> Result<(), StoreError> {
    for row in rows {
        let version = uint(row.try_get(1)?);
        let value = row.try_get::<_, &str>(2)?.into();
        let owned = NamedValue { was: version, version, value };
        workspace.named.insert(row.try_get::<_, &str>(0)?.into(), NamedRow::Owned(owned));
    }
    Ok(())
}

impl WriteConnection {
    /// What was not found under its lock: it is not there, or another transaction holds it.
    pub(crate) async fn missing_named(
        &self,
        workspace: &mut BatchWorkspace,
        row_set: &RowSet,
    ) -> Result<(), StoreError> {
        let found = &workspace.named;
        let names = texts(row_set.named.iter().filter(|name| !found.contains_key(*name)));
        if names.is_empty() {
            return Ok(());
        }
        let sql = "SELECT name FROM service_state WHERE name = ANY($1)";
        for row in self.client.query(&self.prepared(sql).await?, &[&names]).await? {
            workspace.named.insert(row.try_get::<_, &str>(0)?.into(), NamedRow::Locked);
        }
        for name in names {
            let none = || NamedRow::Owned(NamedValue::default());
            workspace.named.entry(name.into()).or_insert_with(none);
        }
        Ok(())
    }

    /// Waits until no other transaction holds any of these, at most for `limit`.
    ///
    /// # Errors
    /// [`StoreError::Locked`]: one still does.
    pub(crate) async fn wait_for_named(
        &self,
        names: &BTreeSet<Arc<str>>,
        limit: Duration,
    ) -> Result<(), StoreError> {
        self.wait_for_lock(READ, &params![texts(names.iter())], limit).await
    }
}

impl BatchWorkspace {
    fn named_value(&self, name: &str) -> Result<&NamedValue, Undecided> {
        match self.named.get(name) {
            Some(NamedRow::Owned(value)) => Ok(value),
            Some(NamedRow::Locked) => Err(Undecided::Locked),
            None => Err(StoreError::Damaged("a name that was not asked for").into()),
        }
    }

    /// The version of a resource; 0: it is not there.
    pub(crate) fn resource_version(&self, name: &str) -> Result<u64, Undecided> {
        Ok(self.named_value(&resource(name))?.version)
    }

    /// The value of a counter after the items so far.
    pub(crate) fn counter_value(&self, name: &str) -> Result<u128, Undecided> {
        let found = self.named_value(&counter(name))?;
        if found.version == 0 {
            return Ok(0);
        }
        Ok(read_amount(&found.value).map_err(StoreError::from)?.0)
    }

    /// Sets a decided value in the workspace.
    pub(crate) fn set_named(&mut self, name: &Arc<str>, value: Arc<str>) {
        // nothing is decided on what was not read
        if let Some(NamedRow::Owned(owned)) = self.named.get_mut(name) {
            owned.set(value);
        }
    }

    /// True where a named value is to be written.
    pub(crate) fn names_changed(&self) -> bool {
        self.named.values().any(|row| changed(row).is_some())
    }
}

/// The value that is to be written.
fn changed(row: &NamedRow) -> Option<&NamedValue> {
    match row {
        NamedRow::Owned(value) => Some(value).filter(|value| value.version != value.was),
        NamedRow::Locked => None,
    }
}

impl Statements {
    /// Values that change, in the order of their names.
    pub(crate) fn named(&mut self, workspace: &BatchWorkspace, at: i64) {
        let rows = workspace.named.iter().filter_map(|(name, row)| Some((name, changed(row)?)));
        let (new, old): (Vec<_>, Vec<_>) = rows.partition(|(_, value)| value.was == 0);
        let shared = |rows: &[(&Arc<str>, &NamedValue)]| {
            params![
                at,
                column(rows, |(name, _)| name.to_string()),
                column(rows, |(_, value)| value.value.to_string()),
                column(rows, |(_, value)| int(value.version)),
            ]
        };
        if !old.is_empty() {
            let mut all = shared(&old);
            all.extend(params![column(&old, |(_, value)| int(value.was))]);
            self.exactly(old.len(), CHANGED, all);
        }
        if !new.is_empty() {
            self.exactly(new.len(), FIRST, shared(&new));
        }
    }
}

/// A resource as a row; the name is the full one.
fn read(row: &Row) -> Result<Resource, StoreError> {
    let name: &str = row.try_get(0)?;
    let version = u32::try_from(row.try_get::<_, i64>(1)?).unwrap_or(u32::MAX);
    let name = name.strip_prefix("resource/").unwrap_or(name).into();
    Ok(Resource { name, version, value: row.try_get::<_, &str>(2)?.into() })
}

/// Resources whose names begin like this, by name.
pub(super) async fn resources(db: &Pooled, prefix: &str) -> Result<Vec<Resource>, StoreError> {
    let sql = "SELECT name, version, value FROM service_state \
               WHERE name >= $1 AND starts_with(name, $1) ORDER BY name";
    let found = rows(db, sql, &[&&*resource(prefix)]).await?;
    found.iter().map(read).collect()
}

/// The counters whose names begin like this.
pub(super) async fn counters(
    db: &Pooled,
    prefix: &str,
) -> Result<BTreeMap<Arc<str>, u128>, StoreError> {
    let sql = "SELECT name, value FROM service_state WHERE name >= $1 AND starts_with(name, $1)";
    let found = rows(db, sql, &[&&*counter(prefix)]).await?;
    let named = |row: &Row| {
        let name: &str = row.try_get(0)?;
        let name = name.strip_prefix("counter/").unwrap_or(name).into();
        Ok((name, read_amount(row.try_get(1)?)?.0))
    };
    found.iter().map(named).collect()
}

impl ReadPool {
    /// The resource of that name.
    pub(crate) async fn resource(&self, name: &str) -> Result<Option<Resource>, Cause> {
        let sql = "SELECT name, version, value FROM service_state WHERE name = $1";
        let found = rows(&self.question().await?, sql, &[&&*resource(name)]).await?;
        Ok(found.first().map(read).transpose()?)
    }

    /// Resources whose names begin like this, by name.
    pub(crate) async fn resources(&self, prefix: &str) -> Result<Vec<Resource>, Cause> {
        Ok(resources(&self.question().await?, prefix).await?)
    }

    /// The stored value of a counter.
    pub(crate) async fn counter(&self, name: &str) -> Result<u128, Cause> {
        let sql = "SELECT value FROM service_state WHERE name = $1";
        let found = rows(&self.question().await?, sql, &[&&*counter(name)]).await?;
        let amount = found.first().map(|row| Ok::<_, StoreError>(read_amount(row.try_get(0)?)?));
        Ok(amount.transpose()?.map_or(0, |amount| amount.0))
    }
}
