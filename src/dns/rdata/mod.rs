//! Record data: one decoded value per type, read from declared fields or from a server's text,
//! and printed for a server.
//!
//! Two values are equal when they mean the same to a resolver's client, never because their
//! texts are. What every PowerDNS refuses, and what kills one or leaves its zone unreadable, is
//! refused by the constructors; reading is lenient, because what is there is there.

mod caa;
mod dialect;
mod hosts;
mod soa;
mod svcb;
mod text;
mod tlsa;
mod txt;

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};

use thiserror::Error;

pub use self::caa::Caa;
pub use self::dialect::{Dialect, Version};
pub use self::hosts::{Mx, Srv};
pub use self::soa::{Soa, serial_lt};
pub use self::svcb::Svcb;
pub use self::tlsa::Tlsa;
pub use self::txt::TxtValue;
use super::name::{Name, NameError};
use super::rrset::RecordType;

/// The data of one record.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rdata {
    /// An IPv4 address.
    A(Ipv4Addr),
    /// An IPv6 address.
    Aaaa(Ipv6Addr),
    /// The name whose addresses PowerDNS answers with.
    Alias(Name),
    /// Who may issue certificates (RFC 8659).
    Caa(Caa),
    /// The canonical name.
    Cname(Name),
    /// Service binding for HTTPS (RFC 9460).
    Https(Svcb),
    /// A mail exchange.
    Mx(Mx),
    /// A name server.
    Ns(Name),
    /// The name that an address stands for.
    Ptr(Name),
    /// The start of authority.
    Soa(Soa),
    /// Where a service listens (RFC 2782).
    Srv(Srv),
    /// Service binding (RFC 9460).
    Svcb(Svcb),
    /// A certificate association (RFC 6698).
    Tlsa(Tlsa),
    /// Text.
    Txt(TxtValue),
}

/// What declared fields become: a value; `None` where a blank field means that there is no record;
/// or why there can be none. One shape for all types, so that entries render alike.
pub type Rendered = Result<Option<Rdata>, RdataError>;

/// Why a record's content is not usable: which field, its value, and what is wrong with it.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub struct RdataError {
    field: &'static str,
    value: String,
    reason: String,
}

impl RdataError {
    fn new(field: &'static str, value: &str, reason: impl Into<String>) -> RdataError {
        RdataError { field, value: value.to_owned(), reason: reason.into() }
    }

    fn name(field: &'static str, value: &str, error: &NameError) -> RdataError {
        RdataError::new(field, value, error.to_string())
    }
}

/// Long values are cut, because the sentence ends up in a condition.
impl fmt::Display for RdataError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 80;
        let cut: String = self.value.chars().take(SHOWN).collect();
        let more = if cut.len() < self.value.len() { "…" } else { "" };
        write!(f, "{} {cut:?}{more}: {}", self.field, self.reason)
    }
}

impl Rdata {
    /// The type of this value.
    #[must_use]
    pub fn rtype(&self) -> RecordType {
        match self {
            Rdata::A(_) => RecordType::A,
            Rdata::Aaaa(_) => RecordType::Aaaa,
            Rdata::Alias(_) => RecordType::Alias,
            Rdata::Caa(_) => RecordType::Caa,
            Rdata::Cname(_) => RecordType::Cname,
            Rdata::Https(_) => RecordType::Https,
            Rdata::Mx(_) => RecordType::Mx,
            Rdata::Ns(_) => RecordType::Ns,
            Rdata::Ptr(_) => RecordType::Ptr,
            Rdata::Soa(_) => RecordType::Soa,
            Rdata::Srv(_) => RecordType::Srv,
            Rdata::Svcb(_) => RecordType::Svcb,
            Rdata::Tlsa(_) => RecordType::Tlsa,
            Rdata::Txt(_) => RecordType::Txt,
        }
    }

    /// Reads the content of a record as a server of any version shows it.
    ///
    /// # Errors
    ///
    /// When the text is not of this type.
    pub fn parse(rtype: RecordType, text: &str) -> Result<Rdata, RdataError> {
        let content = text.trim_ascii();
        match rtype {
            RecordType::A => hosts::ipv4("content", content).map(Rdata::A),
            RecordType::Aaaa => hosts::ipv6("content", content).map(Rdata::Aaaa),
            RecordType::Alias => hosts::name("content", content).map(Rdata::Alias),
            RecordType::Cname => hosts::name("content", content).map(Rdata::Cname),
            RecordType::Ns => hosts::name("content", content).map(Rdata::Ns),
            RecordType::Ptr => hosts::name("content", content).map(Rdata::Ptr),
            RecordType::Mx => Mx::parse(content).map(Rdata::Mx),
            RecordType::Srv => Srv::parse(content).map(Rdata::Srv),
            RecordType::Caa => Caa::parse(content).map(Rdata::Caa),
            RecordType::Txt => TxtValue::parse(content).map(Rdata::Txt),
            RecordType::Tlsa => Tlsa::parse(content).map(Rdata::Tlsa),
            RecordType::Soa => Soa::parse(content).map(Rdata::Soa),
            RecordType::Https => Svcb::parse(content).map(Rdata::Https),
            RecordType::Svcb => Svcb::parse(content).map(Rdata::Svcb),
        }
    }

