//! The caller's own transfers, newest first.

use super::{CREATE, Door, Reply, USER, transfer};
use serde_json::{Value, json};

const LIST: &str = "/api/v1/internal_transfers";

async fn listed(door: &Door, who: (&str, &str), query: &str) -> Reply {
    let reply = door.get(who, &format!("{LIST}?{query}")).await;
    assert_eq!(reply.status, 200, "{query}: {reply:?}");
    reply
}

fn rows(reply: &Reply) -> Vec<Value> {
    reply.body["transfers"].as_array().unwrap_or_else(|| panic!("rows: {reply:?}")).clone()
}

fn cids(reply: &Reply) -> Vec<String> {
    let cid = |row: &Value| row["cid"].as_str().unwrap_or_default().to_owned();
    rows(reply).iter().map(cid).collect()
}

/// Turns red where a page repeats a row, leaves one out, or stands in another order.
#[tokio::test]
async fn pages_hold_every_row_once_newest_first() {
    let door = Door::open().await;
    door.fund(4001, "100").await;
    let user = ("4001", USER);
    let all: Vec<_> = (0..25).map(|n| format!("k{n:02}")).collect();
    for cid in &all {
        assert_eq!(door.post(user, CREATE, transfer("1", cid)).await.status, 200);
    }
    let newest: Vec<_> = all.iter().rev().cloned().collect();
    for limit in [1, 7, 24, 25, 26, 100] {
        let (mut seen, mut query, mut pages) = (Vec::new(), format!("limit={limit}"), 0);
        loop {
            let page = listed(&door, user, &query).await;
            pages += 1;
            assert!(rows(&page).len() <= limit);
            seen.extend(cids(&page));
            match page.body["next"].as_str() {
                Some(next) => query = format!("limit={limit}&cursor={next}"),
                None => break,
            }
            // what is made meanwhile is above the first page
            if pages == 1 && limit == 7 {
                let more = door.post(user, CREATE, transfer("5000", "late")).await;
                assert_eq!(more.status, 422);
            }
        }
        seen.retain(|cid| cid != "late");
        assert_eq!(seen, newest, "{limit}");
        assert_eq!(pages, newest.len().div_ceil(limit) + usize::from(limit == 25), "{limit}");
    }
    let page = listed(&door, user, "limit=1").await;
    let row = rows(&page)[0].clone();
    let path = format!("{CREATE}/{}", row["req_id"].as_str().expect("an id"));
    let mut story = door.get(user, &path).await.body;
    for field in ["history", "error", "retry_count"] {
        story.as_object_mut().expect("an object").remove(field);
    }
    assert_eq!(row, story, "a row is what a get shows, but for the history");
}

#[tokio::test]
async fn each_filter_does_what_it_says() {
    let door = Door::open().await;
    door.fund(4001, "100").await;
    let user = ("4001", USER);
    let make = |from: &str, to: &str, asset: &str, amount: &str, cid: &str| json!({"from": from, "to": to, "asset": asset, "amount": amount, "cid": cid});
    for (body, status) in [
        (make("FUNDING", "SPOT", "USDT", "10", "out"), 200),
        (make("SPOT", "FUNDING", "USDT", "1", "back"), 200),
        (make("FUNDING", "SPOT", "USDT", "999", "poor"), 422),
        (make("FUNDING", "SPOT", "BTC", "1", "btc"), 422),
    ] {
        assert_eq!(door.post(user, CREATE, body).await.status, status);
    }
    for (query, expected) in [
        ("", vec!["btc", "poor", "back", "out"]),
        ("state=COMMITTED", vec!["back", "out"]),
        ("state=FAILED", vec!["btc", "poor"]),
        ("state=PENDING", vec![]),
        ("state=ROLLED_BACK", vec![]),
        ("asset=BTC", vec!["btc"]),
        ("asset=ETH", vec![]),
        ("from=SPOT", vec!["back"]),
        ("to=SPOT", vec!["btc", "poor", "out"]),
        ("from=MARGIN", vec![]),
        ("from=FUNDING&to=SPOT&state=COMMITTED&asset=USDT", vec!["out"]),
        ("from=1970-01-01T00:00:00Z", vec!["btc", "poor", "back", "out"]),
        ("from=9999-01-01T00:00:00Z", vec![]),
        ("to=1970-01-01T00:00:00Z", vec![]),
        ("to=9999-01-01T00:00:00%2B01:00&from=SPOT", vec!["back"]),
    ] {
        assert_eq!(cids(&listed(&door, user, query).await), expected, "{query}");
    }
    // a time counts from the very moment on, and up to right before it
    let at = |row: &Value| row["created_at"].as_str().expect("a time").to_owned();
    let all = rows(&listed(&door, user, "").await);
    let oldest = at(&all[3]);
    assert_eq!(listed(&door, user, &format!("from={oldest}")).await.body["transfers"], json!(all));
    assert_eq!(cids(&listed(&door, user, &format!("to={oldest}")).await), [""; 0]);
    for query in [
        "state=committed",
        "state=X",
        "from=spot",
        "from=2026-01-01",
        "to=yesterday",
        "limit=0",
        "limit=101",
        "limit=x",
        "cursor=1",
        "cursor=",
        "user=4002",
        "user_id=4002",
        "state=FAILED&state=COMMITTED",
    ] {
        let reply = door.get(user, &format!("{LIST}?{query}")).await;
        assert_eq!((reply.status, reply.code()), (400, "BAD_REQUEST"), "{query}: {reply:?}");
    }
    let reply = door.get(user, &format!("{LIST}?asset=XYZ")).await;
    assert_eq!((reply.status, reply.code()), (400, "INVALID_ASSET"), "{reply:?}");
}

/// Turns red where one sees what is another's.
#[tokio::test]
async fn each_caller_lists_its_own() {
    let door = Door::open().await;
    let any = "transfers:create transfers:read transfers:any";
    for user in [4001, 4002] {
        door.fund(user, "100").await;
        let who = (&*user.to_string(), USER);
        let made = door.post(who, CREATE, transfer("1", &format!("own-{user}"))).await;
        assert_eq!(made.status, 200);
        for service in ["svc-a", "svc-b"] {
            let mut asked = transfer("1", &format!("{service}-{user}"));
            asked["user_id"] = json!(user);
            assert_eq!(door.post((service, any), CREATE, asked).await.status, 200);
        }
    }
    for (who, expected) in [
        (("4001", USER), vec!["svc-b-4001", "svc-a-4001", "own-4001"]),
        (("4002", USER), vec!["svc-b-4002", "svc-a-4002", "own-4002"]),
        (("svc-a", any), vec!["svc-a-4002", "svc-a-4001"]),
        (("svc-c", any), vec![]),
        (("4003", USER), vec![]),
        (("root", "admin"), vec![]),
    ] {
        assert_eq!(cids(&listed(&door, who, "").await), expected, "{who:?}");
    }
    assert_eq!(door.get(("svc-a", "transfers:read"), LIST).await.status, 403, "no user's token");
    assert_eq!(door.get(("4001", "transfers:create"), LIST).await.status, 403);
}
