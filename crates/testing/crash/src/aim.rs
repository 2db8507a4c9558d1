//! Decides how many kills a campaign makes, so that enough of them hit an open transfer.

use crate::Outcome;

/// Maximum number of kills for each wanted one before a campaign gives up.
const TRIES: u64 = 3;

/// Kills that are wanted of a campaign. One that hits no open transfer proves little, so half of the
/// wanted ones must hit one. How many do depends on the machine: where they are too few, more are made.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Aim {
    wanted: u64,
}

impl Aim {
    pub(crate) const fn of(wanted: u64) -> Self {
        Self { wanted }
    }

    /// Whether the campaign goes on after this number of kills, `open` of them with an open transfer.
    pub(crate) const fn goes_on(self, kills: u64, open: u64) -> bool {
        kills < self.wanted || (self.too_few(open) && self.may(kills))
    }

    /// Whether the campaign may make more kills after this number.
    pub(crate) const fn may(self, kills: u64) -> bool {
        kills < self.wanted.saturating_mul(TRIES)
    }

    /// # Errors
    /// Too few of them hit an open transfer.
    pub(crate) fn met(self, kills: u64, open: u64) -> Outcome {
        if self.too_few(open) {
            let half = self.wanted.div_ceil(2);
            return Err(format!("{open} of {kills} kills hit a transfer, and {half} must"));
        }
        Ok(())
    }

    const fn too_few(self, open: u64) -> bool {
        open.saturating_mul(2) < self.wanted
    }
}

#[cfg(test)]
mod tests {
    use super::Aim;

    #[test]
    fn more_kills_are_made_until_half_of_the_wanted_hit_a_transfer() {
        let aim = Aim::of(200);
        assert!(aim.goes_on(199, 199), "fewer kills than wanted");
        assert!(!aim.goes_on(200, 100), "half of them hit");
        assert!(aim.goes_on(213, 99), "a slow machine needs more");
        assert!(!aim.goes_on(600, 99), "not for ever");
        assert!(aim.met(213, 102).is_ok(), "half of the wanted ones");
        assert!(aim.met(600, 99).is_err(), "a campaign that hits nothing is red");
    }
}
