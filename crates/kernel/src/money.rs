//! Amounts: `u128` base units with a scale per asset; decimal strings at the edge, never a float.

use crate::code::Code;
use crate::ids::{AssetId, as_text};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// An amount in an asset's base units.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Amount(pub u128);

/// More digits than any amount has: `u128::MAX` has 39.
const MOST_DIGITS: usize = 39;
/// The highest amount of an asset of up to nine decimals: the strict-FSM source's u64 with its
/// safety factor of 2 (§1.5.3).
const MOST_COARSE: u128 = 9_223_372_036_854_775_807;
/// The highest amount of a finer asset (`spec/api.md`).
const MOST_FINE: u128 = 1 << 120;

impl Amount {
    /// The amount of nothing: no base units.
    pub const ZERO: Self = Self(0);

    /// The sum, or `None` above `u128`.
    pub const fn plus(self, other: Self) -> Option<Self> {
        match self.0.checked_add(other.0) {
            Some(sum) => Some(Self(sum)),
            None => None,
        }
    }

    /// The difference, or `None` below zero.
    pub const fn minus(self, other: Self) -> Option<Self> {
        match self.0.checked_sub(other.0) {
            Some(rest) => Some(Self(rest)),
            None => None,
        }
    }

    /// The amount as a signed number, for sums that may be negative. Every amount that passed
    /// [`Asset::amount`] fits; a larger one is `None`.
    pub fn signed(self) -> Option<i128> {
        i128::try_from(self.0).ok()
    }

    /// The amount in the asset's unit, with every decimal that the asset has.
    pub fn decimal(self, precision: u8) -> String {
        let places = usize::from(precision);
        let digits = format!("{:0>1$}", self.0, places.saturating_add(1));
        let (whole, fraction) = digits.split_at(digits.len().saturating_sub(places));
        if fraction.is_empty() { whole.to_owned() } else { format!("{whole}.{fraction}") }
    }
}

impl fmt::Debug for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// Base units as a text: a number of JSON would lose digits.
impl Serialize for Amount {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Amount {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        as_text::deserialize(from).map(Self)
    }
}

/// Whether an asset may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum AssetStatus {
    /// It may be used in new transfers.
    Active,
    /// Refused for new transfers; what was accepted goes on.
    Suspended,
    /// As suspended, for good.
    Delisted,
}

impl AssetStatus {
    /// The spelling in the store and on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Active => "ACTIVE",
            Self::Suspended => "SUSPENDED",
            Self::Delisted => "DELISTED",
        }
    }

    /// The status of that spelling.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Active, Self::Suspended, Self::Delisted].into_iter().find(|s| s.name() == text)
    }
}

/// One asset, as in `assets_tb`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asset {
    /// The number by which rows and operations name it.
    pub id: AssetId,
    /// Its name at the edge.
    pub symbol: String,
    /// The number of decimals: one unit is 10^precision base units.
    pub precision: u8,
    /// Whether it may be used.
    pub status: AssetStatus,
    /// Whether users may move it between their own accounts.
    pub transferable: bool,
    /// The least that one transfer may move, in base units.
    pub min: Amount,
    /// The most that one transfer may move, where there is a limit.
    pub max: Option<Amount>,
    /// The most that one user may move on one day in UTC, where there is a limit.
    pub daily: Option<Amount>,
}

impl Asset {
    /// An active, transferable asset without limits of its own.
    pub fn plain(id: u32, symbol: &str, precision: u8) -> Self {
        Self {
            id: AssetId(id),
            symbol: symbol.to_owned(),
            precision,
            status: AssetStatus::Active,
            transferable: true,
            min: Amount(1),
            max: None,
            daily: None,
        }
    }

    /// What a fresh store knows (`spec/storage.md`).
    pub fn fresh() -> Vec<Self> {
        vec![
            Self::plain(1, "BTC", 8),
            Self::plain(2, "ETH", 8),
            Self::plain(3, "USDT", 6),
            Self::plain(4, "USDC", 6),
            Self::plain(5, "USD", 2),
        ]
    }

    /// Step 5 of the order of checks: may this asset be transferred?
    ///
    /// # Errors
    /// `ASSET_SUSPENDED` or `TRANSFER_NOT_ALLOWED`.
    pub const fn usable(&self) -> Result<(), Code> {
        match self.status {
            AssetStatus::Suspended | AssetStatus::Delisted => Err(Code::AssetSuspended),
            AssetStatus::Active if !self.transferable => Err(Code::TransferNotAllowed),
            AssetStatus::Active => Ok(()),
        }
    }

