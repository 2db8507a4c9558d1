//! Questions for people: one for each episode, ended by a fact.

use super::bench::{Bench, NOON, RICH, id, plain};
use super::checks;
use kernel::ids::{LedgerId, Millis};
use kernel::people::{About, Note, OpenCase};
use kernel::unit::{Case, Put, Severity};

checks! {
    a_case_is_open_once_about_its_subject,
    an_episode_ends_with_its_fact_and_another_begins,
    episodes_hold_inside_a_unit_and_a_group,
}

fn case(kind: &'static str, about: About, facts: &str) -> Put {
    Put::Case(Case { kind, severity: Severity::Warning, about, facts: facts.into() })
}

fn close(kind: &str, about: About) -> Put {
    Put::Close { kind: kind.into(), about, fact: "it ended".into() }
}

async fn open(b: &Bench) -> Vec<OpenCase> {
    let mut open = b.ok("open_cases", b.on().journal.open_cases().await);
    open.sort_by_key(|case| case.number);
    open
}

/// What is open, but for the number.
fn words(open: &[OpenCase]) -> Vec<(String, About, Severity, String, Millis)> {
    let one =
        |c: &OpenCase| (c.kind.to_string(), c.about, c.severity, c.facts.to_string(), c.opened_at);
    open.iter().map(one).collect()
}

async fn a_case_is_open_once_about_its_subject(b: &mut Bench) {
    let everything = [
        About::Service,
        About::Transfer(id(1)),
        About::Transfer(id(2)),
        About::User(RICH),
        About::Ledger(LedgerId::SPOT),
        About::Ledger(LedgerId::FUNDING),
    ];
    let mut should = vec![];
    for kind in ["CHECK", "ANOTHER"] {
        for about in everything {
            let severity = Severity::Critical;
            let first = Case { kind, severity, about, facts: "the first".into() };
            let written = b.written("a case", plain(vec![Put::Case(first)])).await;
            should.push((kind.to_owned(), about, severity, "the first".to_owned(), written.at));
            b.clock.set(written.at + 1_000);
            let again = vec![case(kind, about, "again"), case(kind, about, "and again")];
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

async fn an_episode_ends_with_its_fact_and_another_begins(b: &mut Bench) {
    let about = About::Transfer(id(1));
    b.written("a case", plain(vec![case("CHECK", about, "one")])).await;
    let first = open(b).await;
    for (kind, about) in [
        ("ANOTHER", about),
        ("CHECK", About::Transfer(id(2))),
        ("CHECK", About::Service),
        ("CHECK", About::User(RICH)),
    ] {
        b.written("the end of something else", plain(vec![close(kind, about)])).await;
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
        b.written(what, plain(vec![close("CHECK", about)])).await;
        b.same("what is open", &open(b).await, &vec![]);
    }
    b.reopen().await;
    b.same("after a restart", &open(b).await, &vec![]);
    b.clock.set(NOON + 60_000);
    let written = b.written("another episode", plain(vec![case("CHECK", about, "two")])).await;
    let second = open(b).await;
    let should = vec![("CHECK".to_owned(), about, Severity::Warning, "two".to_owned(), written.at)];
    b.same("what is open", &words(&second), &should);
    let number = |open: &[OpenCase]| open.iter().map(|case| case.number).max();
    b.holds(number(&second) > number(&first), "a number that was given before", &second);
}

async fn episodes_hold_inside_a_unit_and_a_group(b: &mut Bench) {
    let about = About::Service;
    let puts = vec![
        close("CHECK", about),
        case("CHECK", about, "one"),
        close("CHECK", about),
        case("CHECK", about, "two"),
        case("CHECK", about, "three"),
    ];
    b.written("three episodes", plain(puts)).await;
    let facts =
        |open: &[OpenCase]| -> Vec<_> { open.iter().map(|case| case.facts.to_string()).collect() };
    b.same("what is open", &facts(&open(b).await), &vec!["two".to_owned()]);
    let group = vec![
        plain(vec![case("CHECK", about, "four")]),
        plain(vec![close("CHECK", about)]),
        plain(vec![case("CHECK", about, "five")]),
        plain(vec![case("CHECK", about, "six")]),
    ];
    b.all(group).await;
    b.same("what is open", &facts(&open(b).await), &vec!["five".to_owned()]);
}
