//! The API's names for states of a transfer, for callers that decide by them.

/// It ended, and the money arrived.
pub const PAID: &str = "COMMITTED";
/// It has not ended yet: how the answer to a create says it.
pub const PENDING: &str = "PENDING";
/// It ended, and the money is where it came from.
pub const UNPAID: [&str; 2] = ["FAILED", "ROLLED_BACK"];

/// The status of an account transfer, or of one of the relay's, that ended and moved its money.
pub const COMPLETED: &str = "COMPLETED";
/// The status of one that ended and moved nothing.
pub const FAILED: &str = "FAILED";

/// True for the exact state of a transfer that has ended.
pub fn has_ended(state: &str) -> bool {
    state == PAID || UNPAID.contains(&state)
}

#[cfg(test)]
mod tests {
    use super::has_ended;

    #[test]
    fn an_end_is_told_from_what_is_under_way() {
        for state in ["COMMITTED", "FAILED", "ROLLED_BACK"] {
            assert!(has_ended(state), "{state}");
        }
        for state in ["PENDING", "INIT", "TARGET_PENDING", "COMPENSATING", ""] {
            assert!(!has_ended(state), "{state}");
        }
    }
}
