//! The words of a plan: what is to happen to one RRset, and what that says about its claimants.

use std::collections::BTreeMap;
use std::fmt;

use super::snapshot::Comment;
use crate::api::object::ObjectKey;
use crate::dns::name::Name;
use crate::dns::rrset::{Contents, RecordType};

/// All changes of one owner name. They are never parted: a name is old or new, never half.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NameChange {
    /// By type. At most one change a type.
    pub types: BTreeMap<RecordType, Change>,
}

/// What happens to one RRset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Its contents and TTL become these; with the note, where the server keeps comments.
    Replace {
        /// What it will be.
        contents: Contents,
        /// The whole list of comments to send, or `None` to leave the key out of the request.
        comments: Option<Vec<Comment>>,
        /// The stored records as text, for the plan; `None` if it does not exist yet.
        from: Option<String>,
        /// The record set it is written for; `None` for what the class declares.
        by: Option<Party>,
        /// Whose RRset it overwrites, if that one's writer goes or has given it up: refused, that one goes alone.
        over: Option<(Party, DeleteReason)>,
    },
    /// Contents stay; only the comments are sent.
    Adopt {
        /// The whole list of comments to send.
        comments: Vec<Comment>,
        /// The record set that it now belongs to.
        by: Party,
    },
    /// It goes.
    Delete {
        /// Who wrote it; the DNSZone where that is nobody we know.
        by: Party,
        /// Why it may go.
        why: DeleteReason,
        /// It carries no note of ours: only evidence says whose it is, and a note beside it would end that.
        unnoted: bool,
        /// The stored records as text, for the plan.
        was: String,
    },
}

/// A DNSRecordSet as a party to a change.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Party {
    /// Its uid.
    pub uid: String,
    /// Its namespace/name.
    pub key: ObjectKey,
}

/// On what ground an RRset goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeleteReason {
    /// Its object is Terminating, or its DNSZone takes it along.
    Going,
    /// Its object's spec no longer has the key.
    Lost,
    /// Its object declares the name with another type, which is written in the same PATCH.
    Retyped,
    /// An older claimant of an incompatible type is written in the same PATCH.
    Outranked,
    /// Its object is not on the complete list. Needs a live GET before it happens.
    Implicit,
    /// Nobody's note claims it and nobody declares it, in a zone that is to hold nothing else.
    Undeclared,
}

impl DeleteReason {
    /// Whether the writer itself asked for it: it is Terminating or its spec lost the key. Such a
    /// delete stands on its own, also when the rest of its name is refused.
    #[must_use]
    pub fn stands_alone(self) -> bool {
        match self {
            DeleteReason::Going | DeleteReason::Lost => true,
            DeleteReason::Retyped
            | DeleteReason::Outranked
            | DeleteReason::Implicit
            | DeleteReason::Undeclared => false,
        }
    }
}

impl fmt::Display for DeleteReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            DeleteReason::Going => "its object is being deleted",
            DeleteReason::Lost => "its object no longer declares it",
            DeleteReason::Retyped => "its object now declares another type",
            DeleteReason::Outranked => "an older object declares an incompatible type",
            DeleteReason::Implicit => "its object does not exist",
            DeleteReason::Undeclared => "nobody declares it",
        })
    }
}

/// What is known about one claim before anything is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Read equal in this pass: programmed, whatever happens to the note.
    Equal,
    /// In the plan: programmed if the server acknowledges it.
    Sent,
    /// Not programmed: condition reason and message.
    Not(&'static str, String),
}

/// The verdict on one record set's claim at one owner name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimVerdict {
    /// The record set's uid.
    pub uid: String,
    /// The owner name.
    pub name: Name,
    /// What came of it.
    pub verdict: Verdict,
}

/// An RRset that nobody declares and that stays, with the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leftover {
    /// Owner name.
    pub name: Name,
    /// Type word as the server has it.
    pub rtype: String,
    /// Why it stays.
    pub why: String,
    /// The uid its note carries, if it is ours.
    pub uid: Option<String>,
}
