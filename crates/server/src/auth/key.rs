//! Generates and reads the key files of the data folder: 32 random bytes each, used while the settings name no
//! other key.

use crate::config::Audit;
use crate::file_modes;
use kernel::audit::seal::SealKey;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The development key of the tokens, in `data.dir`.
pub const AUTH: &str = "auth.key";
/// The key of the audit's seals, in `data.dir`.
pub const AUDIT: &str = "audit.key";
/// The length of a key in bytes.
const LEN: usize = 32;

/// The reason why a key file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum KeyFileError {
    /// No server has made the key yet.
    #[error("{0}: no key here; `portage serve` makes auth.key and audit.key at its first start")]
    Missing(PathBuf),
    /// Others may read it, or it has another length.
    #[error("{0}: {1}")]
    Unfit(PathBuf, &'static str),
    /// It cannot be read or written.
    #[error("{0}: {1}")]
    Io(PathBuf, io::Error),
}

/// Reads the key of that name.
///
/// # Errors
/// It is not there, not ours alone, not 32 bytes, or not readable.
pub fn read(dir: &Path, name: &str) -> Result<Vec<u8>, KeyFileError> {
    let path = dir.join(name);
    let key = read_private(&path)?;
    if key.len() != LEN {
        return Err(KeyFileError::Unfit(path, "not a key of 32 bytes: remove it for a new one"));
    }
    Ok(key)
}

/// Reads a secret from a file of a person's: 32 bytes, or a line of at least 32 characters.
///
/// # Errors
/// It is not there, not ours alone, too short, or not readable.
pub fn read_secret(path: &Path) -> Result<Vec<u8>, KeyFileError> {
    let bytes = read_private(path).map_err(|fault| match fault {
        // no start makes it
        KeyFileError::Missing(path) => {
            KeyFileError::Unfit(path, "there is no such file, and the settings name it")
        }
        other @ (KeyFileError::Unfit(..) | KeyFileError::Io(..)) => other,
    })?;
    if bytes.len() == LEN {
        return Ok(bytes);
    }
    let line = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    if line.len() < LEN {
        return Err(KeyFileError::Unfit(path.to_owned(), "a secret has at least 32 bytes"));
    }
    Ok(line.to_vec())
}

/// Reads a file that no other user of the machine may read.
fn read_private(path: &Path) -> Result<Vec<u8>, KeyFileError> {
    let path = path.to_owned();
    let mut file = match File::open(&path) {
        Ok(file) => file,
        Err(fault) if fault.kind() == io::ErrorKind::NotFound => {
            return Err(KeyFileError::Missing(path));
        }
        Err(fault) => return Err(KeyFileError::Io(path, fault)),
    };
    let mut key = Vec::with_capacity(LEN);
    let mode = match file.metadata().and_then(|about| {
        file.read_to_end(&mut key)?;
        Ok(about.permissions().mode())
    }) {
        Ok(mode) => mode,
        Err(fault) => return Err(KeyFileError::Io(path, fault)),
    };
    if mode & 0o077 != 0 {
        return Err(KeyFileError::Unfit(
            path,
            "others may read this key: chmod 600 it, or remove it",
        ));
    }
    Ok(key)
}

/// The key of the audit's seals by the settings, or the generated one where they name none, with the former keys.
///
/// # Errors
/// As [`read_secret`], and those of the generated one.
pub fn sealing(
    audit: &Audit,
    generated: impl FnOnce() -> Result<Vec<u8>, KeyFileError>,
) -> Result<SealKey, KeyFileError> {
    let key = present(audit, generated)?;
    let former = audit.former_mac_secret_files.iter().map(|file| read_secret(Path::new(file)));
    Ok(SealKey::new(&key).with_former(&former.collect::<Result<Vec<_>, _>>()?))
}

/// The key that seals now, by the settings, or the generated one where they name none.
///
/// # Errors
/// As [`read_secret`], and those of the generated one.
pub fn present(
    audit: &Audit,
    generated: impl FnOnce() -> Result<Vec<u8>, KeyFileError>,
) -> Result<Vec<u8>, KeyFileError> {
    match (audit.mac_secret.reveal(), audit.mac_secret_file.as_path()) {
        ("", file) if file.as_os_str().is_empty() => generated(),
        ("", file) => read_secret(file),
        (secret, _) => Ok(secret.as_bytes().to_vec()),
    }
}

