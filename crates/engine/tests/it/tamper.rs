//! What somebody does behind everybody's back: to the journal's file with any SQLite tool, at Spot
//! without the engine, or on the way to it.

use crate::house::House;
use crate::way::Lie;
use kernel::ids::{AssetId, Id, UserId};
use kernel::life::Leg;
use kernel::money::Amount;
use kernel::ports::ledger::Ledger;
use kernel::record::Account;
use kernel::unit::{Key, Op};
use rusqlite::{Connection, params};

/// One tampering.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Tamper {
    /// A stored amount: the table, the column, the row, and so much more.
    More(&'static str, &'static str, &'static str, i128),
    /// A user has one more, and clearing one less.
    Pair,
    /// A user has one more, and another one less.
    Users,
    /// The other way round.
    Back,
    /// Any other change of one row of `operations` or `transfers`.
    Sql(&'static str),
    /// An operation at Spot that no transfer asked for.
    Unasked,
    /// Spot says something else than before.
    Told(Lie),
}

const USER: &str = "user_id = 1 AND account_type = 'FUNDING' AND asset_id = 3";
const OTHER: &str = "user_id = 2 AND account_type = 'FUNDING' AND asset_id = 3";
const CLEARING: &str = "account_type = 'FUNDING' AND book = 'CLEARING' AND asset_id = 3";
const WORLD: &str = "account_type = 'FUNDING' AND book = 'WORLD' AND asset_id = 3";

/// Every single unit, and every single row.
#[rustfmt::skip]
pub(crate) const ALL: [(&str, Tamper); 28] = [
    ("available", Tamper::More("balances_tb", "available", USER, 1)),
    ("available, one less", Tamper::More("balances_tb", "available", USER, -1)),
    ("frozen", Tamper::More("balances_tb", "frozen", USER, 1)),
    ("clearing", Tamper::More("books", "amount", CLEARING, 1)),
    ("world", Tamper::More("books", "amount", WORLD, 1)),
    ("a user and clearing", Tamper::Pair),
    ("from a user to another", Tamper::Users),
    ("from a user to another at Spot", Tamper::Told(Lie::Users)),
    ("a Spot account", Tamper::Told(Lie::Totals { users: 1, clearing: 0 })),
    ("Spot's clearing", Tamper::Told(Lie::Totals { users: 0, clearing: 1 })),
    ("a Spot account and its clearing", Tamper::Told(Lie::Totals { users: 1, clearing: -1 })),
    ("an operation of Spot's", Tamper::Told(Lie::Amount)),
    ("an operation at Spot", Tamper::Unasked),
    ("added, of a transfer", Tamper::Sql("INSERT INTO operations SELECT req_id, ledger, 'REFUND', result, code, 1000000, asset_id, amount, account, at FROM operations WHERE ledger = 1 AND leg = 'SETTLE' LIMIT 1")),
    ("added, refused", Tamper::Sql("INSERT INTO operations SELECT req_id, ledger, 'REFUND', 'REJECTED', 'NO', 1000000, asset_id, amount, account, at FROM operations WHERE ledger = 1 AND leg = 'SETTLE' LIMIT 1")),
    ("added, of no transfer", Tamper::Sql("INSERT INTO operations SELECT '01ARZ3NDEKTSV4RRFFQ69G5FAV', ledger, leg, result, code, 1000000, asset_id, amount, account, at FROM operations WHERE ledger = 1 AND leg = 'DEPOSIT' LIMIT 1")),
    ("added, a refused receipt", Tamper::Sql("INSERT INTO operations SELECT '01ARZ3NDEKTSV4RRFFQ69G5FAV', ledger, leg, 'REJECTED', 'NO', 2, asset_id, amount, account, at FROM operations WHERE ledger = 2 AND seq = 3")),
    ("added, a receipt", Tamper::Sql("INSERT INTO operations SELECT '01ARZ3NDEKTSV4RRFFQ69G5FAV', ledger, leg, result, code, 2, asset_id, amount, account, at FROM operations WHERE ledger = 2 AND seq = 3")),
    ("changed amount", Tamper::More("operations", "amount", "first(ledger = 1 AND leg = 'WITHDRAW')", 1)),
    ("changed amount of a receipt", Tamper::More("operations", "amount", "first(ledger = 2)", 1)),
    ("changed result", Tamper::Sql("UPDATE operations SET result = 'REJECTED', code = 'NO' WHERE ledger = 1 AND leg = 'SETTLE' AND seq = (SELECT min(seq) FROM operations WHERE ledger = 1 AND leg = 'SETTLE')")),
    ("changed account", Tamper::Sql("UPDATE operations SET account = '77' WHERE ledger = 1 AND seq = (SELECT min(seq) FROM operations WHERE ledger = 1 AND leg = 'DEPOSIT')")),
    ("changed asset of a receipt", Tamper::Sql("UPDATE operations SET asset_id = 4 WHERE ledger = 2 AND seq = 3")),
    ("changed result of a receipt", Tamper::Sql("UPDATE operations SET result = 'REJECTED', code = 'NO' WHERE ledger = 2 AND seq = 3")),
    ("removed", Tamper::Sql("DELETE FROM operations WHERE ledger = 1 AND seq = (SELECT min(seq) FROM operations WHERE ledger = 1)")),
    ("removed, a refusal", Tamper::Sql("DELETE FROM operations WHERE ledger = 1 AND result = 'REJECTED'")),
    ("removed, a receipt", Tamper::Sql("DELETE FROM operations WHERE ledger = 2 AND seq = 3")),
    ("a state", Tamper::Sql("UPDATE transfers SET state = -10 WHERE transfer_id = 2")),
];

impl Tamper {
    pub(crate) async fn with(self, house: &House) {
        match self {
            Self::More(table, column, row, more) => {
                changed(&house.tool(), &[(table, column, row, more)]);
            }
            Self::Pair => {
                let user = ("balances_tb", "available", USER, 1);
                changed(&house.tool(), &[user, ("books", "amount", CLEARING, -1)]);
            }
            Self::Users | Self::Back => {
                let more = if matches!(self, Self::Users) { 1 } else { -1 };
                let one = ("balances_tb", "available", USER, more);
                changed(&house.tool(), &[one, ("balances_tb", "available", OTHER, -more)]);
            }
            Self::Sql(sql) => {
                let rows = house.tool().execute(sql, []).expect("it is done");
                assert_eq!(rows, 1, "{sql}");
            }
            Self::Unasked => {
                let spot = house.way.spot();
                let op = Op {
                    key: Key { id: Id::new(house.engine().journal().now(), 1), leg: Leg::Deposit },
                    account: Account::User(UserId(1)),
                    other: None,
                    asset: AssetId(3),
                    amount: Amount(1),
                };
                spot.execute(spot.known(), [op].into()).await;
            }
            Self::Told(lie) => house.way.lie(lie),
        }
    }
}

/// Adds to amounts, which are text: 39 digits, or signed in the books. All at one instant.
fn changed(db: &Connection, rows: &[(&str, &str, &str, i128)]) {
    db.execute_batch("BEGIN IMMEDIATE").expect("the lock");
    for (table, column, row, more) in rows {
        let row = match row.strip_prefix("first(").and_then(|row| row.strip_suffix(')')) {
            Some(first) => format!(
                "(req_id, ledger, leg) = (SELECT req_id, ledger, leg FROM {table} WHERE {first} \
                 ORDER BY seq LIMIT 1)"
            ),
            None => (*row).to_owned(),
        };
        let read = format!("SELECT {column} FROM {table} WHERE {row}");
        let text: String = db.query_row(&read, [], |row| row.get(0)).expect("such a row");
        let sum = text.parse::<i128>().expect("an amount") + more;
        let text = if *table == "books" { sum.to_string() } else { format!("{sum:039}") };
        let write = format!("UPDATE {table} SET {column} = ? WHERE {row}");
        assert_eq!(db.execute(&write, params![text]).expect("it is changed"), 1, "{write}");
    }
    db.execute_batch("COMMIT").expect("it is committed");
}
