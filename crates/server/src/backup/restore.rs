//! Restores a backup into a data folder, and checks each file while it copies it.

use super::{BackupError, Manifest, files, manifest};
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

/// Copies a backup into a folder that is not there yet, or empty. The folder's first start is
/// halted: that is in the copy itself.
///
/// # Errors
/// It is not whole; the folder is taken; the disk's. Nothing is left behind then.
pub fn restored(from: &Path, to: &Path) -> Result<Manifest, BackupError> {
    let manifest = whole(from, to)?;
    copy(from, &manifest, to, false)?;
    Ok(manifest)
}

/// Reads a backup that could be restored into that folder; nothing is written yet.
///
/// # Errors
/// It is not whole; the folder is taken; the disk's.
pub fn whole(from: &Path, to: &Path) -> Result<Manifest, BackupError> {
    let (manifest, faults) = manifest::verified(from).map_err(BackupError::at(from))?;
    if !faults.is_empty() {
        let what = format!("the backup is not whole: {}", faults.join("; "));
        return Err(BackupError::at(from)(io::Error::new(io::ErrorKind::InvalidData, what)));
    }
    files::free(to)?;
    Ok(manifest)
}

/// Moves a backup to another place, which may be on another disk.
///
/// # Errors
/// The place is taken; the disk's. The backup is where it was then.
pub fn moved(from: &Path, to: &Path) -> Result<Manifest, BackupError> {
    let (manifest, _) = manifest::verified(from).map_err(BackupError::at(from))?;
    let partial = files::partial(to)?;
    // onto the empty folder that was made for it
    match fs::rename(from, &partial) {
        Ok(()) => files::named(&partial, to)?,
        Err(fault) => {
            drop(fs::remove_dir(&partial));
            if fault.kind() != io::ErrorKind::CrossesDevices {
                return Err(BackupError::at(to)(fault));
            }
            copy(from, &manifest, to, true)?;
            fs::remove_dir_all(from).map_err(BackupError::at(from))?;
        }
    }
    Ok(manifest)
}

/// Copies a backup, with its manifest where it is to stay one, and gives it its name.
fn copy(from: &Path, about: &Manifest, to: &Path, whole: bool) -> Result<(), BackupError> {
    let partial = files::partial(to)?;
    let copied = copied(from, about, &partial, whole).map_err(BackupError::at(&partial));
    let done = copied.and_then(|()| files::named(&partial, to));
    if done.is_err() {
        // what is half copied has no name that anybody would look for
        drop(fs::remove_dir_all(&partial));
    }
    done
}

fn copied(from: &Path, about: &Manifest, partial: &Path, whole: bool) -> io::Result<()> {
    for said in &about.files {
        let to = partial.join(&said.name);
        if let Some(folder) = to.parent().filter(|folder| !folder.is_dir()) {
            DirBuilder::new().mode(0o700).recursive(true).create(folder)?;
        }
        let file = File::open(from.join(&said.name))?;
        if files::copy(file, said.bytes, &to, said.name.clone())? != *said {
            let what = format!("{} changed while it was copied", said.name);
            return Err(io::Error::new(io::ErrorKind::InvalidData, what));
        }
    }
    for folder in about.files.iter().filter_map(|said| Path::new(&said.name).parent()) {
        File::open(partial.join(folder))?.sync_all()?;
    }
    if whole { about.write(partial) } else { Ok(()) }
}
