//! `dns-syncd cleanup` on a real estate: finalizers go and nothing else does; with `--purge` what is ours in PowerDNS goes
//! first, what is foreign stays, and whatever could not be purged keeps every finalizer.

use serde_json::{Value, json};

use crate::support::daemon::{self, Output};
use crate::support::estate::{Estate, a_records, native, rr};
use crate::support::objects;
use crate::support::recorder::{Action, Request, Server};

const UPSTREAM: &str = "dns.networking.miloapis.com/finalize-dnszone";

async fn cleanup(estate: &Estate, flags: &[&str]) -> Output {
    let mut output = daemon::command(&estate.config, &[&["cleanup"], flags].concat()).await;
    output.stdout = output.stdout.replace(&estate.namespace, "NS");
    output
}

async fn finalizers(estate: &Estate, objects: &[&Value]) -> Vec<String> {
    let mut out = Vec::new();
    for object in objects {
        out.extend(objects::finalizers(&estate.client, object).await);
    }
    out
}

#[tokio::test(flavor = "multi_thread")]
async fn finalizers_go_and_nothing_else_does() {
    let estate = Estate::new("cleanup").await;
    let zone = estate.zone("z", "cleanup.example").await;
    let live = estate.a("live", "z", &[("live", "192.0.2.1")]).await;
    let gone = estate.a("gone", "z", &[("gone", "192.0.2.2")]).await;
    estate.once().await;
    let more = json!({"metadata": {"finalizers": [UPSTREAM, "dns.networking.miloapis.com/finalize-dnszone-downstream"]}});
    objects::patch(&estate.client, &zone, &more).await;
    estate.delete(&gone).await;
    let served = estate.pdns.all("cleanup.example").await;

    // As while the CRDs are being deleted, which stops every pass.
    estate.recorder.always(
        |r| r.server == Server::Kubernetes && r.path.contains("customresourcedefinitions/"),
        Action::Edit(|crd| crd["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z")),
    );
    estate.once_failing().await;

    let planned = "\
release   DNSRecordSet NS/gone
release   DNSRecordSet NS/live
release   DNSZone NS/z
";
    estate.recorder.clear();
    let dry = cleanup(&estate, &["--dry-run"]).await;
    assert_eq!((dry.code, dry.stdout.as_str()), (Some(0), planned), "{dry:?}");
    assert!(estate.recorder.writes().is_empty());

    let before = estate.get(&live).await.unwrap();
    let done = cleanup(&estate, &[]).await;
    assert_eq!((done.code, done.stdout.as_str()), (Some(0), planned), "{done:?}");
    assert_eq!(finalizers(&estate, &[&zone, &live]).await, [UPSTREAM]);
    assert!(estate.get(&gone).await.is_none(), "it waited for us alone");
    let after = estate.get(&live).await.unwrap();
    for kept in ["/metadata/ownerReferences", "/spec", "/status"] {
        assert!(after.pointer(kept).is_some(), "{kept}");
        assert_eq!(after.pointer(kept), before.pointer(kept), "{kept}");
    }
    let asked = estate.recorder.requests();
    assert!(asked.iter().all(|r| r.server == Server::Kubernetes), "PowerDNS is not asked");
    assert_eq!(estate.pdns.all("cleanup.example").await, served);

    let estate = estate.reconfigured("releaseUpstreamFinalizers", json!(true));
    assert_eq!(cleanup(&estate, &[]).await.code, Some(0));
    assert!(finalizers(&estate, &[&zone]).await.is_empty());
    let again = cleanup(&estate, &[]).await;
    assert_eq!((again.code, again.stdout.as_str()), (Some(0), ""), "{again:?}");
}

