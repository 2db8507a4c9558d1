//! Decides what several providers show together: as many as are needed have to show the same, and to
//! outnumber those that show otherwise, who are named. Pure.

use super::reply::{RpcFailure, shortened};
use super::{BEHIND, PROVIDERS_DISAGREE};
use kernel::answer::Cause;
use std::cmp::Reverse;
use std::fmt::Debug;
use std::sync::Arc;

/// The reply of one provider, which alone proves nothing.
#[derive(Debug, Clone)]
pub(crate) struct ProviderReply<T> {
    /// The host and port of its address.
    pub(crate) by: Arc<str>,
    /// Its reply, or why there is none.
    pub(crate) reply: Result<T, RpcFailure>,
}

/// A fact that one provider shows.
#[derive(Debug, Clone)]
pub(crate) struct ProviderFact<T> {
    /// The host and port of its address.
    pub(crate) by: Arc<str>,
    /// The fact, as it was read from its reply.
    pub(crate) fact: T,
}

/// A fact that as many providers as are needed show, and what others show instead.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Agreement<T> {
    pub(crate) fact: T,
    /// Those that show it, by name.
    pub(crate) shown_by: Arc<str>,
    pub(crate) dissent: Option<String>,
}

/// The providers' division on a question.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Division {
    /// Yes, and no provider contradicts.
    Yes,
    /// Yes, against these, in words.
    YesAgainst(String),
    /// No, and no provider contradicts.
    No,
    /// No, against these, in words.
    NoAgainst(String),
    /// Neither has as many as are needed, or they are as many as the others: who shows what.
    Split(String),
}

/// Whether those that show a fact are enough, and more than those that show otherwise.
pub(crate) fn outvotes(needed: usize, with: usize, against: usize) -> bool {
    with >= needed && with > against
}

/// Why a provider shows nothing, with its name.
fn cause_of(by: &str, failure: RpcFailure) -> Cause {
    let Cause { class, detail } = failure.into();
    let detail = detail.map_or_else(|| by.to_owned(), |detail| format!("{by}: {detail}"));
    Cause::because(class, detail)
}

/// What each provider shows, in words.
pub(crate) fn in_words<'a, T: 'a>(
    facts: impl IntoIterator<Item = &'a ProviderFact<T>>,
    words: impl Fn(&T) -> String,
) -> String {
    let each = facts.into_iter().map(|one| format!("{} shows {}", one.by, words(&one.fact)));
    each.collect::<Vec<String>>().join(", ")
}

/// The facts that providers show, where as many as are needed do.
///
/// # Errors
/// Too few did: why the last one did not.
pub(crate) fn collect_facts<T>(
    needed: usize,
    replies: Vec<ProviderReply<T>>,
) -> Result<Vec<ProviderFact<T>>, Cause> {
    let (mut facts, mut last) = (Vec::new(), Cause::of("NO_PROVIDER"));
    for ProviderReply { by, reply } in replies {
        match reply {
            Ok(fact) => facts.push(ProviderFact { by, fact }),
            Err(failure) => last = cause_of(&by, failure),
        }
    }
    if facts.len() >= needed { Ok(facts) } else { Err(last) }
}

/// Those that show a fact of that height or a later one, where as many as are needed do.
///
/// # Errors
/// [`BEHIND`], with those that are.
pub(crate) fn not_behind<T: Clone>(
    needed: usize,
    facts: &[ProviderFact<T>],
    least: u64,
    height: impl Fn(&T) -> u64,
) -> Result<Vec<ProviderFact<T>>, Cause> {
    let (newer, older): (Vec<_>, Vec<_>) =
        facts.iter().cloned().partition(|one| height(&one.fact) >= least);
    if newer.len() >= needed {
        return Ok(newer);
    }
    let behind = older.iter().map(|one| format!("{} is at block {}", one.by, height(&one.fact)));
    let behind = behind.collect::<Vec<String>>().join(", ");
    Err(Cause::because(BEHIND, format!("{behind}, and block {least} is final")))
}

/// How the providers are divided on a question.
pub(crate) fn division<T>(
    needed: usize,
    facts: &[ProviderFact<T>],
    is: impl Fn(&T) -> bool,
    words: impl Fn(&T) -> String,
) -> Division {
    let (with, against): (Vec<_>, Vec<_>) = facts.iter().partition(|one| is(&one.fact));
    let name = |side: &[&ProviderFact<T>]| in_words(side.iter().copied(), &words);
    match (outvotes(needed, with.len(), against.len()), outvotes(needed, against.len(), with.len()))
    {
        (true, _) if against.is_empty() => Division::Yes,
        (true, _) => Division::YesAgainst(name(&against)),
        (false, true) if with.is_empty() => Division::No,
        (false, true) => Division::NoAgainst(name(&with)),
        (false, false) => Division::Split(in_words(facts, &words)),
    }
}

