//! The binary itself: exit codes, the lock, signals.

use crate::fixture::process::{binary, portage, said, serves};
use crate::own::script::{Elsewhere, Program, TOKEN, port};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::Output;
use std::time::Duration;
use tempfile::TempDir;
use testbed::Listening;

/// The exit code of a transfer that goes on: EX_TEMPFAIL.
const AGAIN: i32 = 75;
const WORD: &str = "a-word-that-servers-and-spot-share-in-tests";

pub(crate) fn run(dir: &Path, words: &[&str]) -> Output {
    portage(dir).args(words).output().expect("it runs")
}

pub(crate) fn exit_of(dir: &Path, words: &[&str]) -> i32 {
    run(dir, words).status.code().expect("an exit code")
}

pub(crate) fn folder() -> TempDir {
    tempfile::tempdir().expect("a folder")
}

/// Starts a server in a folder.
pub(crate) fn served(dir: &Path) -> Listening {
    serves(portage(dir), &dir.join("log"))
}

/// Ends a server by this signal; its exit code.
pub(crate) fn ends(server: &Listening, signal: &str) -> i32 {
    server.signal(signal).expect("it is sent");
    server.wait().expect("it ends").code().unwrap_or(-1)
}

/// Turns red where a look at the settings calls a limit good of which the start alone can say that, and where the start
/// does not name its line.
#[test]
fn a_limit_of_no_asset_is_refused_with_its_line() {
    let dir = folder();
    let dir = dir.path();
    // no store is looked at: the start alone knows whether there is such an asset, and names the line
    for (asset, says_so) in [("USDT", false), ("EURC", true)] {
        let text = format!("[limits.daily_amount]\n{asset} = \"5\"\n");
        std::fs::write(dir.join("portage.toml"), text).expect("a file");
        let out = run(dir, &["config", "--check", "portage.toml"]);
        let said = String::from_utf8_lossy(&out.stdout).into_owned();
        assert_eq!(said.contains("is seen at the start"), says_so, "{out:?}");
    }
    let out = run(dir, &["serve", "--listen", "127.0.0.1:0", "--data-dir", "limited"]);
    let why = String::from_utf8_lossy(&out.stderr).into_owned();
    let names = why.contains("portage.toml:2: limits.daily_amount.EURC: there is no asset EURC");
    assert!(out.status.code() == Some(78) && names, "{why}");
}

/// Turns red where a ledger's asset that does not exist ends the start as trouble with the disk (the release before).
#[test]
fn a_ledgers_asset_that_does_not_exist_is_refused_with_its_line() {
    let dir = folder();
    let dir = dir.path();
    let text =
        "[ledgers.future]\nkind = \"remote\"\nurl = \"http://127.0.0.1:9\"\nassets = [\"EURC\"]\n";
    std::fs::write(dir.join("portage.toml"), text).expect("a file");
    let out = run(dir, &["serve", "--listen", "127.0.0.1:0", "--data-dir", "limited"]);
    let why = String::from_utf8_lossy(&out.stderr).into_owned();
    let names = why.contains("portage.toml:4: ledgers.future.assets: there is no asset EURC");
    assert!(out.status.code() == Some(78) && names, "{why}");
}

