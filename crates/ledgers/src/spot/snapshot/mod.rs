//! Writes the books into a file, so that a start need not repeat every batch.
//!
//! A snapshot consists of the same batches as the log. The core writes it under a temporary name and
//! makes it durable before it gets its name; only then are the segments before it removed.

pub(crate) mod quiesce;

use super::core::Core;
use super::core::record::Record;
use super::log::files::FileName;
use super::log::frame;
use kernel::ids::UserId;
use kernel::ports::disk::Disk;
use std::io;
use std::ops::Bound;

/// Records per part: what is in memory twice while a snapshot is written.
const PART: usize = 8_192;

/// The place at which the next part begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PartStart {
    /// The part with the ledger's identity.
    Head,
    /// The part with the accounts above this one.
    Accounts(UserId),
    /// The part with the results above this number.
    Results(u64),
}

impl Core {
    /// One part, and where the next one begins. The last one carries the end.
    pub(crate) fn part(&self, place: PartStart, next: u64) -> (Vec<Record>, Option<PartStart>) {
        match place {
            PartStart::Head => (self.head(), Some(PartStart::Accounts(UserId(0)))),
            PartStart::Accounts(user) => {
                let above = (Bound::Excluded(user), Bound::Unbounded);
                let page = self.accounts.range(above).take(PART);
                let account = |(user, account): (&UserId, &super::core::Account)| Record::Account {
                    user: *user,
                    status: account.status,
                    holdings: account.holdings.clone(),
                };
                let last = page.clone().last().map(|(user, _)| PartStart::Accounts(*user));
                (page.map(account).collect(), Some(last.unwrap_or(PartStart::Results(0))))
            }
            PartStart::Results(seq) => {
                let page = self.results.after(seq).take(PART);
                let mut records: Vec<_> =
                    page.map(|(seq, entry)| Record::StoredResult { seq, entry: *entry }).collect();
                if let Some(Record::StoredResult { seq, .. }) = records.last() {
                    let place = PartStart::Results(*seq);
                    return (records, Some(place));
                }
                records.push(self.end(next));
                (records, None)
            }
        }
    }

    fn head(&self) -> Vec<Record> {
        let mut records = Vec::new();
        records.extend(self.identity.map(Record::Identity));
        records.extend(self.incarnation.map(Record::Incarnation));
        let open = self.open.iter().copied().collect();
        records.extend(self.horizon.map(|id| Record::Horizon { id, open }));
        // one that was never told of a HALT stays readable to every build
        records.extend((self.halt > 0).then_some(Record::Halt(self.halt)));
        for (asset, amount) in &self.clearing {
            records.push(Record::Clearing { asset: *asset, amount: *amount });
        }
        for (key, change) in &self.keys {
            let (user, status, key) = (change.user, change.status, key.clone());
            records.push(Record::Key { user, status, key });
        }
        records
    }

    fn end(&self, next: u64) -> Record {
        let long = |len| u64::try_from(len).unwrap_or(u64::MAX);
        Record::End {
            next,
            sequence: self.sequence,
            accounts: long(self.accounts.len()),
            results: long(self.results.len()),
        }
    }
}

/// Writes a snapshot of the books before batch `next`. `part` gives one part of books that stay as
/// they are until this returns. May be dropped at any await and begun anew.
///
/// # Errors
/// The disk's. There is no snapshot then, and nothing was removed.
pub(crate) async fn write(
    disk: &dyn Disk,
    next: u64,
    part: impl Fn(PartStart) -> (Vec<Record>, Option<PartStart>) + Send,
) -> io::Result<()> {
    let unfinished = FileName::Unfinished(next).to_string();
    remove(disk, &unfinished).await?;
    if let Err(error) = parts(disk, &unfinished, part).await {
        // Half a snapshot on a full disk would keep the log from going on.
        drop(remove(disk, &unfinished).await);
        return Err(error);
    }
    disk.rename(&unfinished, &FileName::Snapshot(next).to_string()).await?;
    disk.sync_folder().await
}

/// Writes all parts, durably.
async fn parts(
    disk: &dyn Disk,
    unfinished: &str,
    part: impl Fn(PartStart) -> (Vec<Record>, Option<PartStart>) + Send,
) -> io::Result<()> {
    let (mut number, mut place) = (0_u64, Some(PartStart::Head));
    while let Some(from) = place {
        let (records, after) = part(from);
        let bytes = frame::write(number, 0, &records).ok_or_else(|| {
            io::Error::new(io::ErrorKind::FileTooLarge, "a part of a snapshot is too long")
        })?;
        disk.append(unfinished, &bytes).await?;
        (number, place) = (number.saturating_add(1), after);
    }
    disk.sync(unfinished).await
}

/// Removes what a durable snapshot before batch `next` makes needless.
///
/// # Errors
/// The disk's. What is left is removed next time.
pub(crate) async fn tidy(disk: &dyn Disk, next: u64) -> io::Result<()> {
    for file in disk.list().await? {
        let needless = match FileName::parse(&file) {
            Some(FileName::Segment(n) | FileName::Snapshot(n)) => n < next,
            Some(FileName::Unfinished(_)) => true,
            None => false,
        };
        if needless {
            remove(disk, &file).await?;
        }
    }
    Ok(())
}

async fn remove(disk: &dyn Disk, file: &str) -> io::Result<()> {
    match disk.remove(file).await {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}
