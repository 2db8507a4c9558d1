//! The demo's act on numbered accounts: an operator opens and funds them, messages carry a transfer, and the ledger
//! refuses another one.

use super::screen::Screen;
use super::{broken, client};
use crate::cli::exit::Fault;
use crate::cli::transfer;
use crate::config::Config;
use api::admin::numbered_accounts::OpenNumberedAccount;
use api::user_id::UserIdText;
use client::types::{AccountTransfer, CreateAccountTransfer, NumberedMovement};
use client::{Client, Method};
use std::time::Duration;

const CURRENCY: &str = "USD";
/// The numbers of the accounts, with their owners.
const ACCOUNTS: [(&str, u64); 2] = [("ACC-4001", 4001), ("ACC-4002", 4002)];
/// The interval at which the demo looks at a transfer.
const LOOK: Duration = Duration::from_millis(10);
/// The number of looks at a transfer before the demo gives up.
const LOOKS: usize = 6_000;

pub(super) async fn play(
    screen: &mut Screen,
    config: &Config,
    url: &str,
    operator: &Client,
) -> Result<(), Fault> {
    for (number, owner) in ACCOUNTS {
        let account = OpenNumberedAccount {
            number: number.to_owned(),
            owner: UserIdText(owner),
            currency: CURRENCY.to_owned(),
            reason: "demo".to_owned(),
        };
        let path = "/ops/accounts/pipeline";
        operator.run(Method::POST, path, Some(&account), &format!("demo-{number}")).await?;
    }
    let movement = NumberedMovement {
        currency: CURRENCY.to_owned(),
        amount: "500".to_owned(),
        reference: "demo-account".to_owned(),
        reason: "demo".to_owned(),
    };
    operator.deposit_numbered("ACC-4001", &movement).await?;
    screen.held("accounts ACC-4001 and ACC-4002 are open, the first has 500 USD")?;
    let alice = client(config, url, "4001", "transfers:create transfers:read")?;
    let paid = ended(&alice, &new("120"), "demo-1").await?;
    expect(&paid, "COMPLETED", None)?;
    screen.held(
        "120 USD from ACC-4001 to ACC-4002: answered PENDING, then COMPLETED. Its history:",
    )?;
    screen.print(&transfer::steps(&paid.history))?;
    let again = alice.create_account_transfer(&new("120"), "demo-1").await?.transfer;
    if again.transfer_id != paid.transfer_id {
        return Err(broken(format!("one key, two transfers: {paid:?} {again:?}")));
    }
    let refused = ended(&alice, &new("1000"), "demo-2").await?;
    expect(&refused, "FAILED", Some("INSUFFICIENT_BALANCE"))?;
    screen.held("1000 USD more than there are: FAILED, INSUFFICIENT_BALANCE, nothing moved")
}

fn new(amount: &str) -> CreateAccountTransfer {
    let [(from, _), (to, _)] = ACCOUNTS;
    CreateAccountTransfer {
        from_account_number: from.to_owned(),
        to_account_number: to.to_owned(),
        amount: amount.to_owned(),
        currency: CURRENCY.to_owned(),
        description: Some("demo".to_owned()),
    }
}

/// Makes a transfer and waits for its end.
async fn ended(
    alice: &Client,
    new: &CreateAccountTransfer,
    key: &str,
) -> Result<AccountTransfer, Fault> {
    let opened = alice.create_account_transfer(new, key).await?.transfer;
    for _ in 0..LOOKS {
        let now = alice.account_transfer(&opened.transfer_id).await?;
        if matches!(now.status.as_str(), "COMPLETED" | "FAILED") {
            return Ok(now);
        }
        tokio::time::sleep(LOOK).await;
    }
    Err(broken(format!("it does not end: {opened:?}")))
}

fn expect(found: &AccountTransfer, status: &str, reason: Option<&str>) -> Result<(), Fault> {
    if found.status == status && found.reason.as_deref() == reason {
        return Ok(());
    }
    Err(broken(format!("expected {status} {reason:?}, got {found:?}")))
}
