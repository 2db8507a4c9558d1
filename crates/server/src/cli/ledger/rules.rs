//! Runs the rules over a ledger at an address, each on users and keys of its own, and says what was found.

use super::super::exit::Fault;
use super::super::output;
use super::remote;
use futures_util::FutureExt as _;
use kernel::flow::life::Leg;
use kernel::ids::{AssetId, Id, Millis, UserId};
use kernel::money::Amount;
use kernel::operation::{Key, Known, Op};
use kernel::ports::Fut;
use kernel::ports::ledger::{Ledger, Reply, Stored};
use kernel::record::Account;
use ledger_contract::{Explain as _, Fresh, FreshView, Profile, Remembered, checks};
use ledgers::remote::{AssetCodes, Remote};
use serde::Serialize;
use std::any::Any;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::time::Duration;

/// The rule that a caller without the token can do nothing.
const TOKENS: &str = "a_request_without_the_token_executes_nothing";
/// The view of the rule of restarts, above those of all checks.
const RESTART: u64 = 900;
/// The looks at a ledger that is started again, and the time between two.
const LOOKS: usize = 150;
const BETWEEN: Duration = Duration::from_millis(200);

/// Rules of ledgers in the journal's own database, which hold before they settle and forget nothing: a ledger at the other
/// end of a connection is never asked for that.
const NOT_ASKED: [&str; 3] = [
    "a_settle_is_only_where_withdraws_hold",
    "settle_and_refund_exclude_each_other",
    "an_enlisted_ledger_forgets_nothing",
];

/// A rule, and what was found of it.
#[derive(Debug, Serialize)]
pub(super) struct Finding {
    rule: String,
    holds: bool,
    /// What the ledger did instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) fault: Option<String>,
}

/// A run of the rules over one ledger.
#[derive(Debug, Clone)]
pub(super) struct RuleRun {
    pub(super) url: String,
    /// The client that has the token.
    pub(super) ledger: Arc<Remote>,
    /// The symbols of the assets that the rules move.
    pub(super) codes: AssetCodes,
    /// When it began: its users and keys are made of it.
    pub(super) began: Millis,
    /// What a rule's name must contain.
    pub(super) only: Option<String>,
    pub(super) json: bool,
}

impl RuleRun {
    /// Whether a rule is to be run. Its name may be spelled with spaces or `_`.
    fn wants(&self, rule: &str) -> bool {
        self.only.as_ref().is_none_or(|text| rule.contains(&text.replace(' ', "_")))
    }

