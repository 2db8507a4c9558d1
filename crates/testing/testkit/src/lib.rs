//! Doubles of the runtime ports (clocks, random numbers, tasks) for the tests of every crate, each once.
//!
//! Development only: no product crate imports it outside its tests. It depends on the kernel alone of the product, so
//! that every other crate's tests, those inside its `src` too, may use it.

mod manual_clock;
mod rng;
mod shifted_clock;
mod skipping_clock;
mod stepping_clock;
mod tasks;

pub use manual_clock::ManualClock;
pub use rng::UniqueRng;
pub use shifted_clock::ShiftedClock;
pub use skipping_clock::SkippingClock;
pub use stepping_clock::SteppingClock;
pub use tasks::KillableTasks;
