//! Checks operators' changes of assets: each names a version, so that no change overwrites another one unseen.

use super::checks;
use super::fixture::{JournalFixture, plain};
use kernel::ids::AssetId;
use kernel::money::{Amount, Asset, AssetStatus};
use kernel::unit::{Guard, Put, Unit};

checks! {
    an_asset_changes_only_at_its_last_version,
}

/// The asset, where this was the version of them all.
fn change(version: u32, asset: Asset) -> Unit {
    Unit { guards: vec![seen(version)], then: plain(vec![Put::Asset(asset)]).then }
}

fn seen(version: u32) -> Guard {
    Guard::Resource { name: "assets".into(), version }
}

async fn an_asset_changes_only_at_its_last_version(b: &mut JournalFixture) {
    let suspended = Asset {
        symbol: "USDT".to_owned(),
        status: AssetStatus::Suspended,
        transferable: false,
        min: Amount(5),
        max: Some(Amount(1 << 120)),
        daily: Some(Amount(100)),
        ..Asset::plain(3, "USDT", 6)
    };
    let back = Asset { status: AssetStatus::Delisted, daily: None, max: None, ..suspended.clone() };
    let new = Asset { daily: Some(Amount(u128::MAX)), ..Asset::plain(77, "GÖLD", 0) };
    let mut assets = Asset::fresh();
    for (version, asset) in (0..).zip([suspended, new, back]) {
        b.same("the version", &b.status().await.assets_version, &version);
        b.written("a change", change(version, asset.clone())).await;
        assets.retain(|one| one.id != asset.id);
        assets.push(asset.clone());
        assets.sort_by_key(|asset| asset.id);
        for _ in 0..2 {
            let status = b.status().await;
            b.same("the assets", &status.assets, &assets);
            b.same("how often they changed", &status.assets_version, &(version + 1));
            b.reopen().await;
        }
        let late = Asset { id: AssetId(1), ..asset };
        b.lost("a change by who saw less", change(version, late), seen(version)).await;
    }
    let namesake = plain(vec![Put::Asset(Asset::plain(78, "BTC", 8))]);
    b.unknown("a symbol that names another", namesake, "STORE_REFUSED").await;
    // readers see by the version that something changed, whoever changed it
    let touch = Put::Resource { name: "assets".into(), value: "".into() };
    b.written("a touch", plain(vec![touch])).await;
    b.same("the version", &b.status().await.assets_version, &4);
}
