//! Options that say what may be done to what others wrote, and to what was ours under another name.

use serde_json::{Value, json};

use crate::support::daemon;
use crate::support::estate::{Estate, a_records, native, rr};
use crate::support::objects;
use crate::support::query::query;
use crate::support::recorder::Server;

const SET: &str = "dns.networking.miloapis.com/finalize-dnsrecordset-downstream";
const UPSTREAM_SET: &str = "dns.networking.miloapis.com/finalize-dnsrecordset";
const UPSTREAM_ZONE: &str = "dns.networking.miloapis.com/finalize-dnszone";

async fn served(estate: &Estate, name: &str) -> Vec<String> {
    query(estate.pdns.dns_addr(), name, "A").await.answers
}

async fn annotate(estate: &Estate, object: &Value, pause: Option<&str>) {
    let change = json!({"metadata": {"annotations": {"dns-syncd/pause": pause}}});
    objects::patch(&estate.client, object, &change).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_owner_id_takes_over_from_a_previous_one() {
    let estate = Estate::noted("renamed").await;
    let zone = estate.zone("z", "renamed.example").await;
    estate.a("www", "z", &[("www", "192.0.2.1")]).await;
    let gone = estate.a("gone", "z", &[("gone", "192.0.2.2")]).await;
    estate.once().await;
    let account = estate.pdns.get_zone("renamed.example").await["account"].clone();

    let estate = estate.reconfigured("ownerId", json!("new"));
    estate.once_failing().await;
    assert_eq!(estate.programmed(&zone).await.1, "DNSZoneInUse", "another id is another owner");

    let estate = estate.reconfigured("previousOwnerIds", json!(["test"]));
    objects::patch(&estate.client, &gone, &json!({"metadata": {"finalizers": null}})).await;
    estate.delete(&gone).await;
    let summary = estate.once().await;
    assert_eq!((&summary["adopted"], &summary["replaced"]), (&json!(1), &json!(0)), "{summary}");
    assert_ne!(estate.pdns.get_zone("renamed.example").await["account"], account);
    let note = estate.pdns.note("renamed.example", "www.renamed.example.", "A").await.unwrap();
    assert_eq!(note["owner"], "new");
    assert!(served(&estate, "gone.renamed.example").await.is_empty(), "it was ours all the time");
    // From now on the old id is not needed any more.
    let estate = estate.reconfigured("previousOwnerIds", json!([]));
    estate.assert_quiet().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn under_protect_what_others_wrote_stays_and_what_is_ours_follows() {
    let estate = Estate::new("protect").await.reconfigured("policy.takeover", json!("protect"));
    let rrsets = json!([
        rr("theirs.protect.example.", "192.0.2.1"),
        rr("equal.protect.example.", "192.0.2.2"),
        rr("going.protect.example.", "192.0.2.3"),
        rr("own.protect.example.", "192.0.2.4"),
    ]);
    estate.pdns.create_zone(&native("protect.example.", rrsets)).await;
    estate.zone("z", "protect.example").await;
    let theirs = estate.a("theirs", "z", &[("theirs", "192.0.2.9")]).await;
    let equal = estate.a("equal", "z", &[("equal", "192.0.2.2")]).await;
    for (name, declared) in [("going", "192.0.2.9"), ("own", "192.0.2.4")] {
        let set = estate.a(name, "z", &[(name, declared)]).await;
        objects::patch(&estate.client, &set, &json!({"metadata": {"finalizers": [SET]}})).await;
        estate.delete(&set).await;
    }
    estate.once_failing().await;
    let (status, reason, message) = estate.programmed(&theirs).await;
    assert_eq!((status.as_str(), reason.as_str()), ("False", "Pending"), "{message}");
    let names = estate.get(&theirs).await.unwrap()["status"]["recordSets"].to_string();
    assert!(names.contains("Conflict") && names.contains("policy.takeover is protect"), "{names}");
    assert_eq!(served(&estate, "theirs.protect.example").await, ["192.0.2.1"]);
    assert_eq!(estate.programmed(&equal).await.0, "True", "equal contents are adopted");
    assert_eq!(served(&estate, "going.protect.example").await, ["192.0.2.3"], "not its contents");
    assert!(served(&estate, "own.protect.example").await.is_empty(), "its own contents go");

    // Ours by its note: an edit is no conflict, nor is the zone's own apex.
    estate.edit(&equal, json!({"records": a_records(&[("equal", "192.0.2.8")])})).await;
    estate.once_failing().await;
    assert_eq!(served(&estate, "equal.protect.example").await, ["192.0.2.8"]);
    let ns = query(estate.pdns.dns_addr(), "protect.example", "NS").await.answers;
    assert_eq!(ns, ["ns1.example.net.", "ns2.example.net."]);
}

#[tokio::test(flavor = "multi_thread")]
async fn undeclared_rrsets_go_only_if_asked_and_never_what_is_spared() {
    let estate = Estate::noted("purge").await;
    estate.zone("z", "purge.example").await;
    estate.a("www", "z", &[("www", "192.0.2.1")]).await;
    estate.once().await;
    let mut noted = rr("noted.purge.example.", "192.0.2.5");
    let note = json!({"v": 1, "owner": "west", "object": "a/b", "uid": "u", "h": "0"}).to_string();
    noted["comments"] = json!([{"account": "dns-syncd", "content": note}]);
    let loc = json!({"name": "loc.purge.example.", "type": "LOC", "ttl": 300, "changetype": "REPLACE",
        "records": [{"content": "51 30 0.000 N 4 0 0.000 E 0.00m 1.00m 1.00m 1.00m", "disabled": false}]});
    let acme = rr("_acme-challenge.purge.example.", "192.0.2.6");
    let hand = rr("hand.purge.example.", "192.0.2.4");
    let rival = rr("cdn.purge.example.", "192.0.2.7");
    let all = json!({"rrsets": [noted, loc, acme, hand, rival]});
    let (status, body) = estate.pdns.patch("purge.example", &all).await;
    assert_eq!(status, 204, "{body}");
    // A declared CNAME is in conflict with an undeclared A, until undeclared means gone.
    let cname = json!([{"name": "cdn", "cname": {"content": "x.example.net"}}]);
    let cdn = estate.set("cdn", "z", "CNAME", cname).await;
    estate.once_failing().await;
    assert_eq!(served(&estate, "hand.purge.example").await, ["192.0.2.4"], "kept by default");

    let estate = estate.reconfigured("policy.undeclared", json!("delete"));
    let planned = daemon::plan(&estate.config).await.stdout;
    assert!(planned.contains("nobody declares it"), "{planned}");
    estate.once().await;
    assert!(served(&estate, "hand.purge.example").await.is_empty());
    assert_eq!(estate.programmed(&cdn).await.0, "True");
    assert_eq!(served(&estate, "_acme-challenge.purge.example").await, ["192.0.2.6"], "ignored");
    assert_eq!(served(&estate, "noted.purge.example").await, ["192.0.2.5"], "another owner's");
    assert!(estate.pdns.rrset("purge.example", "loc.purge.example.", "LOC").await.is_some());
    assert_eq!(served(&estate, "www.purge.example").await, ["192.0.2.1"]);
    let apex = query(estate.pdns.dns_addr(), "purge.example", "NS").await.answers;
    assert_eq!(apex.len(), 2);
    estate.assert_quiet().await;

    // A zone full of what nobody declares is a mistake before it is the truth.
    let many: Vec<Value> =
        (0..25).map(|n| rr(&format!("m{n}.purge.example."), "192.0.2.4")).collect();
    assert_eq!(estate.pdns.patch("purge.example", &json!({"rrsets": many})).await.0, 204);
    estate.once_failing().await;
    assert_eq!(served(&estate, "m7.purge.example").await, ["192.0.2.4"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_paused_record_set_stays_as_it_is() {
    let estate = Estate::noted("paused").await;
    let zone = estate.zone("z", "paused.example").await;
    let set = estate.a("www", "z", &[("www", "192.0.2.1"), ("old", "192.0.2.1")]).await;
    let heir = estate.a("zheir", "z", &[("www", "192.0.2.7")]).await;
    estate.once_failing().await;
    annotate(&estate, &set, Some("true")).await;
    let edited = [("www", "192.0.2.2"), ("new", "192.0.2.2")];
    estate.edit(&set, json!({"records": a_records(&edited)})).await;
    estate.recorder.clear();
    estate.once_failing().await;
    assert!(estate.writes_to(Server::PowerDns).is_empty(), "{:#?}", estate.recorder.writes());
    assert_eq!(estate.programmed(&set).await.0, "False", "nothing is claimed that is not so");
    estate.delete(&set).await;
    estate.once_failing().await;
    assert!(estate.get(&set).await.is_some() && estate.writes_to(Server::PowerDns).is_empty());
    assert_eq!(served(&estate, "www.paused.example").await, ["192.0.2.1"], "nobody inherits it");
    // Its DNSZone does not take it along.
    estate.delete(&zone).await;
    estate.once_failing().await;
    assert_eq!(served(&estate, "old.paused.example").await, ["192.0.2.1"]);

    annotate(&estate, &set, None).await;
    estate.once().await;
    for object in [&zone, &set, &heir] {
        assert!(estate.get(object).await.is_none());
    }
    assert!(!estate.pdns.has_zone("paused.example").await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_paused_zone_stays_as_it_is() {
    let estate = Estate::new("pausedz").await;
    let zone = estate.zone("z", "pausedz.example").await;
    let set = estate.a("www", "z", &[("www", "192.0.2.1")]).await;
    let other = estate.a("other", "z", &[("other", "192.0.2.1")]).await;
    estate.once().await;
    annotate(&estate, &zone, Some("true")).await;
    estate.edit(&set, json!({"records": a_records(&[("www", "192.0.2.2")])})).await;
    estate.delete(&other).await;
    estate.recorder.clear();
    estate.once_failing().await;
    estate.delete(&zone).await;
    estate.once_failing().await;
    assert!(estate.writes_to(Server::PowerDns).is_empty());
    assert!(estate.get(&set).await.unwrap()["metadata"].get("deletionTimestamp").is_none());
    assert_eq!(served(&estate, "other.pausedz.example").await, ["192.0.2.1"]);
    annotate(&estate, &zone, Some("false")).await;
    estate.once().await;
    assert!(estate.get(&zone).await.is_none() && estate.get(&other).await.is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_replicators_finalizers_go_only_if_asked() {
    let estate = Estate::new("retired").await;
    let zone = estate.zone("z", "retired.example").await;
    let set = estate.a("www", "z", &[("www", "192.0.2.1")]).await;
    estate.once().await;
    for (object, upstream) in [(&zone, UPSTREAM_ZONE), (&set, UPSTREAM_SET)] {
        let mut finalizers = objects::finalizers(&estate.client, object).await;
        finalizers.push(upstream.to_owned());
        let change = json!({"metadata": {"finalizers": finalizers}});
        objects::patch(&estate.client, object, &change).await;
    }
    estate.delete(&set).await;
    estate.once().await;
    assert_eq!(objects::finalizers(&estate.client, &set).await, [UPSTREAM_SET]);
    let estate = estate.reconfigured("releaseUpstreamFinalizers", json!(true));
    estate.once().await;
    assert!(estate.get(&set).await.is_none(), "what waits for the replicator alone goes too");
    estate.delete(&zone).await;
    estate.once().await;
    assert!(estate.get(&zone).await.is_none());
    assert!(!estate.pdns.has_zone("retired.example").await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dry_run_writes_nothing_and_says_what_it_would_do() {
    let estate = Estate::new("dry").await.reconfigured("dryRun", json!(true));
    estate.zone("z", "dry.example").await;
    estate.a("www", "z", &[("www", "192.0.2.1"), ("api", "192.0.2.2")]).await;
    let summary = estate.once().await;
    assert_eq!(summary["dryRun"], true);
    assert_eq!(
        (&summary["zonesCreated"], &summary["created"]),
        (&json!(1), &json!(4)),
        "{summary}"
    );
    let mut running = daemon::run(&estate.config).await;
    let (status, said) = running.nudge("10s").await;
    assert_eq!((status, &said["dryRun"]), (200, &json!(true)), "{said}");
    running.terminate().await;
    assert!(estate.recorder.writes().is_empty(), "{:#?}", estate.recorder.writes());
}

/// A DNSZone that lost its domain says nothing about the zone of the one that holds it.
#[tokio::test(flavor = "multi_thread")]
async fn a_paused_loser_does_not_freeze_the_holders_zone() {
    let estate = Estate::new("ploser").await;
    estate.zone("holder", "ploser.example").await;
    let www = estate.a("www", "holder", &[("www", "192.0.2.1")]).await;
    estate.once().await;
    let loser = estate.zone("loser", "ploser.example").await;
    annotate(&estate, &loser, Some("true")).await;
    estate.edit(&www, json!({"records": a_records(&[("www", "192.0.2.2")])})).await;
    estate.once_failing().await;
    assert_eq!(served(&estate, "www.ploser.example").await, ["192.0.2.2"]);
}

/// A record set that is held as it is does not keep its zone from having an SOA and NS.
#[tokio::test(flavor = "multi_thread")]
async fn a_paused_set_at_the_apex_does_not_make_a_zone_without_ns() {
    let estate = Estate::new("papex").await;
    let zone = estate.zone("z", "papex.example").await;
    let set = estate.a("apex", "z", &[("@", "192.0.2.1")]).await;
    annotate(&estate, &set, Some("true")).await;
    estate.once_failing().await;
    let ns = query(estate.pdns.dns_addr(), "papex.example", "NS").await.answers;
    assert_eq!(ns, ["ns1.example.net.", "ns2.example.net."]);
    assert_eq!(estate.programmed(&zone).await.0, "True");
    assert!(served(&estate, "papex.example").await.is_empty(), "it is held itself");
}

/// What a previous owner id noted is migrated wherever it stands, or it becomes another owner's the day that the old id is
/// taken out of the configuration.
#[tokio::test(flavor = "multi_thread")]
async fn what_stays_of_the_previous_owner_is_migrated_too() {
    let estate = Estate::noted("left").await;
    let zone = estate.zone("z", "left.example").await;
    let gone = estate.a("gone", "z", &[("gone", "192.0.2.1")]).await;
    estate.once().await;
    objects::patch(&estate.client, &gone, &json!({"metadata": {"finalizers": null}})).await;
    estate.delete(&gone).await;
    let edited = json!({"rrsets": [rr("gone.left.example.", "192.0.2.66")]});
    assert_eq!(estate.pdns.patch("left.example", &edited).await.0, 204);
    estate.once().await;
    let estate = estate
        .reconfigured("ownerId", json!("new"))
        .reconfigured("previousOwnerIds", json!(["test"]));
    estate.once().await;
    estate.assert_quiet().await;
    let estate = estate.reconfigured("previousOwnerIds", json!([]));
    estate.delete(&zone).await;
    estate.once().await;
    assert!(estate.get(&zone).await.is_none());
    assert!(!estate.pdns.has_zone("left.example").await, "the zone stays behind, served");
}
