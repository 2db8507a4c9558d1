//! Limits the number of open connections, in all and from one address.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The permits for connections.
#[derive(Debug)]
pub(super) struct ConnectionLimits {
    most: usize,
    /// None: connections are not counted by address.
    most_from_one: Option<usize>,
    taken: Mutex<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    all: usize,
    from: HashMap<IpAddr, usize>,
}

/// A permit, which is free again when this is dropped.
#[derive(Debug)]
pub(super) struct ConnectionPermit {
    limits: Arc<ConnectionLimits>,
    from: Option<IpAddr>,
}

/// The limit that refuses a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LimitReached {
    /// The most connections are open, from whatever addresses.
    InAll,
    /// One address has as many as it may.
    FromOne,
}

impl LimitReached {
    /// The word of metrics and logs.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::InAll => "full",
            Self::FromOne => "address",
        }
    }
}

impl ConnectionLimits {
    pub(super) fn new(most: usize, most_from_one: Option<usize>) -> Arc<Self> {
        Arc::new(Self { most, most_from_one, taken: Mutex::default() })
    }

    /// A place for a connection from there.
    ///
    /// # Errors
    /// There is none.
    pub(super) fn take(self: &Arc<Self>, peer: IpAddr) -> Result<ConnectionPermit, LimitReached> {
        let from = self.most_from_one.and_then(|_| place(peer));
        let mut taken = self.taken();
        if taken.all >= self.most {
            return Err(LimitReached::InAll);
        }
        if let (Some(from), Some(most)) = (from, self.most_from_one) {
            let held = taken.from.get(&from).copied().unwrap_or(0);
            if held >= most {
                return Err(LimitReached::FromOne);
            }
            taken.from.insert(from, held.saturating_add(1));
        }
        taken.all = taken.all.saturating_add(1);
        drop(taken);
        Ok(ConnectionPermit { limits: Arc::clone(self), from })
    }

    fn taken(&self) -> MutexGuard<'_, Counts> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        let mut taken = self.limits.taken();
        taken.all = taken.all.saturating_sub(1);
        let Some(from) = self.from else { return };
        let held = taken.from.get(&from).copied().unwrap_or(0);
        if held > 1 {
            taken.from.insert(from, held.saturating_sub(1));
        } else {
            taken.from.remove(&from);
        }
    }
}

/// Whom an address is counted for: a single IPv4 address, but the /64 of an IPv6 one, which is what
/// one subscriber gets. This machine's own are not counted: a proxy or the tools may be behind them.
fn place(peer: IpAddr) -> Option<IpAddr> {
    let peer = peer.to_canonical();
    match peer {
        _ if peer.is_loopback() => None,
        IpAddr::V4(_) => Some(peer),
        IpAddr::V6(address) => {
            Some(Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX)).into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{ConnectionLimits, LimitReached, place};
    use std::net::IpAddr;

    fn at(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn a_place_is_free_again_when_its_holder_leaves() {
        let limits = ConnectionLimits::new(3, Some(2));
        let (a, b) = (at("192.0.2.1"), at("192.0.2.2"));
        let first = limits.take(a).unwrap();
        let second = limits.take(a).unwrap();
        assert_eq!(limits.take(a).unwrap_err(), LimitReached::FromOne, "two from one");
        let third = limits.take(b).unwrap();
        for other in [b, at("127.0.0.1")] {
            assert_eq!(limits.take(other).unwrap_err(), LimitReached::InAll, "three in all");
        }
        drop(first);
        assert!(limits.take(b).is_ok() && limits.take(a).is_ok());
        drop((second, third));
        assert!(limits.taken().from.is_empty() && limits.taken().all == 0);
    }

    #[test]
    fn who_is_behind_one_address_is_counted_once() {
        assert_eq!(place(at("127.0.0.1")), None);
        assert_eq!(place(at("::1")), None);
        assert_eq!(place(at("::ffff:127.0.0.1")), None);
        assert_eq!(place(at("::ffff:192.0.2.1")), place(at("192.0.2.1")));
        assert_eq!(place(at("2001:db8::1")), place(at("2001:db8::ffff:1")));
        assert_ne!(place(at("2001:db8::1")), place(at("2001:db8:0:1::1")));
        let limits = ConnectionLimits::new(10, None);
        let all: Vec<_> = (0..10).map(|_| limits.take(at("192.0.2.1"))).collect();
        assert!(all.iter().all(Result::is_ok) && limits.take(at("192.0.2.1")).is_err());
    }
}