    /// The most base units that the arithmetic allows.
    pub const fn ceiling(&self) -> Amount {
        Amount(if self.precision <= 9 { MOST_COARSE } else { MOST_FINE })
    }

    /// Reads an amount in the asset's unit: `123`, `0.5`; no sign, no exponent, no blanks, ASCII
    /// digits only. The limits of one transfer are [`Asset::limits`].
    ///
    /// # Errors
    /// `INVALID_AMOUNT` (not a plain decimal, or zero), `PRECISION_OVERFLOW`, `OVERFLOW`.
    pub fn amount(&self, text: &str) -> Result<Amount, Code> {
        let (whole, fraction) = match text.split_once('.') {
            Some((whole, fraction)) if !fraction.is_empty() => (whole, fraction),
            Some(_) => return Err(Code::InvalidAmount),
            None => (text, ""),
        };
        let digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
        if whole.is_empty() || !digits(whole) || !digits(fraction) {
            return Err(Code::InvalidAmount);
        }
        let places = usize::from(self.precision);
        if fraction.len() > places {
            return Err(Code::PrecisionOverflow);
        }
        if whole.len().saturating_add(fraction.len()) > MOST_DIGITS {
            return Err(Code::Overflow);
        }
        let units = format!("{whole}{fraction:0<places$}").parse().map_err(|_| Code::Overflow)?;
        match Amount(units) {
            Amount::ZERO => Err(Code::InvalidAmount),
            amount if amount > self.ceiling() => Err(Code::Overflow),
            amount => Ok(amount),
        }
    }

