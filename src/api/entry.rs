//! One entry of a record set's `spec.records`: its shape, its schema, and how it is read.
//!
//! Owns the typed fields of the fourteen record types as the API declares them, with the bounds and patterns
//! that go into the CRD, and errors that name the field. What a value means in DNS (is the address one, does
//! the target end in a dot) belongs to [`crate::dns`]: an entry that decodes here can still be invalid there.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use schemars::{Schema, SchemaGenerator, json_schema};
use serde::de::{DeserializeSeed, Deserializer, Error as _, IntoDeserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize, forward_to_deserialize_any};
use serde_json::Value;

/// One record: an owner name, a TTL, and the data in the field of the set's record type.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RecordEntry {
    /// Owner name: relative to the zone, `@` for the zone's apex, or absolute with a final dot.
    /// `www.example.com` without a final dot is relative too.
    #[schemars(length(min = 1), regex(pattern = r"^(@|[A-Za-z0-9*._-]+)$"))]
    pub name: String,
    /// Time to live in seconds, 0 to 2147483647; all records of one name and type share the first entry's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl: Option<i64>,
    /// The data; one field, that of the record type, should be set.
    #[serde(flatten)]
    pub fields: RecordFields,
}

/// The data of one entry: one optional field per record type.
///
/// The API does not enforce that the field matches the set's `recordType`; who renders checks it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RecordFields {
    /// Data of an A record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub a: Option<Ipv4Content>,
    /// Data of an AAAA record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aaaa: Option<Ipv6Content>,
    /// Data of an ALIAS record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alias: Option<TargetContent>,
    /// Data of a CNAME record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cname: Option<TargetContent>,
    /// Data of a TXT record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub txt: Option<TextContent>,
    /// Data of an MX record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mx: Option<Mx>,
    /// Data of an SRV record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub srv: Option<Srv>,
    /// Data of a CAA record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caa: Option<Caa>,
    /// Data of an NS record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ns: Option<HostContent>,
    /// Data of an SOA record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub soa: Option<Soa>,
    /// Data of a PTR record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ptr: Option<TextContent>,
    /// Data of a TLSA record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tlsa: Option<Tlsa>,
    /// Data of an HTTPS record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub https: Option<Svcb>,
    /// Data of an SVCB record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub svcb: Option<Svcb>,
}

/// An IPv4 address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Ipv4Content {
    /// IPv4 address in dotted decimal form.
    #[schemars(extend("format" = "ipv4"))]
    pub content: String,
}

/// An IPv6 address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Ipv6Content {
    /// IPv6 address.
    #[schemars(extend("format" = "ipv6"))]
    pub content: String,
}

/// The target of a CNAME or ALIAS record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TargetContent {
    /// Target name, always absolute, with or without its final dot; never relative to the zone.
    #[schemars(
        length(min = 1, max = 253),
        regex(
            pattern = r"^[A-Za-z0-9_]([-A-Za-z0-9_]{0,61}[A-Za-z0-9_])?(\.[A-Za-z0-9_]([-A-Za-z0-9_]{0,61}[A-Za-z0-9_])?)*\.?$"
        )
    )]
    pub content: String,
}

/// The target of an NS record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HostContent {
    /// Host name of the name server, always absolute, with or without its final dot.
    #[schemars(
        length(min = 1, max = 253),
        regex(
            pattern = r"^[A-Za-z0-9]([-A-Za-z0-9]{0,61}[A-Za-z0-9])?(\.[A-Za-z0-9]([-A-Za-z0-9]{0,61}[A-Za-z0-9])?)*\.?$"
        )
    )]
    pub content: String,
}

/// Free text: the string of a TXT record, or the target of a PTR record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TextContent {
    /// TXT: the text, as it is or as a sequence of quoted strings. PTR: the absolute target name.
    pub content: String,
}

/// A mail exchange (RFC 1035, 3.3.9).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Mx {
    /// Preference; the lowest is tried first.
    #[serde(deserialize_with = "number")]
    #[schemars(range(min = 0, max = 65535))]
    pub preference: u16,
    /// Absolute name of the mail server; `.` says that the domain accepts no mail (RFC 7505).
    #[schemars(length(min = 1))]
    pub exchange: String,
}

/// A service location (RFC 2782).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Srv {
    /// Priority; the lowest is tried first.
    #[serde(deserialize_with = "number")]
    #[schemars(range(min = 0, max = 65535))]
    pub priority: u16,
    /// Share among targets of the same priority.
    #[serde(deserialize_with = "number")]
    #[schemars(range(min = 0, max = 65535))]
    pub weight: u16,
    /// Port of the service.
    #[serde(deserialize_with = "number")]
    #[schemars(range(min = 0, max = 65535))]
    pub port: u16,
    /// Absolute name of the host.
    #[schemars(length(min = 1))]
    pub target: String,
}

/// Which certificate authorities may issue (RFC 8659).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Caa {
    /// Flags; 128 is "critical".
    #[serde(deserialize_with = "number")]
    #[schemars(range(min = 0, max = 255))]
    pub flag: u8,
    /// Property, such as `issue`, `issuewild` or `iodef`.
    #[schemars(regex(pattern = r"^[a-z0-9]+$"))]
    pub tag: String,
    /// Value of the property.
    #[schemars(length(min = 1))]
    pub value: String,
}

