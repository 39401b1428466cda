//! Character strings: how bytes are read from declared text and from a server, and how they are
//! quoted for one.
//!
//! Which records hold them, and what they may not hold, is decided by each type.

use super::dialect::Dialect;
use crate::dns::presentation::{push_decimal, unescape};

/// The bytes that declared text means. A well-formed sequence of quoted strings is read as such
/// and joined. Everything else stands for itself, but for blanks around it and for `\;`, a
/// habit from zone files. `None` when nothing remains; an empty value is declared as `""`.
pub(super) fn declared(text: &str) -> Option<Vec<u8>> {
    let text = text.trim();
    if text.is_empty() {
        return None;
    }
    if text.starts_with('"')
        && let Some(bytes) = strings(text, Unquoted::Refuse)
    {
        return Some(bytes);
    }
    Some(text.replace(r"\;", ";").into_bytes())
}

/// The shortest text that is declared for these bytes: themselves where they are read so, else one quoted string.
pub(super) fn spell(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(plain)
            if !plain.chars().any(char::is_control)
                && declared(plain).as_deref() == Some(bytes) =>
        {
            plain.to_owned()
        }
        _ => quote(bytes, Dialect::OLDEST),
    }
}

/// The bytes of the strings that a server prints, joined. Unquoted strings are accepted: zones
/// filled by other means hold them. `None` when a quote or an escape is left open.
pub(super) fn printed(text: &str) -> Option<Vec<u8>> {
    strings(text, Unquoted::Accept)
}

#[derive(Clone, Copy)]
enum Unquoted {
    Accept,
    Refuse,
}

fn strings(text: &str, unquoted: Unquoted) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.trim_ascii_start();
    while !rest.is_empty() {
        if matches!(unquoted, Unquoted::Refuse) && !rest.starts_with('"') {
            return None;
        }
        let (bytes, tail) = string(rest)?;
        out.extend(bytes);
        rest = tail.trim_ascii_start();
    }
    Some(out)
}

/// Reads one string, up to its closing quote or, if it has none, to the next blank; gives its
/// bytes and what follows.
pub(super) fn string(text: &str) -> Option<(Vec<u8>, &str)> {
    let quoted = text.starts_with('"');
    let mut at = usize::from(quoted);
    let mut out = Vec::new();
    let bytes = text.as_bytes();
    while let Some(&byte) = bytes.get(at) {
        at += 1;
        match byte {
            b'"' if quoted => return Some((out, &text[at..])),
            b'\\' => {
                let (octet, read) = unescape(&bytes[at..])?;
                out.push(octet);
                at += read;
            }
            blank if !quoted && blank.is_ascii_whitespace() => return Some((out, &text[at..])),
            plain => out.push(plain),
        }
    }
    (!quoted).then_some((out, ""))
}

/// One quoted string. Everything outside printable ASCII is written as `\DDD`: 5.1 refuses such
/// bytes, and sqlite would keep them as they are and send a GET that is no JSON.
pub(super) fn quote(bytes: &[u8], dialect: Dialect) -> String {
    let mut inner = String::with_capacity(bytes.len());
    for &byte in bytes {
        match byte {
            b'"' | b'\\' => inner.extend(['\\', char::from(byte)]),
            b' '..=b'~' => inner.push(char::from(byte)),
            _ => push_decimal(&mut inner, byte),
        }
    }
    format!("\"{}\"", shield(&inner, &['"'], dialect))
}

/// Unquoted text, such as a name, that is spelled as 4.x prints it.
pub(super) fn bare(text: &str, dialect: Dialect) -> String {
    shield(text, &['"', ';', '(', ')'], dialect)
}

/// Protects backslashes and `special` characters from the first of two rounds of unescaping.
/// Escapes are protected whole, `\195` as `\\195`, because 5.1.3 corrupts what it resolves itself
/// to an octet above 127.
pub(super) fn shield(text: &str, special: &[char], dialect: Dialect) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if dialect.unescapes_twice && (c == '\\' || special.contains(&c)) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::dialect::Version;
    use super::*;

    fn dialect(version: &str) -> Dialect {
        Dialect::of(Version::parse(version).unwrap())
    }

    #[test]
    fn declared_text_is_repaired() {
        for (text, bytes) in [
            ("v=spf1 -all", "v=spf1 -all"),
            ("  padded\t", "padded"),
            ("v=DMARC1; p=none", "v=DMARC1; p=none"),
            (r"v=DMARC1\; p=none", "v=DMARC1; p=none"),
            (r#"say "hi" \ there"#, r#"say "hi" \ there"#),
            (r#"a\"b"#, r#"a\"b"#),
            (r"\", r"\"),
            ("\"", "\""),
            (r#""already quoted""#, "already quoted"),
            (r#""a" "b""#, "ab"),
            (r#""a""b""#, "ab"),
            (r#""x\;y""#, "x;y"),
            (r#""a\"\\\065""#, r#"a"\A"#),
            (r#""open"#, r#""open"#),
            (r#""a" b"#, r#""a" b"#),
            (r#""a\"#, r#""a\"#),
            (r#""a\999""#, r#""a\999""#),
            (r#""""#, ""),
            ("Zoë", "Zoë"),
            ("\"Zoë\"", "Zoë"),
        ] {
            assert_eq!(declared(text), Some(bytes.into()), "{text}");
        }
        assert_eq!(declared(" \n "), None);
    }

    #[test]
    fn printed_strings_are_read_leniently() {
        for (text, bytes) in [
            (r#""a" "b""#, &b"ab"[..]),
            (r#""a\"\\\195\b""#, b"a\"\\\xc3b"),
            ("plain two", b"plaintwo"),
            (r"a\032b", b"a b"),
            ("", b""),
        ] {
            assert_eq!(printed(text).as_deref(), Some(bytes), "{text}");
        }
        for text in ["\"open", "\"a\\", r#""a\1""#] {
            assert_eq!(printed(text), None, "{text}");
        }
    }

    /// The 5.1 texts are those that a 5.1.5 server was seen to store as the 4.x ones.
    #[test]
    fn quoting_depends_on_the_dialect() {
        for (bytes, old, new) in [
            (&b"a;b(c)"[..], r#""a;b(c)""#, r#""a;b(c)""#),
            (b"a\"b", r#""a\"b""#, r#""a\\\"b""#),
            (b"a\\b", r#""a\\b""#, r#""a\\\\b""#),
            (b"\xc3\0\x7f", r#""\195\000\127""#, r#""\\195\\000\\127""#),
        ] {
            assert_eq!(quote(bytes, dialect("4.9.18")), old);
            assert_eq!(quote(bytes, dialect("5.1.5")), new);
        }
        assert_eq!(bare(r"a\.b;c.", dialect("5.0.0")), r"a\.b;c.");
        assert_eq!(bare(r"a\.b;c.", dialect("5.1.0")), r"a\\.b\;c.");
    }
}
