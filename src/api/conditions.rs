//! Conditions: their slim type, their words, and how new ones are merged into old ones.
//!
//! Owns the condition types, reasons and sentences that clients of dns-operator v0.6.8 know; they are an
//! interface, detail goes behind a colon. Which condition an object deserves is the plan's decision, and the
//! time is a parameter.

use serde_json::{Map, Value, json};

/// Longest message that the schema lets pass, in characters; a longer one would have the status refused.
const MESSAGE_MAX: usize = 32768;

/// A condition's status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Truth {
    /// It holds.
    True,
    /// It does not hold.
    False,
    /// Nobody knows.
    Unknown,
}

impl Truth {
    /// The word in the API.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::True => "True",
            Self::False => "False",
            Self::Unknown => "Unknown",
        }
    }

    fn parse(text: &str) -> Option<Self> {
        [Self::True, Self::False, Self::Unknown].into_iter().find(|truth| truth.as_str() == text)
    }
}

/// One condition as it stands in a status (`metav1.Condition`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// Type; see [`kind`].
    pub type_: String,
    /// Status.
    pub status: Truth,
    /// Reason, one word; see [`reason`].
    pub reason: String,
    /// Message for people.
    pub message: String,
    /// `metadata.generation` that it speaks of; 0 if it does not say.
    pub observed_generation: i64,
    /// When `status` changed last, RFC 3339 in seconds.
    pub last_transition_time: String,
}

impl Condition {
    /// Reads one condition; `None` without a type or with a status that is none.
    #[must_use]
    pub fn decode(value: &Value) -> Option<Self> {
        let text = |field: &str| value.get(field).and_then(Value::as_str);
        let owned = |field: &str| text(field).unwrap_or_default().to_owned();
        Some(Self {
            type_: text("type").filter(|type_| !type_.is_empty())?.to_owned(),
            status: Truth::parse(text("status")?)?,
            reason: owned("reason"),
            message: owned("message"),
            observed_generation: value
                .get("observedGeneration")
                .and_then(Value::as_i64)
                .unwrap_or_default(),
            last_transition_time: owned("lastTransitionTime"),
        })
    }

    /// Reads the member `conditions` of a status; what is no condition is left out and hides no other.
    #[must_use]
    pub fn decode_list(status: &Value) -> Vec<Self> {
        let items = status.get("conditions").and_then(Value::as_array);
        items.into_iter().flatten().filter_map(Self::decode).collect()
    }

    /// The condition as the API spells it; an `observedGeneration` of 0 is left out, as Go does.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let mut out = Map::new();
        out.insert("type".to_owned(), json!(self.type_));
        out.insert("status".to_owned(), json!(self.status.as_str()));
        out.insert("reason".to_owned(), json!(self.reason));
        out.insert("message".to_owned(), json!(self.message));
        if self.observed_generation != 0 {
            out.insert("observedGeneration".to_owned(), json!(self.observed_generation));
        }
        out.insert("lastTransitionTime".to_owned(), json!(self.last_transition_time));
        Value::Object(out)
    }
}

/// What a condition should say from now on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Desired {
    /// Type; see [`kind`].
    pub type_: &'static str,
    /// Status.
    pub truth: Truth,
    /// Reason; see [`reason`].
    pub reason: &'static str,
    /// Message; see [`sentence`]. What is longer than the API allows is cut.
    pub message: String,
}

