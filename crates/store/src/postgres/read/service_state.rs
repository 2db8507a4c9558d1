//! Reads flags, pauses, accepted breaks, assets and ledgers in one statement, so that all of them are
//! of one instant.

use super::read_pool::{ReadPool, rows};
use crate::postgres::columns;
use crate::postgres::error::StoreError;
use kernel::answer::Cause;
use kernel::flow::table::Flows;
use kernel::ids::{AssetId, LedgerId};
use kernel::money::{Asset, AssetStatus};
use kernel::operation::{Identity, Incarnation, Known};
use kernel::operators::{Accepted, Paused};
use kernel::ports::journal::{Owner, ServiceStatus};
use std::str::FromStr;
use uuid::Uuid;

const ALL: &str = "SELECT 'state', ARRAY[name, value, version::text] FROM service_state \
      WHERE name IN ('halted', 'horizon', 'identity', 'resource/assets', 'resource/proven') \
    UNION ALL SELECT 'halts', ARRAY[max(halt)::text] FROM halts \
    UNION ALL SELECT 'pause', ARRAY[pause_id::text, scope, subject, reason, caller, at::text] \
      FROM pauses \
    UNION ALL SELECT 'accepted', ARRAY[key, amount::text, at::text] FROM accepted_breaks \
    UNION ALL SELECT 'asset', ARRAY[asset_id::text, symbol, precision::text, status, \
      internal_transfer_enabled::text, min_transfer_amount::text, max_transfer_amount::text, \
      daily_amount::text] FROM assets_tb \
    UNION ALL SELECT 'ledger', ARRAY[l.ledger::text, l.identity::text, l.incarnation::text, \
      greatest(l.highest, (SELECT max(n.highest) FROM ledger_lanes n \
        WHERE n.ledger = l.ledger))::text] \
      FROM ledgers_tb l WHERE l.current \
    UNION ALL SELECT 'owner', ARRAY[o.ledger::text, o.epoch::text, o.worker::text, o.identity::text, \
      (w.leased_until > m.now AND w.leased_until <= m.now + w.length)::text] \
      FROM ledger_owners o LEFT JOIN workers w USING (worker), \
      (SELECT coalesce($1::bigint, portage_now()) AS now) m \
    UNION ALL SELECT 'worker', ARRAY[w.worker::text] FROM workers w, \
      (SELECT coalesce($1::bigint, portage_now()) AS now) m \
      WHERE w.leased_until > m.now AND w.leased_until <= m.now + w.length";

/// The fields of a row of [`ALL`].
struct Fields(Vec<Option<String>>);

impl Fields {
    fn maybe(&self, n: usize) -> Option<&str> {
        self.0.get(n).and_then(Option::as_deref)
    }

    fn text(&self, n: usize) -> Result<&str, StoreError> {
        self.maybe(n).ok_or(StoreError::Damaged("a field without a value"))
    }

    fn number<T: FromStr>(&self, n: usize) -> Result<T, StoreError> {
        self.text(n)?.parse().map_err(|_| StoreError::Damaged("not a number"))
    }

    fn uuid(&self, n: usize) -> Result<u128, StoreError> {
        let uuid = Uuid::parse_str(self.text(n)?);
        Ok(uuid.map_err(|_| StoreError::Damaged("not an identity"))?.as_u128())
    }
}

/// The state as it is read, with the times by which breaks are sorted.
#[derive(Default)]
struct StatusRows {
    status: ServiceStatus,
    accepted: Vec<(u64, Accepted)>,
}

