//! What differs between the texts that versions of PowerDNS accept.
//!
//! What else a version can do (comments, limits) is `powerdns`' concern.

use std::fmt;

/// A version of PowerDNS Authoritative, without what marks a pre-release or a package.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    /// The 4 of 4.9.18.
    pub major: u16,
    /// The 9 of 4.9.18.
    pub minor: u16,
    /// The 18 of 4.9.18.
    pub patch: u16,
}

impl Version {
    /// Reads `4.7.3`, and also `4.9.0-alpha1` (as 4.9.0), `5.1.3-1pdns` or `5.1`. `None` when
    /// there is no major and minor number.
    #[must_use]
    pub fn parse(text: &str) -> Option<Version> {
        let mut rest = text;
        let mut next = || {
            let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            let number = rest[..digits].parse().ok();
            rest = rest[digits..].strip_prefix('.').unwrap_or("");
            number
        };
        let (major, minor, patch) = (next()?, next()?, next().unwrap_or(0));
        Some(Version { major, minor, patch })
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

/// How record content must be spelled for a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Dialect {
    /// From 5.1.0 on the API resolves escapes once before it parses the content, which resolves
    /// them again.
    pub(super) unescapes_twice: bool,
    /// From 5.1.0 on `dohpath`, `ohttp` and `tls-supported-groups` are spelled so, before as
    /// `key7`, `key8` and `key9`; each refuses the other's spelling.
    pub(super) names_newer_keys: bool,
}

impl Dialect {
    /// What every supported version understands.
    pub const OLDEST: Dialect = Dialect { unescapes_twice: false, names_newer_keys: false };

    /// The dialect that a version understands.
    #[must_use]
    pub fn of(version: Version) -> Dialect {
        let since_5_1 = version >= Version { major: 5, minor: 1, patch: 0 };
        Dialect { unescapes_twice: since_5_1, names_newer_keys: since_5_1 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_leniently_and_ordered() {
        for (text, printed) in [
            ("4.7.3", "4.7.3"),
            ("4.9.0-alpha1", "4.9.0"),
            ("5.1.5", "5.1.5"),
            ("5.1", "5.1.0"),
            ("5.1.3-1pdns.ubuntu24.04", "5.1.3"),
        ] {
            assert_eq!(Version::parse(text).unwrap().to_string(), printed);
        }
        for text in ["", "5", "v5.1", "git", "5.x", "5-1.2"] {
            assert!(Version::parse(text).is_none(), "{text}");
        }
        let parsed = |text| Version::parse(text).unwrap();
        assert!(parsed("4.9.18") > parsed("4.9.2") && parsed("4.10.0") > parsed("4.9.18"));
        assert_eq!(Dialect::of(parsed("4.7.3")), Dialect::of(parsed("5.0.9")));
        assert_ne!(Dialect::of(parsed("5.1.0-beta1")), Dialect::of(parsed("5.0.9")));
    }
}
