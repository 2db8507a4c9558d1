//! Endpoints of a real process: real receivers that take, refuse, hang, die and send elsewhere.

use super::{Served, USER, eventually, post, said, transfer};
use crate::receiver::{Mood, Posted, Receiver};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// A second, again and again: longer than a busy machine takes for anything.
const WAITS: &str = "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,\
    1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1";
/// Receivers on this machine are allowed, and waits are short.
const NEAR: [(&str, &str); 3] = [
    ("PORTAGE_WEBHOOKS__ALLOW_PRIVATE", "true"),
    ("PORTAGE_WEBHOOKS__RETRY_SECONDS", WAITS),
    ("PORTAGE_WEBHOOKS__TIMEOUT_SECONDS", "2"),
];

/// An endpoint and the secret that its receiver checks with.
struct Hook {
    id: String,
    secret: String,
}

/// A command of an operator that must succeed; what it answers.
fn webhook(served: &Served, words: &[&str]) -> Value {
    served.json(&[&["webhook"], words, &["--reason", "a test"]].concat())
}

fn added(served: &Served, target: &str, words: &[&str]) -> Hook {
    let answer = webhook(served, &[&["add", target], words].concat());
    let text = |name: &str| answer[name].as_str().unwrap_or_default().to_owned();
    let hook = Hook { id: text("id"), secret: text("secret") };
    assert!(hook.secret.starts_with("whsec_"), "{answer}");
    hook
}

/// Whether the library that others verify with takes it for signed with that secret.
fn verifies(secret: &str, posted: &Posted) -> bool {
    let mut headers = reqwest::header::HeaderMap::new();
    for name in ["webhook-id", "webhook-timestamp", "webhook-signature"] {
        headers.insert(name, posted.header(name).parse().expect("a header"));
    }
    let verifier = standardwebhooks::Webhook::new(secret).expect("a secret");
    verifier.verify(posted.body.as_bytes(), &headers).is_ok()
}

fn kinds(receiver: &Receiver) -> Vec<String> {
    let kind = |one: &Posted| one.json()["type"].as_str().unwrap_or_default().to_owned();
    receiver.posted().iter().map(kind).collect()
}

fn taken(receiver: &Receiver) -> Vec<Posted> {
    receiver.posted().into_iter().filter(|one| one.taken).collect()
}

/// One transfer of one USDT; its id.
fn moves(served: &Served, token: &str, cid: &str) -> String {
    let reply = served.ask(&transfer(token, cid));
    reply.body["req_id"].as_str().unwrap_or_else(|| panic!("{reply:?}")).to_owned()
}

fn log_of(served: &Served, hook: &Hook) -> Vec<Value> {
    let found = served.json(&["webhook", "deliveries", &hook.id]);
    found.as_array().cloned().unwrap_or_default()
}

/// Opens a transfer between numbered accounts, which the account flow carries.
fn moves_by_account(served: &Served, token: &str) {
    for (number, owner) in [("ACC-1", "4001"), ("ACC-2", "4002")] {
        let words = ["account", "pipeline", "open", number, "--owner", owner];
        let more = ["--currency", "USDT", "--reason", "contract"];
        let (ended, text) = said(&served.run(&[&words[..], &more[..]].concat()));
        assert_eq!(ended, Some(0), "{text}");
    }
    let words = ["account", "pipeline", "deposit", "ACC-1", "--currency", "USDT"];
    let (ended, text) =
        said(&served.run(&[&words[..], &["--amount", "9", "--ref", "wire"]].concat()));
    assert_eq!(ended, Some(0), "{text}");
    let body =
        r#"{"fromAccountNumber":"ACC-1","toAccountNumber":"ACC-2","amount":"1","currency":"USDT"}"#;
    assert_eq!(served.ask(&post("/api/transfers", token, "", body)).status, 201);
}

