//! Ways out of a HALT over HTTP.

mod losses;
mod proving;
mod unstored;

use kernel::ids::Millis;
use kernel::ports::Fut;
use kernel::ports::clock::Clock;
use std::sync::Arc;

/// A clock whose waits are a hundred times as short, and which the test does not move: a limit ends by itself while
/// what it waits for is late.
struct Hurried(Arc<dyn Clock>);

impl Clock for Hurried {
    fn now(&self) -> Millis {
        self.0.now()
    }
    fn ticks(&self) -> u64 {
        self.0.ticks()
    }
    fn sleep(&self, ms: Millis) -> Fut<'static, ()> {
        self.0.sleep(ms / 100)
    }
}
