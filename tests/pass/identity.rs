//! Names, types and zones that change in place, and two objects that want one name.

use serde_json::{Value, json};

use crate::support::estate::{Estate, a_records};
use crate::support::objects;
use crate::support::query::query;
use crate::support::recorder::Server;

fn cname(name: &str, target: &str) -> Value {
    json!([{"name": name, "cname": {"content": target}}])
}

#[tokio::test(flavor = "multi_thread")]
async fn a_renamed_name_moves_in_one_patch() {
    let estate = Estate::new("rename").await;
    estate.zone("z", "rename.example").await;
    let set = estate.a("s", "z", &[("a", "192.0.2.1")]).await;
    estate.once().await;
    estate.edit(&set, json!({"records": a_records(&[("b", "192.0.2.1")])})).await;
    estate.recorder.clear();
    estate.once().await;
    let dns = estate.pdns.dns_addr();
    assert!(query(dns, "a.rename.example", "A").await.is_nxdomain());
    assert_eq!(query(dns, "b.rename.example", "A").await.answers, ["192.0.2.1"]);
    assert_eq!(estate.writes_to(Server::PowerDns).len(), 1);
    let names = &estate.get(&set).await.unwrap()["status"]["recordSets"];
    assert_eq!(names.as_array().unwrap().len(), 1, "{names:#}");
    assert_eq!(names[0]["name"], "b");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_respelled_name_writes_nothing_to_powerdns() {
    let estate = Estate::new("respell").await;
    estate.zone("z", "respell.example").await;
    let set = estate.a("s", "z", &[("www", "192.0.2.1")]).await;
    estate.once().await;
    for spelling in ["www.respell.example.", "WWW"] {
        estate.edit(&set, json!({"records": a_records(&[(spelling, "192.0.2.1")])})).await;
        estate.recorder.clear();
        estate.once().await;
        assert!(estate.writes_to(Server::PowerDns).is_empty(), "{spelling}");
        let names = &estate.get(&set).await.unwrap()["status"]["recordSets"];
        assert_eq!(names[0]["name"], spelling, "{names:#}");
        assert_eq!(estate.programmed(&set).await.0, "True");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_retyped_name_changes_in_single_patches() {
    let estate = Estate::new("retype").await;
    estate.zone("z", "retype.example").await;
    let set = estate.a("s", "z", &[("www", "192.0.2.1")]).await;
    estate.once().await;
    let zone = "retype.example";
    for (rtype, records) in
        [("CNAME", cname("www", "target.example.net.")), ("A", a_records(&[("www", "192.0.2.2")]))]
    {
        estate.edit(&set, json!({"recordType": rtype, "records": records})).await;
        estate.recorder.clear();
        if !estate.pdns.keeps_comments() {
            // Nothing tells that the old type is its own, so it stays, and the set says what stands in its way.
            estate.once_failing().await;
            assert!(estate.writes_to(Server::PowerDns).is_empty());
            let status = estate.get(&set).await.unwrap();
            let name = &status["status"]["recordSets"][0];
            let (_, reason, message) = objects::condition(name, "Programmed").unwrap();
            assert!(reason == "Conflict" && message.contains(": A "), "{reason}: {message}");
            assert_eq!(estate.pdns.contents(zone, "www.retype.example.", "A").await, ["192.0.2.1"]);
            return;
        }
        estate.once().await;
        assert_eq!(estate.writes_to(Server::PowerDns).len(), 1, "one PATCH for {rtype}");
        for (other, there) in [("A", rtype == "A"), ("CNAME", rtype == "CNAME")] {
            let rrset = estate.pdns.rrset(zone, "www.retype.example.", other).await;
            assert_eq!(rrset.is_some(), there, "after {rtype}: {other}");
        }
        assert_eq!(estate.programmed(&set).await.0, "True");
    }
    estate.assert_quiet().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_type_that_cannot_be_written_leaves_the_old_one_serving() {
    let estate = Estate::new("stays").await;
    estate.zone("z", "stays.example").await;
    let set = estate.a("s", "z", &[("www", "192.0.2.1")]).await;
    estate.once().await;
    // A type without its field: an accepted edit must not take a live name down.
    estate.edit(&set, json!({"recordType": "CNAME"})).await;
    estate.once_failing().await;
    let answer = query(estate.pdns.dns_addr(), "www.stays.example", "A").await;
    assert_eq!(answer.answers, ["192.0.2.1"]);
    let (status, _, message) = estate.programmed(&set).await;
    assert_eq!(status, "False");
    assert!(message.contains("www"), "the message names it: {message}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repointed_set_leaves_its_old_zone() {
    let estate = Estate::new("repoint").await;
    estate.zone("one", "one.example").await;
    estate.zone("two", "two.example").await;
    let set = estate.a("s", "one", &[("www", "192.0.2.1")]).await;
    estate.once().await;
    estate.edit(&set, json!({"dnsZoneRef": {"name": "two"}})).await;
    let summary = estate.once().await;
    let dns = estate.pdns.dns_addr();
    let noted = estate.pdns.keeps_comments();
    let gone = |answer: crate::support::query::Answer| {
        if noted { answer.is_nxdomain() } else { answer.answers == ["192.0.2.1"] }
    };
    assert!(gone(query(dns, "www.one.example", "A").await));
    assert_eq!(summary["leftAlone"], json!(u8::from(!noted)), "what stays is said: {summary}");
    assert_eq!(query(dns, "www.two.example", "A").await.answers, ["192.0.2.1"]);
    let owners = estate.get(&set).await.unwrap()["metadata"]["ownerReferences"].clone();
    assert_eq!(owners.as_array().unwrap().len(), 1, "{owners:#}");
    assert_eq!(owners[0]["name"], "two");

    estate.edit(&set, json!({"dnsZoneRef": {"name": "missing"}})).await;
    estate.once_failing().await;
    assert!(gone(query(dns, "www.two.example", "A").await));
    let listed = estate.get(&set).await.unwrap();
    let accepted = objects::condition(&listed, "Accepted").unwrap();
    assert_eq!(accepted.2, "waiting for DNSZone \"missing\"");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_older_of_two_sets_holds_a_name_and_hands_it_over() {
    let estate = Estate::new("elect").await;
    estate.zone("z", "elect.example").await;
    let older = estate.a("zz-older", "z", &[("www", "192.0.2.1")]).await;
    // Creation times have whole seconds.
    tokio::time::sleep(std::time::Duration::from_millis(1100)).await;
    let younger = estate.a("aa-younger", "z", &[("WWW", "192.0.2.2")]).await;
    estate.once_failing().await;
    let dns = estate.pdns.dns_addr();
    assert_eq!(query(dns, "www.elect.example", "A").await.answers, ["192.0.2.1"]);
    let status = estate.get(&younger).await.unwrap();
    let name = &status["status"]["recordSets"][0];
    let (truth, reason, message) = objects::condition(name, "Programmed").unwrap();
    assert_eq!((truth.as_str(), reason.as_str()), ("False", "NotOwner"));
    assert!(message.ends_with(&format!("{}/zz-older", estate.namespace)), "{message}");

    estate.delete(&older).await;
    estate.recorder.clear();
    estate.once().await;
    let patches = estate.writes_to(Server::PowerDns);
    assert_eq!(patches.len(), 1, "the heir's contents come in the PATCH that ends the winner's");
    assert_eq!(query(dns, "www.elect.example", "A").await.answers, ["192.0.2.2"]);
    assert!(estate.get(&older).await.is_none());
    assert_eq!(estate.programmed(&younger).await.0, "True");
}

#[tokio::test(flavor = "multi_thread")]
async fn incompatible_types_are_decided_before_the_server_is_asked() {
    let estate = Estate::new("coexist").await;
    estate.zone("z", "coexist.example").await;
    let txt = json!([{"name": "app", "txt": {"content": "hello"}}]);
    estate.set("txt", "z", "TXT", txt).await;
    tokio::time::sleep(std::time::Duration::from_millis(1100)).await;
    let app = estate.set("app", "z", "CNAME", cname("app", "y.example.")).await;
    let apex = estate.set("apex", "z", "CNAME", cname("@", "y.example.")).await;
    estate.recorder.clear();
    estate.once_failing().await;
    for (set, says) in [(&app, "TXT of DNSRecordSet"), (&apex, "ALIAS")] {
        let status = estate.get(set).await.unwrap();
        let name = &status["status"]["recordSets"][0];
        let (_, reason, message) = objects::condition(name, "Programmed").unwrap();
        assert_eq!(reason, "Conflict");
        assert!(message.contains(says), "{message}");
    }
    let refused = estate.writes_to(Server::PowerDns).into_iter().find(|r| r.status == Some(422));
    assert!(refused.is_none(), "{refused:#?}");
}
