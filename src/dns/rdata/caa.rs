//! CAA: who may issue certificates for a name (RFC 8659).

use super::dialect::Dialect;
use super::{Rdata, RdataError, Rendered, fits, number, split, text};

/// One property of a CAA record.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Caa {
    /// 128 makes the property critical.
    pub flag: u8,
    /// The property, in lower case: it is matched so (RFC 8659 §4.1).
    pub tag: String,
    /// What the property says; its form depends on the tag.
    pub value: Vec<u8>,
}

impl Rdata {
    /// A CAA record. The value is text as in a TXT record.
    ///
    /// # Errors
    ///
    /// When the tag is not 1 to 255 letters or digits, the value is empty, of which PowerDNS
    /// 4.7 on LMDB dies, or the record is too large.
    pub fn caa(flag: u8, tag: &str, value: &str) -> Rendered {
        let plain = !tag.is_empty() && tag.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if !plain || tag.len() > usize::from(u8::MAX) {
            return Err(RdataError::new("tag", tag, "is not 1 to 255 letters or digits"));
        }
        let bytes = text::declared(value).unwrap_or_default();
        if bytes.is_empty() {
            return Err(RdataError::new("value", value, "is empty; `\";\"` forbids every issuer"));
        }
        fits("value", value, 2 + tag.len() + bytes.len())?;
        Ok(Some(Rdata::Caa(Caa { flag, tag: tag.to_ascii_lowercase(), value: bytes })))
    }
}

impl Caa {
    /// The text by which its value is declared.
    #[must_use]
    pub fn declared(&self) -> String {
        text::spell(&self.value)
    }

    pub(super) fn parse(content: &str) -> Result<Caa, RdataError> {
        let [flag, tag, value] = split(content)?;
        let bytes = text::printed(value)
            .ok_or_else(|| RdataError::new("value", value, "has an open quote or escape"))?;
        Ok(Caa { flag: number("flag", flag)?, tag: tag.to_ascii_lowercase(), value: bytes })
    }

    /// The value is one string of any length: on the wire it is no character string (§4.1).
    pub(super) fn print(&self, dialect: Dialect) -> String {
        let Caa { flag, tag, value } = self;
        format!("{flag} {tag} {}", text::quote(value, dialect))
    }

    pub(super) fn fields(&self) -> Vec<Vec<u8>> {
        vec![vec![self.flag], self.tag.as_bytes().to_vec(), self.value.clone()]
    }
}
