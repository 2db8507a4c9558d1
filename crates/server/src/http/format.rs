//! Formats and parses ids, times and amounts for the HTTP API.

use kernel::flow::table::Table;
use kernel::ids::{AssetId, Id, LedgerId, Millis, rfc3339};
use kernel::money::{Amount, Asset};
use kernel::record::{Party, System};

/// The names of a flow's states, for a reader who named another.
pub fn states(table: &Table) -> String {
    let names: Vec<&str> = table.states.iter().map(|state| state.name).collect();
    names.join(", ")
}

/// A time as RFC 3339 in UTC, with milliseconds.
pub fn time(at: Millis) -> String {
    rfc3339(at)
}

/// An id in either of its spellings, in either case: the 26 characters of a ULID, or UUID text of the
/// same 128 bits (8-4-4-4-12). Nothing else: an id has no third name.
pub fn id(text: &str) -> Option<Id> {
    const DASHES: [usize; 4] = [8, 13, 18, 23];
    if text.len() != 36 {
        return text.parse().ok();
    }
    let mut bits: u128 = 0;
    for (place, letter) in text.chars().enumerate() {
        if DASHES.contains(&place) {
            if letter != '-' {
                return None;
            }
        } else {
            bits = bits << 4 | u128::from(letter.to_digit(16)?);
        }
    }
    Some(Id(bits))
}

/// An id as UUID text.
pub fn uuid(id: Id) -> String {
    let hex = format!("{:032x}", id.0);
    let part = |from: usize, len: usize| -> String { hex.chars().skip(from).take(len).collect() };
    [part(0, 8), part(8, 4), part(12, 4), part(16, 4), part(20, 12)].join("-")
}

/// A time as RFC 3339 with any offset, from 1970 to 9999; what is finer than a millisecond is cut.
pub fn instant(text: &str) -> Option<Millis> {
    let (date, clock) = (text.get(..10)?, text.get(11..19)?);
    let [year, month, day] = numbers(date, '-', [4, 2, 2])?;
    let [hour, minute, second] = numbers(clock, ':', [2, 2, 2])?;
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let length = match month {
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        _ => return None,
    };
    let sound = text.get(10..11)?.eq_ignore_ascii_case("t")
        && (1970..=9999).contains(&year)
        && (1..=length).contains(&day)
        && hour < 24
        && minute < 60
        && second < 60;
    if !sound {
        return None;
    }
    // the same algorithm as in `time`, the other way round
    let of_era = (year - u64::from(month <= 2)) % 400;
    let era = (year - u64::from(month <= 2)) / 400;
    let shifted_month = if month > 2 { month - 3 } else { month + 9 };
    let of_year = (153 * shifted_month + 2) / 5 + day.checked_sub(1)?;
    let days = era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year;
    let local = days.checked_sub(719_468)? * 86_400 + hour * 3_600 + minute * 60 + second;
    let (milli, rest) = fraction(text.get(19..)?)?;
    offset(local, rest)?.checked_mul(1_000)?.checked_add(milli)
}

/// Three numbers with `between` between them; `digits` is the length of each.
fn numbers(text: &str, between: char, digits: [usize; 3]) -> Option<[u64; 3]> {
    let mut parts = text.split(between);
    let mut read = |len: usize| {
        let part = parts.next()?;
        let plain = part.len() == len && part.bytes().all(|byte| byte.is_ascii_digit());
        part.parse::<u64>().ok().filter(|_| plain)
    };
    let all = [read(digits[0])?, read(digits[1])?, read(digits[2])?];
    parts.next().is_none().then_some(all)
}

/// The milliseconds of `.123`, and what comes after it.
fn fraction(text: &str) -> Option<(u64, &str)> {
    let Some(after) = text.strip_prefix('.') else { return Some((0, text)) };
    let end = after.find(|letter: char| !letter.is_ascii_digit())?;
    let (digits, rest) = after.split_at(end);
    let milli: String = digits.chars().chain("000".chars()).take(3).collect();
    (!digits.is_empty()).then_some((milli.parse().ok()?, rest))
}

/// Seconds of UTC from local ones and `Z` or `+02:00`.
fn offset(local: u64, text: &str) -> Option<u64> {
    if text.eq_ignore_ascii_case("z") {
        return Some(local);
    }
    let [hours, minutes, _] = numbers(&format!("{}:00", text.get(1..)?), ':', [2, 2, 2])?;
    let by = hours * 3_600 + minutes * 60;
    match (text.get(..1)?, hours < 24 && minutes < 60) {
        ("+", true) => local.checked_sub(by),
        ("-", true) => local.checked_add(by),
        _ => None,
    }
}

