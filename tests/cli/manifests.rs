//! `--manifests DIR`: files instead of a cluster. A plan of them is what the daemon would do once they were applied; `once`
//! serves them without Kubernetes, under an owner id of its own.

use std::path::PathBuf;

use dns_syncd::api::manifest::read;
use serde_json::{Value, json};

use crate::support::Folder;
use crate::support::daemon::{self, Output};
use crate::support::estate::{Estate, a_records, native};
use crate::support::objects;
use crate::support::recorder::Server;

/// A folder of manifests.
struct Files {
    folder: Folder,
}

impl Files {
    fn new() -> Files {
        Files { folder: Folder::new("manifests") }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes documents to a file; JSON is YAML too, but this is what people write.
    fn write(&self, name: &str, documents: &[Value]) {
        let texts: Vec<String> =
            documents.iter().map(|d| serde_saphyr::to_string(d).unwrap()).collect();
        self.text(name, &texts.join("---\n"));
    }

    fn text(&self, name: &str, text: &str) {
        std::fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        std::fs::write(self.path(name), text).unwrap();
    }

    fn remove(&self, name: &str) {
        std::fs::remove_file(self.path(name)).unwrap();
    }

    async fn run(&self, estate: &Estate, command: &str) -> Output {
        let folder = self.folder.path().to_str().unwrap();
        estate.recorder.clear();
        let output = daemon::command(&estate.config, &[command, "--manifests", folder]).await;
        let asked = estate.recorder.requests();
        assert!(asked.iter().all(|r| r.server == Server::PowerDns), "Kubernetes is not asked");
        output
    }

    /// The code and the text of a plan, which writes nothing.
    async fn plan(&self, estate: &Estate) -> (Option<i32>, String) {
        let output = self.run(estate, "plan").await;
        let writes = estate.recorder.writes();
        assert!(writes.is_empty(), "{writes:#?}");
        assert!(output.code != Some(64), "{output:#?}");
        (output.code, output.stdout.replace(&estate.namespace, "NS"))
    }

    /// A pass that must serve everything; the summary, the statuses by name, and the writes.
    async fn once(&self, estate: &Estate) -> (Value, Vec<Value>, usize) {
        let output = self.run(estate, "once").await;
        assert_eq!(output.code, Some(0), "{output:#?}");
        let mut lines: Vec<Value> =
            output.stdout.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
        let summary = lines.pop().unwrap();
        (summary, lines, estate.recorder.writes().len())
    }
}

fn class(estate: &Estate) -> Value {
    objects::class(&estate.class, &["ns1.example.net.", "ns2.example.net."])
}

/// Everything that a cluster holds of an estate, as `kubectl get -o yaml` shows it: a file an object, and the class.
async fn dump(estate: &Estate, files: &Files) {
    for (plural, folder) in [("dnszones", "zones"), ("dnsrecordsets", "sets/all")] {
        for object in objects::list(&estate.client, &estate.namespace, plural).await {
            let name = object["metadata"]["name"].as_str().unwrap();
            files.write(&format!("{folder}/{name}.yaml"), std::slice::from_ref(&object));
        }
    }
    let other = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "beside"}});
    files.write("class.yml", &[class(estate), other]);
    files.text("README.md", "no manifest");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_of_files_plans_to_exactly_that() {
    let estate = Estate::noted("review").await;
    estate.zone("z", "review.example").await;
    estate.zone("second", "second.example").await;
    estate.a("www", "z", &[("www", "192.0.2.1"), ("@", "192.0.2.1")]).await;
    estate.a("two", "z", &[("two", "192.0.2.2"), ("zwei", "192.0.2.2")]).await;
    estate.once().await;
    // The older one holds the name; files have no age, and PowerDNS tells.
    estate.a("a-late", "z", &[("late", "192.0.2.4"), ("www", "192.0.2.3")]).await;
    let entries = json!([{"name": "t", "txt": {"content": "a;b \"c\""}}]);
    estate.set("txt", "second", "TXT", entries).await;
    estate.once_failing().await;
    let files = Files::new();
    dump(&estate, &files).await;

    let (code, text) = files.plan(&estate).await;
    assert!(text.starts_with("held      DNSRecordSet NS/a-late www: NotOwner: "), "{text}");
    assert_eq!((code, text.lines().count()), (Some(1), 1), "{text}");
    files.write(
        "sets/all/a-late.yaml",
        &[objects::record_set(
            &estate.namespace,
            "a-late",
            "z",
            "A",
            &a_records(&[("late", "192.0.2.4")]),
        )],
    );
    assert_eq!(files.plan(&estate).await, (Some(0), "nothing to change\n".to_owned()));

    let namespace = &estate.namespace;
    let two = |records| objects::record_set(namespace, "two", "z", "A", &a_records(records));
    files.write("sets/all/two.yaml", &[two(&[("two", "192.0.2.22"), ("drei", "192.0.2.3")])]);
    let changes = "\
create    drei.review.example. A 300 192.0.2.3 for NS/two
replace   two.review.example. A 300 192.0.2.2 -> 300 192.0.2.22 for NS/two
delete    zwei.review.example. A 300 192.0.2.2 of NS/two: its object no longer declares it
";
    assert_eq!(files.plan(&estate).await, (Some(2), changes.to_owned()));

    files.remove("sets/all/two.yaml");
    let goes = "\
delete    two.review.example. A 300 192.0.2.2 of NS/two: its object is being deleted
delete    zwei.review.example. A 300 192.0.2.2 of NS/two: its object is being deleted
release   DNSRecordSet NS/two once its RRsets are gone
";
    assert_eq!(files.plan(&estate).await, (Some(2), goes.to_owned()));
    files.write("sets/all/two.yaml", &[two(&[("two", "192.0.2.2"), ("zwei", "192.0.2.2")])]);

    // With a DNSZone goes its zone, and whatever names it.
    files.remove("zones/second.yaml");
    let goes = "\
delete    zone second.example.
release   DNSRecordSet NS/txt once its RRsets are gone
release   DNSZone NS/second once its record sets are
";
    assert_eq!(files.plan(&estate).await, (Some(2), goes.to_owned()));
    files.remove("sets/all/txt.yaml");
    let goes = "\
delete    zone second.example.
release   DNSRecordSet NS/txt once its RRsets are gone
release   DNSZone NS/second.example once its record sets are
";
    assert_eq!(files.plan(&estate).await, (Some(2), goes.to_owned()));

    // What is planned is what the daemon does.
    for name in ["txt", "second"] {
        let kind = if name == "txt" { "DNSRecordSet" } else { "DNSZone" };
        let object = json!({"apiVersion": objects::API_VERSION, "kind": kind,
                            "metadata": {"name": name, "namespace": namespace}});
        estate.delete(&object).await;
    }
    estate.once_failing().await;
    assert!(!estate.pdns.has_zone("second.example").await);
    assert_eq!(files.plan(&estate).await, (Some(0), "nothing to change\n".to_owned()));
}

