//! Every ordered pair of violations answers the earlier check's code, in every spelling of a create.

use super::{CREATE, Door, Reply, TestSetup, USER, movement};
use axum::body::Body;
use axum::http::{Request, header};
use serde_json::{Value, json};
use std::sync::atomic::Ordering;

/// A request that violates what a test wants violated, and nothing else.
#[derive(Debug, Clone)]
struct Try {
    user: u64,
    scope: Option<&'static str>,
    body: Value,
    /// The key is bound to a transfer of another amount.
    bound: bool,
    /// The user has come too often.
    hurried: bool,
    /// What the user has used up of the day: the number of transfers, and the units of USDT.
    spent: (u64, u64),
    /// What the account holds; none: there is no account.
    holds: Option<u64>,
    /// Set at both accounts of the user.
    status: Option<&'static str>,
}

/// A check of the order, and how a request comes to fail it.
struct Check {
    /// Its place: of two that fail the lower one answers.
    place: u32,
    code: &'static str,
    fails: fn(&mut Try),
}

const fn check(place: u32, code: &'static str, fails: fn(&mut Try)) -> Check {
    Check { place, code, fails }
}

/// `spec/api.md`, *Order of checks*. Hundreds are its steps; below them stands the order within a
/// step where the contract has one, and equal places are never tried together.
const CHECKS: [Check; 25] = [
    check(100, "UNAUTHORIZED", |t| t.scope = None),
    check(200, "FORBIDDEN", |t| t.scope = Some("transfers:read")),
    check(210, "FORBIDDEN", |t| t.body["user_id"] = json!(t.user + 1)),
    check(300, "BAD_REQUEST", |t| t.body["fee"] = json!("0")),
    check(300, "BAD_REQUEST", |t| t.body["reference"] = json!("")),
    check(400, "DUPLICATE_REQUEST", |t| t.bound = true),
    check(600, "SAME_ACCOUNT", same),
    check(610, "INVALID_ACCOUNT_TYPE", |t| t.body["from"] = json!("X")),
    check(620, "UNSUPPORTED_ACCOUNT_TYPE", |t| t.body["to"] = json!("FUTURE")),
    check(700, "INVALID_ASSET", |t| t.body["asset"] = json!("XYZ")),
    check(700, "ASSET_SUSPENDED", |t| t.body["asset"] = json!("BTC")),
    check(700, "ASSET_SUSPENDED", |t| t.body["asset"] = json!("ETH")),
    check(700, "TRANSFER_NOT_ALLOWED", |t| t.body["asset"] = json!("USD")),
    check(800, "INVALID_AMOUNT", |t| t.body["amount"] = json!("-1")),
    check(800, "PRECISION_OVERFLOW", |t| t.body["amount"] = json!("1.123456789012")),
    check(800, "OVERFLOW", |t| t.body["amount"] = json!("9".repeat(30))),
    check(800, "AMOUNT_TOO_SMALL", |t| t.body["amount"] = json!("0.01")),
    check(800, "AMOUNT_TOO_LARGE", |t| t.body["amount"] = json!("1000000")),
    check(900, "RATE_LIMIT_EXCEEDED", |t| t.hurried = true),
    check(910, "DAILY_LIMIT_EXCEEDED", |t| t.spent.0 = 100),
    check(920, "DAILY_AMOUNT_EXCEEDED", |t| t.spent.1 = 996),
    check(1000, "SOURCE_ACCOUNT_NOT_FOUND", |t| t.holds = None),
    check(1010, "ACCOUNT_FROZEN", |t| t.status = Some("FROZEN")),
    check(1010, "ACCOUNT_DISABLED", |t| t.status = Some("DISABLED")),
    check(1020, "INSUFFICIENT_BALANCE", |t| t.holds = t.holds.and(Some(3))),
];

/// The same account at both ends, whatever is wrong with it otherwise.
fn same(t: &mut Try) {
    if t.body["to"] == "SPOT" {
        t.body["to"] = t.body["from"].clone();
    } else {
        t.body["from"] = t.body["to"].clone();
    }
}

/// What the assets of these doors are: each refusal of steps 5 and 6 has one.
const ASSETS: &str = "
    UPDATE assets_tb SET status = 'SUSPENDED' WHERE symbol = 'BTC';
    UPDATE assets_tb SET status = 'DELISTED' WHERE symbol = 'ETH';
    UPDATE assets_tb SET internal_transfer_enabled = 0 WHERE symbol = 'USD';
    UPDATE assets_tb SET min_transfer_amount = printf('%039d', 1000000),
        max_transfer_amount = printf('%039d', 500000000) WHERE symbol = 'USDT';";