#[test]
fn exit_codes_say_what_was_wrong() {
    let dir = folder();
    let dir = dir.path();
    for (words, expected) in [
        (&["--help"][..], 0),
        (&["transfer", "create", "--help"], 0),
        (&["--version"], 0),
        (&["config"], 0),
        (&[], 64),
        (&["serv"], 64),
        (&["token", "--sub", "1", "--scope", "all"], 64),
        (&["token", "--sub", "", "--scope", "admin"], 64),
        (&["token", "--sub", "1", "--scope", "admin"], 66),
        (&["token", "--sub", "1", "--scope", "ops:approve relay:create relay:read"], 66),
        (&["token", "--sub", "1", "--scope", "admin", "--ttl", "2h"], 64),
        (&["check"], 66),
        (&["config", "--config", "nowhere.toml"], 66),
        (&["config", "--check", "nowhere.toml"], 66),
        (&["config", "--reference"], 0),
        (&["config", "--config", "/dev/null"], 0),
        (&["health", "--url", "http://127.0.0.1:9"], 69),
        (&["health", "work"], 78),
        (&["completions", "zsh"], 0),
        (&["completions", "csh"], 64),
        (&["version"], 0),
        (&["account", "list", "--token", "x", "--url", "http://127.0.0.1:9"], 69),
        (&["account", "list", "--token", "x", "--url", "ftp://127.0.0.1"], 64),
        (&["serve", "--listen", "0.0.0.0:0"], 78),
    ] {
        let out = run(dir, words);
        assert_eq!(out.status.code(), Some(expected), "{words:?}: {out:?}");
    }
    std::fs::write(dir.join("portage.toml"), "[server]\nlistn = 1\n").expect("a file");
    let out = run(dir, &["config"]);
    assert_eq!(out.status.code(), Some(78));
    let why = String::from_utf8_lossy(&out.stderr).into_owned();
    assert!(why.contains("portage.toml:2: server.listn"), "{why}");
    assert_eq!(exit_of(dir, &["config", "--check", "portage.toml"]), 78);
    // the settings are good, and the file that they name is not there
    std::fs::write(dir.join("portage.toml"), "[auth]\njwks_file = \"/nope.json\"\n")
        .expect("a file");
    let out = run(dir, &["config", "--check", "portage.toml"]);
    let why = String::from_utf8_lossy(&out.stderr).into_owned();
    assert!(out.status.code() == Some(78) && why.contains("auth.jwks_file: "), "{why}");
    let of_kafka = "\"/nope.pem\"\nbrokers = \"b:1\"\nsecurity = \"tls\"";
    let all =
        [("kafka", "ca_file", of_kafka), ("audit", "former_mac_secret_files", "[\"/nope.key\"]")];
    let known = |table: &str| cfg!(feature = "kafka") || table != "kafka";
    for (table, key, value) in all.into_iter().filter(|(table, ..)| known(table)) {
        let text = format!("[{table}]\n{key} = {value}\n");
        std::fs::write(dir.join("portage.toml"), text).expect("a file");
        let out = run(dir, &["config", "--check", "portage.toml"]);
        let why = String::from_utf8_lossy(&out.stderr).into_owned();
        let names = why.contains(&format!("{table}.{key}: /nope"));
        assert!(out.status.code() == Some(78) && names, "{why}");
    }
    assert_eq!(exit_of(dir, &["config"]), 0);
    std::fs::remove_file(dir.join("portage.toml")).expect("it goes");
    let out = portage(dir).arg("config").env("REDIS_URL", "redis://x").output();
    assert_eq!(out.expect("it runs").status.code(), Some(78), "another store was meant");
    std::fs::write(dir.join("file"), "").expect("a file");
    assert_eq!(exit_of(dir, &["serve", "--listen", "127.0.0.1:0", "--data-dir", "file/x"]), 73);
}

/// Turns red where a server starts whose tokens anybody could make.
#[test]
fn keys_that_prove_nothing_do_not_start() {
    let dir = folder();
    let dir = dir.path();
    let set = dir.join("keys.json");
    let (file, secret) = ("PORTAGE_AUTH__JWKS_FILE", "PORTAGE_AUTH__HS256_SECRET");
    let strong = "a secret of more than thirty-two bytes";
    let symmetric = r#"{"keys":[{"kty":"oct","k":"AAAA","kid":"a"}]}"#;
    for (text, settings, says) in [
        (None, vec![(secret, "thirty-one bytes are not enough")], "at least 32 bytes"),
        (None, vec![(file, "keys.json")], "keys.json: No such file"),
        (Some("{}"), vec![(file, "keys.json"), (secret, strong)], "empty where auth.jwks_file"),
        (Some("{}"), vec![(file, "keys.json")], "keys.json: no list `keys`"),
        (Some(symmetric), vec![(file, "keys.json")], "a symmetric key"),
        (None, vec![("PORTAGE_AUTH__JWKS_URL", "http://id.example/keys")], "https://"),
    ] {
        if let Some(text) = text {
            std::fs::write(&set, text).expect("a file");
        }
        let mut serve = portage(dir);
        serve.args(["serve", "--listen", "127.0.0.1:0"]).envs(settings.clone());
        let out = serve.output().expect("it runs");
        let why = String::from_utf8_lossy(&out.stderr);
        assert_eq!(out.status.code(), Some(78), "{settings:?}: {why}");
        assert!(why.contains(says), "{settings:?}: {why}");
        let token = portage(dir)
            .args(["token", "--sub", "1", "--scope", "admin"])
            .envs(settings)
            .output()
            .expect("it runs");
        assert!(!token.status.success(), "no token of a key that does not count");
    }
}

