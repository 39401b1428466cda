//! What we write beside the data to know it again: the note on an RRset and the mark on a zone.
//!
//! Both only say who wrote. Whether something is right is decided from contents, never from here.

use data_encoding::{BASE32_NOPAD, HEXLOWER};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::Policy;
use super::snapshot::Comment;
use crate::api::object::ObjectKey;

/// The `account` of the one comment that is ours.
pub const NOTE_ACCOUNT: &str = "dns-syncd";

/// The content of our comment: which daemon wrote the RRset, for which object, and what it wrote.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// Format version; 1.
    v: u8,
    /// `ownerId` of the daemon that wrote it.
    pub owner: String,
    /// `namespace/name` of the DNSRecordSet.
    pub object: String,
    /// Its uid.
    pub uid: String,
    /// Fingerprint of the contents that were written (`Contents::fingerprint`).
    pub h: String,
}

impl Note {
    /// A note of this daemon for an object and the contents it declares.
    #[must_use]
    pub fn new(owner: &str, object: &ObjectKey, uid: &str, fingerprint: String) -> Note {
        Note {
            v: 1,
            owner: owner.to_owned(),
            object: object.to_string(),
            uid: uid.to_owned(),
            h: fingerprint,
        }
    }

    /// The comment that carries it. `modified_at` of the comment it replaces is kept, because LMDB keeps
    /// the time in its key and a new one would grow the table; a new note has 0.
    #[must_use]
    pub fn to_comment(&self, replaces: &[Comment]) -> Comment {
        let kept = replaces.iter().find(|c| c.account == NOTE_ACCOUNT);
        Comment {
            account: NOTE_ACCOUNT.to_owned(),
            // A struct of strings always serialises.
            content: serde_json::to_string(self).unwrap_or_default(),
            modified_at: kept.map_or(0, |c| c.modified_at),
        }
    }
}

/// What the comments of one RRset say about its writer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Writer {
    /// No note, or none that can be trusted: unparsable, or several of ours that contradict.
    Nobody,
    /// One note of this daemon, under its present or a previous owner id.
    Ours(Note),
    /// Another owner's note, or one for a namespace outside ours. Nothing of it is touched.
    Other(Note),
}

/// Reads the writer from an RRset's comments.
///
/// One foreign note makes the RRset foreign, whatever stands beside it; a comment of our account that
/// is not a note says nothing.
#[must_use]
pub fn writer(comments: &[Comment], policy: &Policy) -> Writer {
    let mut ours = Vec::new();
    for comment in comments.iter().filter(|c| c.account == NOTE_ACCOUNT) {
        let Ok(note) = serde_json::from_str::<Note>(&comment.content) else {
            continue;
        };
        let namespace = note.object.split('/').next().unwrap_or_default();
        let namespaces = &policy.namespaces;
        let inside = namespaces.is_empty() || namespaces.contains(namespace);
        if !policy.is_ours(&note.owner) || !inside {
            return Writer::Other(note);
        }
        if !ours.contains(&note) {
            ours.push(note);
        }
    }
    match (ours.pop(), ours.is_empty()) {
        (Some(note), true) => Writer::Ours(note),
        _ => Writer::Nobody,
    }
}

/// What a zone's `account` says about who holds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mark {
    /// Empty: nobody has claimed it.
    None,
    /// Our own mark, under our present or a previous owner id, with the 26 base32 digits of a DNSZone's uid.
    Ours(String),
    /// The mark of a daemon with another `ownerId`.
    Other,
    /// Text of somebody else; the field is theirs.
    FreeText,
}

impl Mark {
    /// Reads an `account`.
    #[must_use]
    pub fn read(account: &str, policy: &Policy) -> Mark {
        if account.is_empty() {
            return Mark::None;
        }
        let mut parts = account.split(':');
        match (parts.next(), parts.next(), parts.next(), parts.next()) {
            (Some("ds"), Some(hash), Some(uid), None) if hash.len() == 6 && uid.len() == 26 => {
                let mut owners = policy.previous_owner_ids.iter().chain([&policy.owner_id]);
                if owners.any(|owner| hash == owner_hash(owner)) {
                    Mark::Ours(uid.to_owned())
                } else {
                    Mark::Other
                }
            }
            _ => Mark::FreeText,
        }
    }

    /// Whether it is ours and names this uid.
    #[must_use]
    pub fn names(&self, uid: &str) -> bool {
        matches!(self, Mark::Ours(digits) if *digits == uid_digits(uid))
    }
}

/// The `account` that marks a zone for a DNSZone: `ds:<6 hex>:<26 base32>`, 36 of the 40 characters
/// that the SQL schema leaves.
#[must_use]
pub fn mark(owner: &str, uid: &str) -> String {
    format!("ds:{}:{}", owner_hash(owner), uid_digits(uid))
}

/// First 6 hex digits of SHA-256 of an `ownerId`.
fn owner_hash(owner: &str) -> String {
    HEXLOWER.encode(Sha256::digest(owner.as_bytes()).get(..3).unwrap_or_default())
}

