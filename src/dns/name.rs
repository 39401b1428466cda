//! Domain names: absolute, canonical, ordered as RFC 4034 orders them.
//!
//! Which names a record may have, and how a relative one is completed, is `zone`'s concern.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use serde::{Serialize, Serializer};
use thiserror::Error;

use super::presentation::{push_decimal, unescape};

/// Longest label, in octets (RFC 1035 §2.3.4).
const MAX_LABEL: usize = 63;
/// Longest name on the wire, in octets, with its length octets and the root (RFC 1035 §2.3.4).
const MAX_NAME: usize = 255;

/// An absolute domain name, in lower case, that prints with a final dot.
///
/// The text is the one that PowerDNS itself prints: a dot or backslash inside a label is escaped
/// by a backslash, an octet outside `!`…`~` as `\DDD`. PowerDNS 4.x refuses any other spelling.
/// Cloning is cheap.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Name(Arc<str>);

/// Why a text is no domain name.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum NameError {
    /// There is nothing between two dots, before the first one, or at all.
    #[error("a label is empty")]
    EmptyLabel,
    /// A label has more than 63 octets.
    #[error("a label is longer than 63 octets")]
    LabelTooLong,
    /// The name has more than 255 octets on the wire.
    #[error("the name is longer than 255 octets")]
    NameTooLong,
    /// A backslash is followed neither by a character nor by three digits up to 255.
    #[error("an escape is incomplete")]
    BadEscape,
    /// A blank, a control character, or one outside ASCII.
    #[error("the character {0:?} is not allowed in a domain name")]
    BadCharacter(char),
}

impl Name {
    /// Reads a name that is absolute with or without its final dot. RFC 1035 escapes are
    /// accepted; characters outside printable ASCII must be written as escapes or in punycode.
    ///
    /// # Errors
    ///
    /// When a label is empty or too long, the name is too long, an escape is broken, or a
    /// character is not printable ASCII.
    pub fn parse(text: &str) -> Result<Name, NameError> {
        if text == "." {
            return Ok(Name(".".into()));
        }
        if let Some(odd) = text.chars().find(|c| !c.is_ascii_graphic()) {
            return Err(NameError::BadCharacter(odd));
        }
        let mut out = String::with_capacity(text.len());
        let mut rest = text.as_bytes();
        let mut octets = 1;
        let mut label = 0;
        while let [first, tail @ ..] = rest {
            rest = tail;
            let (octet, read) = match *first {
                b'.' => {
                    octets += end_label(&mut out, &mut label)?;
                    continue;
                }
                b'\\' => unescape(tail).ok_or(NameError::BadEscape)?,
                plain => (plain, 0),
            };
            push_octet(&mut out, octet.to_ascii_lowercase());
            label += 1;
            rest = &tail[read..];
        }
        if label > 0 || out.is_empty() {
            octets += end_label(&mut out, &mut label)?;
        }
        if octets > MAX_NAME {
            return Err(NameError::NameTooLong);
        }
        Ok(Name(out.into()))
    }

    /// The canonical text, such as `www.example.com.`.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether this is `zone` itself or a name inside it.
    #[must_use]
    pub fn is_at_or_below(&self, zone: &Name) -> bool {
        if zone.is_root() {
            return true;
        }
        let Some(prefix) = self.0.strip_suffix(&*zone.0) else {
            return false;
        };
        // The dot before the suffix parts labels only if no backslash makes it a part of one.
        match prefix.strip_suffix('.') {
            None => prefix.is_empty(),
            Some(labels) => {
                let backslashes = labels.bytes().rev().take_while(|byte| *byte == b'\\').count();
                backslashes.is_multiple_of(2)
            }
        }
    }

    /// The names above, the nearest first, the root last; the root has none.
    pub fn ancestors(&self) -> impl Iterator<Item = Name> {
        let ends = self.labels().scan(0, |end, label| {
            *end += label.len() + 1;
            Some(*end)
        });
        let above = ends.map(|end| self.0.get(end..).filter(|rest| !rest.is_empty()));
        above.map(|rest| Name(rest.unwrap_or(".").into()))
    }

    /// Whether this is the root, `.`.
    #[must_use]
    pub fn is_root(&self) -> bool {
        &*self.0 == "."
    }

