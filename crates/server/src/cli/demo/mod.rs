//! `portage demo`: a fresh folder, real server processes, every kind of transfer, a real kill -9, a
//! ledger elsewhere.

mod acts;
mod child;
mod elsewhere;
mod load;
mod network;
mod stage;
mod storm;

use super::exit::{Exit, Fault};
use super::{Global, account, check, show, token, wait};
use crate::config::Config;
use child::Server;
use client::Client;
use stage::Stage;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Show everything at work: a fresh folder, a real server, a real kill -9.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  portage demo\n\n\
    Makes a new folder ./portage-demo-<n> (or the one of --data-dir) and leaves it there. Ends with \
    0 only if everything that it promises held.")]
pub(super) struct Args {}

pub(super) fn run(global: &Global, _: &Args) -> Result<(), Fault> {
    let folder = fresh(global.data_dir.as_deref())?;
    wait(play(&folder))
}

/// A folder that was not there before, as an absolute path.
fn fresh(wanted: Option<&Path>) -> Result<PathBuf, Fault> {
    let made = |dir: &Path| fs::create_dir(dir).and_then(|()| fs::canonicalize(dir));
    let failed = |dir: &Path, fault: std::io::Error| {
        Fault::new(Exit::CantCreate, format!("{}: cannot be made: {fault}", dir.display()))
    };
    if let Some(dir) = wanted {
        return made(dir).map_err(|fault| failed(dir, fault));
    }
    for parent in [PathBuf::from("."), std::env::temp_dir()] {
        for n in 1..10_000 {
            let dir = parent.join(format!("portage-demo-{n}"));
            match made(&dir) {
                Ok(dir) => return Ok(dir),
                Err(fault) if fault.kind() == ErrorKind::AlreadyExists => {}
                // not writable: try the next place
                Err(_) => break,
            }
        }
    }
    Err(Fault::new(Exit::CantCreate, "no folder can be made here or for temporary files"))
}

/// What a program of one act after the other says when something did not hold.
fn broken(what: impl Into<String>) -> Fault {
    Fault::new(Exit::Software, what)
}

/// The settings of the demo's own server: the defaults in its folder.
fn settings(folder: &Path) -> Config {
    let mut config = Config::default();
    config.data.dir = folder.to_owned();
    config
}

/// A client with a token for a minute and more.
fn client(config: &Config, url: &str, sub: &str, scope: &str) -> Result<Client, Fault> {
    Ok(Client::new(url, &token::mint(config, sub, scope, 3600)?)?)
}

async fn play(folder: &Path) -> Result<(), Fault> {
    let mut stage = Stage::open();
    stage.say(&format!("A fresh folder:  {}", folder.display()))?;
    let mut server = Server::start(folder).await?;
    stage.say(&format!("A real server:   pid {} at {}", server.pid(), server.url))?;
    let config = settings(folder);
    let operator = client(&config, &server.url, "operator", "ops:read ops:act")?;

    stage.title("Money comes in from outside")?;
    acts::fund(&mut stage, &operator).await?;
    stage.title("One user, every outcome")?;
    acts::outcomes(&mut stage, &config, &server.url, &operator).await?;
    stage.title("A reply that never arrives")?;
    acts::cut(&mut stage, &config, &server.url).await?;
    stage.title("A ledger elsewhere, an alert, and a verdict of two persons")?;
    elsewhere::play(&mut stage, folder).await?;
    stage.title("kill -9 in mid-flight")?;
    let expected = storm::play(&mut stage, &config, &mut server).await?;

    stage.title("Where all of it is now")?;
    expected.compare(&operator).await?;
    let rows = operator.accounts(None, 0).await?.accounts;
    stage.say(&account::accounts(&rows))?;
    stage.held("every balance is what the acknowledged transfers come to")?;
    let proof = operator.conservation().await?;
    stage.say(&check::proven(&proof))?;
    if !proof.ok || proof.halted.is_some() {
        return Err(broken("conservation does not hold"));
    }
    server.stop().await?;
    stage.held("the server drained and stopped")?;
    child::check(folder)?;
    stage.held("`portage check` on the folder agrees")?;
    next(&stage, &config, folder)
}

/// What to try next.
fn next(stage: &Stage, config: &Config, folder: &Path) -> Result<(), Fault> {
    let portage = child::spelled()?;
    let url = format!("http://{}", config.server.listen);
    let scope = "transfers:create transfers:read";
    let user = token::mint(config, "4001", scope, 3600)?;
    let dir = folder.display();
    show::say(&format!(
        "\n{}\n\n  {portage} serve --data-dir {dir}\n\nthen, in another terminal (the token is \
         user 4001's and good for an hour):\n\n  TOKEN={user}\n  curl -s {url}/api/v1/balances -H \
         \"Authorization: Bearer $TOKEN\"\n  curl -s {url}/api/v1/internal_transfer -H \
         \"Authorization: Bearer $TOKEN\" \\\n    -H 'Content-Type: application/json' \\\n    -d \
         '{{\"from\":\"FUNDING\",\"to\":\"SPOT\",\"asset\":\"USDT\",\"amount\":\"12.50\",\"cid\":\
         \"my-first\"}}'\n  curl -s {url}/health\n\nor without a token of your own:\n\n  {portage} \
         --data-dir {dir} account list\n  {portage} --data-dir {dir} check",
        stage.bold("Everything held. Try next:"),
    ))
}