/// Turns red with builds that: pass over transfers that are open when the cursor comes to them; tell every
/// endpoint of everything; tell an owner nothing of what an account of theirs was paid; sign with the text of the secret instead of its bytes.
#[test]
fn ends_of_every_flow_and_cases_reach_those_who_want_them() {
    let [all, failed, owned] = [(); 3].map(|()| Receiver::at(0, Mood::Takes));
    let mut served = Served::start(&NEAR);
    served.fund("4001", "2");
    let token = served.token("4001", USER);
    moves(&served, &token, "before-the-first-endpoint");
    let every = added(&served, &all.url(), &["--event", "transfer.*"]);
    let some = added(&served, &failed.url(), &["--event", "transfer.failed", "--event", "case.*"]);
    added(&served, &owned.url(), &["--event", "transfer.*", "--owner", "user:4002"]);
    let paid = moves(&served, &token, "paid");
    let refused = moves(&served, &token, "more-than-there-is");
    moves_by_account(&served, &token);
    eventually("all three ends", || all.posted().len() == 3);
    eventually("the failed one", || failed.posted().len() == 1);
    let by_flow = |one: &Posted| {
        let data = &one.json()["data"];
        let text = |name: &str| data[name].as_str().unwrap_or_default().to_owned();
        (text("flow"), one.json()["type"].as_str().unwrap_or_default().to_owned())
    };
    let seen: BTreeSet<_> = all.posted().iter().map(by_flow).collect();
    let should = [
        ("account", "transfer.completed"),
        ("internal", "transfer.completed"),
        ("internal", "transfer.failed"),
    ];
    let should = should.map(|(flow, kind)| (flow.to_owned(), kind.to_owned()));
    assert_eq!(seen, BTreeSet::from(should));
    for one in all.posted() {
        assert!(verifies(&every.secret, &one) && !verifies(&some.secret, &one), "{one:?}");
    }
    let told = failed.posted().remove(0);
    assert!(verifies(&some.secret, &told), "{told:?}");
    assert_eq!(told.json()["data"]["req_id"], *refused);
    assert_eq!(told.json()["data"]["error"], "INSUFFICIENT_BALANCE");
    let first = all.posted().into_iter().find(|one| one.json()["data"]["req_id"] == *paid);
    let first = first.expect("the paid one").json();
    assert_eq!(first["data"]["source"]["amount"], "1.000000");
    assert_eq!(first["data"]["outcome"], "completed");
    // a case that is opened while no server runs is told by the next one
    served.again(|dir| crate::edge::webhooks::opened(dir, [crate::edge::webhooks::stuck(1)]));
    eventually("the case", || failed.posted().len() == 2);
    assert_eq!(kinds(&failed)[1], "case.opened");
    webhook(&served, &["test", &every.id]);
    eventually("the test", || all.posted().len() == 4);
    assert_eq!(kinds(&all)[3], "webhook.test");
    // of the owner 4002 is nothing but the account that was paid
    let paid: Vec<_> = owned.posted().iter().map(by_flow).collect();
    assert_eq!(paid, [("account".to_owned(), "transfer.completed".to_owned())]);
    let shown = webhook_texts(&served);
    assert!(!shown.contains("whsec_") && !served.log().contains("whsec_"), "{shown}");
}

/// Everything that the API and the audit show of endpoints.
fn webhook_texts(served: &Served) -> String {
    let lists: [&[&str]; 3] =
        [&["webhook", "list", "--json"], &["ops", "actions", "--json"], &["config"]];
    lists.iter().map(|words| said(&served.run(words)).1).collect()
}

