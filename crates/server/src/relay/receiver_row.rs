//! Decides by a receiver's row whether a transfer may register that receiver at the relay's cost: the row names the
//! transfer that reserved the registration, and the time. Pure.

use kernel::ids::{Id, Millis};
use links::near::Reservation;
use serde_json::{Value, json};
use std::sync::Arc;

/// The shortest time between two registrations of a receiver, in milliseconds: one that took its deposit back gets
/// no other within it.
const ONCE_IN: Millis = 30 * 86_400_000;
/// The longest time for which a transfer may reserve a registration without making it, in milliseconds (it is
/// paused, or the chain stands); then another transfer may take the reservation.
const HELD_FOR: Millis = 3_600_000;
/// The time after a registration, in milliseconds, within which a receiver that is shown as not registered is asked
/// after again: providers may be behind.
const LAG: Millis = 60_000;

/// A receiver's row: the last reservation of its registration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ReceiverRow {
    /// The transfer that registers it.
    pub by: Id,
    /// When it was reserved, by the journal's time.
    pub at: Millis,
}

/// The history of the registration that a transfer had reserved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HolderHistory {
    /// The registration was made, and proven at that time.
    Registered(Millis),
    /// The transfer goes on, and the registration was not made yet.
    UnderWay,
    /// The transfer ended, and the registration was not made.
    Ended,
    /// The journal has no such transfer any more: it was archived.
    Gone,
}

impl ReceiverRow {
    /// The row as it is stored.
    pub(super) fn value(&self) -> Arc<str> {
        json!({ "by": self.by.to_string(), "at": self.at }).to_string().into()
    }

    /// The row that was stored; `None` where it is none of ours.
    pub(super) fn read(value: &str) -> Option<Self> {
        let value: Value = serde_json::from_str(value).ok()?;
        let by = value.get("by")?.as_str()?.parse().ok()?;
        Some(Self { by, at: value.get("at")?.as_u64()? })
    }

    /// The state of the registration for a transfer; `None`: the transfer may take the row.
    pub(super) fn reservation(
        &self,
        id: Id,
        holder: HolderHistory,
        now: Millis,
    ) -> Option<Reservation> {
        let since = |at: Millis| now.saturating_sub(at);
        match holder {
            HolderHistory::Registered(at) if since(at) < LAG => Some(Reservation::JustMade),
            HolderHistory::Registered(at) if since(at) < ONCE_IN => Some(Reservation::Lately),
            HolderHistory::Gone if since(self.at) < ONCE_IN => Some(Reservation::Lately),
            HolderHistory::UnderWay if self.by == id => Some(Reservation::Own),
            HolderHistory::UnderWay if since(self.at) < HELD_FOR => Some(Reservation::Other),
            HolderHistory::Registered(_)
            | HolderHistory::Gone
            | HolderHistory::UnderWay
            | HolderHistory::Ended => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_reads_what_it_writes() {
        let row = ReceiverRow { by: Id(1 << 90), at: 7 };
        assert_eq!(ReceiverRow::read(&row.value()), Some(row));
        for value in ["", "{}", r#"{"by":7,"at":1}"#, r#"{"by":"x","at":1}"#] {
            assert_eq!(ReceiverRow::read(value), None, "{value}");
        }
    }

    /// Turns red where a receiver that took its deposit gets another one, and where a transfer that never
    /// registers holds all others back.
    #[test]
    fn a_receiver_is_registered_by_one_and_once_in_a_month() {
        let row = ReceiverRow { by: Id(1), at: 1_000 };
        let of = |id, holder, after| row.reservation(Id(id), holder, 1_000 + after);
        assert_eq!(of(1, HolderHistory::UnderWay, ONCE_IN), Some(Reservation::Own));
        assert_eq!(of(2, HolderHistory::UnderWay, 1), Some(Reservation::Other));
        assert_eq!(of(2, HolderHistory::UnderWay, HELD_FOR), None);
        assert_eq!(of(2, HolderHistory::Ended, 1), None);
        assert_eq!(of(2, HolderHistory::Gone, 1), Some(Reservation::Lately));
        for id in [1, 2] {
            let done = HolderHistory::Registered(1_000);
            assert_eq!(of(id, done, LAG - 1), Some(Reservation::JustMade));
            assert_eq!(of(id, done, LAG), Some(Reservation::Lately));
            assert_eq!(of(id, done, ONCE_IN), None);
        }
    }
}
