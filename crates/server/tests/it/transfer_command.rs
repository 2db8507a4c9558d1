//! `portage transfer …` against a real server.

use crate::command::{exit_of, folder, served};
use crate::fixture::process::portage;
use serde_json::{Value, json};
use std::path::Path;
use testbed::Listening;

/// A server with money for user 7, and its words on the command line.
struct CliFixture {
    dir: tempfile::TempDir,
    server: Listening,
}

/// What a command came to.
#[derive(Debug)]
struct CommandOutput {
    code: i32,
    out: String,
    err: String,
}

impl CommandOutput {
    fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|_| panic!("JSON: {self:?}"))
    }

    fn lines(&self) -> Vec<Value> {
        let read = |line| serde_json::from_str(line).unwrap_or_else(|_| panic!("JSON: {self:?}"));
        self.out.lines().map(read).collect()
    }
}

fn ran(dir: &Path, words: &[&str]) -> CommandOutput {
    let out = portage(dir).args(words).output().expect("it runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    CommandOutput {
        code: out.status.code().expect("a code"),
        out: text(&out.stdout),
        err: text(&out.stderr),
    }
}

impl CliFixture {
    /// No address is given to any command: the folder's note names the server, on whatever port.
    fn open() -> Self {
        let dir = folder();
        let server = served(dir.path());
        let cli = Self { dir, server };
        let said = cli.asks(&["deposit", "--user", "7", "--asset", "USDT", "--amount", "100"]);
        assert_eq!(said.code, 0, "{said:?}");
        cli
    }

    fn asks(&self, words: &[&str]) -> CommandOutput {
        ran(self.dir.path(), words)
    }

    fn creates(&self, more: &[&str]) -> CommandOutput {
        let create = ["transfer", "create", "--user", "7", "--from", "FUNDING", "--to", "SPOT"];
        self.asks(&[&create[..], &["--asset", "USDT", "--json"], more].concat())
    }

    fn batch(&self, lines: &[Value]) -> CommandOutput {
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        let file = self.dir.path().join("batch.jsonl");
        std::fs::write(&file, text).expect("a file");
        let file = file.to_str().expect("a path");
        self.asks(&["transfer", "batch", file, "--user", "7", "--json"])
    }
}

#[test]
fn words_and_dry_runs() {
    let cli = CliFixture::open();
    let words = ["--reference", "inv 1", "--metadata", "a=1", "--metadata", "b=x=y"];
    let dry = cli.creates(&[&["--amount", "5", "--dry-run"], &words[..]].concat());
    assert_eq!((dry.code, dry.json()), (0, json!({"would": "COMMITTED"})), "{dry:?}");
    let poor = cli.creates(&["--amount", "500", "--dry-run"]);
    assert_eq!((poor.code, &poor.json()["would"]), (65, &json!("INSUFFICIENT_BALANCE")));
    let made = cli.creates(&[&["--amount", "5", "--cid", "k"], &words[..]].concat());
    let transfer = made.json();
    assert_eq!((made.code, &transfer["reference"]), (0, &json!("inv 1")), "{made:?}");
    assert_eq!(transfer["metadata"], json!({"a": "1", "b": "x=y"}));
    let id = transfer["req_id"].as_str().expect("an id");
    let shown = cli.asks(&["transfer", "get", id, "--user", "7"]);
    assert!(shown.out.contains("inv 1") && shown.out.contains("b=x=y"), "{shown:?}");
    let bound = cli.creates(&["--amount", "6", "--cid", "k", "--dry-run"]);
    assert_eq!((bound.code, &bound.json()["would"]), (65, &json!("DUPLICATE_REQUEST")));
    assert_eq!(cli.creates(&["--amount", "5", "--metadata", "a"]).code, 64);
    assert_eq!(cli.creates(&["--amount", "5", "--metadata", "a=1", "--metadata", "a=2"]).code, 64);
}