/// Seen red with a build that begins with what is new at the first look after the endpoint was added: the
/// transfer has ended by then. Turns red too with builds (not run) that: take 302 for a yes; follow it; give
/// up after the first try; draw an id at each try; go on with others where the receiver asks for a pause.
#[test]
fn a_message_is_tried_until_it_was_taken() {
    let other = Receiver::at(0, Mood::Takes);
    let receiver = Receiver::at(0, Mood::Says(500));
    let served = Served::start(&NEAR);
    served.fund("4001", "100");
    let token = served.token("4001", USER);
    let hook = added(&served, &receiver.url(), &["--event", "transfer.*"]);
    moves(&served, &token, "one");
    let moods =
        [Mood::Says(500), Mood::Sends(other.url()), Mood::Dies, Mood::Hangs, Mood::Says(302)];
    let mut tries = 0;
    for mood in moods {
        receiver.turns(mood.clone());
        eventually("one more try", || receiver.posted().len() > tries);
        tries = receiver.posted().len();
    }
    receiver.turns(Mood::Takes);
    eventually("it is taken", || taken(&receiver).len() == 1);
    let ids: BTreeSet<_> = receiver.posted().iter().map(|one| one.id().to_owned()).collect();
    let bodies: BTreeSet<_> = receiver.posted().iter().map(|one| one.body.clone()).collect();
    assert_eq!((ids.len(), bodies.len()), (1, 1));
    assert!(other.posted().is_empty(), "{:?}", other.posted());
    eventually("its log says so", || {
        let log = log_of(&served, &hook);
        log[0]["status"] == "DELIVERED" && log[0]["response_status"] == 204
    });
    // the same under its id, when it is asked for
    let number = log_of(&served, &hook)[0]["number"].to_string();
    webhook(&served, &["resend", &hook.id, &number]);
    eventually("it is sent again", || taken(&receiver).len() == 2);
    assert_eq!(taken(&receiver)[0].id(), taken(&receiver)[1].id());
    // one that asks for a pause is given it, by every message
    receiver.turns(Mood::Throttles(4));
    let before = receiver.posted().len();
    moves(&served, &token, "two");
    eventually("one is turned away", || receiver.posted().len() == before + 1);
    receiver.turns(Mood::Takes);
    moves(&served, &token, "three");
    eventually("both are taken", || taken(&receiver).len() == 4);
    let second = |one: &Posted| one.header("webhook-timestamp").parse::<u64>().expect("a second");
    let (all, asked) = (receiver.posted(), second(&receiver.posted()[before]));
    assert!(all[before + 1..].iter().all(|one| second(one) >= asked + 3), "{all:?}");
}

/// Turns red with a build that never gives a message up, and with one that gives up the endpoint.
#[test]
fn after_the_last_try_a_message_is_given_up_and_can_be_resent() {
    let receiver = Receiver::at(0, Mood::Says(500));
    let settings = [NEAR[0], ("PORTAGE_WEBHOOKS__RETRY_SECONDS", "1"), NEAR[2]];
    let served = Served::start(&settings);
    served.fund("4001", "100");
    let token = served.token("4001", USER);
    let hook = added(&served, &receiver.url(), &["--event", "transfer.*"]);
    moves(&served, &token, "one");
    eventually("it is given up", || {
        log_of(&served, &hook).iter().any(|one| one["status"] == "GIVEN_UP")
    });
    let one = log_of(&served, &hook).remove(0);
    assert_eq!((&one["attempts"], &one["response_status"]), (&2.into(), &500.into()), "{one}");
    assert_eq!(receiver.posted().len(), 2);
    receiver.turns(Mood::Takes);
    webhook(&served, &["resend", &hook.id, &one["number"].to_string()]);
    eventually("it is delivered", || log_of(&served, &hook)[0]["status"] == "DELIVERED");
}

