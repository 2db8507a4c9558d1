//! The operators' side of the pipeline by the command line, on both stores and over a kill.

use super::{Served, USER, eventually, on_postgres, post, said};
use serde_json::{Value, json};

/// A command, and what it printed.
fn runs(served: &Served, words: &[&str], code: i32) -> String {
    let (ended, text) = said(&served.run(words));
    assert_eq!(ended, Some(code), "{words:?}: {text}");
    text
}

fn shown(served: &Served, words: &[&str]) -> Value {
    let all: Vec<&str> = words.iter().copied().chain(["--json"]).collect();
    let text = runs(served, &all, 0);
    serde_json::from_str(&text).unwrap_or_else(|fault| panic!("{fault}: {text}"))
}

/// Opens a transfer; its id.
fn opens(served: &Served, key: &str) -> String {
    let body = json!({"fromAccountNumber": "ACC-1", "toAccountNumber": "ACC-2", "amount": "1",
        "currency": "USDT", "description": "a, \"b\""})
    .to_string();
    let (token, key) = (served.token("4001", USER), format!("idempotency-key: {key}\r\n"));
    let reply = served.ask(&post("/api/transfers", &token, &key, &body));
    reply.body["transferId"].as_str().expect("an id").to_owned()
}

fn state(served: &Served, id: &str) -> String {
    shown(served, &["ops", "show", id])["state"].as_str().expect("a state").to_owned()
}

fn group(served: &Served, name: &str) -> Value {
    let status = shown(served, &["pipeline", "status"]);
    let groups = status["groups"].as_array().expect("groups");
    groups.iter().find(|group| group["group"] == name).expect("the group").clone()
}

/// A message that no consumer can take, as another program would write it.
fn poison(served: &Served) {
    let file = served.dir.path().join("data/bus.db");
    let bus = testbed::beside(&file);
    let sql = "INSERT INTO ends VALUES ('transfer-validation', 0, 1) \
               ON CONFLICT DO UPDATE SET next = next + 1 RETURNING next - 1";
    let offset: i64 = bus.query_row(sql, [], |row| row.get(0)).expect("an offset");
    let row = "INSERT INTO messages VALUES ('transfer-validation', 0, ?, \
               '00000000-0000-8000-8000-000000000007', 'ACC-9', 'no JSON', '{}', \
               unixepoch() * 1000)";
    bus.execute(row, [offset]).expect("a message");
}

const REASON: [&str; 2] = ["--reason", "a test"];

/// What operators do to messages: seen red where a pause is not stored, and where a redrive or a
/// re-emission gives new ids.
fn operators_look_after_messages(settings: &[(&str, &str)]) {
    let mut served = Served::start(settings);
    a_group_is_paused_and_goes_on(&mut served);
    dead_letters_go_back(&served);
    what_was_published_is_sent_again_and_exported(&served);
    let actions = runs(&served, &["ops", "actions"], 0);
    for kind in ["PAUSE", "SEEK", "UNPAUSE", "REDRIVE", "REEMIT"] {
        assert!(actions.contains(kind), "{kind}: {actions}");
    }
    let (code, text) = said(&served.run(&["check"]));
    assert_eq!(code, Some(0), "{text}");
}

fn a_group_is_paused_and_goes_on(served: &mut Served) {
    for (number, owner) in [("ACC-1", "4001"), ("ACC-2", "4002")] {
        let open = ["account", "pipeline", "open", number, "--owner", owner];
        let more = ["--currency", "USDT", "--reason", "contract"];
        runs(served, &[&open[..], &more[..]].concat(), 0);
    }
    let deposit = ["account", "pipeline", "deposit", "ACC-1", "--currency", "USDT"];
    runs(served, &[&deposit[..], &["--amount", "100", "--ref", "wire-1"]].concat(), 0);
    let first = opens(served, "k-1");
    eventually("it is carried out", || state(served, &first) == "COMPLETED");

    let seek = ["pipeline", "seek", "execution-group", "--to", "2020-01-01T00:00:00Z"];
    let refused = runs(served, &[&seek[..], &REASON[..]].concat(), 65);
    assert!(refused.contains("pause it"), "{refused}");
    let pause = ["pipeline", "pause", "execution-group"];
    runs(served, &[&pause[..], &REASON[..]].concat(), 0);
    served.again(|_| ());
    let second = opens(served, "k-2");
    eventually("it is validated", || state(served, &second) == "VALIDATED");
    let paused = group(served, "execution-group");
    assert_eq!((&paused["status"], paused["lag"].as_u64()), (&json!("paused"), Some(1)));
    assert_eq!(state(served, &second), "VALIDATED");
    let preview = runs(served, &[&seek[..], &["--dry-run"], &REASON[..]].concat(), 0);
    assert!(preview.contains("transfer-execution"), "{preview}");
    let sought = runs(served, &[&seek[..], &REASON[..]].concat(), 0);
    assert!(sought.contains("SOUGHT"), "{sought}");
    let resume = ["pipeline", "resume", "execution-group"];
    runs(served, &[&resume[..], &REASON[..]].concat(), 0);
    eventually("it goes on", || state(served, &second) == "COMPLETED");
    eventually("no lag is left", || group(served, "execution-group")["lag"] == 0);
}

