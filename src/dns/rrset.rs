//! RRsets: the record types that we model, TTLs, and the contents of one RRset.
//!
//! An RRset's place (zone and owner name) and its history (who wrote it) are not part of its
//! contents; `plan` keeps them beside.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use data_encoding::HEXLOWER;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use thiserror::Error;

use super::rdata::Rdata;

/// A record type that a DNSRecordSet can declare. All other types are foreign to us.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
#[expect(missing_docs, reason = "the variants are the types of the DNS, and ALIAS of PowerDNS")]
pub enum RecordType {
    A,
    Aaaa,
    Alias,
    Caa,
    Cname,
    Https,
    Mx,
    Ns,
    Ptr,
    Soa,
    Srv,
    Svcb,
    Tlsa,
    Txt,
}

/// A text that names none of the modelled record types.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("the record type {0:?} is unknown")]
pub struct UnknownRecordType(String);

impl RecordType {
    /// Every type, in the order in which the CRD's enum lists them.
    pub const ALL: [RecordType; 14] = [
        RecordType::A,
        RecordType::Aaaa,
        RecordType::Alias,
        RecordType::Cname,
        RecordType::Txt,
        RecordType::Mx,
        RecordType::Srv,
        RecordType::Caa,
        RecordType::Ns,
        RecordType::Soa,
        RecordType::Ptr,
        RecordType::Tlsa,
        RecordType::Https,
        RecordType::Svcb,
    ];

    /// The mnemonic, in upper case.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            RecordType::A => "A",
            RecordType::Aaaa => "AAAA",
            RecordType::Alias => "ALIAS",
            RecordType::Caa => "CAA",
            RecordType::Cname => "CNAME",
            RecordType::Https => "HTTPS",
            RecordType::Mx => "MX",
            RecordType::Ns => "NS",
            RecordType::Ptr => "PTR",
            RecordType::Soa => "SOA",
            RecordType::Srv => "SRV",
            RecordType::Svcb => "SVCB",
            RecordType::Tlsa => "TLSA",
            RecordType::Txt => "TXT",
        }
    }

    /// Whether RRsets of both types may exist at one name. A CNAME stands alone (RFC 1034
    /// §3.6.2). PowerDNS takes an ALIAS beside addresses, but then answers with both, so we
    /// refuse that here. A type coexists with itself: it is the same RRset.
    #[must_use]
    pub fn coexists_with(self, other: RecordType) -> bool {
        use RecordType::{A, Aaaa, Alias, Cname};
        self == other
            || !matches!(
                (self, other),
                (Cname, _) | (_, Cname) | (Alias, A | Aaaa) | (A | Aaaa, Alias)
            )
    }
}

impl fmt::Display for RecordType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for RecordType {
    type Err = UnknownRecordType;

    fn from_str(text: &str) -> Result<RecordType, UnknownRecordType> {
        RecordType::ALL
            .into_iter()
            .find(|rtype| rtype.as_str() == text)
            .ok_or_else(|| UnknownRecordType(text.to_owned()))
    }
}

/// A string enum in the order of [`RecordType::ALL`], inlined as a structural schema wants it.
impl JsonSchema for RecordType {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "RecordType".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "enum": RecordType::ALL.map(RecordType::as_str)})
    }
}

/// A time to live in seconds, 0 to 2³¹−1 (RFC 2181 §8).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ttl(u32);

/// A time to live outside the range of RFC 2181. PowerDNS 4.7 stores another number for it.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("the TTL {0} is not between 0 and 2147483647")]
pub struct TtlError(i64);

impl Ttl {
    /// What applies where neither the entry nor the class gives one.
    pub const DEFAULT: Ttl = Ttl(300);
    const MAX: u32 = i32::MAX.unsigned_abs();

    /// A declared TTL, or one that a server shows.
    ///
    /// # Errors
    ///
    /// When `seconds` is out of range.
    pub fn new(seconds: i64) -> Result<Ttl, TtlError> {
        match u32::try_from(seconds) {
            Ok(seconds) if seconds <= Ttl::MAX => Ok(Ttl(seconds)),
            _ => Err(TtlError(seconds)),
        }
    }

    /// The seconds.
    #[must_use]
    pub fn get(self) -> u32 {
        self.0
    }
}

impl From<Ttl> for i64 {
    fn from(ttl: Ttl) -> i64 {
        ttl.0.into()
    }
}

impl fmt::Display for Ttl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What one RRset holds: a TTL and a non-empty set of values of one type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contents {
    ttl: Ttl,
    rtype: RecordType,
    values: BTreeSet<Rdata>,
}

