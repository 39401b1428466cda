//! Where each DNSRecordSet belongs, and what an RRset that carries its uid may still expect of it.

use std::collections::{BTreeMap, BTreeSet};

use super::Policy;
use super::desired::{Declared, declared};
use super::zones::{ClassState, Standing, ZoneFacts, Zones};
use crate::api::conditions::{Truth, kind, reason, sentence};
use crate::api::object::{NameStatus, ObjectKey, Owner, RecordSet};
use crate::api::{GROUP, KIND_ZONE};
use crate::dns::name::Name;
use crate::dns::rrset::RecordType;
use crate::dns::zone::owner_name;

/// Where a record set's declarations go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// Accepted in the PowerDNS zone of this domain.
    Accepted(Name),
    /// Its DNSZone exists but is not served here; the domain, if readable.
    NotServed(Option<Name>),
    /// No such DNSZone, or an unreadable reference.
    Unresolved,
}

impl Place {
    /// The domain that the set is in, or would be in if its DNSZone were served.
    #[must_use]
    pub fn domain(&self) -> Option<&Name> {
        match self {
            Place::Accepted(domain) => Some(domain),
            Place::NotServed(domain) => domain.as_ref(),
            Place::Unresolved => None,
        }
    }
}

/// One DNSRecordSet with what was found out about it.
#[derive(Clone, Debug)]
pub struct SetFacts<'a> {
    /// The object.
    pub set: &'a RecordSet,
    /// Where it belongs.
    pub place: Place,
    /// `Accepted=False` with this reason and message, or accepted.
    pub accepted: Result<(), (&'static str, String)>,
    /// It is Terminating, or its Terminating DNSZone takes it along: it declares nothing any more and
    /// what it wrote goes.
    pub going: bool,
    /// What it declares where it is accepted; empty elsewhere and while going.
    pub declared: Declared,
}

/// What has become of a key for the set whose uid an RRset carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hold {
    /// The set goes, so the RRset goes.
    Going,
    /// The spec names another zone, name or type.
    Lost,
    /// The spec has the name, but with another type now.
    Retyped,
    /// The spec still declares it, validly or not.
    Declared,
    /// It cannot be told; what is there stays.
    Unknown,
}

/// All record sets that are input, by uid.
pub type Sets<'a> = BTreeMap<&'a str, SetFacts<'a>>;

/// Works out every record set's place and declarations.
#[must_use]
pub fn sets<'a>(all: &'a [RecordSet], zones: &Zones<'a>, policy: &Policy) -> Sets<'a> {
    let mut out = Sets::new();
    for set in all {
        let zone_key = set
            .zone
            .as_ref()
            .map(|name| ObjectKey { namespace: set.meta.namespace.clone(), name: name.clone() });
        if zone_key.as_ref().is_some_and(|k| zones.shadowed.contains(k)) {
            continue;
        }
        let zone = zone_key.as_ref().and_then(|k| zones.named(k));
        // A Terminating DNSZone without our finalizer is no input: it takes nothing along.
        let takes_along = zone.is_some_and(|f| {
            f.standing == Standing::Terminating && policy.holds_zone(&f.zone.meta)
        });
        let going = set.meta.terminating || takes_along;
        let (place, accepted) = place(set, zone);
        let declared = match (&place, zone.map(|f| f.class)) {
            (Place::Accepted(domain), Some(ClassState::Ours(class))) if !going => {
                declared(set, domain, class.default_ttl)
            }
            _ => Declared::default(),
        };
        out.insert(&set.meta.uid, SetFacts { set, place, accepted, going, declared });
    }
    out
}

