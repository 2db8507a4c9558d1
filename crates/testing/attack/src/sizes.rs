//! Too much of everything: each is refused in the contract's own words, and never by a 5xx.

use crate::Outcome;
use crate::owners::{CREATE, transfer};
use crate::report::Part;
use crate::target::{Reply, Request, Target};
use serde_json::{Value, json};

/// The most that a body may have, and that of a batch.
const BODY: usize = 16 * 1024;
const BATCH: usize = 1024 * 1024;
const LIST: &str = "/api/v1/internal_transfers";

/// Heads, paths, bodies, keys, ids and parameters of lists.
///
/// # Errors
/// No server listens.
pub fn run(target: &Target, token: &str) -> Outcome<Part> {
    let mut part = Part::default();
    let good = target.ask(&dry(&transfer("good").to_string()).token(token))?;
    part.must(good.status == 200, || format!("the good request: {}", good.short()));
    let mut all = heads();
    all.extend(bodies());
    all.extend(fields());
    all.extend(batches());
    all.extend(parameters());
    all.extend(ids());
    for (what, request, allowed) in all {
        let reply = target.ask(&request.token(token))?;
        part.must(fits(&reply, allowed), || format!("{what}: {}", reply.short()));
    }
    Ok(part)
}

/// One of these, and an error as the contract has them. Heads that cannot be read have no such body;
/// 0 is a connection that was closed while we still spoke.
fn fits(reply: &Reply, allowed: &[u16]) -> bool {
    // a dry run says in its answer what the create would be refused with
    let would = reply.json().get("would").and_then(Value::as_str).map(str::to_owned);
    if reply.status == 200 && would.is_some_and(|would| would != "COMMITTED") {
        return allowed.contains(&400);
    }
    let told = !reply.code().is_empty() && reply.json().get("request_id").is_some();
    allowed.contains(&reply.status) && (told || matches!(reply.status, 0 | 414 | 431))
}