    /// The number of labels; the root has none.
    #[must_use]
    pub fn label_count(&self) -> usize {
        self.labels().count()
    }

    /// The labels from left to right, escaped as they print.
    pub(super) fn labels(&self) -> impl Iterator<Item = &str> {
        let mut escaped = false;
        let unescaped_dot = move |c: char| {
            let dot = c == '.' && !escaped;
            escaped = c == '\\' && !escaped;
            dot
        };
        self.0.split(unescaped_dot).filter(|label| !label.is_empty())
    }

    /// The length on the wire, uncompressed (RFC 1035 §3.1).
    pub(super) fn wire_len(&self) -> usize {
        1 + self.labels().map(|label| decode(label).len() + 1).sum::<usize>()
    }
}

fn end_label(out: &mut String, label: &mut usize) -> Result<usize, NameError> {
    match *label {
        0 => Err(NameError::EmptyLabel),
        length if length > MAX_LABEL => Err(NameError::LabelTooLong),
        length => {
            out.push('.');
            *label = 0;
            Ok(length + 1)
        }
    }
}

fn push_octet(out: &mut String, octet: u8) {
    match octet {
        b'.' | b'\\' => {
            out.push('\\');
            out.push(char::from(octet));
        }
        b'!'..=b'~' => out.push(char::from(octet)),
        _ => push_decimal(out, octet),
    }
}

/// The octets of a label of a parsed name, whose escapes are therefore well formed.
fn decode(label: &str) -> Vec<u8> {
    let mut octets = Vec::with_capacity(label.len());
    let mut rest = label.as_bytes();
    while let [first, tail @ ..] = rest {
        let (octet, read) = match *first {
            b'\\' => unescape(tail).unwrap_or((b'\\', 0)),
            plain => (plain, 0),
        };
        octets.push(octet);
        rest = &tail[read..];
    }
    octets
}

/// The canonical order of RFC 4034 §6.1: by label from the right, each as octets. A zone sorts
/// before the names below it, and they are one unbroken run.
impl Ord for Name {
    fn cmp(&self, other: &Self) -> Ordering {
        if self.0.contains('\\') || other.0.contains('\\') {
            let decoded = |name: &Name| name.labels().map(decode).collect::<Vec<_>>();
            return decoded(self).iter().rev().cmp(decoded(other).iter().rev());
        }
        // Maps of names are most of what a plan is made of, and names of one zone end alike: what they share is passed over
        // byte by byte, and only the labels in which they part are compared. The final dot is shared by all.
        let (left, right) = (self.0.as_bytes(), other.0.as_bytes());
        let shared = left.iter().rev().zip(right.iter().rev()).take_while(|(l, r)| l == r).count();
        let (left, right) = (parting(left, shared), parting(right, shared));
        // One of two whose labels are the same as far as they go is above the other.
        left.cmp(right).then(self.0.len().cmp(&other.0.len()))
    }
}

/// The label of a name in which it parts from another that ends in the same `shared` octets.
fn parting(name: &[u8], shared: usize) -> &[u8] {
    let (own, common) = name.split_at(name.len() - shared);
    let end = own.len() + common.iter().position(|b| *b == b'.').unwrap_or_default();
    let begin = name.iter().take(end).rposition(|b| *b == b'.').map_or(0, |dot| dot + 1);
    name.get(begin..end).unwrap_or_default()
}

impl PartialOrd for Name {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl Serialize for Name {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> Name {
        Name::parse(text).unwrap()
    }

