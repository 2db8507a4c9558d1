//! Encodes records as bytes and decodes them: a tag, then fields; numbers in groups of seven bits. No
//! bytes make the decoder panic.

use crate::spot::core::entry::{Entry, ResultCode, leg_number, leg_numbered};
use crate::spot::core::record::Record;
use kernel::ids::{AssetId, Id, UserId};
use kernel::money::Amount;
use kernel::operation::{Identity, Incarnation};
use kernel::ports::ledger::AccountStatus;
use std::sync::Arc;

pub(crate) fn write(out: &mut Vec<u8>, record: &Record) {
    match record {
        Record::Identity(id) => tagged(out, 1, id.0),
        Record::Incarnation(id) => tagged(out, 2, id.0),
        Record::Result { entry, available: None } => {
            out.push(3);
            put_entry(out, entry);
        }
        Record::Result { entry, available: Some(available) } => {
            out.push(4);
            put_entry(out, entry);
            put(out, available.0);
        }
        Record::Horizon { id, open } => {
            tagged(out, 5, id.0);
            put_len(out, open.len());
            open.iter().for_each(|id| out.extend(id.0.to_le_bytes()));
        }
        Record::Status { user, status, key, reason, caller } => {
            out.push(6);
            put_account(out, *user, *status);
            [key, reason, caller].into_iter().for_each(|text| put_text(out, text));
        }
        Record::Account { user, status, holdings } => {
            out.push(7);
            put_account(out, *user, *status);
            put_len(out, holdings.len());
            for (asset, amount) in holdings {
                put(out, asset.0.into());
                put(out, amount.0);
            }
        }
        Record::StoredResult { seq, entry } => {
            out.push(8);
            put(out, (*seq).into());
            put_entry(out, entry);
        }
        Record::Key { user, status, key } => {
            out.push(9);
            put_account(out, *user, *status);
            put_text(out, key);
        }
        Record::Clearing { asset, amount } => {
            out.push(10);
            put(out, asset.0.into());
            out.extend(amount.to_le_bytes());
        }
        Record::End { next, sequence, accounts, results } => {
            out.push(11);
            [next, sequence, accounts, results].into_iter().for_each(|n| put(out, (*n).into()));
        }
        Record::Halt(number) => {
            out.push(12);
            put(out, (*number).into());
        }
    }
}

/// Reads all records of a body; `None` where it does not consist of whole ones.
pub(crate) fn read(body: &[u8]) -> Option<Vec<Record>> {
    let mut bytes = Bytes(body);
    let mut records = Vec::new();
    while !bytes.0.is_empty() {
        records.push(bytes.record()?);
    }
    Some(records)
}

fn tagged(out: &mut Vec<u8>, tag: u8, id: u128) {
    out.push(tag);
    out.extend(id.to_le_bytes());
}

fn put(out: &mut Vec<u8>, mut number: u128) {
    loop {
        let low = u8::try_from(number & 0x7f).unwrap_or_default();
        number >>= 7;
        if number == 0 {
            return out.push(low);
        }
        out.push(low | 0x80);
    }
}

fn put_len(out: &mut Vec<u8>, len: usize) {
    put(out, u128::try_from(len).unwrap_or(u128::MAX));
}

fn put_text(out: &mut Vec<u8>, text: &str) {
    put_len(out, text.len());
    out.extend(text.as_bytes());
}

const STATUSES: [AccountStatus; 3] =
    [AccountStatus::Active, AccountStatus::Frozen, AccountStatus::Disabled];

const fn status_number(status: AccountStatus) -> u8 {
    match status {
        AccountStatus::Active => 0,
        AccountStatus::Frozen => 1,
        AccountStatus::Disabled => 2,
    }
}

fn put_account(out: &mut Vec<u8>, user: UserId, status: AccountStatus) {
    put(out, user.0.into());
    out.push(status_number(status));
}

fn put_entry(out: &mut Vec<u8>, entry: &Entry) {
    out.extend(entry.id.0.to_le_bytes());
    out.push(leg_number(entry.leg).unwrap_or_default() << 4 | entry.result.number());
    put(out, entry.user.0.into());
    put(out, entry.asset.0.into());
    put(out, entry.amount.0);
}

