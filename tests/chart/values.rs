//! Values, schema, README, configuration file and code name the same values with the same defaults. That file,
//! reference and code agree on options is in `tests/config/drift.rs`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use dns_syncd::config::{Config, KEYS, Sources};
use serde_json::{Value, json};

use crate::helm::{NEEDED, file, only, template, try_template};
use crate::support::{Folder, root};

/// A leaf of `values.yaml`.
struct Entry {
    path: String,
    default: String,
    /// Its own comment, or that of the leaf before it in its block, or that of what it is in.
    comment: String,
}

/// The leaves in the order of the file, which a parser would not keep. Values stand on one line.
fn entries(text: &str) -> Vec<Entry> {
    let mut out: Vec<Entry> = Vec::new();
    // The names that lead to the present line, each with its indentation and comment.
    let mut parents: Vec<(usize, String, String)> = Vec::new();
    let (mut comment, mut shared) = (String::new(), None);
    for line in text.lines() {
        let indent = line.len() - line.trim_start().len();
        let line = line.trim();
        if line.is_empty() {
            (comment, shared) = (String::new(), None);
        } else if let Some(words) = line.strip_prefix('#') {
            if !comment.is_empty() {
                comment.push(' ');
            }
            comment.push_str(words.trim());
        } else {
            parents.retain(|(at, _, _)| *at < indent);
            let (name, default) = line.split_once(':').unwrap_or_else(|| panic!("no key: {line}"));
            let own = std::mem::take(&mut comment);
            let of_parent =
                || parents.iter().rev().map(|(_, _, c)| c).find(|c| !c.is_empty()).cloned();
            if default.is_empty() {
                parents.push((indent, name.to_owned(), own));
                shared = None;
                continue;
            }
            let said = if own.is_empty() {
                let before = shared.take().filter(|(at, _)| *at == indent).map(|(_, c)| c);
                before.or_else(of_parent).unwrap_or_default()
            } else {
                own
            };
            shared = Some((indent, said.clone()));
            let path: Vec<&str> = parents.iter().map(|(_, name, _)| name.as_str()).collect();
            let path = [path, vec![name]].concat().join(".");
            out.push(Entry { path, default: default.trim().to_owned(), comment: said });
        }
    }
    out
}

/// The paths of all values.
pub(crate) fn paths() -> Vec<String> {
    entries(&file("values.yaml")).into_iter().map(|entry| entry.path).collect()
}

fn values() -> Value {
    serde_saphyr::from_str(&file("values.yaml")).unwrap()
}

fn schema() -> Value {
    serde_json::from_str(&file("values.schema.json")).unwrap()
}

#[test]
fn config_is_the_configuration_file() {
    let own = std::fs::read_to_string(root().join("config/dns-syncd.yaml")).unwrap();
    let (_, options) = own.split_once("\n\n").unwrap();
    let text = file("values.yaml");
    let (before, rest) = text.split_once("\nconfig:\n").expect("values.yaml has config");
    // It ends where a line has no indentation again.
    let inside = rest.lines().take_while(|line| line.is_empty() || line.starts_with(' '));
    let length: usize = inside.map(|line| line.len() + 1).sum();
    let indented = options.trim_end().lines().map(|line| format!("  {line}").trim_end().to_owned());
    let config = indented.collect::<Vec<_>>().join("\n");
    let fresh = format!("{before}\nconfig:\n{config}\n\n{}", &rest[length..]);
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("chart-values.yaml");
    std::fs::write(&path, &fresh).unwrap();
    assert!(
        text == fresh,
        "`config` in values.yaml is not config/dns-syncd.yaml; to take it over: cp {} charts/dns-syncd/values.yaml",
        path.display()
    );
}

#[test]
fn every_value_is_commented() {
    for Entry { path, comment, .. } in entries(&file("values.yaml")) {
        assert!(!comment.is_empty(), "{path} has no comment in values.yaml");
    }
    let found =
        entries("# A.\na: 1\nb:\n  # C.\n  c: 1\n  d: 1\n\n  e: 1\n# F.\nf:\n  g:\n    h: 1\n");
    let said: Vec<(&str, &str)> =
        found.iter().map(|e| (e.path.as_str(), e.comment.as_str())).collect();
    assert_eq!(said, [("a", "A."), ("b.c", "C."), ("b.d", "C."), ("b.e", ""), ("f.g.h", "F.")]);
}

