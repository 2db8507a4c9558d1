//! `portage relay …`: shows the status of the relay's keys, and encrypts them into a keystore file.

mod keys;

use self::keys::KeysArgs;
use super::exit::{Exit, Fault};
use super::ops::{OpsTarget, rows};
use super::{Global, output, wait};
use crate::auth::Scope;
use crate::file_modes;
use crate::keystore::{encrypted, forbid_core_dumps, passphrase};
use flows::relay::is_account_id;
use serde_json::{Value, json};
use std::io;
use std::path::PathBuf;
use zeroize::Zeroizing;

/// The relay: its keys, and the attempts that they have.
#[expect(clippy::large_enum_variant, reason = "a process reads one of them, once")]
#[derive(Debug, clap::Subcommand)]
#[command(after_help = "Example:\n  portage relay status")]
pub(super) enum RelayCommand {
    /// Each key with its last nonce and its open attempt, and what keeps the chain from being sent to.
    Status(RelayStatusArgs),
    /// Each key's health, and the way out of use for one.
    Keys(KeysArgs),
    /// Encrypt the keys of the relay's account, which come on the standard input, one in a line.
    EncryptKeys(EncryptKeysArgs),
}

/// Keys that are put into an encrypted file. They are read from the standard input and never shown.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  \
    portage relay encrypt-keys --account relay.near --passphrase-file pass --out keys.json")]
pub(super) struct EncryptKeysArgs {
    /// The account on NEAR whose keys they are; the file opens for no other.
    #[arg(long)]
    account: String,
    /// The file whose first line is the passphrase; /dev/fd/3 takes it from a file descriptor. Without it the
    /// passphrase is asked for at the terminal, twice.
    #[arg(long)]
    passphrase_file: Option<PathBuf>,
    /// The file that is written, readable by its owner alone. One that is there is not replaced.
    #[arg(long)]
    out: PathBuf,
}

/// How the relay's keys stand in the journal.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  portage relay status")]
pub(super) struct RelayStatusArgs {
    #[command(flatten)]
    target: OpsTarget,
}

pub(super) fn run(global: &Global, command: &RelayCommand) -> Result<(), Fault> {
    match command {
        RelayCommand::Status(args) => wait(status(global, args)),
        RelayCommand::Keys(args) => wait(keys::run(global, args)),
        RelayCommand::EncryptKeys(args) => encrypt_keys(args),
    }
}

fn encrypt_keys(args: &EncryptKeysArgs) -> Result<(), Fault> {
    let unread = |what: String| {
        move |fault: io::Error| Fault::new(Exit::NoInput, format!("{what}: {fault}"))
    };
    if !is_account_id(&args.account) {
        return Err(Fault::new(Exit::Usage, "--account: not the name of an account on NEAR"));
    }
    forbid_core_dumps();
    let passphrase = match &args.passphrase_file {
        Some(path) => passphrase::in_file(path).map_err(|why| Fault::new(Exit::NoInput, why))?,
        None => passphrase::chosen()?,
    };
    let lines = io::read_to_string(io::stdin().lock()).map(Zeroizing::new);
    let lines = lines.map_err(unread("the standard input".to_owned()))?;
    let file = encrypted(&args.account, &lines, &passphrase)?;
    let out = args.out.display();
    let written = file_modes::write_new(&args.out, file.as_bytes());
    written.map_err(|fault| Fault::new(Exit::CantCreate, format!("{out}: {fault}")))?;
    output::print(&format!(
        "{out}: written. Set relay.keystore to it, and relay.keystore_passphrase in the environment or \
         relay.keystore_passphrase_file; without either, serve asks at its terminal"
    ))
}

async fn status(global: &Global, args: &RelayStatusArgs) -> Result<(), Fault> {
    let client = args.target.client(global, Scope::OpsRead)?;
    let found = client.get("/ops/relay/keys").await?;
    if args.target.json {
        return output::print_json(&found);
    }
    about_the_account(&found)?;
    let keys = found.get("keys").and_then(Value::as_array).into_iter().flatten().map(flat);
    let columns =
        ["key", "status", "here", ">last_nonce", ">transfers", ">forms", "sent", ">age_seconds"];
    output::print(&rows(&keys.collect(), columns))
}

/// The lines on all keys: the account, its NEAR, and what keeps the chain from being sent to.
fn about_the_account(found: &Value) -> Result<(), Fault> {
    let text = |name: &str| found.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (chain, account) = (text("chain"), text("account_id"));
    let near = match (&*text("balance"), &*text("balance_floor")) {
        ("", _) => "not known now".to_owned(),
        (balance, floor) => format!("{balance} (nothing is signed below {floor})"),
    };
    let pairs = [("chain", &*chain), ("account", &account), ("NEAR", &near)];
    output::print(&output::pairs(&pairs))?;
    if let Some(why) = found.get("chain_unknown").and_then(Value::as_str) {
        output::print(&format!("what the chain has is not known now: {why}"))?;
    }
    about_the_providers(found)?;
    let paused = found.get("paused").and_then(Value::as_array).into_iter().flatten();
    for reason in paused.filter_map(Value::as_str) {
        output::print(&format!("nothing is claimed or sent: {reason}"))?;
    }
    let unexplained = found.get("unexplained").and_then(Value::as_array).into_iter().flatten();
    for line in unexplained.filter_map(Value::as_str) {
        output::print(&format!("not explained: {line}"))?;
    }
    Ok(())
}

/// Which chain the store is bound to, and which one each provider shows.
fn about_the_providers(found: &Value) -> Result<(), Fault> {
    // a server of a release before says nothing of it
    let Some(bound) = found.get("identity").map(chain) else { return Ok(()) };
    let bound = if bound.is_empty() { "no chain yet: nothing is signed".to_owned() } else { bound };
    output::print(&output::pairs(&[("bound to", &bound)]))?;
    let providers = found.get("providers").and_then(Value::as_array).into_iter().flatten();
    let row = |provider: &Value| {
        let mut row = provider.as_object().cloned().unwrap_or_default();
        let shows = provider.get("shows").map(chain).unwrap_or_default();
        row.insert("shows".to_owned(), json!(shows));
        Value::Object(row)
    };
    let all: Vec<Value> = providers.map(row).collect();
    if all.is_empty() {
        return Ok(());
    }
    output::print(&rows(&all.into(), ["provider", "status", "shows", ">failures"]))
}

/// The words for a chain; none for null.
fn chain(identity: &Value) -> String {
    let text = |name: &str| identity.get(name).and_then(Value::as_str);
    match (text("chain_id"), text("genesis_hash")) {
        (Some(name), Some(genesis)) => format!("{name} (genesis {genesis})"),
        _ => String::new(),
    }
}

/// A key with the fields of its attempt and of its retirement beside its own.
fn flat(key: &Value) -> Value {
    let mut row = key.as_object().cloned().unwrap_or_default();
    let attempt = key.get("attempt").and_then(Value::as_object).cloned().unwrap_or_default();
    for name in ["transfers", "forms", "sent", "age_seconds"] {
        row.insert(name.to_owned(), attempt.get(name).cloned().unwrap_or(json!(null)));
    }
    row.insert("attempt_id".to_owned(), attempt.get("id").cloned().unwrap_or(json!(null)));
    let retired = ["gone_at_block", "returned_at_block"].map(|name| (name, name));
    for (column, field) in retired.into_iter().chain([("retired_by", "by")]) {
        let value = key.get("retired").and_then(|retired| retired.get(field)).cloned();
        row.insert(column.to_owned(), value.unwrap_or(json!(null)));
    }
    Value::Object(row)
}
