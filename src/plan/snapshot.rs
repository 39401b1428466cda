//! The two full states that a pass is a function of, as plain data: what the cluster declares and
//! what PowerDNS holds. Nothing here decides; nothing here was fetched here.

use std::collections::{BTreeMap, BTreeSet};

use crate::api::object::{Class, RecordSet, Zone};
use crate::dns::name::Name;
use crate::dns::rdata::{Dialect, Rdata, Version};
use crate::dns::rrset::{Contents, RecordType, Ttl};

/// Everything that one pass looks at.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The complete lists of the three kinds.
    pub cluster: Cluster,
    /// What PowerDNS answered.
    pub server: Server,
}

/// The complete lists of Kubernetes objects; an incomplete list never becomes one of these.
#[derive(Clone, Debug, Default)]
pub struct Cluster {
    /// All DNSRecordSets.
    pub sets: Vec<RecordSet>,
    /// All DNSZones.
    pub zones: Vec<Zone>,
    /// All decodable classes; an undecodable one reads as missing.
    pub classes: Vec<Class>,
}

/// What PowerDNS can do, from its version and configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// Server version; picks the text that is sent.
    pub version: Version,
    /// Whether RRset comments, and so notes, are kept: SQL backends, and LMDB from 5.1 on.
    pub comments: bool,
    /// Comments outlive their zone, and the next zone that gets its number inherits them: LMDB from 5.1 on.
    pub comments_outlive: bool,
    /// sqlite before 4.9.2 answers 500 to every second concurrent writer.
    pub single_writer: bool,
}

/// PowerDNS as read in this pass.
#[derive(Clone, Debug)]
pub struct Server {
    /// What it can do; `None` while it could not be asked.
    pub capabilities: Option<Capabilities>,
    /// All zones by name, or why the list could not be had: then every zone is unread.
    pub zones: Result<BTreeMap<Name, ServerZone>, String>,
}

/// One zone of PowerDNS' list.
#[derive(Clone, Debug)]
pub struct ServerZone {
    /// The id to use in URLs, as the server gave it.
    pub id: String,
    /// `Native`, `Master`, `Slave`, `Producer` or `Consumer`.
    pub kind: String,
    /// The free field that may hold a mark.
    pub account: String,
    /// Milliseconds on the pass's clock when the request for the contents was sent.
    pub read_began: u64,
    /// The SOA's serial as listed, before its contents were asked for; `None` if the list does not say.
    pub serial: Option<u32>,
    /// Whether the contents were asked for.
    pub look: Look,
    /// Whether its `soa_edit_api` moves the serial with every write through the API; false while it is not read.
    pub serial_moves: bool,
    /// Its RRsets, or why they are unknown.
    pub contents: Result<ZoneContents, String>,
}

/// Whether a zone's contents were asked for in this pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// They were.
    Asked,
    /// No: they failed a short while ago.
    Resting,
    /// No: nothing has changed since they were read.
    Unchanged,
}

impl ServerZone {
    /// Whether it is as it was when it was read last, and so is everything that decides about it.
    #[must_use]
    pub fn unchanged(&self) -> bool {
        self.look == Look::Unchanged
    }

    /// Whether the API's writes last: those to `Slave` zones are lost at the next transfer, those to
    /// `Consumer` zones are refused.
    #[must_use]
    pub fn writable(&self) -> bool {
        !matches!(self.kind.as_str(), "Slave" | "Consumer")
    }
}

/// The RRsets of one zone, by owner name and then type word.
#[derive(Clone, Debug, Default)]
pub struct ZoneContents {
    /// Also holds comment-only entries, which are no RRsets (`StoredRrset::exists`).
    pub names: BTreeMap<Name, BTreeMap<String, StoredRrset>>,
    /// Names at which the server shows one type more than once: what is there is not known.
    pub doubled: BTreeSet<Name>,
}

impl ZoneContents {
    /// The RRset of a type at a name, if it exists.
    #[must_use]
    pub fn get(&self, name: &Name, rtype: RecordType) -> Option<&StoredRrset> {
        self.names.get(name)?.get(rtype.as_str()).filter(|r| r.exists())
    }
}

/// One RRset as the server shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredRrset {
    /// TTL in seconds as shown; 4.7 can show values past 2³¹−1.
    pub ttl: i64,
    /// Its records.
    pub records: Vec<StoredRecord>,
    /// Its comments, ours and others'.
    pub comments: Vec<Comment>,
}

/// One record of an RRset.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StoredRecord {
    /// Presentation form.
    pub content: String,
    /// Not served.
    pub disabled: bool,
}

/// One comment of an RRset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comment {
    /// Who wrote it; `dns-syncd` is ours.
    pub account: String,
    /// Any text.
    pub content: String,
    /// Unix seconds; part of the key on LMDB, so it is sent back unchanged.
    pub modified_at: i64,
}