/// The row of each value.
fn table() -> String {
    let row = |Entry { path, default, comment }: Entry| {
        let cells = [format!("`{path}`"), format!("`{default}`"), comment];
        format!("| {} |\n", cells.map(|cell| cell.replace('|', "\\|")).join(" | "))
    };
    let rows: Vec<String> = entries(&file("values.yaml")).into_iter().map(row).collect();
    format!("| Value | Default | Meaning |\n|---|---|---|\n{}", rows.concat())
}

#[test]
fn readme_has_every_value() {
    let readme = file("README.md");
    let (text, _) = readme.split_once("## Values\n").expect("README.md has the heading");
    let fresh = format!("{text}## Values\n\n{}", table());
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("chart-README.md");
    std::fs::write(&path, &fresh).unwrap();
    assert!(
        readme == fresh,
        "the table of values is not what values.yaml says; to take it over: cp {} charts/dns-syncd/README.md",
        path.display()
    );
}

/// Compares a value with its place in the schema.
fn compare(path: &str, value: &Value, schema: &Value, wrong: &mut Vec<String>) {
    let (Some(value), Some(known)) = (value.as_object(), schema["properties"].as_object()) else {
        // What Kubernetes defines is judged by Kubernetes; all else has a type.
        if ["type", "enum", "oneOf"].iter().all(|word| schema.get(word).is_none()) {
            wrong.push(format!("{path}: no type in the schema"));
        }
        return;
    };
    if schema["additionalProperties"] != json!(false) {
        wrong.push(format!("{path}: other names are not refused"));
    }
    for (name, value) in value {
        let below = format!("{path}.{name}");
        match known.get(name) {
            Some(schema) => compare(&below, value, schema, wrong),
            None => wrong.push(format!("{below}: not in the schema")),
        }
    }
    let given: BTreeSet<&String> = value.keys().collect();
    // What a parent chart hands down; and what a probe or a container's resources may have too.
    let optional = |name: &str| {
        name == "global"
            || path.ends_with("Probe")
            || format!("{path}.{name}") == ".resources.claims"
    };
    for name in known.keys().filter(|name| !given.contains(name) && !optional(name)) {
        wrong.push(format!("{path}.{name}: not in values.yaml"));
    }
}

#[test]
fn schema_and_values_hold_the_same_names() {
    let mut wrong = Vec::new();
    compare("", &values(), &schema(), &mut wrong);
    assert!(wrong.is_empty(), "{wrong:#?}");
    compare("", &json!({"image": {"tga": ""}, "nmae": ""}), &schema(), &mut wrong);
    assert!(wrong.contains(&".image.tga: not in the schema".to_owned()), "{wrong:#?}");
    assert!(wrong.contains(&".nmae: not in the schema".to_owned()), "{wrong:#?}");
}

/// `null` takes a value's default away: what templates build upon is then missed by the schema, not by a template whose
/// words nobody would understand; all else may be absent.
#[test]
fn a_value_that_is_taken_away_is_missed_in_plain_words() {
    let (mut absent, mut missed) = (Vec::new(), Vec::new());
    let schema = schema();
    let names = schema["properties"].as_object().unwrap().keys();
    // Helm itself hands that one down.
    for name in names.filter(|name| *name != "global") {
        let required = schema["required"].as_array().unwrap().contains(&json!(name));
        let list = if required { &mut missed } else { &mut absent };
        list.push(format!("{name}=null"));
    }
    assert!(absent.len() > 15 && missed.len() > 15, "{absent:?} {missed:?}");
    template("dns", &[&NEEDED[..], &["--set", &absent.join(",")]].concat());
    let said = try_template("dns", &["--set", &missed.join(",")]).map(drop).unwrap_err();
    for taken in missed {
        let name = taken.trim_end_matches("=null");
        assert!(said.contains("missing propert") && said.contains(&format!("'{name}'")), "{said}");
    }
}

#[test]
fn schema_says_what_an_option_must_be() {
    let schema = schema();
    for key in KEYS {
        let mut place = &schema["properties"]["config"];
        for name in key.path.split('.') {
            place = &place["properties"][name];
        }
        assert_eq!(place["description"], format!("must be {}", key.allowed), "{}", key.path);
    }
}

/// For an option good values that are not its default, and bad ones.
struct Sample {
    path: &'static str,
    good: Vec<Value>,
    bad: Vec<Value>,
}

