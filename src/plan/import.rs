//! The way back: from the RRsets of a zone to the objects that declare exactly them. What a DNSZone and its
//! DNSRecordSets cannot say is told with the reason, and left out of them.
//!
//! Nothing is believed: what is made here is rendered as a pass renders it, and an RRset that does not come out as it is
//! stored is told instead.

use std::collections::{BTreeMap, BTreeSet};

use data_encoding::HEXLOWER;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::json;

use super::desired::declared;
use super::snapshot::{StoredRrset, ZoneContents};
use crate::api::entry::{
    Caa, HostContent, Ipv4Content, Ipv6Content, Mx, RecordEntry, RecordFields, Soa, Srv, Svcb,
    TargetContent, TextContent, Tlsa,
};
use crate::api::object::RecordSet;
use crate::api::v1alpha1::{DNSRecordSet, DNSRecordSetSpec, DNSZone, DNSZoneRef, DNSZoneSpec};
use crate::dns::name::Name;
use crate::dns::rdata::Rdata;
use crate::dns::rrset::{Contents, RecordType};

/// Names a record set: as many as its status lists one by one.
const MAX_NAMES: usize = 500;
/// Bytes of a record set's JSON: etcd takes 1.5 MB, and what manages fields repeats every one.
const MAX_BYTES: usize = 400_000;

/// What the objects are to be called.
#[derive(Clone, Debug)]
pub struct Naming {
    /// Namespace.
    pub namespace: String,
    /// Name of the DNSZoneClass.
    pub class: String,
    /// Name of the DNSZone, and how the names of its record sets begin.
    pub zone: String,
}

/// The objects of one zone.
#[derive(Clone, Debug)]
pub struct Imported {
    /// The DNSZone.
    pub zone: DNSZone,
    /// Its record sets: one a type, or more where one would be too large.
    pub sets: Vec<DNSRecordSet>,
    /// What they do not say, `name type: why`, sorted.
    pub left: BTreeSet<String>,
}

/// The name that a DNSZone of a domain usually has.
#[must_use]
pub fn usual_name(domain: &Name) -> String {
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let dashed: String =
        domain.as_str().chars().map(|c| if fits(c) { c } else { '-' }).take(200).collect();
    dashed.trim_matches('-').to_owned()
}

/// Makes the objects for a zone. `below` are the longer zones on the same server, which answer for their names.
///
/// # Errors
/// If no DNSZone can be of this domain.
pub fn import(
    domain: &Name,
    contents: &ZoneContents,
    below: &BTreeSet<Name>,
    naming: &Naming,
) -> Result<Imported, String> {
    let text = domain.as_str().trim_end_matches('.');
    let spec =
        DNSZoneSpec { domain_name: text.to_owned(), dns_zone_class_name: naming.class.clone() };
    let mut zone = DNSZone::new(&naming.zone, spec);
    zone.metadata = placed(&naming.zone, naming);
    if !text.split('.').all(|label| is_label(label, "")) || !text.contains('.') {
        return Err(format!(
            "no DNSZone can be of {domain}: its domain is two or more labels of letters, digits and inner hyphens"
        ));
    }
    let mut left = BTreeSet::new();
    let mut types: BTreeMap<RecordType, Names> = BTreeMap::new();
    for (name, rrsets) in &contents.names {
        for (word, rrset) in rrsets.iter().filter(|(_, rrset)| rrset.exists()) {
            let place = Place { domain, name, rrsets, below };
            let found = if contents.doubled.contains(name) {
                Err("PowerDNS shows more than one RRset of one type at this name".to_owned())
            } else {
                entries(&place, word, rrset)
            };
            match found {
                Ok((rtype, entries)) => {
                    types.entry(rtype).or_default().insert(name.clone(), entries);
                }
                Err(why) => drop(left.insert(format!("{name} {word}: {why}"))),
            }
        }
    }
    let each = RecordType::ALL.into_iter().map(|t| (t, types.remove(&t).unwrap_or_default()));
    let sets = each.flat_map(|(rtype, names)| record_sets(rtype, names, naming)).collect();
    Ok(Imported { zone, sets, left })
}

