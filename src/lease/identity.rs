//! Who holds the lease, as `holderIdentity` says it: `<pod>_<random>@<host>:<port>`. The address is where the others send
//! what only the holder can answer.

use crate::config::is_authority;

/// The identity of a process that began now; without an address it can be asked nothing.
#[must_use]
pub fn identity(pod: &str, random: u64, address: Option<&str>) -> String {
    let name = format!("{pod}_{random:016x}");
    address.map_or(name.clone(), |address| format!("{name}@{address}"))
}

/// The address in an identity. Another program's has none, and what is no address must not get into a URL.
#[must_use]
pub fn address(identity: &str) -> Option<&str> {
    let (_, address) = identity.rsplit_once('@')?;
    (is_authority(address) && has_port(address)).then_some(address)
}

/// Where others reach this process: what `advertise` says, else the pod's address; with the listener's port, if none is
/// said.
#[must_use]
pub fn reached_at(advertise: Option<&str>, pod_ip: Option<&str>, port: u16) -> Option<String> {
    let host = advertise.or(pod_ip)?;
    let bare = host.parse::<std::net::Ipv6Addr>().is_ok();
    let host = if bare { format!("[{host}]") } else { host.to_owned() };
    Some(if has_port(&host) { host } else { format!("{host}:{port}") })
}

/// Of what is an authority; an IPv6 address stands in brackets there.
fn has_port(authority: &str) -> bool {
    authority.rsplit(']').next().is_some_and(|rest| rest.contains(':'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_is_found_again() {
        for (advertise, ip, at) in [
            (None, Some("10.0.0.7"), Some("10.0.0.7:8080")),
            (None, Some("fd00::7"), Some("[fd00::7]:8080")),
            (Some("a.example"), Some("10.0.0.7"), Some("a.example:8080")),
            (Some("a.example:81"), None, Some("a.example:81")),
            (Some("[fd00::7]:81"), None, Some("[fd00::7]:81")),
            (None, None, None),
        ] {
            let reached = reached_at(advertise, ip, 8080);
            assert_eq!(reached.as_deref(), at);
            let name = identity("pod-1", 7, reached.as_deref());
            assert!(name.starts_with("pod-1_0000000000000007"), "{name}");
            assert_eq!(address(&name), at, "{name}");
        }
        for other in ["manager-0_1b2c", "x@", "x@host", "x@ho st:1", "x@h:1/p"] {
            assert_eq!(address(other), None, "{other}");
        }
    }
}