/// Turns red where what only waits for another person ends as if it was done, where an error of words is no JSON with
/// `--json`, and where a number that is none is not explained.
#[test]
fn what_is_only_proposed_does_not_end_as_done() {
    let dir = folder();
    let dir = dir.path();
    let server = served(dir);
    let asks = |words: &str| {
        let words: Vec<&str> = words.split(' ').collect();
        let out =
            portage(dir).env("PORTAGE_URL", &server.url).args(words).output().expect("it runs");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (out.status.code().expect("a code"), text(&out.stdout), text(&out.stderr))
    };
    let (code, said, _) = asks("deposit --user 7 --asset USDT --amount 1");
    assert!(code == 0 && said.contains("the same command again books again"), "{said}");
    let create = "transfer create --user 7 --from FUNDING --to SPOT --asset USDT --amount 1 --json";
    let (_, made, _) = asks(&format!("{create} --cid payout-7"));
    let made: serde_json::Value = serde_json::from_str(&made).expect("JSON");
    let id = made["req_id"].as_str().expect("an id");
    let (code, said, _) = asks("ops show payout-7");
    assert!(code == 0 && said.contains(id) && said.contains("history"), "{said}");
    let (code, said, _) = asks("ops find --key payout-7 --caller portage|7");
    assert!(code == 0 && said.contains(id), "{said}");
    let (code, _, why) = asks("ops show payout-8");
    assert!(code == 66 && why.contains("as its id, number or key"), "{code} {why}");
    assert_eq!(asks("ops halt --reason drill").0, 0);
    let (code, said, why) = asks("ops resume --reason over");
    assert!(code == 75 && said.contains("PROPOSED"), "{code} {said}");
    let approval = said.split_whitespace().nth(1).expect("its id");
    assert!(why.contains(&format!("portage ops approve {approval}")), "{why}");
    assert_eq!(asks(&format!("ops approve {approval} --as second --reason over")).0, 0);
    assert_eq!(asks("ops account 7 FUNDING FROZEN --reason order").0, 0);
    let (code, _, why) = asks("ops account 7 FUNDING ACTIVE --reason over --json");
    let error: serde_json::Value = serde_json::from_str(&why).expect("JSON");
    assert_eq!((code, &error["outcome"]), (75, &serde_json::json!("proposed")), "{why}");
    let (code, _, why) = asks("deposit --user 7 --asset USDT --amount 20000 --ref wire-9");
    assert!(code == 75 && why.contains("portage ops approve "), "{code} {why}");
    let (code, _, why) = asks("deposit --user 7 --asset USDT --amount 20000");
    assert!(code == 75 && why.contains("repeat it with --ref"), "{code} {why}");
    for words in ["ops find --user alice", "ops account alice SPOT ACTIVE --reason x"] {
        let (code, _, why) = asks(words);
        assert!(code == 64 && why.contains("a user is a whole number"), "{why}");
    }
    for words in ["ops find --user alice --json", "transfer creat --json"] {
        let (code, _, why) = asks(words);
        let error: serde_json::Value = serde_json::from_str(&why).expect("JSON");
        assert_eq!((code, &error["exit"]), (64, &serde_json::json!(64)), "{why}");
    }
    assert_eq!(ends(&server, "TERM"), 0);
}