/// Reads the key, or makes it. The flag says that it was made now.
///
/// # Errors
/// As [`read`]; or it cannot be written.
pub fn read_or_make(dir: &Path, name: &str) -> Result<(Vec<u8>, bool), KeyFileError> {
    match read(dir, name) {
        Ok(key) => Ok((key, false)),
        Err(KeyFileError::Missing(path)) => {
            let made = make(dir, name).map_err(|fault| KeyFileError::Io(path, fault))?;
            Ok((read(dir, name)?, made))
        }
        Err(fault) => Err(fault),
    }
}

/// Written beside and renamed, so that a crash never leaves half a key; durable before it is used. False: another
/// process made one at the same time, and that one stays.
fn make(dir: &Path, name: &str) -> io::Result<bool> {
    let folder = File::open(dir)?;
    // of two that make it at once the second one finds it
    folder.lock()?;
    if dir.join(name).exists() {
        return Ok(false);
    }
    let beside = dir.join(format!("{name}.new"));
    match fs::remove_file(&beside) {
        Err(fault) if fault.kind() != io::ErrorKind::NotFound => return Err(fault),
        Ok(()) | Err(_) => (),
    }
    file_modes::write_new(&beside, &fresh()?)?;
    fs::rename(&beside, dir.join(name))?;
    // the name too: what it seals or signs outlives a loss of power
    folder.sync_all()?;
    Ok(true)
}

/// A key that no one has used.
///
/// # Errors
/// The machine gives no random bytes.
pub fn fresh() -> io::Result<[u8; LEN]> {
    let mut key = [0; LEN];
    getrandom::fill(&mut key).map_err(io::Error::other)?;
    Ok(key)
}

#[cfg(test)]
mod tests {
    use super::{AUTH, KeyFileError, read, read_or_make, read_secret};
    use std::os::unix::fs::PermissionsExt;

    /// A generated key is taken byte by byte, also where its last byte is a line's end.
    #[test]
    fn a_secret_is_32_bytes_or_a_line() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("secret");
        let read = |text: &[u8]| {
            std::fs::write(&file, text).unwrap();
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
            read_secret(&file).ok()
        };
        let line = [b'x'; 40];
        assert_eq!(read(&[7; 32]), Some([7; 32].to_vec()));
        assert_eq!(read(&[b'\n'; 32]), Some([b'\n'; 32].to_vec()));
        assert_eq!(read(&[&line[..], b"\r\n"].concat()), Some(line.to_vec()));
        assert_eq!(read(&line[..31]), None);
        assert_eq!(read(b""), None);
    }

    /// Turns red where a process that comes second replaces the key that the first one goes on with, or fails.
    #[test]
    fn those_that_make_it_at_the_same_time_have_one_key() {
        for _ in 0..20 {
            let dir = tempfile::tempdir().unwrap();
            let made = std::thread::scope(|scope| {
                let make = |_| scope.spawn(|| read_or_make(dir.path(), AUTH).unwrap());
                let all: Vec<_> = (0..4).map(make).collect();
                all.into_iter().map(|one| one.join().unwrap()).collect::<Vec<_>>()
            });
            assert!(made.iter().all(|(key, _)| *key == made[0].0));
            assert_eq!(made.iter().filter(|(_, made)| *made).count(), 1);
            assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
        }
    }

    #[test]
    fn made_once_and_ours_alone() {
        let dir = tempfile::tempdir().unwrap();
        assert!(matches!(read(dir.path(), AUTH), Err(KeyFileError::Missing(_))));
        let (key, made) = read_or_make(dir.path(), AUTH).unwrap();
        assert!(made && key.len() == 32 && key.iter().any(|byte| *byte != 0));
        assert_eq!(read_or_make(dir.path(), AUTH).unwrap(), (key, false));
        let file = dir.path().join(AUTH);
        let mode = |mode| {
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
        };
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        mode(0o644);
        assert!(matches!(read(dir.path(), AUTH), Err(KeyFileError::Unfit(..))));
        mode(0o600);
        std::fs::write(&file, b"short").unwrap();
        assert!(matches!(read(dir.path(), AUTH), Err(KeyFileError::Unfit(..))));
    }
}
