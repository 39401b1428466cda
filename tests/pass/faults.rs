//! What goes wrong on the way: order of writes, unread state, outages, one bad record.

use serde_json::{Value, json};

use crate::support::estate::{Estate, a_records, forbidden};
use crate::support::objects;
use crate::support::query::query;
use crate::support::recorder::{Action, Request, Server};
use crate::support::{daemon, wait_for};

fn kubernetes(method: &'static str, path: &'static str) -> impl Fn(&Request) -> bool + Send + Sync {
    move |r| r.server == Server::Kubernetes && r.method == method && r.path.contains(path)
}

fn powerdns(method: &'static str, path: &'static str) -> impl Fn(&Request) -> bool + Send + Sync {
    move |r| r.server == Server::PowerDns && r.method == method && r.path.contains(path)
}

#[tokio::test(flavor = "multi_thread")]
async fn finalizer_and_accepted_come_before_the_first_write() {
    let estate = Estate::new("order").await;
    estate.zone("z", "order.example").await;
    estate.a("www", "z", &[("www", "192.0.2.1")]).await;
    estate.once().await;
    let writes = estate.recorder.writes();
    let body = |r: &Request| r.body.clone().unwrap_or_default();
    let first = |what: &str, matches: &dyn Fn(&Request) -> bool| {
        writes.iter().find(|r| matches(r)).unwrap_or_else(|| panic!("{what}: {writes:#?}")).clone()
    };
    let secured = first("one patch with finalizer and owner reference", &|r: &Request| {
        let metadata = &body(r)["metadata"];
        r.path.contains("dnsrecordsets/www")
            && !metadata["finalizers"].is_null()
            && !metadata["ownerReferences"].is_null()
    });
    let zone = first("the zone's finalizer", &|r: &Request| {
        r.path.contains("dnszones/z") && !body(r)["metadata"]["finalizers"].is_null()
    });
    let accepted = first("Accepted", &|r: &Request| {
        r.path.contains("dnsrecordsets/www/status")
            && body(r)["status"]["conditions"][0]["type"] == "Accepted"
    });
    let written = first("the POST", &|r: &Request| r.server == Server::PowerDns);
    for before in [&secured, &zone, &accepted] {
        assert!(before.answered.unwrap() <= written.arrived, "{before:#?} before {written:#?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_written_for_an_object_that_could_not_be_secured() {
    let estate = Estate::new("unsecured").await;
    estate.zone("z", "unsecured.example").await;
    estate.a("good", "z", &[("good", "192.0.2.1")]).await;
    estate.once().await;
    estate.recorder.always(kubernetes("PATCH", "dnsrecordsets/bad"), forbidden());
    let bad = estate.a("bad", "z", &[("bad", "192.0.2.2")]).await;
    estate.a("new", "z", &[("new", "192.0.2.3")]).await;
    estate.once_failing().await;
    let dns = estate.pdns.dns_addr();
    assert!(query(dns, "bad.unsecured.example", "A").await.is_nxdomain());
    assert_eq!(query(dns, "new.unsecured.example", "A").await.answers, ["192.0.2.3"]);
    assert!(estate.get(&bad).await.unwrap()["metadata"].get("finalizers").is_none());
    estate.recorder.heal();
    estate.once().await;
    assert_eq!(query(dns, "bad.unsecured.example", "A").await.answers, ["192.0.2.2"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unread_zone_is_not_an_empty_one() {
    let estate = Estate::new("unread").await;
    estate.zone("z", "unread.example").await;
    let set = estate.a("www", "z", &[("www", "192.0.2.1")]).await;
    let other = estate.a("other", "z", &[("other", "192.0.2.2")]).await;
    estate.once().await;
    estate.delete(&set).await;
    let error = json!({"error": "Internal Server Error"});
    estate.recorder.always(powerdns("GET", "/zones/unread.example."), Action::Answer(500, error));
    estate.recorder.clear();
    estate.once_failing().await;
    assert!(estate.writes_to(Server::PowerDns).is_empty(), "nothing is decided about it");
    assert!(estate.get(&set).await.is_some(), "its absence is not proved");
    assert_eq!(estate.programmed(&other).await.0, "False", "nothing is claimed that was not seen");

    estate.recorder.heal();
    estate.recorder.always(powerdns("GET", "/zones?"), Action::Reset);
    estate.recorder.clear();
    estate.once_failing().await;
    assert!(estate.writes_to(Server::PowerDns).is_empty());
    assert!(estate.get(&set).await.is_some());
    estate.recorder.heal();
    estate.once().await;
    assert!(estate.get(&set).await.is_none());
    assert_eq!(estate.programmed(&other).await.0, "True");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_incomplete_kubernetes_list_makes_no_pass() {
    let estate = Estate::new("partial").await;
    estate.zone("z", "partial.example").await;
    estate.a("www", "z", &[("www", "192.0.2.1")]).await;
    estate.once().await;
    for path in ["dnsrecordsets?", "dnszones?", "dnszoneclasses?", "customresourcedefinitions/"] {
        estate.recorder.always(kubernetes("GET", path), forbidden());
        estate.recorder.clear();
        let output = daemon::once(&estate.config).await;
        assert_eq!(output.code, Some(1), "{path}: {output:#?}");
        assert!(estate.recorder.writes().is_empty(), "{path}");
        estate.recorder.heal();
    }
    estate.assert_quiet().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_implicit_delete_needs_a_live_answer() {
    let estate = Estate::new("live").await;
    estate.zone("z", "live.example").await;
    let set = estate.a("www", "z", &[("www", "192.0.2.1")]).await;
    estate.a("stays", "z", &[("stays", "192.0.2.2")]).await;
    estate.once().await;
    // The list hides an object that exists: what a broken cache or a wrong selector would do.
    let listed = json!({"apiVersion": "dns.networking.miloapis.com/v1alpha1", "metadata": {},
        "kind": "DNSRecordSetList", "items": [estate.get(
            &objects::record_set(&estate.namespace, "stays", "z", "A", &json!([]))).await]});
    estate.recorder.always(kubernetes("GET", "dnsrecordsets?"), Action::Answer(200, listed));
    estate.recorder.clear();
    daemon::once(&estate.config).await;
    assert!(estate.writes_to(Server::PowerDns).is_empty(), "it exists, so nothing of it goes");
    estate.recorder.always(kubernetes("GET", "dnsrecordsets/www"), forbidden());
    estate.recorder.clear();
    daemon::once(&estate.config).await;
    assert!(estate.writes_to(Server::PowerDns).is_empty(), "nobody knows, so nothing of it goes");
    estate.recorder.heal();
    assert_eq!(estate.programmed(&set).await.0, "True");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_bad_record_among_two_hundred_costs_its_name_alone() {
    let estate = Estate::new("bad").await;
    estate.zone("z", "bad.example").await;
    let names: Vec<String> = (0..200).map(|n| format!("n{n}")).collect();
    let entries: Vec<(&str, &str)> = names.iter().map(|n| (n.as_str(), "192.0.2.1")).collect();
    let good = estate.a("good", "z", &entries).await;
    let bad = estate
        .set(
            "bad",
            "z",
            "MX",
            json!([
                {"name": "bad", "mx": {"preference": 1, "exchange": "mail.example.net"}},
                {"name": "also-fine", "mx": {"preference": 1, "exchange": "mail.example.net"}},
            ]),
        )
        .await;
    // A text as the server gives it for a content that it refuses.
    let refuses = |r: &Request| {
        let sent = r.body.as_ref().map(Value::to_string).unwrap_or_default();
        r.server == Server::PowerDns && r.is_write() && sent.contains("\"bad.bad.example.\"")
    };
    let text = "RRset bad.bad.example. IN MX non-hostname content mail.example.net.";
    estate.recorder.always(refuses, Action::Answer(422, json!({ "error": text })));
    estate.once_failing().await;
    assert_eq!(estate.programmed(&good).await.0, "True");
    let dns = estate.pdns.dns_addr();
    for name in &names {
        assert_eq!(query(dns, &format!("{name}.bad.example"), "A").await.answers, ["192.0.2.1"]);
    }
    let status = estate.get(&bad).await.unwrap()["status"]["recordSets"].clone();
    let of = |name: &str| {
        let found = status.as_array().unwrap().iter().find(|n| n["name"] == name).unwrap().clone();
        objects::condition(&found, "Programmed").unwrap()
    };
    assert_eq!(of("also-fine").0, "True");
    assert_eq!((of("bad").0.as_str(), of("bad").1.as_str()), ("False", "PDNSError"));
    let aggregate = estate.programmed(&bad).await.2;
    assert!(aggregate.ends_with(": bad"), "only the bad name is named: {aggregate}");
    let serial = estate.pdns.serial("bad.example").await;
    estate.recorder.clear();
    estate.once_failing().await;
    assert!(estate.writes_to(Server::Kubernetes).is_empty(), "a lasting failure is said once");
    assert_eq!(estate.pdns.serial("bad.example").await, serial);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invalid_entry_is_refused_without_asking_the_server() {
    let estate = Estate::new("invalid").await;
    estate.zone("z", "invalid.example").await;
    let mut entries =
        a_records(&[("ok", "192.0.2.1"), ("a..b", "192.0.2.1"), ("www.other.org.", "192.0.2.1")]);
    entries.as_array_mut().unwrap().extend([
        json!({"name": "ttl", "ttl": -1, "a": {"content": "192.0.2.1"}}),
        json!({"name": "mismatch", "cname": {"content": "x.example."}}),
    ]);
    let set = estate.set("s", "z", "A", entries).await;
    estate.once_failing().await;
    let status = estate.get(&set).await.unwrap()["status"]["recordSets"].clone();
    let truths: Vec<(String, String)> = status
        .as_array()
        .unwrap()
        .iter()
        .map(|n| {
            let (truth, _, message) = objects::condition(n, "Programmed").unwrap();
            (format!("{}={truth}", n["name"].as_str().unwrap()), message)
        })
        .collect();
    let short: Vec<&str> = truths.iter().map(|(t, _)| t.as_str()).collect();
    assert_eq!(
        short,
        ["a..b=False", "mismatch=False", "ok=True", "ttl=False", "www.other.org.=False"]
    );
    let outside = &truths[4].1;
    assert!(outside.starts_with("The record name is outside the zone."), "{outside}");
    let refused = estate.writes_to(Server::PowerDns).into_iter().find(|r| r.status == Some(422));
    assert!(refused.is_none(), "{refused:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_during_an_outage_is_served_when_powerdns_is_back_and_nobody_touches_anything() {
    let estate = Estate::new("outage").await;
    estate.zone("z", "outage.example").await;
    let set = estate.a("www", "z", &[("www", "192.0.2.1")]).await;
    let mut daemon = daemon::run(&estate.config).await;
    let dns = estate.pdns.dns_addr();
    let serves = |ip: &'static str| async move {
        (query(dns, "www.outage.example", "A").await.answers == [ip]).then_some(())
    };
    wait_for("the first pass", std::time::Duration::from_secs(20), || serves("192.0.2.1")).await;
    estate.pdns.stop().await;
    estate.edit(&set, json!({"records": a_records(&[("www", "192.0.2.2")])})).await;
    let (status, report) = daemon.nudge("20s").await;
    assert_eq!((status, &report["ok"]), (200, &json!(false)), "{report}");
    assert_eq!(estate.programmed(&set).await.0, "False");
    estate.pdns.restart().await;
    wait_for("the edit", std::time::Duration::from_mins(1), || serves("192.0.2.2")).await;
    wait_for("the status", std::time::Duration::from_secs(20), || async {
        (estate.programmed(&set).await.0 == "True").then_some(())
    })
    .await;
    assert_eq!(daemon.terminate().await.code, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_swallowed_answer_is_read_again_and_not_sent_twice() {
    let estate = Estate::new("swallow").await;
    estate.zone("z", "swallow.example").await;
    estate.a("first", "z", &[("first", "192.0.2.1")]).await;
    estate.once().await;
    let set = estate.a("www", "z", &[("www", "192.0.2.2")]).await;
    estate.recorder.clear();
    estate.recorder.next(powerdns("PATCH", ""), Action::ForwardThenDrop);
    estate.once().await;
    assert_eq!(estate.writes_to(Server::PowerDns).len(), 1, "it reads equal afterwards");
    assert_eq!(estate.programmed(&set).await.0, "True");
    estate.assert_quiet().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_concurrent_writer_of_another_condition_survives() {
    let estate = Estate::new("beside").await;
    estate.zone("z", "beside.example").await;
    let set = estate.a("www", "z", &[("www", "192.0.2.1")]).await;
    let theirs = json!({"status": {"conditions": [{"type": "Theirs", "status": "True", "reason": "X",
        "message": "m", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}});
    objects::patch_status(&estate.client, &set, &theirs).await;
    estate.once().await;
    let now = estate.get(&set).await.unwrap();
    assert_eq!(objects::condition(&now, "Theirs").unwrap().2, "m");
    assert_eq!(objects::condition(&now, "Programmed").unwrap().0, "True");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pass_that_could_not_read_powerdns_is_no_success_and_changes_nobodys_standing() {
    let estate = Estate::new("blind").await;
    let theirs = json!({"name": "blind.example.", "kind": "Native", "nameservers": ["ns.example.net."],
                        "account": "ds:ffffff:aaaaaaaaaaaaaaaaaaaaaaaaaa"});
    estate.pdns.create_zone(&theirs).await;
    let zone = estate.zone("z", "blind.example").await;
    estate.once_failing().await;
    assert_eq!(estate.programmed(&zone).await.1, "DNSZoneInUse");
    estate.recorder.always(powerdns("GET", ""), Action::Reset);
    let summary = estate.once_failing().await;
    assert!(summary["failed"][0].as_str().unwrap().contains("could not be read"), "{summary}");
    let listed = estate.get(&zone).await.unwrap();
    assert_eq!(objects::condition(&listed, "Accepted").unwrap().1, "DNSZoneInUse");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_retyped_rrset_stays_when_an_older_sets_new_type_is_refused() {
    let estate = Estate::new("refused").await;
    estate.zone("z", "refused.example").await;
    let older = estate.a("older", "z", &[("elsewhere", "192.0.2.1")]).await;
    tokio::time::sleep(std::time::Duration::from_millis(1100)).await;
    let younger = estate.a("younger", "z", &[("www", "192.0.2.2")]).await;
    estate.once().await;
    let cname = |target: &str| json!({"recordType": "CNAME", "records": [{"name": "www", "cname": {"content": target}}]});
    estate.edit(&older, cname("one.example.net.")).await;
    estate.edit(&younger, cname("two.example.net.")).await;
    let refuses = |r: &Request| {
        let body = r.body.as_ref().map(Value::to_string).unwrap_or_default();
        r.server == Server::PowerDns && r.is_write() && body.contains("one.example.net.")
    };
    let text = "RRset www.refused.example. IN CNAME: refused by test";
    estate.recorder.always(refuses, Action::Answer(422, json!({ "error": text })));
    estate.once_failing().await;
    let answer = query(estate.pdns.dns_addr(), "www.refused.example", "A").await;
    assert_eq!(answer.answers, ["192.0.2.2"], "a name is old or new, never gone");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_end_of_a_set_does_not_wait_for_an_heir_that_is_refused() {
    let estate = Estate::noted("heir").await;
    estate.zone("z", "heir.example").await;
    let first = estate.a("first", "z", &[("www", "192.0.2.1")]).await;
    estate.once().await;
    estate.a("second", "z", &[("www", "192.0.2.66")]).await;
    let refuses = |r: &Request| {
        let body = r.body.as_ref().map(Value::to_string).unwrap_or_default();
        r.server == Server::PowerDns && r.is_write() && body.contains("192.0.2.66")
    };
    let text = "RRset www.heir.example. IN A: refused by test";
    estate.recorder.always(refuses, Action::Answer(422, json!({ "error": text })));
    estate.delete(&first).await;
    estate.once_failing().await;
    estate.once_failing().await;
    let left = query(estate.pdns.dns_addr(), "www.heir.example", "A").await;
    assert!(estate.get(&first).await.is_none(), "its end is no affair of the heir's");
    assert!(left.is_nxdomain() || left.is_nodata(), "{left:?}");
}

/// What it takes over is served as it wants it already: it needs but a note, and a neighbour of the name is refused.
#[tokio::test(flavor = "multi_thread")]
async fn the_end_of_a_set_does_not_wait_for_a_neighbour_of_its_heir_either() {
    let estate = Estate::noted("equal").await;
    estate.zone("z", "equal.example").await;
    let first = estate.a("first", "z", &[("www", "192.0.2.1")]).await;
    estate.once().await;
    let heir = estate.a("heir", "z", &[("www", "192.0.2.1")]).await;
    estate.set("txt", "z", "TXT", json!([{"name": "www", "txt": {"content": "refuse"}}])).await;
    let refuses = |r: &Request| {
        let body = r.body.as_ref().map(Value::to_string).unwrap_or_default();
        r.server == Server::PowerDns && r.is_write() && body.contains("refuse")
    };
    let text = "RRset www.equal.example. IN TXT: refused by test";
    estate.recorder.always(refuses, Action::Answer(422, json!({ "error": text })));
    estate.delete(&first).await;
    estate.once_failing().await;
    estate.once_failing().await;
    assert!(estate.get(&first).await.is_none(), "its end is no affair of the neighbour's");
    assert_eq!(estate.programmed(&heir).await.0, "True");
    let left = query(estate.pdns.dns_addr(), "www.equal.example", "A").await;
    assert_eq!(left.answers, ["192.0.2.1"]);
}
