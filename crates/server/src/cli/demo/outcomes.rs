//! The demo's acts before the load: deposits, every outcome of a transfer, and a lost reply with its repeat.

use super::screen::Screen;
use super::{broken, client};
use crate::cli::exit::Fault;
use crate::cli::transfer;
use crate::config::Config;
use api::user_id::UserIdText;
use client::Client;
use client::types::{CreateTransfer, Created, Movement, StatusAnswer};
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

/// The users of the demo.
pub(super) const USERS: std::ops::RangeInclusive<u64> = 4001..=4008;
/// The initial balance of each user, in whole units.
pub(super) const START: &str = "1000";
/// The user who shows every outcome before the load. The load leaves this user alone.
const ALICE: u64 = 4001;
/// The sum that `outcomes` and `cut` move from Alice's Funding to her Spot account.
pub(super) const ALICE_SPOT: u128 = 175_000_000;

/// Every user gets money from outside.
pub(super) async fn fund(screen: &mut Screen, operator: &Client) -> Result<(), Fault> {
    for user in USERS {
        let movement = Movement {
            user_id: UserIdText(user),
            asset: "USDT".to_owned(),
            amount: START.to_owned(),
            reference: format!("demo-{user}"),
            reason: "demo".to_owned(),
        };
        operator.deposit(&movement).await?;
        let (again, fresh) = operator.deposit(&movement).await?;
        if fresh || !again.available.starts_with("1000.") {
            return Err(broken(format!("a repeated deposit was booked twice: {again:?}")));
        }
    }
    screen.held(&format!(
        "users {} to {} have {START} USDT each at FUNDING; each deposit was sent twice and booked once",
        USERS.start(),
        USERS.end()
    ))
}

fn transfer_of(from: &str, to: &str, amount: &str) -> CreateTransfer {
    client::new_transfer(from, to, "USDT", amount)
}

fn expect(created: &Created, state: &str, code: Option<&str>) -> Result<(), Fault> {
    if created.transfer.state == state && created.code.as_deref() == code {
        return Ok(());
    }
    Err(broken(format!("expected {state} {code:?}, got {created:?}")))
}

/// Committed in both directions, rejected, rolled back.
pub(super) async fn outcomes(
    screen: &mut Screen,
    config: &Config,
    url: &str,
    operator: &Client,
) -> Result<(), Fault> {
    let sub = ALICE.to_string();
    let alice = client(config, url, &sub, "transfers:create transfers:read")?;
    let there = alice.create(&transfer_of("FUNDING", "SPOT", "250")).await?;
    expect(&there, "COMMITTED", None)?;
    screen.held("250 USDT from FUNDING to SPOT: COMMITTED")?;
    let back = alice.create(&transfer_of("SPOT", "FUNDING", "100")).await?;
    expect(&back, "COMMITTED", None)?;
    screen.held("100 USDT from SPOT to FUNDING: COMMITTED")?;
    let much = alice.create(&transfer_of("SPOT", "FUNDING", "1000000")).await?;
    expect(&much, "FAILED", Some("INSUFFICIENT_BALANCE"))?;
    screen.held("1000000 USDT from SPOT: FAILED, INSUFFICIENT_BALANCE, nothing moved")?;
    operator.set_status(ALICE, "SPOT", "DISABLED", "demo").await?;
    let lost = alice.create(&transfer_of("FUNDING", "SPOT", "40")).await?;
    expect(&lost, "ROLLED_BACK", Some("ACCOUNT_DISABLED"))?;
    // who barred an account does not free it alone
    let second = client(config, url, "second", "ops:act")?;
    let StatusAnswer::Set(_) = second.set_status(ALICE, "SPOT", "ACTIVE", "demo").await? else {
        return Err(broken("a second operator does not free the account".to_owned()));
    };
    screen.held(
        "40 USDT to a SPOT account that was disabled: ROLLED_BACK, the money is back. Its history:",
    )?;
    let story = alice.transfer(&lost.transfer.req_id).await?;
    screen.print(&transfer::history(&story))
}

/// A reply that the client never reads, and the same request again.
pub(super) async fn cut(screen: &mut Screen, config: &Config, url: &str) -> Result<(), Fault> {
    let token = super::token::mint(config, &ALICE.to_string(), "transfers:create", 60)?;
    let new = transfer_of("FUNDING", "SPOT", "25");
    let body = serde_json::to_string(&new).map_err(|fault| broken(fault.to_string()))?;
    let address = url.trim_start_matches("http://");
    let mut stream = TcpStream::connect(address).await?;
    let request = format!(
        "POST /api/v1/internal_transfer HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer \
         {token}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).await?;
    stream.flush().await?;
    // long enough to be taken in, then the line is dead
    tokio::time::sleep(Duration::from_millis(20)).await;
    drop(stream);
    screen.held("25 USDT sent with a cid, and the connection cut before the reply was read")?;
    let alice = client(config, url, &ALICE.to_string(), "transfers:create transfers:read")?;
    let (first, second) = (alice.create(&new).await?, alice.create(&new).await?);
    expect(&first, "COMMITTED", None)?;
    if !second.replayed || first.transfer.req_id != second.transfer.req_id {
        return Err(broken(format!("one cid, two transfers: {first:?} {second:?}")));
    }
    let what = if first.replayed { "the server had made it" } else { "it had not arrived" };
    screen.held(&format!(
        "repeated twice with the same cid ({what}): one and the same transfer, {}",
        first.transfer.req_id
    ))
}
