//! Chooses the nonce of a key's next attempt, from the journal and from what the providers say of the
//! key. Pure.

use super::rpc::KeyView;
use kernel::answer::Cause;
use kernel::ports::chain::{KEY_ABSENT, LANE_AHEAD};

/// A nonce is below the block height times this.
pub(super) const NONCE_RANGE: u64 = 1_000_000;

/// The nonce after `stored`, the last one of the journal, whose attempt is closed; or, of a key that was
/// never used here, after the chain's.
///
/// # Errors
/// [`LANE_AHEAD`] where as many providers as are needed say that the chain has spent more; else why the nonce
/// is not known now.
pub(super) fn next(needed: usize, stored: Option<u64>, views: &[KeyView]) -> Result<u64, Cause> {
    let mut nonces = Vec::with_capacity(views.len());
    for view in views {
        match view.nonce {
            None => return Err(Cause::of(KEY_ABSENT)),
            Some(_) if !view.full_access => return Err(Cause::of("KEY_RESTRICTED")),
            Some(nonce) => nonces.push(nonce),
        }
    }
    let last = match stored {
        Some(last) => {
            let ahead: Vec<u64> = nonces.iter().copied().filter(|nonce| *nonce > last).collect();
            match ahead.first() {
                Some(nonce) if ahead.len() >= needed => {
                    let facts = format!("the chain has spent {nonce}, the journal {last}");
                    return Err(Cause::because(LANE_AHEAD, facts));
                }
                Some(nonce) => {
                    let facts = format!("one provider says that the chain has spent {nonce}");
                    return Err(Cause::because("PROVIDERS_DISAGREE", facts));
                }
                None => last,
            }
        }
        None => match nonces.first() {
            Some(first) if nonces.iter().all(|nonce| nonce == first) => *first,
            Some(_) => return Err(Cause::of("PROVIDERS_DISAGREE")),
            None => return Err(Cause::of("NO_PROVIDER")),
        },
    };
    let next = last.checked_add(1).ok_or(Cause::of("NONCE_RANGE"))?;
    let in_range = |view: &KeyView| next < view.height.saturating_mul(NONCE_RANGE);
    if views.iter().any(in_range) { Ok(next) } else { Err(Cause::of("NONCE_RANGE")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(nonce: u64) -> KeyView {
        KeyView { height: 1_000, nonce: Some(nonce), full_access: true }
    }

    #[test]
    fn the_next_nonce_is_the_journals_unless_the_chain_is_ahead() {
        assert_eq!(next(2, Some(7), &[view(7), view(6)]), Ok(8), "a replica lags");
        assert_eq!(next(2, None, &[view(4), view(4)]), Ok(5));
        let class = |stored, views: &[KeyView]| next(2, stored, views).unwrap_err().class;
        assert_eq!(class(Some(7), &[view(8), view(8)]), LANE_AHEAD);
        assert_eq!(class(Some(7), &[view(8), view(7)]), "PROVIDERS_DISAGREE");
        assert_eq!(class(None, &[view(4), view(u64::MAX - 1)]), "PROVIDERS_DISAGREE");
        assert_eq!(class(Some(2_000_000_000), &[view(7), view(7)]), "NONCE_RANGE");
        let absent = KeyView { height: 1_000, nonce: None, full_access: false };
        assert_eq!(class(Some(7), &[view(7), absent]), KEY_ABSENT);
        let restricted = KeyView { full_access: false, ..view(7) };
        assert_eq!(class(Some(7), &[view(7), restricted]), "KEY_RESTRICTED");
        let one = next(1, Some(7), &[view(8)]).unwrap_err();
        assert_eq!(one.class, LANE_AHEAD, "with one provider its word stops the pool");
    }
}
