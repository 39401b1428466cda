//! SOA: the start of a zone's authority, and the arithmetic of its serial.
//!
//! Which serial is written, and when, is decided in `plan`.

use super::dialect::Dialect;
use super::{Name, Rdata, RdataError, Rendered, hosts, number, split, text};

/// The start of authority (RFC 1035 §3.3.13). The times are in seconds.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Soa {
    /// The primary name server.
    pub mname: Name,
    /// The mailbox of the one responsible, its first dot standing for the at sign.
    pub rname: Name,
    /// The version of the zone; 0 where none was declared.
    serial: u32,
    /// How often secondaries look for a new serial.
    pub refresh: u32,
    /// How soon they try again after a failure.
    pub retry: u32,
    /// How long they answer without a refresh.
    pub expire: u32,
    /// How long an absence is cached (RFC 2308 §4).
    pub minimum: u32,
}

impl Rdata {
    /// An SOA record. Absent timers and those of zero take 10800, 3600, 604800 and 3600
    /// seconds; an absent serial is 0 here and chosen when the record is written.
    ///
    /// # Errors
    ///
    /// When `mname` or `rname` is no domain name.
    pub fn soa(
        mname: &str,
        rname: &str,
        serial: Option<u32>,
        refresh: Option<u32>,
        retry: Option<u32>,
        expire: Option<u32>,
        minimum: Option<u32>,
    ) -> Rendered {
        let timer =
            |given: Option<u32>, default| given.filter(|&seconds| seconds > 0).unwrap_or(default);
        Ok(Some(Rdata::Soa(Soa {
            mname: hosts::name("mname", mname.trim())?,
            rname: hosts::name("rname", rname.trim())?,
            serial: serial.unwrap_or(0),
            refresh: timer(refresh, 10_800),
            retry: timer(retry, 3_600),
            expire: timer(expire, 604_800),
            minimum: timer(minimum, 3_600),
        })))
    }
}

impl Soa {
    /// The version of the zone.
    #[must_use]
    pub fn serial(&self) -> u32 {
        self.serial
    }

    /// The same zone at another version.
    #[must_use]
    pub fn with_serial(&self, serial: u32) -> Soa {
        Soa { serial, ..self.clone() }
    }

    pub(super) fn parse(content: &str) -> Result<Soa, RdataError> {
        let [mname, rname, serial, refresh, retry, expire, minimum] = split(content)?;
        Ok(Soa {
            mname: hosts::name("mname", mname)?,
            rname: hosts::name("rname", rname)?,
            serial: number("serial", serial)?,
            refresh: number("refresh", refresh)?,
            retry: number("retry", retry)?,
            expire: number("expire", expire)?,
            minimum: number("minimum", minimum)?,
        })
    }

    pub(super) fn print(&self, dialect: Dialect) -> String {
        let Soa { mname, rname, serial, refresh, retry, expire, minimum } = self;
        let [mname, rname] = [mname, rname].map(|name| text::bare(name.as_str(), dialect));
        format!("{mname} {rname} {serial} {refresh} {retry} {expire} {minimum}")
    }

    pub(super) fn fields(&self) -> Vec<Vec<u8>> {
        let Soa { mname, rname, serial, refresh, retry, expire, minimum } = self;
        let numbers = [serial, refresh, retry, expire, minimum].map(|n| n.to_be_bytes().to_vec());
        let names = [mname, rname].map(|name| name.as_str().into());
        names.into_iter().chain(numbers).collect()
    }
}

/// Whether serial `a` is older than `b` in the circular order of RFC 1982 §3.2. Where the RFC
/// leaves it undefined, at a distance of exactly 2³¹, neither is older.
#[must_use]
pub fn serial_lt(a: u32, b: u32) -> bool {
    let ahead = b.wrapping_sub(a);
    ahead != 0 && ahead < 1 << 31
}
