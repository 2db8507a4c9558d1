//! The relay's keys by the binary on a local chain: one is taken out of use while it pays and is proven gone, and one
//! that is deleted behind the relay's back is told of.

use super::super::relay_chain::LocalChain;
use super::super::{Served, eventually, portage, said};
use super::{completed, pays_to, reads};
use devnet::near::near_primitives::account::AccessKey;
use devnet::near::near_primitives::action::{Action, AddKeyAction};
use devnet::near::{Fault, Lie, Rule, Wallet};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

fn pays(served: &Served, keys: &[&str]) {
    for key in keys {
        let (code, body) = pays_to(served, "alice.devnet", key);
        assert_eq!(code, 201, "{body}");
    }
}

/// A key as `portage relay keys` shows it.
fn shown(served: &Served, key: &str) -> Value {
    let found = served.json(&["relay", "keys"]);
    let keys = found["keys"].as_array().expect("keys");
    keys.iter().find(|row| row["key"] == key).cloned().unwrap_or_else(|| panic!("{found}"))
}

/// `portage relay keys retire`, which waits.
struct Waits {
    child: Child,
    lines: Receiver<String>,
}

impl Waits {
    fn begin(served: &Served, key: &str) -> Self {
        let mut command = portage(served.dir.path(), &served.settings);
        command.env("PORTAGE_URL", &served.url);
        command.args(["relay", "keys", "retire", key, "--reason", "ticket 4711"]);
        let mut child =
            command.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().expect("it starts");
        let (says, lines) = channel();
        let err = BufReader::new(child.stderr.take().expect("its stderr"));
        std::thread::spawn(move || {
            err.lines().map_while(Result::ok).try_for_each(|line| says.send(line))
        });
        Self { child, lines }
    }

    /// Reads on until a line has these words.
    fn says(&self, words: &str) {
        loop {
            let line = self.lines.recv_timeout(Duration::from_secs(60));
            let line = line.unwrap_or_else(|fault| panic!("{fault}: it never says {words}"));
            if line.contains(words) {
                return;
            }
        }
    }

    fn killed(mut self) {
        self.child.kill().expect("it runs");
        self.child.wait().expect("it is gone");
    }
}

/// `portage relay keys retire` with an end: how it ended, and what it said.
fn retires(served: &Served, key: &str, seconds: &str) -> (Option<i32>, String) {
    let words = ["relay", "keys", "retire", key, "--reason", "ticket 4711", "--timeout", seconds];
    said(&served.run(&words))
}

/// Both providers keep what is sent from the chain from now on, or no more.
fn withholds(chain: &LocalChain, withholds: bool) {
    chain.forgets_rules();
    if withholds {
        chain.everywhere(&Rule::always(Fault::Withhold).on(&["send_tx"]));
    }
    chain.devnet.release();
}

/// The key of the attempt that is open.
fn busy_key(served: &Served) -> String {
    let mut busy = None;
    eventually("a key is busy", || {
        let found = served.json(&["relay", "keys"]);
        let keys = found["keys"].as_array().expect("keys");
        let row = keys.iter().find(|row| row["status"] == "busy");
        busy = row.map(|row| row["key"].as_str().expect("a key").to_owned());
        busy.is_some()
    });
    busy.expect("a key")
}

/// Pays k-1, and k-2 with bytes that no provider passes on; the key that waits for those.
fn pays_and_is_held<'c>(chain: &'c LocalChain, served: &Served) -> &'c Wallet {
    pays(served, &["k-1"]);
    completed(served, &["k-1"]);
    withholds(chain, true);
    pays(served, &["k-2"]);
    let busy = busy_key(served);
    let own = |wallet: &&Wallet| wallet.public_key().to_string() == busy;
    chain.keys.iter().find(own).expect("one of ours")
}

fn lists_a_case(served: &Served, kind: &str) -> bool {
    let cases = served.json(&["ops", "cases"]);
    cases["cases"].as_array().expect("cases").iter().any(|case| case["kind"] == kind)
}

