//! Reads the passphrase of a keystore from a setting, from a file, or at the terminal.

use super::KeystoreSettings;
use crate::cli::exit::{Exit, Fault};
use links::near::Passphrase;
use std::fs;
use std::path::Path;
use zeroize::Zeroizing;

/// The passphrase of the settings' keystore. Where the settings have none, this process asks for it at its terminal.
///
/// # Errors
/// 78: the file cannot be read, or nothing is set and there is no terminal.
pub(super) fn of(settings: &KeystoreSettings<'_>) -> Result<Passphrase, Fault> {
    let KeystoreSettings { section, file, passphrase, passphrase_file, .. } = settings;
    if !passphrase.is_empty() {
        return Ok(Passphrase::new(passphrase.reveal().to_owned()));
    }
    if !passphrase_file.as_os_str().is_empty() {
        return in_file(passphrase_file).map_err(|why| {
            Fault::new(Exit::Config, format!("{section}.keystore_passphrase_file: {why}"))
        });
    }
    asked(&format!("The passphrase of {}: ", file.display())).map_err(|error| {
        let what = format!(
            "{section}.keystore_passphrase: none is set, nor {section}.keystore_passphrase_file, and there is no \
             terminal to ask for it at ({error})"
        );
        Fault::new(Exit::Config, what)
    })
}

/// The first line of a file, which may be a file descriptor's: `/dev/fd/3`.
///
/// # Errors
/// The file's name, and why it cannot be read.
pub(crate) fn in_file(path: &Path) -> Result<Passphrase, String> {
    let text = fs::read_to_string(path).map(Zeroizing::new);
    let text = text.map_err(|fault| format!("{}: {fault}", path.display()))?;
    Ok(Passphrase::new(text.lines().next().unwrap_or_default().to_owned()))
}

/// A new passphrase, typed twice at the terminal.
///
/// # Errors
/// 66: there is no terminal. 65: the two are not the same.
pub(crate) fn chosen() -> Result<Passphrase, Fault> {
    let no_terminal = |error: std::io::Error| {
        let what = "--passphrase-file: none is given, and there is no terminal to ask at";
        Fault::new(Exit::NoInput, format!("{what} ({error})"))
    };
    let first = asked("A passphrase for the file: ").map_err(no_terminal)?;
    let again = asked("The same again: ").map_err(no_terminal)?;
    if first == again {
        Ok(first)
    } else {
        Err(Fault::new(Exit::Data, "the two passphrases are not the same; nothing was written"))
    }
}

/// Reads a line from the terminal of this process without showing it.
fn asked(prompt: &str) -> std::io::Result<Passphrase> {
    rpassword::prompt_password(prompt).map(Passphrase::new)
}