#[test]
fn one_server_and_everything_that_asks_it() {
    let dir = folder();
    let dir = dir.path();
    let server = served(dir);
    let url = server.url.clone();
    let ask = |words: &[&str]| {
        let out = portage(dir).env("PORTAGE_URL", &url).args(words).output().expect("it runs");
        let said = String::from_utf8_lossy(&out.stdout).into_owned();
        (out.status.code().expect("a code"), said, out)
    };
    let (code, said, _) =
        ask(&["deposit", "--user", "7", "--asset", "USDT", "--amount", "100", "--ref", "a"]);
    assert!(code == 0 && said.contains("100.000000"), "{said}");
    let create = [
        "transfer", "create", "--user", "7", "--from", "FUNDING", "--to", "SPOT", "--asset", "USDT",
    ];
    let with = |more: &[&'static str]| [&create[..], more].concat();
    let (code, said, _) = ask(&with(&["--amount", "30", "--cid", "k", "--json"]));
    assert_eq!(code, 0, "{said}");
    let made: serde_json::Value = serde_json::from_str(&said).expect("JSON");
    let (code, said, _) = ask(&with(&["--amount", "30", "--cid", "k"]));
    assert!(code == 0 && said.contains("had been used before"), "{said}");
    assert_eq!(ask(&with(&["--amount", "31", "--cid", "k"])).0, 65, "another body");
    assert_eq!(ask(&with(&["--amount", "3000"])).0, 65, "too much");
    let id = made["req_id"].as_str().expect("an id");
    let (code, said, _) = ask(&["transfer", "get", id, "--user", "7"]);
    assert!(code == 0 && said.contains("TARGET_OK"), "{said}");
    assert_eq!(ask(&["transfer", "get", id, "--user", "8"]).0, 66, "another user's");
    let (code, _, out) = ask(&["transfer", "get", "k", "--user", "7"]);
    let why = String::from_utf8_lossy(&out.stderr).into_owned();
    assert!(code == 66 && why.contains("transfer list --cid k"), "{why}");
    assert_eq!(ask(&["transfer", "get", id]).0, 64, "whose?");
    let (_, token, _) = ask(&["token", "--sub", "7", "--scope", "transfers:read"]);
    assert_eq!(ask(&["transfer", "get", id, "--token", token.trim()]).0, 0);
    assert_eq!(ask(&["account", "list", "--token", token.trim()]).0, 77, "not an operator");
    let (code, said, _) = ask(&["account", "list", "--user", "7"]);
    assert!(code == 0 && said.contains("70.000000"), "{said}");
    let (code, _, out) = ask(&["account", "list", "--user", "8"]);
    let why = String::from_utf8_lossy(&out.stderr).into_owned();
    assert!(code == 0 && why.contains("no account of user 8"), "{why}");
    assert_eq!(ask(&["withdraw", "--user", "7", "--asset", "USDT", "--amount", "70"]).0, 0);
    // the folder is held: `check` asks the server that the owner's note names
    let (code, said, out) = (
        run(dir, &["check"]).status.code(),
        run(dir, &["check"]).stdout,
        run(dir, &["serve", "--listen", "127.0.0.1:0"]),
    );
    assert_eq!(code, Some(0), "{}", String::from_utf8_lossy(&said));
    assert_eq!(out.status.code(), Some(75));
    let why = String::from_utf8_lossy(&out.stderr).into_owned();
    assert!(why.contains(&server.id().to_string()) && why.contains(&url), "{why}");
    assert_eq!(ends(&server, "TERM"), 0, "drained");
    let out = run(dir, &["check", "--json"]);
    let proof: serde_json::Value = serde_json::from_slice(&out.stdout).expect("JSON");
    assert_eq!((out.status.code(), &proof["ok"]), (Some(0), &serde_json::json!(true)));
    let silent = "http://127.0.0.1:9";
    assert_eq!(
        exit_of(dir, &["check", "--url", silent]),
        0,
        "the folder is free: no server is asked"
    );
    assert_eq!(exit_of(dir, &["check", "--url", silent, "--token", "x", "--data-dir", "none"]), 69);
    let again = served(dir);
    let taken = again.url.trim_start_matches("http://").to_owned();
    assert_eq!(code_of_taken(dir, &taken), 69, "the address is taken");
    assert_eq!(ends(&again, "INT"), 0);
}

#[test]
fn the_audit_is_sealed_at_the_end_and_verified_by_anybody_with_the_folder() {
    let dir = folder();
    let dir = dir.path();
    assert_eq!(exit_of(dir, &["audit", "verify"]), 66, "no store");
    let server = served(dir);
    let deposit = ["deposit", "--user", "7", "--asset", "USDT", "--amount", "5", "--ref", "a"];
    let out = portage(dir).env("PORTAGE_URL", &server.url).args(deposit).output();
    assert!(out.expect("it runs").status.success());
    // the folder is held: the server is asked, and has sealed nothing yet
    let out = run(dir, &["audit", "verify", "--json"]);
    let proof: serde_json::Value = serde_json::from_slice(&out.stdout).expect("JSON");
    assert_eq!((&proof["ok"], &proof["unsealed"]), (&true.into(), &1.into()), "{proof}");
    assert_eq!(ends(&server, "TERM"), 0);
    let out = run(dir, &["audit", "verify", "--json"]);
    let proof: serde_json::Value = serde_json::from_slice(&out.stdout).expect("JSON");
    assert_eq!(
        (&proof["ok"], &proof["unsealed"], &proof["seals"]),
        (&true.into(), &0.into(), &1.into())
    );
    let seal = proof["last"]["seal"].as_str().expect("a seal").to_owned();
    assert_eq!(exit_of(dir, &["audit", "verify", "--seal", &seal]), 0);
    assert_eq!(exit_of(dir, &["audit", "verify", "--seal", &seal.replacen("1:", "2:", 1)]), 65);
    assert_eq!(exit_of(dir, &["audit", "verify", "--seal", "1"]), 64);
    let db = rusqlite::Connection::open(dir.join("data").join(store::sqlite::FILE));
    let spoil = "UPDATE externals SET reason = 'another'";
    assert_eq!(db.expect("the file").execute(spoil, []).expect("it is done"), 1);
    let out = run(dir, &["audit", "verify"]);
    let said = String::from_utf8_lossy(&out.stdout).into_owned();
    assert_eq!(out.status.code(), Some(65), "{said}");
    assert!(said.contains("WRONG external movements: entry 0 was changed"), "{said}");
    std::fs::remove_file(dir.join("data").join("audit.key")).expect("it goes");
    assert_eq!(exit_of(dir, &["audit", "verify"]), 66, "no key");
    // a start makes a key, and what that sealed behind the seal of another one would be forged for ever
    let refused = run(dir, &["serve", "--port", "0"]);
    let said = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(78), "{said}");
    assert!(said.contains("of a key that this process does not know"), "{said}");
    std::fs::write(dir.join("portage.toml"), "[audit]\naccept_unknown_seals = true\n")
        .expect("a file");
    assert_eq!(ends(&served(dir), "TERM"), 0);
}

