//! Reads the passphrase of the relay's keystore from a setting, from a file, or at the terminal.

use crate::cli::exit::{Exit, Fault};
use crate::config::Relay;
use links::near::Passphrase;
use std::fs;
use std::path::Path;
use zeroize::Zeroizing;

/// The passphrase of the settings' keystore. Where the settings have none, this process asks for it at its terminal.
///
/// # Errors
/// 78: the file cannot be read, or nothing is set and there is no terminal.
pub(super) fn of(settings: &Relay) -> Result<Passphrase, Fault> {
    if !settings.keystore_passphrase.is_empty() {
        return Ok(Passphrase::new(settings.keystore_passphrase.reveal().to_owned()));
    }
    let file = &settings.keystore_passphrase_file;
    if !file.as_os_str().is_empty() {
        return in_file(file).map_err(|why| {
            Fault::new(Exit::Config, format!("relay.keystore_passphrase_file: {why}"))
        });
    }
    asked(&format!("The passphrase of {}: ", settings.keystore.display())).map_err(|error| {
        let none = "relay.keystore_passphrase: none is set, nor relay.keystore_passphrase_file, and there is no \
                    terminal to ask for it at";
        Fault::new(Exit::Config, format!("{none} ({error})"))
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