fn dead_letters_go_back(served: &Served) {
    poison(served);
    let list = ["dlt", "list", "transfer-validation-dlt"];
    eventually("it is a dead letter", || shown(served, &list)["waiting"] == 1);
    let letter = shown(served, &list)["messages"][0].clone();
    assert_eq!((&letter["reason"], &letter["key"]), (&json!("UNREADABLE"), &json!("ACC-9")));
    let place = [&letter["partition"], &letter["offset"]].map(ToString::to_string);
    let show = ["dlt", "show", "transfer-validation-dlt", &place[0], &place[1]];
    assert!(runs(served, &show, 0).contains("no JSON"));
    let redrive = ["dlt", "redrive", "transfer-validation-dlt", "--max-replays", "1"];
    let preview = runs(served, &[&redrive[..], &["--dry-run"], &REASON[..]].concat(), 0);
    assert!(preview.contains("UNREADABLE"), "{preview}");
    let sent = runs(served, &[&redrive[..], &REASON[..]].concat(), 0);
    assert!(sent.contains("REDRIVEN"), "{sent}");
    eventually("it comes back", || {
        let back = shown(served, &list)["messages"][0].clone();
        back["replays"] == 1 && back["id"] == letter["id"]
    });
    runs(served, &[&redrive[..], &REASON[..]].concat(), 0);
    assert_eq!(shown(served, &list)["waiting"], 0);
}

fn what_was_published_is_sent_again_and_exported(served: &Served) {
    let range = ["--from", "2020-01-01T00:00:00Z", "--to"];
    let to = shown(served, &["pipeline", "status"])["at"].as_str().expect("a time").to_owned();
    let reemit = [&["outbox", "reemit"], &range[..], &[&to]].concat();
    let preview = runs(served, &[&reemit[..], &["--dry-run"], &REASON[..]].concat(), 0);
    assert!(preview.contains("messages"), "{preview}");
    let again = runs(served, &[&reemit[..], &REASON[..]].concat(), 0);
    assert!(again.contains("REEMITTED"), "{again}");
    eventually("all is consumed", || group(served, "execution-group")["lag"] == 0);
    let account = shown(served, &["account", "pipeline", "show", "ACC-2"]);
    assert_eq!(account["balance"], "2.000000");

    let export = [&["pipeline", "export"], &range[..], &["2100-01-01T00:00:00Z"]].concat();
    eventually("the audit had every message", || {
        let text = runs(served, &export, 0);
        let lines: Vec<Value> =
            text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        let told = lines.iter().filter(|line| line["message_id"].is_string());
        lines.len() == 10 && told.clone().count() == 6 && told.clone().all(|l| l["audited"] == true)
    });
    let csv = runs(served, &[&export[..], &["--format", "csv"]].concat(), 0);
    assert!(csv.starts_with("transfer_id,sequence,"), "{csv}");
    assert_eq!(csv.lines().count(), 11, "{csv}");
}

#[test]
fn operators_look_after_messages_in_a_folder() {
    operators_look_after_messages(&[]);
}

#[test]
fn operators_look_after_messages_in_postgresql() {
    let database = testbed::Database::given().expect("a database");
    operators_look_after_messages(&on_postgres(&database));
}
