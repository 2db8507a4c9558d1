//! Narrows the modes of files in the data folder, so that only this service reads balances and keys, also where the
//! folder itself is open to others.

use crate::bootstrap::{BUS, OWNER, SPOT};
use std::fs::{self, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

/// The mode bits of others on a file or a folder.
const OTHERS: u32 = 0o077;

/// Warns of a folder that is open to others, and takes from them what the service keeps in it: files
/// become 0600, its own folder 0700. What cannot be narrowed is named and left.
pub(crate) fn narrow(dir: &Path) {
    if let Some(mode) = open_to_others(dir) {
        tracing::warn!(
            folder = %dir.display(),
            mode = format!("{mode:04o}"),
            "data.dir is open to others: they see what is in it, and may put their own there. Its \
             files stay this service's alone; chmod 700 the folder"
        );
    }
    let spot = dir.join(SPOT);
    narrowed(&spot, 0o700);
    for folder in [dir, &spot] {
        // one that cannot be listed is named by whatever opens its files
        let Ok(entries) = fs::read_dir(folder) else { continue };
        for entry in entries.flatten() {
            let file = entry.file_type().is_ok_and(|kind| kind.is_file());
            if file && (folder == spot || ours(&entry.file_name().to_string_lossy())) {
                narrowed(&entry.path(), 0o600);
            }
        }
    }
}

/// Files that the service makes in the data folder; others may have put theirs beside them. Keys are
/// none of them: one that was open is no secret any more, and `auth::key` refuses it.
fn ours(name: &str) -> bool {
    let databases = [store::sqlite::FILE, BUS];
    let of_ours = databases.iter().any(|database| name.starts_with(database));
    name == OWNER || name == store::sqlite::LOCK || of_ours
}

/// The mode of what others may read, write or search; `None` where they may not, or it is not there.
fn open_to_others(path: &Path) -> Option<u32> {
    let mode = fs::metadata(path).ok()?.permissions().mode() & 0o7777;
    (mode & OTHERS != 0).then_some(mode)
}

fn narrowed(path: &Path, to: u32) {
    let Some(mode) = open_to_others(path) else { return };
    let (file, was) = (path.display(), format!("{mode:04o}"));
    match fs::set_permissions(path, Permissions::from_mode(to)) {
        Ok(()) => tracing::warn!(%file, was, "was open to others; now it is not"),
        Err(fault) => tracing::warn!(%file, was, %fault, "is open to others, and stays so"),
    }
}

/// Writes a file that only its owner may read.
///
/// # Errors
/// The disk's.
pub(crate) fn write(path: &Path, text: &str) -> io::Result<()> {
    let mut file =
        OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    file.write_all(text.as_bytes())
}

/// Writes a file that only its owner reads, and makes it durable; one that is there is left as it is.
///
/// # Errors
/// The system's; `AlreadyExists` where it is there.
pub(crate) fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}