impl Contents {
    /// `None` when there is no value, or when the values are of several types.
    #[must_use]
    pub fn new(ttl: Ttl, values: BTreeSet<Rdata>) -> Option<Contents> {
        let rtype = values.first()?.rtype();
        let uniform = values.iter().all(|value| value.rtype() == rtype);
        uniform.then_some(Contents { ttl, rtype, values })
    }

    /// The time to live.
    #[must_use]
    pub fn ttl(&self) -> Ttl {
        self.ttl
    }

    /// The values, in a fixed order.
    #[must_use]
    pub fn values(&self) -> &BTreeSet<Rdata> {
        &self.values
    }

    /// The type of every value.
    #[must_use]
    pub fn rtype(&self) -> RecordType {
        self.rtype
    }

    /// The same RRset with each value replaced; a value of another type is not taken.
    #[must_use]
    pub fn map_values(&self, replace: impl Fn(&Rdata) -> Rdata) -> Contents {
        let mapped = self.values.iter().map(|value| {
            let new = replace(value);
            if new.rtype() == self.rtype { new } else { value.clone() }
        });
        Contents { values: mapped.collect(), ttl: self.ttl, rtype: self.rtype }
    }

    /// The equality that the diff uses: TTL and decoded values. The serial of an SOA is left
    /// out, because the server moves it with every change of the zone.
    #[must_use]
    pub fn matches(&self, other: &Contents) -> bool {
        self.ttl == other.ttl && self.compared() == other.compared()
    }

    /// Sixteen hexadecimal digits that are equal exactly when [`Contents::matches`] holds (but
    /// for collisions of 64 bits). They are written into notes on the server and read back by
    /// later versions of us, so the encoding must never change.
    #[must_use]
    pub fn fingerprint(&self) -> String {
        // Sorted as bytes: the order of `Rdata` may change with its declaration, this must not.
        let values: BTreeSet<Vec<u8>> =
            self.compared().iter().map(|value| length_prefixed(&value.fields())).collect();
        let mut parts = vec![self.ttl.get().to_be_bytes().to_vec(), self.rtype.as_str().into()];
        parts.extend(values);
        HEXLOWER.encode(&Sha256::digest(length_prefixed(&parts))[..8])
    }

    fn compared(&self) -> Cow<'_, BTreeSet<Rdata>> {
        if self.rtype != RecordType::Soa {
            return Cow::Borrowed(&self.values);
        }
        Cow::Owned(self.values.iter().map(Rdata::without_serial).collect())
    }
}