/// Merges what conditions should say into those that are there.
///
/// Conditions keep their place, new types follow in the given order, those of types that are not in `new` stay
/// untouched. `lastTransitionTime` becomes `now` (RFC 3339 in seconds) only where the status changes, so the same
/// `new` twice gives the same result twice, whatever the time.
#[must_use]
pub fn merge(old: &[Condition], new: Vec<Desired>, generation: i64, now: &str) -> Vec<Condition> {
    let mut out: Vec<Condition> = Vec::with_capacity(old.len() + new.len());
    for condition in old {
        // The list is a map by type: the API server refuses it with one type twice.
        if out.iter().all(|seen| seen.type_ != condition.type_) {
            out.push(condition.clone());
        }
    }
    for desired in new {
        let Desired { type_, truth, reason, message } = desired;
        let place = out.iter().position(|condition| condition.type_ == type_);
        let since = place
            .and_then(|place| out.get(place))
            .filter(|condition| {
                condition.status == truth && !condition.last_transition_time.is_empty()
            })
            .map_or(now, |condition| condition.last_transition_time.as_str());
        let merged = Condition {
            type_: type_.to_owned(),
            status: truth,
            reason: reason.to_owned(),
            message: message.chars().take(MESSAGE_MAX).collect(),
            observed_generation: generation,
            last_transition_time: since.to_owned(),
        };
        match place.and_then(|place| out.get_mut(place)) {
            Some(there) => *there = merged,
            None => out.push(merged),
        }
    }
    out
}

/// Condition types.
pub mod kind {
    /// The object is understood and will be worked on.
    pub const ACCEPTED: &str = "Accepted";
    /// PowerDNS has what the object declares.
    pub const PROGRAMMED: &str = "Programmed";
}

/// Reasons.
pub mod reason {
    /// Accepted.
    pub const ACCEPTED: &str = "Accepted";
    /// Something has to happen first.
    pub const PENDING: &str = "Pending";
    /// Programmed.
    pub const PROGRAMMED: &str = "Programmed";
    /// Another zone holds the domain.
    pub const ZONE_IN_USE: &str = "DNSZoneInUse";
    /// Another record set holds the name and type.
    pub const NOT_OWNER: &str = "NotOwner";
    /// PowerDNS refused, or could not be asked.
    pub const PDNS_ERROR: &str = "PDNSError";
    /// What is at the name excludes it.
    pub const CONFLICT: &str = "Conflict";
    /// A brake holds deletes back until somebody releases them; the only reason that dns-operator does not have.
    pub const DELETION_HELD: &str = "DeletionHeld";
    /// All of them.
    pub const ALL: [&str; 8] = [
        ACCEPTED,
        PENDING,
        PROGRAMMED,
        ZONE_IN_USE,
        NOT_OWNER,
        PDNS_ERROR,
        CONFLICT,
        DELETION_HELD,
    ];
}

/// Messages; they are dns-operator's to the letter unless they say otherwise.
pub mod sentence {
    /// Zone, `Accepted=False`: no class is named.
    pub const NO_CLASS_NAME: &str = "DNSZoneClassName not set";
    /// Zone, both conditions: somebody else, who is not named, holds the domain.
    pub const ZONE_IN_USE: &str = "DNSZone claimed by another resource";
    /// Zone, `Accepted=True`.
    pub const ZONE_ACCEPTED: &str = "Nameservers retrieved from downstream";
    /// Zone, `Accepted=False`: the class announces no servers.
    pub const WAITING_FOR_NAMESERVERS: &str = "Waiting for downstream nameservers";
    /// Zone, `Programmed=True`.
    pub const ZONE_PROGRAMMED: &str = "Default records ensured";
    /// Zone, `Programmed=False`: SOA or NS is not there yet.
    pub const WAITING_FOR_DEFAULT_RECORDS: &str = "Waiting for default records";

    /// Zone, `Programmed=False`: a brake holds deletes. Not dns-operator's.
    pub const DELETION_HELD: &str = "Deletes are held until somebody releases them.";

    /// Record set, `Accepted=True`.
    pub const SET_ACCEPTED: &str = "DNSRecordSet accepted for PowerDNS zone";
    /// Record set, `Programmed=True`.
    pub const ALL_PROGRAMMED: &str = "All records programmed";
    /// Record set, `Programmed=False`.
    pub const NOT_ALL_PROGRAMMED: &str = "One or more records not yet programmed";