    #[test]
    fn a_name_is_absolute_and_in_lower_case() {
        for (text, canonical) in [
            ("www.Example.COM", "www.example.com."),
            ("www.example.com.", "www.example.com."),
            (".", "."),
            (r"a\.b.example.", r"a\.b.example."),
            (r"a\046b.example.", r"a\.b.example."),
            (r"a\\b.example.", r"a\\b.example."),
            (r"a\032\195b.example.", r"a\032\195b.example."),
            (r#"a\"\097\065.example."#, r#"a"aa.example."#),
        ] {
            assert_eq!(name(text).as_str(), canonical, "{text}");
            assert_eq!(name(canonical), name(text), "{text}");
            assert_eq!(format!("{0} {0:?}", name(text)), format!("{canonical} {canonical}"));
            assert_eq!(serde_json::to_value(name(text)).unwrap(), canonical);
        }
    }

    #[test]
    fn malformed_names_are_refused() {
        for (text, error) in [
            ("", NameError::EmptyLabel),
            ("..", NameError::EmptyLabel),
            (".a", NameError::EmptyLabel),
            ("a..b", NameError::EmptyLabel),
            ("a.b..", NameError::EmptyLabel),
            ("a b.", NameError::BadCharacter(' ')),
            ("zoë.example.", NameError::BadCharacter('ë')),
            (r"a\", NameError::BadEscape),
            (r"a\25", NameError::BadEscape),
            (r"a\256.", NameError::BadEscape),
        ] {
            assert_eq!(Name::parse(text), Err(error), "{text}");
        }
    }

    #[test]
    fn lengths_count_octets() {
        assert!(Name::parse(&"a".repeat(63)).is_ok());
        assert_eq!(Name::parse(&"a".repeat(64)), Err(NameError::LabelTooLong));
        assert!(Name::parse(&r"\200".repeat(63)).is_ok());
        let longest = format!("{0}.{0}.{0}.{1}", "a".repeat(63), "b".repeat(61));
        assert_eq!(name(&longest).wire_len(), 255);
        assert_eq!(Name::parse(&format!("{longest}b")), Err(NameError::NameTooLong));
    }

    #[test]
    fn below_respects_label_boundaries() {
        let zone = name("example.com");
        for inside in ["example.com.", "www.example.com.", r"a\\.example.com."] {
            assert!(name(inside).is_at_or_below(&zone), "{inside}");
        }
        for outside in
            ["com.", "xexample.com.", "example.org.", ".", r"a\.example.com.", r"a\\\.example.com."]
        {
            assert!(!name(outside).is_at_or_below(&zone), "{outside}");
        }
        assert!(name("a.").is_at_or_below(&name(".")) && name(".").is_root());
    }

    #[test]
    fn labels_are_counted_without_the_root() {
        for (text, count) in [(".", 0), ("com.", 1), ("a.b.c.", 3), (r"a\.b.c.", 2), (r"a\\.b.", 2)]
        {
            assert_eq!(name(text).label_count(), count, "{text}");
        }
    }

    /// The example of RFC 4034 §6.1, and a sibling that plain text order would put in between.
    #[test]
    fn order_is_canonical() {
        let sorted = [
            ".",
            "example.",
            "a.example.",
            "yljkjljk.a.example.",
            "z.a.example.",
            "a-b.example.",
            "zabc.a-b.example.",
            "z.example.",
            r"\001.z.example.",
            "*.z.example.",
            r"\200.z.example.",
            "example-2.",
        ];
        for (at, left) in sorted.iter().enumerate() {
            for (other, right) in sorted.iter().enumerate() {
                assert_eq!(name(left).cmp(&name(right)), at.cmp(&other), "{left} {right}");
                assert_eq!(name(left).partial_cmp(&name(right)), Some(at.cmp(&other)));
            }
        }
    }

    /// Each pair of many names, beside the rule as the RFC has it.
    #[test]
    fn order_is_that_of_labels_from_the_right() {
        let labels = ["a", "b", "ab", "ba", "a-b", "a0", r"\.", r"a\.b", r"\000"];
        let mut names = vec![".".to_owned()];
        for _ in 0..3 {
            let longer =
                |name: &String| labels.map(|l| format!("{l}.{}", name.trim_start_matches('.')));
            names.extend(names.clone().iter().flat_map(longer));
            names.sort();
            names.dedup();
        }
        let names: Vec<Name> = names.iter().map(|n| name(n)).collect();
        let rule = |name: &Name| name.labels().map(decode).collect::<Vec<_>>().into_iter().rev();
        for left in &names {
            for right in names.iter().step_by(3) {
                assert_eq!(left.cmp(right), rule(left).cmp(rule(right)), "{left} {right}");
            }
        }
    }

    #[test]
    fn ancestors_are_the_names_above_up_to_the_root() {
        let above = |name: &str| -> Vec<String> {
            Name::parse(name).unwrap().ancestors().map(|a| a.to_string()).collect()
        };
        assert_eq!(above("a.b.test."), ["b.test.", "test.", "."]);
        assert_eq!(above("test."), ["."]);
    }
}