/// A zone that holds more than ours, one that does not, one in which another owner has noted something, and one of somebody
/// else.
async fn four_zones(estate: &Estate) -> Vec<Value> {
    let mixed = estate.zone("mixed", "mixed.example").await;
    let whole = estate.zone("whole", "whole.example").await;
    let shared = estate.zone("shared", "shared.example").await;
    let www = estate.a("www", "mixed", &[("www", "192.0.2.1"), ("*.wild", "192.0.2.2")]).await;
    let only = estate.a("only", "whole", &[("only", "192.0.2.3")]).await;
    let apex = json!([{"name": "@", "ns": {"content": "ns1.example.org"}}]);
    let apex = estate.set("apex", "mixed", "NS", apex).await;
    estate
        .pdns
        .create_zone(&native("theirs.example.", json!([rr("a.theirs.example.", "192.0.2.9")])))
        .await;
    estate.once().await;
    let mut rrsets = vec![rr("by-hand.mixed.example.", "192.0.2.4")];
    if estate.pdns.keeps_comments() {
        let note = r#"{"v":1,"owner":"west","object":"ns/x","uid":"u","h":"0"}"#;
        let west = commented(estate, "shared.example", "dns-syncd", note).await;
        let west = json!({ "rrsets": [west] });
        assert_eq!(estate.pdns.patch("shared.example", &west).await.0, 204);
        rrsets.push(commented(estate, "mixed.example", "ops", "ask first").await);
    }
    assert_eq!(estate.pdns.patch("mixed.example", &json!({ "rrsets": rrsets })).await.0, 204);
    vec![mixed, whole, shared, www, only, apex]
}

/// The NS at a zone's apex with one comment more.
async fn commented(estate: &Estate, zone: &str, account: &str, content: &str) -> Value {
    let mut apex = estate.pdns.rrset(zone, &format!("{zone}."), "NS").await.unwrap();
    apex["changetype"] = json!("REPLACE");
    let comments = apex["comments"].as_array_mut().unwrap();
    comments.push(json!({"account": account, "content": content, "modified_at": 7}));
    apex
}

#[tokio::test(flavor = "multi_thread")]
async fn a_purge_takes_what_is_ours_and_leaves_what_is_foreign() {
    let estate = Estate::new("purge").await;
    let all = four_zones(&estate).await;
    let all: Vec<&Value> = all.iter().collect();
    // Of a configuration with the same `ownerId` for other namespaces: its DNSZone is on no list of ours.
    let account = estate.pdns.get_zone("whole.example").await["account"].clone();
    let (hash, _) = account.as_str().unwrap().rsplit_once(':').unwrap();
    let mut elsewhere = native("elsewhere.example.", json!([]));
    elsewhere["account"] = json!(format!("{hash}:{}", "a".repeat(26)));
    estate.pdns.create_zone(&elsewhere).await;
    let elsewhere = estate.pdns.get_zone("elsewhere.example").await;
    let theirs = estate.pdns.get_zone("theirs.example").await;

    estate.recorder.clear();
    let dry = cleanup(&estate, &["--purge", "--dry-run"]).await;
    assert_eq!(dry.code, Some(0), "{dry:?}");
    assert!(estate.recorder.writes().is_empty());
    let done = cleanup(&estate, &["--purge"]).await;
    assert_eq!(done.code, Some(0), "{done:?}");
    assert_eq!(done.stdout, dry.stdout);
    for line in [
        "delete    *.wild.mixed.example. A 300 192.0.2.2 of NS/www",
        "delete    www.mixed.example. A 300 192.0.2.1 of NS/www",
        "unmark    zone mixed.example.",
        "delete    zone whole.example.",
        "leave     by-hand.mixed.example. A: nothing says it is ours",
        "leave     zone elsewhere.example.: its mark is ours, and may be for a DNSZone of a namespace that is not read",
    ] {
        assert!(done.stdout.lines().any(|l| l == line), "{line}:\n{}", done.stdout);
    }

    assert!(finalizers(&estate, &all).await.is_empty());
    assert_eq!(estate.pdns.call(reqwest::Method::GET, "/zones/whole.example.", None).await.0, 404);
    assert_eq!(estate.pdns.get_zone("theirs.example").await, theirs);
    assert_eq!(estate.pdns.get_zone("elsewhere.example").await, elsewhere);
    let mixed = estate.pdns.get_zone("mixed.example").await;
    assert_eq!(mixed["account"], "");
    let left: Vec<String> = estate
        .pdns
        .all("mixed.example")
        .await
        .into_keys()
        .map(|k| format!("{} {}", k.0, k.1))
        .collect();
    let expected = ["by-hand.mixed.example. A", "mixed.example. NS", "mixed.example. SOA"];
    assert_eq!(left, expected);
    if estate.pdns.keeps_comments() {
        let west = estate.pdns.rrset("shared.example", "shared.example.", "NS").await.unwrap();
        assert!(west["comments"][0]["content"].as_str().unwrap().contains("west"), "{west}");
        assert_eq!(estate.pdns.get_zone("shared.example").await["account"], "");
        let apex = estate.pdns.rrset("mixed.example", "mixed.example.", "NS").await.unwrap();
        assert_eq!(apex["comments"].as_array().unwrap().len(), 1, "{apex}");
        assert_eq!(apex["comments"][0]["account"], "ops");
    }
}

