//! The internal flow to the letter: diagram, stored numbers, words of the history, crash points.

use expect_test::expect;
use flows::internal::{Act, State};
use kernel::flow::crash_points::Moment;
use kernel::flow::life::{Life, Via, Word};
use kernel::flow::table::Table;
use kernel::flow::{check, crash_points, mermaid};
use std::fmt::Write;

fn table() -> Table {
    Table::of::<State>()
}

#[test]
fn the_table_holds() {
    assert_eq!(check::check::<State>(), [""; 0]);
}

#[test]
fn the_diagram() {
    expect![[r#"
        stateDiagram-v2
            [*] --> INIT
            INIT --> SOURCE_PENDING: claim
            SOURCE_PENDING --> SOURCE_DONE: withdraw done
            SOURCE_PENDING --> FAILED: withdraw rejected
            SOURCE_PENDING --> SOURCE_PENDING: withdraw unknown
            SOURCE_DONE --> TARGET_PENDING: claim
            TARGET_PENDING --> COMMITTED: deliver done
            TARGET_PENDING --> COMPENSATING: deliver rejected
            TARGET_PENDING --> TARGET_PENDING: deliver unknown
            COMMITTED --> [*]
            FAILED --> [*]
            COMPENSATING --> ROLLED_BACK: refund done
            COMPENSATING --> COMPENSATING: refund unknown
            ROLLED_BACK --> [*]
    "#]]
    .assert_eq(&mermaid::draw(&table()));
}

/// What people read is what runs.
#[test]
fn the_guide_shows_this_diagram() {
    let guide = include_str!("../../../../docs/guide/how-it-works.md");
    let shown = format!("```mermaid\n{}```", mermaid::draw(&table()));
    assert!(guide.contains(&shown), "docs/guide/how-it-works.md lacks:\n{shown}");
}

#[test]
fn the_stored_numbers() {
    let numbers: Vec<_> = State::ALL.iter().map(|s| (s.name(), s.code())).collect();
    let frozen = [
        ("INIT", 0),
        ("SOURCE_PENDING", 10),
        ("SOURCE_DONE", 20),
        ("TARGET_PENDING", 30),
        ("COMMITTED", 40),
        ("FAILED", -10),
        ("COMPENSATING", -20),
        ("ROLLED_BACK", -30),
    ];
    assert_eq!(numbers, frozen);
    let acts: Vec<_> = Act::ALL.iter().map(|a| (a.name(), a.code())).collect();
    assert_eq!(acts, [("withdraw", 0), ("deliver", 1), ("refund", 2)]);
}

#[test]
fn the_words_of_the_history() {
    let table = table();
    let mut words = String::new();
    for s in table.all() {
        for (via, to) in table.edges(s) {
            let (from, to) = (table.state(s).name, table.state(to).name);
            writeln!(words, "{from} -> {to}: {} ({via:?})", (table.event)(s, via)).unwrap();
        }
    }
    expect![[r#"
        INIT -> SOURCE_PENDING: SOURCE_CALL (Claim)
        SOURCE_PENDING -> SOURCE_DONE: SOURCE_OK (Done)
        SOURCE_PENDING -> FAILED: SOURCE_FAIL (Rejected)
        SOURCE_PENDING -> SOURCE_PENDING: RETRY (Unknown)
        SOURCE_DONE -> TARGET_PENDING: TARGET_CALL (Claim)
        TARGET_PENDING -> COMMITTED: TARGET_OK (Done)
        TARGET_PENDING -> COMPENSATING: TARGET_FAIL (Rejected)
        TARGET_PENDING -> TARGET_PENDING: RETRY (Unknown)
        COMPENSATING -> ROLLED_BACK: ROLLBACK_OK (Done)
        COMPENSATING -> COMPENSATING: RETRY (Unknown)
    "#]]
    .assert_eq(&words);
}

#[test]
fn the_crash_points() {
    let points = crash_points::of(&table());
    assert_eq!(points.len(), 25);
    let count = |moment| points.iter().filter(|p| p.moment == moment).count();
    // two claims; three calls; five answers that are written
    assert_eq!(count(Moment::BeforeWrite), 2);
    assert_eq!(count(Moment::TornWrite), 7);
    assert_eq!(count(Moment::AfterWrite), 7);
    assert_eq!(count(Moment::BeforeSend), 3);
    assert_eq!(count(Moment::ReplyLost), 3);
    assert_eq!(count(Moment::ReplyNotStored), 3);
    let sends = [Moment::SignedNotStored, Moment::ProofNotStored];
    assert!(points.iter().all(|p| !sends.contains(&p.moment)), "nothing is signed here");
    assert!(points.iter().all(|p| p.via != Some(Via::Unknown)), "an unknown answer writes no edge");
    assert_eq!(State::START, State::Init);
}
