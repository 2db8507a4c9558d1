//! Webhooks of a real process, to a real receiver that is down, refuses, sends elsewhere or hangs.

use super::{Served, USER, eventually, head, transfer};
use crate::receiver::{Mood, Posted, Receiver, SECRET};
use kernel::ids::{Id, LedgerId};
use kernel::operators::{Case, Severity, Subject};
use kernel::ports::journal::UnitWriter as _;
use kernel::unit::{Put, Unit, Wrote};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use tempfile::TempDir;

const OPENED: &str = "case.opened";
const CLOSED: &str = "case.closed";

/// Opens cases in a folder without a server. Of a transfer that does not exist they stay open; of a
/// ledger that is none the server closes them.
pub(crate) fn opened(dir: &Path, subject: impl IntoIterator<Item = Subject>) {
    let data = dir.join("data");
    std::fs::create_dir_all(&data).expect("a folder");
    let case = |subject| {
        let kind = if matches!(subject, Subject::Ledger(_)) { "SIMPLE_LEDGER" } else { "STUCK" };
        Put::Case(Case { kind, severity: Severity::Warning, subject, facts: "a \"test\"".into() })
    };
    let unit = Unit::puts(subject.into_iter().map(case).collect());
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let journal = server::bootstrap::journal(&data).expect("a journal");
        let wrote = journal.write(vec![unit]).await;
        assert!(matches!(wrote[..], [Wrote::Written(_)]), "{wrote:?}");
    });
    let lock = std::fs::File::open(data.join("portage.lock")).expect("a lock");
    eventually("the folder is free", || lock.try_lock().is_ok());
}

pub(crate) fn stuck(n: u64) -> Subject {
    Subject::Transfer(Id(n.into()))
}

/// A server whose cases are posted there.
fn posting(dir: TempDir, url: &str, more: &[(&str, &str)]) -> Served {
    let hook = [("PORTAGE_ALERTS__WEBHOOK_URL", url), ("PORTAGE_ALERTS__WEBHOOK_SECRET", SECRET)];
    Served::within(dir, &[&hook[..], more].concat())
}

fn count(posted: &[Posted], tells: &str) -> usize {
    let all = posted.iter().map(Posted::tells).filter(|(_, what)| what == tells);
    all.collect::<BTreeSet<_>>().len()
}

/// Each is signed and the same under its id, and no end comes before its beginning was taken.
fn in_order(posted: &[Posted]) {
    let (mut bodies, mut taken) = (BTreeMap::new(), BTreeSet::new());
    for one in posted {
        assert!(one.is_signed(SECRET.as_bytes()), "{one:?}");
        let body = bodies.entry(one.id().to_owned()).or_insert_with(|| one.body.clone());
        assert_eq!(*body, one.body, "{one:?}");
        let (case, tells) = one.tells();
        assert!(tells == OPENED || taken.contains(&(case, OPENED.to_owned())), "{one:?}");
        if one.taken {
            taken.insert((case, tells));
        }
    }
}