/// Turns red where a fresh key is made and not told: an unclear deposit could not be repeated.
#[test]
fn a_deposit_prints_its_ref() {
    let cli = CliFixture::open();
    let deposit = ["deposit", "--user", "8", "--asset", "USDT", "--amount", "1"];
    let said = cli.asks(&[&deposit[..], &["--json"]].concat());
    let reference = said.json()["ref"].as_str().expect("a ref").to_owned();
    assert_eq!((reference.len(), &said.json()["replayed"]), (26, &json!(false)), "{said:?}");
    let again = cli.asks(&[&deposit[..], &["--ref", &reference, "--json"]].concat());
    assert_eq!((again.code, &again.json()["replayed"]), (0, &json!(true)), "{again:?}");
    let told = cli.asks(&deposit);
    assert!(told.out.lines().any(|line| line.starts_with("ref ")), "{told:?}");
    // who booked it, and why; a repeat is no second row
    let booked = |more: &[&str]| -> Vec<Value> {
        let said = cli.asks(&[&["ops", "movements", "--json"], more].concat());
        said.json()["movements"].as_array().expect("rows").clone()
    };
    assert_eq!(booked(&["--user", "8"]).len(), 2);
    assert!(booked(&["--user", "9"]).is_empty());
    let rows = booked(&["--ref", &reference]);
    let [row] = rows.as_slice() else { panic!("{rows:?}") };
    let told = [&row["kind"], &row["by"], &row["reason"], &row["amount"]];
    let why = "booked on the command line";
    assert_eq!(told, ["deposit", "portage|operator", why, "1.000000"], "{row}");
}

/// Turns red where a line is sent before the whole file fits, and where a refusal for now ends as one for good.
#[test]
fn a_batch_is_sent_as_often_as_one_likes() {
    let cli = CliFixture::open();
    let line = |cid: &str, amount: &str| {
        let (from, to) = ("FUNDING", "SPOT");
        json!({"from": from, "to": to, "asset": "USDT", "amount": amount, "cid": cid})
    };
    let good: Vec<_> = (0..60).map(|n| line(&format!("g{n}"), "1")).collect();
    let first = cli.batch(&good);
    assert_eq!((first.code, first.lines().len()), (0, 60), "{first:?}");
    let again = cli.batch(&good);
    assert_eq!(again.code, 0, "{again:?}");
    for (one, two) in first.lines().iter().zip(again.lines()) {
        assert_eq!(one["req_id"], two["req_id"]);
        assert_eq!((&one["replayed"], &two["replayed"]), (&json!(false), &json!(true)));
    }
    let mixed = cli.batch(&[line("a", "1"), line("b", "5000"), line("c", "1e2"), line("g0", "2")]);
    let outcomes: Vec<_> = mixed.lines().iter().map(|told| told["outcome"].clone()).collect();
    let should = ["COMMITTED", "FAILED", "INVALID_AMOUNT", "DUPLICATE_REQUEST"];
    assert_eq!(outcomes, should.map(|outcome| json!(outcome)), "{mixed:?}");
    assert_eq!(mixed.code, 65);
    let has = || {
        let list = cli.asks(&["account", "list", "--user", "7", "--json"]);
        list.json()[0]["available"].clone()
    };
    let before = has();
    assert_eq!(before, "39.000000");
    // which of two lines under one key came first would be chance
    let twice = cli.batch(&[line("y", "1"), line("y", "2")]);
    assert!(twice.code == 64 && twice.err.contains(":2: `cid`: line 1"), "{twice:?}");
    // a line without a key could be made twice by the same file
    let keyless = cli.batch(&[line("z", "1"), json!({"from": "FUNDING", "to": "SPOT"})]);
    assert!(keyless.code == 64 && keyless.err.contains(":2: "), "{keyless:?}");
    // beyond the first request too, and whatever is wrong with the line
    let wrong = [
        ("cid", json!("a b")),
        ("reference", json!("")),
        ("metadata", json!({"a": "x".repeat(129)})),
        ("amount", json!(1)),
        ("user_id", json!("0")),
        ("no_such_field", json!(1)),
    ];
    for (field, value) in wrong {
        let mut lines: Vec<_> = (0..1100).map(|n| line(&format!("w{n}"), "0.01")).collect();
        lines[1049][field] = value;
        let said = cli.batch(&lines);
        assert!(said.code == 64 && said.err.contains(":1050: "), "{field}: {}", said.err);
    }
    let mut lines: Vec<_> = (0..1100).map(|n| line(&format!("w{n}"), "0.01")).collect();
    lines[1048]["user_id"] = json!("7");
    lines[1049]["user_id"] = json!("8");
    let other = cli.batch(&lines);
    assert!(other.code == 77 && other.err.contains(":1050: "), "{}", other.err);
    assert_eq!(has(), before, "nothing of the last files was sent");
    // a refusal for now is none for good
    let pause = ["ops", "pause", "ledger", "SPOT", "--reason", "a test"];
    assert_eq!(cli.asks(&pause).code, 0);
    let paused = cli.batch(&[line("p", "1"), line("q", "1")]);
    let outcomes: Vec<_> = paused.lines().iter().map(|told| told["outcome"].clone()).collect();
    assert_eq!((paused.code, outcomes), (75, vec![json!("OVERLOADED"); 2]), "{paused:?}");
}