#[rustfmt::skip]
fn samples() -> Vec<Sample> {
    let row = |path, good: &[Value], bad: &[Value]| Sample { path, good: good.to_vec(), bad: bad.to_vec() };
    let rate = |path| row(path, &[json!(1), json!(1_000_000)], &[json!(0), json!(1_000_001), json!(1.5), json!("many")]);
    let many = |path| row(path, &[json!(1), json!(1000)], &[json!(0), json!(1001)]);
    let choice = |path, other: &str| row(path, &[json!(other)], &[json!("sometimes"), json!(true)]);
    let flag = |path| row(path, &[json!(true)], &[json!("maybe"), json!(1)]);
    vec![
        row("ownerId", &[json!("a"), json!("west-1.example"), json!("a".repeat(63))],
            &[json!("West"), json!("-a"), json!("a."), json!("a_b"), json!("a".repeat(64)), json!("ü")]),
        row("previousOwnerIds", &[json!(["old", "older"])], &[json!(["Old"]), json!([""]), json!(["a", "a"])]),
        row("interval", &[json!("1m"), json!("1h 30m"), json!("0 */5 * * * *"), json!("0 0 6 * * MON-FRI 2030")],
            &[json!(15), json!("15"), json!(""), json!("@daily"), json!("*/5 * * * *")]),
        row("verifyInterval", &[json!("0s"), json!("1h 30m")], &[json!(0), json!("0"), json!(""), json!("-1s")]),
        row("controllerNames", &[json!(["powerdns", "other"])], &[json!([]), json!(["a b"]), json!(["a,b"]), json!(["a", "a"])]),
        row("namespaces", &[json!(["a", "b-2"])], &[json!(["A"]), json!(["a_b"]), json!(["-a"]), json!(["a", "a"]), json!(["a".repeat(64)])]),
        flag("dryRun"), flag("releaseUpstreamFinalizers"),
        row("powerdns.url", &[json!("https://dns.example:8443/pdns"), json!("http://[::1]:8081")],
            &[json!("ftp://a"), json!("a:8081"), json!("http://u:p@a"), json!("http://a?x"), json!("http://")]),
        row("powerdns.serverId", &[json!("ns1")], &[json!(""), json!("a/b"), json!(".a"), json!("a".repeat(64))]),
        row("powerdns.apiKeyFile", &[json!("/run/key")], &[json!(["/run/key"])]),
        row("powerdns.caFile", &[json!("/run/ca.pem")], &[json!(["/run/ca.pem"])]),
        row("powerdns.requestTimeout", &[json!("250ms"), json!("1m 30s")], &[json!(10), json!("10"), json!("soon"), json!("-1s")]),
        rate("powerdns.requestsPerSecond"), rate("powerdns.burst"), many("powerdns.concurrency"),
        row("powerdns.maxBatchRrsets", &[json!(1), json!(100_000)], &[json!(0), json!(100_001)]),
        row("powerdns.maxBatchBytes", &[json!(1000), json!(100_000_000)], &[json!(999), json!(100_000_001)]),
        rate("kubernetes.writesPerSecond"), rate("kubernetes.burst"), many("kubernetes.concurrency"),
        choice("policy.deletes", "never"), choice("policy.undeclared", "delete"),
        choice("policy.takeover", "protect"), choice("policy.orphanZones", "delete"),
        row("policy.ignore", &[json!([]), json!(["x.example.", "a[bc]*.example."])], &[json!(["A.example."]), json!(["a b"]), json!(["a", "a"])]),
        row("brakes.implicitPercent", &[json!(0), json!(100)], &[json!(-1), json!(101), json!("none")]),
        row("brakes.implicitTotal", &[json!(0), json!(1_000_000)], &[json!(-1), json!(1_000_001)]),
        row("brakes.explicitPercent", &[json!(0), json!("none")], &[json!(101), json!("all")]),
        row("http.listen", &[json!("127.0.0.1:9"), json!("[::1]:8080")], &[json!("8080"), json!(":8080"), json!("localhost:8080")]),
        row("http.tokenFile", &[json!("/run/token")], &[json!(["/run/token"])]),
        row("http.hmacSecretFile", &[json!("/run/hmac")], &[json!(["/run/hmac"])]),
        row("http.adminTokenFile", &[json!("/run/admin")], &[json!(["/run/admin"])]),
        flag("http.allowAnonymousNudge"),
        row("http.advertise", &[json!("a.example"), json!("[fd00::1]:81"), json!("fd00::1")], &[json!("a/b"), json!("u@h"), json!("a:b")]),
        row("leaderElection.enabled", &[json!(false)], &[json!("maybe"), json!(1)]),
        row("leaderElection.leaseName", &[json!("a"), json!("other.x")], &[json!(""), json!("A"), json!("a/b"), json!("-a")]),
        row("leaderElection.leaseNamespace", &[json!("a"), json!("b-2")], &[json!("A"), json!("a.b"), json!("a,b"), json!("-a")]),
        row("leaderElection.leaseDuration", &[json!("30s"), json!("10m")], &[json!(15), json!("15"), json!("soon"), json!("-15s")]),
        row("leaderElection.renewDeadline", &[json!("9s"), json!("5m")], &[json!(10), json!("10"), json!("soon"), json!("-1s")]),
        row("leaderElection.retryPeriod", &[json!("500ms"), json!("3s")], &[json!(2), json!("2"), json!("soon"), json!("-1s")]),
        flag("metrics.perZone"),
        choice("log.level", "trace"), choice("log.format", "json"),
    ]
}

