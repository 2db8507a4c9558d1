//! Numbered accounts from the command line, on both stores and over a kill.

use super::{Served, said};
use crate::own::script::TOKEN;
use serde_json::Value;

const URL: &str = "DATABASE_URL";

/// A command on an account, and how it ends.
fn runs(served: &Served, words: &str, code: i32) -> String {
    let words: Vec<&str> = ["account", "pipeline"].into_iter().chain(words.split(' ')).collect();
    let (ended, text) = said(&served.run(&words));
    assert_eq!(ended, Some(code), "{words:?}: {text}");
    text
}

fn shown(served: &Served, number: &str) -> Value {
    let text = runs(served, &format!("show {number} --json"), 0);
    serde_json::from_str(&text).unwrap_or_else(|fault| panic!("{fault}: {text}"))
}

/// An account from its opening to its end.
fn life_of_an_account(served: &mut Served) {
    for (number, owner) in [("ACC-1", 4001), ("ACC-2", 4001), ("ACC-3", 4002)] {
        let open = format!("open {number} --owner {owner} --currency USDT --reason contract");
        assert!(runs(served, &open, 0).contains("ACTIVE"));
    }
    let again = "open ACC-1 --owner 4001 --currency USDT --reason contract";
    assert!(runs(served, again, 65).contains("NOT_POSSIBLE"));
    let deposit = "deposit ACC-1 --currency USDT --amount 1000 --ref wire-1";
    assert!(runs(served, deposit, 0).contains("1000.000000"));
    served.again(|_| ());
    assert!(runs(served, deposit, 0).contains("had been booked before"));
    assert_eq!(shown(served, "ACC-1")["balance"], "1000.000000");
    let list = runs(served, "list --owner 4001", 0);
    assert!(list.contains("ACC-1") && list.contains("ACC-2") && !list.contains("ACC-3"), "{list}");
    let withdraw =
        |reference: &str| format!("withdraw ACC-1 --currency USDT --amount 500 --ref {reference}");
    assert!(runs(served, &withdraw("out-1"), 0).contains("500.000000"));
    assert!(runs(served, "freeze ACC-1 --reason order", 0).contains("FROZEN"));
    assert!(runs(served, &withdraw("out-2"), 65).contains("ACCOUNT_FROZEN"));
    assert!(runs(served, "unfreeze ACC-1 --reason ended", 75).contains("PROPOSED"));
    assert!(runs(served, &withdraw("out-2"), 65).contains("ACCOUNT_FROZEN"));
    assert!(runs(served, "unfreeze ACC-1 --reason ended --as second", 0).contains("ACTIVE"));
    assert!(runs(served, "close ACC-1 --reason ended", 65).contains("500.000000 USDT"));
    runs(served, &withdraw("out-2"), 0);
    assert!(runs(served, "close ACC-1 --reason ended", 0).contains("CLOSED"));
    assert!(runs(served, deposit, 0).contains("had been booked before"));
    let more = "deposit ACC-1 --currency USDT --amount 1 --ref wire-2";
    assert!(runs(served, more, 65).contains("ACCOUNT_CLOSED"));
    served.again(|_| ());
    assert_eq!(shown(served, "ACC-1")["status"], "CLOSED");
    let (code, text) = said(&served.run(&["check"]));
    assert_eq!(code, Some(0), "{text}");
}

/// Seen red where `close` sets FROZEN, and where a number in use is opened again.
#[test]
fn an_account_lives_in_a_folder() {
    life_of_an_account(&mut Served::start(&[]));
}

/// The same rows under PostgreSQL's locks. Seen red with the same two.
#[test]
fn an_account_lives_in_postgresql() {
    let database = testbed::Database::given().expect("a database");
    life_of_an_account(&mut Served::start(&[(URL, database.url())]));
    let row = "SELECT account_number, owner_id, currency, balance, status FROM accounts_tb ORDER BY 1 LIMIT 1";
    assert_eq!(database.sql(row).expect("a row"), "ACC-1|4001|USDT|0|CLOSED");
}

/// Turns red where a ledger that lists no accounts, and never will, makes the list fail as a silent one does.
#[test]
fn a_ledger_without_a_list_of_accounts_is_noted() {
    let served = Served::start(&[
        ("PORTAGE_LEDGERS__MARGIN__KIND", "remote"),
        ("PORTAGE_LEDGERS__MARGIN__FORM", "simple"),
        ("PORTAGE_LEDGERS__MARGIN__URL", "http://127.0.0.1:9"),
        ("PORTAGE_LEDGERS__MARGIN__TOKEN", TOKEN),
    ]);
    served.fund("4001", "100");
    let (code, text) = said(&served.run(&["account", "list"]));
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("100.000000") && text.contains("MARGIN does not list"), "{text}");
}
