//! SVCB and HTTPS: how to reach a service (RFC 9460).
//!
//! What each parameter looks like is in `param`.

mod param;

use std::collections::BTreeMap;

use self::param::Key;
use super::dialect::Dialect;
use super::{Name, Rdata, RdataError, RecordType, Rendered, fits, hosts, number, text, word};

/// A service binding. Parameters are kept in their wire form, in which equal ones are equal.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Svcb {
    priority: u16,
    target: Name,
    params: BTreeMap<Key, Vec<u8>>,
}

impl Rdata {
    /// An HTTPS or SVCB record. A blank target is `.`, the owner itself. Parameters are named as
    /// registered or `keyNNNNN`, the value of the latter being the bytes on the wire. Priority 0
    /// is an alias and drops them (§2.4.2); blank values are dropped except for the flags
    /// `no-default-alpn` and `ohttp`, whose value is ignored.
    ///
    /// # Errors
    ///
    /// When the target is no name, a parameter is unknown, doubled or ill formed, a mandatory
    /// one is missing (§8), or the record is too large. `ipv4hint=auto` and `ipv6hint=auto` are
    /// refused: LMDB before 5.0 stores them and can then not read the zone.
    pub fn svcb(
        rtype: RecordType,
        priority: u16,
        target: &str,
        params: &BTreeMap<String, String>,
    ) -> Rendered {
        let trimmed = target.trim();
        let target = hosts::name("target", if trimmed.is_empty() { "." } else { trimmed })?;
        let mut svcb = Svcb { priority, target, params: BTreeMap::new() };
        if priority > 0 {
            for (name, value) in params {
                svcb.declare(name, value)?;
            }
        }
        svcb.check_mandatory()?;
        let octets = svcb.params.values().map(|value| value.len() + 4).sum::<usize>();
        fits("params", &svcb.target.to_string(), 2 + svcb.target.wire_len() + octets)?;
        if rtype == RecordType::Https {
            Ok(Some(Rdata::Https(svcb)))
        } else if rtype == RecordType::Svcb {
            Ok(Some(Rdata::Svcb(svcb)))
        } else {
            Err(RdataError::new("target", trimmed, format!("{rtype} binds no service")))
        }
    }
}

impl Svcb {
    /// 0 makes an alias; otherwise lower is tried first.
    #[must_use]
    pub fn priority(&self) -> u16 {
        self.priority
    }

    /// The name that provides the service; the root stands for the owner.
    #[must_use]
    pub fn target(&self) -> &Name {
        &self.target
    }

    /// The parameters as they are declared.
    #[must_use]
    pub fn params(&self) -> BTreeMap<String, String> {
        let each = self.params.iter().map(|(key, wire)| {
            let printed = key.print(wire, Dialect::OLDEST);
            let Some((name, value)) = printed.split_once('=') else {
                return (printed, String::new());
            };
            let bytes = text::string(value).map(|(bytes, _)| bytes).unwrap_or_default();
            (name.to_owned(), text::spell(&bytes))
        });
        each.collect()
    }

    fn declare(&mut self, name: &str, value: &str) -> Result<(), RdataError> {
        let key = Key::parse(name)
            .ok_or_else(|| RdataError::new("parameter", name, "is not a known one or keyNNNNN"))?;
        let bytes = match text::declared(value) {
            _ if key.is_flag() => Vec::new(),
            None => return Ok(()),
            Some(bytes) => bytes,
        };
        let wire = key.encode(name, &bytes).and_then(|wire| key.transportable(wire));
        let wire =
            wire.map_err(|why| RdataError::new("params", &format!("{name}={value}"), why))?;
        self.insert(key, wire)
    }

    fn insert(&mut self, key: Key, wire: Vec<u8>) -> Result<(), RdataError> {
        if self.params.insert(key, wire).is_some() {
            return Err(RdataError::new("parameter", &key.to_string(), "is given twice"));
        }
        Ok(())
    }

    fn check_mandatory(&self) -> Result<(), RdataError> {
        let listed = self.params.get(&Key::MANDATORY).map_or(&[][..], Vec::as_slice);
        for key in param::keys(listed) {
            if key == Key::MANDATORY || !self.params.contains_key(&key) {
                let reason = "lists what must be there, and this parameter is not";
                return Err(RdataError::new("mandatory", &key.to_string(), reason));
            }
        }
        Ok(())
    }

    /// Parameters may come in any order and quoted or not.
    pub(super) fn parse(content: &str) -> Result<Svcb, RdataError> {
        let (priority, rest) = word(content);
        let (target, mut rest) = word(rest);
        let mut svcb = Svcb {
            priority: number("priority", priority)?,
            target: hosts::name("target", target)?,
            params: BTreeMap::new(),
        };
        while !rest.is_empty() {
            let end = rest.find(|c: char| c == '=' || c.is_ascii_whitespace());
            let (name, tail) = rest.split_at(end.unwrap_or(rest.len()));
            let malformed = |why: &str| RdataError::new("parameter", name, why);
            let key = Key::parse(name).ok_or_else(|| malformed("is unknown"))?;
            let (bytes, tail) = match tail.strip_prefix('=') {
                None => (Vec::new(), tail),
                Some(value) => {
                    text::string(value).ok_or_else(|| malformed("has an open quote or escape"))?
                }
            };
            let wire = key.encode(name, &bytes).map_err(|why| malformed(&why))?;
            svcb.insert(key, wire)?;
            rest = tail.trim_ascii_start();
        }
        Ok(svcb)
    }

    pub(super) fn print(&self, dialect: Dialect) -> String {
        let target = text::bare(self.target.as_str(), dialect);
        let mut out = format!("{} {target}", self.priority);
        for (key, wire) in &self.params {
            out.push(' ');
            out.push_str(&key.print(wire, dialect));
        }
        out
    }

    pub(super) fn fields(&self) -> Vec<Vec<u8>> {
        let head = [self.priority.to_be_bytes().to_vec(), self.target.as_str().into()];
        let params = self.params.iter().flat_map(|(key, wire)| [key.to_bytes(), wire.clone()]);
        head.into_iter().chain(params).collect()
    }
}

#[cfg(test)]
mod tests;