/// The spelling that a request is sent in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Spelling {
    Plain,
    V2,
    Batch,
    Dry,
}

impl Spelling {
    const ALL: [Self; 4] = [Self::Plain, Self::V2, Self::Batch, Self::Dry];

    fn path(self) -> &'static str {
        match self {
            Self::Plain => CREATE,
            Self::V2 => "/api/v1/transfer",
            Self::Batch => "/api/v1/internal_transfers",
            Self::Dry => "/api/v1/internal_transfer?dry_run=true",
        }
    }

    fn body(self, mut body: Value) -> Value {
        match self {
            Self::Plain | Self::Dry => body,
            Self::Batch => json!({ "transfers": [body] }),
            Self::V2 => {
                for end in ["from", "to"] {
                    let lower = body[end].as_str().unwrap_or_default().to_lowercase();
                    body[end] = json!(lower.replace("spot", "trading"));
                }
                body
            }
        }
    }

    /// The code under which it was refused; `COMMITTED` where it was made.
    fn code(self, reply: &Reply) -> &str {
        let made = |made: bool| if made { "COMMITTED" } else { "" };
        match (self, &reply.body["results"], &reply.body["would"]) {
            (Self::Batch, Value::Array(results), _) => {
                let done = results[0]["status"] == 200;
                results[0]["code"].as_str().unwrap_or_else(|| made(done))
            }
            (Self::Dry, _, Value::String(would)) => would,
            (_, _, _) => reply.body["code"].as_str().unwrap_or_else(|| made(reply.status == 200)),
        }
    }
}

/// One user for each pair, prepared before anything is asked.
struct Pairs {
    door: Door,
    tries: Vec<(Try, &'static str, String)>,
}

impl Pairs {
    async fn open() -> Self {
        let mut setup = TestSetup { sql: ASSETS, ..TestSetup::default() };
        let limits = &mut setup.config.limits;
        (limits.requests_per_second, limits.transfers_per_day) = (1_000, 100);
        limits.daily_amount.insert("USDT".to_owned(), "1000".to_owned());
        // one operator funds every user
        setup.config.ops.default_deposit_limit = 0;
        Self { door: Door::with(setup).await, tries: Vec::new() }
    }

    fn push(&mut self, checks: &[&Check], code: &'static str) {
        // the one after each is the other user that it names
        let user = self.tries.last().map_or(5_000, |(last, ..)| last.user + 2);
        let body = json!({
            "from": "FUNDING", "to": "SPOT", "asset": "USDT", "amount": "5", "cid": "k",
            "user_id": user,
        });
        let (scope, holds) = (Some(USER), Some(100));
        let mut one = Try {
            user,
            scope,
            body,
            bound: false,
            hurried: false,
            spent: (0, 0),
            holds,
            status: None,
        };
        for check in checks {
            (check.fails)(&mut one);
        }
        let names: Vec<_> = checks.iter().map(|check| check.code).collect();
        self.tries.push((one, code, names.join(" and ")));
    }

    /// Brings each user's world about.
    async fn prepare(&self) {
        let (door, ops) = (&self.door, ("ops", "ops:act"));
        for (one, ..) in &self.tries {
            let user = one.user.to_string();
            // a bound key needs an account that it was once made from
            let holds = if one.bound { one.holds.or(Some(10)) } else { one.holds };
            if let Some(holds) = holds {
                let more = if one.bound { holds + 4 } else { holds };
                let body = movement(one.user, &more.to_string(), &user);
                let reply = door.post(ops, "/api/v1/ops/deposits", body).await;
                assert_eq!(reply.status, 201, "{reply:?}");
            }
            if one.bound {
                let body = super::transfer("4", "k");
                let reply = door.post((&user, USER), CREATE, body).await;
                assert_eq!(reply.status, 200, "{reply:?}");
            }
            if let Some(status) = one.status.filter(|_| holds.is_some()) {
                let path = format!("/api/v1/ops/accounts/{user}/FUNDING/status");
                let body = json!({"status": status, "reason": "a test"});
                assert_eq!(door.post(ops, &path, body).await.status, 200);
            }
            if one.spent != (0, 0) {
                self.spend(one);
            }
            if one.hurried {
                // an hour's worth of places: nobody's clock comes near it
                let later = door.service.clock.ticks() + 3_600_000_000_000;
                while door.app.rate_limit.take(kernel::ids::UserId(one.user), later) {}
            }
        }
    }

