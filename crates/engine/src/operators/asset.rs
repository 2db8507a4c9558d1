//! Adds, suspends and limits assets. The precision and the number of an asset never change.

use crate::operators::Operators;
use crate::operators::action_context::{ActionContext, Stop};
use crate::operators::{ActionResult, AssetChange, NewAsset, Objection};
use kernel::answer::Cause;
use kernel::ids::{AssetId, Millis};
use kernel::money::{Amount, Asset, AssetStatus};
use kernel::unit::{Guard, Put, Unit};

/// The most decimals of an asset, for which an amount of 39 digits has room.
const MOST_DECIMALS: u8 = 38;
const LONGEST: usize = 16;
/// How often the change is tried again where another process changes assets at the same time.
const TRIES: usize = 20;

impl Operators {
    pub(super) async fn add_asset(
        &self,
        context: &ActionContext,
        new: &NewAsset,
    ) -> Result<(ActionResult, Millis), Stop> {
        let fits = |c: u8| c.is_ascii_uppercase() || c.is_ascii_digit();
        let length = (1..=LONGEST).contains(&new.symbol.len());
        if !length || !new.symbol.bytes().all(fits) {
            return invalid("a symbol is 1 to 16 upper-case letters and digits");
        }
        if new.precision > MOST_DECIMALS {
            return invalid("an asset has at most 38 decimals");
        }
        self.change_assets(context, |assets| {
            if assets.iter().any(|asset| asset.symbol == new.symbol) {
                return Err(Objection::NotPossible(format!("{} is in use", new.symbol)));
            }
            let highest = assets.iter().map(|asset| asset.id.0).max().unwrap_or(0);
            let id = new.id.unwrap_or_else(|| AssetId(highest.saturating_add(1)));
            if id.0 == 0 || assets.iter().any(|asset| asset.id == id) {
                return Err(Objection::NotPossible(format!("the number {id} is in use")));
            }
            Ok(Asset {
                id,
                symbol: new.symbol.clone(),
                precision: new.precision,
                status: AssetStatus::Active,
                transferable: new.transferable,
                min: new.min,
                max: new.max,
                daily: new.daily,
            })
        })
        .await
    }

    pub(super) async fn change_asset(
        &self,
        context: &ActionContext,
        change: &AssetChange,
    ) -> Result<(ActionResult, Millis), Stop> {
        self.change_assets(context, |assets| {
            let known = assets.iter().find(|asset| asset.symbol == change.symbol);
            let known = known.ok_or(Objection::NotFound("asset"))?.clone();
            Ok(Asset {
                status: change.status.unwrap_or(known.status),
                transferable: change.transferable.unwrap_or(known.transferable),
                min: change.min.unwrap_or(known.min),
                max: change.max.unwrap_or(known.max),
                daily: change.daily.unwrap_or(known.daily),
                ..known
            })
        })
        .await
    }

    /// Writes one asset over the present assets; again where others changed them meanwhile.
    async fn change_assets(
        &self,
        context: &ActionContext,
        next: impl Fn(&[Asset]) -> Result<Asset, Objection>,
    ) -> Result<(ActionResult, Millis), Stop> {
        for _ in 0..TRIES {
            let status = self.shared.parts.journal.service_status().await?;
            let asset = next(&status.assets)?;
            bounds(&asset)?;
            let outcome = ActionResult::Asset { asset: asset.clone() };
            let version = status.assets_version;
            let guards = vec![Guard::Resource { name: "assets".into(), version }];
            let puts = vec![Put::Asset(asset), context.action(&outcome)];
            let unit = Unit::guarded(guards, puts);
            if let Ok(at) = self.wrote(context, unit).await? {
                self.status.refresh().await?;
                return Ok((outcome, at));
            }
        }
        Err(Cause::of("MOVES").into())
    }
}

/// Checks that some amount can keep the limits.
fn bounds(asset: &Asset) -> Result<(), Objection> {
    let ceiling = asset.ceiling();
    let most = |limit: Option<Amount>| limit.is_none_or(|limit| limit >= asset.min);
    if asset.min == Amount::ZERO || asset.min > ceiling {
        return Err(Objection::Invalid("the minimum is above zero, and below OVERFLOW".to_owned()));
    }
    if !most(asset.max) || !most(asset.daily) {
        return Err(Objection::Invalid("a limit is not below the minimum".to_owned()));
    }
    Ok(())
}

fn invalid<T>(why: &str) -> Result<T, Stop> {
    Err(Objection::Invalid(why.to_owned()).into())
}
