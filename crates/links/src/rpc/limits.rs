//! Defines the limits of the requests to each provider.

use kernel::ids::Millis;

/// How each provider is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RpcLimits {
    /// The most milliseconds that one request takes, its answer included.
    pub timeout_ms: Millis,
    /// The most milliseconds until a connection stands.
    pub connect_timeout_ms: Millis,
    /// Requests a second at one provider.
    pub per_second: u64,
    /// The number of requests at once before the rate counts.
    pub burst: u64,
}

impl RpcLimits {
    /// The most milliseconds that a request waits for the rate and for its connection before its first byte is sent.
    pub const fn longest_wait_ms(&self) -> Millis {
        (self.timeout_ms / 2).saturating_add(self.connect_timeout_ms)
    }
}

impl Default for RpcLimits {
    fn default() -> Self {
        Self { timeout_ms: 5_000, connect_timeout_ms: 2_000, per_second: 50, burst: 100 }
    }
}
