//! The demo's act with a kill -9: load from many users, the kill, a restart, and a comparison of all balances.

use super::child::Server;
use super::load::{LoadStats, SentTransfers, units};
use super::outcomes::{ALICE_SPOT, START, USERS};
use super::screen::Screen;
use super::{broken, client};
use crate::cli::exit::Fault;
use crate::cli::output;
use crate::config::Config;
use client::Client;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::task::JoinSet;

/// Requests of one user at once.
const AT_ONCE: u64 = 4;
/// The interval at which the table is drawn.
const TICK: Duration = Duration::from_millis(100);
/// Ticks of load before the kill.
const BEFORE: u32 = 12;
/// Ticks with no server at all.
const DOWN: u32 = 4;
/// Ticks of load after the restart.
const AFTER: u32 = 8;

/// The expected balances, in base units of USDT.
#[derive(Debug)]
pub(super) struct Expected(BTreeMap<(u64, &'static str), i128>);

impl Expected {
    /// Compares with what the ledgers say.
    pub(super) async fn compare(&self, operator: &Client) -> Result<(), Fault> {
        for user in USERS {
            for row in operator.accounts(Some(user), 0).await?.accounts {
                let account = if row.account == "SPOT" { "SPOT" } else { "FUNDING" };
                let expected = self.0.get(&(user, account)).copied().unwrap_or_default();
                let (available, frozen) = (units(&row.available)?, units(&row.frozen)?);
                if row.asset != "USDT" || available != expected || frozen != 0 {
                    return Err(broken(format!("expected {expected} at {row:?}")));
                }
            }
        }
        Ok(())
    }
}

/// Plays it; says what every balance must be then.
pub(super) async fn play(
    screen: &mut Screen,
    config: &Config,
    server: &mut Server,
) -> Result<Expected, Fault> {
    let stats = Arc::new(LoadStats::default());
    let mut users = Vec::new();
    for user in USERS.skip(1) {
        let scope = "transfers:create transfers:read";
        let client = client(config, &server.url, &user.to_string(), scope)?;
        users.push((user, client, Arc::new(SentTransfers::default())));
    }
    let mut load = JoinSet::new();
    for (user, client, ledger) in &users {
        for lane in 0..AT_ONCE {
            let (client, ledger, stats) = (client.clone(), Arc::clone(ledger), Arc::clone(&stats));
            let salt = user * 31 + lane * 5;
            load.spawn(async move { ledger.run(&client, &stats, salt).await });
        }
    }
    watch(screen, &stats, BEFORE, "serving").await?;
    let pid = server.pid();
    server.kill()?;
    watch(screen, &stats, DOWN, "killed").await?;
    server.restart().await?;
    watch(screen, &stats, AFTER, "serving again").await?;
    stats.over.store(true, Ordering::Relaxed);
    while load.join_next().await.is_some() {}
    screen.held(&format!(
        "pid {pid} was killed with SIGKILL under load; pid {} took over",
        server.pid()
    ))?;
    for (_, client, ledger) in &users {
        ledger.settle(client, &stats).await?;
    }
    told(screen, &stats, users.iter().map(|(_, _, ledger)| ledger.len()).sum())?;
    let start = units(&format!("{START}.000000"))?;
    let mut expected = BTreeMap::new();
    let alice = i128::try_from(ALICE_SPOT).unwrap_or_default();
    expected.insert((*USERS.start(), "FUNDING"), start - alice);
    expected.insert((*USERS.start(), "SPOT"), alice);
    for (user, _, ledger) in &users {
        let moved = ledger.to_spot()?;
        expected.insert((*user, "FUNDING"), start - moved);
        expected.insert((*user, "SPOT"), moved);
    }
    Ok(Expected(expected))
}

fn told(screen: &mut Screen, stats: &LoadStats, sent: usize) -> Result<(), Fault> {
    let settled = stats.settled.load(Ordering::Relaxed);
    screen.held(&format!(
        "all {sent} transfers have ended; none that was acknowledged changed or vanished"
    ))?;
    screen.held(&format!(
        "{settled} whose reply was missing were repeated with their cid: each is one transfer"
    ))
}

async fn watch(
    screen: &mut Screen,
    stats: &LoadStats,
    ticks: u32,
    server: &str,
) -> Result<(), Fault> {
    for tick in 1..=ticks {
        tokio::time::sleep(TICK).await;
        if screen.live() {
            screen.draw(&table(stats, server))?;
        } else if tick == ticks {
            screen.print(&line(stats, server))?;
        }
    }
    Ok(())
}

fn counts(stats: &LoadStats) -> [String; 4] {
    [&stats.committed, &stats.failed, &stats.pending, &stats.unknown]
        .map(|counter| counter.load(Ordering::Relaxed).to_string())
}

fn table(stats: &LoadStats, server: &str) -> String {
    let [committed, failed, pending, unknown] = counts(stats);
    let titles = ["server", ">committed", ">failed", ">pending", ">no reply"];
    output::table(titles, vec![[server.to_owned(), committed, failed, pending, unknown]])
}

fn line(stats: &LoadStats, server: &str) -> String {
    let [committed, failed, pending, unknown] = counts(stats);
    format!(
        "  server {server}: {committed} committed, {failed} failed, {pending} pending, {unknown} without a reply"
    )
}