    /// Shows the ledger to the n-th rule as a fresh one.
    fn fresh(&self, n: u64) -> impl Fresh + 'static {
        let run = self.clone();
        move |funds| -> Fut<'static, Arc<dyn Ledger>> {
            let run = run.clone();
            Box::pin(async move { run.view(n, funds).await })
        }
    }

    /// The n-th view, at which user 1 has these funds.
    async fn view(&self, n: u64, funds: Vec<(AssetId, Amount)>) -> Arc<dyn Ledger> {
        let view = FreshView::open(self.ledger.clone(), self.began, n).await;
        let view = view.unwrap_or_else(|cause| panic!("its sums or its HALT: no answer: {cause}"));
        view.fund(funds).await;
        Arc::new(view)
    }

    /// Every rule of the contract.
    pub(super) async fn contract(&self) -> Result<Vec<Finding>, Fault> {
        let mut findings = Vec::new();
        let asked = checks().filter(|check| !NOT_ASKED.contains(&check.name));
        for (n, check) in (0..).zip(asked).filter(|(_, check)| self.wants(check.name)) {
            let fresh = self.fresh(n);
            let fault = fault_of(async move { check.run(Profile::SPOT, &fresh).await }).await;
            findings.push(self.finding(check.name, Some(n), fault)?);
        }
        Ok(findings)
    }

    /// Whether callers without the token, or with another one, are refused.
    pub(super) async fn tokens(&self, known: Known) -> Result<Option<Finding>, Fault> {
        if !self.wants(TOKENS) {
            return Ok(None);
        }
        let key = Key { id: Id::new(self.began, 1), leg: Leg::Deposit };
        let user = UserId(FreshView::first_user(self.began, 0));
        let (account, asset) = (Account::User(user), AssetId(1));
        let deposit = Op { key, account, other: None, asset, amount: Amount(1) };
        let mut fault = None;
        for token in ["", "another-token-than-yours"] {
            let stranger = remote(&self.url, token, self.codes.clone())?;
            let reply = stranger.execute(known, [deposit.clone()].into()).await;
            let stored = self.ledger.query(known, key).await;
            let nothing = matches!(stored, Reply::Answered(_, Stored::Nothing));
            if matches!(reply, Reply::Answered(..)) || !nothing {
                let with = if token.is_empty() { "no token" } else { "another token" };
                let (said, kept) = (reply.explain(), stored.explain());
                fault = Some(format!("a deposit with {with}: {said}; afterwards: {kept}"));
            }
        }
        self.finding(TOKENS, None, fault).map(Some)
    }

    /// Whether the ledger remembers what it answered when this command has killed and started it.
    pub(super) async fn restart(&self, command: &str) -> Result<Option<Finding>, Fault> {
        let (rule, n) = (Remembered::RULE, RESTART);
        if !self.wants(rule) {
            return Ok(None);
        }
        let (fresh, run, command) = (self.fresh(n), self.clone(), command.to_owned());
        let fault = fault_of(async move {
            let remembered = Remembered::of(Profile::SPOT, &fresh).await;
            run.restarted(&command).await;
            remembered.compare().await;
        });
        self.finding(rule, Some(n), fault.await).map(Some)
    }

    /// Runs the command that restarts the ledger, and waits until that answers.
    async fn restarted(&self, command: &str) {
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", command]).stdin(std::process::Stdio::null());
        let ended = shell.status();
        let well = ended.as_ref().is_ok_and(std::process::ExitStatus::success);
        let why = ended.map_or_else(|fault| fault.to_string(), |status| status.to_string());
        assert!(well, "`{command}` failed: {why}");
        for _ in 0..LOOKS {
            if matches!(self.ledger.hello().await, Reply::Answered(..)) {
                return;
            }
            tokio::time::sleep(BETWEEN).await;
        }
        panic!("the ledger does not answer after `{command}`");
    }

    /// Prints what was found of a rule, with its number where it had users of its own.
    fn finding(&self, rule: &str, n: Option<u64>, fault: Option<String>) -> Result<Finding, Fault> {
        let (rule, holds) = (rule.replace('_', " "), fault.is_none());
        let users = n.map_or_else(String::new, |n| {
            let first = FreshView::first_user(self.began, n);
            format!("\n        its user 1 is {} at the ledger", first.saturating_add(1))
        });
        let fault = fault.map(|facts| facts + &users);
        if !self.json {
            let line = match &fault {
                None => format!("holds   {rule}"),
                Some(fault) => format!("BROKEN  {rule}\n        {fault}"),
            };
            output::print(&line)?;
        }
        Ok(Finding { rule, holds, fault })
    }
}

/// What a check that panics says; none where it ends well.
async fn fault_of(check: impl Future<Output = ()>) -> Option<String> {
    let printed = panic::take_hook();
    // the sentence is printed as the finding
    panic::set_hook(Box::new(|_| {}));
    let ended = AssertUnwindSafe(check).catch_unwind().await;
    panic::set_hook(printed);
    let sentence = sentence_of(ended.err()?);
    // the check's name stands before it, and is printed already
    Some(sentence.split_once(": ").map_or_else(|| sentence.clone(), |(_, facts)| facts.to_owned()))
}

fn sentence_of(panicked: Box<dyn Any + Send>) -> String {
    match panicked.downcast::<String>() {
        Ok(sentence) => *sentence,
        Err(other) => other.downcast_ref::<&str>().map_or("it panicked", |text| *text).to_owned(),
    }
}
