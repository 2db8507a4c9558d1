//! The demo's act with a remote ledger: a lost reply, an alert, and a verdict that two operators give.

use super::child::{self, Server};
use super::load::units;
use super::network::{Network, NetworkState};
use super::screen::Screen;
use super::{broken, client, settings};
use crate::cli::exit::Fault;
use crate::cli::{output, transfer};
use api::admin::actions::{ActionOutcome, Done, ReasonBody};
use api::admin::cases::{Case, Cases};
use api::admin::transfer_actions::Resolve;
use api::user_id::UserIdText;
use client::types::{Created, Movement};
use client::{Client, Error, Method};
use serde::Serialize;
use serde_json::json;
use std::fs;
use std::path::Path;
use std::time::Duration;

/// The user whose money moves.
const USER: u64 = 4001;
/// The amount that arrives at FUTURE in spite of the lost reply.
const ARRIVES: &str = "25";
/// The amount that must come back.
const RETURNS: &str = "40";
/// Between two looks at something that is under way, and how many there are.
const LOOK: Duration = Duration::from_millis(50);
const LOOKS: u32 = 200;
/// Maximum number of characters that are shown of a step's detail.
const WIDE: usize = 40;

/// The server, the ledger elsewhere, the network between them, and who speaks with them.
struct RemoteDemo {
    network: Network,
    /// Opens, acts and looks.
    alice: Client,
    operator: Client,
    second: Client,
}

/// Plays it in folders of its own.
pub(super) async fn play(screen: &mut Screen, folder: &Path) -> Result<(), Fault> {
    let (near, far) = (folder.join("elsewhere"), folder.join("future"));
    for dir in [&near, &far] {
        fs::create_dir(dir)?;
    }
    let mut ledger = Server::ledger(&far).await?;
    let network = Network::before(&ledger.url).await?;
    let token = child::ledger_token(&far)?;
    let mut server = Server::with(&near, &environment(&network.url, &token)).await?;
    let config = settings(&near);
    let speaks = |sub: &str, scope| client(&config, &server.url, sub, scope);
    let demo = RemoteDemo {
        network,
        alice: speaks(&USER.to_string(), "transfers:create transfers:read")?,
        operator: speaks("operator", "ops:read ops:act ops:approve")?,
        second: speaks("second", "ops:read ops:approve")?,
    };
    screen.held(&format!(
        "pid {} serves FUTURE by `portage spot serve`; pid {} uses it over HTTP",
        ledger.pid(),
        server.pid()
    ))?;
    demo.fund().await?;
    demo.lost_reply(screen).await?;
    demo.verdict(screen).await?;
    let proof = demo.operator.conservation().await?;
    if !proof.ok || proof.halted.is_some() {
        return Err(broken("conservation does not hold with a ledger elsewhere"));
    }
    screen.held("conservation holds over Funding, Spot and the ledger elsewhere")?;
    server.stop().await?;
    ledger.stop().await
}

/// Settings that show in seconds what otherwise takes minutes.
fn environment(url: &str, token: &str) -> Vec<(&'static str, String)> {
    vec![
        ("PORTAGE_LEDGERS__FUTURE__KIND", "remote".to_owned()),
        ("PORTAGE_LEDGERS__FUTURE__URL", url.to_owned()),
        ("PORTAGE_LEDGERS__FUTURE__TOKEN", token.to_owned()),
        ("PORTAGE_ALERTS__TARGET_PENDING_SECONDS", "1".to_owned()),
        ("PORTAGE_ENGINE__SCAN_INTERVAL_MS", "100".to_owned()),
        ("PORTAGE_ENGINE__BACKOFF_CAP_MS", "400".to_owned()),
    ]
}

impl RemoteDemo {
    async fn fund(&self) -> Result<(), Fault> {
        let movement = Movement {
            user_id: UserIdText(USER),
            asset: "USDT".to_owned(),
            amount: "1000".to_owned(),
            reference: "elsewhere".to_owned(),
            reason: "demo".to_owned(),
        };
        self.operator.deposit(&movement).await?;
        Ok(())
    }

    async fn send(&self, amount: &str) -> Result<Created, Fault> {
        Ok(self.alice.create(&client::new_transfer("FUNDING", "FUTURE", "USDT", amount)).await?)
    }

    /// Looks until the transfer stands there.
    async fn until(&self, id: &str, state: &str) -> Result<(), Fault> {
        for _ in 0..LOOKS {
            if self.alice.transfer(id).await?.transfer.state == state {
                return Ok(());
            }
            tokio::time::sleep(LOOK).await;
        }
        Err(broken(format!("{id} did not come to {state}")))
    }

    async fn has(&self, account: &str, whole: i128) -> Result<(), Fault> {
        let rows = self.operator.accounts(Some(USER), 0).await?.accounts;
        let row = rows.iter().find(|row| row.account == account && row.asset == "USDT");
        let has = row.map_or(Ok(0), |row| units(&row.available))?;
        if has == whole * 1_000_000 {
            return Ok(());
        }
        Err(broken(format!("expected {whole} USDT at {account}, found {has} base units")))
    }

