//! The documents say what is true: links, tests, patches, commands, metrics, sentences and examples in them exist.
//! What each check is lies in `docs/claims.rs`; here the documents are read, and each check is shown to bite.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

#[path = "docs/claims.rs"]
mod claims;
#[path = "docs/examples.rs"]
mod examples;
#[path = "docs/generated.rs"]
mod generated;
#[path = "docs/markdown.rs"]
mod markdown;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use clap::CommandFactory;
use dns_syncd::api::object::ObjectKey;
use dns_syncd::metrics::Metrics;
use dns_syncd::plan::summary::Summary;
use dns_syncd::plan::view::{View, ZoneView};

use claims::{
    dead_links, files, flat, invariants, metrics_in, refused_commands, unknown_functions,
    unknown_sentences, unknown_words, unmapped,
};
use generated::generated;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The documents: path from the root, and text.
fn documents() -> Vec<(String, String)> {
    let top = fs::read_dir(root()).unwrap().map(|e| e.unwrap().path());
    let mut paths: Vec<PathBuf> =
        top.filter(|p| p.extension().is_some_and(|e| e == "md")).collect();
    paths.extend(files(&root().join("docs"), ".md"));
    paths.extend(files(&root().join("charts"), ".md"));
    let named = |p: PathBuf| {
        let name = p.strip_prefix(root()).unwrap().to_string_lossy().into_owned();
        (name, fs::read_to_string(p).unwrap())
    };
    paths.into_iter().map(named).collect()
}

fn document(name: &str) -> String {
    fs::read_to_string(root().join(name)).unwrap()
}

/// Applies a check to every document; nothing may be found.
fn check(rule: impl Fn(&str, &str) -> Vec<String>) {
    let found: Vec<String> = documents()
        .iter()
        .flat_map(|(name, text)| rule(name, text).into_iter().map(move |f| format!("{name}: {f}")))
        .collect();
    assert!(found.is_empty(), "{found:#?}");
}

fn words(words: &[&str]) -> BTreeSet<String> {
    words.iter().map(|w| (*w).to_owned()).collect()
}

#[test]
fn links_lead_somewhere() {
    check(|name, text| dead_links(text, root().join(name).parent().unwrap()));
    let bad =
        "[a](src/lib.rs) [b](src/no.rs) [c](#here) [d](#there) [e](https://x.example)\n\n## Here\n";
    assert_eq!(dead_links(bad, root()), ["src/no.rs", "#there"]);
    assert_eq!(dead_links("[a](ARCHITECTURE.md#no-such)", root()), ["ARCHITECTURE.md#no-such"]);
}

#[test]
fn the_index_names_every_page() {
    let index = document("docs/README.md");
    let missing = |index: &str| -> Vec<String> {
        let pages = documents().into_iter().map(|(name, _)| name);
        let pages = pages.filter_map(|n| n.strip_prefix("docs/").map(str::to_owned));
        pages.filter(|p| p != "README.md" && !index.contains(&format!("]({p})"))).collect()
    };
    assert!(missing(&index).is_empty(), "{:#?}", missing(&index));
    assert!(!missing("").is_empty());
}

#[test]
fn invariants_have_their_tests_and_patches() {
    let tests = [root().join("tests"), root().join("src")];
    let patches: Vec<(String, String)> = files(&root().join("tests/breaks"), ".patch")
        .into_iter()
        .map(|p| {
            (p.file_name().unwrap().to_string_lossy().into_owned(), fs::read_to_string(p).unwrap())
        })
        .collect();
    let found = invariants(&document("docs/evidence.md"), &tests, &patches);
    assert!(found.is_empty(), "{found:#?}");

    let red = |test: &str| format!("# breaks: x\n# red: --test {test}\n");
    let patches = [
        ("good.patch".to_owned(), red("crd files_equal_the_generator")),
        ("other.patch".to_owned(), red("crd rules_refuse")),
        ("alone.patch".to_owned(), red("crd rules_refuse")),
    ];
    let table = "x\n## Invariants\n\n| I | T | P |\n|---|---|---|\n\
        | a | `crd::files_equal_the_generator` | `good.patch` |\n\
        | b | `crd::files_equal_the_generator` | `other.patch` |\n\
        | c | `crd::no_such_test` | `none.patch` |\n\
        | d | | |\n";
    let found = invariants(table, &tests, &patches);
    assert_eq!(
        found,
        [
            "other.patch turns another test red than crd::files_equal_the_generator",
            "no such test: crd::no_such_test",
            "no such patch: none.patch",
            "no test: d",
            "alone.patch has no row",
        ]
    );
    assert_eq!(invariants("", &tests, &[]), ["there is no table"]);
}