type Accepted = Result<(), (&'static str, String)>;

fn place(set: &RecordSet, zone: Option<&ZoneFacts<'_>>) -> (Place, Accepted) {
    let pending = |message: String| Err((reason::PENDING, message));
    let Some(name) = &set.zone else {
        return (Place::Unresolved, pending(sentence::waiting_for_zone("")));
    };
    let Some(facts) = zone else {
        return (Place::Unresolved, pending(sentence::waiting_for_zone(name)));
    };
    let elsewhere = Place::NotServed(facts.domain.clone());
    match (&facts.standing, facts.class) {
        (Standing::Served, _) => match &facts.domain {
            Some(domain) => (Place::Accepted(domain.clone()), Ok(())),
            None => (elsewhere, pending(sentence::waiting_for_zone(name))),
        },
        (Standing::InUse, _) => {
            (elsewhere, Err((reason::ZONE_IN_USE, sentence::ZONE_IN_USE.to_owned())))
        }
        (Standing::Terminating, _) => (elsewhere, pending(sentence::zone_deleting(name))),
        (Standing::Waiting(..), ClassState::Empty) => {
            (elsewhere, pending(sentence::zone_without_class(name)))
        }
        (Standing::Waiting(reason, message), _) => (elsewhere, Err((reason, message.clone()))),
    }
}

impl SetFacts<'_> {
    /// What has become of (zone, name, type), which carries this set's uid. `holder` is the uid of
    /// the DNSZone that holds the zone.
    #[must_use]
    pub fn hold(&self, zone: &Name, holder: Option<&str>, name: &Name, rtype: RecordType) -> Hold {
        if self.going {
            return Hold::Going;
        }
        match &self.place {
            Place::Accepted(domain) if domain == zone => self.hold_here(name, rtype),
            Place::Accepted(_) => Hold::Lost,
            Place::NotServed(Some(domain)) if domain != zone => Hold::Lost,
            // Repointed to a DNSZone that does not exist: the owner reference still names where it was.
            Place::Unresolved if self.set.zone.is_some() && self.refers_to(holder) => Hold::Lost,
            Place::NotServed(_) | Place::Unresolved => Hold::Unknown,
        }
    }

    fn hold_here(&self, name: &Name, rtype: RecordType) -> Hold {
        if self.declared.partly_known {
            return Hold::Unknown;
        }
        match (self.declared.groups.contains_key(name), &self.set.rtype) {
            (false, _) => Hold::Lost,
            (true, Ok(now)) if *now == rtype => Hold::Declared,
            (true, _) => Hold::Retyped,
        }
    }

    /// Whether it belongs into `zone` and hides a name or its type.
    #[must_use]
    pub fn hides(&self, zone: &Name) -> bool {
        let here = matches!(&self.place, Place::Accepted(domain) if domain == zone);
        here && self.declared.partly_known
    }

    /// Whether it has an owner reference to the DNSZone of this uid.
    #[must_use]
    pub fn refers_to(&self, zone_uid: Option<&str>) -> bool {
        zone_uid.is_some_and(|uid| self.set.meta.owners.iter().any(|o| o.uid == uid))
    }

    /// Whether the DNSZone of this uid is the only one that it has an owner reference to: then its status
    /// speaks of that zone, and of no other.
    #[must_use]
    pub fn refers_only_to(&self, zone_uid: Option<&str>) -> bool {
        let mut zones = self.set.meta.owners.iter().filter(|o| is_zone(o));
        self.refers_to(zone_uid) && zones.all(|o| Some(o.uid.as_str()) == zone_uid)
    }

    /// The owner names in `zone` that its entries spell, whatever else is wrong with them.
    #[must_use]
    pub fn spelled_names(&self, zone: &Name) -> BTreeSet<Name> {
        let raws = self.set.entries.iter().filter_map(|e| e.name.as_deref());
        raws.filter_map(|raw| owner_name(raw, zone).ok()).collect()
    }

    /// Names that its status says were programmed once and are not proved gone, as owner names in `zone`.
    #[must_use]
    pub fn programmed_names(&self, zone: &Name) -> BTreeSet<Name> {
        let names = self.set.status.names.iter().filter(|n| was_programmed(n));
        names.filter_map(|n| owner_name(&n.name, zone).ok()).collect()
    }
}

/// Whether an owner reference is to a DNSZone of our group, in any version.
#[must_use]
pub fn is_zone(owner: &Owner) -> bool {
    owner.kind == KIND_ZONE && owner.api_version.split('/').next() == Some(GROUP)
}

/// Whether a name's status says that it was programmed once: it is, or its message still tells.
#[must_use]
pub fn was_programmed(name: &NameStatus) -> bool {
    name.conditions.iter().any(|c| {
        let told = c.message.starts_with(sentence::NOT_IN_SPEC)
            || c.message.ends_with(sentence::PROGRAMMED_BEFORE);
        c.type_ == kind::PROGRAMMED && (c.status == Truth::True || told)
    })
}
