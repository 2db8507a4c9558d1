//! Allows endpoints public addresses only: a request to a private address could reach services that are closed to
//! the outside.
//!
//! The check looks at the address of the connection, not at the name: a name that later resolves to a private
//! address does not pass.

use reqwest::Url;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// What the error says, whichever address it was.
pub(super) const PRIVATE: &str =
    "the address is in a private network, and webhooks.allow_private is off";

/// What the error says of a public address without TLS.
pub(super) const PUBLIC: &str = "the address is public, and begins with http://";

/// Whether an address belongs to the public internet.
pub(super) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

/// Every block of IANA's registry of special purposes is refused, and what is not unicast.
fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let special = matches!(
        (a, b, c),
        (0 | 10 | 127 | 224..=255, ..)
            | (100, 64..=127, _)
            | (169, 254, _)
            | (172, 16..=31, _)
            | (192, 168, _)
            | (192, 0, 0 | 2)
            | (192, 88, 99)
            | (198, 18 | 19, _)
            | (198, 51, 100)
            | (203, 0, 113)
    );
    !special
}

/// Global unicast alone, and of what carries an address of the other family, that one.
fn is_public_v6(address: Ipv6Addr) -> bool {
    let [a, b, c, d, e, f, g, h] = address.segments();
    let inner = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        is_public_v4(Ipv4Addr::new(a, b, c, d))
    };
    match (a, b) {
        // mapped
        (0, 0) if [c, d, e, f] == [0, 0, 0, 0xffff] => inner(g, h),
        // NAT64
        (0x64, 0xff9b) if [c, d, e, f] == [0, 0, 0, 0] => inner(g, h),
        // 6to4
        (0x2002, _) => inner(b, c),
        // Teredo, ORCHID, benchmarks, documentation
        (0x2001, 0..=0x1ff | 0xdb8) | (0x3fff, 0..=0xfff) => false,
        _ => (0x2000..=0x3fff).contains(&a),
    }
}

/// Whether the host of an address is written as numbers that are not public: no name is resolved there.
pub(super) fn is_private_literal(url: &Url) -> bool {
    literal(url).is_some_and(|address| !is_public(address))
}

/// Whether the host of an address is written as numbers that are public.
pub(super) fn is_public_literal(url: &Url) -> bool {
    literal(url).is_some_and(is_public)
}

/// The host of an address, where it is written as numbers.
fn literal(url: &Url) -> Option<IpAddr> {
    let host = url.host_str().unwrap_or_default();
    host.trim_start_matches('[').trim_end_matches(']').parse().ok()
}

/// Resolves names to addresses of one kind alone.
#[derive(Debug, Clone, Copy)]
pub(super) enum AddressResolver {
    /// Only to public addresses.
    Public,
    /// To those in private networks and on this machine, where words cross in the clear.
    Private,
}

/// A name that leads into a private network.
#[derive(Debug, thiserror::Error)]
#[error("{PRIVATE}")]
pub(super) struct PrivateAddress;

/// A name that leads to the public internet, where nothing is posted in the clear.
#[derive(Debug, thiserror::Error)]
#[error("{PUBLIC}")]
pub(super) struct PublicAddress;

impl Resolve for AddressResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let (name, public) = (name.as_str().to_owned(), matches!(self, Self::Public));
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let fit: Vec<SocketAddr> = found.filter(|one| is_public(one.ip()) == public).collect();
            match (fit.is_empty(), public) {
                (true, true) => Err(PrivateAddress.into()),
                (true, false) => Err(PublicAddress.into()),
                (false, _) => Ok::<Addrs, _>(Box::new(fit.into_iter())),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{is_private_literal, is_public};
    use reqwest::Url;

    /// Turns red with a build that lets mapped addresses pass, and with one that knows RFC 1918 alone.
    #[test]
    fn what_is_not_public_is_private() {
        for private in [
            "0.0.0.0",
            "10.1.2.3",
            "100.64.0.1",
            "127.0.0.1",
            "127.9.9.9",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.8",
            "192.0.2.1",
            "192.168.0.1",
            "198.18.0.1",
            "198.51.100.1",
            "203.0.113.9",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "64:ff9b::10.0.0.1",
            "2002:7f00:1::1",
            "fc00::1",
            "fd12::1",
            "fe80::1",
            "fec0::1",
            "ff02::1",
            "2001::1",
            "2001:db8::1",
            "100::1",
        ] {
            let address = private.parse().unwrap();
            assert!(!is_public(address), "{private}");
        }
        for public in [
            "1.1.1.1",
            "100.63.0.1",
            "100.128.0.1",
            "172.32.0.1",
            "192.167.1.1",
            "198.20.0.1",
            "223.255.255.1",
            "2606:4700::1111",
            "2a00:1450::1",
            "::ffff:1.1.1.1",
            "64:ff9b::1.1.1.1",
        ] {
            let address = public.parse().unwrap();
            assert!(is_public(address), "{public}");
        }
    }

    #[test]
    fn a_host_of_numbers_is_seen_before_it_is_asked() {
        for (url, private) in [
            ("https://10.0.0.1/x", true),
            ("https://[::1]:8443/x", true),
            // every spelling of 127.0.0.1 that a URL has
            ("https://2130706433/x", true),
            ("https://0x7f.1/x", true),
            ("https://1.1.1.1/x", false),
            ("https://hooks.example/x", false),
        ] {
            assert_eq!(is_private_literal(&Url::parse(url).unwrap()), private, "{url}");
        }
    }
}
