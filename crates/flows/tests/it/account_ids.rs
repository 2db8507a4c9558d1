//! Names of accounts on NEAR: the examples of the protocol's own page, and what lies beside them.

use flows::relay::is_account_id;

/// Turns red where a separator is taken at an end or beside another, and where a capital is.
#[test]
fn a_name_that_the_protocol_refuses_is_none() {
    let longest = "x".repeat(64);
    for name in [
        "ok",
        "bowen",
        "ek-2",
        "ek.near",
        "com",
        "google.com",
        "bowen.google.com",
        "near",
        "illia.cheap-accounts.near",
        "max_99.near",
        "100",
        "near2019",
        "over.9000",
        "a.bro",
        "0x52908400098527886e0f7030069857d2e4169ee7",
        "aa",
        "a-b_c.d",
        "relay.near",
        longest.as_str(),
    ] {
        assert!(is_account_id(name), "{name}");
    }
    let long = "x".repeat(65);
    for name in [
        "",
        "a",
        "not ok",
        "100-",
        "bo__wen",
        "_illia",
        ".near",
        "near.",
        "a..near",
        "$$$",
        "WAT",
        "me@google.com",
        "system.-near",
        "a-_b",
        "abcdé",
        "alice.near\n",
        "alice\0.near",
        "A.near",
        "a..b",
        "a b",
        "ä.near",
        long.as_str(),
    ] {
        assert!(!is_account_id(name), "{name:?}");
    }
}