/// An asset's name and its decimals; one that the journal no longer lists is named by its number.
pub fn asset(assets: &[Asset], id: AssetId) -> (String, u8) {
    let found = assets.iter().find(|asset| asset.id == id);
    found.map_or_else(|| (id.to_string(), 0), |asset| (asset.symbol.clone(), asset.precision))
}

/// A sum that may be below zero, in the asset's unit.
pub fn signed(units: i128, precision: u8) -> String {
    let size = Amount(units.unsigned_abs()).decimal(precision);
    if units < 0 { format!("-{size}") } else { size }
}

/// The system of one end of a transfer: of a user's, the account type.
pub fn account(party: &Party) -> &'static str {
    party.system.name()
}

/// Whether an end of a transfer is this account type.
pub fn is_at(party: &Party, ledger: LedgerId) -> bool {
    party.system == System::Ledger(ledger)
}

#[cfg(test)]
mod tests {
    use super::{id, instant, signed, time, uuid};
    use kernel::ids::Id;

    #[test]
    fn an_id_has_two_spellings() {
        let ulid = "01JFVQ2X8Z0Y1M3N4P5R6S7T8V";
        let one: Id = ulid.parse().unwrap();
        let text = uuid(one);
        assert_eq!(text, "0193f771-751f-0783-41d4-962e0d93e91b");
        for same in [ulid, &ulid.to_lowercase(), &text, &text.to_uppercase()] {
            assert_eq!(id(same), Some(one), "{same}");
        }
        assert_eq!(id(&uuid(Id(0))), Some(Id(0)));
        assert_eq!(id(&uuid(Id(u128::MAX))), Some(Id(u128::MAX)));
        let braced = format!("{{{}}}", &text[..34]);
        for none in [
            "",
            "0193f771751f078341d4962e0d93e91b",
            &text.replace('-', "_"),
            &text.replace('f', "g"),
            &text.replacen("0193", "+193", 1),
            &format!(" {}", &text[1..]),
            &braced,
            &ulid.replace('J', "I"),
            &ulid.replacen('0', "8", 1),
            "٠193f771-751f-0782-1a0e-a42b8d2c691",
        ] {
            assert_eq!(id(none), None, "{none}");
        }
    }

    #[test]
    fn times_are_dates() {
        for (at, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (1_734_962_400_123, "2024-12-23T14:00:00.123Z"),
            (4_107_542_399_999, "2100-02-28T23:59:59.999Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
            (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
        ] {
            assert_eq!(time(at), text);
        }
        assert!(time(u64::MAX).ends_with('Z'), "no panic");
    }

    #[test]
    fn a_time_is_read_as_it_is_written() {
        let at = 1_734_962_400_123;
        for same in [
            "2024-12-23T14:00:00.123Z",
            "2024-12-23t14:00:00.123z",
            "2024-12-23T14:00:00.123999Z",
            "2024-12-23T16:00:00.123+02:00",
            "2024-12-23T08:30:00.123-05:30",
            "2024-12-24T00:00:00.123+10:00",
        ] {
            assert_eq!(instant(same), Some(at), "{same}");
        }
        assert_eq!(instant("2024-12-23T14:00:00.1Z"), Some(1_734_962_400_100));
        assert_eq!(instant("1970-01-01T00:00:00Z"), Some(0));
        for step in 0..40_000 {
            let at = step * 6_336_123_457 % 253_402_300_800_000;
            assert_eq!(instant(&time(at)), Some(at), "{}", time(at));
        }
        for none in [
            "",
            "2024-12-23",
            "2024-12-23T14:00:00",
            "2024-12-23 14:00:00Z",
            "2024-02-30T00:00:00Z",
            "2023-02-29T00:00:00Z",
            "2024-13-01T00:00:00Z",
            "2024-00-01T00:00:00Z",
            "2024-01-00T00:00:00Z",
            "2024-12-23T24:00:00Z",
            "2024-12-23T14:60:00Z",
            "2024-12-23T14:00:60Z",
            "2024-12-23T14:00:00.Z",
            "2024-12-23T14:00:00+2:00",
            "2024-12-23T14:00:00+02:60",
            "2024-12-23T14:00:00 02:00",
            "2024-12-23T14:00:00Zx",
            "+024-12-23T14:00:00Z",
            "2024-1a-23T14:00:00Z",
            "1969-12-31T23:59:59Z",
            "0000-01-01T00:00:00Z",
            "1970-01-01T00:00:00+00:01",
            "٢٠٢٤-12-23T14:00:00Z",
        ] {
            assert_eq!(instant(none), None, "{none}");
        }
    }

    #[test]
    fn sums_have_a_sign() {
        assert_eq!(signed(-1_500_000, 6), "-1.500000");
        assert_eq!(signed(0, 2), "0.00");
        assert_eq!(signed(i128::MIN, 0).len(), 40);
    }
}
