//! What one DNSRecordSet declares, as canonical RRsets: rendering of `spec.records` after
//! the incumbent's rules with the repairs of the design. It knows nothing of other objects.

use std::collections::{BTreeMap, BTreeSet};

use crate::api::conditions::sentence;
use crate::api::object::{Entry, RecordSet};
use crate::dns::name::Name;
use crate::dns::rdata::{Rdata, RdataError};
use crate::dns::rrset::{Contents, RecordType, Ttl};
use crate::dns::zone::{OwnerError, owner_name};

/// The owner names of one record set, each with what it declares there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Declared {
    /// By canonical owner name; every group has the set's one type.
    pub groups: BTreeMap<Name, Group>,
    /// Raw names that are no owner name in the zone, and the sentence that says why.
    pub bad_names: BTreeMap<String, String>,
    /// An entry hides its name, or the set its type: what it declares is then only partly known, and
    /// nothing that carries its uid may be taken for undeclared.
    pub partly_known: bool,
}

/// One RRset as declared: all entries of one owner name, however they spell it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The spellings used; each has a status entry of its own.
    pub raws: BTreeSet<String>,
    /// The contents, or the sentence that says why there are none.
    pub contents: Result<Contents, String>,
    /// What a reader of a successful status should know, such as ignored values.
    pub remark: Option<String>,
}

/// Renders a record set for the zone that it is accepted in.
///
/// `default_ttl` is the class's `defaultTTL`. The first entry of an owner sets the TTL, as under the
/// incumbent; one entry that is no good makes its whole name invalid, so that an edit with a slip
/// never serves half of what was meant.
#[must_use]
pub fn declared(set: &RecordSet, zone: &Name, default_ttl: Option<i64>) -> Declared {
    let mut out = Declared::default();
    let Ok(rtype) = &set.rtype else {
        out.partly_known = true;
        return out;
    };
    let mut entries: BTreeMap<Name, Vec<&Entry>> = BTreeMap::new();
    let mut raws: BTreeMap<Name, BTreeSet<String>> = BTreeMap::new();
    for entry in &set.entries {
        let Some(raw) = &entry.name else {
            out.partly_known = true;
            continue;
        };
        match owner_name(raw, zone) {
            Ok(name) => {
                raws.entry(name.clone()).or_default().insert(raw.clone());
                entries.entry(name).or_default().push(entry);
            }
            Err(error) => {
                out.bad_names.insert(raw.clone(), bad_name(&error));
            }
        }
    }
    for (name, entries) in entries {
        let raws = raws.remove(&name).unwrap_or_default();
        let (contents, remark) = match group(*rtype, &name, zone, &entries, default_ttl) {
            Ok((contents, remark)) => (Ok(contents), remark),
            Err(why) => (Err(sentence::detailed(sentence::REJECTED, &why)), None),
        };
        out.groups.insert(name, Group { raws, contents, remark });
    }
    out
}

fn bad_name(error: &OwnerError) -> String {
    let sentence = match error {
        OwnerError::OutOfZone { .. } => sentence::OUTSIDE_ZONE,
        OwnerError::Malformed { .. } | OwnerError::UnsupportedCharacter { .. } => {
            sentence::REJECTED
        }
    };
    sentence::detailed(sentence, &error.to_string())
}

