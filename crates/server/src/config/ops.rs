//! `[ops]`

use super::section::section;

section! {
    /// Operators.
    Ops {
        /// Verdicts and the end of a HALT take effect when another person approves.
        four_eyes: bool = true,
    }
}