/// `{config: …}` with one option set, over what every configuration needs.
fn with(options: &[(&str, &Value)]) -> Value {
    let mut config = json!({"ownerId": "test"});
    for (path, value) in options {
        let place = path.split('.').fold(&mut config, |place, name| &mut place[name]);
        *place = (*value).clone();
    }
    json!({ "config": config })
}

fn loads(values: &Value) -> bool {
    let env = BTreeMap::from([("PDNS_API_KEY".to_owned(), "k".to_owned())]);
    // JSON is YAML too.
    let text = values["config"].to_string();
    Config::load(&Sources { file: Some(("f.yaml", &text)), env: &env, flags: &[] }).is_ok()
}

/// The value of that number of each option that has one.
fn round<'a>(
    samples: &'a [Sample],
    number: usize,
    list: impl Fn(&'a Sample) -> &'a Vec<Value>,
) -> Vec<(&'a str, &'a Value)> {
    samples.iter().filter_map(|sample| Some((sample.path, list(sample).get(number)?))).collect()
}

#[test]
fn schema_accepts_and_refuses_what_the_code_does() {
    let samples = samples();
    let paths: Vec<&str> = samples.iter().map(|sample| sample.path).collect();
    assert_eq!(paths, KEYS.map(|key| key.path));
    let folder = Folder::new("schema");
    let judge = |values: &Value| {
        let path = folder.write("values.yaml", &values.to_string());
        let key = ["--set", "env[0].name=PDNS_API_KEY"];
        try_template("dns", &[&["--values", path.to_str().unwrap()], &key[..]].concat())
    };
    // helm names every fault at once, so one run judges one value of every option.
    for number in 0.. {
        let (mut good, bad) =
            (round(&samples, number, |s| &s.good), round(&samples, number, |s| &s.bad));
        if good.is_empty() && bad.is_empty() {
            break;
        }
        // With namespaces it is refused by both, which is another question.
        good.retain(|(path, _)| *path != "policy.orphanZones");
        if number == 0 {
            let orphans = [("policy.orphanZones", &json!("delete"))];
            assert!(loads(&with(&orphans)) && judge(&with(&orphans)).is_ok());
        }
        assert!(loads(&with(&good)), "the code refuses {good:?}");
        if let Err(error) = judge(&with(&good)) {
            panic!("the schema refuses {good:?}: {error}");
        }
        let said = judge(&with(&bad)).err().unwrap_or_default();
        for (path, value) in bad {
            assert!(!loads(&with(&[(path, value)])), "the code accepts {path}: {value}");
            let place = format!("'/config/{}", path.replace('.', "/"));
            let named = said.contains(&format!("{place}'")) || said.contains(&format!("{place}/"));
            assert!(named, "the schema accepts {path}: {value}\n{said}");
        }
    }
}

#[test]
fn the_chart_has_the_version_of_the_daemon() {
    let chart: Value = serde_saphyr::from_str(&file("Chart.yaml")).unwrap();
    for field in ["version", "appVersion"] {
        assert_eq!(chart[field], env!("CARGO_PKG_VERSION"), "{field} in Chart.yaml");
    }
    let documents = template("dns", &NEEDED);
    let image =
        &only(&documents, "Deployment")["spec"]["template"]["spec"]["containers"][0]["image"];
    assert_eq!(*image, format!("dns-syncd:{}", env!("CARGO_PKG_VERSION")));
}