#[test]
fn a_watch_prints_every_step_and_ends() {
    let cli = CliFixture::open();
    let made = cli.creates(&["--amount", "5"]).json();
    let id = made["req_id"].as_str().expect("an id");
    let watched = cli.asks(&["transfer", "watch", id, "--user", "7", "--json"]);
    let steps = watched.lines();
    assert_eq!((watched.code, steps.len()), (0, 5), "{watched:?}");
    assert_eq!((&steps[0]["event"], &steps[4]["to"]), (&json!("CREATED"), &json!("COMMITTED")));
    let poor = cli.creates(&["--amount", "5000"]);
    let id = poor.json()["req_id"].as_str().expect("an id").to_owned();
    let watched = cli.asks(&["transfer", "watch", &id, "--user", "7"]);
    assert!(watched.code == 65 && watched.out.contains("SOURCE_FAIL"), "{watched:?}");
    assert_eq!(cli.asks(&["transfer", "watch", &id, "--user", "8"]).code, 66);
}

#[test]
fn a_list_goes_page_by_page_or_to_the_end() {
    let cli = CliFixture::open();
    for n in 0..5 {
        assert_eq!(cli.creates(&["--amount", "1", "--cid", &format!("k{n}")]).code, 0);
    }
    let list =
        |more: &[&str]| cli.asks(&[&["transfer", "list", "--user", "7", "--json"], more].concat());
    let cids = |said: &CommandOutput| -> Vec<Value> {
        let page = said.json();
        page["transfers"].as_array().expect("rows").iter().map(|row| row["cid"].clone()).collect()
    };
    let first = list(&["--limit", "2"]);
    assert_eq!((first.code, cids(&first)), (0, vec![json!("k4"), json!("k3")]), "{first:?}");
    let next = first.json()["next"].as_str().expect("a cursor").to_owned();
    let second = list(&["--limit", "2", "--cursor", &next]);
    assert_eq!(cids(&second), [json!("k2"), json!("k1")]);
    let all = list(&["--all", "--state", "COMMITTED", "--asset", "USDT", "--to", "SPOT"]);
    assert_eq!((cids(&all).len(), &all.json()["next"]), (5, &Value::Null));
    assert!(cids(&list(&["--from", "SPOT"])).is_empty());
    assert_eq!(cids(&list(&["--cid", "k3"])), [json!("k3")]);
    assert!(cids(&list(&["--cid", "k"])).is_empty(), "a key is found whole");
    let other = cli.asks(&["transfer", "list", "--user", "8", "--cid", "k3", "--json"]);
    assert!(cids(&other).is_empty(), "another user's key");
    let told = cli.asks(&["transfer", "list", "--user", "7", "--limit", "2"]);
    assert!(told.out.contains("COMMITTED") && told.out.contains("--cursor"), "{told:?}");
    assert_eq!(list(&["--limit", "101"]).code, 64);
    let wrong = list(&["--state", "X"]);
    assert!(wrong.code == 64 && wrong.err.contains("SOURCE_PENDING"), "{wrong:?}");
}