#[test]
fn a_second_signal_ends_at_once() {
    let dir = folder();
    let server = served(dir.path());
    // a request that never arrives whole keeps the drain waiting
    let address = server.url.trim_start_matches("http://").to_owned();
    let token = run(dir.path(), &["token", "--sub", "7", "--scope", "transfers:create"]).stdout;
    let token = String::from_utf8(token).expect("a token");
    let mut held = std::net::TcpStream::connect(&address).expect("a connection");
    let head = format!(
        "POST /api/v1/internal_transfer HTTP/1.1\r\nHost: {address}\r\n\
         Authorization: Bearer {}\r\nContent-Type: application/json\r\n\
         Content-Length: 50\r\nExpect: 100-continue\r\n\r\n",
        token.trim()
    );
    held.write_all(head.as_bytes()).expect("a part of a request");
    let mut line = String::new();
    BufReader::new(&held).read_line(&mut line).expect("a line");
    assert!(line.starts_with("HTTP/1.1 100 "), "it waits for the body: {line}");
    server.signal("TERM").expect("it is sent");
    let drains = || server.log().contains("draining; a second signal ends at once").then_some(());
    assert!(testbed::until(Duration::from_secs(60), drains).is_some(), "{}", server.log());
    std::thread::sleep(Duration::from_millis(300));
    assert!(server.ended().is_none(), "it drains");
    assert_eq!(ends(&server, "TERM"), 75);
    assert_eq!(exit_of(dir.path(), &["check"]), 0);
}

fn code_of_taken(dir: &Path, address: &str) -> i32 {
    exit_of(dir, &["serve", "--listen", address, "--data-dir", "other"])
}

