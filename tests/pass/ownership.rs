//! What is ours and what is not: foreign RRsets, foreign marks, zones that existed before, drift.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::daemon;
use crate::support::estate::{Estate, a_records, native, rr};
use crate::support::query::query;
use crate::support::recorder::{Action, Request, Server};
use crate::support::{objects, wait_for};

fn rrset(name: &str, content: &str, comments: Value) -> Value {
    json!({"name": name, "type": "A", "ttl": 300, "changetype": "REPLACE", "comments": comments,
           "records": [{"content": content, "disabled": false}]})
}

#[tokio::test(flavor = "multi_thread")]
async fn a_zone_that_existed_is_marked_first_adopted_by_content_and_its_neighbours_kept() {
    let estate = Estate::new("takeover").await;
    let noted = estate.pdns.keeps_comments();
    let ops = json!([{"account": "ops", "content": "do not touch", "modified_at": 12345}]);
    let mut www = rr("www.takeover.example.", "192.0.2.1");
    if noted {
        www["comments"] = ops;
    }
    let rrsets = json!([www, rr("hand.takeover.example.", "192.0.2.9")]);
    estate.pdns.create_zone(&native("takeover.example.", rrsets)).await;
    estate.zone("z", "takeover.example").await;
    let www = estate.a("www", "z", &[("www", "192.0.2.1")]).await;
    estate.a("new", "z", &[("new", "192.0.2.3")]).await;
    estate.once().await;

    let writes = estate.writes_to(Server::PowerDns);
    let account = writes[0].body.as_ref().unwrap()["account"].as_str().unwrap().to_owned();
    assert_eq!(writes[0].method, "PUT", "the mark comes first: {writes:#?}");
    assert!(account.starts_with("ds:") && account.len() == 36, "{account}");
    let settled = writes[0].answered.unwrap() + std::time::Duration::from_secs(1);
    assert!(writes[1..].iter().all(|w| w.arrived >= settled), "nothing before the mark has lasted");

    if noted {
        let (zone, name) = ("takeover.example", "www.takeover.example.");
        let stored = estate.pdns.rrset(zone, name, "A").await.unwrap();
        let comments = stored["comments"].as_array().unwrap();
        let ops = comments.iter().find(|c| c["account"] == "ops").expect("their comment stays");
        assert_eq!((&ops["content"], &ops["modified_at"]), (&json!("do not touch"), &json!(12345)));
        let note = estate.pdns.note(zone, name, "A").await.unwrap();
        assert_eq!(note["uid"], www["metadata"]["uid"]);
    }
    let dns = estate.pdns.dns_addr();
    assert_eq!(query(dns, "hand.takeover.example", "A").await.answers, ["192.0.2.9"]);
    assert_eq!(query(dns, "new.takeover.example", "A").await.answers, ["192.0.2.3"]);
    assert_eq!(
        query(dns, "takeover.example", "NS").await.answers,
        ["ns1.example.net.", "ns2.example.net."],
        "apex NS follow the class"
    );
    estate.assert_quiet().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn equal_values_in_another_spelling_are_adopted_untouched() {
    let estate = Estate::new("spelling").await;
    let stored = [
        ("t", "TXT", "\"split\" \"ted\"", json!({"txt": {"content": "splitted"}})),
        ("c", "CNAME", "Target.Example.NET.", json!({"cname": {"content": "target.example.net"}})),
        ("q", "AAAA", "2001:db8::1", json!({"aaaa": {"content": "2001:0DB8:0:0::1"}})),
    ];
    let rrsets: Value = stored
        .iter()
        .map(|(name, rtype, text, _)| {
            json!({"name": format!("{name}.spelling.example."), "type": rtype, "ttl": 300,
                   "records": [{"content": text, "disabled": false}]})
        })
        .collect();
    estate.pdns.create_zone(&native("spelling.example.", rrsets)).await;
    estate.zone("z", "spelling.example").await;
    for (name, rtype, _, value) in &stored {
        let mut entry = value.clone();
        entry["name"] = json!(name);
        estate.set(name, "z", rtype, json!([entry])).await;
    }
    estate.once().await;
    for (name, rtype, text, _) in &stored {
        let owner = format!("{name}.spelling.example.");
        let now = estate.pdns.contents("spelling.example", &owner, rtype).await;
        assert_eq!(now, [*text], "{rtype}: what is equal is not rewritten");
        let noted = estate.pdns.note("spelling.example", &owner, rtype).await.is_some();
        assert_eq!(noted, estate.pdns.keeps_comments(), "{rtype}");
    }
    estate.assert_quiet().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_soa_is_compared_without_its_serial_and_never_lowers_it() {
    let estate = Estate::new("soa").await;
    estate.zone("z", "soa.example").await;
    estate.once().await;
    // Every accepted PATCH moves the serial on from what a lower one would fall back to.
    for n in 0..3 {
        let edit = json!({"rrsets": [rr(&format!("n{n}.soa.example."), "192.0.2.1")]});
        assert_eq!(estate.pdns.patch("soa.example", &edit).await.0, 204);
    }
    let before = estate.pdns.serial("soa.example").await;
    let soa = |serial: u64, refresh: u64| {
        json!([{"name": "@", "ttl": 3600, "soa": {"mname": "ns1.example.net", "serial": serial,
            "rname": "ops.example.net", "refresh": refresh, "retry": 600, "expire": 86400, "ttl": 60}}])
    };
    let set = estate.set("soa", "z", "SOA", soa(7, 1200)).await;
    estate.once().await;
    let written = estate.pdns.serial("soa.example").await;
    assert!(written > before, "{written} is not lower than {before}");
    let answer = query(estate.pdns.dns_addr(), "soa.example", "SOA").await.answers;
    assert!(answer[0].starts_with("ns1.example.net. ops.example.net. "), "{answer:?}");
    estate.assert_quiet().await;
    // Another serial alone is no difference.
    estate.edit(&set, json!({"records": soa(8, 1200)})).await;
    estate.recorder.clear();
    estate.once().await;
    assert!(estate.writes_to(Server::PowerDns).is_empty());
    estate.edit(&set, json!({"records": soa(9, 2400)})).await;
    estate.once().await;
    assert!(estate.pdns.serial("soa.example").await >= written);
    estate.delete(&set).await;
    estate.once().await;
    assert!(estate.pdns.rrset("soa.example", "soa.example.", "SOA").await.is_some(), "it stays");
    assert!(estate.get(&set).await.is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_a_longer_zone_answers_for_is_said_and_left() {
    let estate = Estate::new("longer").await;
    estate.zone("parent", "longer.example").await;
    estate.zone("child", "sub.longer.example").await;
    estate.once().await;
    let below =
        estate.a("below", "parent", &[("www.sub", "192.0.2.1"), ("fine", "192.0.2.2")]).await;
    let ns = json!([{"name": "sub", "ns": {"content": "ns1.example.net"}}]);
    let delegation = estate.set("ns", "parent", "NS", ns).await;
    estate.once_failing().await;
    let (status, _, message) = estate.programmed(&below).await;
    assert_eq!(status, "False");
    assert!(message.ends_with(": www.sub"), "{message}");
    assert_eq!(estate.programmed(&delegation).await.0, "True");
    let dns = estate.pdns.dns_addr();
    assert_eq!(query(dns, "fine.longer.example", "A").await.answers, ["192.0.2.2"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn another_owners_zone_and_rrsets_are_left_alone() {
    let estate = Estate::new("foreign").await;
    let theirs = "ds:ffffff:aaaaaaaaaaaaaaaaaaaaaaaaaa";
    let mut zone = native("theirs.example.", json!([rr("www.theirs.example.", "192.0.2.5")]));
    zone["account"] = json!(theirs);
    estate.pdns.create_zone(&zone).await;
    let before = estate.pdns.get_zone("theirs.example").await;
    let object = estate.zone("theirs", "theirs.example").await;
    let set = estate.a("www", "theirs", &[("www", "192.0.2.1")]).await;

    estate.zone("z", "foreign.example").await;
    estate.once_failing().await;
    let untouched = || async {
        assert_eq!(estate.pdns.get_zone("theirs.example").await, before);
        let (_, reason, message) = estate.programmed(&object).await;
        assert_eq!(
            (reason.as_str(), message.as_str()),
            ("DNSZoneInUse", "DNSZone claimed by another resource")
        );
        assert_eq!(estate.programmed(&set).await.0, "False");
    };
    untouched().await;
    if estate.has_no_notes("RRsets with another owner's note") {
        return;
    }
    let note = json!({"v": 1, "owner": "other", "object": "x/y", "uid": "u", "h": "0"}).to_string();
    let comments = json!([{"account": "dns-syncd", "content": note, "modified_at": 0}]);
    let foreign = json!({"rrsets": [
        rrset("noted.foreign.example.", "192.0.2.7", comments.clone()),
        rrset("wanted.foreign.example.", "192.0.2.8", comments),
    ]});
    assert_eq!(estate.pdns.patch("foreign.example", &foreign).await.0, 204);
    let wanted = estate.a("wanted", "z", &[("wanted", "192.0.2.1")]).await;
    estate.once_failing().await;

    untouched().await;
    let (_, _, message) = estate.programmed(&wanted).await;
    assert!(message.contains("wanted"), "{message}");
    let dns = estate.pdns.dns_addr();
    assert_eq!(query(dns, "noted.foreign.example", "A").await.answers, ["192.0.2.7"]);
    assert_eq!(query(dns, "wanted.foreign.example", "A").await.answers, ["192.0.2.8"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn drift_is_repaired_whatever_the_note_says() {
    let estate = Estate::new("drift").await;
    estate.zone("z", "drift.example").await;
    estate
        .a("www", "z", &[("www", "192.0.2.1"), ("gone", "192.0.2.2"), ("off", "192.0.2.3")])
        .await;
    estate.once().await;
    // Without the key `comments` the server keeps the note, which is then a lie.
    let edits = json!({"rrsets": [
        {"name": "www.drift.example.", "type": "A", "ttl": 300, "changetype": "REPLACE",
         "records": [{"content": "203.0.113.66", "disabled": false}]},
        {"name": "gone.drift.example.", "type": "A", "changetype": "DELETE"},
        {"name": "off.drift.example.", "type": "A", "ttl": 300, "changetype": "REPLACE",
         "records": [{"content": "192.0.2.3", "disabled": true}]},
    ]});
    assert_eq!(estate.pdns.patch("drift.example", &edits).await.0, 204);
    estate.once().await;
    let dns = estate.pdns.dns_addr();
    for (name, ip) in [("www", "192.0.2.1"), ("gone", "192.0.2.2"), ("off", "192.0.2.3")] {
        assert_eq!(query(dns, &format!("{name}.drift.example"), "A").await.answers, [ip]);
    }
    estate.pdns.delete_zone("drift.example").await;
    estate.once().await;
    assert_eq!(query(dns, "www.drift.example", "A").await.answers, ["192.0.2.1"]);
    estate.assert_quiet().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_zones_with_one_domain_the_older_holds_and_the_heir_follows_without_a_gap() {
    let estate = Estate::new("heir").await;
    let winner = estate.zone("winner", "heir.example").await;
    let kept = estate.a("w", "winner", &[("www", "192.0.2.1")]).await;
    estate.once().await;
    let loser = estate.zone("loser", "heir.example").await;
    let waits = estate.a("l", "loser", &[("www", "192.0.2.2")]).await;
    estate.once_failing().await;
    assert_eq!(estate.programmed(&loser).await.1, "DNSZoneInUse");
    assert_eq!(estate.programmed(&waits).await.0, "False");

    // The loser goes: nothing of the winner's goes with it.
    let second = estate.zone("second-loser", "heir.example").await;
    estate.once_failing().await;
    estate.delete(&second).await;
    estate.once_failing().await;
    assert!(estate.get(&second).await.is_none());
    let dns = estate.pdns.dns_addr();
    assert_eq!(query(dns, "www.heir.example", "A").await.answers, ["192.0.2.1"]);

    estate.delete(&winner).await;
    estate.recorder.clear();
    estate.once().await;
    let deletes = estate.writes_to(Server::PowerDns);
    assert!(deletes.iter().all(|r| r.method != "DELETE"), "no DELETE of the zone: {deletes:#?}");
    assert_eq!(query(dns, "www.heir.example", "A").await.answers, ["192.0.2.2"]);
    assert!(estate.get(&winner).await.is_none() && estate.get(&kept).await.is_none());
    assert_eq!(estate.programmed(&waits).await.0, "True");
    estate.assert_quiet().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn name_servers_of_the_class_reach_existing_zones() {
    let estate = Estate::new("servers").await;
    let zone = estate.zone("z", "servers.example").await;
    estate.once().await;
    let class = objects::class(&estate.class, &["ns9.example.net"]);
    estate.edit(&class, class["spec"].clone()).await;
    estate.once().await;
    let dns = estate.pdns.dns_addr();
    assert_eq!(query(dns, "servers.example", "NS").await.answers, ["ns9.example.net."]);
    assert_eq!(
        estate.get(&zone).await.unwrap()["status"]["nameservers"],
        json!(["ns9.example.net"])
    );
    let class = objects::class(&estate.class, &["a..b", "ns9.example.net"]);
    estate.edit(&class, class["spec"].clone()).await;
    estate.once().await;
    let message = estate.programmed(&zone).await.2;
    assert!(message.ends_with("a..b"), "a server that is no host name is said: {message}");
    let ns = json!([{"name": "@", "ns": {"content": "own.example.net."}}]);
    estate.set("ns", "z", "NS", ns).await;
    estate.once().await;
    assert_eq!(query(dns, "servers.example", "NS").await.answers, ["own.example.net."]);
    let class = objects::class(&estate.class, &["ns9.example.net"]);
    estate.edit(&class, class["spec"].clone()).await;
    estate.once().await;
    let message = estate.programmed(&zone).await.2;
    assert!(message.starts_with("Default records ensured: the apex NS are those of"), "{message}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_original_beside_its_shadow_is_no_input() {
    let estate = Estate::new("shadow").await;
    let original = estate.zone("tenant", "shadow.example").await;
    let ignored = estate.a("ignored", "tenant", &[("www", "192.0.2.1")]).await;
    // The replicator's namespace for the original's.
    let replica = format!("ns-{}", original["metadata"]["uid"].as_str().unwrap());
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": replica}});
    objects::create(&estate.client, &namespace).await;
    let both = json!([estate.namespace, replica]);
    let estate = estate.reconfigured("namespaces", both);
    let mut shadow = objects::zone(&replica, "copy", "shadow.example", &estate.class);
    shadow["metadata"]["annotations"] = json!({
        "meta.datumapis.com/upstream-namespace": estate.namespace,
        "meta.datumapis.com/upstream-name": "tenant",
    });
    let shadow = objects::create(&estate.client, &shadow).await;
    let copy =
        objects::record_set(&replica, "copy", "copy", "A", &a_records(&[("www", "192.0.2.2")]));
    objects::create(&estate.client, &copy).await;
    estate.once().await;
    assert_eq!(estate.programmed(&shadow).await.0, "True");
    for object in [&original, &ignored] {
        let object = estate.get(object).await.unwrap();
        assert!(object.get("status").is_none(), "{object:#}");
        assert!(object["metadata"].get("finalizers").is_none(), "{object:#}");
    }
    let dns = estate.pdns.dns_addr();
    assert_eq!(query(dns, "www.shadow.example", "A").await.answers, ["192.0.2.2"]);
}

/// A name that the pass itself makes another zone answer for is not called programmed.
#[tokio::test(flavor = "multi_thread")]
async fn a_name_behind_a_zone_made_in_this_pass_is_not_called_programmed() {
    let estate = Estate::new("child").await;
    estate.zone("parent", "child.example").await;
    let www = estate.a("www", "parent", &[("www.sub", "192.0.2.1")]).await;
    estate.once().await;
    estate.zone("sub", "sub.child.example").await;
    daemon::once(&estate.config).await;
    let answer = query(estate.pdns.dns_addr(), "www.sub.child.example", "A").await;
    assert!(answer.is_nxdomain(), "the child answers");
    assert_eq!(estate.programmed(&www).await.0, "False");
}

/// A TTL that the server serves otherwise than declared is drift.
#[tokio::test(flavor = "multi_thread")]
async fn a_ttl_out_of_range_is_not_equal_to_a_declared_zero() {
    let estate = Estate::new("ttl").await;
    estate.zone("z", "ttl.example").await;
    let records = json!([{"name": "www", "ttl": 0, "a": {"content": "192.0.2.1"}}]);
    estate.set("www", "z", "A", records).await;
    estate.once().await;
    // 4.7 stores and serves 2147483648; later ones refuse it.
    let edit = json!({"rrsets": [{"name": "www.ttl.example.", "type": "A", "ttl": 4_294_967_295_u64,
        "changetype": "REPLACE", "records": [{"content": "192.0.2.1", "disabled": false}]}]});
    let stored = estate.pdns.patch("ttl.example", &edit).await.0 == 204;
    assert!(stored || estate.pdns.version() >= (4, 9, 0));
    let summary = estate.once().await;
    assert_eq!(summary["replaced"], json!(u8::from(stored)), "{summary}");
    let answer = query(estate.pdns.dns_addr(), "www.ttl.example", "A").await;
    assert_eq!(answer.ttl(), Some(0));
    estate.assert_quiet().await;
}

/// A zone that nobody marks goes with its DNSZone, unless another owner takes it while that is being prepared.
#[tokio::test(flavor = "multi_thread")]
async fn a_zone_that_another_owner_marks_meanwhile_is_not_deleted() {
    let estate = Estate::new("taken").await;
    estate.pdns.create_zone(&native("taken.example.", json!([]))).await;
    let zone = estate.zone("z", "taken.example").await;
    estate.a("www", "z", &[("www", "192.0.2.1")]).await;
    let ours = json!({"metadata": {"finalizers": [dns_syncd::api::FINALIZER_ZONE]}});
    objects::patch(&estate.client, &zone, &ours).await;
    estate.delete(&zone).await;
    let child = |r: &Request| r.method == "DELETE" && r.path.contains("dnsrecordsets/www");
    estate.recorder.next(child, Action::Delay(Duration::from_millis(800)));
    let meanwhile = async {
        wait_for("its set is going", Duration::from_secs(30), || async {
            estate.recorder.requests().iter().any(child).then_some(())
        })
        .await;
        let theirs = json!({"account": "ds:ffffff:aaaaaaaaaaaaaaaaaaaaaaaaaa"});
        assert_eq!(estate.pdns.put_zone("taken.example", &theirs).await.0, 204);
    };
    tokio::join!(daemon::once(&estate.config), meanwhile);
    assert!(estate.pdns.has_zone("taken.example").await, "it was deleted under its new owner");
    estate.once().await;
    assert!(estate.get(&zone).await.is_none(), "it is no affair of ours any more");
}
