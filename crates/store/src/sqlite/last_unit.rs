//! Keeps the number of the last audit unit in a file beside the database. A write-ahead log that a person deleted or
//! cut takes units with it, and no row that is left misses them.

use kernel::operation::Identity;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// The file in the data folder.
pub const LAST_UNIT: &str = "last-unit";

/// Units that were written and that the database does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LostUnits {
    /// The last unit of the database.
    pub stored: u64,
    /// The last unit that was written.
    pub written: u64,
}

/// The last unit that a store in this folder wrote, by the file beside its database; `None` where none is known. The
/// name of the store does not count: where the database is gone no store has it any more.
pub(crate) fn units_written(dir: &Path) -> Option<u64> {
    let text = std::fs::read_to_string(dir.join(LAST_UNIT)).ok()?;
    let (_, numbers) = text.trim_end().split_once(' ')?;
    number(numbers).filter(|unit| *unit > 0)
}

/// The number that stands twice; `None` where a write was torn.
fn number(twice: &str) -> Option<u64> {
    let (one, other) = twice.split_once(' ')?;
    if one == other { one.parse().ok() } else { None }
}

/// The file with the last number that was written.
pub(crate) struct LastUnit {
    file: File,
    /// What stands before the number: the name of the store that it is of.
    prefix: String,
    written: AtomicU64,
}

impl LastUnit {
    /// Opens the file, or makes it. The number of another store, or one that cannot be read, is none. The number stands
    /// twice: a write that a loss of power tore would else be a number that no unit has.
    pub(crate) fn open(dir: &Path, identity: Identity) -> io::Result<Self> {
        let path = dir.join(LAST_UNIT);
        let mut options = File::options();
        let mut file =
            options.create(true).truncate(false).read(true).write(true).mode(0o600).open(path)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        let prefix = format!("{:032x} ", identity.0);
        let text = std::str::from_utf8(&bytes).ok().map(str::trim_end);
        let unit = text.and_then(|text| number(text.strip_prefix(&prefix)?));
        Ok(Self { file, prefix, written: AtomicU64::new(unit.unwrap_or_default()) })
    }

    fn written(&self) -> u64 {
        self.written.load(Ordering::Acquire)
    }

    /// What a database lacks whose last unit this is.
    pub(crate) fn lost(&self, stored: u64) -> Option<LostUnits> {
        let written = self.written();
        (stored < written).then_some(LostUnits { stored, written })
    }

    /// Takes the number of a unit that is durable in the database. The file has no sync of its own: after a loss of
    /// power it may be behind the database, and it is never ahead of it. A disk without room leaves it behind, too.
    pub(crate) fn record_unit(&self, unit: u64) {
        if unit > self.written() {
            self.set(unit);
        }
    }

    /// Sets the number back to the database's, once the loss is written there.
    pub(crate) fn set(&self, unit: u64) {
        let text = format!("{}{unit:020} {unit:020}\n", self.prefix);
        if self.file.write_all_at(text.as_bytes(), 0).is_ok() {
            self.written.store(unit, Ordering::Release);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{LAST_UNIT, LastUnit, units_written};
    use kernel::operation::Identity;

    #[test]
    fn the_number_is_that_of_its_store() {
        let dir = tempfile::tempdir().unwrap();
        let open = |store| LastUnit::open(dir.path(), Identity(store)).unwrap();
        let file = open(7);
        assert_eq!((file.written(), units_written(dir.path())), (0, None));
        file.record_unit(1_000);
        file.record_unit(12);
        assert_eq!((file.written(), open(7).written(), open(8).written()), (1_000, 1_000, 0));
        file.set(12);
        assert_eq!((open(7).written(), units_written(dir.path())), (12, Some(12)));
        for torn in [&b""[..], b"\0\0\0\0", b"\xff\xfe", b"12"] {
            std::fs::write(dir.path().join(LAST_UNIT), torn).unwrap();
            assert_eq!((open(7).written(), units_written(dir.path())), (0, None), "{torn:?}");
        }
    }

    /// Turns red where a write of which a loss of power left a part names a unit that was never written: the next start
    /// would be halted (the number stood once: 1199 became 1299 on the way to 1200).
    #[test]
    fn a_torn_write_is_the_number_before_or_none() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(LAST_UNIT);
        let open = || LastUnit::open(dir.path(), Identity(7)).unwrap();
        let bytes = |unit| {
            open().set(unit);
            std::fs::read(&path).unwrap()
        };
        let (before, after) = (bytes(1_199), bytes(1_200));
        for cut in 0..after.len() {
            let torn: Vec<u8> =
                after.iter().take(cut).chain(before.iter().skip(cut)).copied().collect();
            std::fs::write(&path, torn).unwrap();
            assert!([0, 1_199, 1_200].contains(&open().written()), "{cut}: {}", open().written());
        }
    }
}
