//! The relay by the binary on a local chain that executes a real token: paid once each, through lost replies
//! and kills, with keys from an encrypted file.
//!
//! Turns red where a killed process's attempt is signed under another nonce, where a form is sent that is not
//! stored, and where a lost reply counts as an answer.

use super::relay::{pays_to, reads, sends};
use super::{Served, eventually, head, portage, process, said};
use devnet::near::near_primitives::types::AccountId;
use devnet::near::{
    Blocks, Devnet, Endpoint, EventKind, Fault, Options, Rule, TokenOptions, Wallet,
};
use serde_json::json;
use std::io::Write;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;
use tempfile::TempDir;

/// What opens the files of keys.
pub(super) const PASSPHRASE: &str = "a long passphrase";
/// The number of providers that the relay asks.
const ENDPOINTS: usize = 2;

/// A chain with a token, and the relay's account with keys.
pub(super) struct LocalChain {
    pub(super) devnet: Devnet,
    pub(super) token: AccountId,
    pub(super) keys: Vec<Wallet>,
    /// A key of the account that the relay is never given.
    pub(super) cold: Wallet,
}

impl LocalChain {
    pub(super) fn start() -> Self {
        Self::with_validity(Options::default().validity_period)
    }

    /// A transaction may be included within `validity_period` blocks.
    fn with_validity(validity_period: u64) -> Self {
        Self::over(Options { validity_period, ..Self::options() })
    }

    /// With this number of providers.
    pub(super) fn of_providers(endpoints: usize) -> Self {
        Self::over(Options { endpoints, ..Self::options() })
    }

    /// Two endpoints, and blocks that come fast.
    pub(super) fn options() -> Options {
        let blocks = Blocks::Every(Duration::from_millis(150));
        Options { endpoints: ENDPOINTS, blocks, ..Options::default() }
    }

    /// A chain that is started so.
    pub(super) fn over(options: Options) -> Self {
        let devnet = Devnet::start(options);
        let devnet = devnet.expect("a chain");
        let token = devnet.deploy_token("usdc.devnet", &TokenOptions::default()).expect("a token");
        let relay = devnet.create_account("relay.devnet", 1_000).expect("an account");
        let mut keys = vec![relay.clone()];
        keys.extend(devnet.add_keys(&relay, 2).expect("two keys more"));
        let cold = keys.pop().expect("a third key");
        devnet.mint(&token, &[(relay.account, 1_000_000)]).expect("tokens");
        devnet.create_account("alice.devnet", 10).expect("a receiver that is not registered");
        Self { devnet, token, keys, cold }
    }

    /// One key in a line.
    pub(super) fn secret_keys(&self) -> String {
        self.keys.iter().map(|wallet| format!("{}\n", wallet.key)).collect()
    }

    /// The first `keys` of its keys, as the setting spells them.
    pub(super) fn access_keys(&self, keys: usize) -> String {
        let keys = self.keys.iter().take(keys).map(|wallet| wallet.key.to_string());
        keys.collect::<Vec<String>>().join(",")
    }

    /// The relay over this chain, with the first `keys` of its keys.
    pub(super) fn served(&self, keys: usize) -> Served {
        let dir = tempfile::tempdir().expect("a folder");
        self.served_in(dir, &[("RELAY_ACCESS_KEYS", &self.access_keys(keys))])
    }

    /// The relay over this chain in a folder, with these settings besides: where its keys are.
    pub(super) fn served_in(&self, dir: TempDir, more: &[(&str, &str)]) -> Served {
        let settings = self.settings(more);
        let settings: Vec<_> = settings.iter().map(|(name, value)| (&**name, &**value)).collect();
        Served::within(dir, &settings)
    }

    /// The settings of a relay over this chain, and these.
    pub(super) fn settings(&self, more: &[(&str, &str)]) -> Vec<(String, String)> {
        let urls = self.devnet.urls().join(",");
        let own = [
            ("RELAY_ACCOUNT_ID", "relay.devnet"),
            ("FT_TOKEN_ADDRESS", "usdc.devnet"),
            ("PORTAGE_RELAY__ASSET", "USDC"),
            ("NEAR_NETWORK", "localnet"),
            ("NEAR_RPC_URL", &urls),
        ];
        process::settings(&[&own, more].concat())
    }