/// The bytes that are left to read.
struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn record(&mut self) -> Option<Record> {
        Some(match self.byte()? {
            1 => Record::Identity(Identity(self.wide()?)),
            2 => Record::Incarnation(Incarnation(self.wide()?)),
            3 => Record::Result { entry: self.entry()?, available: None },
            4 => Record::Result { entry: self.entry()?, available: Some(self.amount()?) },
            5 => Record::Horizon { id: Id(self.wide()?), open: self.ids()? },
            6 => Record::Status {
                user: self.user()?,
                status: self.status()?,
                key: self.text()?,
                reason: self.text()?,
                caller: self.text()?,
            },
            7 => Record::Account {
                user: self.user()?,
                status: self.status()?,
                holdings: self.holdings()?,
            },
            8 => Record::StoredResult { seq: self.number()?, entry: self.entry()? },
            9 => Record::Key { user: self.user()?, status: self.status()?, key: self.text()? },
            10 => Record::Clearing {
                asset: self.asset()?,
                amount: i128::from_le_bytes(self.wide()?.to_le_bytes()),
            },
            11 => Record::End {
                next: self.number()?,
                sequence: self.number()?,
                accounts: self.number()?,
                results: self.number()?,
            },
            12 => Record::Halt(self.number()?),
            _ => return None,
        })
    }

    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    fn take(&mut self, len: usize) -> Option<&[u8]> {
        let (taken, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(taken)
    }

    fn wide(&mut self) -> Option<u128> {
        self.take(16)?.try_into().ok().map(u128::from_le_bytes)
    }

    /// A number in its shortest spelling, so that equal records have equal bytes.
    fn varint(&mut self) -> Option<u128> {
        let mut number = 0_u128;
        for shift in (0..u128::BITS).step_by(7) {
            let byte = self.byte()?;
            let group = u128::from(byte & 0x7f);
            let placed = group << shift;
            if placed >> shift != group || (byte == 0 && shift > 0) {
                return None;
            }
            number |= placed;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    fn number(&mut self) -> Option<u64> {
        self.varint()?.try_into().ok()
    }

    fn amount(&mut self) -> Option<Amount> {
        self.varint().map(Amount)
    }

    fn user(&mut self) -> Option<UserId> {
        self.number().map(UserId)
    }

    fn asset(&mut self) -> Option<AssetId> {
        self.varint()?.try_into().ok().map(AssetId)
    }

    fn status(&mut self) -> Option<AccountStatus> {
        let number = self.byte()?;
        STATUSES.into_iter().find(|status| status_number(*status) == number)
    }

    fn text(&mut self) -> Option<Arc<str>> {
        let len = self.number()?.try_into().ok()?;
        std::str::from_utf8(self.take(len)?).ok().map(Into::into)
    }

    fn ids(&mut self) -> Option<Vec<Id>> {
        let count = self.number()?;
        (0..count).map(|_| self.wide().map(Id)).collect()
    }

    fn holdings(&mut self) -> Option<Vec<(AssetId, Amount)>> {
        let count = self.number()?;
        (0..count).map(|_| Some((self.asset()?, self.amount()?))).collect()
    }

    fn entry(&mut self) -> Option<Entry> {
        let id = Id(self.wide()?);
        let kind = self.byte()?;
        let (leg, result) = (leg_numbered(kind >> 4)?, ResultCode::numbered(kind & 0x0f)?);
        let (user, asset, amount) = (self.user()?, self.asset()?, self.amount()?);
        Some(Entry { id, amount, user, asset, leg, result })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_one_spelling_and_end() {
        for number in [0, 1, 127, 128, 300, u128::from(u64::MAX), u128::MAX] {
            let mut out = Vec::new();
            put(&mut out, number);
            let mut bytes = Bytes(&out);
            assert_eq!(bytes.varint(), Some(number));
            assert!(bytes.0.is_empty());
        }
        for bad in [&[0x80, 0x00][..], &[0xff; 40], &[0x80], &[]] {
            assert_eq!(Bytes(bad).varint(), None, "{bad:?}");
        }
    }

    #[test]
    fn a_count_that_lies_ends_where_the_bytes_end() {
        let mut out = vec![5];
        out.extend([0; 16]);
        put(&mut out, u64::MAX.into());
        assert_eq!(read(&out), None);
    }
}
