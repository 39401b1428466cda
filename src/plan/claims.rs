//! The claims to RRsets of a zone, and what deciding about them needs to know of that zone.

use std::collections::{BTreeMap, BTreeSet};

use super::Policy;
use super::change::{DeleteReason, Party};
use super::sets::{SetFacts, Sets};
use crate::api::object::ObjectKey;
use crate::dns::name::Name;
use crate::dns::rrset::{Contents, RecordType};

/// What the decision about a name needs to know of its zone.
pub(super) struct ZoneView<'a> {
    pub(super) zone: &'a Name,
    /// Uid of the DNSZone that holds it.
    pub(super) holder: Option<&'a str>,
    /// Whether the server keeps comments.
    pub(super) comments: bool,
    /// Zones on the server below this one: names at or under them are shadowed.
    pub(super) below: &'a [&'a Name],
    /// Those that this pass makes: what is there now may still go, and nothing new is called programmed.
    pub(super) coming: &'a [&'a Name],
    pub(super) policy: &'a Policy,
    pub(super) sets: &'a Sets<'a>,
    /// A set of this zone hides a name or its type.
    pub(super) hidden: bool,
    /// Namespaces of sets that may belong here as well as anywhere.
    pub(super) unreferred: &'a BTreeSet<&'a str>,
    /// No note of ours says what is ours here: objects do.
    pub(super) noteless: bool,
    /// The DNSZone, where what nobody declares goes.
    pub(super) purges: Option<Party>,
    /// Note-less RRsets that are known to be written by us all the same, and on what ground they go.
    pub(super) evidence: BTreeMap<(Name, RecordType), (Party, DeleteReason)>,
}

/// One record set's claim to one RRset.
#[derive(Clone)]
pub(super) struct Claim<'a> {
    pub(super) facts: &'a SetFacts<'a>,
    pub(super) rtype: RecordType,
    pub(super) contents: Result<&'a Contents, &'a str>,
}

impl Claim<'_> {
    pub(super) fn uid(&self) -> &str {
        &self.facts.set.meta.uid
    }

    /// Its namespace as a note spells the start of an object: `namespace/`.
    pub(super) fn namespace(&self) -> String {
        format!("{}/", self.facts.set.meta.namespace)
    }

    pub(super) fn party(&self) -> Party {
        Party { uid: self.uid().to_owned(), key: self.facts.set.meta.key() }
    }

    /// Whether its status says that it had this name programmed here, where no note can say so.
    pub(super) fn had_programmed(&self, view: &ZoneView<'_>, name: &Name) -> bool {
        view.noteless
            && self.facts.refers_only_to(view.holder)
            && self.facts.programmed_names(view.zone).contains(name)
    }

    /// Oldest first, then the one whose note is there, then namespace/name.
    pub(super) fn rank(&self, noted: Option<&str>) -> (i64, bool, ObjectKey) {
        let meta = &self.facts.set.meta;
        (meta.created, noted != Some(meta.uid.as_str()), meta.key())
    }
}
