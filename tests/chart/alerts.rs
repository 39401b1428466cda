//! The alerts: each fires in a world that deserves it and stays quiet in one that does not, by promtool; each has its
//! runbook, and no query names a metric that is not there.

use std::collections::BTreeSet;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::helm::{NEEDED, only, template};
use crate::support::{Folder, root};

const ON: [&str; 2] = ["--set", "prometheusRule.enabled=true"];

/// The rules as Prometheus reads them.
fn rules(values: &[&str]) -> Value {
    let documents = template("dns", &[&NEEDED[..], &ON, values].concat());
    only(&documents, "PrometheusRule")["spec"].clone()
}

fn alerts(rules: &Value) -> Vec<Value> {
    rules["groups"][0]["rules"].as_array().unwrap().clone()
}

fn names(rules: &Value) -> BTreeSet<String> {
    alerts(rules).iter().map(|alert| alert["alert"].as_str().unwrap().to_owned()).collect()
}

/// Runs promtool in a folder with the rules and their tests.
fn promtool(rules: &Value, arguments: &[&str]) -> Result<(), String> {
    let folder = Folder::new("alerts");
    // JSON is YAML too.
    folder.write("rules.yaml", &rules.to_string());
    let tests = std::fs::read_to_string(root().join("tests/chart/alerts.yaml")).unwrap();
    folder.write("alerts.yaml", &tests);
    let mut command = Command::new("promtool");
    command.args(arguments).current_dir(folder.path()).stdin(Stdio::null());
    let output = command.output().expect("promtool: run tests/env/packages");
    let said = [output.stdout, output.stderr].concat();
    if output.status.success() { Ok(()) } else { Err(String::from_utf8(said).unwrap()) }
}

#[test]
fn each_alert_fires_when_it_must_and_stays_quiet_when_it_must_not() {
    let rules = rules(&[]);
    promtool(&rules, &["check", "rules", "rules.yaml"]).unwrap();
    promtool(&rules, &["test", "rules", "alerts.yaml"]).unwrap();
    // A rule that always fires, and one that never does, must be noticed, whichever it is.
    for at in 0..alerts(&rules).len() {
        for expression in ["vector(1)", "vector(1) > 2"] {
            let mut broken = rules.clone();
            broken["groups"][0]["rules"][at]["expr"] = json!(expression);
            let noticed = promtool(&broken, &["test", "rules", "alerts.yaml"]).is_err();
            assert!(noticed, "rule {at} may be {expression}");
        }
    }
}

#[test]
fn each_alert_has_its_runbook_and_each_runbook_its_alert() {
    let rules = rules(&[]);
    for alert in alerts(&rules) {
        let (name, annotations) = (alert["alert"].as_str().unwrap(), &alert["annotations"]);
        assert_eq!(annotations["runbook_url"], format!("docs/runbooks/{name}.md"));
        let page = std::fs::read_to_string(root().join(format!("docs/runbooks/{name}.md")));
        let page = page.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(page.starts_with(&format!("# {name}\n")), "{name}: {page}");
        for heading in ["## Meaning", "## What to look at", "## What to do"] {
            assert!(page.contains(&format!("\n{heading}\n")), "{name}: no {heading}");
        }
        for field in ["summary", "description"] {
            assert!(annotations[field].as_str().is_some_and(|text| text.ends_with('.')), "{alert}");
        }
    }
    let pages = std::fs::read_dir(root().join("docs/runbooks")).unwrap();
    let pages: BTreeSet<String> = pages
        .map(|page| page.unwrap().file_name().into_string().unwrap().replace(".md", ""))
        .collect();
    assert_eq!(pages, names(&rules));
}

/// Metrics in a text.
fn metrics_in(text: &str) -> BTreeSet<&str> {
    let other = |c: char| !(c.is_ascii_lowercase() || c == '_');
    text.split(other).filter(|word| word.starts_with("dns_syncd_")).collect()
}

