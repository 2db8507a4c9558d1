//! The history check on stored histories: each bad one is refused for what is wrong with it, and
//! the good ones, which look as odd, are not.

use crash::history::{Event, faults, read};
use std::fs;
use std::path::Path;

fn stored(kind: &str) -> Vec<(String, Vec<Event>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/histories").join(kind);
    let mut all: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            (name, read(&fs::read_to_string(path).unwrap()).unwrap())
        })
        .collect();
    all.sort_by(|a, b| a.0.cmp(&b.0));
    all
}

/// The first line of a bad one says what must be found: one of several words.
fn expected(events: &[Event]) -> Vec<String> {
    let Some(Event::Note { text }) = events.first() else { panic!("no note: {events:?}") };
    let words = text.strip_prefix("expect: ").expect("a note that says what is wrong");
    words.split('|').map(str::to_owned).collect()
}

#[test]
fn every_bad_history_is_refused_for_its_fault() {
    let bad = stored("bad");
    assert!(bad.len() >= 10, "{}", bad.len());
    for (name, events) in bad {
        let (found, words) = (faults(&events), expected(&events));
        let fits = found.iter().any(|fault| words.iter().any(|word| fault.contains(word)));
        assert!(fits, "{name}: expected one of {words:?}, found {found:?}");
    }
}

#[test]
fn a_good_history_is_let_through() {
    let good = stored("good");
    assert!(good.len() >= 5, "{}", good.len());
    for (name, events) in good {
        assert_eq!(faults(&events), [""; 0], "{name}");
    }
}

/// Taking any answer out of a good history leaves a good one: an answer that never arrived.
#[test]
fn a_call_without_an_answer_may_have_happened() {
    for (name, events) in stored("good") {
        for at in 0..events.len() {
            let mut events = events.clone();
            if let Event::Ok { n, .. } | Event::Fail { n, .. } = &events[at] {
                events[at] = Event::Info { n: *n, why: "lost".to_owned() };
            }
            assert_eq!(faults(&events), [""; 0], "{name} without the answer in line {}", at + 1);
        }
    }
}
