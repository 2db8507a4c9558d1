//! Adds, suspends and limits assets. The precision and the number of an asset never change.

use crate::commit::outcome::{WriteOutcome, write_beside};
use crate::operators::Operators;
use crate::operators::action_context::{ActionContext, Stop};
use crate::operators::{ActionResult, Actor, AdminAction, AssetChange, NewAsset, Objection};
use kernel::answer::Cause;
use kernel::ids::{AssetId, Millis};
use kernel::money::{Amount, Asset, AssetStatus};
use kernel::ports::journal::Journal;
use kernel::unit::{Guard, Put, Unit};

/// The most decimals of an asset, for which an amount of 39 digits has room.
const MOST_DECIMALS: u8 = 38;
const LONGEST: usize = 16;
/// The rule of a symbol, in words.
pub const SYMBOL: &str = "1 to 16 upper-case letters and digits";
/// How often the change is tried again where another process changes assets at the same time.
const TRIES: usize = 20;

impl Operators {
    pub(super) async fn add_asset(
        &self,
        context: &ActionContext,
        new: &NewAsset,
    ) -> Result<(ActionResult, Millis), Stop> {
        self.change_assets(context, |assets| added(new, assets)).await
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
            if let Ok(at) = self.write_unit(unit).await? {
                self.status.refresh().await?;
                return Ok((outcome, at));
            }
        }
        Err(Cause::of("MOVES").into())
    }
}

/// Adds an asset beside its servers, for a service that begins: writes what an operator's `ADD_ASSET` writes, the asset
/// and its row of the audit, and this unit with them.
///
/// # Errors
/// The objection to the asset; `Unknown` where a guard of the unit is lost or it is not known whether it is written.
pub async fn add_asset_to_store(
    journal: &dyn Journal,
    actor: Actor,
    new: &NewAsset,
    with: Unit,
) -> Result<Asset, Objection> {
    let status = journal.service_status().await.map_err(Objection::Unknown)?;
    let asset = added(new, &status.assets)?;
    bounds(&asset)?;
    let context = ActionContext::beside(actor, &AdminAction::AddAsset(new.clone()));
    let action = context.action(&ActionResult::Asset { asset: asset.clone() });
    let mut unit = with;
    unit.guards.push(Guard::Resource { name: "assets".into(), version: status.assets_version });
    unit.then.puts.extend([Put::Asset(asset.clone()), action]);
    match write_beside(journal, unit).await {
        WriteOutcome::Done(_) => Ok(asset),
        WriteOutcome::Lost(guard) => {
            Err(Objection::Unknown(Cause::because("LOST", format!("{guard:?}"))))
        }
        WriteOutcome::NotWritten(why) => Err(Objection::Unknown(why.cause)),
    }
}

/// The asset that is added over these.
fn added(new: &NewAsset, assets: &[Asset]) -> Result<Asset, Objection> {
    if !fits_as_symbol(&new.symbol) {
        return Err(Objection::Invalid(format!("a symbol is {SYMBOL}")));
    }
    if new.precision > MOST_DECIMALS {
        return Err(Objection::Invalid("an asset has at most 38 decimals".to_owned()));
    }
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
}

/// True for a text that an asset may be known by.
pub fn fits_as_symbol(symbol: &str) -> bool {
    let fits = |c: u8| c.is_ascii_uppercase() || c.is_ascii_digit();
    (1..=LONGEST).contains(&symbol.len()) && symbol.bytes().all(fits)
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
