//! `portage relay keys …`: shows the health of each key, and retires one.

use super::{about_the_account, flat};
use crate::auth::Scope;
use crate::cli::exit::{Exit, Fault};
use crate::cli::ops::{ActionArgs, OpsTarget, repeatable, rows};
use crate::cli::whole_number;
use crate::cli::{Global, output};
use api::admin::relay_keys::{KeyRetirement, RelayKey, RelayKeys};
use client::escaped;
use client::{Client, Error, Method};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// The interval between two questions to the chain.
const EVERY: Duration = Duration::from_secs(2);

/// Each key's health: its last nonce, its open attempt and that one's age, whether the chain has it, whether it is
/// retired; and what the account has in NEAR beside the floor.
#[derive(Debug, clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:\n  portage relay keys\n  portage relay keys retire ed25519:6E8sCci9badyRkXb3JoRpBj5p8C6Tw41ELDZoiihKEtp --reason \"ticket 4711\""
)]
pub(in crate::cli) struct KeysArgs {
    #[command(subcommand)]
    command: Option<KeysCommand>,
    #[command(flatten)]
    target: OpsTarget,
}

#[derive(Debug, clap::Subcommand)]
enum KeysCommand {
    /// Take a key out of use for ever, and wait until the chain is proven to have it no more.
    Retire(RetireArgs),
}

/// No attempt takes the key any more, in any process. Then this waits until its open attempt is closed, and until two
/// providers or more show the account without it: delete it on the chain meanwhile, with your wallet, signed with
/// a key that the relay has not. Started again it goes on waiting.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  portage relay keys retire ed25519:6E8sCci9badyRkXb3JoRpBj5p8C6Tw41ELDZoiihKEtp --reason \"ticket 4711\" --timeout 600"
)]
struct RetireArgs {
    /// The public key, as `portage relay keys` shows it.
    public_key: String,
    /// Maximum wait, in seconds; then the command ends with 75, and the key stays retired. 0 does not wait.
    #[arg(long, default_value_t = 3_600, value_name = "SECONDS", value_parser = whole_number)]
    timeout: u64,
    #[command(flatten)]
    action: ActionArgs,
}

pub(super) async fn run(global: &Global, args: &KeysArgs) -> Result<(), Fault> {
    match &args.command {
        Some(KeysCommand::Retire(args)) => Retirement { global, args }.run().await,
        None => list(global, &args.target).await,
    }
}

async fn list(global: &Global, target: &OpsTarget) -> Result<(), Fault> {
    let found = target.client(global, Scope::OpsRead)?.get("/ops/relay/keys").await?;
    if target.json {
        return output::print_json(&found);
    }
    about_the_account(&found)?;
    let keys = found.get("keys").and_then(Value::as_array).into_iter().flatten().map(flat);
    let columns = [
        "key",
        "status",
        "here",
        "on_chain",
        ">last_nonce",
        "attempt_id",
        ">age_seconds",
        "retired_by",
        ">gone_at_block",
        ">returned_at_block",
    ];
    output::print(&rows(&keys.collect(), columns))
}

/// One key on its way out of use.
struct Retirement<'a> {
    global: &'a Global,
    args: &'a RetireArgs,
}

impl Retirement<'_> {
    async fn run(&self) -> Result<(), Fault> {
        self.retire().await?;
        let seconds = self.args.timeout;
        if seconds == 0 {
            return self.print(&json!({ "key": self.args.public_key, "outcome": "KEY_RETIRED" }));
        }
        let waited = timeout(Duration::from_secs(seconds), self.gone()).await;
        let key = &self.args.public_key;
        let late = || {
            let why = format!(
                "{key} is retired, and within {seconds} s the chain was not proven to have it no more. Nothing \
                 claims it. The same command again goes on waiting"
            );
            Fault::new(Exit::TempFail, why)
        };
        self.print(&waited.map_err(|_| late())??)
    }

    /// Retires it, or finds that it is retired.
    async fn retire(&self) -> Result<(), Fault> {
        let (path, key) = (self.path("retire"), self.args.action.key());
        match self.post(&path, &key).await {
            Ok(_) => output::eprint("retired: no attempt takes it any more"),
            Err(error @ Error::Refused { status: 409, .. }) => {
                let retired = self.row().await?.and_then(|key| key.retired);
                let KeyRetirement { by, at, .. } = retired.ok_or_else(|| Fault::from(error))?;
                output::eprint(&format!("retired before, by {by} at {at}"));
            }
            Err(error) => return Err(repeatable(error.into(), &key)),
        }
        Ok(())
    }

    /// Waits until it is proven to be gone, and says each new reason why it is not.
    async fn gone(&self) -> Result<Value, Fault> {
        let key = client::fresh_cid();
        let mut said = String::new();
        loop {
            let why = match self.ask(&key).await {
                Ok(outcome) => return Ok(outcome),
                Err(Error::Refused { status: 409 | 429 | 503, sentence, .. }) => sentence,
                Err(Error::Unknown(why) | Error::Unreachable(why)) => why,
                Err(error) => return Err(error.into()),
            };
            let line = without_numbers(&why);
            if said != line {
                output::eprint(&format!("waiting: {why}"));
                said = line;
            }
            sleep(EVERY).await;
        }
    }

    /// Has the server ask the chain, unless it is proven.
    async fn ask(&self, key: &str) -> Result<Value, Error> {
        let retired = self.row().await?.and_then(|key| key.retired);
        let block = retired.and_then(|retired| retired.gone_at_block);
        let mut outcome = match block {
            Some(block) => json!({ "outcome": "KEY_GONE", "block": block }),
            None => self.post(&self.path("prove-gone"), key).await?,
        };
        if let Some(fields) = outcome.as_object_mut() {
            fields.insert("key".to_owned(), json!(self.args.public_key));
        }
        Ok(outcome)
    }

    fn path(&self, action: &str) -> String {
        format!("/ops/relay/keys/{}/{action}", escaped(&self.args.public_key))
    }

    async fn post(&self, path: &str, key: &str) -> Result<Value, Error> {
        let client = self.client(Scope::OpsAct)?;
        Ok(client.run(Method::POST, path, Some(&self.args.action.why()), key).await?.answer)
    }

    /// The key as the server shows it.
    async fn row(&self) -> Result<Option<RelayKey>, Error> {
        let found = self.client(Scope::OpsRead)?.get("/ops/relay/keys").await?;
        let RelayKeys { keys, .. } =
            serde_json::from_value(found).map_err(|fault| Error::Unknown(fault.to_string()))?;
        Ok(keys.into_iter().find(|row| row.key == self.args.public_key))
    }

    /// A client of its own for each request: its token lasts an hour, and a wallet may take longer.
    fn client(&self, scope: Scope) -> Result<Client, Error> {
        let unfit = |fault: Fault| Error::Unfit(fault.sentence);
        self.args.action.target().client(self.global, scope).map_err(unfit)
    }

    fn print(&self, outcome: &Value) -> Result<(), Fault> {
        if self.args.action.target().json {
            return output::print_json(outcome);
        }
        output::print(&crate::cli::ops::fields(outcome))
    }
}

/// A sentence without its numbers, to compare it with another: each block has another height.
fn without_numbers(text: &str) -> String {
    text.chars().filter(|one| !one.is_ascii_digit()).collect()
}
