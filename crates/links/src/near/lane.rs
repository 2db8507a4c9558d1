//! Chooses the nonce of a key's next attempt, from the journal and from what the providers say of the
//! key. Pure.

use super::rpc::{
    Division, KeyView, PROVIDERS_DISAGREE, ProviderFact, ProviderReply, agreement, division,
};
use kernel::answer::Cause;
use kernel::ports::chain::{KEY_ABSENT, LANE_AHEAD};

/// A nonce is below the block height times this.
pub(super) const NONCE_RANGE: u64 = 1_000_000;

/// A nonce for an attempt, and what those show that were outvoted.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NextNonce {
    pub(super) nonce: u64,
    pub(super) dissent: Vec<String>,
}

/// The nonce after `stored`, the last one of the journal, whose attempt is closed; or, of a key that was
/// never used here, after the chain's. One provider that says otherwise than as many as are needed is outvoted.
///
/// # Errors
/// [`LANE_AHEAD`] where as many providers as are needed say that the chain has spent more; else why the nonce
/// is not known now.
pub(super) fn next(
    needed: usize,
    stored: Option<u64>,
    views: &[ProviderFact<KeyView>],
) -> Result<NextNonce, Cause> {
    let mut dissent = Vec::new();
    let mut is = |question: &dyn Fn(&KeyView) -> bool| {
        let divided = division(needed, views, question, KeyView::in_words);
        if let Division::YesAgainst(facts) | Division::NoAgainst(facts) = &divided {
            dissent.push(facts.clone());
        }
        divided
    };
    match is(&|view| view.nonce.is_none()) {
        Division::No | Division::NoAgainst(_) => {}
        Division::Yes | Division::YesAgainst(_) => return Err(Cause::of(KEY_ABSENT)),
        Division::Split(facts) => return Err(Cause::because(KEY_ABSENT, facts)),
    }
    match is(&|view| view.nonce.is_some() && !view.full_access) {
        Division::No | Division::NoAgainst(_) => {}
        Division::Yes | Division::YesAgainst(_) | Division::Split(_) => {
            return Err(Cause::of("KEY_RESTRICTED"));
        }
    }
    let last = match stored {
        Some(last) => match is(&|view| view.nonce.is_some_and(|nonce| nonce > last)) {
            Division::No | Division::NoAgainst(_) => last,
            Division::Yes | Division::YesAgainst(_) => {
                let ahead = views.iter().filter_map(|view| view.fact.nonce);
                let spent = ahead.filter(|nonce| *nonce > last).min().unwrap_or_default();
                let facts = format!("the chain has spent {spent}, the journal {last}");
                return Err(Cause::because(LANE_AHEAD, facts));
            }
            Division::Split(facts) => return Err(Cause::because(PROVIDERS_DISAGREE, facts)),
        },
        None => {
            let nonce = |view: &ProviderFact<KeyView>| ProviderReply {
                by: view.by.clone(),
                reply: Ok(view.fact.nonce),
            };
            // who is outvoted is named above where the key is not there, and here where its nonce is another one
            let agreed = agreement(needed, views.iter().map(nonce).collect())?;
            dissent.extend(agreed.dissent);
            agreed.fact.ok_or(Cause::of(KEY_ABSENT))?
        }
    };
    let next = last.checked_add(1).ok_or(Cause::of("NONCE_RANGE"))?;
    let in_range =
        |view: &ProviderFact<KeyView>| next < view.fact.height.saturating_mul(NONCE_RANGE);
    if !views.iter().any(in_range) {
        return Err(Cause::of("NONCE_RANGE"));
    }
    Ok(NextNonce { nonce: next, dissent })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(nonce: u64) -> KeyView {
        KeyView { height: 1_000, nonce: Some(nonce), full_access: true }
    }

    fn of(needed: usize, stored: Option<u64>, views: &[KeyView]) -> Result<NextNonce, Cause> {
        let each = views.iter().zip(["a:1", "b:1", "c:1"]);
        let views: Vec<_> = each.map(|(&fact, by)| ProviderFact { by: by.into(), fact }).collect();
        next(needed, stored, &views)
    }

    #[test]
    fn the_next_nonce_is_the_journals_unless_the_chain_is_ahead() {
        let nonce = |stored, views: &[KeyView]| of(2, stored, views).map(|next| next.nonce);
        assert_eq!(nonce(Some(7), &[view(7), view(6)]), Ok(8), "a replica lags");
        assert_eq!(nonce(None, &[view(4), view(4)]), Ok(5));
        let class = |stored, views: &[KeyView]| of(2, stored, views).unwrap_err().class;
        assert_eq!(class(Some(7), &[view(8), view(8)]), LANE_AHEAD);
        assert_eq!(class(Some(7), &[view(8), view(7)]), PROVIDERS_DISAGREE);
        assert_eq!(class(None, &[view(4), view(u64::MAX - 1)]), PROVIDERS_DISAGREE);
        assert_eq!(class(Some(2_000_000_000), &[view(7), view(7)]), "NONCE_RANGE");
        assert_eq!(class(Some(7), &[view(7), absent()]), KEY_ABSENT);
        let restricted = KeyView { full_access: false, ..view(7) };
        assert_eq!(class(Some(7), &[view(7), restricted]), "KEY_RESTRICTED");
        let one = of(1, Some(7), &[view(8)]).unwrap_err();
        assert_eq!(one.class, LANE_AHEAD, "with one provider its word stops the pool");
    }

    fn absent() -> KeyView {
        KeyView { height: 1_000, nonce: None, full_access: false }
    }

    /// Turns red where one of three keeps a key from its next nonce: it shows it far ahead, gone, or restricted.
    #[test]
    fn one_of_three_keeps_no_key_from_its_next_nonce() {
        let restricted = KeyView { full_access: false, ..view(7) };
        for lie in [view(900), absent(), restricted] {
            for stored in [Some(7), None] {
                let next = of(2, stored, &[view(7), lie, view(7)]);
                let next = next.unwrap_or_else(|cause| panic!("{stored:?} {lie:?}: {cause}"));
                assert_eq!(next.nonce, 8);
                assert!(next.dissent.iter().all(|facts| facts.starts_with("b:1")), "{next:?}");
                assert!(!next.dissent.is_empty(), "{stored:?} {lie:?}");
            }
            let ahead = of(2, Some(6), &[view(7), lie, view(7)]).unwrap_err();
            assert_eq!(ahead.class, LANE_AHEAD);
        }
    }
}