impl StoredRrset {
    /// An entry with comments and no records is not an RRset: LMDB leaves such shells behind.
    #[must_use]
    pub fn exists(&self) -> bool {
        !self.records.is_empty()
    }

    /// The decoded contents, or `None` if they are not what any declaration could equal: a disabled
    /// record, a value that does not parse, a TTL out of range.
    #[must_use]
    pub fn contents(&self, rtype: RecordType) -> Option<Contents> {
        let values: Option<BTreeSet<Rdata>> = self
            .records
            .iter()
            .map(|r| if r.disabled { None } else { Rdata::parse(rtype, &r.content).ok() })
            .collect();
        Contents::new(Ttl::new(self.ttl).ok()?, values?)
    }

    /// The comments of other accounts, which go back as they are with every write.
    pub fn foreign_comments(&self) -> impl Iterator<Item = &Comment> {
        self.comments.iter().filter(|c| c.account != super::note::NOTE_ACCOUNT)
    }
}

impl Snapshot {
    /// The server's way to write texts; the oldest one while it could not be asked.
    #[must_use]
    pub fn dialect(&self) -> Dialect {
        self.server.capabilities.map_or(Dialect::OLDEST, |c| Dialect::of(c.version))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_to_zones_that_are_filled_from_elsewhere_do_not_last() {
        for (kind, writable) in [
            ("Native", true),
            ("Master", true),
            ("Producer", true),
            ("Slave", false),
            ("Consumer", false),
        ] {
            let zone = ServerZone {
                id: String::new(),
                kind: kind.to_owned(),
                account: String::new(),
                read_began: 0,
                serial: None,
                look: Look::Asked,
                serial_moves: false,
                contents: Ok(ZoneContents::default()),
            };
            assert_eq!(zone.writable(), writable, "{kind}");
        }
    }

    fn rrset(ttl: i64, records: &[(&str, bool)]) -> StoredRrset {
        let record = |(text, disabled): &(&str, bool)| StoredRecord {
            content: (*text).into(),
            disabled: *disabled,
        };
        StoredRrset { ttl, records: records.iter().map(record).collect(), comments: Vec::new() }
    }

    #[test]
    fn what_is_disabled_or_cannot_be_read_equals_no_declaration() {
        let contents = |ttl, records: &[(&str, bool)]| rrset(ttl, records).contents(RecordType::A);
        let there = contents(60, &[("192.0.2.1", false), ("192.0.2.2", false)]).unwrap();
        assert_eq!((there.ttl().get(), there.values().len()), (60, 2));
        assert_eq!(contents(60, &[("192.0.2.1", false), ("192.0.2.2", true)]), None);
        assert_eq!(contents(60, &[("192.0.2.1", false), ("x", false)]), None);
        assert_eq!(contents(1 << 31, &[("192.0.2.1", false)]), None);
        assert_eq!(contents(60, &[]), None);
    }

    #[test]
    fn a_shell_of_comments_is_no_rrset() {
        let comment = |account: &str| Comment {
            account: account.to_owned(),
            content: String::new(),
            modified_at: 0,
        };
        let comments = vec![comment("dns-syncd"), comment("ops")];
        let shell = StoredRrset { comments, ..rrset(60, &[]) };
        assert!(!shell.exists() && rrset(60, &[("192.0.2.1", true)]).exists());
        let foreign: Vec<&str> = shell.foreign_comments().map(|c| c.account.as_str()).collect();
        assert_eq!(foreign, ["ops"]);
        let name = Name::parse("a").unwrap();
        let types = [("A", shell), ("TXT", rrset(60, &[("\"x\"", false)]))];
        let types = types.map(|(word, rrset)| (word.to_owned(), rrset)).into();
        let contents = ZoneContents {
            names: BTreeMap::from([(name.clone(), types)]),
            ..ZoneContents::default()
        };
        assert!(contents.get(&name, RecordType::A).is_none());
        assert!(contents.get(&name, RecordType::Txt).is_some());
        assert!(contents.get(&Name::parse("b").unwrap(), RecordType::Txt).is_none());
    }

    #[test]
    fn a_server_that_could_not_be_asked_is_spoken_to_as_the_oldest() {
        let version = Version { major: 5, minor: 1, patch: 0 };
        let newest =
            Capabilities { version, comments: true, comments_outlive: true, single_writer: false };
        for (capabilities, dialect) in
            [(None, Dialect::OLDEST), (Some(newest), Dialect::of(version))]
        {
            let server = Server { capabilities, zones: Ok(BTreeMap::new()) };
            assert_eq!(Snapshot { cluster: Cluster::default(), server }.dialect(), dialect);
        }
    }
}
