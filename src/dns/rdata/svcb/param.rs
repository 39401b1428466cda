//! Parameters of a service binding: their keys, their text and their wire form (RFC 9460 §7).

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};

use data_encoding::{BASE64, BASE64_NOPAD};

use super::super::dialect::Dialect;
use super::super::text;

/// Registered names; the position is the key's number (RFC 9460 §14.3.2, RFC 9461, RFC 9540,
/// draft-ietf-tls-key-share-prediction).
const NAMES: [&str; 10] = [
    "mandatory",
    "alpn",
    "no-default-alpn",
    "port",
    "ipv4hint",
    "ech",
    "ipv6hint",
    "dohpath",
    "ohttp",
    "tls-supported-groups",
];
/// The first key that PowerDNS 4.x does not know by name.
const FIRST_NEWER: u16 = 7;

/// The number of a parameter, which also orders them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Key(u16);

/// How the value of a parameter is written.
enum Form {
    Keys,
    Alpn,
    Flag,
    Port,
    Ipv4,
    Ech,
    Ipv6,
    Numbers,
    Opaque,
}

impl Key {
    pub(super) const MANDATORY: Key = Key(0);

    /// A registered name or `keyNNNNN`.
    pub(super) fn parse(name: &str) -> Option<Key> {
        if let Some(digits) = name.strip_prefix("key") {
            let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
            return plain.then(|| digits.parse().ok()).flatten().map(Key);
        }
        let at = NAMES.iter().position(|&known| known == name)?;
        u16::try_from(at).ok().map(Key)
    }

    pub(super) fn to_bytes(self) -> Vec<u8> {
        self.0.to_be_bytes().to_vec()
    }

    /// Whether the parameter has no value.
    pub(super) fn is_flag(self) -> bool {
        matches!(self.form(), Form::Flag)
    }

    fn form(self) -> Form {
        match self.0 {
            0 => Form::Keys,
            1 => Form::Alpn,
            2 | 8 => Form::Flag,
            3 => Form::Port,
            4 => Form::Ipv4,
            5 => Form::Ech,
            6 => Form::Ipv6,
            9 => Form::Numbers,
            _ => Form::Opaque,
        }
    }

    fn name(self, dialect: Dialect) -> String {
        match NAMES.get(usize::from(self.0)) {
            Some(&name) if self.0 < FIRST_NEWER || dialect.names_newer_keys => name.to_owned(),
            _ => format!("key{}", self.0),
        }
    }

    /// The wire form of a value that stands, unescaped, after `spelling=`. The reason is a
    /// sentence fragment.
    pub(super) fn encode(self, spelling: &str, value: &[u8]) -> Result<Vec<u8>, String> {
        if spelling.starts_with("key") {
            return self.check_wire(value);
        }
        if matches!(self.form(), Form::Opaque) {
            return Ok(value.to_vec());
        }
        let text = std::str::from_utf8(value).map_err(|_| "is not text".to_owned())?;
        match self.form() {
            Form::Keys => encode_keys(text),
            Form::Alpn => encode_alpn(text),
            Form::Flag if text.is_empty() => Ok(Vec::new()),
            Form::Flag => Err("takes no value".to_owned()),
            Form::Port => one::<u16>(text, "a port").map(|port| port.to_be_bytes().to_vec()),
            Form::Ipv4 => list::<Ipv4Addr, 4>(text, "an IPv4 address", |a| a.octets()),
            Form::Ipv6 => list::<Ipv6Addr, 16>(text, "an IPv6 address", |a| a.octets()),
            Form::Numbers => list::<u16, 2>(text, "a number", u16::to_be_bytes),
            Form::Ech => BASE64
                .decode(value)
                .or_else(|_| BASE64_NOPAD.decode(value))
                .ok()
                .filter(|bytes| !bytes.is_empty())
                .ok_or_else(|| "is not base64".to_owned()),
            Form::Opaque => Ok(value.to_vec()),
        }
    }

    /// The generic spelling gives the wire form itself. For the keys that every version names
    /// PowerDNS refuses that spelling.
    fn check_wire(self, wire: &[u8]) -> Result<Vec<u8>, String> {
        match (NAMES.get(usize::from(self.0)), self.form()) {
            (Some(name), _) if self.0 < FIRST_NEWER => Err(format!("must be called {name}")),
            (_, Form::Flag) if !wire.is_empty() => Err("takes no value".to_owned()),
            (_, Form::Numbers) if wire.is_empty() || wire.len() % 2 == 1 => {
                Err("is not a list of 16-bit numbers".to_owned())
            }
            _ => Ok(wire.to_vec()),
        }
    }

    /// Refuses what no text form of PowerDNS carries: it reads `;`, `(` and `)` as the end of a
    /// parameter, quoted or not, and corrupts unprintable protocol names.
    pub(super) fn transportable(self, wire: Vec<u8>) -> Result<Vec<u8>, String> {
        let special = |byte: &u8| matches!(byte, b';' | b'(' | b')');
        let odd = |byte: &u8| special(byte) || *byte == b'"' || !byte.is_ascii_graphic();
        if self.0 >= FIRST_NEWER && wire.iter().any(special) {
            return Err("has a ';', '(' or ')', which PowerDNS does not take here".to_owned());
        }
        if matches!(self.form(), Form::Alpn) && protocols(&wire).any(|id| id.iter().any(odd)) {
            return Err("has a character that PowerDNS does not take here".to_owned());
        }
        Ok(wire)
    }

