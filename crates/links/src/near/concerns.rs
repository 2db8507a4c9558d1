//! Keeps, for operators' cases, what this process saw lately of the chain as a whole; what it does not
//! see again is over after a while. The list is in RAM: it moves no money and decides nothing.

use super::rpc::PROVIDERS_DISAGREE;
use kernel::answer::Cause;
use kernel::code::Code;
use kernel::ids::{Day, Millis};
use kernel::operators::Severity;
use kernel::ports::chain::{Concern, WRONG_CHAIN};
use kernel::ports::clock::{Clock, TICKS};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The account has less NEAR than the floor: nothing is signed.
pub(super) const NEAR_LOW: &str = "NEAR_LOW";
/// The settings name one provider, or take one at its word.
pub(super) const ONE_PROVIDER: &str = "ONE_PROVIDER";
/// The day's budget for registrations of receivers is used up.
pub(super) const REGISTRATION_BUDGET: &str = "REGISTRATION_BUDGET";
/// A token's contract asks for more for a registration than the settings allow.
pub(super) const REGISTRATION_DEPOSIT: &str = "REGISTRATION_DEPOSIT";
/// The account has too little of a token for a payment that waits.
pub(super) const TREASURY_SHORT: &str = "TREASURY_SHORT";
/// A token's contract says that it is paused.
pub(super) const TOKEN_PAUSED: &str = "TOKEN_PAUSED";
/// A token's contract refuses every receiver.
pub(super) const TOKEN_REFUSES: &str = "TOKEN_REFUSES";
/// A provider shows another chain, and enough others are left.
pub(super) const WRONG_PROVIDER: &str = "WRONG_PROVIDER";
/// A provider shows for some time what enough others show otherwise.
pub(super) const PROVIDER_OUTVOTED: &str = "PROVIDER_OUTVOTED";
/// The relay's account or its token's contract is not what the settings say.
pub(super) const TOKEN_CONTRACT_INVALID: &str = Code::TokenContractInvalid.name();
/// A final transaction moved more than its members were paid.
pub(super) const EVENTS_SURPLUS: &str = "EVENTS_SURPLUS";

/// The time, in milliseconds, after which a concern that is not seen again is over.
const LASTS: Millis = 120_000;
/// Providers that disagree for this time, in milliseconds, are not only behind each other.
const PERSISTS: Millis = 20_000;

/// The first and the last time of a sighting, in ticks, and its last facts.
#[derive(Debug, Clone)]
struct Sighting {
    first: u64,
    last: u64,
    day: Day,
    facts: Arc<str>,
}

/// The sightings, by the kind of their case.
#[derive(Debug, Default)]
pub(super) struct Concerns(Mutex<BTreeMap<&'static str, Sighting>>);

/// How much a kind matters.
pub(super) fn severity(kind: &str) -> Severity {
    match kind {
        NEAR_LOW
        | PROVIDERS_DISAGREE
        | TREASURY_SHORT
        | TOKEN_PAUSED
        | TOKEN_REFUSES
        | TOKEN_CONTRACT_INVALID
        | WRONG_CHAIN => Severity::Critical,
        _ => Severity::Warning,
    }
}

impl Concerns {
    fn seen(&self) -> MutexGuard<'_, BTreeMap<&'static str, Sighting>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that it is seen now.
    pub(super) fn note(&self, kind: &'static str, facts: &str, clock: &dyn Clock) {
        let (now, day) = (clock.ticks(), Day::of(clock.now()));
        let mut seen = self.seen();
        let before = seen.get(kind).filter(|before| lasts(kind, before, now, day));
        let first = before.map_or(now, |before| before.first);
        seen.insert(kind, Sighting { first, last: now, day, facts: facts.into() });
    }

    /// Notes what a cause says of the chain as a whole.
    pub(super) fn note_cause(&self, cause: &Cause, clock: &dyn Clock) {
        let kind = [NEAR_LOW, PROVIDERS_DISAGREE].into_iter().find(|kind| *kind == cause.class);
        if let Some(kind) = kind {
            self.note(kind, &cause.to_string(), clock);
        }
    }

    /// Ends it, after a look that saw nothing of it.
    pub(super) fn clear(&self, kind: &str) {
        self.seen().remove(kind);
    }

    /// The concerns of now: seen lately and, where that matters, for long.
    pub(super) fn stand(&self, clock: &dyn Clock) -> Vec<Concern> {
        let (now, day) = (clock.ticks(), Day::of(clock.now()));
        let seen = self.seen();
        let stands = seen.iter().filter(|(kind, sighting)| {
            let for_long =
                sighting.last.saturating_sub(sighting.first) >= PERSISTS.saturating_mul(TICKS);
            lasts(kind, sighting, now, day) && (**kind != PROVIDERS_DISAGREE || for_long)
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
fn lasts(kind: &str, sighting: &Sighting, now: u64, day: Day) -> bool {
    match kind {
        REGISTRATION_BUDGET => sighting.day == day,
        _ => now.saturating_sub(sighting.last) < LASTS.saturating_mul(TICKS),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use testkit::ManualClock;

    fn kinds(concerns: &Concerns, clock: &ManualClock) -> Vec<&'static str> {
        concerns.stand(clock).into_iter().map(|concern| concern.kind).collect()
    }

    /// Turns red where one provider that lags is a CRITICAL case, and where one that lies is none.
    #[test]
    fn providers_disagree_where_they_do_so_for_long() {
        let (concerns, clock) = (Concerns::default(), ManualClock::default());
        let cause = Cause::of(PROVIDERS_DISAGREE);
        concerns.note_cause(&cause, &clock);
        assert_eq!(kinds(&concerns, &clock), [""; 0]);
        clock.forward(PERSISTS);
        assert_eq!(kinds(&concerns, &clock), [""; 0], "it was not seen again");
        concerns.note_cause(&cause, &clock);
        assert_eq!(kinds(&concerns, &clock), [PROVIDERS_DISAGREE]);
        clock.forward(LASTS);
        assert_eq!(kinds(&concerns, &clock), [""; 0]);
        concerns.note_cause(&cause, &clock);
        assert_eq!(kinds(&concerns, &clock), [""; 0], "it begins anew");
    }

    #[test]
    fn a_budget_is_used_up_until_its_day_is_over() {
        let (concerns, clock) = (Concerns::default(), ManualClock::default());
        concerns.note(REGISTRATION_BUDGET, "80 of 80", &clock);
        concerns.note(NEAR_LOW, "1 yoctoNEAR", &clock);
        assert_eq!(kinds(&concerns, &clock), [NEAR_LOW, REGISTRATION_BUDGET]);
        concerns.clear(NEAR_LOW);
        clock.set(86_400_000 - 1);
        assert_eq!(kinds(&concerns, &clock), [REGISTRATION_BUDGET]);
        clock.set(86_400_000);
        assert_eq!(kinds(&concerns, &clock), [""; 0]);
    }
}