/// The labels that a query names and that no series in it has, nor its target; `page` has the labels of each series.
fn labels_missed(page: &str, query: &str) -> Vec<String> {
    let metrics = metrics_in(query);
    let has = |row: &&str| {
        metrics.iter().any(|m| row.starts_with(&format!("| `{}` |", m.trim_end_matches("_bucket"))))
    };
    let labels = page.lines().filter(has).filter_map(|row| row.split('|').nth(3));
    let mut known: BTreeSet<&str> = labels.flat_map(|cell| cell.split('`')).collect();
    known.extend(["namespace", "job", "pod", "le"]);
    let parts = |open: &str, close: char| {
        let insides = query.split(open).skip(1).filter_map(move |rest| rest.split(close).next());
        insides
            .flat_map(|inside| inside.split(','))
            .map(|part| part.split(['=', '!']).next().unwrap_or_default().trim().to_owned())
            .collect::<Vec<_>>()
    };
    let asked = [parts("by (", ')'), parts("{", '}')].concat();
    asked.into_iter().filter(|label| !known.contains(label.as_str())).collect()
}

#[test]
fn queries_name_metrics_that_exist() {
    // tests/docs.rs holds that page against the process.
    let page = std::fs::read_to_string(root().join("docs/metrics.md")).unwrap();
    let known = metrics_in(&page);
    let rules = rules(&[]);
    for alert in alerts(&rules) {
        let expression = alert["expr"].as_str().unwrap();
        let used = metrics_in(expression);
        assert!(!used.is_empty() && used.is_subset(&known), "{expression}");
        assert_eq!(labels_missed(&page, expression), [""; 0], "{expression}");
        // Every selector is this daemon's.
        let ours = "namespace=\"dns\",job=\"dns-syncd\"}";
        assert_eq!(
            expression.matches('{').count(),
            expression.matches(ours).count(),
            "{expression}"
        );
    }
    let wrong = "sum by (code) (dns_syncd_passes_total{job=\"a\",outcome=\"ok\",result=\"ok\"})";
    assert_eq!(labels_missed(&page, wrong), ["code", "outcome"]);
}

#[test]
fn alerts_can_be_left_out_and_their_series_chosen() {
    let all = names(&rules(&[]));
    let fewer = names(&rules(&[
        "--set",
        "prometheusRule.disabled={DnsSyncdNamesHeld,DnsSyncdOrphanZones}",
    ]));
    let gone: Vec<&String> = all.difference(&fewer).collect();
    assert_eq!(gone, ["DnsSyncdNamesHeld", "DnsSyncdOrphanZones"]);
    let chosen = rules(&[
        "--set",
        "prometheusRule.selector=cluster=\"west\"",
        "--set",
        "prometheusRule.passWithin=30m",
    ]);
    let chosen = chosen.to_string();
    assert!(chosen.contains("{result=~\\\"ok|failed\\\",cluster=\\\"west\\\"}[30m]"), "{chosen}");
    assert!(!chosen.contains("namespace="), "{chosen}");
}

/// The dashboard asks for series that exist, in expressions that Prometheus understands.
#[test]
fn the_dashboards_queries_are_sound() {
    let documents = template("dns", &[&NEEDED[..], &["--set", "dashboard.enabled=true"]].concat());
    let is_dashboard = |d: &&Value| d["data"].get("dns-syncd.json").is_some();
    let found = documents.iter().find(is_dashboard).unwrap();
    assert_eq!(found["metadata"]["labels"]["grafana_dashboard"], "1");
    let dashboard = found["data"]["dns-syncd.json"].as_str().unwrap();
    let dashboard: Value = serde_json::from_str(dashboard).unwrap();
    let page = std::fs::read_to_string(root().join("docs/metrics.md")).unwrap();
    let known = metrics_in(&page);
    let panels = dashboard["panels"].as_array().unwrap().iter();
    let targets = panels.flat_map(|panel| panel["targets"].as_array().unwrap());
    let mut asked = BTreeSet::new();
    let mut rules = Vec::new();
    for target in targets {
        let expression = target["expr"].as_str().unwrap();
        for metric in metrics_in(expression) {
            let base = metric.strip_suffix("_bucket").unwrap_or(metric);
            assert!(known.contains(base), "{expression}");
            asked.insert(base.to_owned());
        }
        assert_eq!(labels_missed(&page, expression), [""; 0], "{expression}");
        // Grafana puts these in.
        let expression = expression.replace("$__rate_interval", "5m").replace('$', "");
        rules.push(json!({"record": "x", "expr": expression}));
    }
    let rules = json!({"groups": [{"name": "dashboard", "rules": rules}]});
    promtool(&rules, &["check", "rules", "rules.yaml"]).unwrap();
    let shown: BTreeSet<&str> = asked.iter().map(String::as_str).collect();
    let unseen: Vec<_> = known.difference(&shown).collect();
    assert_eq!(unseen, [&"dns_syncd_setting"], "series without a panel");
}