/// A start of authority (RFC 1035, 3.3.13). Timers that are absent or zero take the zone's usual values.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Soa {
    /// Absolute name of the primary name server.
    #[schemars(length(min = 1))]
    pub mname: String,
    /// Mail address of the person responsible, as an absolute name.
    #[schemars(length(min = 1))]
    pub rname: String,
    // The interface says int32 although a serial has 32 unsigned bits. The API server does not hold numbers to their
    // format (seen on 1.35), so any whole number arrives here, and what is no serial is refused here.
    /// Serial number; absent, the daemon and the server keep one.
    #[serde(
        default,
        deserialize_with = "optional_number",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(with = "Option<i32>")]
    pub serial: Option<u32>,
    /// Seconds until a secondary asks again.
    #[serde(
        default,
        deserialize_with = "optional_number",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(with = "Option<i32>")]
    pub refresh: Option<u32>,
    /// Seconds until a secondary asks again after a failure.
    #[serde(
        default,
        deserialize_with = "optional_number",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(with = "Option<i32>")]
    pub retry: Option<u32>,
    /// Seconds until a secondary that reaches nobody gives the zone up.
    #[serde(
        default,
        deserialize_with = "optional_number",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(with = "Option<i32>")]
    pub expire: Option<u32>,
    /// Seconds for which "no such name" is remembered (the MINIMUM field; RFC 2308).
    #[serde(
        default,
        deserialize_with = "optional_number",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(with = "Option<i32>")]
    pub ttl: Option<u32>,
}

/// A certificate association (RFC 6698).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Tlsa {
    /// Certificate usage, 0 to 255.
    #[serde(deserialize_with = "number")]
    #[schemars(schema_with = "integer")]
    pub usage: u8,
    /// Selector, 0 to 255.
    #[serde(deserialize_with = "number")]
    #[schemars(schema_with = "integer")]
    pub selector: u8,
    /// Matching type, 0 to 255.
    #[serde(deserialize_with = "number")]
    #[schemars(schema_with = "integer")]
    pub matching_type: u8,
    /// Certificate association data in hexadecimal.
    pub cert_data: String,
}

/// A service binding (RFC 9460), for HTTPS and SVCB records.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Svcb {
    /// Priority; 0 makes the record an alias without parameters.
    #[serde(deserialize_with = "number")]
    #[schemars(range(min = 0, max = 65535))]
    pub priority: u16,
    /// Absolute target name; empty or `.` stands for the owner name.
    pub target: String,
    /// Parameters such as `alpn`, `port`, `ipv4hint`, or `keyNNNNN`.
    #[serde(default, deserialize_with = "null_or", skip_serializing_if = "BTreeMap::is_empty")]
    pub params: BTreeMap<String, String>,
}

/// The bare integer that the schema of TLSA declares: bounds are the reader's business.
fn integer(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "integer"})
}

/// An unsigned number of at most 32 bits: read wide, refused with its range.
trait Unsigned: TryFrom<u64> {
    /// The largest value.
    const MAX: u64;
}

impl Unsigned for u8 {
    const MAX: u64 = 255;
}

impl Unsigned for u16 {
    const MAX: u64 = 65535;
}

impl Unsigned for u32 {
    const MAX: u64 = 4_294_967_295;
}

/// Reads a number; the error gives what was there and what is allowed.
fn number<'de, D: Deserializer<'de>, T: Unsigned>(deserializer: D) -> Result<T, D::Error> {
    let value = Value::deserialize(deserializer)?;
    let number = value.as_u64().and_then(|number| T::try_from(number).ok());
    number.ok_or_else(|| {
        D::Error::custom(format_args!("{value} is not a whole number from 0 to {}", T::MAX))
    })
}

/// The same for a number that may be absent or `null`.
fn optional_number<'de, D: Deserializer<'de>, T: Unsigned>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    let value = Value::deserialize(deserializer)?;
    if value.is_null() {
        return Ok(None);
    }
    number(value).map(Some).map_err(D::Error::custom)
}

/// Reads `null` like an absent member.
fn null_or<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(
    deserializer: D,
) -> Result<T, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

impl RecordFields {
    /// Reads the typed fields of one raw entry; other keys, known or not, are ignored.
    ///
    /// # Errors
    /// A fragment that leads to the fault by field names: `mx: preference: -1 is not a whole number from 0 to 65535`.
    pub fn decode(entry: &Value) -> Result<Self, String> {
        Self::deserialize(Named(entry)).map_err(|error| error.to_string())
    }
}

/// A JSON value whose errors name the fields that lead to them; serde's own give the value alone.
struct Named<'de>(&'de Value);

impl<'de> Deserializer<'de> for Named<'de> {
    type Error = serde_json::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        match self.0.as_object() {
            Some(object) => visitor.visit_map(NamedFields { rest: object.iter(), current: None }),
            None => self.0.deserialize_any(visitor),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        if self.0.is_null() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct
        newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

/// The members of an object, with the one being read remembered for its error.
struct NamedFields<'de> {
    rest: serde_json::map::Iter<'de>,
    current: Option<(&'de str, &'de Value)>,
}

impl<'de> MapAccess<'de> for NamedFields<'de> {
    type Error = serde_json::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Self::Error> {
        self.current = self.rest.next().map(|(name, value)| (name.as_str(), value));
        self.current.map(|(name, _)| seed.deserialize(name.into_deserializer())).transpose()
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(
        &mut self,
        seed: V,
    ) -> Result<V::Value, Self::Error> {
        let Some((name, value)) = self.current.take() else {
            return Err(Self::Error::custom("a value without a name"));
        };
        seed.deserialize(Named(value))
            .map_err(|error| Self::Error::custom(format_args!("{name}: {error}")))
    }
}
