//! One page of a list as it arrives, without what no decision turns on. `metadata.managedFields` is often more than half of an
//! object; it is read for one thing, when somebody wrote the spec, and nothing else of it is ever built.

use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// A page of a list (the API's `List` kinds).
#[derive(Debug, Deserialize)]
pub(super) struct Page {
    #[serde(default)]
    pub(super) metadata: PageMeta,
    /// Absent from what is no list.
    pub(super) items: Option<Vec<Item>>,
}

/// Where the next page is.
#[derive(Debug, Default, Deserialize)]
pub(super) struct PageMeta {
    /// The token of the next page; none, or empty, after the last one.
    #[serde(default, rename = "continue")]
    pub(super) next: Option<String>,
}

/// An object of the list: as it is, whatever that is, but for its `managedFields`.
#[derive(Debug, PartialEq)]
pub(super) struct Item(pub(super) Value);

impl<'de> Deserialize<'de> for Item {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Item, D::Error> {
        Part::Object.deserialize(from).map(Item)
    }
}

/// What of an object is being read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Object,
    Metadata,
    ManagedFields,
    /// One of them.
    Manager,
    /// What it wrote: the names of members, each with `f:` before it.
    Fields,
}

impl Part {
    /// The part that a member of this one is; `None` if it is taken whole.
    fn member(self, name: &str) -> Option<Part> {
        match (self, name) {
            (Part::Object, "metadata") => Some(Part::Metadata),
            (Part::Metadata, "managedFields") => Some(Part::ManagedFields),
            (Part::Manager, "fieldsV1") => Some(Part::Fields),
            _ => None,
        }
    }

    /// Whether a member of this part is told by its name alone.
    fn tells(self, name: &str) -> bool {
        self == Part::Fields && name == "f:spec"
    }

    /// Whether a member of this part is of no interest.
    fn drops(self, name: &str) -> bool {
        match self {
            Part::Manager => name != "time" && name != "fieldsV1",
            Part::Fields => !self.tells(name),
            Part::Object | Part::Metadata | Part::ManagedFields => false,
        }
    }
}

impl<'de> DeserializeSeed<'de> for Part {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Value, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Part {
    type Value = Value;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("any JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<Value, A::Error> {
        let mut out = Map::new();
        while let Some(name) = from.next_key::<String>()? {
            if self.drops(&name) || self.tells(&name) {
                from.next_value::<IgnoredAny>()?;
                if self.tells(&name) {
                    out.insert(name, Value::Null);
                }
                continue;
            }
            let value = match self.member(&name) {
                Some(part) => from.next_value_seed(part)?,
                None => from.next_value()?,
            };
            out.insert(name, value);
        }
        Ok(Value::Object(out))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<Value, A::Error> {
        let mut out = Vec::new();
        if self == Part::ManagedFields {
            while let Some(value) = from.next_element_seed(Part::Manager)? {
                out.push(value);
            }
        } else {
            while let Some(value) = from.next_element()? {
                out.push(value);
            }
        }
        Ok(Value::Array(out))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Value, E> {
        Ok(Value::String(text.to_owned()))
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn item(value: &Value) -> Value {
        serde_json::from_str::<Item>(&value.to_string()).unwrap().0
    }

    #[test]
    fn of_managed_fields_the_times_of_specs_are_left_and_of_all_else_everything() {
        let managed = |fields: Value| {
            json!({"kind": "K", "metadata": {"name": "n", "labels": {"managedFields": "label"},
                "ownerReferences": [{"uid": "u", "x": [1, -2, 0.5, null, true]}], "managedFields": fields},
                "spec": {"metadata": {"managedFields": [{"manager": "of no object"}]}}, "status": "text"})
        };
        let whole = json!([
            {"manager": "kubectl", "operation": "Update", "time": "2026-01-01T00:00:00Z",
             "fieldsV1": {"f:spec": {".": {}, "f:records": {}}, "f:metadata": {"f:labels": {}}}},
            {"manager": "we", "time": "2026-02-01T00:00:00Z", "fieldsV1": {"f:status": {}}},
        ]);
        let slim = json!([
            {"time": "2026-01-01T00:00:00Z", "fieldsV1": {"f:spec": null}},
            {"time": "2026-02-01T00:00:00Z", "fieldsV1": {}},
        ]);
        assert_eq!(item(&managed(whole)), managed(slim));
    }

    #[test]
    fn whatever_is_not_as_it_should_be_stays_what_it_is() {
        let odd = [
            json!(null),
            json!("text"),
            json!(3),
            json!([{"metadata": 1}]),
            json!({"metadata": null}),
            json!({"metadata": [{"managedFields": [{"manager": "x"}]}]}),
            json!({"metadata": {"managedFields": "x"}}),
            json!({"metadata": {"managedFields": [1, "x", null, ["y"]]}}),
            json!({"metadata": {"managedFields": [{"time": 7, "fieldsV1": "x"}, {"fieldsV1": [-1, 0.5]}]}}),
        ];
        for value in odd {
            assert_eq!(item(&value), value);
        }
    }

    #[test]
    fn a_page_without_items_is_no_empty_list() {
        let page = |text: &str| serde_json::from_str::<Page>(text);
        assert!(page(r#"{"metadata": {}}"#).unwrap().items.is_none());
        let last = page(r#"{"metadata": {"resourceVersion": "7"}, "items": []}"#).unwrap();
        assert!(last.metadata.next.is_none() && last.items.is_some_and(|items| items.is_empty()));
        assert_eq!(
            page(r#"{"metadata": {"continue": "t"}, "items": [{}]}"#).unwrap().metadata.next,
            Some("t".to_owned())
        );
        assert!(page("[]").is_err());
    }
}
