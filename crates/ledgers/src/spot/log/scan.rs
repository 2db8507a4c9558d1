//! Reads the batches of a file one after the other, and says what lies behind the last whole one.

use super::codec;
use super::frame::{self, HEADER, Header, MAGIC, ParsedHeader};
use super::reader::Reader;
use crate::SpotOpenError;
use crate::spot::core::record::Record;
use kernel::ports::disk::Disk;

/// The batches of one file.
pub(crate) struct Scan<'a> {
    reader: Reader<'a>,
    file: &'a str,
    /// The next batch begins here.
    pub(crate) at: u64,
}

/// The bytes behind the whole batches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tail {
    /// Nothing, or zeros: room that was set aside.
    Clean,
    /// Part of a batch that was never durable: the number of its bytes, and of its operations where its
    /// header is whole.
    Torn { bytes: u64, count: u32 },
}

impl<'a> Scan<'a> {
    pub(crate) const fn new(disk: &'a dyn Disk, file: &'a str) -> Self {
        Self { reader: Reader::new(disk, file), file, at: 0 }
    }

    /// The next whole batch, or `None` where there is none.
    ///
    /// # Errors
    /// The disk's; a newer format; a batch whose checksum is right and whose records make no sense.
    pub(crate) async fn next(&mut self) -> Result<Option<(Header, Vec<Record>)>, SpotOpenError> {
        let header = match frame::parse_header(self.reader.take(self.at, HEADER).await?) {
            ParsedHeader::Header(header) => header,
            ParsedHeader::Newer(version) => {
                return Err(SpotOpenError::Newer { file: self.file.to_owned(), version });
            }
            ParsedHeader::Nothing => return Ok(None),
        };
        let begin = self.at.saturating_add(long(HEADER));
        let body = self.reader.take(begin, header.len).await?;
        if !header.fits(body) {
            return Ok(None);
        }
        let Some(records) = codec::read(body) else {
            return Err(self.damaged("the records of a batch make no sense"));
        };
        self.at = begin.saturating_add(long(header.len));
        Ok(Some((header, records)))
    }

    /// Reads the bytes behind the last whole batch.
    ///
    /// # Errors
    /// The disk's; `Damaged` where a header lies further on: what is broken here was durable once.
    pub(crate) async fn rest(&mut self) -> Result<Tail, SpotOpenError> {
        let count = match frame::parse_header(self.reader.take(self.at, HEADER).await?) {
            ParsedHeader::Header(header) => header.count,
            ParsedHeader::Newer(_) | ParsedHeader::Nothing => 0,
        };
        let (mut from, mut end) = (self.at, self.at);
        loop {
            let bytes = self.reader.some(from).await?;
            let dirty = bytes.iter().rposition(|byte| *byte != 0);
            if let Some(last) = dirty {
                end = from.saturating_add(long(last)).saturating_add(1);
            }
            // At the very place of the broken batch its own header may stand.
            let own = usize::from(from == self.at);
            if bytes.get(own..).is_some_and(has_header) {
                return Err(self.damaged("a batch that others follow is broken"));
            }
            // The last bytes are looked at again: a header may begin in them.
            let seen = bytes.len().saturating_sub(HEADER.saturating_sub(1));
            if seen == 0 {
                break;
            }
            from = from.saturating_add(long(seen));
        }
        let bytes = end.saturating_sub(self.at);
        Ok(if bytes == 0 { Tail::Clean } else { Tail::Torn { bytes, count } })
    }

    /// This file is damaged where the next batch should begin.
    pub(crate) fn damaged(&self, what: &'static str) -> SpotOpenError {
        SpotOpenError::Damaged { file: self.file.to_owned(), offset: self.at, what }
    }
}

fn has_header(bytes: &[u8]) -> bool {
    let mut places = bytes.windows(HEADER);
    places.any(|place| {
        place.starts_with(&MAGIC) && frame::parse_header(place) != ParsedHeader::Nothing
    })
}

fn long(len: usize) -> u64 {
    u64::try_from(len).unwrap_or(u64::MAX)
}