/// Turns red where a retirement that is stored is forgotten by a start or by the end of its attempt, where a key is
/// called gone while its attempt is open, where one provider is believed that it is gone, where a provider that is
/// silent counts as one that agrees, and where a retired key pays.
#[test]
fn a_key_is_retired_while_it_pays_and_is_proven_gone() {
    let chain = LocalChain::start();
    let mut served = chain.served(2);
    let wallet = pays_and_is_held(&chain, &served);
    let gone = wallet.public_key().to_string();
    let waits = Waits::begin(&served, &gone);
    waits.says("retired: no attempt takes it any more");
    waits.says("has the key, and may need it");
    waits.killed();
    served.again(|_| ());
    let row = shown(&served, &gone);
    assert_eq!((&row["status"], &row["on_chain"]), (&json!("busy"), &json!(true)), "{row}");
    assert!(row["retired"]["by"].to_string().contains("operator"), "{row}");
    let waits = Waits::begin(&served, &gone);
    waits.says("retired before, by ");
    waits.says("has the key, and may need it");
    withholds(&chain, false);
    completed(&served, &["k-2"]);
    waits.says("the chain has the key at block");
    // one provider that lies proves nothing
    let key = wallet.public_key();
    let [first, second] = [0, 1].map(|at| chain.devnet.endpoint(at).expect("an endpoint"));
    first.add(Rule::always(Lie::HiddenKey { key: key.clone() }));
    let (code, text) = retires(&served, &gone, "3");
    assert_eq!(code, Some(75), "{text}");
    assert!(text.contains("as 1 of 2 providers show"), "{text}");
    first.clear();
    // nor does one that is silent agree
    second.add(Rule::always(Fault::Refuse).on(&["query"]));
    chain.devnet.delete_key(&chain.cold, key).expect("it is deleted");
    let (code, text) = retires(&served, &gone, "3");
    assert_eq!(code, Some(75), "{text}");
    assert!(text.contains("is not known"), "{text}");
    second.clear();
    let Waits { mut child, .. } = waits;
    assert!(child.wait().expect("it ends").success());
    let row = shown(&served, &gone);
    assert_eq!((&row["status"], &row["on_chain"]), (&json!("gone"), &json!(false)), "{row}");
    assert!(row["retired"]["gone_at_block"].is_u64(), "{row}");
    let (code, text) = retires(&served, &gone, "60");
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("KEY_GONE"), "{text}");
    let nonce = row["last_nonce"].clone();
    pays(&served, &["k-3", "k-4"]);
    completed(&served, &["k-3", "k-4"]);
    // without the key among the settings nothing of it is forgotten, and nothing asks for it
    let other = |one: &&Wallet| one.public_key() != wallet.public_key();
    let left = chain.keys.iter().find(other).expect("the other").key.to_string();
    let setting = served.settings.iter_mut().find(|(name, _)| name == "RELAY_ACCESS_KEYS");
    setting.expect("the keys").1 = left;
    served.again(|_| ());
    pays(&served, &["k-5"]);
    completed(&served, &["k-5"]);
    let row = shown(&served, &gone);
    assert_eq!((&row["status"], &row["last_nonce"]), (&json!("gone"), &nonce), "{row}");
    eventually("no case is open", || served.json(&["ops", "cases"])["cases"] == json!([]));
    let mut memos: Vec<String> = chain.payments().into_iter().map(|(memo, _)| memo).collect();
    memos.sort();
    memos.dedup();
    assert_eq!((memos.len(), chain.payments().len()), (5, 5), "each is paid once");
}

