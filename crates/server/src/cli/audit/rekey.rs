//! `portage audit rekey`: makes the next key of the seals, and keeps the one before it.

use crate::auth::key;
use crate::cli::exit::{Exit, Fault};
use crate::cli::{Global, output};
use crate::file_modes;
use std::fs::{DirBuilder, File};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

/// Make a new key for the seals, and print the settings that change to it.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  portage audit rekey --into /etc/portage\n\n\
    Changes nothing that runs. Put the printed settings into the file of every process of the journal, stop all \
    of them, and start them again. The former keys are needed for ever: they verify what they sealed.")]
pub(in crate::cli) struct RekeyArgs {
    /// The folder that keeps the keys, apart from the data: who can write both can forge seals.
    #[arg(long, value_name = "FOLDER")]
    into: PathBuf,
}

pub(super) fn run(global: &Global, args: &RekeyArgs) -> Result<(), Fault> {
    let config = global.settings()?;
    let present = key::present(&config.audit, || key::read(&config.data.dir, key::AUDIT))?;
    let fault = |fault| Fault::new(Exit::CantCreate, format!("{}: {fault}", args.into.display()));
    DirBuilder::new().recursive(true).mode(0o700).create(&args.into).map_err(fault)?;
    // the processes that read the settings run in other folders
    let into = args.into.canonicalize().map_err(fault)?;
    if config.data.dir.canonicalize().is_ok_and(|data| into.starts_with(data)) {
        let sentence = "--into: not the data folder: who can write both can forge seals";
        return Err(Fault::new(Exit::Usage, sentence));
    }
    let mut names = (1_u32..).map(|n| into.join(format!("{}.{n}", key::AUDIT)));
    let mut free = || names.find(|path| !path.exists()).unwrap_or_default();
    let file = &config.audit.mac_secret_file;
    // a key that stands in a file of its own stays there
    let former = if file.as_os_str().is_empty() { kept(free(), &present)? } else { file.clone() };
    if key::read_secret(&former)? != present {
        let sentence =
            "audit.mac_secret has a line's end that a file cannot keep: write the file by hand";
        return Err(Fault::new(Exit::Config, sentence));
    }
    let fresh = key::fresh().map_err(|fault| Fault::new(Exit::Software, fault.to_string()))?;
    let next = kept(free(), &fresh)?;
    let older = config.audit.former_mac_secret_files.iter().map(PathBuf::from);
    let former: Vec<String> =
        std::iter::once(former).chain(older).map(|path| quoted(&path)).collect();
    let (next, former) = (quoted(&next), former.join(", "));
    // one that stands in the settings themselves would be a second one
    let inline = !config.audit.mac_secret.reveal().is_empty();
    let remove =
        "# remove audit.mac_secret (PORTAGE_AUDIT__MAC_SECRET): one of the two is the key\n";
    let remove = if inline { remove } else { "" };
    output::print(&format!(
        "{remove}[audit]\nmac_secret_file = {next}\nformer_mac_secret_files = [{former}]"
    ))
}

/// Writes a key into a file of that name, readable by this user alone.
fn kept(path: PathBuf, key: &[u8]) -> Result<PathBuf, Fault> {
    let fault = |fault| Fault::new(Exit::CantCreate, format!("{}: {fault}", path.display()));
    file_modes::write_new(&path, key).map_err(fault)?;
    // the name too: a key that is lost with it verifies nothing any more
    let folder = path.parent().unwrap_or(&path);
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(fault)?;
    Ok(path)
}

/// A path as a text of TOML, which every text of JSON is.
fn quoted(path: &Path) -> String {
    serde_json::Value::String(path.display().to_string()).to_string()
}
