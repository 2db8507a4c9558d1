//! Transfers between numbered accounts, on both stores and over kills.

use super::{Served, USER, asked, eventually, on_postgres, post, said};
use serde_json::{Value, json};

const TRANSFERS: usize = 60;

pub(super) fn runs(served: &Served, words: &str) -> String {
    let words: Vec<&str> = ["account", "pipeline"].into_iter().chain(words.split(' ')).collect();
    let (ended, text) = said(&served.run(&words));
    assert_eq!(ended, Some(0), "{words:?}: {text}");
    text
}

pub(super) fn balance(served: &Served, number: &str) -> String {
    let text = runs(served, &format!("show {number} --json"));
    let shown: Value =
        serde_json::from_str(&text).unwrap_or_else(|fault| panic!("{fault}: {text}"));
    shown["balance"].as_str().expect("a balance").to_owned()
}

/// Opens one transfer under a key; whether it was answered.
pub(super) fn opens(served: &Served, token: &str, n: usize) -> bool {
    opens_from(served, token, ("ACC-1", "ACC-2"), &format!("k-{n}"))
}

/// The same from one account to another.
pub(super) fn opens_from(
    served: &Served,
    token: &str,
    (from, to): (&str, &str),
    key: &str,
) -> bool {
    let body = json!({"fromAccountNumber": from, "toAccountNumber": to, "amount": "1",
        "currency": "USDT"})
    .to_string();
    let request = post("/api/transfers", token, &format!("idempotency-key: {key}\r\n"), &body);
    asked(&mut served.connect(), &request).is_some_and(|reply| matches!(reply.status, 200 | 201))
}

/// Killed twice while transfers are under way, each is carried out once. Turns red where an offset is
/// committed before its unit: what a killed process had in hand would wait for the scanner's minute.
pub(super) fn each_is_carried_out_once_over_kills(settings: &[(&str, &str)]) {
    let mut served = Served::start(settings);
    for (number, owner) in [("ACC-1", 4001), ("ACC-2", 4002)] {
        runs(&served, &format!("open {number} --owner {owner} --currency USDT --reason contract"));
    }
    runs(&served, "deposit ACC-1 --currency USDT --amount 1000 --ref wire-1");
    let token = served.token("4001", USER);
    for round in 0..3 {
        for n in 0..TRANSFERS {
            assert!(opens(&served, &token, round * TRANSFERS + n));
        }
        if round < 2 {
            served.again(|_| ());
        }
    }
    // what was asked for before the kills is asked for again: nothing is carried out twice
    for n in 0..3 * TRANSFERS {
        assert!(opens(&served, &token, n));
    }
    eventually("every transfer is carried out", || balance(&served, "ACC-2") == "180.000000");
    assert_eq!(balance(&served, "ACC-1"), "820.000000");
    let (code, text) = said(&served.run(&["check"]));
    assert_eq!(code, Some(0), "{text}");
}

#[test]
fn each_is_carried_out_once_in_a_folder() {
    each_is_carried_out_once_over_kills(&[]);
}

#[test]
fn each_is_carried_out_once_in_postgresql() {
    let database = testbed::Database::given().expect("a database");
    each_is_carried_out_once_over_kills(&on_postgres(&database));
}
