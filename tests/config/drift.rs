//! The example file, the reference in `docs/` and the code name the same options with the same
//! defaults, and the reference shows messages as they are.

use std::collections::BTreeMap;

use dns_syncd::config::{Config, KEYS, Sources};
use serde_json::Value;

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

#[test]
fn example_file_comments_every_section_and_option() {
    // `burst` and `format`-like lines may share the comment of the line before; a section's first
    // line is commented by its options.
    let mut commented = false;
    for line in EXAMPLE.lines().map(str::trim) {
        if line.is_empty() {
            commented = false;
        } else if line.starts_with('#') || line.ends_with(':') {
            commented = true;
        } else {
            assert!(commented, "no comment above: {line}");
        }
    }
}

#[test]
fn example_file_must_be_edited() {
    let lines = refusal(load(EXAMPLE, &[], &[]));
    assert_eq!(lines.len(), 2, "{lines:#?}");
    assert!(lines[0].contains("ownerId = \"\"") && lines[0].contains("delete each other's"));
    assert!(lines[1].contains("powerdns.apiKeyFile") && lines[1].contains("PDNS_API_KEY"));
    assert_eq!(with_needed(EXAMPLE, &[], &[]), Ok(defaults()));
}

#[test]
fn reference_table_agrees_with_the_code() {
    let table: Vec<Vec<&str>> = REFERENCE
        .lines()
        .filter(|line| line.starts_with("| `"))
        .map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
        .collect();
    let code: Vec<Vec<String>> = KEYS
        .iter()
        .map(|key| {
            let default = match (key.list, key.default) {
                (true, list) => format!("`[{list}]`"),
                (false, "") => "empty".to_owned(),
                (false, text) => format!("`{text}`"),
            };
            let name = |text: &str| format!("`{text}`");
            vec![name(key.path), default, key.allowed.to_owned(), name(&key.variable())]
        })
        .collect();
    for (row, key) in table.iter().zip(&code) {
        // The last column is the meaning, which only people read.
        let [cells @ .., meaning] = row.as_slice() else { panic!("an empty row") };
        assert_eq!(cells, key.as_slice(), "docs/configuration.md and src/config/keys.rs differ");
        assert!(!meaning.is_empty());
    }
    assert_eq!(table.len(), code.len(), "docs/configuration.md and src/config/keys.rs differ");
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