    /// Name, `Programmed=True`.
    pub const NAME_PROGRAMMED: &str = "Record successfully applied to PDNS";
    /// Name, `Programmed=False`: an older record set has the same name and type.
    pub const NOT_OWNER: &str = "Another DNSRecordSet owns this record";
    /// Name, `Programmed=False`: the spec lost it, and its delete is not proved.
    pub const NOT_IN_SPEC: &str = "Record no longer present in spec";
    /// End of a name's message: it was programmed before, and is not proved gone since. On a server without comments
    /// nothing else tells who wrote it. Not dns-operator's.
    pub const PROGRAMMED_BEFORE: &str = "; it was programmed before";
    /// Name, `Programmed=False`: it was not its turn. Not dns-operator's.
    pub const PENDING_NAME: &str = "Record not yet programmed";
    /// Name: something that excludes it is there.
    pub const CONFLICT: &str = "A conflicting record already exists for this name. Remove the existing record and try again.";
    /// Name: the content does not parse.
    pub const INVALID_CHARACTER: &str = "The record content contains an invalid character. \
        TXT records containing semicolons or special characters must be properly quoted.";
    /// Name: it does not belong to the zone.
    pub const OUTSIDE_ZONE: &str =
        "The record name is outside the zone. Check that the name belongs to this DNS zone.";
    /// Name: refused as invalid, by PowerDNS or before it was sent.
    pub const REJECTED: &str =
        "The DNS record was rejected as invalid. Check the record type and value.";
    /// Name: PowerDNS has no such zone.
    pub const ZONE_NOT_FOUND: &str =
        "The DNS zone could not be found. It may still be provisioning.";
    /// Name: PowerDNS answered 5xx.
    pub const INTERNAL: &str =
        "An internal error occurred while applying the record. It will be retried automatically.";
    /// Name: any other failure.
    pub const FAILED: &str = "Failed to apply DNS record. It will be retried automatically.";

    /// A zone's or a record set's class does not exist.
    #[must_use]
    pub fn class_not_found(class: &str) -> String {
        format!("DNSZoneClass {} not found", quoted(class))
    }

    /// The class belongs to another controller.
    #[must_use]
    pub fn class_foreign(controller: &str, ours: &str) -> String {
        format!("DNSZoneClass controller {} is not {}", quoted(controller), quoted(ours))
    }

    /// A record set's zone does not exist.
    #[must_use]
    pub fn waiting_for_zone(zone: &str) -> String {
        format!("waiting for DNSZone {}", quoted(zone))
    }

    /// A record set's zone is Terminating.
    #[must_use]
    pub fn zone_deleting(zone: &str) -> String {
        format!("DNSZone {} is deleting", quoted(zone))
    }

    /// A record set's zone names no class.
    #[must_use]
    pub fn zone_without_class(zone: &str) -> String {
        format!("DNSZone {} has no class yet", quoted(zone))
    }

    /// A zone's `domainName` is none, which the CRD should have refused. Not dns-operator's.
    #[must_use]
    pub fn bad_domain(raw: &str) -> String {
        format!("domainName {} is not a domain name", quoted(raw))
    }

    /// A sentence with its detail behind a colon, in place of its full stop; without a detail the bare sentence.
    #[must_use]
    pub fn detailed(sentence: &str, detail: &str) -> String {
        if detail.is_empty() {
            return sentence.to_owned();
        }
        format!("{}: {detail}", sentence.strip_suffix('.').unwrap_or(sentence))
    }

    /// Text in quotes as Go's `%q` prints it.
    fn quoted(text: &str) -> String {
        let mut out = String::from('"');
        for character in text.chars() {
            match character {
                '"' | '\\' => out.extend(['\\', character]),
                '\n' => out.push_str(r"\n"),
                '\r' => out.push_str(r"\r"),
                '\t' => out.push_str(r"\t"),
                '\0'..' ' | '\x7f' => {
                    out.extend(format!(r"\x{:02x}", u32::from(character)).chars());
                }
                printable => out.push(printable),
            }
        }
        out.push('"');
        out
    }
}