    /// The content to send to a server of that dialect. A server of another one may refuse it
    /// or store something else.
    #[must_use]
    pub fn print(&self, dialect: Dialect) -> String {
        match self {
            Rdata::A(address) => address.to_string(),
            Rdata::Aaaa(address) => hosts::print_ipv6(*address),
            Rdata::Alias(name) | Rdata::Cname(name) | Rdata::Ns(name) | Rdata::Ptr(name) => {
                text::bare(name.as_str(), dialect)
            }
            Rdata::Mx(mx) => mx.print(dialect),
            Rdata::Srv(srv) => srv.print(dialect),
            Rdata::Caa(caa) => caa.print(dialect),
            Rdata::Txt(txt) => txt.print(dialect),
            Rdata::Tlsa(tlsa) => tlsa.print(),
            Rdata::Soa(soa) => soa.print(dialect),
            Rdata::Https(svcb) | Rdata::Svcb(svcb) => svcb.print(dialect),
        }
    }

    /// The value as a list of byte strings from which nothing that equality compares is missing.
    /// The fingerprint is made of it: what this gives for a value must never change.
    pub(super) fn fields(&self) -> Vec<Vec<u8>> {
        match self {
            Rdata::A(address) => vec![address.octets().to_vec()],
            Rdata::Aaaa(address) => vec![address.octets().to_vec()],
            Rdata::Alias(name) | Rdata::Cname(name) | Rdata::Ns(name) | Rdata::Ptr(name) => {
                vec![name.as_str().into()]
            }
            Rdata::Mx(mx) => mx.fields(),
            Rdata::Srv(srv) => srv.fields(),
            Rdata::Caa(caa) => caa.fields(),
            Rdata::Txt(txt) => vec![txt.as_bytes().to_vec()],
            Rdata::Tlsa(tlsa) => tlsa.fields(),
            Rdata::Soa(soa) => soa.fields(),
            Rdata::Https(svcb) | Rdata::Svcb(svcb) => svcb.fields(),
        }
    }

    /// The same value, an SOA with the serial 0.
    pub(super) fn without_serial(&self) -> Rdata {
        if let Rdata::Soa(soa) = self { Rdata::Soa(soa.with_serial(0)) } else { self.clone() }
    }
}

/// Splits text at blanks into exactly `N` parts, the last one with all that follows.
fn split<const N: usize>(text: &str) -> Result<[&str; N], RdataError> {
    let mut parts = [""; N];
    let mut rest = text.trim_ascii();
    for (at, part) in parts.iter_mut().enumerate() {
        (*part, rest) = if at + 1 == N { (rest, "") } else { word(rest) };
        if part.is_empty() {
            return Err(RdataError::new("content", text, "a field is missing"));
        }
    }
    Ok(parts)
}

/// What stands before the first blank, and what follows the blanks there.
fn word(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| c.is_ascii_whitespace()).unwrap_or(text.len());
    let (word, rest) = text.split_at(end);
    (word, rest.trim_ascii_start())
}

/// Reads a decimal number.
fn number<T: std::str::FromStr>(field: &'static str, text: &str) -> Result<T, RdataError> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit());
    let parsed = if plain { text.parse().ok() } else { None };
    parsed.ok_or_else(|| RdataError::new(field, text, "is not a number in range"))
}

/// The most octets of record data that fit into a DNS message, of 65535 octets, beside its header
/// and the question (27 octets with the record's own fixed part) and the longest owner name.
const MAX_RDATA: usize = 65_535 - 27 - 255;

/// Refuses what no message can carry: PowerDNS 4.7 on LMDB dies of it, with exactly this limit
/// (less the owner's own length), and other backends store it and can never answer with it.
fn fits(field: &'static str, value: &str, octets: usize) -> Result<(), RdataError> {
    if octets > MAX_RDATA {
        let reason = format!("the record would have {octets} bytes; {MAX_RDATA} can be served");
        return Err(RdataError::new(field, value, reason));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