/// The record sets of one type.
fn record_sets(rtype: RecordType, names: Names, naming: &Naming) -> Vec<DNSRecordSet> {
    let several = parts(names).into_iter().enumerate();
    let made = several.map(|(at, part)| {
        let number = if at == 0 { String::new() } else { format!("-{}", at + 1) };
        let name = format!("{}-{}{number}", naming.zone, rtype.as_str().to_lowercase());
        let records = part.into_values().flatten().collect();
        let dns_zone_ref = DNSZoneRef { name: naming.zone.clone() };
        let spec = DNSRecordSetSpec { dns_zone_ref, record_type: rtype, records };
        let mut set = DNSRecordSet::new(&name, spec);
        set.metadata = placed(&name, naming);
        set
    });
    made.collect()
}

/// Name and namespace alone: a new object would also have the annotations of its CRD.
fn placed(name: &str, naming: &Naming) -> ObjectMeta {
    ObjectMeta {
        name: Some(name.to_owned()),
        namespace: Some(naming.namespace.clone()),
        ..ObjectMeta::default()
    }
}

type Names = BTreeMap<Name, Vec<RecordEntry>>;

/// Cuts one type's names into record sets. A name is never parted: of two sets with one name one has nothing.
fn parts(names: Names) -> Vec<Names> {
    let mut out: Vec<Names> = Vec::new();
    let mut bytes = 0;
    for (name, entries) in names {
        let size = json!(entries).to_string().len();
        let full = out.last().is_none_or(|open| open.len() == MAX_NAMES);
        if full || bytes + size > MAX_BYTES {
            out.push(Names::new());
            bytes = 0;
        }
        bytes += size;
        if let Some(open) = out.last_mut() {
            open.insert(name, entries);
        }
    }
    out
}

/// Where an RRset is, and what is around it.
struct Place<'a> {
    domain: &'a Name,
    name: &'a Name,
    rrsets: &'a BTreeMap<String, StoredRrset>,
    below: &'a BTreeSet<Name>,
}

/// The entries of one RRset, or why there can be none.
fn entries(
    &Place { domain, name, rrsets, below }: &Place<'_>,
    word: &str,
    rrset: &StoredRrset,
) -> Result<(RecordType, Vec<RecordEntry>), String> {
    let rtype: RecordType =
        word.parse().map_err(|_| "a DNSRecordSet has no such type".to_owned())?;
    if rrset.records.iter().any(|r| r.disabled) {
        return Err("it has a disabled record".to_owned());
    }
    let stored = rrset.contents(rtype).ok_or("its TTL or a record of it does not read")?;
    let there = rrsets.iter().filter(|(_, other)| other.exists());
    let mut rivals = there.filter_map(|(word, _)| word.parse::<RecordType>().ok());
    if let Some(rival) = rivals.find(|t| !rtype.coexists_with(*t)) {
        return Err(format!("it cannot be declared beside {rival}"));
    }
    let longer = below.iter().find(|z| name.is_at_or_below(z));
    if let Some(zone) = longer.filter(|z| rtype != RecordType::Ns || name != *z) {
        return Err(format!("zone {zone} of the same server answers for it"));
    }
    let raw = relative(domain, name).ok_or("a DNSRecordSet cannot spell its name")?;
    let ttl = Some(i64::from(stored.ttl()));
    let entry = |value: &Rdata| RecordEntry { name: raw.clone(), ttl, fields: fields(value) };
    let entries: Vec<RecordEntry> = stored.values().iter().map(entry).collect();
    if !entries.iter().all(|e| fits_schema(&e.fields)) {
        return Err("the definition of DNSRecordSet refuses a value of it".to_owned());
    }
    comes_back(domain, name, rtype, &entries, &stored)?;
    Ok((rtype, entries))
}

/// Renders the entries as a pass does, and compares.
fn comes_back(
    domain: &Name,
    name: &Name,
    rtype: RecordType,
    entries: &[RecordEntry],
    stored: &Contents,
) -> Result<(), String> {
    let object = json!({"metadata": {"name": "x", "uid": "x"},
                        "spec": {"dnsZoneRef": {"name": "x"}, "recordType": rtype, "records": entries}});
    let set = RecordSet::decode(&object).ok_or("its entries do not decode")?;
    let rendered = declared(&set, domain, None);
    let why = rendered.bad_names.values().next().cloned();
    let group = rendered.groups.get(name).ok_or(why.unwrap_or_default())?;
    let contents = group.contents.as_ref().map_err(Clone::clone)?;
    if contents.matches(stored) { Ok(()) } else { Err("it would not be declared as it is".into()) }
}