    /// Writes the day's rows, as the transfers and units of `spent` would have left them.
    fn spend(&self, one: &Try) {
        let file = self.door.dir.path().join(store::sqlite::FILE);
        let db = rusqlite::Connection::open(file).expect("the store");
        let day = self.door.service.clock.now() / 86_400_000;
        for (asset, transfers, units) in [(0, one.spent.0, 0), (3, 0, one.spent.1)] {
            let (user, amount) = (one.user, format!("{:039}", units * 1_000_000));
            let row = format!("({user}, {day}, {asset}, {transfers}, '{amount}')");
            let put = format!("INSERT OR REPLACE INTO limits_tb VALUES {row}");
            db.execute_batch(&put).expect("a row of limits");
        }
    }

    async fn sent(&self, spelling: Spelling, one: &Try) -> Reply {
        let mut request =
            Request::post(spelling.path()).header(header::CONTENT_TYPE, "application/json");
        if let Some(scope) = one.scope {
            let token = self.door.token(&one.user.to_string(), scope);
            request = request.header(header::AUTHORIZATION, format!("Bearer {token}"));
        }
        let body = spelling.body(one.body.clone()).to_string();
        self.door.send(request.body(Body::from(body)).expect("a request")).await
    }

    /// Asks each, and counts the rows that it opens.
    async fn ask(&self, spelling: Spelling) -> usize {
        let rows = self.door.rows().await;
        for (one, code, names) in &self.tries {
            let reply = self.sent(spelling, one).await;
            assert_eq!(spelling.code(&reply), *code, "{spelling:?}: {names}: {one:?} {reply:?}");
        }
        self.door.rows().await - rows
    }
}

/// Pairs whose violations can stand in one request.
fn pairs() -> impl Iterator<Item = (&'static Check, &'static Check)> {
    let all = CHECKS.iter().flat_map(|one| CHECKS.iter().map(move |two| (one, two)));
    all.filter(|(one, two)| {
        let of_scope = |check: &Check| check.place < 210;
        // no account has neither a status nor a balance
        let missing = one.code == "SOURCE_ACCOUNT_NOT_FOUND" && two.place > 1000;
        one.place < two.place && !missing && !(of_scope(one) && of_scope(two))
    })
}

#[tokio::test]
async fn the_earlier_of_two_answers() {
    for spelling in Spelling::ALL {
        let mut all = Pairs::open().await;
        for (one, two) in pairs() {
            all.push(&[two, one], one.code);
        }
        for check in &CHECKS {
            all.push(&[check], check.code);
        }
        assert_eq!(all.tries.len(), 303, "every pair, and each alone");
        all.prepare().await;
        let last = |code: &str| CHECKS.iter().any(|c| c.place >= 1000 && c.code == code);
        let expected = all.tries.iter().filter(|(_, code, _)| last(code)).count();
        let writes = spelling != Spelling::Dry;
        let opened = all.ask(spelling).await;
        assert_eq!(opened, if writes { expected } else { 0 }, "step 8 alone opens a row");
    }
}

/// What stands before the account type, and after the replay.
#[tokio::test]
async fn a_shut_door_answers_in_its_place() {
    for spelling in Spelling::ALL {
        for (halted, draining, code) in
            [(true, false, "HALTED"), (false, true, "OVERLOADED"), (true, true, "HALTED")]
        {
            let mut all = Pairs::open().await;
            for check in &CHECKS {
                all.push(&[check], if check.place < 500 { check.code } else { code });
            }
            all.push(&[], code);
            all.prepare().await;
            if halted {
                all.door.halt().await;
            }
            all.door.app.draining.store(draining, Ordering::Relaxed);
            assert_eq!(all.ask(spelling).await, 0, "a shut door opens nothing");
        }
    }
}

/// Above `engine.max_open` the engine alone knows; it answers before the account type too.
#[tokio::test]
async fn too_many_open_transfers_come_before_the_account_type() {
    let door = Door::set(|config| config.engine.max_open = 0).await;
    for (field, value) in [("from", "X"), ("asset", "?"), ("amount", "?"), ("to", "FUTURE")] {
        let mut body = super::transfer("1", "k");
        body[field] = json!(value);
        let reply = door.post(("4001", USER), CREATE, body).await;
        assert_eq!((reply.status, reply.code()), (503, "OVERLOADED"), "{field}: {reply:?}");
    }
}