    /// `name=value`, or the name alone.
    pub(super) fn print(self, wire: &[u8], dialect: Dialect) -> String {
        let name = self.name(dialect);
        let value = match self.form() {
            _ if name.starts_with("key") => text::quote(wire, dialect),
            Form::Flag => return name,
            Form::Keys => joined(keys(wire).map(|key| key.name(dialect))),
            Form::Alpn => print_alpn(wire, dialect),
            Form::Port | Form::Numbers => joined(numbers(wire)),
            Form::Ipv4 => joined(chunks(wire).map(Ipv4Addr::from_octets)),
            Form::Ipv6 => joined(chunks(wire).map(|octets| ntop(Ipv6Addr::from_octets(octets)))),
            Form::Ech => format!("\"{}\"", BASE64.encode(wire)),
            Form::Opaque => text::quote(wire, dialect),
        };
        format!("{name}={value}")
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match NAMES.get(usize::from(self.0)) {
            Some(name) => f.write_str(name),
            None => write!(f, "key{}", self.0),
        }
    }
}

/// The keys in the wire form of `mandatory`.
pub(super) fn keys(wire: &[u8]) -> impl Iterator<Item = Key> {
    numbers(wire).map(Key)
}

fn numbers(wire: &[u8]) -> impl Iterator<Item = u16> {
    chunks(wire).map(u16::from_be_bytes)
}

fn chunks<const N: usize>(wire: &[u8]) -> impl Iterator<Item = [u8; N]> {
    wire.as_chunks().0.iter().copied()
}

fn joined<T: ToString>(items: impl Iterator<Item = T>) -> String {
    items.map(|item| item.to_string()).collect::<Vec<_>>().join(",")
}

fn one<T: std::str::FromStr>(text: &str, what: &str) -> Result<T, String> {
    let text = text.trim();
    let parsed = if text.starts_with('+') { None } else { text.parse().ok() };
    parsed.ok_or_else(|| format!("{text:?} is not {what}"))
}

fn list<T: std::str::FromStr, const N: usize>(
    text: &str,
    what: &str,
    octets: impl Fn(T) -> [u8; N],
) -> Result<Vec<u8>, String> {
    let mut wire = Vec::new();
    for item in text.split(',') {
        wire.extend(octets(one(item, what)?));
    }
    Ok(wire)
}

/// In ascending order, which the wire demands (§8).
fn encode_keys(text: &str) -> Result<Vec<u8>, String> {
    let parse = |name: &str| Key::parse(name.trim()).ok_or_else(|| format!("{name:?} is unknown"));
    let mut keys = text.split(',').map(parse).collect::<Result<Vec<_>, _>>()?;
    keys.sort_unstable();
    if keys.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err("lists a parameter twice".to_owned());
    }
    Ok(keys.into_iter().flat_map(Key::to_bytes).collect())
}

/// Each protocol after its length. In the text a comma or backslash of a protocol name is
/// escaped by a backslash (RFC 9460 appendix A.1).
fn encode_alpn(text: &str) -> Result<Vec<u8>, String> {
    let mut ids = vec![String::new()];
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        match (c, ids.last_mut()) {
            (',', _) => ids.push(String::new()),
            ('\\', Some(id)) => match rest.next() {
                Some(escaped @ (',' | '\\')) => id.push(escaped),
                _ => return Err("has a backslash before neither ',' nor '\\'".to_owned()),
            },
            (plain, Some(id)) => id.push(plain),
            (_, None) => {}
        }
    }
    let mut wire = Vec::new();
    for id in ids {
        let id = id.trim();
        match u8::try_from(id.len()) {
            Ok(length) if length > 0 => wire.push(length),
            // Longer ones kill PowerDNS 4.7 on LMDB.
            _ => return Err("has a protocol name of no or more than 255 bytes".to_owned()),
        }
        wire.extend(id.as_bytes());
    }
    Ok(wire)
}

fn protocols(wire: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = wire;
    std::iter::from_fn(move || {
        let (&length, tail) = rest.split_first()?;
        let (id, tail) = tail.split_at(tail.len().min(usize::from(length)));
        rest = tail;
        Some(id)
    })
}

/// 4.x prints a comma inside a name as `\\,` and a backslash as `\\\\`: the escape of the list,
/// escaped again as text. Only a blank makes it quote the list.
fn print_alpn(wire: &[u8], dialect: Dialect) -> String {
    let escape =
        |id: &[u8]| String::from_utf8_lossy(id).replace('\\', r"\\\\").replace(',', r"\\,");
    let ids = joined(protocols(wire).map(escape));
    if ids.contains(' ') {
        return format!("\"{}\"", text::shield(&ids, &['"'], dialect));
    }
    text::bare(&ids, dialect)
}

/// As the C library prints it, whose text PowerDNS compares with: an address whose first 96 bits
/// are zero, and only those, ends in a dotted quad too.
fn ntop(address: Ipv6Addr) -> String {
    match address.segments() {
        [0, 0, 0, 0, 0, 0, high, _] if high > 0 => {
            let [.., a, b, c, d] = address.octets();
            format!("::{}", Ipv4Addr::new(a, b, c, d))
        }
        _ => address.to_string(),
    }
}
