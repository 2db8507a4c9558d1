//! `portage demo`: shows every kind of transfer on a fresh folder with real server processes, a real kill -9 and a
//! remote ledger.

mod account_transfers;
mod child;
mod kill_under_load;
mod load;
mod network;
mod outcomes;
mod remote_outage;
mod screen;

use self::screen::Screen;
use super::exit::{Exit, Fault};
use super::{Global, account, check, output, token, wait};
use crate::config::Config;
use crate::shutdown::Signals;
use child::Server;
use client::Client;
use std::fs;
use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};

/// Show everything at work: a fresh folder, a real server, a real kill -9.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  portage demo\n\n\
    Makes a new folder ./portage-demo-<n> (or the one of --data-dir) and leaves it there. Ends with \
    0 only if everything that it promises held.")]
pub(super) struct DemoArgs {}

pub(super) fn run(global: &Global, _: &DemoArgs) -> Result<(), Fault> {
    let folder = fresh(global.data_dir.as_deref())?;
    wait(ended_by_signals(play(&folder)))
}

/// Plays to the end, or until a signal: the servers are stopped in either case.
async fn ended_by_signals(play: impl Future<Output = Result<(), Fault>>) -> Result<(), Fault> {
    let mut signals = Signals::take()?;
    tokio::select! {
        played = play => played,
        () = signals.next() => Err(Fault::new(Exit::TempFail, "ended by a signal; its servers were stopped")),
    }
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

/// The error of the demo when a check does not hold.
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
    let mut screen = Screen::open();
    screen.print(&format!("A fresh folder:  {}", folder.display()))?;
    let mut server = Server::start(folder).await?;
    screen.print(&format!("A real server:   pid {} at {}", server.pid(), server.url))?;
    let config = settings(folder);
    let operator = client(&config, &server.url, "operator", "ops:read ops:act")?;

    screen.title("Money comes in from outside")?;
    outcomes::fund(&mut screen, &operator).await?;
    screen.title("One user, every outcome")?;
    outcomes::outcomes(&mut screen, &config, &server.url, &operator).await?;
    screen.title("A reply that never arrives")?;
    outcomes::cut(&mut screen, &config, &server.url).await?;
    screen.title("Accounts with a number, and messages between them")?;
    account_transfers::play(&mut screen, &config, &server.url, &operator).await?;
    screen.title("A ledger elsewhere, an alert, and a verdict of two persons")?;
    remote_outage::play(&mut screen, folder).await?;
    screen.title("kill -9 in mid-flight")?;
    let expected = kill_under_load::play(&mut screen, &config, &mut server).await?;

    screen.title("Where all of it is now")?;
    expected.compare(&operator).await?;
    let rows = operator.accounts(None, 0).await?.accounts;
    screen.print(&account::accounts(&rows))?;
    screen.held("every balance is what the acknowledged transfers come to")?;
    let proof = operator.conservation().await?;
    screen.print(&check::proven(&proof))?;
    if !proof.ok || proof.halted.is_some() {
        return Err(broken("conservation does not hold"));
    }
    server.stop().await?;
    screen.held("the server drained and stopped")?;
    child::check(folder)?;
    screen.held("`portage check` on the folder agrees")?;
    next(&screen, &config, folder)
}

/// The usual address where it is free now, else one that is.
fn free_address(usual: SocketAddr) -> SocketAddr {
    let taken = |address| TcpListener::bind(address).and_then(|listener| listener.local_addr());
    let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    taken(usual).or_else(|_| taken(any)).unwrap_or(usual)
}

/// What to try next.
fn next(screen: &Screen, config: &Config, folder: &Path) -> Result<(), Fault> {
    let portage = child::spelled()?;
    let usual = config.server.listen;
    let address = free_address(usual);
    let url = format!("http://{address}");
    let listen = if address == usual { String::new() } else { format!(" --listen {address}") };
    let scope = "transfers:create transfers:read";
    let user = token::mint(config, "4001", scope, 3600)?;
    let dir = folder.display();
    output::print(&format!(
        "\n{}\n\n  {portage} serve --data-dir {dir}{listen}\n\nthen, in another terminal (the token is \
         user 4001's and good for an hour):\n\n  TOKEN={user}\n  curl -s {url}/api/v1/balances -H \
         \"Authorization: Bearer $TOKEN\"\n  curl -s {url}/api/v1/internal_transfer -H \
         \"Authorization: Bearer $TOKEN\" \\\n    -H 'Content-Type: application/json' \\\n    -d \
         '{{\"from\":\"FUNDING\",\"to\":\"SPOT\",\"asset\":\"USDT\",\"amount\":\"12.50\",\"cid\":\
         \"my-first\"}}'\n  curl -s {url}/health\n\nor without a token of your own:\n\n  {portage} \
         --data-dir {dir} account list\n  {portage} --data-dir {dir} check",
        screen.bold("Everything held. Try next:"),
    ))
}

#[cfg(test)]
mod tests {
    use super::free_address;
    use std::net::{Ipv4Addr, SocketAddr, TcpListener};

    /// Turns red where the demo ends with commands for an address that another program has.
    #[test]
    fn a_taken_address_is_not_recommended() {
        let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let other = TcpListener::bind(any).expect("a free port");
        let taken = other.local_addr().expect("its number");
        let found = free_address(taken);
        assert!(found != taken && found.ip().is_loopback() && found.port() > 0, "{found}");
        drop(other);
        assert_eq!(free_address(taken), taken);
    }
}
