//! The test kit: the parts from which the tests of every crate compose a service, each part once.
//!
//! [`Process`] makes the parts of an engine over an [`OpenedStore`]; clocks, random numbers and tasks are its
//! runtime; a [`wrapper`] around a port injects faults into its calls.
//!
//! Development only: no product crate imports it outside its tests. Of the product it knows the kernel and the
//! engine; stores and ledgers come from the test.

mod dated_clock;
mod external;
mod manual_clock;
mod opened_store;
mod process;
mod rng;
mod shifted_clock;
mod skipping_clock;
mod stepping_clock;
mod tasks;
mod wait;
pub mod wrapper;

pub use dated_clock::DatedClock;
pub use external::{book, deposit};
pub use manual_clock::ManualClock;
pub use opened_store::OpenedStore;
pub use process::{Process, seal_key};
pub use rng::UniqueRng;
pub use shifted_clock::ShiftedClock;
pub use skipping_clock::SkippingClock;
pub use stepping_clock::SteppingClock;
pub use tasks::KillableTasks;
pub use wait::{MINUTE, wait_for, wait_until};
