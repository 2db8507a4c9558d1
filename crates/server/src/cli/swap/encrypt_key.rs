//! `portage swap encrypt-key`: puts the vault's key into an encrypted file.

use crate::cli::exit::{Exit, Fault};
use crate::cli::output;
use crate::file_modes;
use crate::keystore::{encrypted, forbid_core_dumps, passphrase, unfit};
use links::solana::{KeyRing, key_address};
use std::fs;
use std::path::PathBuf;
use zeroize::Zeroizing;

/// The key of a keypair file, as Solana's tools write it, is put into an encrypted file. It is never shown.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  \
    portage swap encrypt-key --keypair vault.json --passphrase-file pass --out vault-key.json")]
pub(in crate::cli) struct EncryptKeyArgs {
    /// The keypair file: the secret and the public key as a JSON list of 64 bytes.
    #[arg(long)]
    keypair: PathBuf,
    /// The file whose first line is the passphrase; /dev/fd/3 takes it from a file descriptor. Without it the
    /// passphrase is asked for at the terminal, twice.
    #[arg(long)]
    passphrase_file: Option<PathBuf>,
    /// The file that is written, readable by its owner alone. One that is there is not replaced.
    #[arg(long)]
    out: PathBuf,
}

pub(super) fn run(args: &EncryptKeyArgs) -> Result<(), Fault> {
    forbid_core_dumps();
    let keypair = args.keypair.display().to_string();
    let text = fs::read_to_string(&args.keypair).map(Zeroizing::new);
    let text = text.map_err(|fault| Fault::new(Exit::NoInput, format!("{keypair}: {fault}")))?;
    let key = KeyRing::from_keypair_file(&text).map_err(|why| unfit(&keypair, &why))?;
    let vault = KeyRing::public_key(&key).map_err(|why| unfit(&keypair, &why))?;
    let vault = key_address(&vault);
    let passphrase = match &args.passphrase_file {
        Some(path) => passphrase::in_file(path).map_err(|why| Fault::new(Exit::NoInput, why))?,
        None => passphrase::chosen()?,
    };
    let file = encrypted(&vault, &key, &passphrase)?;
    let out = args.out.display();
    let written = file_modes::write_new(&args.out, file.as_bytes());
    written.map_err(|fault| Fault::new(Exit::CantCreate, format!("{out}: {fault}")))?;
    output::print(&format!(
        "{out}: written, with the key of {vault}. Set swap.vault to that address, swap.keystore to this file, and \
         swap.keystore_passphrase in the environment or swap.keystore_passphrase_file; without either, serve asks at its \
         terminal. Then destroy {keypair}"
    ))
}
