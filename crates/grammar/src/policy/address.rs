//! Addresses that are not on the public internet.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use url::{Host, Url};

use super::origin::canonical_host;

/// Returns `true` if the host, judged by its name alone, is this machine, in a private network, or a cloud's metadata
/// service.
pub(super) fn is_private(url: &Url) -> bool {
    match url.host() {
        None => false,
        Some(Host::Ipv4(ip)) => is_private_ip(IpAddr::V4(ip)),
        Some(Host::Ipv6(ip)) => is_private_ip(IpAddr::V6(ip)),
        Some(Host::Domain(name)) => {
            let name = canonical_host(name);
            name == "localhost"
                || name.ends_with(".localhost")
                || name.ends_with(".local")
                || name.ends_with(".internal")
                || name.ends_with(".home.arpa")
        }
    }
}

/// Returns `true` if the address is that of a cloud's metadata service.
pub(super) fn is_metadata(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => ip.is_link_local(),
        IpAddr::V6(ip) => {
            ip == Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254)
                || ip.to_ipv4_mapped().is_some_and(|ip| ip.is_link_local())
        }
    }
}

/// Returns `true` if the address is not on the public internet.
pub(super) fn is_private_ip(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => is_private_v4(ip),
        IpAddr::V6(ip) => ip.to_ipv4_mapped().map_or_else(|| is_private_v6(ip), is_private_v4),
    }
}

fn is_private_v4(ip: Ipv4Addr) -> bool {
    let [a, b, ..] = ip.octets();
    ip.is_loopback()
        || ip.is_private()
        || ip.is_link_local()
        || ip.is_unspecified()
        || ip.is_broadcast()
        || ip.is_multicast()
        || ip.is_documentation()
        || a == 0
        || (a == 100 && (64..128).contains(&b))
        || (a == 198 && (18..20).contains(&b))
        || a >= 240
}

fn is_private_v6(ip: Ipv6Addr) -> bool {
    let [first, ..] = ip.segments();
    ip.is_loopback()
        || ip.is_unspecified()
        || ip.is_multicast()
        || (first & 0xfe00) == 0xfc00
        // Link-local, and the site-local addresses before there were unique local ones.
        || (first & 0xff80) == 0xfe80
        // Addresses that hold an IPv4 one: compatible, NAT64, 6to4, Teredo.
        || ip.segments().starts_with(&[0; 6])
        || first == 0x64
        || first == 0x2002
        || ip.segments().starts_with(&[0x2001, 0])
}
