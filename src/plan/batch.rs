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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dns::rdata::Rdata;
    use crate::dns::rrset::Ttl;
    use crate::plan::change::{DeleteReason, Party};

    fn delete(unnoted: bool) -> Change {
        let by = Party { uid: "u".to_owned(), key: "ns/s".parse().unwrap() };
        Change::Delete { by, why: DeleteReason::Going, unnoted, was: String::new() }
    }

    fn write(comments: Option<Vec<Comment>>) -> Change {
        let values = ["192.0.2.1", "192.0.2.2"].map(|v| Rdata::parse(RecordType::A, v).unwrap());
        let contents = Contents::new(Ttl::DEFAULT, BTreeSet::from(values)).unwrap();
        Change::Replace { contents, comments, from: None, by: None, over: None }
    }

    /// Names of one letter, each with changes of so many types.
    fn names(each: &[(&str, usize, bool)]) -> BTreeMap<Name, NameChange> {
        let types = [RecordType::A, RecordType::Aaaa, RecordType::Txt];
        let one = |(name, count, unnoted): &(&str, usize, bool)| {
            let types = types[..*count].iter().map(|t| (*t, delete(*unnoted)));
            (Name::parse(name).unwrap(), NameChange { types: types.collect() })
        };
        each.iter().map(one).collect()
    }

    fn letters(batch: &Batch) -> String {
        batch.names.keys().map(|name| name.as_str().trim_end_matches('.')).collect()
    }

    fn parted(all: &BTreeMap<Name, NameChange>, rrsets: usize, bytes: usize) -> Vec<String> {
        let batches = batches(all, Dialect::OLDEST, Limits { rrsets, bytes });
        batches.iter().map(letters).collect()
    }

    #[test]
    fn a_batch_is_cut_where_the_next_name_would_be_too_much() {
        let all = names(&[("a", 2, false), ("b", 1, false), ("c", 2, false), ("d", 1, false)]);
        for (rrsets, cut) in [
            (1, &["a", "b", "c", "d"][..]),
            (2, &["a", "b", "c", "d"]),
            (3, &["ab", "cd"]),
            (4, &["ab", "cd"]),
            (5, &["abc", "d"]),
            (6, &["abcd"]),
        ] {
            assert_eq!(parted(&all, rrsets, 10_000), cut, "{rrsets}");
        }
        let singles: Vec<(&str, usize, bool)> =
            ["a", "b", "c", "d", "e", "f", "g"].map(|name| (name, 1, false)).to_vec();
        let all = names(&singles);
        assert_eq!(parted(&all, 3, 10_000), ["abc", "def", "g"]);
        // A comma stands after each.
        let size = r#"{"changetype":"DELETE","name":"a.","type":"A"},"#.len();
        assert_eq!(parted(&all, 100, 3 * size), ["abc", "def", "g"]);
        assert_eq!(parted(&all, 100, 3 * size - 1), ["ab", "cd", "ef", "g"]);
        assert_eq!(parted(&all, 100, 1).len(), 7);
        assert!(parted(&BTreeMap::new(), 1, 1).is_empty());
    }

    #[test]
    fn what_carries_no_note_goes_first() {
        let all = names(&[("a", 1, false), ("b", 2, true), ("c", 1, false), ("d", 1, true)]);
        assert_eq!(parted(&all, 3, 10_000), ["bd", "ac"]);
        let batch = Batch { names: all };
        let unnoted: Vec<String> =
            batch.unnoted().iter().map(|(name, t)| format!("{name} {t}")).collect();
        assert_eq!(unnoted, ["b. A", "b. AAAA", "d. A"]);
    }

    #[test]
    fn halves_part_what_carries_no_note_from_the_rest_before_anything_else() {
        let halves = |each: &[(&str, usize, bool)]| {
            let (first, second) = Batch { names: names(each) }.halves()?;
            Some((letters(&first), letters(&second)))
        };
        let of = |a: &str, b: &str| Some((a.to_owned(), b.to_owned()));
        assert_eq!(halves(&[("a", 2, false)]), None);
        assert_eq!(halves(&[("a", 2, true)]), None);
        assert_eq!(halves(&[("a", 1, false), ("b", 1, false)]), of("a", "b"));
        assert_eq!(halves(&[("a", 1, true), ("b", 1, true), ("c", 1, true)]), of("a", "bc"));
        assert_eq!(halves(&[("a", 1, false), ("b", 1, true), ("c", 1, false)]), of("b", "ac"));
    }

    #[test]
    fn elements_are_what_the_server_takes_and_deletes_are_first() {
        let comment = Comment { account: "a".into(), content: "c".into(), modified_at: 7 };
        let note = json!({"account": "a", "content": "c", "modified_at": 7});
        let by = Party { uid: "u".to_owned(), key: "ns/s".parse().unwrap() };
        let adopt = Change::Adopt { comments: vec![comment.clone()], by };
        let types = [
            (RecordType::A, write(None)),
            (RecordType::Aaaa, adopt),
            (RecordType::Caa, write(Some(vec![comment]))),
            (RecordType::Txt, delete(false)),
        ];
        let names =
            BTreeMap::from([(Name::parse("a").unwrap(), NameChange { types: types.into() })]);
        let records = json!([
            {"content": "192.0.2.1", "disabled": false},
            {"content": "192.0.2.2", "disabled": false},
        ]);
        let write = json!({"name": "a.", "type": "A", "changetype": "REPLACE", "ttl": 300,
            "records": records});
        let mut noted = write.clone();
        noted["comments"] = json!([note]);
        let expected = [
            json!({"name": "a.", "type": "TXT", "changetype": "DELETE"}),
            write,
            json!({"name": "a.", "type": "AAAA", "changetype": "REPLACE", "comments": [note]}),
            noted,
        ];
        assert_eq!(Batch { names }.to_json(Dialect::OLDEST), expected);
    }
}
