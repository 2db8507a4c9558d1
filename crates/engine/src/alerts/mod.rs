//! Cases for operators, and the monitor that opens and closes them.

pub(crate) mod attempts;
pub(crate) mod cases;
pub(crate) mod late_answers;
pub(crate) mod monitor;
pub(crate) mod transfers;