/// Turns red where a gone key that the account has again stays gone, where it stops the relay by being there or pays, and
/// where no person is told of it.
#[test]
fn a_gone_key_that_is_back_is_told_of_and_proven_gone_again() {
    let chain = LocalChain::start();
    let mut served = chain.served(2);
    pays(&served, &["k-1"]);
    completed(&served, &["k-1"]);
    pays(&served, &["k-2"]);
    completed(&served, &["k-2"]);
    let public_key = chain.keys[1].public_key();
    let key = public_key.to_string();
    chain.devnet.delete_key(&chain.cold, public_key.clone()).expect("it is deleted");
    let (code, text) = retires(&served, &key, "60");
    assert_eq!(code, Some(0), "{text}");
    let gone = shown(&served, &key);
    assert_eq!(
        (&gone["status"], &gone["retired"]["returned_at_block"]),
        (&json!("gone"), &Value::Null)
    );
    let access_key = AccessKey::full_access();
    let add = AddKeyAction { public_key: public_key.clone(), access_key };
    let add = vec![Action::AddKey(Box::new(add))];
    chain.devnet.run(&chain.cold, &chain.cold.account, add).expect("it is added");
    // a process that begins looks before it pays
    served.again(|_| ());
    eventually("a person is told", || lists_a_case(&served, "KEY_RETURNED"));
    let row = shown(&served, &key);
    assert_eq!((&row["status"], &row["on_chain"]), (&json!("retired"), &json!(true)), "{row}");
    assert!(row["retired"]["returned_at_block"].is_u64(), "{row}");
    assert_eq!(row["retired"]["gone_at_block"], Value::Null, "{row}");
    let (_, table) = said(&served.run(&["relay", "keys"]));
    assert!(table.to_lowercase().contains("returned_at_block"), "{table}");
    pays(&served, &["k-3", "k-4"]);
    completed(&served, &["k-3", "k-4"]);
    assert!(!lists_a_case(&served, "LANE_AHEAD"));
    assert_eq!(shown(&served, &key)["last_nonce"], gone["last_nonce"], "a retired key pays");
    let (code, text) = retires(&served, &key, "3");
    assert_eq!(code, Some(75), "{text}");
    assert!(text.contains("the chain has the key at block"), "{text}");
    chain.devnet.delete_key(&chain.cold, public_key).expect("it is deleted");
    let (code, text) = retires(&served, &key, "60");
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("KEY_GONE"), "{text}");
    assert_eq!(shown(&served, &key)["status"], "gone");
    eventually("the case is closed", || !lists_a_case(&served, "KEY_RETURNED"));
    assert_eq!(chain.payments().len(), 4);
}

/// Turns red where payments wait for a key that the account has not, where no person is told of it, where the case
/// stays when the key is retired, and where keys are not shown because no provider answers.
#[test]
fn a_key_that_is_deleted_without_a_word_is_told_of() {
    let chain = LocalChain::start();
    let served = chain.served(2);
    pays(&served, &["k-1"]);
    completed(&served, &["k-1"]);
    let key = chain.keys[1].public_key();
    chain.devnet.delete_key(&chain.cold, key.clone()).expect("it is deleted");
    for key in ["k-2", "k-3", "k-4", "k-5"] {
        pays(&served, &[key]);
        completed(&served, &[key]);
    }
    eventually("a person is told", || lists_a_case(&served, "KEY_MISSING"));
    let cases = served.json(&["ops", "cases"]);
    let facts = format!("the account has no key {key} at block ");
    assert!(cases.to_string().contains(&facts), "{cases}");
    assert!(!cases.to_string().contains(&chain.keys[0].public_key().to_string()), "{cases}");
    let (code, text) = retires(&served, &key.to_string(), "60");
    assert_eq!(code, Some(0), "{text}");
    eventually("the case is closed", || !lists_a_case(&served, "KEY_MISSING"));
    assert_eq!(chain.payments().len(), 5);
    // keys are shown too where no provider answers
    let found = served.json(&["relay", "keys"]);
    assert!(found["balance"].to_string().contains("999."), "{found}");
    chain.everywhere(&Rule::always(Fault::Refuse).on(&["query"]));
    let found = served.json(&["relay", "keys"]);
    assert!(found["balance"].is_null() && found["chain_unknown"].is_string(), "{found}");
    assert_eq!(found["keys"].as_array().map(Vec::len), Some(2), "{found}");
}

/// Turns red where an attempt whose key was deleted stays open, and where its transfer is paid twice for that.
#[test]
fn what_a_deleted_key_did_not_pay_another_key_pays() {
    let chain = LocalChain::start();
    let served = chain.served(2);
    let key = pays_and_is_held(&chain, &served).public_key();
    chain.devnet.delete_key(&chain.cold, key).expect("it is deleted");
    withholds(&chain, false);
    completed(&served, &["k-2"]);
    let row = reads(&served, "payouts", "k-2").1;
    assert!(row["events"].to_string().contains("KEY_DELETED"), "{row}");
    assert_eq!(chain.payments().len(), 2);
}
