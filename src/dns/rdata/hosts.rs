//! Addresses and host names: A, AAAA, ALIAS, CNAME, NS, PTR, MX and SRV.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::dialect::Dialect;
use super::{Name, Rdata, RdataError, RecordType, Rendered, number, split, text};

/// A mail exchange (RFC 1035 §3.3.9).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mx {
    /// Lower is tried first.
    pub preference: u16,
    /// The host; the root means that no mail is accepted (RFC 7505).
    pub exchange: Name,
}

/// The location of a service (RFC 2782).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Srv {
    /// Lower is tried first.
    pub priority: u16,
    /// The share among targets of one priority.
    pub weight: u16,
    /// The port.
    pub port: u16,
    /// The host; the root means that the service is not available.
    pub target: Name,
}

impl Rdata {
    /// An A or AAAA record; `None` when the content is blank.
    ///
    /// # Errors
    ///
    /// When the content is no address of that family, or `rtype` is another type.
    pub fn from_address(rtype: RecordType, content: &str) -> Rendered {
        let content = content.trim();
        if content.is_empty() {
            return Ok(None);
        }
        if rtype == RecordType::A {
            ipv4("content", content).map(Rdata::A).map(Some)
        } else if rtype == RecordType::Aaaa {
            ipv6("content", content).map(Rdata::Aaaa).map(Some)
        } else {
            Err(RdataError::new("content", content, format!("{rtype} holds no address")))
        }
    }

    /// A record that holds one name: ALIAS, CNAME, NS or PTR. The name is absolute with or
    /// without its final dot. `None` when the content is blank.
    ///
    /// # Errors
    ///
    /// When the content is no name, or one that PowerDNS refuses for this type.
    pub fn from_target(rtype: RecordType, content: &str) -> Rendered {
        let content = content.trim();
        if content.is_empty() {
            return Ok(None);
        }
        let target = name("content", content)?;
        if rtype == RecordType::Alias {
            Ok(Some(Rdata::Alias(target)))
        } else if rtype == RecordType::Cname {
            Ok(Some(Rdata::Cname(target)))
        } else if rtype == RecordType::Ptr {
            Ok(Some(Rdata::Ptr(target)))
        } else if rtype != RecordType::Ns {
            Err(RdataError::new("content", content, format!("{rtype} holds no target")))
        } else if target.is_root() {
            Err(RdataError::new("content", content, "a name server needs a host name"))
        } else {
            host("content", &target)?;
            Ok(Some(Rdata::Ns(target)))
        }
    }

    /// An MX record; `None` when the exchange is blank. `.` declares that there is no mail.
    ///
    /// # Errors
    ///
    /// When the exchange is neither a host name nor the root.
    pub fn mx(preference: u16, exchange: &str) -> Rendered {
        let exchange = exchange.trim();
        if exchange.is_empty() {
            return Ok(None);
        }
        let exchange = name("exchange", exchange)?;
        host("exchange", &exchange)?;
        Ok(Some(Rdata::Mx(Mx { preference, exchange })))
    }

    /// An SRV record; `None` when the target is blank. `.` declares that there is no service.
    ///
    /// # Errors
    ///
    /// When the target is neither a host name nor the root.
    pub fn srv(priority: u16, weight: u16, port: u16, target: &str) -> Rendered {
        let target = target.trim();
        if target.is_empty() {
            return Ok(None);
        }
        let target = name("target", target)?;
        host("target", &target)?;
        Ok(Some(Rdata::Srv(Srv { priority, weight, port, target })))
    }
}

impl Mx {
    pub(super) fn parse(content: &str) -> Result<Mx, RdataError> {
        let [preference, exchange] = split(content)?;
        Ok(Mx {
            preference: number("preference", preference)?,
            exchange: name("exchange", exchange)?,
        })
    }

    pub(super) fn print(&self, dialect: Dialect) -> String {
        format!("{} {}", self.preference, text::bare(self.exchange.as_str(), dialect))
    }

    pub(super) fn fields(&self) -> Vec<Vec<u8>> {
        vec![self.preference.to_be_bytes().to_vec(), self.exchange.as_str().into()]
    }
}

impl Srv {
    pub(super) fn parse(content: &str) -> Result<Srv, RdataError> {
        let [priority, weight, port, target] = split(content)?;
        Ok(Srv {
            priority: number("priority", priority)?,
            weight: number("weight", weight)?,
            port: number("port", port)?,
            target: name("target", target)?,
        })
    }

    pub(super) fn print(&self, dialect: Dialect) -> String {
        let Srv { priority, weight, port, target } = self;
        format!("{priority} {weight} {port} {}", text::bare(target.as_str(), dialect))
    }

    pub(super) fn fields(&self) -> Vec<Vec<u8>> {
        let numbers = [self.priority, self.weight, self.port].map(|n| n.to_be_bytes().to_vec());
        numbers.into_iter().chain([self.target.as_str().into()]).collect()
    }
}

pub(super) fn ipv4(field: &'static str, text: &str) -> Result<Ipv4Addr, RdataError> {
    text.parse().map_err(|_| RdataError::new(field, text, "is not an IPv4 address"))
}

pub(super) fn ipv6(field: &'static str, text: &str) -> Result<Ipv6Addr, RdataError> {
    text.parse().map_err(|_| RdataError::new(field, text, "is not an IPv6 address"))
}

/// 4.x refuses a dotted quad in an AAAA record, although it prints one itself.
pub(super) fn print_ipv6(address: Ipv6Addr) -> String {
    match (address.to_ipv4_mapped(), address.segments()) {
        (Some(_), [.., high, low]) => format!("::ffff:{high:x}:{low:x}"),
        (None, _) => address.to_string(),
    }
}

pub(super) fn name(field: &'static str, text: &str) -> Result<Name, RdataError> {
    Name::parse(text).map_err(|error| RdataError::name(field, text, &error))
}

/// PowerDNS refuses targets of NS, MX and SRV that are no host names (RFC 1123 §2.1).
fn host(field: &'static str, name: &Name) -> Result<(), RdataError> {
    let good = |label: &str| {
        let plain = label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        plain && !label.starts_with('-') && !label.ends_with('-')
    };
    if name.labels().all(good) {
        return Ok(());
    }
    let reason = "is not a host name: labels hold letters, digits and inner hyphens only";
    Err(RdataError::new(field, name.as_str(), reason))
}
