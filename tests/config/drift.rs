//! The example file and the code name the same options with the same defaults, the reference in `docs/` has its table
//! of options from both, and shows messages as they are.

use std::collections::BTreeMap;

use dns_syncd::config::{Config, KEYS, Key, Sources};
use serde_json::Value;

use super::generated::generated;
use super::{defaults, load, refusal, with_needed};

const EXAMPLE: &str = include_str!("../../config/dns-syncd.yaml");
const REFERENCE: &str = include_str!("../../docs/configuration.md");

/// The options of a YAML text as (path, text), lists joined by commas.
fn flattened(prefix: &str, value: &Value, into: &mut BTreeMap<String, String>) {
    for (name, value) in value.as_object().unwrap() {
        let path = format!("{prefix}{name}");
        let text = match value {
            Value::Object(_) => {
                flattened(&format!("{path}."), value, into);
                continue;
            }
            Value::Array(items) => {
                let items: Vec<&str> = items.iter().map(|item| item.as_str().unwrap()).collect();
                items.join(",")
            }
            Value::String(text) => text.clone(),
            Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
        };
        assert_eq!(into.insert(path, text), None);
    }
}

#[test]
fn example_file_holds_every_option_with_its_default() {
    let mut example = BTreeMap::new();
    flattened("", &serde_saphyr::from_str(EXAMPLE).unwrap(), &mut example);
    let code: BTreeMap<String, String> =
        KEYS.iter().map(|key| (key.path.to_owned(), key.default.to_owned())).collect();
    assert_eq!(example, code, "config/dns-syncd.yaml and src/config/keys.rs differ");
}

/// The comment above each option of the example file, by its path.
fn meanings() -> BTreeMap<String, String> {
    let (mut meanings, mut words, mut section) = (BTreeMap::new(), Vec::new(), String::new());
    for line in EXAMPLE.lines() {
        if line.is_empty() {
            words.clear();
        } else if let Some(comment) = line.trim_start().strip_prefix('#') {
            words.push(comment.trim());
        } else if let Some(name) = line.strip_suffix(':') {
            section = format!("{name}.");
        } else {
            let (name, _) = line.trim_start().split_once(':').unwrap();
            let of = if line.starts_with(' ') { section.as_str() } else { "" };
            meanings.insert(format!("{of}{name}"), std::mem::take(&mut words).join(" "));
        }
    }
    meanings
}

#[test]
fn example_file_must_be_edited() {
    let lines = refusal(load(EXAMPLE, &[], &[]));
    assert_eq!(lines.len(), 2, "{lines:#?}");
    assert!(lines[0].contains("ownerId = \"\"") && lines[0].contains("delete each other's"));
    assert!(lines[1].contains("powerdns.apiKeyFile") && lines[1].contains("PDNS_API_KEY"));
    assert_eq!(with_needed(EXAMPLE, &[], &[]), Ok(defaults()));
}

/// The row of each option: what the code says of it, and its comment in the example file.
fn table() -> String {
    let meanings = meanings();
    let row = |key: &&Key| {
        let default = match (key.list, key.default) {
            (true, list) => format!("`[{list}]`"),
            (false, "") => "empty".to_owned(),
            (false, text) => format!("`{text}`"),
        };
        let Key { path, allowed, .. } = key;
        let meaning = meanings.get(*path).map(String::as_str).unwrap_or_default();
        assert!(!meaning.is_empty(), "{path} has no comment of its own in config/dns-syncd.yaml");
        format!("| `{path}` | {default} | {allowed} | `{}` | {meaning} |\n", key.variable())
    };
    let rows: String = KEYS.iter().map(row).collect();
    format!(
        "| Option | Default | Must be | Environment variable | Meaning |\n|---|---|---|---|---|\n{rows}"
    )
}

#[test]
fn reference_has_the_options_as_they_are() {
    generated("docs/configuration.md", &table());
}

/// The first block of the reference that is fenced with that word.
fn block(fence: &str) -> &'static str {
    let (_, rest) = REFERENCE.split_once(&format!("```{fence}\n")).expect(fence);
    rest.split_once("```").unwrap().0
}

#[test]
fn reference_shows_real_messages() {
    let env = BTreeMap::from([("DNS_SYNCD_POWERDNS__BRUST".to_owned(), "20".to_owned())]);
    let flags = ["log.level=verbose".to_owned()];
    let file = Some(("dns-syncd.yaml", block("yaml")));
    let errors = Config::load(&Sources { file, env: &env, flags: &flags }).unwrap_err();
    let shown = block("console").split_once('\n').unwrap().1;
    assert_eq!(format!("{errors}\n"), shown, "docs/configuration.md shows old messages");
}

#[test]
fn variables_follow_from_the_paths() {
    let names: Vec<String> = KEYS.iter().map(|key| key.variable()).collect();
    assert_eq!(names[0], "DNS_SYNCD_OWNER_ID");
    for name in ["DNS_SYNCD_POWERDNS__REQUEST_TIMEOUT", "DNS_SYNCD_POWERDNS__MAX_BATCH_RRSETS"] {
        assert!(names.iter().any(|known| known == name), "{name} is not among {names:?}");
    }
}
