//! TLSA: which certificate a service presents (RFC 6698).

use data_encoding::{HEXLOWER, HEXLOWER_PERMISSIVE};

use super::{Rdata, RdataError, Rendered, fits, number, split};

/// A certificate association.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tlsa {
    /// Certificate usage (§2.1.1).
    pub usage: u8,
    /// What is matched (§2.1.2).
    pub selector: u8,
    /// How it is matched (§2.1.3).
    pub matching: u8,
    /// The certificate, key or digest.
    pub cert_data: Vec<u8>,
}

impl Rdata {
    /// A TLSA record; the data is hexadecimal in any case, blanks between digits are ignored.
    ///
    /// # Errors
    ///
    /// When the data is empty, not hexadecimal, of an odd number of digits, or too large.
    pub fn tlsa(usage: u8, selector: u8, matching: u8, cert_data: &str) -> Rendered {
        let bytes = hex(cert_data)?;
        if bytes.is_empty() {
            return Err(RdataError::new("certData", cert_data, "is empty"));
        }
        fits("certData", cert_data, 3 + bytes.len())?;
        Ok(Some(Rdata::Tlsa(Tlsa { usage, selector, matching, cert_data: bytes })))
    }
}

impl Tlsa {
    /// PowerDNS prints empty data as `-`.
    pub(super) fn parse(content: &str) -> Result<Tlsa, RdataError> {
        let [usage, selector, matching, data] = split(content)?;
        Ok(Tlsa {
            usage: number("usage", usage)?,
            selector: number("selector", selector)?,
            matching: number("matchingType", matching)?,
            cert_data: if data == "-" { Vec::new() } else { hex(data)? },
        })
    }

    pub(super) fn print(&self) -> String {
        let Tlsa { usage, selector, matching, cert_data } = self;
        let hex = if cert_data.is_empty() { "-".to_owned() } else { HEXLOWER.encode(cert_data) };
        format!("{usage} {selector} {matching} {hex}")
    }

    pub(super) fn fields(&self) -> Vec<Vec<u8>> {
        vec![vec![self.usage, self.selector, self.matching], self.cert_data.clone()]
    }
}

fn hex(text: &str) -> Result<Vec<u8>, RdataError> {
    let digits: String = text.split_whitespace().collect();
    HEXLOWER_PERMISSIVE.decode(digits.as_bytes()).map_err(|_| {
        RdataError::new("certData", text, "is not an even number of hexadecimal digits")
    })
}