/// The name as an entry spells it: relative to the zone, `@` for its apex.
fn relative(domain: &Name, name: &Name) -> Option<String> {
    if name == domain {
        return Some("@".to_owned());
    }
    let raw = name.as_str().strip_suffix(domain.as_str())?.strip_suffix('.')?;
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '*' | '.' | '_' | '-');
    raw.chars().all(fits).then(|| raw.to_owned())
}

/// The typed field that declares a value.
fn fields(value: &Rdata) -> RecordFields {
    let mut out = RecordFields::default();
    match value {
        Rdata::A(address) => out.a = Some(Ipv4Content { content: address.to_string() }),
        Rdata::Aaaa(address) => out.aaaa = Some(Ipv6Content { content: address.to_string() }),
        Rdata::Alias(name) => out.alias = Some(TargetContent { content: target(name) }),
        Rdata::Cname(name) => out.cname = Some(TargetContent { content: target(name) }),
        Rdata::Ns(name) => out.ns = Some(HostContent { content: target(name) }),
        Rdata::Ptr(name) => out.ptr = Some(TextContent { content: target(name) }),
        Rdata::Txt(txt) => out.txt = Some(TextContent { content: txt.declared() }),
        Rdata::Mx(mx) => {
            out.mx = Some(Mx { preference: mx.preference, exchange: target(&mx.exchange) });
        }
        Rdata::Srv(srv) => {
            let (priority, weight, port) = (srv.priority, srv.weight, srv.port);
            out.srv = Some(Srv { priority, weight, port, target: target(&srv.target) });
        }
        Rdata::Caa(caa) => {
            let (flag, tag) = (caa.flag, caa.tag.clone());
            out.caa = Some(Caa { flag, tag, value: caa.declared() });
        }
        Rdata::Tlsa(tlsa) => {
            out.tlsa = Some(Tlsa {
                usage: tlsa.usage,
                selector: tlsa.selector,
                matching_type: tlsa.matching,
                cert_data: HEXLOWER.encode(&tlsa.cert_data),
            });
        }
        Rdata::Soa(soa) => {
            out.soa = Some(Soa {
                mname: target(&soa.mname),
                rname: target(&soa.rname),
                // The server goes on counting.
                serial: None,
                refresh: Some(soa.refresh),
                retry: Some(soa.retry),
                expire: Some(soa.expire),
                ttl: Some(soa.minimum),
            });
        }
        Rdata::Https(svcb) => out.https = Some(binding(svcb)),
        Rdata::Svcb(svcb) => out.svcb = Some(binding(svcb)),
    }
    out
}

fn binding(svcb: &crate::dns::rdata::Svcb) -> Svcb {
    Svcb { priority: svcb.priority(), target: target(svcb.target()), params: svcb.params() }
}

/// With its final dot, unless that is what makes it longer than the schema allows.
fn target(name: &Name) -> String {
    let text = name.as_str();
    let short = if text.len() > 253 { text.strip_suffix('.') } else { None };
    short.unwrap_or(text).to_owned()
}

/// Whether the API server takes the targets, whose patterns are narrower than what renders.
fn fits_schema(fields: &RecordFields) -> bool {
    let targets = [&fields.alias, &fields.cname].into_iter().flatten().map(|t| (&t.content, "_"));
    let hosts = fields.ns.iter().map(|t| (&t.content, ""));
    targets.chain(hosts).all(|(content, also)| {
        let plain = content.strip_suffix('.').unwrap_or(content);
        content.len() <= 253 && plain.split('.').all(|label| is_label(label, also))
    })
}

/// Letters, digits and inner hyphens, and what else a pattern allows anywhere.
fn is_label(label: &str, also: &str) -> bool {
    let outer = |c: char| c.is_ascii_alphanumeric() || also.contains(c);
    label.chars().all(|c| outer(c) || c == '-')
        && label.starts_with(outer)
        && label.ends_with(outer)
        && label.len() <= 63
}