/// Seen red with builds that: sign the body alone; draw an id at each try; give up after three tries;
/// take any answer for a yes.
#[test]
fn each_half_is_posted_until_it_was_taken() {
    let dir = tempfile::tempdir().expect("a folder");
    let ledgers = [LedgerId::FUTURE, LedgerId::MARGIN].map(Subject::Ledger);
    opened(dir.path(), (1..=5).map(stuck).chain(ledgers));
    let receiver = Receiver::at(0, Mood::Says(503));
    let mut served = posting(dir, &receiver.url(), &[]);
    eventually("each was tried", || count(&receiver.posted(), OPENED) == 7);
    assert_eq!(count(&receiver.posted(), CLOSED), 0, "{:?}", receiver.posted());
    in_order(&receiver.posted());
    // both die, and come back: the receiver as one that others must not be confused with. It goes first: a
    // server that met it once more says the next thing a minute later, with waits that have grown to minutes
    let (port, mut all) = (receiver.port, receiver.posted());
    drop(receiver);
    served.again(|_| ());
    eventually("no answer comes", || served.log().contains("UNREACHABLE"));
    let receiver = Receiver::at(port, Mood::Says(302));
    let tried = |posted: &[Posted]| posted.iter().map(|one| one.id().to_owned()).collect();
    let seen: BTreeSet<String> = tried(&all);
    eventually("each was tried again", || {
        let again: BTreeSet<String> = tried(&receiver.posted());
        again == seen
    });
    receiver.turns(Mood::Takes);
    let taken = || receiver.posted().into_iter().filter(|one| one.taken).collect::<Vec<_>>();
    eventually("each was taken", || count(&taken(), OPENED) == 7 && count(&taken(), CLOSED) == 2);
    let metrics = || served.ask(&head("GET", "/metrics", "x", "")).page;
    eventually("none waits", || metrics().contains("portage_webhooks_waiting 0\n"));
    assert!(metrics().contains("portage_webhook_tries_total{answer=\"TAKEN\"}"), "{}", metrics());
    assert!(served.log().contains("webhooks are taken again"), "{}", served.log());
    // what was taken is not posted again, and what happens meanwhile is
    let before = receiver.posted().len();
    served.again(|dir| opened(dir, [stuck(6)]));
    eventually("the new one", || receiver.posted().len() > before);
    let new = receiver.posted().split_off(before);
    assert_eq!(new.len(), 1, "{new:?}");
    let subject = &new[0].json()["data"]["subject"];
    assert_eq!(subject, &stuck(6).to_string(), "{new:?}");
    all.extend(receiver.posted());
    in_order(&all);
    assert!(!served.log().contains(SECRET) && !served.log().contains("of=portage"));
    let shown = served.run(&["config"]);
    assert!(!String::from_utf8_lossy(&shown.stdout).contains(SECRET), "{shown:?}");
}

/// Seen red with builds that: follow redirects; take the proxy from the environment.
#[test]
fn no_other_server_answers_in_the_receivers_place() {
    let dir = tempfile::tempdir().expect("a folder");
    opened(dir.path(), [stuck(1)]);
    let other = Receiver::at(0, Mood::Takes);
    let receiver = Receiver::at(0, Mood::Sends(other.url()));
    let proxy = format!("http://127.0.0.1:{}", other.port);
    let proxies = ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"];
    let proxies = proxies.map(|name| (name, proxy.as_str()));
    let served = posting(dir, &receiver.url(), &proxies);
    eventually("it is tried again", || receiver.posted().len() >= 3 || !other.posted().is_empty());
    assert!(other.posted().is_empty(), "{:?}", other.posted());
    receiver.turns(Mood::Takes);
    eventually("it is taken", || receiver.posted().iter().any(|one| one.taken));
    assert!(other.posted().is_empty(), "{:?}", other.posted());
    in_order(&receiver.posted());
    drop(served);
}

/// Seen red with builds that: wait for an answer on the threads that serve; have all under way at once.
#[test]
fn a_receiver_that_hangs_delays_no_other_delivery() {
    let dir = tempfile::tempdir().expect("a folder");
    opened(dir.path(), (1..=40).map(stuck));
    let receiver = Receiver::at(0, Mood::Hangs);
    let served = posting(dir, &receiver.url(), &[]);
    served.fund("4001", "1000");
    let token = served.token("4001", USER);
    let mut n = 0;
    // it is told from the receiver's side: a try that hung before a transfer hangs after it
    eventually("a transfer begins and ends while one and the same try hangs", || {
        n += 1;
        let before = receiver.hanging();
        let reply = served.ask(&transfer(&token, &format!("hung-{n}")));
        assert_eq!(reply.status, 200, "{reply:?}");
        receiver.hanging().iter().any(|one| before.contains(one))
    });
    eventually("the others have their turn", || count(&receiver.posted(), OPENED) > 16);
    assert!(receiver.most() <= 8, "{} at once", receiver.most());
    in_order(&receiver.posted());
}
