//! Where a declared record belongs: the owner name of an entry in its zone.
//!
//! Whether the zone is ours, and who holds the name, is decided in `plan`.

use thiserror::Error;

use super::name::{Name, NameError};

/// Why a declared record name gives no owner name in its zone.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum OwnerError {
    /// An empty label, or a label or name that is too long.
    #[error("the name {raw:?} is malformed: {source}")]
    Malformed {
        /// The name as declared.
        raw: String,
        /// What is wrong with it.
        source: NameError,
    },
    /// PowerDNS takes letters, digits and `_`, `/`, `-` in an owner name, and `*` as its whole
    /// left-most label; everything else is refused by every version.
    #[error(
        "the name {raw:?} has the unsupported character {character:?}; allowed are letters, digits, \
         '_', '/', '-', and '*' as the whole left-most label"
    )]
    UnsupportedCharacter {
        /// The name as declared.
        raw: String,
        /// The first character that is not allowed where it stands.
        character: char,
    },
    /// An absolute name that is neither the zone nor below it.
    #[error("the name {raw:?} is outside the zone {zone}")]
    OutOfZone {
        /// The name as declared.
        raw: String,
        /// The zone.
        zone: Name,
    },
}

/// The owner name of an entry whose `name` is `raw`: `@` or nothing is the zone's apex, a final
/// dot makes it absolute, everything else is relative to the zone. That holds also for what
/// looks absolute: `www.example.com` in `example.com` is `www.example.com.example.com.`.
///
/// # Errors
///
/// See [`OwnerError`].
pub fn owner_name(raw: &str, zone: &Name) -> Result<Name, OwnerError> {
    if raw.is_empty() || raw == "@" {
        return Ok(zone.clone());
    }
    if let Some(character) = unsupported(raw) {
        return Err(OwnerError::UnsupportedCharacter { raw: raw.to_owned(), character });
    }
    let absolute = match (raw.ends_with('.'), zone.is_root()) {
        (true, _) => Name::parse(raw),
        (false, true) => Name::parse(&format!("{raw}.")),
        (false, false) => Name::parse(&format!("{raw}.{zone}")),
    };
    match absolute {
        Err(source) => Err(OwnerError::Malformed { raw: raw.to_owned(), source }),
        Ok(name) if name.is_at_or_below(zone) => Ok(name),
        Ok(_) => Err(OwnerError::OutOfZone { raw: raw.to_owned(), zone: zone.clone() }),
    }
}

fn unsupported(raw: &str) -> Option<char> {
    let rest = match raw.strip_prefix('*') {
        Some(rest) if rest.is_empty() || rest.starts_with('.') => rest,
        _ => raw,
    };
    rest.chars().find(|&c| !c.is_ascii_alphanumeric() && !matches!(c, '_' | '/' | '.' | '-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner(raw: &str) -> Result<String, String> {
        let zone = Name::parse("example.com").unwrap();
        owner_name(raw, &zone).map(|name| name.to_string()).map_err(|error| error.to_string())
    }

    #[test]
    fn names_are_relative_unless_they_end_in_a_dot() {
        for (raw, expected) in [
            ("@", "example.com."),
            ("", "example.com."),
            ("www", "www.example.com."),
            ("WWW", "www.example.com."),
            ("www.example.com", "www.example.com.example.com."),
            ("www.example.com.", "www.example.com."),
            ("Example.COM.", "example.com."),
            ("_dmarc", "_dmarc.example.com."),
            ("0/25.x", "0/25.x.example.com."),
            ("-a", "-a.example.com."),
            ("*", "*.example.com."),
            ("*.sub", "*.sub.example.com."),
            ("*.sub.example.com.", "*.sub.example.com."),
        ] {
            assert_eq!(owner(raw).as_deref(), Ok(expected), "{raw}");
        }
    }

    #[test]
    fn what_no_server_takes_is_refused() {
        for raw in ["a-*", "sub.*.x", "**", "*a", "$x", "a b", "a\\.b", "@.x", "zoë", "a\"b"] {
            assert!(owner(raw).unwrap_err().contains("unsupported character"), "{raw}");
        }
        for raw in ["..", "a..b", ".a", "*..", &"a".repeat(64), &"a.".repeat(126)] {
            let error = owner(raw).unwrap_err();
            assert!(error.contains("malformed") || error.contains("outside"), "{raw}: {error}");
        }
        assert_eq!(owner("a..b").unwrap_err(), "the name \"a..b\" is malformed: a label is empty");
    }

    #[test]
    fn an_absolute_name_elsewhere_is_out_of_zone() {
        for raw in ["www.other.org.", "com.", ".", "xexample.com."] {
            let expected = format!("the name {raw:?} is outside the zone example.com.");
            assert_eq!(owner(raw).unwrap_err(), expected);
        }
    }

    #[test]
    fn the_root_zone_works_too() {
        let root = Name::parse(".").unwrap();
        assert_eq!(owner_name("com", &root).unwrap().as_str(), "com.");
        assert_eq!(owner_name("@", &root).unwrap(), root);
    }
}