    fn endpoints(&self) -> impl Iterator<Item = Endpoint<'_>> {
        (0..).map_while(|at| self.devnet.endpoint(at))
    }

    /// Each endpoint follows this rule too.
    pub(super) fn everywhere(&self, rule: &Rule) {
        self.endpoints().for_each(|endpoint| endpoint.add(rule.clone()));
    }

    /// No endpoint does anything wrong any more.
    pub(super) fn forgets_rules(&self) {
        self.endpoints().for_each(|endpoint| endpoint.clear());
    }

    /// How often each memo was paid, whatever endpoints say.
    pub(super) fn payments(&self) -> Vec<(String, u128)> {
        let events = self.devnet.events(&self.token);
        let paid = events.into_iter().filter(|event| event.kind == EventKind::Transfer);
        paid.map(|event| (event.memo.unwrap_or_default(), event.amount)).collect()
    }
}

/// The page that Prometheus reads.
fn metrics(served: &Served) -> String {
    served.ask(&head("GET", "/metrics", "x", "")).page
}

/// The keys in a file that opens with a passphrase; its path.
pub(super) fn key_file(dir: &Path, keys: &str) -> String {
    let (pass, out) = (dir.join("pass"), dir.join("keys.json"));
    std::fs::write(&pass, format!("{PASSPHRASE}\n")).expect("a file");
    let mut command = portage(dir, &[]);
    command.args(["relay", "encrypt-keys", "--account", "relay.devnet", "--passphrase-file"]);
    command.arg(&pass).arg("--out").arg(&out);
    let mut child =
        command.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    child.stdin.take().expect("its input").write_all(keys.as_bytes()).expect("it is read");
    let ended = child.wait_with_output().expect("it ends");
    assert_eq!(said(&ended).0, Some(0), "{ended:?}");
    let text = std::fs::read_to_string(&out).expect("the file");
    assert!(keys.lines().all(|key| !text.contains(key)), "a key in the clear");
    out.display().to_string()
}