#[test]
fn functions_exist() {
    let roots = [root().join("src"), root().join("tests")];
    check(|_, text| unknown_functions(text, &roots));
    let bad =
        "`plan::decide` `plan::diff::decide_name` `plan::diff::no_such` `no::such` `Syncer::pass`";
    assert_eq!(unknown_functions(bad, &roots), ["plan::diff::no_such", "no::such"]);
}

#[test]
fn the_code_map_is_whole_and_the_document_short() {
    let text = document("ARCHITECTURE.md");
    let src = root().join("src");
    let sources: Vec<String> = files(&src, ".rs")
        .iter()
        .map(|p| p.strip_prefix(&src).unwrap().to_string_lossy().into_owned())
        .collect();
    let found = unmapped(&text, &sources);
    assert!(found.is_empty(), "{found:#?}");
    assert!(text.lines().count() < 200);
    let map = "x\n## Code map\n\n| P | O |\n|---|---|\n| `dns/` | x |\n| `gone.rs` | x |\n";
    let sources = ["dns/name.rs".to_owned(), "lib.rs".to_owned()];
    assert_eq!(unmapped(map, &sources), ["lib.rs", "gone.rs does not exist"]);
}

#[test]
fn commands_exist() {
    let cli = dns_syncd::cli::Cli::command();
    let known: BTreeSet<String> = cli.get_subcommands().map(|c| c.get_name().to_owned()).collect();
    check(|_, text| unknown_words(text, "dns-syncd", &known));
    check(|_, text| refused_commands(text, &cli));
    let targets: BTreeSet<String> = document("Makefile")
        .lines()
        .filter_map(|l| l.split_once(':').map(|(target, _)| target))
        .filter(|t| t.chars().all(|c| c.is_ascii_lowercase() || c == '-'))
        .map(str::to_owned)
        .collect();
    check(|_, text| unknown_words(text, "make", &targets));

    let bad = "`dns-syncd run`, `dns-syncd explode`, dns-syncd keeps\n```sh\ntarget/release/dns-syncd fly --x\n```\n";
    assert_eq!(unknown_words(bad, "dns-syncd", &known), ["dns-syncd explode", "dns-syncd fly"]);
    let bad = "```sh\nX=1 ./dns-syncd crds | tee x\ndns-syncd plan \\\n  --al\ndns-syncd import a.example\n```\n";
    let found = refused_commands(bad, &cli);
    assert_eq!(found.len(), 2, "{found:#?}");
    assert!(found[0].starts_with("dns-syncd plan --al: ") && found[1].contains("--class"));
    assert_eq!(
        unknown_words("`make` `make test` `make hay`", "make", &words(&["test"])),
        ["make hay"]
    );
}

/// All series that the process can show, as `/metrics` does.
fn metrics() -> String {
    let metrics = Metrics::new().unwrap();
    let mut summary = Summary::default();
    summary.census.declared.insert("A", (1, 1));
    metrics.pass(&summary, 1.0, 1);
    metrics.per_zone().unwrap();
    let zone = ObjectKey { namespace: "a".to_owned(), name: "b".to_owned() };
    let zones = [(zone, ZoneView::default())].into();
    metrics.zones(&View { zones, ..View::default() });
    metrics.powerdns_request(("GET", "/zones"), "200", metrics.begin());
    metrics.kubernetes_write("status", "200");
    metrics.throttled("powerdns", metrics.begin());
    metrics.nudge("accepted");
    metrics.setting("interval", 15.0);
    metrics.text().unwrap()
}