    /// Step 6 of the order of checks, for an amount that was read by [`Asset::amount`] or came
    /// from elsewhere.
    ///
    /// # Errors
    /// `INVALID_AMOUNT`, `OVERFLOW`, `AMOUNT_TOO_SMALL`, `AMOUNT_TOO_LARGE`.
    pub fn limits(&self, amount: Amount) -> Result<(), Code> {
        if amount == Amount::ZERO {
            return Err(Code::InvalidAmount);
        }
        if amount > self.ceiling() {
            return Err(Code::Overflow);
        }
        if amount < self.min {
            return Err(Code::AmountTooSmall);
        }
        match self.max {
            Some(max) if amount > max => Err(Code::AmountTooLarge),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Amount, Asset, AssetStatus, Code};

    fn read(precision: u8, text: &str) -> Result<u128, Code> {
        Asset::plain(9, "X", precision).amount(text).map(|a| a.0)
    }

    #[test]
    fn reads_plain_decimals_and_nothing_else() {
        assert_eq!(read(6, "100.00"), Ok(100_000_000));
        assert_eq!(read(0, "7"), Ok(7));
        assert_eq!(read(8, "0.00000001"), Ok(1));
        let bad = [
            "", ".", "1.", ".5", "+1", "-1", "-0", "1e2", "1E2", "NaN", "inf", " 1", "1 ", "1_000",
            "1,0", "0x10", "١٢", "１", "1.0.0", "0", "0.00", "\u{0}1", "1\n",
        ];
        for text in bad {
            assert_eq!(read(6, text), Err(Code::InvalidAmount), "{text:?}");
        }
        assert_eq!(read(8, "0.000000001"), Err(Code::PrecisionOverflow));
        assert_eq!(read(0, "18446744073709551616"), Err(Code::Overflow));
        assert_eq!(read(0, "9223372036854775807"), Ok(9_223_372_036_854_775_807));
        assert_eq!(read(0, "9223372036854775808"), Err(Code::Overflow));
        assert_eq!(read(24, "1000000"), Ok(10_u128.pow(30)));
        assert_eq!(read(18, &"9".repeat(400)), Err(Code::Overflow));
        assert_eq!(read(18, &"9".repeat(39)), Err(Code::Overflow));
    }

    #[test]
    fn writes_what_it_reads() {
        for (units, precision, text) in
            [(100_000_000, 6, "100.000000"), (5, 0, "5"), (1, 8, "0.00000001"), (0, 2, "0.00")]
        {
            assert_eq!(Amount(units).decimal(precision), text);
        }
        for units in [1, 9, 10, 12_345_678, 9_223_372_036_854_775_807] {
            for precision in [0, 2, 6, 9, 18] {
                let text = Amount(units).decimal(precision);
                assert_eq!(read(precision, &text), Ok(units), "{text}");
            }
        }
    }

    #[test]
    fn holds_the_limits_of_one_transfer() {
        let mut asset = Asset::plain(1, "X", 2);
        asset.min = Amount(10);
        asset.max = Some(Amount(20));
        assert_eq!(asset.limits(Amount(0)), Err(Code::InvalidAmount));
        assert_eq!(asset.limits(Amount(9)), Err(Code::AmountTooSmall));
        assert_eq!(asset.limits(Amount(10)), Ok(()));
        assert_eq!(asset.limits(Amount(20)), Ok(()));
        assert_eq!(asset.limits(Amount(21)), Err(Code::AmountTooLarge));
        assert_eq!(asset.limits(Amount(u128::MAX)), Err(Code::Overflow));
    }

    #[test]
    fn sums_and_differences_end_at_the_bounds() {
        let (one, most) = (Amount(1), Amount(u128::MAX));
        assert_eq!(Amount(2).plus(Amount(3)), Some(Amount(5)));
        assert_eq!((most.plus(one), most.plus(Amount::ZERO)), (None, Some(most)));
        assert_eq!(Amount(5).minus(Amount(3)), Some(Amount(2)));
        assert_eq!((one.minus(one), one.minus(Amount(2))), (Some(Amount::ZERO), None));
        assert_eq!(Amount(7).signed(), Some(7));
        assert_eq!(Amount(1 << 127).signed(), None);
        assert_eq!(
            (format!("{}", Amount(40)), format!("{:?}", Amount(40))),
            ("40".into(), "40".into())
        );
    }

    #[test]
    fn the_highest_amount_is_taken_and_the_next_is_not() {
        for (precision, most) in [(9, u128::from(u64::MAX / 2)), (10, 1 << 120), (24, 1 << 120)] {
            let asset = Asset::plain(1, "X", precision);
            assert_eq!(asset.ceiling(), Amount(most));
            assert_eq!(asset.limits(Amount(most)), Ok(()));
            assert_eq!(asset.limits(Amount(most + 1)), Err(Code::Overflow));
            assert_eq!(asset.amount(&Amount(most).decimal(precision)), Ok(Amount(most)));
            assert_eq!(asset.amount(&Amount(most + 1).decimal(precision)), Err(Code::Overflow));
        }
        // zeros count as digits, and 39 of them are no more than an amount has
        assert_eq!(read(0, &format!("{}7", "0".repeat(38))), Ok(7));
        assert_eq!(read(0, &format!("{}7", "0".repeat(39))), Err(Code::Overflow));
        assert_eq!(read(2, "1.x"), Err(Code::InvalidAmount));
        assert_eq!(read(2, "x.1"), Err(Code::InvalidAmount));
    }

    #[test]
    fn an_asset_is_usable_where_it_is_active_and_may_move() {
        let mut asset = Asset::plain(7, "X", 2);
        assert_eq!((asset.id.0, &*asset.symbol, asset.precision), (7, "X", 2));
        assert_eq!((asset.min, asset.max, asset.daily), (Amount(1), None, None));
        assert_eq!(asset.usable(), Ok(()));
        asset.transferable = false;
        assert_eq!(asset.usable(), Err(Code::TransferNotAllowed));
        for status in [AssetStatus::Suspended, AssetStatus::Delisted] {
            assert_eq!(Asset { status, ..asset.clone() }.usable(), Err(Code::AssetSuspended));
        }
        for (status, name) in [
            (AssetStatus::Active, "ACTIVE"),
            (AssetStatus::Suspended, "SUSPENDED"),
            (AssetStatus::Delisted, "DELISTED"),
        ] {
            assert_eq!((status.name(), AssetStatus::parse(name)), (name, Some(status)));
        }
        assert_eq!(AssetStatus::parse("active"), None);
        let fresh: Vec<_> =
            Asset::fresh().into_iter().map(|a| (a.id.0, a.symbol, a.precision)).collect();
        let stored = [(1, "BTC", 8), (2, "ETH", 8), (3, "USDT", 6), (4, "USDC", 6), (5, "USD", 2)];
        assert_eq!(fresh, stored.map(|(id, symbol, places)| (id, symbol.to_owned(), places)));
    }
}