type SizeCase = (String, Request, &'static [u16]);

fn dry(body: &str) -> Request {
    Request::new("POST", &format!("{CREATE}?dry_run=true")).json(body)
}

fn heads() -> Vec<SizeCase> {
    let get = || Request::get("/api/v1/balances");
    let many = |count| (0..count).fold(get(), |get, n| get.line(&format!("x-{n}"), "a"));
    vec![
        ("200 headers".to_owned(), many(200), &[431]),
        ("5000 headers".to_owned(), many(5000), &[431]),
        ("a header of 64 KiB".to_owned(), get().line("x-a", &"a".repeat(65_536)), &[431]),
        ("a name of 64 KiB".to_owned(), get().line(&"a".repeat(65_536), "a"), &[400, 431]),
        (
            "a path of 80 KiB".to_owned(),
            Request::get(&format!("/{}", "a".repeat(81_920))),
            &[414, 431],
        ),
        (
            "a query of 80 KiB".to_owned(),
            Request::get(&format!("{LIST}?cursor={}", "a".repeat(81_920))),
            &[414, 431],
        ),
        (
            "a path of 16 KiB".to_owned(),
            Request::get(&format!("/{}", "a".repeat(16_384))),
            &[404, 414],
        ),
    ]
}

fn bodies() -> Vec<SizeCase> {
    let padded = |size: usize| format!("{}{}", transfer("a"), " ".repeat(size));
    let deep = |open: &str, close: &str| {
        let inside = format!("{}{}", open.repeat(2000), close.repeat(2000));
        transfer("a").to_string().replacen('{', &format!("{{\"metadata\":{inside},"), 1)
    };
    let mut all: Vec<SizeCase> = vec![
        ("a byte above 16 KiB".to_owned(), dry(&padded(BODY)), &[413]),
        ("a body of 8 MiB".to_owned(), dry(&padded(8 * 1024 * 1024)), &[0, 413]),
        ("a batch above 1 MiB".to_owned(), Request::new("POST", LIST).json(&padded(BATCH)), &[413]),
        ("lists of great depth".to_owned(), dry(&deep("[", "]")), &[400]),
        ("objects of great depth".to_owned(), dry(&"{\"a\":".repeat(2000)), &[400]),
    ];
    for text in ["", "null", "[]", "1", "\"x\"", "{", "{}", "{}{}", "\u{feff}{}", "\u{0}", "NaN"] {
        all.push((format!("the body {text:?}"), dry(text), &[400]));
    }
    all
}

/// A good body with one field replaced.
fn fields() -> Vec<SizeCase> {
    let long = |size: usize| json!("a".repeat(size));
    let mut all = Vec::new();
    let mut with = |name: &str, value: Value| {
        let mut body = transfer("a");
        if let Some(body) = body.as_object_mut() {
            body.insert(name.to_owned(), value.clone());
        }
        let allowed: &[u16] = if name == "user_id" { &[400, 403] } else { &[400] };
        all.push((format!("{name} {:.60}", value.to_string()), dry(&body.to_string()), allowed));
    };
    for name in ["cid", "reference", "from", "to", "asset"] {
        with(name, long(65));
        with(name, long(9000));
        with(name, json!(1));
        with(name, json!(["a"]));
    }
    with("cid", json!(""));
    with("cid", json!("a b"));
    with("cid", json!("a\u{0}"));
    with(
        "metadata",
        (0..9).map(|n| (n.to_string(), json!("a"))).collect::<serde_json::Map<_, _>>().into(),
    );
    with("metadata", json!({"a": "a".repeat(9000)}));
    with("metadata", json!({"a": {"b": "c"}}));
    for amount in [
        "", "0", "-1", "+1", "1e5", "0x1", "1,0", ".1", "1.", " 1", "1 ", "NaN", "Infinity", "٣",
        "1_000",
    ] {
        with("amount", json!(amount));
    }
    for digits in [40, 100, 9000] {
        with("amount", json!("9".repeat(digits)));
        with("amount", json!(format!("0.{}1", "0".repeat(digits))));
    }
    for amount in [json!(1), json!(1.5), json!(null), json!(["1"]), json!({"a": 1}), json!(true)] {
        with("amount", amount);
    }
    for user in [
        json!(0),
        json!(-1),
        json!(1.5),
        json!("04001"),
        json!(u64::MAX),
        json!(u64::MAX.to_string()),
        json!(1e30),
    ] {
        with("user_id", user);
    }
    let keyed = |key: &str| {
        let mut body = transfer("a");
        if let Some(body) = body.as_object_mut() {
            body.remove("cid");
        }
        dry(&body.to_string()).line("idempotency-key", key)
    };
    for key in
        ["a".repeat(65), "a".repeat(9000), "a b".to_owned(), "\u{e9}".to_owned(), String::new()]
    {
        all.push((format!("the key {key:.20}"), keyed(&key), &[400]));
    }
    let twice = keyed("a").line("idempotency-key", "b");
    all.push(("two keys".to_owned(), twice, &[400]));
    all
}

fn batches() -> Vec<SizeCase> {
    let post = |body: &Value| Request::post(LIST, body);
    let many: Vec<Value> = (0..1001).map(|n| transfer(&n.to_string())).collect();
    vec![
        ("a batch of 1001".to_owned(), post(&json!({"transfers": many})), &[400]),
        ("an empty batch".to_owned(), post(&json!({"transfers": []})), &[400]),
        ("a batch that is no list".to_owned(), post(&json!({"transfers": {}})), &[400]),
    ]
}

fn parameters() -> Vec<SizeCase> {
    let long = "a".repeat(4000);
    [
        "limit=0",
        "limit=101",
        "limit=-1",
        "limit=1e2",
        "limit=99999999999999999999999",
        "limit=",
        "limit=1&limit=2",
        "limit=0x10",
        "state=x",
        "state=",
        "asset=",
        "asset=%00",
        "from=x",
        "to=9999999-01-01T00:00:00Z",
        "cursor=",
        "cursor=0",
        "cursor=zzzzzzzzzzzzzzzz",
        "cursor=%00",
        "cursor=-000000000000001",
        "user=4001",
        "offset=1",
        "a[]=1",
        "%ff=1",
        "limit=%ff",
    ]
    .into_iter()
    .map(str::to_owned)
    .chain([format!("cursor={long}"), format!("asset={long}"), format!("{long}=1")])
    .map(|query| -> SizeCase {
        (format!("?{query:.50}"), Request::get(&format!("{LIST}?{query}")), &[400])
    })
    .collect()
}

fn ids() -> Vec<SizeCase> {
    let long = "0".repeat(10_000);
    let mut all: Vec<SizeCase> = Vec::new();
    for id in [
        "0",
        "-1",
        "x",
        "%00",
        "%ff",
        "%2e%2e%2fstats",
        "..%2f..%2fstats",
        "'%20OR%20'1'='1",
        "$%7Bjndi%7D",
        "01JFVQ2X8Z0Y1M3N4P5R6S7T8",
        "01JFVQ2X8Z0Y1M3N4P5R6S7T8VV",
        "81JFVQ2X8Z0Y1M3N4P5R6S7T8V",
        "18446744073709551616",
        "00000000-0000-0000-0000-000000000000",
        &long,
    ] {
        for route in ["internal_transfer", "transfer"] {
            let path = format!("/api/v1/{route}/{id}");
            all.push((format!("{path:.60}"), Request::get(&path), &[400, 404]));
        }
    }
    all
}
