//! Copies and hashes the files of a backup, makes them durable, and renames the finished folder last.

use super::BackupError;
use super::manifest::FileRow;
use kernel::audit::hex;
use sha2::{Digest, Sha256};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The bytes that are copied at once.
const PIECE: usize = 1 << 20;
/// The suffix of a folder's name while it is not complete.
const PARTIAL: &str = ".partial";

/// The number of bytes that may still be written.
#[derive(Debug, Clone, Copy)]
pub(super) struct SpaceLimit(Option<u64>);

impl SpaceLimit {
    pub(super) const fn of(most: Option<u64>) -> Self {
        Self(most)
    }

    pub(super) const fn left(self) -> Option<u64> {
        self.0
    }

    /// # Errors
    /// There is less.
    pub(super) fn take(&mut self, bytes: u64) -> io::Result<()> {
        if let Some(left) = &mut self.0 {
            *left = left.checked_sub(bytes).ok_or(io::ErrorKind::StorageFull)?;
        }
        Ok(())
    }
}

/// # Errors
/// `to` is there and not empty.
pub(super) fn free(to: &Path) -> Result<(), BackupError> {
    let taken = match fs::read_dir(to) {
        Ok(mut inside) => inside.next().is_some(),
        Err(fault) => fault.kind() != io::ErrorKind::NotFound,
    };
    if taken { Err(BackupError::Exists(to.to_owned())) } else { Ok(()) }
}

/// Makes the folder beside `to` in which it comes into being; what an earlier attempt left there
/// goes.
///
/// # Errors
/// `to` is there and not empty; the disk's.
pub(super) fn partial(to: &Path) -> Result<PathBuf, BackupError> {
    free(to)?;
    let (Some(parent), Some(name)) = (to.parent(), to.file_name()) else {
        return Err(BackupError::Exists(to.to_owned()));
    };
    let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
    let mut private = DirBuilder::new();
    private.mode(0o700);
    DirBuilder::new()
        .mode(0o700)
        .recursive(true)
        .create(parent)
        .map_err(BackupError::at(parent))?;
    let partial = parent.join(format!(".{}{PARTIAL}", name.to_string_lossy()));
    match fs::remove_dir_all(&partial) {
        Err(fault) if fault.kind() != io::ErrorKind::NotFound => {
            return Err(BackupError::at(&partial)(fault));
        }
        Ok(()) | Err(_) => {}
    }
    private.create(&partial).map_err(BackupError::at(&partial))?;
    Ok(partial)
}

/// Renames the complete folder to its name, durably.
///
/// # Errors
/// Something took the name meanwhile; the disk's.
pub(super) fn named(partial: &Path, to: &Path) -> Result<(), BackupError> {
    let durable = || {
        File::open(partial)?.sync_all()?;
        fs::rename(partial, to)?;
        let parent = to.parent().filter(|parent| !parent.as_os_str().is_empty());
        File::open(parent.unwrap_or_else(|| Path::new(".")))?.sync_all()
    };
    durable().map_err(BackupError::at(to))
}

/// Removes what earlier backups left in a folder whose process died.
pub(super) fn sweep(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with('.') && name.ends_with(PARTIAL) {
            match fs::remove_dir_all(entry.path()) {
                Ok(()) => tracing::info!(%name, "removed half a backup of a process that died"),
                Err(fault) => tracing::warn!(%name, %fault, "half a backup cannot be removed"),
            }
        }
    }
}

/// Copies the first `len` bytes into a new file and makes it durable.
///
/// # Errors
/// The disk's, or there are fewer.
pub(super) fn copy(from: File, len: u64, to: &Path, name: String) -> io::Result<FileRow> {
    let mut into = OpenOptions::new().write(true).create_new(true).mode(0o600).open(to)?;
    let (bytes, sha256) = through(from.take(len), |piece| into.write_all(piece))?;
    if bytes < len {
        return Err(io::Error::new(io::ErrorKind::UnexpectedEof, format!("{name} is shorter")));
    }
    into.sync_all()?;
    Ok(FileRow { name, bytes, sha256 })
}

/// The row of the manifest for a file.
///
/// # Errors
/// It cannot be read.
pub(super) fn row(name: &str, path: &Path) -> io::Result<FileRow> {
    let (bytes, sha256) = through(File::open(path)?, |_| Ok(()))?;
    Ok(FileRow { name: name.to_owned(), bytes, sha256 })
}

/// Reads to the end; how many bytes there were, and their hash.
fn through(
    mut from: impl Read,
    mut take: impl FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<(u64, String)> {
    let (mut hash, mut bytes, mut piece) = (Sha256::new(), 0_u64, vec![0; PIECE]);
    loop {
        let read = match from.read(&mut piece) {
            Ok(0) => break,
            Ok(read) => piece.get(..read).unwrap_or_default(),
            Err(fault) if fault.kind() == io::ErrorKind::Interrupted => continue,
            Err(fault) => return Err(fault),
        };
        hash.update(read);
        take(read)?;
        bytes = bytes.saturating_add(u64::try_from(read.len()).map_err(io::Error::other)?);
    }
    Ok((bytes, hex(&hash.finalize().into())))
}