/// Turns red where a script cannot tell wrong input from a transfer that failed, or has to read a sentence.
#[test]
fn an_error_is_json_where_json_was_asked_for() {
    let cli = CliFixture::open();
    let error = |said: &CommandOutput| -> Value {
        serde_json::from_str(&said.err).unwrap_or_else(|_| panic!("JSON: {said:?}"))
    };
    let wrong = cli.creates(&["--amount", "1,000"]);
    assert_eq!((wrong.code, &error(&wrong)["code"]), (64, &json!("INVALID_AMOUNT")), "{wrong:?}");
    assert_eq!(error(&wrong)["docs"], "/docs/errors/INVALID_AMOUNT");
    assert!(error(&wrong)["request_id"].as_str().is_some_and(|id| id.len() == 26), "{wrong:?}");
    assert_eq!(cli.creates(&["--amount", "1", "--cid", "k"]).code, 0);
    let other = cli.creates(&["--amount", "2", "--cid", "k"]);
    let fields = error(&other)["mismatched_fields"].clone();
    assert_eq!((other.code, fields), (65, json!(["amount"])), "{other:?}");
    let plain = cli.asks(&["transfer", "list", "--user", "7", "--state", "X"]);
    assert!(plain.err.starts_with("portage: BAD_REQUEST: "), "{plain:?}");
    // a token that no list of processes shows
    let token = cli.asks(&["token", "--sub", "7", "--scope", "transfers:read"]).out;
    let file = cli.dir.path().join("token");
    std::fs::write(&file, token).expect("a file");
    let list = ["transfer", "list", "--token-file", file.to_str().expect("a path")];
    assert_eq!(cli.asks(&list).code, 0);
    std::fs::write(&file, "x.y.z").expect("a file");
    assert_eq!(cli.asks(&list).code, 77);
    assert_eq!(cli.asks(&["transfer", "list", "--token-file", "nowhere"]).code, 66);
}

/// Turns red where a command speaks to an address at which no server listens without saying what to do.
#[test]
fn where_nothing_listens_it_says_what_to_start() {
    let cli = CliFixture::open();
    cli.server.kill();
    // the note of one that was killed stays behind, and does not count
    let said = cli.creates(&["--amount", "5"]);
    assert_eq!(said.code, 69, "{said:?}");
    let start = said.err.contains("portage serve --data-dir");
    assert!(start && said.err.contains("no process serves this folder"), "{said:?}");
    assert_eq!(exit_of(cli.dir.path(), &["transfer", "list", "--user", "7"]), 69);
}

/// A server that reads one request, says nothing, and is gone at the next request.
fn gone() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("its address"));
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a client connects");
        let _read = std::io::Read::read(&mut stream, &mut [0; 4096]);
    });
    url
}

/// What was sent once may have been done: that the way is shut afterwards says nothing of it.
/// (A build that believes the last try says "nothing was sent", and money moves twice.)
#[test]
fn a_server_that_died_on_it_may_have_done_it() {
    let dir = folder();
    let said =
        |words: &[&str]| ran(dir.path(), &[words, &["--url", &gone(), "--token", "t"]].concat());
    let create = ["transfer", "create", "--from", "FUNDING", "--to", "SPOT", "--asset", "USDT"];
    let made = said(&[&create[..], &["--amount", "1"]].concat());
    assert_eq!(made.code, 75, "{made:?}");
    assert!(made.err.contains("outcome unknown") && made.err.contains("--cid "), "{made:?}");
    assert!(!made.err.contains("nothing was sent"), "{made:?}");
    let file = dir.path().join("many.jsonl");
    let line = |cid: usize| {
        json!({ "from": "FUNDING", "to": "SPOT", "asset": "USDT", "amount": "1",
            "cid": cid.to_string() })
    };
    let lines: Vec<_> = (0..700).map(|cid| line(cid).to_string()).collect();
    std::fs::write(&file, lines.join("\n")).expect("a file");
    let made = said(&["transfer", "batch", &file.display().to_string(), "--json"]);
    assert_eq!(made.code, 75, "{made:?}");
    let told = made.lines();
    let outcomes: Vec<_> = told.iter().filter_map(|one| one["outcome"].as_str()).collect();
    let count = |word| outcomes.iter().filter(|outcome| **outcome == word).count();
    assert_eq!((told.len(), count("UNKNOWN"), count("NOT_SENT")), (700, 500, 200), "{}", made.err);
}

