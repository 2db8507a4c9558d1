//! Rebuilds the books at a start: from the newest snapshot, then from every batch after it.

use super::Log;
use super::files::FileName;
use super::scan::{Scan, Tail};
use crate::SpotOpenError;
use crate::spot::core::Core;
use crate::spot::core::record::Record;
use kernel::ports::disk::Disk;
use std::sync::Arc;

/// Part of a last batch, never acknowledged, that was dropped at a start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TornTail {
    pub file: String,
    /// Where it was cut.
    pub offset: u64,
    /// The number of dropped bytes.
    pub bytes: u64,
    /// The number of dropped operations, where the header was still readable.
    pub count: u32,
}

/// The content of a folder, which was only read.
pub(crate) struct Replayed {
    pub(crate) core: Core,
    pub(crate) log: Log,
    pub(crate) torn: Option<TornTail>,
}

/// Reads a folder. `acknowledged` is the highest operation that was answered.
///
/// # Errors
/// Damage that no crash before an acknowledgement can leave.
pub(crate) async fn read(
    disk: Arc<dyn Disk>,
    mut core: Core,
    acknowledged: u64,
) -> Result<Replayed, SpotOpenError> {
    let (mut segments, mut snapshot) = (Vec::new(), None);
    for name in disk.list().await?.iter().filter_map(|file| FileName::parse(file)) {
        match name {
            FileName::Segment(first) => segments.push(first),
            FileName::Snapshot(next) if snapshot < Some(next) => snapshot = Some(next),
            FileName::Snapshot(_) | FileName::Unfinished(_) => (),
        }
    }
    let mut next = 1;
    if let Some(number) = snapshot {
        load(&*disk, number, &mut core).await?;
        next = number;
    }
    segments.retain(|first| *first >= next);
    segments.sort_unstable();
    let mut end = (next, 0);
    let mut torn = None;
    for (n, first) in segments.iter().enumerate() {
        let file = FileName::Segment(*first).to_string();
        if *first != next {
            let what = "batches before it are missing";
            return Err(SpotOpenError::Damaged { file, offset: 0, what });
        }
        let mut scan = Scan::new(&*disk, &file);
        next = batches(&mut scan, &mut core, next).await?;
        let rest = scan.rest().await?;
        end = (*first, scan.at);
        if let Tail::Torn { bytes, count } = rest {
            if segments.len() > n.saturating_add(1) {
                return Err(scan.damaged("a batch that others follow is broken"));
            }
            let (durable, offset) = (core.sequence, scan.at);
            if acknowledged > durable {
                return Err(SpotOpenError::Acknowledged { file, offset, durable, acknowledged });
            }
            torn = Some(TornTail { file, offset, bytes, count });
        }
    }
    let log = Log::new(disk.clone(), end.0, end.1, next);
    Ok(Replayed { core, log, torn })
}

/// Takes the whole batches of a segment and returns the number of the one after.
async fn batches(
    scan: &mut Scan<'_>,
    core: &mut Core,
    mut next: u64,
) -> Result<u64, SpotOpenError> {
    loop {
        let at = scan.at;
        let Some((header, records)) = scan.next().await? else { return Ok(next) };
        let count = header.count.into();
        let fits = header.number == next
            && header.durable == core.sequence
            && (core.identity.is_some() || matches!(records.first(), Some(Record::Identity(_))))
            && core.apply(records).is_ok()
            && core.sequence.checked_sub(header.durable) == Some(count);
        if !fits {
            scan.at = at;
            return Err(scan.damaged("a batch does not follow the one before it"));
        }
        next = next.saturating_add(1);
    }
}

/// Takes a snapshot: it is whole, or it is damaged, since it got its name after it was durable.
async fn load(disk: &dyn Disk, number: u64, core: &mut Core) -> Result<(), SpotOpenError> {
    let file = FileName::Snapshot(number).to_string();
    let mut scan = Scan::new(disk, &file);
    let mut ended = false;
    let mut part = 0;
    while let Some((header, records)) = scan.next().await? {
        let whole = match records.last() {
            Some(Record::End { next, .. }) => Some(*next),
            Some(_) | None => None,
        };
        let fits = !ended && header.number == part && core.apply(records).is_ok();
        if !fits || whole.is_some_and(|next| next != number) {
            return Err(scan.damaged("the snapshot contradicts itself"));
        }
        ended = whole.is_some();
        part = part.saturating_add(1);
    }
    let rest = scan.rest().await?;
    if !ended || rest != Tail::Clean || core.identity.is_none() {
        return Err(scan.damaged("the snapshot is not whole"));
    }
    Ok(())
}
