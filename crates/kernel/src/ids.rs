//! Small types for identity and time: ids of transfers, users, assets, flows and systems.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// Milliseconds since 1970 by the journal's time, never by a process clock.
pub type Millis = u64;

/// A transfer's id: a ULID, written as 26 characters.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Id(pub u128);

impl Id {
    /// The id of a moment with 80 random bits below it.
    pub const fn new(at: Millis, random: u128) -> Self {
        Self(ulid::Ulid::from_parts(at, random).0)
    }

    /// The lowest id of a moment: a horizon.
    pub const fn floor(at: Millis) -> Self {
        Self::new(at, 0)
    }

    /// The moment in the id.
    pub const fn at(self) -> Millis {
        ulid::Ulid(self.0).timestamp_ms()
    }

    /// The 80 bits below the moment. Where a client gave a key for a payment on a chain they are a function
    /// of that key, so two ids of one key differ in their moment alone.
    pub const fn tag(self) -> u128 {
        ulid::Ulid(self.0).random()
    }

    /// The same 128 bits written as a UUID.
    pub fn uuid_text(self) -> String {
        let bits = self.0;
        let part = |shift: u32, digits: u32| (bits >> shift) & ((1 << (4 * digits)) - 1);
        let (a, b, c, d, e) = (part(96, 8), part(80, 4), part(64, 4), part(48, 4), part(0, 12));
        format!("{a:08x}-{b:04x}-{c:04x}-{d:04x}-{e:012x}")
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = [0; ulid::ULID_LEN];
        f.pad(ulid::Ulid(self.0).array_to_str(&mut text))
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A text that is no id of ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a ULID of 26 characters")]
pub struct BadId;

impl FromStr for Id {
    type Err = BadId;

    fn from_str(text: &str) -> Result<Self, BadId> {
        // the library drops what does not fit into 128 bits, which would give an id second names
        let fits = text.as_bytes().first().is_some_and(|first| (b'0'..=b'7').contains(first));
        let read = ulid::Ulid::from_string(text).ok().filter(|_| fits);
        read.map(|ulid| Self(ulid.0)).ok_or(BadId)
    }
}

impl Serialize for Id {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Id {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        as_text::deserialize(from)
    }
}

/// Numbers as texts in JSON, where a number of JSON would lose digits.
pub mod as_text {
    use serde::de::Error as _;
    use serde::{Deserialize as _, Deserializer, Serializer};
    use std::borrow::Cow;
    use std::fmt::Display;
    use std::str::FromStr;

    /// Writes a value as its text.
    ///
    /// # Errors
    /// Those of the serializer.
    pub fn serialize<T: Display, S: Serializer>(value: &T, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(value)
    }

    /// Reads a value from its text.
    ///
    /// # Errors
    /// It is not a text, or not one of such a value.
    pub fn deserialize<'de, T, D>(from: D) -> Result<T, D::Error>
    where
        T: FromStr<Err: Display>,
        D: Deserializer<'de>,
    {
        Cow::<str>::deserialize(from)?.parse().map_err(D::Error::custom)
    }
}

/// A ledger in JSON by its name.
pub mod ledger_name {
    use super::LedgerId;
    use serde::de::Error as _;
    use serde::{Deserialize as _, Deserializer, Serializer};
    use std::borrow::Cow;

    /// Writes a ledger as its name.
    ///
    /// # Errors
    /// Those of the serializer.
    pub fn serialize<S: Serializer>(ledger: &LedgerId, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(ledger.name())
    }

    /// Reads a ledger from its name.
    ///
    /// # Errors
    /// There is no such ledger.
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<LedgerId, D::Error> {
        let name = Cow::<str>::deserialize(from)?;
        LedgerId::parse(&name).ok_or_else(|| D::Error::custom("no such ledger"))
    }
}

/// A user as a JSON string, for `#[serde(with = "user_text")]`: many readers lose digits of a large integer.
pub mod user_text {
    use super::UserId;
    use serde::de::Error as _;
    use serde::{Deserialize, Deserializer, Serializer};

    /// Writes a user as a string of digits.
    ///
    /// # Errors
    /// Those of the serializer.
    pub fn serialize<S: Serializer>(user: &UserId, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(user)
    }

    /// Reads a user from a string of digits, or from the integer that older stores have.
    ///
    /// # Errors
    /// It is neither.
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<UserId, D::Error> {
        match StoredUser::deserialize(from)? {
            StoredUser::Text(text) => text.parse().map(UserId).map_err(D::Error::custom),
            StoredUser::Integer(id) => Ok(UserId(id)),
        }
    }

    #[derive(Deserialize)]
    #[serde(untagged)]
    enum StoredUser {
        Text(String),
        Integer(u64),
    }
}

macro_rules! small {
    ($($(#[$doc:meta])* $name:ident($inner:ty)),* $(,)?) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub struct $name(pub $inner);
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}", self.0)
            }
        }
    )*};
}

small! {
    /// An end user, above 0 and below 2^63.
    UserId(u64),
    /// An asset's number in `assets_tb`.
    AssetId(u32),
    /// A flow's place in [`crate::flow::table::Flows`]; never stored, its name is.
    FlowId(u8),
    /// A ledger by its stored number ([`crate::systems`]).
    LedgerId(u8),
    /// A chain by its stored number ([`crate::systems`]).
    ChainId(u8),
    /// One running process of workers, drawn at its start.
    WorkerId(u64),
    /// The number that the journal gave to a transfer (`transfer_id`).
    Serial(u64),
}

impl UserId {
    /// True for a number that a user has and a column holds: above 0 and below 2^63.
    pub fn is_valid(self) -> bool {
        self.0 > 0 && i64::try_from(self.0).is_ok()
    }
}

impl LedgerId {
    /// The Funding ledger, which lives in the journal's own database.
    pub const FUNDING: Self = Self(1);
    /// The Spot ledger: the trading core.
    pub const SPOT: Self = Self(2);
    /// The Futures ledger, remote where configured.
    pub const FUTURE: Self = Self(3);
    /// The Margin ledger, remote where configured.
    pub const MARGIN: Self = Self(4);
    /// The ledger of numbered accounts, which lives in the journal's own database.
    pub const ACCOUNT: Self = Self(10);
}

/// A time as RFC 3339 in UTC, with milliseconds.
pub fn rfc3339(at: Millis) -> String {
    let (days, in_day) = (at / 86_400_000, at % 86_400_000);
    // from days to a date: eras of 400 years that begin on 1 March (Howard Hinnant's algorithm)
    let shifted = days + 719_468;
    let (era, of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    let (hour, minute) = (in_day / 3_600_000, in_day / 60_000 % 60);
    let (second, milli) = (in_day / 1000 % 60, in_day % 1000);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z")
}

/// A day in UTC by the journal's time: days since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Day(pub u32);

impl Day {
    /// The day of a moment.
    pub fn of(at: Millis) -> Self {
        Self(u32::try_from(at / 86_400_000).unwrap_or(u32::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::{Day, Id};

    #[test]
    fn an_id_is_written_as_a_uuid() {
        let id = Id(0x0192_abcd_1234_7def_8001_0203_0405_0607);
        assert_eq!(id.uuid_text(), "0192abcd-1234-7def-8001-020304050607");
    }

    #[test]
    fn a_day_begins_at_midnight_utc() {
        assert_eq!(Day::of(86_399_999), Day(0));
        assert_eq!(Day::of(86_400_000), Day(1));
    }
}