impl StatusRows {
    fn take(&mut self, flows: &Flows, kind: &str, fields: &Fields) -> Result<(), StoreError> {
        match kind {
            "state" => self.state(fields)?,
            // no row but one without a number, before the first one
            "halts" => self.status.halts = fields.maybe(0).map_or(Ok(0), |_| fields.number(0))?,
            "pause" => self.status.paused.extend(paused(flows, fields)?),
            "accepted" => {
                let amount = columns::read_signed(fields.text(1)?)?;
                let accepted = Accepted { key: fields.text(0)?.into(), amount };
                self.accepted.push((fields.number(2)?, accepted));
            }
            "asset" => self.status.assets.push(asset(fields)?),
            "ledger" => {
                let known = Known {
                    identity: Identity(fields.uuid(1)?),
                    incarnation: Incarnation(fields.uuid(2)?),
                    highest: fields.number(3)?,
                };
                self.status.ledgers.push((LedgerId(fields.number(0)?), known));
            }
            "owner" => self.status.owners.push(Owner {
                ledger: LedgerId(fields.number(0)?),
                epoch: fields.number(1)?,
                worker: columns::read_worker(fields.number(2)?),
                identity: Identity(fields.uuid(3)?),
                lives: fields.maybe(4) == Some("true"),
            }),
            "worker" => self.status.workers.push(columns::read_worker(fields.number(0)?)),
            _ => return Err(StoreError::Damaged("not what was asked")),
        }
        Ok(())
    }

    fn state(&mut self, fields: &Fields) -> Result<(), StoreError> {
        let (name, value) = (fields.text(0)?, fields.text(1)?);
        match name {
            "halted" => self.status.halted = Some(value.into()),
            "resource/proven" => self.status.proven = Some(value.into()),
            "horizon" => {
                let id = value.parse().map_err(|_| StoreError::Damaged("not a transfer's id"))?;
                self.status.horizon = Some(id);
            }
            "identity" => self.status.identity = Identity(fields.uuid(1)?),
            _ => self.status.assets_version = fields.number(2)?,
        }
        Ok(())
    }

    fn sorted(mut self) -> ServiceStatus {
        self.accepted
            .sort_by(|(at, a), (too, b)| (at, &a.key, a.amount).cmp(&(too, &b.key, b.amount)));
        let mut status = self.status;
        status.accepted = self.accepted.into_iter().map(|(_, accepted)| accepted).collect();
        status.paused.sort_by_key(|paused| paused.number);
        status.assets.sort_by_key(|asset| asset.id);
        status.ledgers.sort_by_key(|(ledger, _)| *ledger);
        status.owners.sort_by_key(|owner| owner.ledger);
        status.workers.sort_unstable();
        status
    }
}

/// A pause, but for flows that this build does not know.
fn paused(flows: &Flows, fields: &Fields) -> Result<Option<Paused>, StoreError> {
    let Some(scope) = columns::scope(flows, fields.text(1)?, fields.text(2)?)? else {
        return Ok(None);
    };
    Ok(Some(Paused {
        number: fields.number(0)?,
        scope,
        reason: fields.text(3)?.into(),
        caller: fields.text(4)?.into(),
        at: fields.number(5)?,
    }))
}

fn asset(fields: &Fields) -> Result<Asset, StoreError> {
    let status = AssetStatus::parse(fields.text(3)?);
    Ok(Asset {
        id: AssetId(fields.number(0)?),
        symbol: fields.text(1)?.into(),
        precision: fields.number(2)?,
        status: status.ok_or(StoreError::Damaged("not an asset's status"))?,
        transferable: fields.text(4)? == "true",
        min: columns::read_amount(fields.text(5)?)?,
        max: fields.maybe(6).map(columns::read_amount).transpose()?,
        daily: fields.maybe(7).map(columns::read_amount).transpose()?,
    })
}

impl ReadPool {
    pub(crate) async fn service_status(&self) -> Result<ServiceStatus, Cause> {
        let db = self.question().await?;
        let mut found = StatusRows::default();
        for row in rows(&db, ALL, &[&self.manual_now()]).await? {
            let kind: &str = row.try_get(0).map_err(StoreError::from)?;
            let fields = Fields(row.try_get(1).map_err(StoreError::from)?);
            found.take(&self.flows, kind, &fields)?;
        }
        Ok(found.sorted())
    }
}
