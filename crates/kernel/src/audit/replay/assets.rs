//! Compares the table of assets with the first ones of every store and what operators added and changed.

use super::performed::Performed;
use super::{ActionTable, ReplayFindings, StoredRow, shown};
use crate::money::{Amount, Asset};
use crate::operators::ActionResult;
use std::collections::BTreeMap;

/// The place of the column that is true or false.
const TRANSFERABLE: usize = 3;
/// The places of the columns that hold an amount.
const AMOUNTS: [usize; 3] = [4, 5, 6];

/// The assets by their numbers, as the chain has left them.
#[derive(Debug)]
pub(super) struct AssetReplay(BTreeMap<u32, Asset>);

impl Default for AssetReplay {
    fn default() -> Self {
        Self(Asset::fresh().into_iter().map(|asset| (asset.id.0, asset)).collect())
    }
}

impl AssetReplay {
    pub(super) fn take(&mut self, performed: &Performed) {
        if let Some(ActionResult::Asset { asset }) = &performed.result {
            self.0.insert(asset.id.0, asset.clone());
        }
    }

    pub(super) fn compare(mut self, rows: &[StoredRow], found: &mut ReplayFindings) {
        for row in rows {
            let known = row.key.parse().ok().and_then(|number: u32| self.0.remove(&number));
            let Some(asset) = known else {
                let proven = "that it was never added".to_owned();
                found.row(ActionTable::Assets, &row.key, "there is such a row", proven);
                continue;
            };
            for (place, proven) in fields(&asset).into_iter().enumerate() {
                if normal(row, place) != proven {
                    found.column(ActionTable::Assets, row, place, shown(proven.as_deref()));
                }
            }
        }
        for (number, Asset { symbol, .. }) in self.0 {
            let proven = format!("that it is {symbol}");
            found.row(ActionTable::Assets, &number.to_string(), "it was removed", proven);
        }
    }
}

/// What the columns hold of an asset.
fn fields(asset: &Asset) -> [Option<String>; 7] {
    let Asset { id: _, symbol, precision, status, transferable, min, max, daily } = asset;
    let amount = |amount: Amount| amount.0.to_string();
    [
        Some(symbol.clone()),
        Some(precision.to_string()),
        Some(status.name().to_owned()),
        Some(u8::from(*transferable).to_string()),
        Some(amount(*min)),
        max.map(amount),
        daily.map(amount),
    ]
}

/// The value of a column, as each store writes the same one: an amount without zeros before it, and 1 for true.
fn normal(row: &StoredRow, place: usize) -> Option<String> {
    let stored = row.field(place)?;
    let number = AMOUNTS.contains(&place).then(|| stored.parse::<u128>().ok()).flatten();
    Some(match (number, stored) {
        (Some(number), _) => number.to_string(),
        (None, "true") if place == TRANSFERABLE => "1".to_owned(),
        (None, "false") if place == TRANSFERABLE => "0".to_owned(),
        (None, stored) => stored.to_owned(),
    })
}