/// The contents of one owner name, and a remark; or why it is invalid.
fn group(
    rtype: RecordType,
    name: &Name,
    zone: &Name,
    entries: &[&Entry],
    default_ttl: Option<i64>,
) -> Result<(Contents, Option<String>), String> {
    if rtype == RecordType::Soa && name != zone {
        return Err(format!("an SOA record belongs at the apex {zone}, not at {name}"));
    }
    let mut ttl = None;
    let (mut values, mut empty) = (Vec::new(), 0);
    for entry in entries {
        let declared = entry.ttl.or(default_ttl).unwrap_or(i64::from(Ttl::DEFAULT.get()));
        let this = Ttl::new(declared).map_err(|e| e.to_string())?;
        ttl.get_or_insert(this);
        match value(rtype, entry)? {
            Some(value) => values.push(value),
            None => empty += 1,
        }
    }
    let (kept, ignored) = match rtype {
        // One value each: the incumbent serves the first CNAME or ALIAS and the last SOA.
        RecordType::Cname | RecordType::Alias => split_first(&values),
        RecordType::Soa => {
            values.reverse();
            split_first(&values)
        }
        RecordType::A
        | RecordType::Aaaa
        | RecordType::Caa
        | RecordType::Https
        | RecordType::Mx
        | RecordType::Ns
        | RecordType::Ptr
        | RecordType::Srv
        | RecordType::Svcb
        | RecordType::Tlsa
        | RecordType::Txt => (values.iter().cloned().collect(), 0),
    };
    let remark = if ignored > 0 {
        Some(format!("only one {rtype} value can be served at a name, {ignored} other ignored"))
    } else {
        (empty > 0).then(|| format!("{empty} empty value ignored"))
    };
    let ttl = ttl.ok_or("no entry")?;
    let contents = Contents::new(ttl, kept).ok_or("no entry has a value")?;
    Ok((contents, remark))
}

/// The first value alone, and how many different ones were left out.
fn split_first(values: &[Rdata]) -> (BTreeSet<Rdata>, usize) {
    let kept: BTreeSet<Rdata> = values.first().cloned().into_iter().collect();
    let all: BTreeSet<&Rdata> = values.iter().collect();
    (kept, all.len().saturating_sub(1))
}

/// One entry's value; `None` for one that the incumbent drops because it is empty.
fn value(rtype: RecordType, entry: &Entry) -> Result<Option<Rdata>, String> {
    let fields = entry.fields.as_ref().map_err(Clone::clone)?;
    let rendered: Option<Result<Option<Rdata>, RdataError>> = match rtype {
        RecordType::A => fields.a.as_ref().map(|f| Rdata::from_address(rtype, &f.content)),
        RecordType::Aaaa => fields.aaaa.as_ref().map(|f| Rdata::from_address(rtype, &f.content)),
        RecordType::Alias => fields.alias.as_ref().map(|f| Rdata::from_target(rtype, &f.content)),
        RecordType::Cname => fields.cname.as_ref().map(|f| Rdata::from_target(rtype, &f.content)),
        RecordType::Ns => fields.ns.as_ref().map(|f| Rdata::from_target(rtype, &f.content)),
        RecordType::Ptr => fields.ptr.as_ref().map(|f| Rdata::from_target(rtype, &f.content)),
        RecordType::Txt => fields.txt.as_ref().map(|f| Rdata::txt(&f.content)),
        RecordType::Mx => fields.mx.as_ref().map(|f| Rdata::mx(f.preference, &f.exchange)),
        RecordType::Srv => {
            fields.srv.as_ref().map(|f| Rdata::srv(f.priority, f.weight, f.port, &f.target))
        }
        RecordType::Caa => fields.caa.as_ref().map(|f| Rdata::caa(f.flag, &f.tag, &f.value)),
        RecordType::Tlsa => fields
            .tlsa
            .as_ref()
            .map(|f| Rdata::tlsa(f.usage, f.selector, f.matching_type, &f.cert_data)),
        RecordType::Https => {
            fields.https.as_ref().map(|f| Rdata::svcb(rtype, f.priority, &f.target, &f.params))
        }
        RecordType::Svcb => {
            fields.svcb.as_ref().map(|f| Rdata::svcb(rtype, f.priority, &f.target, &f.params))
        }
        RecordType::Soa => fields
            .soa
            .as_ref()
            .map(|f| Rdata::soa(&f.mname, &f.rname, f.serial, f.refresh, f.retry, f.expire, f.ttl)),
    };
    match rendered {
        Some(result) => result.map_err(|e| e.to_string()),
        None => Err(format!("an entry has no value for the record type {rtype}")),
    }
}