/// Turns red where a folder without a server falls back to the address of the settings, which may
/// be another server's: `--data-dir` with a typo would move its money.
#[test]
fn a_named_folder_leads_to_no_other_server() {
    let (here, there) = (folder(), folder());
    let server = served(there.path());
    let listen = server.url.trim_start_matches("http://");
    let settings = format!("[server]\nlisten = \"{listen}\"\n");
    std::fs::write(here.path().join("portage.toml"), settings).expect("settings");
    std::fs::create_dir(here.path().join("empty")).expect("a folder");
    let ask = |words: &[&str]| {
        let mut command = binary();
        command.current_dir(here.path()).args(words);
        let out = command.args(["account", "list", "--token", "x"]).output().expect("it runs");
        (out.status.code(), String::from_utf8_lossy(&out.stderr).into_owned())
    };
    assert_eq!(ask(&[]).0, Some(77), "the settings' server, which does not know the token");
    let (code, why) = ask(&["--data-dir", "typo"]);
    assert!(code == Some(66) && why.contains("typo: there is no such folder"), "{code:?} {why}");
    let (code, why) = ask(&["--data-dir", "empty"]);
    assert!(
        code == Some(69) && why.contains("empty: no process serves this folder"),
        "{code:?} {why}"
    );
}

/// Turns red where a HALT is written beside the server that holds the folder, where it needs a token, or where the next
/// start does not know of it.
#[test]
fn a_folder_is_halted_without_a_token_once_no_server_holds_it() {
    let dir = folder();
    let dir = dir.path();
    let halt = ["halt", "--reason", "no token is accepted"];
    assert_eq!(exit_of(dir, &halt), 66, "no store");
    assert_eq!(exit_of(dir, &["halt", "--reason", " "]), 64);
    let server = served(dir);
    let out = run(dir, &halt);
    let why = String::from_utf8_lossy(&out.stderr).into_owned();
    assert_eq!(out.status.code(), Some(75), "{why}");
    assert!(why.contains(&server.url) && why.contains("portage ops halt"), "{why}");
    assert_eq!(exit_of(dir, &["check"]), 0, "nothing was written");
    assert_eq!(ends(&server, "TERM"), 0);
    std::fs::rename(dir.join("data/auth.key"), dir.join("kept.key")).expect("it is moved");
    // what is wrong in another section of the settings keeps no money moving
    std::fs::write(dir.join("portage.toml"), "[transfr]\nx = 1\n").expect("a file");
    assert_eq!(exit_of(dir, &["check"]), 78);
    let named = ["ops", "halt", "--url", "http://127.0.0.1:9", "--token", "x", "--reason", "stop"];
    assert_eq!(exit_of(dir, &named), 69, "the request was sent");
    let out = run(dir, &halt);
    assert_eq!(exit_of(dir, &["audit", "verify"]), 0, "nor the audit from being read");
    std::fs::remove_file(dir.join("portage.toml")).expect("it is removed");
    assert_eq!(out.status.code(), Some(0), "{}", String::from_utf8_lossy(&out.stderr));
    std::fs::rename(dir.join("kept.key"), dir.join("data/auth.key")).expect("it is back");
    assert_eq!(exit_of(dir, &["audit", "verify"]), 0);
    let server = served(dir);
    let out = run(dir, &["check"]);
    let proof = String::from_utf8_lossy(&out.stdout).into_owned();
    assert_eq!(out.status.code(), Some(65), "{proof}");
    assert!(proof.contains("HALT: no token is accepted"), "{proof}");
    assert_eq!(ends(&server, "TERM"), 0);
}

/// The time in which a case opens or closes.
const SOON: Duration = Duration::from_secs(60);

/// A folder whose settings name a ledger at some starts.
struct ForgottenLedger {
    dir: TempDir,
    name: &'static str,
    settings: Vec<(&'static str, String)>,
}

impl ForgottenLedger {
    fn serves(&self, named: bool) -> Listening {
        let mut command = portage(self.dir.path());
        if named {
            command.envs(self.settings.iter().map(|(name, value)| (*name, value)));
        }
        serves(command, &self.dir.path().join("log"))
    }

    fn ran(&self, words: &str) -> (i32, String) {
        let words: Vec<_> = words.split(' ').collect();
        let (code, text) = said(&run(self.dir.path(), &words));
        (code.unwrap_or(-1), text)
    }

