//! TXT: arbitrary bytes, parted into strings only on the way to the server.

use std::fmt;

use super::dialect::Dialect;
use super::{Rdata, RdataError, Rendered, fits, text};

/// Longest character string, in octets (RFC 1035 §3.3).
const MAX_STRING: usize = 255;

/// The joined bytes of a TXT record's strings. How they were parted is not kept: clients join
/// them, and backends part them anew.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TxtValue(Vec<u8>);

impl Rdata {
    /// A TXT record. A well-formed sequence of quoted strings is read as such; other text
    /// stands for itself, without the blanks around it and with `\;` as `;`.
    ///
    /// # Errors
    ///
    /// When the content is blank (`""` is the empty string) or too large for a record.
    pub fn txt(content: &str) -> Rendered {
        let bytes = text::declared(content).ok_or_else(|| {
            RdataError::new("content", content, "is empty; an empty string is written `\"\"`")
        })?;
        let value = TxtValue(bytes);
        fits("content", content, value.0.len() + value.strings().count())?;
        Ok(Some(Rdata::Txt(value)))
    }
}

impl TxtValue {
    /// The bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The text by which it is declared.
    #[must_use]
    pub fn declared(&self) -> String {
        text::spell(&self.0)
    }

    pub(super) fn parse(content: &str) -> Result<TxtValue, RdataError> {
        text::printed(content)
            .map(TxtValue)
            .ok_or_else(|| RdataError::new("content", content, "has an open quote or escape"))
    }

    pub(super) fn print(&self, dialect: Dialect) -> String {
        let quoted: Vec<_> = self.strings().map(|part| text::quote(part, dialect)).collect();
        quoted.join(" ")
    }

    /// At least one string, the empty one where there are no bytes.
    fn strings(&self) -> impl Iterator<Item = &[u8]> {
        let empty = self.0.is_empty().then_some(&self.0[..]);
        empty.into_iter().chain(self.0.chunks(MAX_STRING))
    }
}

impl fmt::Debug for TxtValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.0.escape_ascii())
    }
}
