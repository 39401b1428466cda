//! How a zone's changes become PATCH requests: deletes first, a name never parted, cut by count and by
//! bytes. The server applies the elements of one request in order, in one transaction, and refuses a
//! write that collides with what is still there; hence the order.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::change::{Change, NameChange};
use super::snapshot::Comment;
use crate::dns::name::Name;
use crate::dns::rdata::Dialect;
use crate::dns::rrset::{Contents, RecordType};

/// How large one request may be.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// RRsets a request.
    pub rrsets: usize,
    /// Bytes of its JSON. The server takes 2 MiB.
    pub bytes: usize,
}

/// The changes of one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// By owner name; whole names only.
    pub names: BTreeMap<Name, NameChange>,
}

impl Batch {
    /// The `rrsets` array of the PATCH.
    #[must_use]
    pub fn to_json(&self, dialect: Dialect) -> Vec<Value> {
        let each = || {
            let names = self.names.iter();
            names.flat_map(|(name, c)| c.types.iter().map(move |(t, change)| (name, *t, change)))
        };
        let delete = |c: &Change| matches!(c, Change::Delete { .. });
        let deletes = each().filter(|(_, _, c)| delete(c));
        let writes = each().filter(|(_, _, c)| !delete(c));
        deletes.chain(writes).map(|(n, t, c)| element(n, t, c, dialect)).collect()
    }

    /// Deletes of what carries no note.
    #[must_use]
    pub fn unnoted(&self) -> Vec<(Name, RecordType)> {
        let each = self.names.iter().flat_map(|(name, c)| c.types.iter().map(move |t| (name, t)));
        let unnoted = each.filter(|(_, (_, c))| matches!(c, Change::Delete { unnoted: true, .. }));
        unnoted.map(|(name, (rtype, _))| (name.clone(), *rtype)).collect()
    }

    /// Splits it by names in two, of which the first is to be sent first; `None` if it holds one name only. Names that
    /// lose what carries no note are parted from the others before they are halved.
    #[must_use]
    pub fn halves(mut self) -> Option<(Batch, Batch)> {
        let unnoted: BTreeSet<Name> = self.unnoted().into_iter().map(|(name, _)| name).collect();
        let second = if unnoted.is_empty() || unnoted.len() == self.names.len() {
            let middle = self.names.keys().nth(self.names.len() / 2)?.clone();
            self.names.split_off(&middle)
        } else {
            self.names.extract_if(.., |name, _| !unnoted.contains(name)).collect()
        };
        (!self.names.is_empty()).then_some((self, Batch { names: second }))
    }
}

/// Cuts changes into batches. A name that is larger than a limit still goes whole, alone.
///
/// Deletes of what carries no note go before everything else: they rest on there being no note of ours in the
/// zone, so a pass that is cut off between two requests must not have written one yet.
#[must_use]
pub fn batches(names: &BTreeMap<Name, NameChange>, dialect: Dialect, limits: Limits) -> Vec<Batch> {
    let unnoted = |c: &Change| matches!(c, Change::Delete { unnoted: true, .. });
    let (mut all, rest): (Vec<_>, Vec<_>) =
        names.iter().partition(|(_, change)| change.types.values().any(unnoted));
    all.extend(rest);
    cut(all, dialect, limits)
}

fn cut(names: Vec<(&Name, &NameChange)>, dialect: Dialect, limits: Limits) -> Vec<Batch> {
    let mut out = Vec::new();
    let mut open = Batch { names: BTreeMap::new() };
    let (mut rrsets, mut bytes) = (0, 0);
    for (name, change) in names {
        let alone = Batch { names: BTreeMap::from([(name.clone(), change.clone())]) };
        let size: usize = alone.to_json(dialect).iter().map(|v| v.to_string().len() + 1).sum();
        let count = change.types.len();
        let full = rrsets + count > limits.rrsets || bytes + size > limits.bytes;
        if full && !open.names.is_empty() {
            out.push(std::mem::replace(&mut open, Batch { names: BTreeMap::new() }));
            (rrsets, bytes) = (0, 0);
        }
        open.names.insert(name.clone(), change.clone());
        rrsets += count;
        bytes += size;
    }
    if !open.names.is_empty() {
        out.push(open);
    }
    out
}

/// One element of a PATCH. `records` is never empty: `Contents` cannot be.
#[must_use]
pub fn element(name: &Name, rtype: RecordType, change: &Change, dialect: Dialect) -> Value {
    match change {
        Change::Delete { .. } => {
            json!({"name": name.as_str(), "type": rtype.as_str(), "changetype": "DELETE"})
        }
        Change::Adopt { comments, .. } => json!({
            "name": name.as_str(), "type": rtype.as_str(), "changetype": "REPLACE",
            "comments": comments.iter().map(comment).collect::<Vec<_>>(),
        }),
        Change::Replace { contents, comments, .. } => {
            replace(name, contents, comments.as_deref(), dialect)
        }
    }
}

/// A REPLACE with records; without the key `comments` stored ones are kept by the server.
#[must_use]
pub fn replace(
    name: &Name,
    contents: &Contents,
    comments: Option<&[Comment]>,
    dialect: Dialect,
) -> Value {
    let records = contents.values().iter();
    let records: Vec<Value> =
        records.map(|r| json!({"content": r.print(dialect), "disabled": false})).collect();
    let mut element = json!({
        "name": name.as_str(), "type": contents.rtype().as_str(), "changetype": "REPLACE",
        "ttl": contents.ttl().get(), "records": records,
    });
    if let (Some(comments), Some(object)) = (comments, element.as_object_mut()) {
        object.insert("comments".to_owned(), comments.iter().map(comment).collect());
    }
    element
}

fn comment(comment: &Comment) -> Value {
    let Comment { account, content, modified_at } = comment;
    json!({"account": account, "content": content, "modified_at": modified_at})
}