    /// Brings money and sends 5 of it to the ledger; `code`: the exit code of the transfer.
    fn sends(&self, cid: &str, code: i32) {
        let deposit = format!("deposit --user 4001 --asset USDT --amount 9 --ref {cid}");
        assert_eq!(self.ran(&deposit).0, 0);
        let create = "transfer create --user 4001 --from FUNDING --asset USDT --amount 5 --to";
        let (ended, text) = self.ran(&format!("{create} {} --cid {cid}", self.name));
        assert_eq!(ended, code, "{text}");
    }

    fn has_case(&self) -> bool {
        self.ran("ops cases").1.contains("LEDGER_NOT_CONFIGURED")
    }

    /// A start without the ledger in its settings: a case and the proof name it.
    fn is_named(&self) {
        let server = self.serves(false);
        let found = testbed::until(SOON, || self.has_case().then_some(()));
        assert!(found.is_some(), "no case");
        let (code, proof) = self.ran("check");
        assert_eq!(code, 69, "{proof}");
        let named = format!("NOT PROVEN NOW {}: LEDGER_NOT_CONFIGURED", self.name);
        assert!(proof.contains(&named), "{proof}");
        assert_eq!(ends(&server, "TERM"), 0);
        // from the folder, in a process that knows of no earlier round
        let (code, proof) = self.ran("check");
        assert!((code, proof.contains(&named)) == (69, true), "{proof}");
    }

    /// A start with the ledger in its settings closes the case.
    fn is_known_again(&self) -> Listening {
        let server = self.serves(true);
        let closed = testbed::until(SOON, || (!self.has_case()).then_some(()));
        assert!(closed.is_some(), "the case stays open");
        server
    }
}

/// Turns red where what lies at a ledger that the settings no longer name is passed over without a word.
#[test]
fn a_ledger_that_the_settings_forget_is_named() {
    let dir = folder();
    let mut command = binary();
    command.current_dir(dir.path()).env("PORTAGE_SPOT__TOKEN", WORD);
    command.args(["--data-dir", "future", "spot", "serve", "--listen", "127.0.0.1:0"]);
    let ledger = Listening::logged(command, &dir.path().join("future.log"));
    let ledger = ledger.unwrap_or_else(|failed| panic!("{failed}"));
    let settings = vec![
        ("PORTAGE_LEDGERS__FUTURE__KIND", "remote".to_owned()),
        ("PORTAGE_LEDGERS__FUTURE__URL", ledger.url.clone()),
        ("PORTAGE_LEDGERS__FUTURE__TOKEN", WORD.to_owned()),
    ];
    let test = ForgottenLedger { dir, name: "FUTURE", settings };
    let server = test.serves(true);
    test.sends("a", 0);
    assert_eq!(test.ran("check").0, 0);
    assert_eq!(ends(&server, "TERM"), 0);
    test.is_named();
    let server = test.is_known_again();
    assert_eq!(test.ran("check").0, 0);
    assert_eq!(ends(&server, "TERM"), 0);
}

/// The simple form has no identity in the journal.
///
/// Turns red where such a ledger is not known by its open transfers, or not by its operations.
#[test]
fn a_ledger_of_the_simple_form_that_the_settings_forget_is_named() {
    let (dir, port) = (folder(), port());
    let settings = vec![
        ("PORTAGE_LEDGERS__MARGIN__KIND", "remote".to_owned()),
        ("PORTAGE_LEDGERS__MARGIN__FORM", "simple".to_owned()),
        ("PORTAGE_LEDGERS__MARGIN__URL", format!("http://127.0.0.1:{port}")),
        ("PORTAGE_LEDGERS__MARGIN__TOKEN", TOKEN.to_owned()),
    ];
    let test = ForgottenLedger { dir, name: "MARGIN", settings };
    let server = test.serves(true);
    test.sends("open", AGAIN);
    assert_eq!(ends(&server, "TERM"), 0);
    test.is_named();

    let program = Program::guide("own_ledger_simple.py");
    let _ledger = Elsewhere::start(&program, test.dir.path(), port);
    let server = test.is_known_again();
    let committed = || test.ran("ops find").1.contains("COMMITTED").then_some(());
    assert!(testbed::until(SOON, committed).is_some(), "it stays open");
    assert_eq!(ends(&server, "TERM"), 0);
    test.is_named();
}
