//! Others write to the same objects while the daemon does: nothing of theirs is lost, and what it sends can lose nothing.

use std::time::Duration;

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::support::daemon;
use crate::support::estate::{Estate, a_records};
use crate::support::objects;
use crate::support::query::query;
use crate::support::recorder::{Action, Request, Server};
use crate::support::wait_for;

/// A patch of a record set, or of its status.
fn to_set(r: &Request, status: bool) -> bool {
    r.server == Server::Kubernetes
        && r.method == "PATCH"
        && r.path.contains("/dnsrecordsets/")
        && r.path.contains("/status") == status
}

/// A condition, a label, an annotation, a finalizer and an owner reference, each named after `who`.
async fn write_beside(e: &Estate, set: &Value, who: &str) {
    let now = e.get(set).await.unwrap();
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let mut finalizers = list(&now["metadata"]["finalizers"]);
    // The API server takes no new one on an object that ends.
    if now["metadata"].get("deletionTimestamp").is_none() {
        finalizers.push(json!(format!("example.org/{who}")));
    }
    let mut owners = list(&now["metadata"]["ownerReferences"]);
    owners.push(
        json!({"apiVersion": "v1", "kind": "ConfigMap", "name": who, "uid": format!("uid-{who}")}),
    );
    // Whole lists, so with the version that they were read from: were it not the newest, this would fail.
    let change = json!({"metadata": {"resourceVersion": now["metadata"]["resourceVersion"],
        "finalizers": finalizers, "ownerReferences": owners,
        "labels": {(who): "x"}, "annotations": {(who): "x"}}});
    let now = objects::patch(&e.client, set, &change).await;
    let mut conditions = list(&now["status"]["conditions"]);
    conditions.push(json!({"type": who, "status": "True", "reason": "Theirs", "message": who,
        "lastTransitionTime": "2026-01-01T00:00:00Z"}));
    let change = json!({"metadata": {"resourceVersion": now["metadata"]["resourceVersion"]},
        "status": {"conditions": conditions}});
    objects::patch_status(&e.client, set, &change).await;
}

fn has(object: &Value, who: &str) -> [bool; 5] {
    let metadata = &object["metadata"];
    let lists = |list: &Value, field: &str, value: &str| {
        let mut items = list.as_array().into_iter().flatten();
        items.any(|item| if field.is_empty() { item == value } else { item[field] == value })
    };
    [
        objects::condition(object, who).is_some(),
        metadata["labels"][who] == "x",
        metadata["annotations"][who] == "x",
        lists(&metadata["finalizers"], "", &format!("example.org/{who}")),
        lists(&metadata["ownerReferences"], "name", who),
    ]
}

/// Lets one of our patches of the object, or of its status, wait on its way until `who` has written, and then arrive.
async fn overtaken(e: &Estate, set: &Value, who: &str, status: bool) {
    let written = CancellationToken::new();
    e.recorder.clear();
    e.recorder.next(move |r| to_set(r, status), Action::Until(written.clone()));
    let find = || e.recorder.requests().into_iter().find(|r| to_set(r, status));
    let pass = daemon::once(&e.config);
    let writer = async {
        wait_for("our patch is on its way", Duration::from_secs(20), || async { find() }).await;
        write_beside(e, set, who).await;
        written.cancel();
    };
    tokio::join!(pass, writer);
    assert_eq!(find().unwrap().status, Some(409), "what overtook it was seen");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_others_write_between_our_patches_survives() {
    let e = Estate::new("overtaken").await;
    e.zone("z", "overtaken.example").await;
    e.once().await;
    let set = e.a("s", "z", &[("www", "192.0.2.1")]).await;
    // Finalizer and owner reference, then `Accepted`, then `Programmed`.
    overtaken(&e, &set, "first", false).await;
    overtaken(&e, &set, "second", true).await;
    e.once().await;
    e.edit(&set, json!({"records": a_records(&[("www", "192.0.2.2"), ("more", "192.0.2.2")])}))
        .await;
    overtaken(&e, &set, "third", true).await;
    e.once().await;
    let now = e.get(&set).await.unwrap();
    for who in ["first", "second", "third"] {
        assert_eq!(has(&now, who), [true; 5], "{who}: {now:#}");
    }
    assert_eq!(objects::condition(&now, "Accepted").unwrap().0, "True");
    assert_eq!(objects::condition(&now, "Programmed").unwrap().0, "True");
    assert_eq!(
        query(e.pdns.dns_addr(), "more.overtaken.example", "A").await.answers,
        ["192.0.2.2"]
    );
    e.assert_quiet().await;

    // Our finalizer goes, and no other.
    e.delete(&set).await;
    overtaken(&e, &set, "fourth", false).await;
    e.once().await;
    let theirs = ["first", "second", "third"].map(|who| format!("example.org/{who}"));
    assert_eq!(objects::finalizers(&e.client, &set).await, theirs);
    assert_eq!(has(&e.get(&set).await.unwrap(), "fourth"), [true, true, true, false, true]);
    objects::patch(&e.client, &set, &json!({"metadata": {"finalizers": null}})).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn objects_are_patched_at_a_version_and_never_put() {
    let e = Estate::new("patched").await;
    let zone = e.zone("z", "patched.example").await;
    e.zone("other", "patched-other.example").await;
    let set = e.a("s", "z", &[("www", "192.0.2.1")]).await;
    let moves = e.a("moves", "z", &[("moves", "192.0.2.1")]).await;
    let goes = e.a("goes", "z", &[("goes", "192.0.2.1")]).await;
    e.once().await;
    e.edit(&set, json!({"records": a_records(&[("www", "192.0.2.2")])})).await;
    e.edit(&moves, json!({"dnsZoneRef": {"name": "other"}})).await;
    e.delete(&goes).await;
    e.once().await;
    e.delete(&zone).await;
    e.once().await;
    assert!(e.get(&zone).await.is_none() && e.get(&set).await.is_none());
    let writes = e.writes_to(Server::Kubernetes);
    assert!(writes.len() > 10, "{writes:#?}");
    let event = |r: &&Request| r.path.contains("/apis/events.k8s.io/");
    for r in writes.iter().filter(|r| !event(r)) {
        let body = r.body.as_ref().unwrap();
        let version = match r.method.as_str() {
            "PATCH" => &body["metadata"]["resourceVersion"],
            "DELETE" if r.path.contains("/dnsrecordsets/") => {
                &body["preconditions"]["resourceVersion"]
            }
            _ => panic!("{r:#?}"),
        };
        assert!(version.is_string(), "{r:#?}");
        assert!(r.path.contains("/dns.networking.miloapis.com/"), "{r:#?}");
    }
    assert!(writes.iter().any(|r| r.method == "DELETE"), "a DNSZone takes its sets along");
}
