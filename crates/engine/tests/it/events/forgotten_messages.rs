//! What groups consumed is forgotten with the published message, once the transfer has ended.

use super::fixture::{AccountService, TOPICS};
use kernel::ids::Millis;
use kernel::ports::clock::Clock as _;
use kernel::ports::journal::UnitWriter as _;
use kernel::record::Record;
use kernel::unit::{Put, Unit, Wrote};
use testkit::{MINUTE, wait_until};

const DAY: Millis = 86_400_000;
/// An amount whose checks get no answer.
const STUCK: u128 = 77;

impl AccountService {
    fn rows(&self, of: &str) -> i64 {
        let sql = format!("SELECT count(*) FROM {of}");
        self.service.tool().query_row(&sql, [], |row| row.get(0)).expect("a count")
    }
}

/// Nothing grows for ever: eight days later nothing says which groups had the messages of a transfer that ended. A
/// message that comes again then moves nothing, is no dead letter, and the audit misses nothing. A transfer that is
/// still open keeps its rows.
///
/// Turns red where the rows of the inbox stay (the release before), where they go while their transfer is open,
/// and where the audit takes what was forgotten for what never came.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_groups_consumed_is_forgotten_and_has_no_second_effect() {
    let mut test = AccountService::open(true).await.with_money().await;
    test.service.pipeline_faults.fail(STUCK);
    test.account("C-1", 1, 500).await;
    let stuck = test.open_transfer("C-1", "B-1", STUCK).await.id;
    let ids = [
        test.open_transfer("A-1", "B-1", 10).await.id,
        test.open_transfer("A-1", "B-1", 5_000).await.id,
    ];
    test.wait_for_end(&ids).await;
    test.audited().await;
    test.outbox_published().await;
    let records = test.service.records(&ids).await;
    let versions = |of: &[Record]| of.iter().map(|one| one.head.version).collect::<Vec<_>>();
    let sent = test.messages(&TOPICS).await;
    let of_ended = sent.iter().filter(|one| !one.payload.contains(&stuck.to_string()));
    assert_eq!(of_ended.clone().count(), 5);
    test.service.clock.forward(9 * DAY);
    // as processes leave it that ran for these days: a start takes no clock's word for them
    let bound = test.service.clock.now().saturating_sub(7 * DAY).to_string().into();
    let put = Put::Resource { name: "outbox-history".into(), value: bound };
    let wrote = test.service.store().write(vec![Unit::puts(vec![put])]).await.pop();
    assert!(matches!(wrote, Some(Wrote::Written(_))), "{wrote:?}");
    test.service.restart().await;
    let ours = format!(
        "inbox WHERE event_id IN (SELECT replace(id, '-', '') FROM outbox WHERE req_id = '{stuck}')"
    );
    let kept = wait_until(MINUTE, async || test.rows("inbox") == test.rows(&ours)).await;
    assert!(kept, "{} rows, {} of the open transfer", test.rows("inbox"), test.rows(&ours));
    assert!(test.rows(&ours) > 0, "the open transfer keeps its rows");
    let rows = test.service.engine.messaging.audit_rows(&records).await.expect("rows");
    assert!(rows.iter().filter_map(|row| row.message).all(|one| one.audited.is_none()));
    for message in of_ended {
        test.put_on_bus(message.clone()).await;
    }
    test.audited().await;
    let had = async || test.rows("inbox WHERE consumer = 'audit-group'") > 5;
    assert!(wait_until(MINUTE, had).await, "the audit had them again");
    test.holds("A-1", 990).await;
    test.holds("B-1", 10).await;
    assert_eq!(versions(&test.service.records(&ids).await), versions(&records), "nothing moved");
    let dead = ["transfer-validation-dlt", "transfer-execution-dlt"];
    assert_eq!(test.messages(&dead).await, []);
    assert!(
        !format!("{:?}", test.service.cases()).contains("MESSAGE_"),
        "{:?}",
        test.service.cases()
    );
    test.in_order().await;
}
