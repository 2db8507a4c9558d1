//! Two deployments on the same topics: what the other one wrote is passed over, and a start on the other one's
//! topics is refused.

use super::fixture::AccountService;
use kernel::ports::bus::{Bus as _, BusMessage};
use serde_json::{Map, Value};
use testkit::{MINUTE, wait_until};

const EXECUTION: &str = "transfer-execution";
/// The topics that the groups of the flow consume.
const TOPICS: [&str; 4] =
    ["transfer-validation", "transfer-execution", "transfer-completed", "transfer-failed"];
/// More keys than it takes for twenty messages in each partition.
const FLOOD: u128 = 200;
const OTHER: &str = "/portage/000000000000000000000000000000ff";

fn of_source(message: BusMessage, source: &str) -> BusMessage {
    let mut headers: Map<String, Value> = serde_json::from_str(&message.headers).expect("headers");
    headers.insert("ce_source".to_owned(), source.into());
    BusMessage { headers: Value::Object(headers).to_string().into(), ..message }
}

impl AccountService {
    fn foreign_cases(&self) -> Vec<String> {
        let cases = self.service.cases().into_iter();
        cases.filter(|(_, kind, _)| kind == "FOREIGN_MESSAGES").map(|(.., facts)| facts).collect()
    }

    async fn consumed(&self, group: &str, topic: &str) {
        let done = wait_until(MINUTE, async || {
            let lag = self.bus().lag(group.into(), vec![topic.into()]).await.expect("the lag");
            lag.iter().all(|of| of.messages() == 0)
        });
        assert!(done.await, "{group} is behind");
    }
}

/// A message of another deployment moves nothing, is no dead letter and no contradiction, and opens one case with
/// all others. One of the release before, which did not write the journal's id, moves its transfer.
///
/// Turns red where the source of a message is not looked at: the transfer moves, and others of its kind are dead
/// letters.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn messages_of_another_deployment_are_passed_over() {
    let test = AccountService::open(true).await.with_money().await;
    let first = test.open_transfer("A-1", "B-1", 10).await.id;
    test.wait_for_end(&[first]).await;
    let own = test.message_of(first, EXECUTION).await;
    assert!(own.headers.contains("\"/portage/"), "{}", own.headers);
    test.service.pipeline_faults.lost.lock().expect("no panic").insert(EXECUTION);
    let id = test.open_transfer("A-1", "B-1", 20).await.id;
    test.service.wait_for_state(id, "VALIDATED").await;
    test.outbox_published().await;
    test.service.pipeline_faults.heal();
    let number = kernel::message::number(id, EXECUTION, 0);
    let payload = own.payload.replace(&first.to_string(), &id.to_string()).into();
    let genuine = BusMessage { number, payload, ..own };
    for n in 0..20 {
        let strange = of_source(genuine.clone(), OTHER);
        let payload = if n == 0 { strange.payload.clone() } else { "no JSON".into() };
        test.put_on_bus(BusMessage { number: number + n, payload, ..strange }).await;
    }
    test.consumed("execution-group", EXECUTION).await;
    test.consumed("audit-group", EXECUTION).await;
    test.service.wait_for_open_case("FOREIGN_MESSAGES").await;
    test.service.wait_for_state(id, "VALIDATED").await;
    assert_eq!(test.messages(&["transfer-execution-dlt"]).await, []);
    assert_eq!(test.mismatches(), [""; 0]);
    let cases = test.foreign_cases();
    assert!(matches!(&*cases, [facts] if facts.contains(OTHER)), "{cases:?}");
    test.put_on_bus(of_source(genuine, "/portage")).await;
    test.wait_for_end(&[id]).await;
    test.holds("B-1", 30).await;
    test.in_order().await;
}

/// A journal does not begin on topics whose newest messages are another journal's. One that wrote there itself
/// begins, also where another one wrote after it.
///
/// Turns red where a start does not look at the topics.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_start_on_the_topics_of_another_journal_is_refused() {
    let mut one = AccountService::open(true).await.with_money().await;
    let id = one.open_transfer("A-1", "B-1", 10).await.id;
    one.wait_for_end(&[id]).await;
    one.outbox_published().await;
    let mut two = AccountService::open(true).await;
    two.service.stop().await;
    two.service.bus = one.service.bus.clone();
    let refused = two.service.refused_start().await;
    let detail = refused.to_string();
    assert_eq!(refused.class, "FOREIGN_TOPICS", "{detail}");
    assert!(detail.contains("transfer-"), "{detail}");
    one.service.restart().await;
    let last = one.message_of(id, "transfer-completed").await;
    one.put_on_bus(of_source(last, OTHER)).await;
    one.service.restart().await;
    let again = one.open_transfer("A-1", "B-1", 10).await.id;
    one.wait_for_end(&[again]).await;
    one.in_order().await;
}

/// A journal whose topics these are begins on them however much another one wrote there meanwhile, and the other one is
/// still refused.
///
/// Turns red where a start believes the newest messages alone: twenty in each partition kept the owner out for ever.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_another_journal_wrote_keeps_no_owner_from_its_topics() {
    let mut one = AccountService::open(true).await.with_money().await;
    let id = one.open_transfer("A-1", "B-1", 10).await.id;
    one.wait_for_end(&[id]).await;
    one.outbox_published().await;
    one.service.stop().await;
    for topic in TOPICS {
        for n in 0..FLOOD {
            let headers = format!(r#"{{"ce_source":"{OTHER}"}}"#).into();
            let (topic, key, payload) = (topic.into(), n.to_string().into(), "{}".into());
            one.put_on_bus(BusMessage { topic, key, number: n, payload, headers }).await;
        }
    }
    one.service.restart().await;
    let again = one.open_transfer("A-1", "B-1", 10).await.id;
    one.wait_for_end(&[again]).await;
    one.in_order().await;
    let mut two = AccountService::open(true).await;
    two.service.stop().await;
    two.service.bus = one.service.bus.clone();
    assert_eq!(two.service.refused_start().await.class, "FOREIGN_TOPICS");
}
