//! Fuzzes the parsers of the kernel: amounts against long multiplication, ids against their spellings.

use super::{Target, kind};
use kernel::code::Code;
use kernel::flow::life::Leg;
use kernel::ids::{Id, LedgerId};
use kernel::money::{Amount, Asset, AssetStatus};

const WORDS: [&str; 12] = [
    "0",
    "00",
    ".",
    "-",
    "+",
    "e",
    "_",
    " ",
    "\u{661}",
    "9223372036854775807",
    "1000000000000000000",
    "7ZZZZZZZZZZZZZZZZZZZZZZZZZ",
];

fn target(name: &str) -> Target<'_> {
    Target { name, crate_dir: env!("CARGO_MANIFEST_DIR"), words: &WORDS }
}

fn starts(texts: &[&str]) -> Vec<Vec<u8>> {
    texts.iter().map(|text| text.as_bytes().to_vec()).collect()
}

/// Base units of a plain decimal, digit by digit; `None` where it is none or does not fit.
fn by_hand(text: &str, precision: u8) -> Option<u128> {
    let places = usize::from(precision);
    let (whole, fraction) = match text.split_once('.') {
        Some((whole, fraction)) if !fraction.is_empty() => (whole, fraction),
        Some(_) => return None,
        None => (text, ""),
    };
    let missing = "0".repeat(places.checked_sub(fraction.len())?);
    if whole.is_empty() {
        return None;
    }
    [whole, fraction, &missing].concat().chars().try_fold(0_u128, |units, digit| {
        let digit = digit.to_digit(10).filter(|_| digit.is_ascii())?;
        units.checked_mul(10)?.checked_add(digit.into())
    })
}

/// An input is a precision (one byte), then the text.
#[test]
fn an_amount_is_what_its_digits_say() {
    let texts = ["\u{6}100.00", "\u{0}7", "\u{8}0.00000001", "\u{12}1.5", "\u{2}0", "\u{6}1e2"];
    let done = target("amounts").run(starts(&texts), |input| {
        let (first, text) = input.split_first().unwrap_or((&0, &[]));
        let (precision, text) = (first % 25, String::from_utf8_lossy(text));
        let asset = Asset::plain(9, "X", precision);
        let read = asset.amount(&text);
        if let Ok(amount) = read {
            assert_eq!(by_hand(&text, precision), Some(amount.0), "{text} at {precision}");
            assert!(amount > Amount::ZERO && amount <= asset.ceiling(), "{text} at {precision}");
            let again = amount.decimal(precision);
            assert_eq!(asset.amount(&again), Ok(amount), "{again}");
        } else if let Some(units) = by_hand(&text, precision) {
            // refused, though it is a number: nothing, too much, or longer than any amount
            let fits = Amount(units) <= asset.ceiling() && units > 0;
            assert!(!fits || text.len() > 39, "{text} at {precision}: {read:?}");
        }
        kind(&(read.map(|_| ()).map_err(Code::name), text.len() / 4, precision))
    });
    assert!(done.kinds > 100, "{done:?}");
}

#[test]
fn an_id_has_one_spelling_but_for_the_case_of_its_letters() {
    let texts =
        ["01JFVQ2X8Z0Y1M3N4P5R6S7T8V", "7ZZZZZZZZZZZZZZZZZZZZZZZZZ", "80000000000000000000000000"];
    let done = target("ids").run(starts(&texts), |input| {
        let text = String::from_utf8_lossy(input);
        let id = text.parse::<Id>();
        if let Ok(id) = id {
            let again = id.to_string();
            assert_eq!(again.parse(), Ok(id));
            assert_eq!((text.len(), again.len()), (26, 26), "{text}");
            // the letters that look like digits are read as such
            let read = text.to_ascii_uppercase().replace(['I', 'L'], "1").replace('O', "0");
            assert_eq!(read, again, "{text}");
            assert_eq!(Id::new(id.at(), id.0 & ((1 << 80) - 1)), id, "{text}");
        }
        kind(&(id.is_ok(), text.len().clamp(0, 28)))
    });
    assert!(done.kinds > 10, "{done:?}");
}

#[test]
fn a_name_is_one_of_the_list_or_none() {
    let texts = ["WITHDRAW", "SETTLE", "FUNDING", "SPOT", "ACTIVE", "DELISTED", "x"];
    let done = target("names").run(starts(&texts), |input| {
        let text = String::from_utf8_lossy(input);
        let leg = Leg::parse(&text).map(Leg::name);
        let ledger = LedgerId::parse(&text).map(LedgerId::name);
        let status = AssetStatus::parse(&text).map(AssetStatus::name);
        for name in [leg, ledger, status].into_iter().flatten() {
            assert_eq!(name, text);
        }
        kind(&(leg, ledger, status))
    });
    assert!(done.kinds > 5, "{done:?}");
}
