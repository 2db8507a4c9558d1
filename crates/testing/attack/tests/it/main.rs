//! The attacks against a server that is wrong in every way: each part finds it.
#![expect(clippy::expect_used, reason = "what is missing fails the test")]

mod naive;

use attack::report::Part;
use attack::roles::ABSENT;
use attack::tokens::Tokens;
use attack::{forged, frames, owners, roles, sizes};
use naive::{Length, Naive};

fn tokens() -> Tokens {
    Tokens::minted("a secret of a server that never looks at it")
}

fn finds(part: &Part, words: &str) {
    let found = part.findings.iter().any(|finding| finding.contains(words));
    assert!(found, "{words}: {:#?}", part.findings);
}

/// One that takes any of two lengths, or looks at no coding, answers what is hidden in a body.
#[test]
fn two_lengths_are_found_whichever_is_taken() {
    for length in [Length::First, Length::Last] {
        let naive = Naive::start(length);
        let part = frames::run(&naive.target, "x").expect("it listens");
        finds(&part, "2 answers to");
        let two = |finding: &&String| finding.matches("content-length: ").count() == 2;
        let seen = part.findings.iter().filter(|finding| finding.starts_with("2 answers to"));
        assert!(seen.filter(two).count() > 0, "{length:?}: {:#?}", part.findings);
        finds(&part, "transfer-encoding: chunked");
    }
}

#[test]
fn a_token_that_is_not_checked_is_found() {
    let naive = Naive::start(Length::First);
    let part = forged::run(&naive.target, &tokens()).expect("it listens");
    for words in [
        "alg `none`",
        "letter 0 of",
        "two tokens",
        "in the query",
        "claims {\"exp\"",
        "typ \"id+jwt\"",
    ] {
        finds(&part, words);
    }
    // the control is the only one that it answers well
    assert_eq!(usize::try_from(part.tried), Ok(part.findings.len() + 1));
}

#[test]
fn a_server_without_owners_and_roles_is_found() {
    let naive = Naive::start(Length::First);
    let part = roles::run(&naive.target, &tokens(), ABSENT).expect("it listens");
    for words in [
        "the server does not have it",
        "GET /api/v1/stats as `user`",
        "GET /api/v1/balances as `none`",
    ] {
        finds(&part, words);
    }
    let part = owners::run(&naive.target, &tokens(), ABSENT).expect("it listens");
    for words in ["whose it is not", "another's `user_id`", "is believed", "balances of another"] {
        finds(&part, words);
    }
}

#[test]
fn a_server_without_limits_is_found() {
    let naive = Naive::start(Length::First);
    let part = sizes::run(&naive.target, "x").expect("it listens");
    // all but the control, and perhaps a large body that it did not wait for
    let found = u64::try_from(part.findings.len()).expect("a count");
    assert!(found + 2 >= part.tried, "{:#?}", part.findings);
}