/// Something before the API server that has lost its backend answers 404 to everything: that is no cluster without our kinds.
#[tokio::test(flavor = "multi_thread")]
async fn a_404_of_something_else_is_no_empty_list() {
    let estate = Estate::new("lostlist").await;
    let zone = estate.zone("z", "lostlist.example").await;
    let set = estate.a("www", "z", &[("www", "192.0.2.1")]).await;
    estate.once().await;
    let ours = |r: &Request| {
        r.method == "GET" && (r.path.contains("/dnsrecordsets?") || r.path.contains("definitions"))
    };
    estate.recorder.always(ours, Action::Text(404, "default backend - 404".to_owned()));
    estate.recorder.clear();
    let done = cleanup(&estate, &["--purge"]).await;
    assert_eq!(done.code, Some(1), "{done:?}");
    assert!(estate.recorder.writes().is_empty());
    estate.recorder.heal();
    assert_eq!(finalizers(&estate, &[&zone, &set]).await.len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_could_not_be_purged_keeps_every_finalizer() {
    let estate = Estate::new("unpurged").await;
    let zone = estate.zone("z", "unpurged.example").await;
    let set = estate.a("www", "z", &[("www", "192.0.2.1")]).await;
    estate.once().await;
    let by_hand = json!({"rrsets": [rr("by-hand.unpurged.example.", "192.0.2.4")]});
    assert_eq!(estate.pdns.patch("unpurged.example", &by_hand).await.0, 204);
    let held = finalizers(&estate, &[&zone, &set]).await;
    assert_eq!(held.len(), 2);
    estate.recorder.always(
        |r| r.server == Server::PowerDns && r.method == "PATCH",
        Action::Answer(500, json!({"error": "no"})),
    );
    let failed = cleanup(&estate, &["--purge"]).await;
    assert_eq!(failed.code, Some(1), "{failed:?}");
    assert!(failed.stderr.contains("no finalizer is taken off"), "{failed:?}");
    assert_eq!(finalizers(&estate, &[&zone, &set]).await, held);
    let account = estate.pdns.get_zone("unpurged.example").await["account"].clone();
    assert_ne!(account, "", "the mark is what tells a later run whose the zone is");

    estate.pdns.stop().await;
    assert_eq!(cleanup(&estate, &["--purge"]).await.code, Some(1));
    assert_eq!(finalizers(&estate, &[&zone, &set]).await, held);
    // Without PowerDNS the objects must be able to go all the same.
    assert_eq!(cleanup(&estate, &[]).await.code, Some(0));
    assert!(finalizers(&estate, &[&zone, &set]).await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_another_controller_serves_is_left_unless_our_mark_is_on_it() {
    let estate = Estate::new("others").await;
    let zone = estate.zone("z", "others.example").await;
    let set = estate.a("www", "z", &[("www", "192.0.2.1")]).await;
    estate.once().await;
    let mut class = objects::class(&format!("{}-other", estate.class), &["ns1.example.net."]);
    class["spec"]["controllerName"] = json!("another");
    let class = objects::create(&estate.client, &class).await;
    estate.edit(&zone, json!({"dnsZoneClassName": class["metadata"]["name"]})).await;
    estate.edit(&set, json!({"records": a_records(&[("www", "192.0.2.2")])})).await;
    let held = finalizers(&estate, &[&zone, &set]).await;
    let left = cleanup(&estate, &[]).await;
    assert_eq!(left.code, Some(0), "{left:?}");
    assert!(
        left.stdout
            .contains("leave     DNSRecordSet NS/www: its class is of controller \"another\""),
        "{left:?}"
    );
    assert_eq!(finalizers(&estate, &[&zone, &set]).await, held);
    assert_eq!(cleanup(&estate, &["--purge"]).await.code, Some(0));
    assert!(finalizers(&estate, &[&zone, &set]).await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_purged_while_deletes_are_switched_off() {
    let estate = Estate::new("never").await.reconfigured("policy.deletes", json!("never"));
    let refused = cleanup(&estate, &["--purge"]).await;
    assert_eq!(refused.code, Some(64), "{refused:?}");
    assert!(refused.stderr.contains("policy.deletes is \"never\""), "{refused:?}");
    assert!(estate.recorder.requests().is_empty());
}
