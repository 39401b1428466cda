//! One page of a list as it arrives, without what no decision turns on. `metadata.managedFields` is often more than half of an
//! object; it is read for one thing, when somebody wrote the spec, and nothing else of it is ever built.

use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// The token of the page that follows the page of this text (of one of the API's `List` kinds); none after the last one. It
/// stands behind the items, which are passed over: the next page can be on its way while they are decoded.
///
/// # Errors
/// If it is no JSON object.
pub(super) fn next(page: &str) -> Result<Option<String>, serde_json::Error> {
    let page: Page = serde_json::from_str(page)?;
    Ok(page.metadata.next.filter(|token| !token.is_empty()))
}

/// What `each` makes of the items of a page. Of one at a time there is more than its text.
///
/// # Errors
/// If it is no list.
pub(super) fn items<T>(
    page: &str,
    each: impl Fn(&Value) -> Option<T>,
) -> Result<Vec<T>, serde_json::Error> {
    let mut out = Vec::new();
    let mut keep = |object: &Value| out.extend(each(object));
    let mut from = serde_json::Deserializer::from_str(page);
    let listed = from.deserialize_map(Members(&mut keep))?;
    from.end()?;
    if listed { Ok(out) } else { Err(serde_json::Error::missing_field("items")) }
}

#[derive(Deserialize)]
struct Page {
    #[serde(default)]
    metadata: PageMeta,
}

#[derive(Default, Deserialize)]
struct PageMeta {
    #[serde(default, rename = "continue")]
    next: Option<String>,
}

/// The members of a page; true if `items` is one of them.
struct Members<'a>(&'a mut dyn FnMut(&Value));

impl<'de> Visitor<'de> for Members<'_> {
    type Value = bool;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a list of the API")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<bool, A::Error> {
        let mut listed = false;
        while let Some(name) = from.next_key::<String>()? {
            if name == "items" {
                from.next_value_seed(Items(self.0))?;
                listed = true;
            } else {
                from.next_value::<IgnoredAny>()?;
            }
        }
        Ok(listed)
    }
}

/// The items of a page, each as it is, whatever that is, but for its `managedFields`.
struct Items<'a>(&'a mut dyn FnMut(&Value));

impl<'de> DeserializeSeed<'de> for Items<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Items<'_> {
    type Value = ();

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("items")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<(), A::Error> {
        while let Some(object) = from.next_element_seed(Part::Object)? {
            (self.0)(&object);
        }
        Ok(())
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
        let page = json!({"items": [value], "metadata": {}}).to_string();
        items(&page, |object| Some(object.clone())).unwrap().remove(0)
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
        let items = |text: &str| items(text, |object| Some(object.clone()));
        for no_list in [
            "",
            "[]",
            "null",
            r#"{"metadata": {}}"#,
            r#"{"items": null}"#,
            r#"{"items": {}}"#,
            r#"{"items": [{}}"#,
            r#"{"items": []} {"items": []}"#,
        ] {
            assert!(items(no_list).is_err(), "{no_list}");
        }
        assert_eq!(items(r#"{"items": [], "kind": ["any", {}]}"#).unwrap(), Vec::<Value>::new());
        assert_eq!(items(r#"{"items": [7, {"a": 1}]}"#).unwrap(), [json!(7), json!({"a": 1})]);
    }

    #[test]
    fn the_next_page_is_told_before_or_behind_the_items() {
        for (text, token) in [
            (
                r#"{"items": [{"metadata": {"continue": "no"}}], "metadata": {"continue": "t"}}"#,
                Some("t"),
            ),
            (r#"{"metadata": {"continue": "t"}, "items": [{}]}"#, Some("t")),
            (r#"{"metadata": {"continue": "", "resourceVersion": "7"}, "items": []}"#, None),
            (r#"{"metadata": {"continue": null}}"#, None),
            (r#"{"items": []}"#, None),
        ] {
            assert_eq!(next(text).unwrap().as_deref(), token, "{text}");
        }
        assert!(next("[").is_err());
    }
}