/// A record set that moves leaves where it was, also where its new DNSZone is nowhere.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_moved_set_leaves_is_planned() {
    let estate = Estate::noted("moved").await;
    estate.zone("z", "moved.example").await;
    estate.a("www", "z", &[("www", "192.0.2.1")]).await;
    estate.a("stays", "z", &[("stays", "192.0.2.1")]).await;
    estate.once().await;
    let files = Files::new();
    dump(&estate, &files).await;
    let www = objects::record_set(
        &estate.namespace,
        "www",
        "nowhere",
        "A",
        &a_records(&[("www", "192.0.2.1")]),
    );
    files.write("sets/all/www.yaml", std::slice::from_ref(&www));
    let (code, text) = files.plan(&estate).await;
    objects::apply(&estate.client, &www).await;
    let cluster = daemon::plan(&estate.config).await;
    assert_eq!((code, text), (cluster.code, cluster.stdout.replace(&estate.namespace, "NS")));
    assert_eq!(code, Some(1));
}

/// The records of a DNSZone go with it, also where its zone is somebody's by its `account`, and so is never deleted.
#[tokio::test(flavor = "multi_thread")]
async fn a_zone_that_is_not_marked_is_planned_as_the_daemon_ends_it() {
    let estate = Estate::noted("texted").await;
    estate.pdns.create_zone(&native("texted.example.", json!([]))).await;
    estate.pdns.put_zone("texted.example", &json!({"account": "billing: ACME"})).await;
    let zone = estate.zone("z", "texted.example").await;
    estate.a("www", "z", &[("www", "192.0.2.1")]).await;
    estate.a("more", "z", &[("more", "192.0.2.2")]).await;
    estate.once().await;
    let files = Files::new();
    dump(&estate, &files).await;
    assert_eq!(files.plan(&estate).await, (Some(0), "nothing to change\n".to_owned()));
    files.remove("zones/z.yaml");
    let (code, text) = files.plan(&estate).await;
    estate.delete(&zone).await;
    let cluster = daemon::plan(&estate.config).await;
    assert_eq!((code, &text), (cluster.code, &cluster.stdout.replace(&estate.namespace, "NS")));
    assert_eq!(text.lines().filter(|l| l.starts_with("delete ")).count(), 2, "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn files_are_served_without_kubernetes() {
    let estate = Estate::noted("files").await.reconfigured("ownerId", json!("files"));
    let estate = estate.reconfigured("namespaces", json!([]));
    let (files, namespace) = (Files::new(), estate.namespace.clone());
    files.write("class.yaml", &[class(&estate)]);
    let set = |name: &str, records: &[(&str, &str)]| {
        objects::record_set(&namespace, name, "z", "A", &a_records(records))
    };
    files.write(
        "all/zone.yaml",
        &[
            objects::zone(&namespace, "z", "files.example", &estate.class),
            set("www", &[("www", "192.0.2.1")]),
        ],
    );
    files.write("all/two.yaml", &[set("two", &[("two", "192.0.2.2")])]);

    let (summary, statuses, writes) = files.once(&estate).await;
    let made = estate.pdns.writes_for("POST").len();
    assert_eq!((&summary["zonesCreated"], writes), (&json!(1), made), "{summary}");
    let told: Vec<String> = statuses
        .iter()
        .map(|s| {
            let (_, reason, _) = objects::condition(s, "Programmed").unwrap();
            format!("{} {} {reason}", s["kind"].as_str().unwrap(), s["name"].as_str().unwrap())
        })
        .collect();
    let all =
        ["DNSRecordSet two Programmed", "DNSRecordSet www Programmed", "DNSZone z Programmed"];
    let mut sorted = told.clone();
    sorted.sort();
    assert_eq!(sorted, all);
    let (_, again, writes) = files.once(&estate).await;
    assert_eq!((again.len(), writes), (3, 0), "a second run says the same and writes nothing");
    assert_eq!(files.plan(&estate).await, (Some(0), "nothing to change\n".to_owned()));

    files.write("all/two.yaml", &[set("two", &[("two", "192.0.2.22")])]);
    files.write("all/three.yml", &[set("three", &[("three", "192.0.2.3")])]);
    let (summary, _, _) = files.once(&estate).await;
    assert_eq!((&summary["created"], &summary["replaced"]), (&json!(1), &json!(1)), "{summary}");
    files.remove("all/three.yml");
    let (summary, _, _) = files.once(&estate).await;
    assert_eq!((&summary["deleted"], &summary["equal"]), (&json!(1), &json!(2)), "{summary}");
    let two = estate.pdns.contents("files.example", "two.files.example.", "A").await;
    assert_eq!(two, ["192.0.2.22"]);
    assert_eq!(files.once(&estate).await.2, 0);

    // An empty folder is a mistake, not a wish.
    for file in ["class.yaml", "all/zone.yaml", "all/two.yaml"] {
        files.remove(file);
    }
    let output = files.run(&estate, "once").await;
    assert_eq!(output.code, Some(64), "{output:#?}");
    assert!(output.stderr.contains("holds no object of ours"), "{output:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn files_take_nothing_from_a_daemon() {
    let estate = Estate::noted("daemons").await;
    estate.zone("z", "daemons.example").await;
    estate.once().await;
    let files = Files::new();
    let zone = objects::zone(&estate.namespace, "z", "daemons.example", &estate.class);
    files.write("zone.yaml", &[class(&estate), zone]);
    let refused = async |what: &str| {
        let output = files.run(&estate, "once").await;
        assert_eq!(output.code, Some(1), "{output:#?}");
        assert!(output.stderr.contains(what), "{what}: {output:#?}");
        assert!(output.stderr.contains("an ownerId of their own"), "{output:#?}");
        assert!(estate.recorder.writes().is_empty());
    };
    refused("the mark of zone daemons.example.").await;
    // The note alone tells too.
    estate.a("www", "z", &[("www", "192.0.2.1")]).await;
    estate.once().await;
    estate.pdns.put_zone("daemons.example", &json!({"account": ""})).await;
    refused("the note on www.daemons.example. A").await;
}

/// What is wrong in one file, and what must be said of it.
const BAD: [(&str, &str); 12] = [
    ("a: [", "bad.yaml: document 1: "),
    ("just text", "bad.yaml:1: it is no object"),
    ("a: 1\na: 2\n", "bad.yaml: document 1: "),
    ("# first\n---\nkind: DNSZone\n", "bad.yaml:3: it is no object: apiVersion or kind is missing"),
    (
        "apiVersion: dns.networking.miloapis.com/v2\nkind: DNSZone\nmetadata: {name: z}\n",
        "bad.yaml:1: DNSZone: its apiVersion must be dns.networking.miloapis.com/v1alpha1",
    ),
    (
        "apiVersion: V\nkind: DNSZone\nmetadata: {name: z}\nspec: {domainName: a.example, dnsZoneClassName: c}\n",
        "DNSZone /z: metadata.namespace: missing",
    ),
    (
        "apiVersion: V\nkind: DNSZone\nmetadata: {name: good, namespace: ns}\nspec: {domainName: a.example, dnsZoneClassName: c}\n",
        "bad.yaml:1: DNSZone ns/good: it is in GOOD too",
    ),
    (
        "apiVersion: V\nkind: DNSZone\nmetadata: {name: cel, namespace: ns}\nspec: {domainName: example, dnsZoneClassName: c}\n",
        "bad.yaml:1: DNSZone ns/cel: spec.domainName: Must have at least two segments separated by dots",
    ),
    (
        "apiVersion: V\nkind: DNSRecordSet\nmetadata: {name: cel, namespace: ns}\nspec: {dnsZoneRef: {}, recordType: A, records: [{name: a, a: {content: 192.0.2.1}}]}\n",
        "DNSRecordSet ns/cel: spec.dnsZoneRef: dnsZoneRef.name must be set",
    ),
    (
        "apiVersion: V\nkind: DNSRecordSet\nmetadata: {name: s, namespace: ns}\nspec: {dnsZoneRef: {name: z}, recordType: A, records: [{name: a, a: {content: nonsense}}, {name: b, ttl: soon}]}\n",
        "DNSRecordSet ns/s: spec.records[0].a.content: \"nonsense\" is no ipv4",
    ),
    (
        "apiVersion: V\nkind: DNSRecordSet\nmetadata: {name: s, namespace: ns}\nspec: {dnsZoneRef: {name: z}, recordType: A, recrods: []}\n",
        "DNSRecordSet ns/s: spec.recrods: unknown field",
    ),
    (
        "apiVersion: V\nkind: DNSZone\nmetadata: {name: t, namespace: ns, deletionTimestamp: \"2026-01-01T00:00:00Z\"}\nspec: {domainName: a.example, dnsZoneClassName: c}\n",
        "DNSZone ns/t: metadata.deletionTimestamp: it is being deleted",
    ),
];

#[tokio::test(flavor = "multi_thread")]
async fn a_bad_file_is_refused_by_name() {
    let estate = Estate::new("bad").await;
    let files = Files::new();
    files.write("good.yaml", &[objects::zone("ns", "good", "good.example", "c")]);
    let good = format!("{}:1", files.path("good.yaml").display());
    for (text, said) in BAD {
        files.text(
            "z/bad.yaml",
            &text.replace("apiVersion: V", &format!("apiVersion: {}", objects::API_VERSION)),
        );
        for command in ["plan", "once"] {
            let output = files.run(&estate, command).await;
            assert_eq!(output.code, Some(64), "{text}: {output:#?}");
            let said = said.replace("GOOD", &good);
            assert!(output.stderr.contains(&said), "{text}: {said}: {output:#?}");
            assert!(estate.recorder.requests().is_empty(), "nothing was begun");
        }
    }
    files.remove("z/bad.yaml");
    let output = files.run(&estate, "plan").await;
    assert!(output.stderr.contains("holds no object of ours in namespaces"), "{output:#?}");
    assert_eq!(output.code, Some(64), "those of other namespaces are not read: {output:#?}");
    let zone = objects::zone(&estate.namespace, "good", "good.example", "missing");
    files.write("good.yaml", &[zone, json!({"apiVersion": "v1", "kind": "Secret"})]);
    let output = files.run(&estate, "plan").await;
    assert_eq!(output.code, Some(1), "{output:#?}");
    assert!(output.stdout.contains("DNSZoneClass \"missing\" not found"), "{output:#?}");
    assert!(output.stderr.contains(r#"ignored={"v1 Secret": 1}"#), "{output:#?}");
}

/// Specs of a record set and a zone, each right or wrong in one way.
fn specs() -> Vec<Value> {
    let set = |rtype: &str, entry: Value| json!({"dnsZoneRef": {"name": "z"}, "recordType": rtype, "records": [entry]});
    let entry = |field: &str, data: Value| json!({"name": "www", field: data});
    let zone = |domain: &str| json!({"domainName": domain, "dnsZoneClassName": "c"});
    vec![
        zone("shop.example"),
        zone("Shop.example"),
        zone("shop.example."),
        zone("shop"),
        zone(""),
        zone(&"a.".repeat(127)),
        json!({"domainName": "shop.example"}),
        json!({"domainName": "shop.example", "dnsZoneClassName": 7}),
        set("A", entry("a", json!({"content": "192.0.2.1"}))),
        set("A", entry("a", json!({"content": "192.0.2.256"}))),
        set("A", entry("a", json!({"content": "2001:db8::1"}))),
        set("A", entry("a", json!({}))),
        set("A", entry("a", json!({"content": null}))),
        set("A", entry("txt", json!({"content": "of another type"}))),
        set("AAAA", entry("aaaa", json!({"content": "2001:db8::1"}))),
        set("AAAA", entry("aaaa", json!({"content": "192.0.2.1"}))),
        set("A", json!({"name": "a b", "a": {"content": "192.0.2.1"}})),
        set("A", json!({"name": "", "a": {"content": "192.0.2.1"}})),
        set("A", json!({"name": "www", "ttl": null, "a": {"content": "192.0.2.1"}})),
        set("A", json!({"name": "www", "ttl": -1, "a": {"content": "192.0.2.1"}})),
        set("A", json!({"name": "www", "ttl": "60", "a": {"content": "192.0.2.1"}})),
        set("A", json!({"name": "www", "ttl": 1.5, "a": {"content": "192.0.2.1"}})),
        set("SPF", entry("txt", json!({"content": "x"}))),
        set("CNAME", entry("cname", json!({"content": "-x.example."}))),
        set("MX", entry("mx", json!({"preference": 65536, "exchange": "m.example."}))),
        set("MX", entry("mx", json!({"preference": 10, "exchange": "m.example."}))),
        set(
            "SOA",
            entry("soa", json!({"mname": "a.", "rname": "b.", "serial": 2_147_483_648_i64})),
        ),
        set("CAA", entry("caa", json!({"flag": 0, "tag": "Issue", "value": "x"}))),
        set(
            "HTTPS",
            entry("https", json!({"priority": 1, "target": ".", "params": {"port": 443}})),
        ),
        set(
            "HTTPS",
            entry("https", json!({"priority": 1, "target": ".", "params": {"port": "443"}})),
        ),
        json!({"dnsZoneRef": {"name": ""}, "recordType": "A", "records": [entry("a", json!({"content": "192.0.2.1"}))]}),
        json!({"dnsZoneRef": {"name": "z"}, "recordType": "A", "records": []}),
        json!({"dnsZoneRef": {"name": "z"}, "recordType": "A", "records": {}}),
        json!({"recordType": "A", "records": [entry("a", json!({"content": "192.0.2.1"}))]}),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_api_server_takes_is_taken_and_nothing_else() {
    let estate = Estate::new("schema").await;
    let mut taken = 0;
    for (at, spec) in specs().into_iter().enumerate() {
        let kind = if spec["domainName"].is_string() { "DNSZone" } else { "DNSRecordSet" };
        let object = json!({
            "apiVersion": objects::API_VERSION, "kind": kind, "spec": spec,
            "metadata": {"name": format!("o{at}"), "namespace": estate.namespace},
        });
        let server = objects::try_create(&estate.client, &object).await.map(drop);
        let here = read(&[("f".to_owned(), object.to_string())], "o").map(drop);
        assert_eq!(here.is_ok(), server.is_ok(), "{object}: {here:?}: {server:?}");
        taken += usize::from(here.is_ok());
    }
    assert!(taken > 5 && taken < 20, "{taken}");
}
