//! Counts something of one user, or of another owner, per period, in this process: creates per second
//! (`limits.requests_per_second`), creates without effect per hour ([`super::refused_creates`]).

use kernel::owner::TransferOwner;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

const SECOND: u64 = 1_000_000_000;
const HOUR: u64 = 3_600 * SECOND;
/// Below this number of users nothing is swept.
const FEW: usize = 1_024;

/// Counts by the generic cell rate algorithm (ITU-T I.371): for each user or other owner only the time up to which
/// its places are taken. A period's worth may come at once, then one for each share of it.
#[derive(Debug)]
pub struct RateLimit {
    /// Nanoseconds of the period.
    period: u64,
    /// Nanoseconds of one place; 0: no limit.
    share: u64,
    users: Mutex<Users>,
}

#[derive(Debug)]
struct Users {
    /// Nanoseconds of the process's clock, ahead of now only for those who came within a period.
    taken: HashMap<TransferOwner, u64>,
    /// At this number of users the idle ones are removed.
    sweep_at: usize,
}

impl RateLimit {
    /// This number a second; 0 is no limit.
    pub fn new(per_second: u32) -> Self {
        Self::over(SECOND, per_second)
    }

    /// This number an hour; 0 is no limit.
    pub fn per_hour(most: u32) -> Self {
        Self::over(HOUR, most)
    }

    fn over(period: u64, most: u32) -> Self {
        let share = period.checked_div(u64::from(most)).unwrap_or(0);
        let users = Users { taken: HashMap::new(), sweep_at: FEW };
        Self { period, share, users: Mutex::new(users) }
    }

    /// True where there is a limit.
    pub const fn is_set(&self) -> bool {
        self.share > 0
    }

    /// After this many seconds a place is free that was not before.
    pub const fn seconds_to_a_place(&self) -> u64 {
        self.share.div_ceil(SECOND)
    }

    /// The number of free places at `now`; without a limit, 0.
    pub fn free(&self, owner: impl Into<TransferOwner>, now: u64) -> u64 {
        let ahead = self.users().upto(&owner.into(), now).saturating_sub(now);
        self.period.saturating_sub(ahead).checked_div(self.share).unwrap_or(0)
    }

    fn users(&self) -> MutexGuard<'_, Users> {
        self.users.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a place at `now`, in nanoseconds of the process's clock. False: there is none.
    pub fn take(&self, owner: impl Into<TransferOwner>, now: u64) -> bool {
        if self.share == 0 {
            return true;
        }
        let owner = owner.into();
        let mut users = self.users();
        let taken = users.upto(&owner, now);
        if !self.room(taken, now) {
            return false;
        }
        // an idle user is worth as much as an unknown one: what stays are those of the last period
        if users.taken.len() >= users.sweep_at {
            users.taken.retain(|_, taken| *taken > now);
            let twice = users.taken.len().saturating_mul(2);
            users.sweep_at = if twice > FEW { twice } else { FEW };
        }
        users.taken.insert(owner, taken.saturating_add(self.share));
        true
    }

    /// Whether there is a place, without taking it.
    pub fn would(&self, owner: impl Into<TransferOwner>, now: u64) -> bool {
        self.share == 0 || self.room(self.users().upto(&owner.into(), now), now)
    }

    /// Gives back a place that nothing was opened with.
    pub fn give_back(&self, owner: impl Into<TransferOwner>) {
        if let Some(taken) = self.users().taken.get_mut(&owner.into()) {
            *taken = taken.saturating_sub(self.share);
        }
    }

    fn room(&self, taken: u64, now: u64) -> bool {
        taken.saturating_sub(now) <= self.period.saturating_sub(self.share)
    }
}

impl Users {
    /// The time up to which the user's places are taken.
    fn upto(&self, owner: &TransferOwner, now: u64) -> u64 {
        self.taken.get(owner).copied().filter(|taken| *taken > now).unwrap_or(now)
    }
}

#[cfg(test)]
mod tests {
    use super::{FEW, RateLimit, SECOND};
    use kernel::ids::UserId;

    const USER: UserId = UserId(4001);

    fn taken(limit: &RateLimit, now: u64, times: usize) -> usize {
        (0..times).filter(|_| limit.take(USER, now)).count()
    }

    #[test]
    fn a_second_s_worth_and_then_one_for_each_share() {
        let limit = RateLimit::new(5);
        let start = 7 * SECOND;
        assert_eq!(taken(&limit, start, 20), 5);
        assert_eq!(taken(&limit, start + SECOND / 5 - 1, 3), 0);
        assert_eq!(taken(&limit, start + SECOND / 5, 3), 1);
        assert_eq!(taken(&limit, start + 3 * SECOND, 20), 5, "no more than a second's worth");
        assert!(limit.take(UserId(1), start + 3 * SECOND), "each user has its own");
    }

    #[test]
    fn what_is_given_back_may_be_taken_again() {
        let limit = RateLimit::new(3);
        assert_eq!(taken(&limit, 0, 9), 3);
        assert!(!limit.would(USER, 0));
        limit.give_back(USER);
        assert!(limit.would(USER, 0) && limit.would(USER, 0), "looking takes nothing");
        assert_eq!(taken(&limit, 0, 9), 1);
    }

    #[test]
    fn none_and_one_and_uneven_rates() {
        assert_eq!(taken(&RateLimit::new(0), 0, 5_000), 5_000);
        let one = RateLimit::new(1);
        assert_eq!(
            (taken(&one, 0, 3), taken(&one, SECOND - 1, 3), taken(&one, SECOND, 3)),
            (1, 0, 1)
        );
        for rate in [3, 7, 60, 999, u32::MAX] {
            assert_eq!(taken(&RateLimit::new(rate), 0, 3), 3, "{rate}");
        }
        assert_eq!(taken(&RateLimit::new(7), 0, 50), 7);
        assert_eq!(taken(&RateLimit::new(999), 0, 5_000), 999);
    }

    #[test]
    fn an_hour_has_its_own_places() {
        let limit = RateLimit::per_hour(100);
        let start = 7 * SECOND;
        assert_eq!((limit.free(USER, start), limit.seconds_to_a_place()), (100, 36));
        assert_eq!(taken(&limit, start, 300), 100);
        assert_eq!(limit.free(USER, start), 0);
        assert_eq!(taken(&limit, start + 36 * SECOND - 1, 3), 0);
        assert_eq!(limit.free(USER, start + 36 * SECOND), 1);
        assert_eq!(taken(&limit, start + 36 * SECOND, 3), 1);
        assert_eq!(RateLimit::per_hour(7).seconds_to_a_place(), 515, "not a moment too early");
    }

    #[test]
    fn those_who_went_away_are_forgotten() {
        let limit = RateLimit::new(2);
        for user in 0..20_000 {
            assert!(limit.take(UserId(user), user * SECOND));
        }
        assert!(limit.users().taken.len() <= FEW, "{}", limit.users().taken.len());
    }
}
