//! Each wrong build of messages is found by the generic tests: the trial fails with it, and passes without it
//! (`generic.rs`, `crashes.rs`).

use sim::generic::account::{
    ACCOUNT_CASES, AccountCase, AccountTrial, crash_at_every_event, every_step_twice, undisturbed,
};
use sim::wrong;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Plays a case with a wrong build until it fails; why it failed.
#[track_caller]
fn fails(name: &str, case: AccountCase, (fuse, play): (bool, fn(&AccountTrial))) -> String {
    let Some(wraps) = wrong::messages(name) else { panic!("no wrong build {name}") };
    let trial =
        AccountTrial { cases: vec![case], fuse: vec![fuse], wraps, ..AccountTrial::default() };
    let played = catch_unwind(AssertUnwindSafe(|| play(&trial)));
    let Err(why) = played else { panic!("{name} was not found") };
    why.downcast_ref::<String>().cloned().unwrap_or_default()
}

fn crashes(trial: &AccountTrial) {
    drop(crash_at_every_event(trial));
}

#[test]
fn offset_before_effect() {
    let [case, ..] = ACCOUNT_CASES;
    let why = fails("offset-before-effect", case, (true, crashes));
    assert!(why.contains("does not end"), "{why}");
}

#[test]
fn inbox_row_missing() {
    let [case, ..] = ACCOUNT_CASES;
    let why = fails("inbox-row-missing", case, (true, undisturbed));
    assert!(why.contains("no inbox row"), "{why}");
}

#[test]
fn inbox_after_effect() {
    let [case, ..] = ACCOUNT_CASES;
    let why = fails("inbox-after-effect", case, (true, crashes));
    assert!(why.contains("no inbox row"), "{why}");
}

#[test]
fn check_without_lock() {
    let [_, _, case, _] = ACCOUNT_CASES;
    let why = fails("check-without-lock", case, (false, undisturbed));
    assert!(why.contains("has other moves") || why.contains("break"), "{why}");
}

#[test]
fn emitted_under_new_number() {
    let [case, ..] = ACCOUNT_CASES;
    let why = fails("emitted-under-new-number", case, (true, every_step_twice));
    assert!(why.contains("a new number"), "{why}");
}

#[test]
fn marked_before_published() {
    let [case, ..] = ACCOUNT_CASES;
    let why = fails("marked-before-published", case, (true, crashes));
    assert!(why.contains("does not end"), "{why}");
}

#[test]
fn parked_key_passed() {
    let [.., case] = ACCOUNT_CASES;
    let why = fails("parked-key-passed", case, (true, undisturbed));
    assert!(why.contains("overtook") || why.contains("was passed"), "{why}");
}