    /// The ledger books a deposit, and its reply is lost.
    async fn lost_reply(&self, screen: &mut Screen) -> Result<(), Fault> {
        self.network.becomes(NetworkState::LosesOneReply);
        let before = self.network.sent();
        let id = self.send(ARRIVES).await?.transfer.req_id;
        self.until(&id, "COMMITTED").await?;
        let sent = self.network.sent() - before;
        if sent < 2 {
            return Err(broken("the lost reply was not lost"));
        }
        self.has("FUTURE", 25).await?;
        screen.held(&format!(
            "{ARRIVES} USDT to FUTURE: the deposit was booked and its reply lost; sent {sent} times \
             under one key, booked once: COMMITTED"
        ))
    }

    /// Nothing arrives any more, a case opens, and two persons decide.
    async fn verdict(&self, screen: &mut Screen) -> Result<(), Fault> {
        self.network.becomes(NetworkState::Down);
        let created = self.send(RETURNS).await?.transfer;
        if created.state != "PENDING" {
            return Err(broken(format!("expected PENDING, got {created:?}")));
        }
        let id = created.req_id;
        let alert = self.alert(&id).await?;
        screen.held(&format!(
            "{RETURNS} USDT to FUTURE, and the network is down: PENDING, an alert"
        ))?;
        screen.print(&alert)?;
        let approval = self.propose(&id).await?;
        screen.held(
            "an operator proposes `rejected`: it waits for another person, and nothing moves",
        )?;
        self.approve(&approval).await?;
        screen
            .held("a second person approves; now FUTURE is fenced: this deposit never happens")?;
        self.until(&id, "ROLLED_BACK").await?;
        self.network.becomes(NetworkState::Up);
        self.has("FUNDING", 975).await?;
        self.has("FUTURE", 25).await?;
        self.closed(&id).await?;
        screen.held("ROLLED_BACK, the money is back, the case is closed. Its history:")?;
        let mut story = self.alice.transfer(&id).await?;
        for detail in story.history.iter_mut().filter_map(|step| step.detail.as_mut()) {
            *detail = shortened(detail);
        }
        screen.print(&transfer::history(&story))
    }

    /// The cases about a transfer, as the server lists them.
    async fn cases(&self, id: &str, status: &str) -> Result<Vec<Case>, Fault> {
        let path = format!("/cases?status={status}&subject=transfer/{id}");
        let found = self.operator.get(&path).await?;
        let read = serde_json::from_value(found).map_err(|fault| broken(fault.to_string()));
        read.map(|Cases { cases, .. }| cases)
    }

    /// Waits for the alert; says it as `portage ops cases` does.
    async fn alert(&self, id: &str) -> Result<String, Fault> {
        for _ in 0..LOOKS {
            let found = self.cases(id, "open").await?;
            if let Some(case) = found.into_iter().find(|case| case.kind == "TARGET_PENDING") {
                if case.severity != "CRITICAL" {
                    return Err(broken(format!("expected a CRITICAL case, got {case:?}")));
                }
                let titles = ["severity", "kind", "opened_at", "facts"];
                let row = [case.severity, case.kind, case.opened_at, case.facts];
                return Ok(output::table(titles, vec![row]));
            }
            tokio::time::sleep(LOOK).await;
        }
        Err(broken(format!("no alert about {id}")))
    }

    async fn closed(&self, id: &str) -> Result<(), Fault> {
        for _ in 0..LOOKS {
            if self.cases(id, "open").await?.is_empty() {
                return Ok(());
            }
            tokio::time::sleep(LOOK).await;
        }
        Err(broken(format!("the case about {id} stays open")))
    }

    /// A verdict, which is proposed and takes no effect; the approval's id.
    async fn propose(&self, id: &str) -> Result<String, Fault> {
        let body = Resolve {
            answer: "rejected".to_owned(),
            evidence: json!({ "ticket": "4711" }),
            reason: "the user needs it back".to_owned(),
        };
        let path = format!("/ops/transfers/{id}/resolve");
        let proposed = run_action(&self.operator, &path, &body).await?;
        let ActionOutcome::Proposed { approval_id: approval } = proposed.result else {
            return Err(broken(format!("no approval: {proposed:?}")));
        };
        match self.decide(&self.operator, &approval).await {
            Err(Error::Refused { status: 403, .. }) => {}
            other => return Err(broken(format!("approved by the person who proposed: {other:?}"))),
        }
        self.until(id, "TARGET_PENDING").await?;
        Ok(approval)
    }

    async fn decide(&self, who: &Client, approval: &str) -> Result<Done, Error> {
        let path = format!("/ops/approvals/{approval}/approve");
        let why = ReasonBody { reason: "seen in ticket 4711".to_owned() };
        run_action(who, &path, &why).await
    }

    async fn approve(&self, approval: &str) -> Result<(), Fault> {
        let done = self.decide(&self.second, approval).await?;
        if let ActionOutcome::Resolved { said, answer, .. } = &done.result
            && (said.as_str(), answer.as_str()) == ("FENCED", "rejected")
        {
            return Ok(());
        }
        Err(broken(format!("expected a fence, got {done:?}")))
    }
}

/// As much of a text as fits beside a history.
fn shortened(text: &str) -> String {
    match text.char_indices().nth(WIDE) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

async fn run_action(who: &Client, path: &str, body: &impl Serialize) -> Result<Done, Error> {
    let done = who.run(Method::POST, path, Some(body), &client::fresh_cid()).await?.answer;
    serde_json::from_value(done).map_err(|fault| Error::Unknown(fault.to_string()))
}