/// Turns red where a transfer is not waited for, and where a repeat under its key makes another one.
#[test]
fn a_transfer_between_numbered_accounts_is_made_and_waited_for() {
    let cli = CliFixture::open();
    for (number, owner) in [("ACC-1", "7"), ("ACC-2", "8")] {
        let words = ["account", "pipeline", "open", number, "--owner", owner];
        let said = cli.asks(&[&words[..], &["--currency", "USDT", "--reason", "a test"]].concat());
        assert_eq!(said.code, 0, "{said:?}");
    }
    let deposit = ["account", "pipeline", "deposit", "ACC-1", "--currency", "USDT"];
    assert_eq!(cli.asks(&[&deposit[..], &["--amount", "9"]].concat()).code, 0);
    let pays = |user: &str, more: &[&str]| {
        let words = ["transfer", "account", "--user", user, "--from", "ACC-1", "--to", "ACC-2"];
        cli.asks(&[&words[..], &["--currency", "USDT", "--json"], more].concat())
    };
    let paid = pays("7", &["--amount", "2", "--key", "k"]);
    assert_eq!((paid.code, &paid.json()["status"]), (0, &json!("COMPLETED")), "{paid:?}");
    let again = pays("7", &["--amount", "2", "--key", "k"]);
    let mut replayed = paid.json();
    replayed["replayed"] = json!(true);
    assert_eq!((again.code, again.json()), (0, replayed), "{again:?}");
    let poor = pays("7", &["--amount", "100"]);
    assert_eq!((poor.code, &poor.json()["status"]), (65, &json!("FAILED")), "{poor:?}");
    assert_eq!(pays("8", &["--amount", "2"]).code, 77, "of another owner");
    let id = paid.json()["transferId"].as_str().expect("an id").to_owned();
    let shown = cli.asks(&["transfer", "get", &id, "--flow", "account", "--user", "7"]);
    assert!(shown.code == 0 && shown.out.contains("COMPLETED"), "{shown:?}");
    let lists = |user: &str, more: &[&str]| {
        let words = ["transfer", "list", "--flow", "account", "--user", user];
        cli.asks(&[&words[..], more].concat())
    };
    let mut pages = vec![lists("7", &["--limit", "1", "--json"]).json()];
    let cursor = pages[0]["next"].as_str().expect("a second page").to_owned();
    pages.push(lists("7", &["--limit", "1", "--json", "--cursor", &cursor]).json());
    let ids = |pages: &[serde_json::Value]| {
        let all = pages.iter().flat_map(|page| page["transfers"].as_array().cloned());
        all.flatten().map(|one| one["transferId"].clone()).collect::<Vec<_>>()
    };
    let should = [poor.json()["transferId"].clone(), json!(id)];
    assert_eq!(ids(&pages), should, "one a page, the newest first");
    assert_eq!(ids(&[lists("7", &["--all", "--json"]).json()]), should);
    let table = lists("7", &["--state", "FAILED"]);
    assert!(table.out.contains("ACC-2") && !table.out.contains(&id), "{table:?}");
    assert_eq!(lists("7", &["--asset", "USDT"]).code, 64);
    // no relay is set up here
    let relay = cli.asks(&["transfer", "relay", "--to", "alice.near", "--amount", "1"]);
    assert_ne!(relay.code, 0, "{relay:?}");
}

/// Turns red where the former key is not kept, where the new one is no other, and where the printed settings are not
/// taken.
#[test]
fn the_key_of_the_seals_is_changed() {
    let cli = CliFixture::open();
    assert_eq!(cli.creates(&["--amount", "5"]).code, 0);
    assert_eq!(crate::command::ends(&cli.server, "TERM"), 0);
    let keys = folder();
    let into = keys.path().to_str().expect("a path");
    let rekeys = || cli.asks(&["audit", "rekey", "--into", into]);
    let made = rekeys();
    assert_eq!(made.code, 0, "{made:?}");
    let file = cli.dir.path().join("portage.toml");
    std::fs::write(&file, &made.out).expect("a file");
    let verify = ["audit", "verify", "--config", file.to_str().expect("a path")];
    let verified = cli.asks(&verify);
    assert_eq!(verified.code, 0, "{verified:?}");
    let of = |n: u32| std::fs::read(keys.path().join(format!("audit.key.{n}"))).expect("a key");
    assert_eq!(of(1), std::fs::read(cli.dir.path().join("data/audit.key")).expect("a key"));
    assert!(of(2) != of(1) && of(2).len() == 32);
    // the settings lie in the folder of the command: the key that they name is the next former one
    let again = rekeys();
    assert!(again.code == 0 && of(3) != of(2), "{again:?}");
    let former = again.out.lines().find(|line| line.starts_with("former")).unwrap_or_default();
    let [newest, oldest] = ["audit.key.2", "audit.key.1"].map(|name| former.find(name));
    assert!(newest.is_some() && newest < oldest, "{again:?}");
}