/// The fact that as many providers as are needed show alike, more than show otherwise.
///
/// # Errors
/// [`PROVIDERS_DISAGREE`], with what each shows, or why too few answer.
pub(crate) fn agreement<T: PartialEq + Debug>(
    needed: usize,
    replies: Vec<ProviderReply<T>>,
) -> Result<Agreement<T>, Cause> {
    let mut groups: Vec<(T, Vec<Arc<str>>)> = Vec::new();
    let (mut total, mut silent) = (0_usize, None);
    for ProviderReply { by, reply } in replies {
        match reply {
            Ok(fact) => {
                total = total.saturating_add(1);
                match groups.iter_mut().find(|(known, _)| *known == fact) {
                    Some((_, voices)) => voices.push(by),
                    None => groups.push((fact, vec![by])),
                }
            }
            Err(failure) => silent = Some(cause_of(&by, failure)),
        }
    }
    groups.sort_by_key(|(_, voices)| Reverse(voices.len()));
    let each = groups.iter().map(|(fact, by)| format!("{} shows {fact:?}", by.join(" and ")));
    let each: Vec<String> = each.collect();
    let mut groups = groups.into_iter();
    let Some((fact, voices)) = groups.next() else {
        return Err(silent.unwrap_or(Cause::of("NO_PROVIDER")));
    };
    let (others, shown_by) = (each.get(1..).unwrap_or_default(), voices.join(" and ").into());
    let against = total.saturating_sub(voices.len());
    match (outvotes(needed, voices.len(), against), others.is_empty()) {
        (true, true) => Ok(Agreement { fact, shown_by, dissent: None }),
        (true, false) => {
            let agreed = each.first().map(String::as_str).unwrap_or_default();
            let facts = format!("{}, and {agreed}", others.join(", "));
            Ok(Agreement { fact, shown_by, dissent: Some(shortened(&facts)) })
        }
        (false, alike) => match silent.filter(|_| alike) {
            Some(cause) => Err(cause),
            None => Err(Cause::because(PROVIDERS_DISAGREE, shortened(&each.join(", ")))),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replies(facts: &[Option<u8>]) -> Vec<ProviderReply<u8>> {
        let reply = |fact: Option<u8>| fact.ok_or(RpcFailure::Silent(Cause::of("TIMEOUT")));
        let each = facts.iter().zip(["a:1", "b:1", "c:1", "d:1"]);
        each.map(|(fact, by)| ProviderReply { by: by.into(), reply: reply(*fact) }).collect()
    }

    /// Turns red where one provider is believed, where one of three keeps open what two show, where it is not named, and
    /// where as many show one thing as another.
    #[test]
    fn as_many_as_are_needed_outvote_the_others_who_are_named() {
        let of = |facts: &[Option<u8>]| agreement(2, replies(facts));
        let fact = |facts: &[Option<u8>]| of(facts).map(|agreed| (agreed.fact, agreed.dissent));
        assert_eq!(fact(&[Some(1), Some(1)]), Ok((1, None)));
        assert_eq!(fact(&[Some(1), None, Some(1)]), Ok((1, None)));
        for facts in [[Some(1), Some(1), Some(2)], [Some(2), Some(1), Some(1)]] {
            let agreed = of(&facts).unwrap();
            let dissent = agreed.dissent.unwrap_or_default();
            assert_eq!(agreed.fact, 1);
            let liar = if facts[0] == Some(2) { "a:1 shows 2" } else { "c:1 shows 2" };
            assert!(dissent.starts_with(liar), "{dissent}");
        }
        let class = |facts: &[Option<u8>]| of(facts).unwrap_err().class;
        let silent = of(&[Some(1), None]).unwrap_err();
        assert_eq!(silent, Cause::because("TIMEOUT", "b:1"), "the one that is silent is named");
        assert_eq!(class(&[]), "NO_PROVIDER");
        // one that is left of those that were asked
        let alone = of(&[Some(1)]).unwrap_err().to_string();
        assert!(alone.contains("a:1 shows 1"), "{alone}");
        for facts in [
            &[Some(1), Some(2)][..],
            &[Some(1), Some(2), None],
            &[Some(1), Some(2), Some(3)],
            &[Some(1), Some(1), Some(2), Some(2)],
            &[Some(1), Some(1), Some(2), Some(3)],
        ] {
            assert_eq!(class(facts), PROVIDERS_DISAGREE, "{facts:?}");
        }
        let cause = of(&[Some(1), Some(2)]).unwrap_err().to_string();
        assert!(cause.contains("a:1 shows 1, b:1 shows 2"), "{cause}");
    }

    /// Turns red where one that is behind counts, and where one against two decides a question.
    #[test]
    fn a_question_is_decided_by_those_that_are_not_behind() {
        let facts = |all: &[u64]| {
            let each = all.iter().zip(["a:1", "b:1", "c:1"]);
            each.map(|(&fact, by)| ProviderFact { by: by.into(), fact }).collect::<Vec<_>>()
        };
        let newer = |all: &[u64]| not_behind(2, &facts(all), 100, |at| *at);
        assert_eq!(newer(&[100, 99, 101]).map(|kept| kept.len()), Ok(2));
        let cause = newer(&[100, 99]).unwrap_err();
        assert_eq!(cause.class, BEHIND);
        assert!(cause.to_string().contains("b:1 is at block 99"), "{cause}");
        let of = |all: &[u64]| division(2, &facts(all), |fact| *fact > 5, u64::to_string);
        assert_eq!(of(&[6, 7]), Division::Yes);
        assert_eq!(of(&[1, 2, 3]), Division::No);
        assert_eq!(of(&[6, 7, 1]), Division::YesAgainst("c:1 shows 1".to_owned()));
        assert_eq!(of(&[1, 9, 1]), Division::NoAgainst("b:1 shows 9".to_owned()));
        assert!(matches!(of(&[6, 1]), Division::Split(_)));
        assert!(matches!(of(&[6]), Division::Split(_)));
    }
}