#[test]
fn metrics_exist() {
    let text = metrics();
    let names = text.lines().filter_map(|l| l.strip_prefix("# TYPE ")?.split(' ').next());
    let known: BTreeSet<String> = names.map(str::to_owned).collect();
    check(|_, text| metrics_in(text).difference(&known).cloned().collect());
    let bad = metrics_in("`dns_syncd_held`, `dns_syncd_sold{x=\"y\"}`, dns_syncd::plan");
    assert_eq!(bad.difference(&known).collect::<Vec<_>>(), ["dns_syncd_sold"]);
}

/// The row of each series: what `/metrics` says of it, and the names of its first sample's labels.
fn table(text: &str) -> String {
    let mut rows = String::from("| Metric | Type | Labels | Meaning |\n|---|---|---|---|\n");
    for series in text.split("# HELP ").skip(1) {
        let mut lines = series.lines();
        let (name, help) = lines.next().unwrap().split_once(' ').unwrap();
        let kind = lines.next().unwrap().rsplit(' ').next().unwrap();
        let (sample, _) = lines.next().unwrap().rsplit_once(' ').unwrap();
        let pairs = sample.split_once('{').map(|(_, pairs)| pairs.split(',')).into_iter().flatten();
        let labels = pairs.filter_map(|pair| Some(pair.split_once('=')?.0));
        // The bound of a histogram's bucket.
        let labels: Vec<_> = labels.filter(|l| *l != "le").map(|l| format!("`{l}`")).collect();
        writeln!(rows, "| `{name}` | {kind} | {} | {help} |", labels.join(", ")).unwrap();
    }
    rows
}

#[test]
fn the_page_has_the_metrics_as_they_are() {
    generated("docs/metrics.md", &table(&metrics()));
}

#[test]
fn quoted_sentences_are_the_codes() {
    let source: String =
        files(&root().join("src"), ".rs").iter().map(|p| fs::read_to_string(p).unwrap()).collect();
    let source = flat(&source);
    let pages = ["docs/resources.md", "docs/failure-modes.md"];
    let found = pages.map(|page| unknown_sentences(&document(page), &source)).concat();
    assert!(found.is_empty(), "{found:#?}");
    let bad = "`All records programmed` `All records are programmed` `DNSZoneClass \"x\" not found` `waiting for \
        DNSZone \"x\"` `Record not yet programmed: nobody said this` `make it so now`";
    assert_eq!(
        unknown_sentences(bad, &source),
        ["All records are programmed", "Record not yet programmed: nobody said this"]
    );
}

#[test]
fn examples_are_accepted() {
    check(|_, text| examples::refused(text));
    let seen: usize = documents().iter().map(|(_, text)| examples::count(text)).sum();
    assert!(seen >= 5, "only {seen} examples were found");
    let fence =
        |body: &str| format!("```yaml\napiVersion: {}\n{body}\n```\n", dns_syncd::api::API_VERSION);
    let zone = fence(
        "kind: DNSZone\nmetadata: {name: z}\nspec: {domainName: example, dnsZoneClassName: c}",
    );
    assert_eq!(examples::refused(&zone), ["Must have at least two segments separated by dots"]);
    let set = |records: &str| {
        let spec = format!("spec: {{dnsZoneRef: {{name: z}}, recordType: A, records: {records}}}");
        examples::refused(&fence(&format!("kind: DNSRecordSet\nmetadata: {{name: s}}\n{spec}")))
    };
    assert!(set("[{name: www, a: {content: 192.0.2.1}}]").is_empty());
    assert_eq!(set("[{name: www, a: {content: 192.0.2.300}}]").len(), 1);
    assert_eq!(set("[{name: www.other.example., a: {content: 192.0.2.1}}]").len(), 1);
    assert_eq!(set("[{name: www, cname: {content: x.example}}]").len(), 1);
    assert_eq!(set("{}").len(), 1);
}
