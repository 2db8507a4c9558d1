//! Checks each snapshot of a ledger in a history: its books add up, no user has a negative balance, and the outside
//! account equals what came in and went out.

use super::calls::{Call, End};
use super::{CallResult, Kind, Op};

/// The ledger that the outside pays into and out of.
const DOOR: &str = "FUNDING";

/// What does not add up, by snapshot.
pub(super) fn faults(calls: &[Call<'_>]) -> Vec<String> {
    let mut faults = Vec::new();
    for call in calls {
        let (Op::Snapshot { ledger }, End::Ok(CallResult::Books { users, sums, clearing, world })) =
            (call.op, call.end)
        else {
            continue;
        };
        let mut wrong = |what: String| {
            faults.push(format!("{ledger} at line {}: {what}", call.ended.saturating_add(1)));
        };
        let parts = [sums.0, sums.1, *clearing, *world];
        let total: i128 = parts.into_iter().map(i128::from).sum();
        if total != 0 {
            wrong(format!("users, frozen, clearing and world {parts:?} come to {total}, not 0"));
        }
        if users.iter().any(|(available, frozen)| *available < 0 || *frozen < 0) {
            wrong("a user has less than nothing".to_owned());
        }
        let whole = |part: fn(&(i64, i64)) -> i64| -> i128 {
            users.iter().map(|user| i128::from(part(user))).sum()
        };
        let found = (whole(|user| user.0), whole(|user| user.1));
        if !users.is_empty() && found != (i128::from(sums.0), i128::from(sums.1)) {
            wrong(format!("the users come to {found:?}, the sums are {sums:?}"));
        }
        if ledger == DOOR {
            let (least, most) = outside(calls, call);
            let inside = i128::from(*world).saturating_neg();
            if inside < least || inside > most {
                wrong(format!("{inside} came in from outside, which is not {least} to {most}"));
            }
        }
    }
    faults
}

/// The least and the most that can have come in by that snapshot.
fn outside(calls: &[Call<'_>], snapshot: &Call<'_>) -> (i128, i128) {
    let mut keys = std::collections::BTreeMap::new();
    for call in calls {
        let Op::Put { kind, key, units, .. } = call.op else { continue };
        let units = i128::from(*units);
        let signed = match kind {
            Kind::Transfer => continue,
            Kind::Deposit => units,
            Kind::Withdrawal => units.saturating_neg(),
        };
        let done = matches!(call.end, End::Ok(_)) && call.ended < snapshot.begun;
        let may = !matches!(call.end, End::Fail(_)) && call.begun < snapshot.ended;
        let (sure, possible, _) = keys.entry((*kind, key)).or_insert((false, false, signed));
        *sure |= done;
        *possible |= may;
    }
    let (mut least, mut most) = (0, 0);
    for (sure, possible, signed) in keys.into_values() {
        if sure || (possible && signed < 0) {
            least += signed;
        }
        if sure || (possible && signed > 0) {
            most += signed;
        }
    }
    (least, most)
}