/// Each part after its length as four octets, so that no two lists give the same bytes.
fn length_prefixed(parts: &[Vec<u8>]) -> Vec<u8> {
    let mut out = Vec::new();
    for part in parts {
        let length = u32::try_from(part.len()).unwrap_or(u32::MAX);
        out.extend(length.to_be_bytes());
        out.extend(part);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contents(ttl: i64, rtype: RecordType, texts: &[&str]) -> Contents {
        let values = texts.iter().map(|text| Rdata::parse(rtype, text).unwrap()).collect();
        Contents::new(Ttl::new(ttl).unwrap(), values).unwrap()
    }

    #[test]
    fn types_have_one_text_everywhere() {
        for rtype in RecordType::ALL {
            assert_eq!(rtype.to_string().parse(), Ok(rtype));
            assert_eq!(serde_json::to_value(rtype).unwrap(), rtype.as_str());
        }
        let schema = serde_json::to_value(schemars::schema_for!(RecordType)).unwrap();
        let listed = schema["enum"].as_array().unwrap().clone();
        assert_eq!(schema["title"], "RecordType");
        assert_eq!(listed.len(), BTreeSet::from(RecordType::ALL).len());
        assert_eq!((&listed[3], &listed[13]), (&"CNAME".into(), &"SVCB".into()));
        assert_eq!(
            "a".parse::<RecordType>().unwrap_err().to_string(),
            "the record type \"a\" is unknown"
        );
    }

    #[test]
    fn coexistence_is_symmetric_and_exact() {
        for left in RecordType::ALL {
            for right in RecordType::ALL {
                let pair = [left, right];
                let address = pair.contains(&RecordType::A) || pair.contains(&RecordType::Aaaa);
                let clash = pair.contains(&RecordType::Cname)
                    || (pair.contains(&RecordType::Alias) && address);
                assert_eq!(left.coexists_with(right), left == right || !clash, "{pair:?}");
            }
        }
    }

    #[test]
    fn ttls_stay_in_range() {
        for seconds in [0, 300, 2_147_483_647] {
            let ttl = Ttl::new(seconds).unwrap();
            assert_eq!((i64::from(ttl.get()), i64::from(ttl)), (seconds, seconds));
            assert_eq!(ttl.to_string(), seconds.to_string());
        }
        for seconds in [-1, 2_147_483_648, 4_294_967_295, i64::MAX] {
            assert!(Ttl::new(seconds).unwrap_err().to_string().contains(&seconds.to_string()));
        }
    }

    #[test]
    fn contents_are_of_one_type_and_not_empty() {
        assert_eq!(Contents::new(Ttl::DEFAULT, BTreeSet::new()), None);
        let mixed = BTreeSet::from([
            Rdata::parse(RecordType::A, "192.0.2.1").unwrap(),
            Rdata::parse(RecordType::Aaaa, "::1").unwrap(),
        ]);
        assert_eq!(Contents::new(Ttl::DEFAULT, mixed), None);
    }

    #[test]
    fn mapping_keeps_the_type() {
        let address = Rdata::parse(RecordType::A, "192.0.2.9").unwrap();
        let one = contents(300, RecordType::A, &["192.0.2.1", "192.0.2.2"]);
        assert_eq!(one.map_values(|_| address.clone()).values().len(), 1);
        let txt = contents(300, RecordType::Txt, &["a"]);
        assert_eq!(txt.map_values(|_| address.clone()), txt);
    }

    #[test]
    fn matching_ignores_order_case_of_names_and_the_soa_serial() {
        let mx = |texts: &[&str]| contents(300, RecordType::Mx, texts);
        assert!(mx(&["10 A.example.", "20 b."]).matches(&mx(&["20 b.", "10 a.example."])));
        assert!(!mx(&["10 a."]).matches(&contents(301, RecordType::Mx, &["10 a."])));
        let soa = |serial: &str| {
            contents(300, RecordType::Soa, &[&format!("a. b. {serial} 10800 3600 604800 3600")])
        };
        assert!(soa("1").matches(&soa("2026113001")) && soa("1") != soa("2"));
        assert_eq!(soa("1").fingerprint(), soa("2").fingerprint());
    }

    /// Golden: notes on servers hold these. A change here orphans them.
    #[test]
    fn fingerprints_never_change() {
        for (sample, golden) in [
            (contents(300, RecordType::A, &["192.0.2.1", "192.0.2.2"]), "840f6197163b18ac"),
            (
                contents(0, RecordType::Txt, &[r#""v=spf1 -all""#, r#""a\"\195" """#]),
                "a2d6a0b9a8c76cd7",
            ),
            (
                contents(3600, RecordType::Https, &["1 . alpn=h2,h3 port=443 key7=\"/q{?dns}\""]),
                "d615390059d5f69c",
            ),
            (contents(1, RecordType::Aaaa, &["2001:db8::1"]), "c517e741a5978042"),
            (contents(1, RecordType::Alias, &["a."]), "4f22a1a10cde5ae2"),
            (contents(1, RecordType::Caa, &["128 issue \"ca.example\""]), "6d9fd358c7ec4036"),
            (contents(1, RecordType::Cname, &["a."]), "03275137530f25de"),
            (contents(1, RecordType::Mx, &["10 mx."]), "db9ad8f3756031a2"),
            (contents(1, RecordType::Ns, &["a."]), "dd5ecca553097f3c"),
            (contents(1, RecordType::Ptr, &["a."]), "331e50c309786b59"),
            (contents(1, RecordType::Soa, &["a. b. 1 2 3 4 5"]), "419a02d82539bc3a"),
            (contents(1, RecordType::Srv, &["1 2 3 a."]), "5a5d19b910bebd73"),
            (contents(1, RecordType::Svcb, &["1 a. port=1"]), "f43122b827554950"),
            (contents(1, RecordType::Tlsa, &["3 1 1 ab"]), "1c7516d0f354e072"),
        ] {
            assert_eq!(sample.fingerprint(), golden);
        }
    }

    #[test]
    fn fingerprints_keep_values_apart() {
        let txt = |texts: &[&str]| contents(300, RecordType::Txt, texts).fingerprint();
        assert_ne!(txt(&[r#""ab""#]), txt(&[r#""a""#, r#""b""#]));
        assert_eq!(txt(&[r#""ab""#]), txt(&[r#""a" "b""#]));
    }
}
