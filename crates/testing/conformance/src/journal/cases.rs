//! Checks cases, the questions for operators: one for each episode, closed by a fact.

use super::checks;
use super::fixture::{JournalFixture, NOON, RICH, id, plain};
use kernel::ids::{LedgerId, Millis};
use kernel::operators::{Case, Note, OpenCase, Severity, Subject};
use kernel::unit::Put;

checks! {
    a_case_is_open_once_about_its_subject,
    an_episode_ends_with_its_fact_and_another_begins,
    episodes_hold_inside_a_unit_and_a_group,
}

fn case(kind: &'static str, subject: Subject, facts: &str) -> Put {
    Put::Case(Case { kind, severity: Severity::Warning, subject, facts: facts.into() })
}

fn close(kind: &str, subject: Subject) -> Put {
    Put::Close { kind: kind.into(), subject, fact: "it ended".into() }
}

async fn open(b: &JournalFixture) -> Vec<OpenCase> {
    let mut open = b.ok("open_cases", b.on().journal.open_cases().await);
    open.sort_by_key(|case| case.number);
    open
}

/// What is open, but for the number.
fn words(open: &[OpenCase]) -> Vec<(String, Subject, Severity, String, Millis)> {
    let one = |c: &OpenCase| {
        (c.kind.to_string(), c.subject, c.severity, c.facts.to_string(), c.opened_at)
    };
    open.iter().map(one).collect()
}

async fn a_case_is_open_once_about_its_subject(b: &mut JournalFixture) {
    let everything = [
        Subject::Service,
        Subject::Transfer(id(1)),
        Subject::Transfer(id(2)),
        Subject::User(RICH),
        Subject::Ledger(LedgerId::SPOT),
        Subject::Ledger(LedgerId::FUNDING),
    ];
    let mut should = vec![];
    for kind in ["CHECK", "ANOTHER"] {
        for subject in everything {
            let severity = Severity::Critical;
            let first = Case { kind, severity, subject, facts: "the first".into() };
            let written = b.written("a case", plain(vec![Put::Case(first)])).await;
            should.push((kind.to_owned(), subject, severity, "the first".to_owned(), written.at));
            b.clock.set(written.at + 1_000);
            let again = vec![case(kind, subject, "again"), case(kind, subject, "and again")];
            b.written("the same", plain(again)).await;
            let open = open(b).await;
            b.same("what is open", &words(&open), &should);
            let rises = open.windows(2).all(|two| matches!(two, [a, b] if a.number < b.number));
            b.holds(rises, "numbers that do not rise", &open);
        }
    }
    let before = open(b).await;
    b.reopen().await;
    b.same("after a restart", &open(b).await, &before);
}

async fn an_episode_ends_with_its_fact_and_another_begins(b: &mut JournalFixture) {
    let subject = Subject::Transfer(id(1));
    b.written("a case", plain(vec![case("CHECK", subject, "one")])).await;
    let first = open(b).await;
    for (kind, subject) in [
        ("ANOTHER", subject),
        ("CHECK", Subject::Transfer(id(2))),
        ("CHECK", Subject::Service),
        ("CHECK", Subject::User(RICH)),
    ] {
        b.written("the end of something else", plain(vec![close(kind, subject)])).await;
        b.same("what is open", &open(b).await, &first);
    }
    for case in &first {
        for note in [Note::Assigned("ops|1".into()), Note::Comment("a word".into())] {
            let caller = "ops|2".into();
            b.written("a note", plain(vec![Put::Note { case: case.number, caller, note }])).await;
        }
    }
    b.same("what is open", &open(b).await, &first);
    for what in ["its end", "again"] {
        b.written(what, plain(vec![close("CHECK", subject)])).await;
        b.same("what is open", &open(b).await, &vec![]);
    }
    b.reopen().await;
    b.same("after a restart", &open(b).await, &vec![]);
    b.clock.set(NOON + 60_000);
    let written = b.written("another episode", plain(vec![case("CHECK", subject, "two")])).await;
    let second = open(b).await;
    let should =
        vec![("CHECK".to_owned(), subject, Severity::Warning, "two".to_owned(), written.at)];
    b.same("what is open", &words(&second), &should);
    let number = |open: &[OpenCase]| open.iter().map(|case| case.number).max();
    b.holds(number(&second) > number(&first), "a number that was given before", &second);
}

async fn episodes_hold_inside_a_unit_and_a_group(b: &mut JournalFixture) {
    let subject = Subject::Service;
    let puts = vec![
        close("CHECK", subject),
        case("CHECK", subject, "one"),
        close("CHECK", subject),
        case("CHECK", subject, "two"),
        case("CHECK", subject, "three"),
    ];
    b.written("three episodes", plain(puts)).await;
    let facts =
        |open: &[OpenCase]| -> Vec<_> { open.iter().map(|case| case.facts.to_string()).collect() };
    b.same("what is open", &facts(&open(b).await), &vec!["two".to_owned()]);
    let group = vec![
        plain(vec![case("CHECK", subject, "four")]),
        plain(vec![close("CHECK", subject)]),
        plain(vec![case("CHECK", subject, "five")]),
        plain(vec![case("CHECK", subject, "six")]),
    ];
    b.all(group).await;
    b.same("what is open", &facts(&open(b).await), &vec!["five".to_owned()]);
}