/// Turns red with a build that signs with the newest secret alone, and with one that shows it again.
#[test]
fn after_a_rotation_both_secrets_verify_for_the_time_of_the_overlap() {
    let receiver = Receiver::at(0, Mood::Takes);
    let served = Served::start(&NEAR);
    let hook = added(&served, &receiver.url(), &["--event", "*"]);
    let rotate = ["rotate", &hook.id, "--overlap-seconds", "8", "--key", "rotation-1"];
    let rotated = webhook(&served, &rotate);
    let new = rotated["secret"].as_str().expect("a secret").to_owned();
    assert_ne!(new, hook.secret);
    assert_eq!(webhook(&served, &rotate)["secret"], Value::Null, "it is shown once");
    webhook(&served, &["test", &hook.id]);
    eventually("the test", || receiver.posted().len() == 1);
    let first = receiver.posted().remove(0);
    assert!(verifies(&new, &first) && verifies(&hook.secret, &first), "{first:?}");
    std::thread::sleep(std::time::Duration::from_secs(9));
    webhook(&served, &["test", &hook.id]);
    eventually("the next test", || receiver.posted().len() == 2);
    let second = receiver.posted().remove(1);
    assert!(verifies(&new, &second) && !verifies(&hook.secret, &second), "{second:?}");
    assert_ne!(first.id(), second.id());
}

/// Turns red with builds that: check the address when it is added, and not the one that is connected to;
/// check names and no numbers.
#[test]
fn a_private_address_is_refused_by_number_and_by_name() {
    let receiver = Receiver::at(0, Mood::Takes);
    let served = Served::start(&NEAR[1..]);
    let add = |target: &str| {
        said(&served.run(&["webhook", "add", target, "--event", "*", "--reason", "a test"]))
    };
    for target in [&*receiver.url(), "https://10.0.0.7/x", "https://[::1]/x", "https://0x7f.1/x"] {
        let (ended, text) = add(target);
        assert!(ended != Some(0) && text.contains("private network"), "{target}: {text}");
    }
    let (ended, text) = add("http://hooks.example/x");
    assert!(ended != Some(0) && text.contains("https://"), "{text}");
    // a name says nothing before it is asked, and then leads here
    let name = format!("http://localhost:{}/hook", receiver.port);
    let hook = added(&served, &name, &["--event", "*"]);
    webhook(&served, &["test", &hook.id]);
    eventually("it was tried", || {
        let log = log_of(&served, &hook);
        log.iter()
            .any(|one| one["error"].as_str().is_some_and(|why| why.contains("PRIVATE_ADDRESS")))
    });
    assert!(receiver.posted().is_empty(), "{:?}", receiver.posted());
}

/// Turns red with builds that: go on posting after 410; forget the case; replay what the endpoint does not
/// want, or under other ids.
#[test]
fn one_that_is_gone_is_disabled_and_a_replay_sends_what_it_missed() {
    let receiver = Receiver::at(0, Mood::Says(410));
    let served = Served::start(&NEAR);
    served.fund("4001", "100");
    let token = served.token("4001", USER);
    let hook = added(&served, &receiver.url(), &["--event", "transfer.completed"]);
    moves(&served, &token, "gone");
    let status = || served.json(&["webhook", "show", &hook.id])["status"].clone();
    eventually("it is disabled", || status() == "DISABLED");
    let cases = || said(&served.run(&["ops", "cases", "--json"])).1;
    assert!(cases().contains("WEBHOOK_DISABLED"), "{}", cases());
    let since = served.json(&["webhook", "show", &hook.id])["created_at"].clone();
    let since = since.as_str().expect("a time").to_owned();
    for n in 0..5 {
        moves(&served, &token, &format!("missed-{n}"));
    }
    let (ended, text) = said(&served.run(&["webhook", "test", &hook.id, "--reason", "a test"]));
    assert!(ended != Some(0) && text.contains("DISABLED"), "{text}");
    std::thread::sleep(std::time::Duration::from_secs(2));
    assert_eq!(receiver.posted().len(), 1);
    receiver.turns(Mood::Takes);
    webhook(&served, &["enable", &hook.id]);
    let closed = || said(&served.run(&["ops", "cases", "--status", "closed", "--json"])).1;
    eventually("its case is closed", || closed().contains("WEBHOOK_DISABLED"));
    let preview = webhook(&served, &["replay", &hook.id, "--since", &since, "--dry-run"]);
    assert_eq!(
        (&preview["messages"], &preview["complete"]),
        (&6.into(), &true.into()),
        "{preview}"
    );
    assert_eq!(receiver.posted().len(), 1, "a preview sends nothing");
    webhook(&served, &["replay", &hook.id, "--since", &since]);
    eventually("all of them", || taken(&receiver).len() == 6);
    let count = |posted: &[Posted]| {
        let mut ids = BTreeMap::<String, usize>::new();
        for one in posted {
            *ids.entry(one.id().to_owned()).or_default() += 1;
        }
        ids
    };
    let once = count(&taken(&receiver));
    assert_eq!(once.len(), 6);
    assert!(once.contains_key(receiver.posted()[0].id()), "an id stays");
    // and again, from the same point: the same ids
    webhook(&served, &["replay", &hook.id, "--since", &since]);
    eventually("all of them twice", || taken(&receiver).len() == 12);
    assert!(count(&taken(&receiver)).values().all(|times| *times == 2));
}

