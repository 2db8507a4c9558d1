//! Flags, pauses, accepted breaks, assets and ledgers, in one statement: all of one instant.

use super::ask::{Desk, rows};
use super::fault::Fault;
use super::text;
use kernel::answer::Cause;
use kernel::ids::{AssetId, LedgerId};
use kernel::money::{Asset, AssetStatus};
use kernel::people::{Accepted, Paused};
use kernel::ports::journal::{Owner, Standing};
use kernel::ports::ledger::{Identity, Incarnation, Known};
use kernel::table::Flows;
use std::str::FromStr;
use uuid::Uuid;

const ALL: &str = "SELECT 'state', ARRAY[name, value, version::text] FROM service_state \
      WHERE name IN ('halted', 'horizon', 'resource/assets', 'resource/proven') \
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

    fn text(&self, n: usize) -> Result<&str, Fault> {
        self.maybe(n).ok_or(Fault::Damaged("a field without a value"))
    }

    fn number<T: FromStr>(&self, n: usize) -> Result<T, Fault> {
        self.text(n)?.parse().map_err(|_| Fault::Damaged("not a number"))
    }

    fn uuid(&self, n: usize) -> Result<u128, Fault> {
        let uuid = Uuid::parse_str(self.text(n)?);
        Ok(uuid.map_err(|_| Fault::Damaged("not an identity"))?.as_u128())
    }
}

/// What stands, with the times by which breaks are sorted.
#[derive(Default)]
struct Found {
    standing: Standing,
    accepted: Vec<(u64, Accepted)>,
}

impl Found {
    fn take(&mut self, flows: &Flows, kind: &str, fields: &Fields) -> Result<(), Fault> {
        match kind {
            "state" => self.state(fields)?,
            // no row but one without a number, before the first one
            "halts" => self.standing.halts = fields.maybe(0).map_or(Ok(0), |_| fields.number(0))?,
            "pause" => self.standing.paused.extend(paused(flows, fields)?),
            "accepted" => {
                let amount = text::read_signed(fields.text(1)?)?;
                let accepted = Accepted { key: fields.text(0)?.into(), amount };
                self.accepted.push((fields.number(2)?, accepted));
            }
            "asset" => self.standing.assets.push(asset(fields)?),
            "ledger" => {
                let known = Known {
                    identity: Identity(fields.uuid(1)?),
                    incarnation: Incarnation(fields.uuid(2)?),
                    highest: fields.number(3)?,
                };
                self.standing.ledgers.push((LedgerId(fields.number(0)?), known));
            }
            "owner" => self.standing.owners.push(Owner {
                ledger: LedgerId(fields.number(0)?),
                epoch: fields.number(1)?,
                worker: text::read_worker(fields.number(2)?),
                identity: Identity(fields.uuid(3)?),
                lives: fields.maybe(4) == Some("true"),
            }),
            "worker" => self.standing.workers.push(text::read_worker(fields.number(0)?)),
            _ => return Err(Fault::Damaged("not what was asked")),
        }
        Ok(())
    }

    fn state(&mut self, fields: &Fields) -> Result<(), Fault> {
        let (name, value) = (fields.text(0)?, fields.text(1)?);
        match name {
            "halted" => self.standing.halted = Some(value.into()),
            "resource/proven" => self.standing.proven = Some(value.into()),
            "horizon" => {
                let id = value.parse().map_err(|_| Fault::Damaged("not a transfer's id"))?;
                self.standing.horizon = Some(id);
            }
            _ => self.standing.assets_version = fields.number(2)?,
        }
        Ok(())
    }

    fn sorted(mut self) -> Standing {
        self.accepted
            .sort_by(|(at, a), (too, b)| (at, &a.key, a.amount).cmp(&(too, &b.key, b.amount)));
        let mut standing = self.standing;
        standing.accepted = self.accepted.into_iter().map(|(_, accepted)| accepted).collect();
        standing.paused.sort_by_key(|paused| paused.number);
        standing.assets.sort_by_key(|asset| asset.id);
        standing.ledgers.sort_by_key(|(ledger, _)| *ledger);
        standing.owners.sort_by_key(|owner| owner.ledger);
        standing.workers.sort_unstable();
        standing
    }
}

/// A pause, but for flows that this build does not know.
fn paused(flows: &Flows, fields: &Fields) -> Result<Option<Paused>, Fault> {
    let Some(scope) = text::scope(flows, fields.text(1)?, fields.text(2)?)? else {
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

fn asset(fields: &Fields) -> Result<Asset, Fault> {
    let status = AssetStatus::parse(fields.text(3)?);
    Ok(Asset {
        id: AssetId(fields.number(0)?),
        symbol: fields.text(1)?.into(),
        precision: fields.number(2)?,
        status: status.ok_or(Fault::Damaged("not an asset's status"))?,
        transferable: fields.text(4)? == "true",
        min: text::read_amount(fields.text(5)?)?,
        max: fields.maybe(6).map(text::read_amount).transpose()?,
        daily: fields.maybe(7).map(text::read_amount).transpose()?,
    })
}

impl Desk {
    pub(crate) async fn standing(&self) -> Result<Standing, Cause> {
        let db = self.question().await?;
        let mut found = Found::default();
        for row in rows(&db, ALL, &[&self.hand()]).await? {
            let kind: &str = row.try_get(0).map_err(Fault::from)?;
            let fields = Fields(row.try_get(1).map_err(Fault::from)?);
            found.take(&self.flows, kind, &fields)?;
        }
        Ok(found.sorted())
    }
}
