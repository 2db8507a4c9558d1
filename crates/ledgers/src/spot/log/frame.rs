//! Frames one batch as bytes of a file: a header with its own checksum, then the records.
//!
//! ```text
//! bytes  0  "SPOT"                     25  operations that it numbers
//!        4  version                    29  CRC32C of the records
//!        5  length of the records      33  CRC32C of the header so far
//!        9  the batch's number         37  records
//!       17  highest operation before
//! ```
//! Numbers are little-endian. The header's own checksum tells a torn last batch from a damaged one
//! that others follow.

use super::codec;
use crate::spot::core::record::Record;

pub(crate) const HEADER: usize = 37;
/// Every header begins so.
pub(crate) const MAGIC: [u8; 4] = *b"SPOT";
/// The format that this program writes.
const VERSION: u8 = 1;
/// The longest body; more is refused before it is written, and garbage when it is read.
const LONGEST: usize = 64 << 20;

/// The header of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) len: usize,
    /// The batch's own number: no gap, so that a missing one shows.
    pub(crate) number: u64,
    /// The highest operation that was durable before it; its own first operation is the next.
    pub(crate) durable: u64,
    /// How many operations it numbers.
    pub(crate) count: u32,
    checksum: u32,
}

/// The result of reading 37 bytes as a header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ParsedHeader {
    Header(Header),
    /// A header of a format that this program does not know.
    Newer(u8),
    Nothing,
}

impl Header {
    /// Whether the body is the one that the header speaks of, whatever is in it.
    pub(crate) fn fits(&self, body: &[u8]) -> bool {
        body.len() == self.len && crc32c::crc32c(body) == self.checksum
    }
}

/// A whole batch; `None` where it is too long.
pub(crate) fn write(number: u64, durable: u64, records: &[Record]) -> Option<Vec<u8>> {
    let mut frame = vec![0; HEADER];
    records.iter().for_each(|record| codec::write(&mut frame, record));
    let results = records.iter().filter(|record| matches!(record, Record::Result { .. })).count();
    let count = u32::try_from(results).ok()?;
    let (head, body) = frame.split_at_mut_checked(HEADER)?;
    if body.len() > LONGEST {
        return None;
    }
    let len = u32::try_from(body.len()).ok()?;
    let mut fields = Vec::with_capacity(HEADER);
    fields.extend(MAGIC);
    fields.push(VERSION);
    fields.extend(len.to_le_bytes());
    fields.extend(number.to_le_bytes());
    fields.extend(durable.to_le_bytes());
    fields.extend(count.to_le_bytes());
    fields.extend(crc32c::crc32c(body).to_le_bytes());
    let checksum = crc32c::crc32c(&fields);
    fields.extend(checksum.to_le_bytes());
    head.copy_from_slice(&fields);
    Some(frame)
}

/// Looks at the first bytes for a header.
pub(crate) fn parse_header(bytes: &[u8]) -> ParsedHeader {
    header(bytes).unwrap_or(ParsedHeader::Nothing)
}

fn header(bytes: &[u8]) -> Option<ParsedHeader> {
    let (fields, rest) = bytes.split_at_checked(HEADER.checked_sub(4)?)?;
    let whole = fields.starts_with(&MAGIC)
        && *rest.first_chunk::<4>()? == crc32c::crc32c(fields).to_le_bytes();
    if !whole {
        return None;
    }
    let (version, fields) = fields.get(MAGIC.len()..)?.split_first()?;
    if *version != VERSION {
        return Some(ParsedHeader::Newer(*version));
    }
    let (len, fields) = fields.split_first_chunk::<4>()?;
    let (number, fields) = fields.split_first_chunk::<8>()?;
    let (durable, fields) = fields.split_first_chunk::<8>()?;
    let (count, fields) = fields.split_first_chunk::<4>()?;
    let header = Header {
        len: usize::try_from(u32::from_le_bytes(*len)).ok()?,
        number: u64::from_le_bytes(*number),
        durable: u64::from_le_bytes(*durable),
        count: u32::from_le_bytes(*count),
        checksum: u32::from_le_bytes(*fields.first_chunk::<4>()?),
    };
    (header.len <= LONGEST).then_some(ParsedHeader::Header(header))
}