/// A uid's 128 bits in lower-case base32. One that is not a UUID is hashed down to 128 bits: an API
/// server that makes such uids is still told apart by them.
pub(super) fn uid_digits(uid: &str) -> String {
    let hex: String = uid.chars().filter(|c| *c != '-').collect::<String>().to_lowercase();
    let bytes = match HEXLOWER.decode(hex.as_bytes()) {
        Ok(bytes) if bytes.len() == 16 => bytes,
        _ => Sha256::digest(uid.as_bytes()).get(..16).unwrap_or_default().to_vec(),
    };
    BASE32_NOPAD.encode(&bytes).to_lowercase()
}

/// The UUID of which a mark has the digits.
#[must_use]
pub fn uid_of_digits(digits: &str) -> Option<String> {
    let bytes = BASE32_NOPAD.decode(digits.to_uppercase().as_bytes()).ok()?;
    let hex = HEXLOWER.encode(&bytes);
    let parts =
        [hex.get(..8)?, hex.get(8..12)?, hex.get(12..16)?, hex.get(16..20)?, hex.get(20..)?];
    Some(parts.join("-"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::plan::brakes::Brakes;

    fn policy(owner: &str, namespaces: &[&str]) -> Policy {
        let brakes = Brakes {
            deletes: true,
            implicit_percent: 0,
            implicit_total: 0,
            explicit_percent: None,
        };
        Policy {
            previous_owner_ids: BTreeSet::from(["old".to_owned()]),
            namespaces: namespaces.iter().map(|n| (*n).to_owned()).collect(),
            ..Policy::new(owner, brakes)
        }
    }

    const UID: &str = "6b3c1c9e-2a52-4a5e-9c2e-0f6a8f6f1b11";

    fn comment(account: &str, content: &str, modified_at: i64) -> Comment {
        Comment { account: account.into(), content: content.into(), modified_at }
    }

    fn note(owner: &str, object: &str) -> String {
        let key: ObjectKey = object.parse().unwrap();
        Note::new(owner, &key, UID, "00".into()).to_comment(&[]).content
    }

    #[test]
    fn a_mark_is_36_characters_and_reads_back() {
        let account = mark("east", UID);
        assert_eq!(account.len(), 36);
        let east = policy("east", &[]);
        assert!(Mark::read(&account, &east).names(UID));
        assert!(Mark::read(&mark("old", UID), &east).names(UID), "it was ours before");
        let Mark::Ours(digits) = Mark::read(&account, &east) else { panic!("{account}") };
        assert_eq!(uid_of_digits(&digits).as_deref(), Some(UID));
        assert_eq!(uid_of_digits("?"), None);
        assert_eq!(Mark::read(&account, &policy("west", &[])), Mark::Other);
        assert_eq!(Mark::read("", &east), Mark::None);
        assert_eq!(Mark::read("billing: ACME", &east), Mark::FreeText);
        assert_eq!(Mark::read("ds:abc:def", &east), Mark::FreeText);
    }

    #[test]
    fn a_note_is_compact_json_and_keeps_the_time_of_what_it_replaces() {
        let key: ObjectKey = "ns/www".parse().unwrap();
        let fresh = Note::new("east", &key, UID, "aa".into()).to_comment(&[]);
        assert_eq!(
            fresh.content,
            format!(r#"{{"v":1,"owner":"east","object":"ns/www","uid":"{UID}","h":"aa"}}"#)
        );
        assert_eq!(fresh.modified_at, 0);
        let old = [comment("ops", "x", 5), comment(NOTE_ACCOUNT, "garbage", 7)];
        assert_eq!(Note::new("east", &key, UID, "aa".into()).to_comment(&old).modified_at, 7);
    }

    #[test]
    fn only_one_trustworthy_note_is_ours() {
        let east = policy("east", &[]);
        let ours = comment(NOTE_ACCOUNT, &note("east", "ns/a"), 0);
        let theirs = comment(NOTE_ACCOUNT, &note("west", "ns/a"), 0);
        let before = comment(NOTE_ACCOUNT, &note("old", "ns/a"), 0);
        let contradicts = comment(NOTE_ACCOUNT, &note("east", "ns/b"), 0);
        let garbage = comment(NOTE_ACCOUNT, "{}", 0);
        let read = |comments: &[&Comment]| {
            let owned: Vec<Comment> = comments.iter().map(|c| (*c).clone()).collect();
            writer(&owned, &east)
        };
        assert!(matches!(read(&[&ours]), Writer::Ours(_)));
        assert!(matches!(read(&[&ours, &ours]), Writer::Ours(_)));
        assert!(matches!(read(&[&before]), Writer::Ours(_)));
        assert!(matches!(read(&[&ours, &theirs]), Writer::Other(_)));
        assert_eq!(read(&[&ours, &contradicts]), Writer::Nobody);
        assert_eq!(read(&[&garbage]), Writer::Nobody);
        assert_eq!(read(&[&comment("ops", &note("east", "ns/a"), 0)]), Writer::Nobody);
    }

    #[test]
    fn a_namespace_outside_ours_is_foreign() {
        let east = policy("east", &["here"]);
        let there = [comment(NOTE_ACCOUNT, &note("east", "there/a"), 0)];
        assert!(matches!(writer(&there, &east), Writer::Other(_)));
    }
}