#[test]
fn each_transfer_is_paid_once_through_kills_and_lost_replies() {
    let chain = LocalChain::start();
    let dir = tempfile::tempdir().expect("a folder");
    let file = key_file(dir.path(), &chain.secret_keys());
    let kept =
        [("PORTAGE_RELAY__KEYSTORE", &*file), ("PORTAGE_RELAY__KEYSTORE_PASSPHRASE", PASSPHRASE)];
    chain.everywhere(&Rule::times(Fault::DropReply, 2).on(&["send_tx"]));
    let mut served = chain.served_in(dir, &kept);
    // the first receiver is new to the token: it is registered at the relay's cost
    let keys: Vec<String> = (0..24).map(|n| format!("k-{n}")).collect();
    for (n, key) in keys.iter().enumerate() {
        let (status, body) = pays_to(&served, "alice.devnet", key);
        assert_eq!(status, 201, "{body}");
        if n % 8 == 7 {
            served.again(|_| ());
        }
    }
    let completed = |key: &String| reads(&served, "payouts", key).1["status"] == "COMPLETED";
    eventually("all are paid", || keys.iter().all(completed));
    let mut payments = chain.payments();
    payments.sort();
    assert_eq!(payments.len(), keys.len(), "{payments:?}");
    payments.dedup_by(|a, b| a.0 == b.0);
    assert_eq!(payments.len(), keys.len(), "one was paid twice");
    assert!(payments.iter().all(|(_, amount)| *amount == 7), "{payments:?}");
    let first = reads(&served, "payouts", "k-0").1;
    assert!(first["tx_hash"].is_string(), "{first}");
    // the same key and body again says what it is now, and pays nothing
    let (status, again) = pays_to(&served, "alice.devnet", "k-0");
    assert_eq!((status, &again["status"]), (200, &json!("COMPLETED")), "{again}");
    eventually("keys and calls are measured", || {
        let page = metrics(&served);
        page.contains(r#"portage_lanes{chain="NEAR",status="free"} 2"#)
            && page.contains(r#"method="send_tx",outcome="answered"} "#)
            && page.contains(r#"portage_fee_balance{chain="NEAR"} 999."#)
            && page.contains(r#"portage_chain_balance{chain="NEAR",asset="USDC"} 0."#)
    });
    let (code, text) = said(&served.run(&["relay", "status"]));
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("relay.devnet"), "{text}");
    let (code, text) = said(&served.run(&["check"]));
    assert_eq!(code, Some(0), "{text}");
    let log = served.log();
    assert!(chain.secret_keys().lines().all(|key| !log.contains(key)), "a key in the log");
    assert!(!log.contains(PASSPHRASE), "the passphrase in the log");
    assert_eq!(chain.payments().len(), keys.len());
    let cases = served.json(&["ops", "cases"]);
    assert_eq!(cases["cases"], json!([]), "{cases}");
}

/// Turns red where the chain's own validity period is not asked for: the transfer would wait for a day.
#[test]
fn what_expired_on_a_chain_of_short_validity_is_signed_again() {
    let chain = LocalChain::with_validity(40);
    let served = chain.served(1);
    let completed = |key: &str| reads(&served, "payouts", key).1["status"] == "COMPLETED";
    assert_eq!(pays_to(&served, "alice.devnet", "k-1").0, 201);
    eventually("the first is paid", || completed("k-1"));
    chain.everywhere(&Rule::times(Fault::Withhold, 1).on(&["send_tx"]));
    assert_eq!(pays_to(&served, "alice.devnet", "k-2").0, 201);
    eventually("the second is paid", || completed("k-2"));
    // what was withheld comes after all, and is too late
    chain.devnet.release();
    assert_eq!(pays_to(&served, "alice.devnet", "k-3").0, 201);
    eventually("the third is paid", || completed("k-3"));
    assert_eq!(chain.payments().len(), 3);
}

/// Turns red where the day's budget is not counted, or is counted by the process (a start between the two
/// would give it anew); where a registration is reserved before its receiver is known to exist, or once for each
/// transfer of one receiver; and where it counts anything but the contract's own price.
#[test]
fn a_day_has_one_budget_of_registrations() {
    let chain = LocalChain::start();
    chain.devnet.create_account("carol.devnet", 10).expect("a second new receiver");
    let keys = chain.secret_keys().trim().replace('\n', ",");
    let dir = tempfile::tempdir().expect("a folder");
    let price = chain.devnet.storage_price(&chain.token).expect("a price").to_string();
    let budget = ("PORTAGE_RELAY__REGISTRATION_BUDGET", &*price);
    let share = ("PORTAGE_RELAY__REGISTRATION_BUDGET_PER_CALLER", &*price);
    let no_wait = ("PORTAGE_RELAY__REGISTRATION_WAIT_SECONDS", "0");
    let settings = [("RELAY_ACCESS_KEYS", &*keys), budget, share, no_wait];
    let mut served = chain.served_in(dir, &settings);
    let status = |served: &Served, key: &str| reads(served, "payouts", key).1["status"].clone();
    // names that were made up use nothing of it
    for (key, receiver) in [("k-1", "ghost-1.devnet"), ("k-2", "ghost-2.devnet")] {
        assert_eq!(pays_to(&served, receiver, key).0, 201);
        eventually("it failed", || status(&served, key) == "FAILED");
        let error = reads(&served, "payouts", key).1["error_message"].to_string();
        assert!(error.contains("RECEIVER_NOT_FOUND"), "{error}");
    }
    for key in ["k-3", "k-4", "k-5"] {
        assert_eq!(pays_to(&served, "alice.devnet", key).0, 201);
    }
    for key in ["k-3", "k-4", "k-5"] {
        eventually("one registration is for all three", || status(&served, key) == "COMPLETED");
    }
    served.again(|_| ());
    assert_eq!(pays_to(&served, "carol.devnet", "k-6").0, 201);
    eventually("beyond the budget it fails", || status(&served, "k-6") == "FAILED");
    let error = reads(&served, "payouts", "k-6").1["error_message"].to_string();
    assert!(error.contains("REGISTRATION_REFUSED"), "{error}");
    assert_eq!(pays_to(&served, "alice.devnet", "k-7").0, 201);
    eventually("one who is registered is paid", || status(&served, "k-7") == "COMPLETED");
    assert_eq!(chain.payments().len(), 4);
    let kinds = || served.json(&["ops", "cases"])["cases"].to_string();
    eventually("a person is told", || kinds().contains("REGISTRATION_BUDGET"));
}

/// Turns red where one caller's new receivers fail another's next payment, or use up the day of all (run: one budget for
/// all callers); where what is beyond the share fails at once; and where nothing tells of what waits.
#[test]
fn one_caller_uses_up_its_own_share_of_a_days_registrations() {
    let chain = LocalChain::of_providers(3);
    for receiver in ["m1.devnet", "m2.devnet", "m3.devnet"] {
        chain.devnet.create_account(receiver, 10).expect("a new receiver");
    }
    let keys = chain.secret_keys().trim().replace('\n', ",");
    let price = chain.devnet.storage_price(&chain.token).expect("a price");
    let (budget, share) = ((price * 3).to_string(), (price * 2).to_string());
    let settings = [
        ("RELAY_ACCESS_KEYS", &*keys),
        ("PORTAGE_RELAY__REGISTRATION_BUDGET", &budget),
        ("PORTAGE_RELAY__REGISTRATION_BUDGET_PER_CALLER", &share),
    ];
    let mut served = chain.served_in(tempfile::tempdir().expect("a folder"), &settings);
    let status =
        |served: &Served, who: &str, key: &str| reads(served, who, key).1["status"].clone();
    for n in 1..=3 {
        let body = json!({"receiver_id": format!("m{n}.devnet"), "amount": "1"}).to_string();
        assert_eq!(sends(&served, "mallory", &format!("m-{n}"), &body).0, 201);
    }
    let paid = |served: &Served| {
        let all = ["m-1", "m-2", "m-3"].map(|key| status(served, "mallory", key));
        all.iter().filter(|status| **status == "COMPLETED").count()
    };
    let told = |served: &Served| served.json(&["ops", "cases"])["cases"].to_string();
    eventually("the share is used up", || paid(&served) == 2);
    eventually("a person is told", || {
        let cases = told(&served);
        cases.contains("REGISTRATION_BUDGET") && cases.contains("mallory")
    });
    served.again(|_| ());
    assert_eq!(pays_to(&served, "alice.devnet", "p-1").0, 201);
    eventually("another caller's is paid", || status(&served, "payouts", "p-1") == "COMPLETED");
    let all = ["m-1", "m-2", "m-3"].map(|key| status(&served, "mallory", key));
    assert!(paid(&served) == 2 && !all.contains(&json!("FAILED")), "it waits: {all:?}");
    // the operator raises both: what waits is paid
    for (name, value) in &mut served.settings {
        if name.starts_with("PORTAGE_RELAY__REGISTRATION_BUDGET") {
            *value = (price * 4).to_string();
        }
    }
    served.again(|_| ());
    eventually("what waited is paid", || paid(&served) == 3);
    assert_eq!(chain.payments().len(), 4);
}

/// Turns red where a receiver that does not exist is paid, or waits for ever.
#[test]
fn a_receiver_that_does_not_exist_fails_and_costs_nothing() {
    let chain = LocalChain::start();
    let served = chain.served(2);
    assert_eq!(pays_to(&served, "bob.devnet", "k-1").0, 201);
    eventually("it failed", || reads(&served, "payouts", "k-1").1["status"] == "FAILED");
    assert_eq!(chain.payments(), []);
    let log = served.log();
    assert!(log.contains("NOT ENCRYPTED"), "no warning of plain keys");
    assert!(chain.secret_keys().lines().all(|key| !log.contains(key)), "a key in the log");
}
