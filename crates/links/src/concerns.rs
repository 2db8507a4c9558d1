//! Keeps, for operators' cases, what this process saw lately of the chain as a whole; what it does not
//! see again is over after a while. The list is in RAM: it moves no money and decides nothing.

use crate::rpc::PROVIDERS_DISAGREE;
use kernel::answer::Cause;
use kernel::ids::{Day, Millis};
use kernel::operators::Severity;
use kernel::ports::chain::Concern;
use kernel::ports::clock::{Clock, TICKS};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The account that pays has too little of a token for a payment that waits.
pub(crate) const TREASURY_SHORT: &str = "TREASURY_SHORT";
/// The settings name one provider, or take one at its word.
pub(crate) const ONE_PROVIDER: &str = "ONE_PROVIDER";
/// A provider shows another chain, and enough others are left.
pub(crate) const WRONG_PROVIDER: &str = "WRONG_PROVIDER";
/// A provider shows for some time what enough others show otherwise.
pub(crate) const PROVIDER_OUTVOTED: &str = "PROVIDER_OUTVOTED";

/// The time, in milliseconds, after which a concern that is not seen again is over.
const LASTS: Millis = 120_000;
/// Providers that disagree for this time, in milliseconds, are not only behind each other.
const PERSISTS: Millis = 20_000;

/// The first and the last time of a sighting, in ticks, and its last facts.
#[derive(Debug, Clone)]
struct Sighting {
    first: u64,
    last: u64,
    /// The day that it is of, where it lasts as long as that does.
    day: Option<Day>,
    facts: Arc<str>,
}

/// The sightings, by the kind of their case.
#[derive(Debug, Default)]
pub(crate) struct Concerns(Mutex<BTreeMap<&'static str, Sighting>>);

impl Concerns {
    fn seen(&self) -> MutexGuard<'_, BTreeMap<&'static str, Sighting>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that it is seen now.
    pub(crate) fn note(&self, kind: &'static str, facts: &str, clock: &dyn Clock) {
        self.note_until(kind, facts, clock, None);
    }

    /// Notes that it is seen now, and stands until the day is over.
    pub(crate) fn note_for_today(&self, kind: &'static str, facts: &str, clock: &dyn Clock) {
        self.note_until(kind, facts, clock, Some(Day::of(clock.now())));
    }

    fn note_until(&self, kind: &'static str, facts: &str, clock: &dyn Clock, day: Option<Day>) {
        let now = clock.ticks();
        let mut seen = self.seen();
        let before = seen.get(kind).filter(|before| lasts(before, now, Day::of(clock.now())));
        let first = before.map_or(now, |before| before.first);
        seen.insert(kind, Sighting { first, last: now, day, facts: facts.into() });
    }

    /// Notes a cause whose class is one of these kinds, which say something of the chain as a whole.
    pub(crate) fn note_cause(&self, cause: &Cause, kinds: &[&'static str], clock: &dyn Clock) {
        let kind = kinds.iter().copied().find(|kind| *kind == cause.class);
        if let Some(kind) = kind {
            self.note(kind, &cause.to_string(), clock);
        }
    }

    /// Ends it, after a look that saw nothing of it.
    pub(crate) fn clear(&self, kind: &str) {
        self.seen().remove(kind);
    }

    /// The concerns of now: seen lately and, where that matters, for long.
    pub(crate) fn stand(&self, clock: &dyn Clock, severity: fn(&str) -> Severity) -> Vec<Concern> {
        let (now, day) = (clock.ticks(), Day::of(clock.now()));
        let seen = self.seen();
        let stands = seen.iter().filter(|(kind, sighting)| {
            let for_long =
                sighting.last.saturating_sub(sighting.first) >= PERSISTS.saturating_mul(TICKS);
            lasts(sighting, now, day) && (**kind != PROVIDERS_DISAGREE || for_long)
        });
        stands
            .map(|(&kind, sighting)| Concern {
                kind,
                severity: severity(kind),
                facts: sighting.facts.clone(),
            })
            .collect()
    }
}

/// Whether what was seen then still stands.
fn lasts(sighting: &Sighting, now: u64, today: Day) -> bool {
    match sighting.day {
        Some(day) => day == today,
        None => now.saturating_sub(sighting.last) < LASTS.saturating_mul(TICKS),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use testkit::ManualClock;

    fn kinds(concerns: &Concerns, clock: &ManualClock) -> Vec<&'static str> {
        concerns
            .stand(clock, |_| Severity::Warning)
            .into_iter()
            .map(|concern| concern.kind)
            .collect()
    }

    /// Turns red where one provider that lags is a CRITICAL case, and where one that lies is none.
    #[test]
    fn providers_disagree_where_they_do_so_for_long() {
        let (concerns, clock) = (Concerns::default(), ManualClock::default());
        let cause = Cause::of(PROVIDERS_DISAGREE);
        concerns.note_cause(&cause, &[PROVIDERS_DISAGREE], &clock);
        assert_eq!(kinds(&concerns, &clock), [""; 0]);
        clock.forward(PERSISTS);
        assert_eq!(kinds(&concerns, &clock), [""; 0], "it was not seen again");
        concerns.note_cause(&cause, &[PROVIDERS_DISAGREE], &clock);
        assert_eq!(kinds(&concerns, &clock), [PROVIDERS_DISAGREE]);
        clock.forward(LASTS);
        assert_eq!(kinds(&concerns, &clock), [""; 0]);
        concerns.note_cause(&cause, &[PROVIDERS_DISAGREE], &clock);
        assert_eq!(kinds(&concerns, &clock), [""; 0], "it begins anew");
    }

    #[test]
    fn a_budget_is_used_up_until_its_day_is_over() {
        let (concerns, clock) = (Concerns::default(), ManualClock::default());
        concerns.note_for_today("BUDGET", "80 of 80", &clock);
        concerns.note("FEES", "1 unit", &clock);
        assert_eq!(kinds(&concerns, &clock), ["BUDGET", "FEES"]);
        concerns.clear("FEES");
        clock.set(86_400_000 - 1);
        assert_eq!(kinds(&concerns, &clock), ["BUDGET"]);
        clock.set(86_400_000);
        assert_eq!(kinds(&concerns, &clock), [""; 0]);
    }
}