/// Turns red with builds that: queue for an endpoint that is down without end (the release before); disable it
/// without a warning before; disable it again at once when it is back, or by its own replay; let the replay wait for
/// what was queued before.
#[test]
fn one_that_is_down_has_a_bound_and_a_replay_sends_the_rest() {
    const MANY: usize = 130;
    let receiver = Receiver::at(0, Mood::Says(503));
    // each is tried once, and then only by the replay
    let once = ("PORTAGE_WEBHOOKS__RETRY_SECONDS", "3600");
    let most = ("PORTAGE_WEBHOOKS__MAX_WAITING", "100");
    let served = Served::start(&[NEAR[0], once, NEAR[2], most]);
    served.fund("4001", "2000");
    let token = served.token("4001", USER);
    let hook = added(&served, &receiver.url(), &["--event", "transfer.completed"]);
    let since = served.json(&["webhook", "show", &hook.id])["created_at"].clone();
    let since = since.as_str().expect("a time").to_owned();
    let open = || said(&served.run(&["ops", "cases", "--json"])).1;
    let closed = || said(&served.run(&["ops", "cases", "--status", "closed", "--json"])).1;
    for n in 0..60 {
        moves(&served, &token, &format!("one-{n}"));
    }
    eventually("half of them wait", || open().contains("WEBHOOK_BACKLOG"));
    let status = || served.json(&["webhook", "show", &hook.id])["status"].clone();
    assert_eq!(status(), "ACTIVE");
    for n in 60..MANY {
        moves(&served, &token, &format!("one-{n}"));
    }
    eventually("it is disabled", || status() == "DISABLED");
    assert!(open().contains("webhooks.max_waiting"), "{}", open());
    assert!(closed().contains("WEBHOOK_BACKLOG"), "{}", closed());
    receiver.turns(Mood::Takes);
    webhook(&served, &["enable", &hook.id]);
    webhook(&served, &["replay", &hook.id, "--since", &since]);
    let all = || taken(&receiver).iter().map(|one| one.id().to_owned()).collect::<BTreeSet<_>>();
    eventually("all of them", || all().len() == MANY);
    assert_eq!(status(), "ACTIVE");
}

/// Turns red with a build whose cursor is kept in RAM alone.
#[test]
fn what_is_committed_before_a_kill_is_told_after_it() {
    let receiver = Receiver::at(0, Mood::Says(503));
    let mut served = Served::start(&NEAR);
    served.fund("4001", "100");
    let token = served.token("4001", USER);
    added(&served, &receiver.url(), &["--event", "transfer.completed"]);
    let mut made = BTreeSet::new();
    for round in 0..3 {
        for n in 0..10 {
            made.insert(moves(&served, &token, &format!("{round}-{n}")));
        }
        served.again(|_| ());
    }
    receiver.turns(Mood::Takes);
    let told = || -> BTreeSet<String> {
        let id = |one: Posted| one.json()["data"]["req_id"].as_str().unwrap_or_default().to_owned();
        taken(&receiver).into_iter().map(id).collect()
    };
    eventually("each of them", || told() == made);
}
