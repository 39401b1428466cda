//! Owner references under the real garbage collector of Kubernetes: what it takes, what it leaves, and that it and the
//! daemon do not wait for each other.

use std::time::Duration;

use kube::api::DeleteParams;
use serde_json::{Value, json};

use crate::support::collector::Collector;
use crate::support::daemon;
use crate::support::estate::Estate;
use crate::support::incumbent::{Incumbent, SET, Watch, ZONE};
use crate::support::objects;
use crate::support::pdns::{Backend, Options};
use crate::support::query::query;
use crate::support::recorder::{Action, Request, Server};
use crate::support::{random, wait_for};

/// The namespace controller alone waits five seconds before it begins and eight before it looks again.
const PATIENCE: Duration = Duration::from_secs(40);

async fn estate(prefix: &str) -> Estate {
    let options = Options { backend: Backend::of_this_run(), extra: Vec::new() };
    Estate::on(&Collector::shared().api, prefix, options).await
}

/// Names of an object's owner references, in their order.
async fn owners(e: &Estate, object: &Value) -> Vec<String> {
    let object = e.get(object).await.expect("the object exists");
    let owners = object["metadata"]["ownerReferences"].as_array().cloned().unwrap_or_default();
    owners.iter().map(|o| o["name"].as_str().unwrap().to_owned()).collect()
}

fn goes(object: &Value) -> bool {
    object["metadata"]["deletionTimestamp"].is_string()
}

/// It is there, and nobody asked for its end.
async fn lives(e: &Estate, object: &Value) -> bool {
    e.get(object).await.is_some_and(|object| !goes(&object))
}

async fn served(e: &Estate, name: &str) -> Vec<String> {
    query(e.pdns.dns_addr(), name, "A").await.answers
}

/// Waits until the collector has asked for the object's end; our finalizer keeps it.
async fn collected(e: &Estate, object: &Value) {
    wait_for("the collector takes it", PATIENCE, || async {
        let object = e.get(object).await.expect("our finalizer keeps it");
        goes(&object).then_some(())
    })
    .await;
}

/// Waits until the owner references are these.
async fn owned_by(e: &Estate, object: &Value, names: &[&str]) {
    let what = format!("its owners are {names:?}");
    wait_for(&what, PATIENCE, || async { (owners(e, object).await == names).then_some(()) }).await;
}

/// A live object that others can refer to, or that refers to others.
async fn config_map(e: &Estate, name: &str, owner: Option<&Value>) -> Value {
    let mut object = json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": e.namespace}});
    if let Some(owner) = owner {
        object["metadata"]["ownerReferences"] = json!([reference(owner)]);
    }
    objects::create(&e.client, &object).await
}

fn reference(owner: &Value) -> Value {
    json!({"apiVersion": owner["apiVersion"], "kind": owner["kind"],
        "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"]})
}

/// Waits until it is gone. A bait, which one owner alone had, tells that the collector has dealt with that one's end.
async fn gone(e: &Estate, object: &Value) {
    let what = format!("{} {} is gone", object["kind"], object["metadata"]["name"]);
    wait_for(&what, PATIENCE, || async { e.get(object).await.is_none().then_some(()) }).await;
}

/// Somebody takes its finalizers off and lets it go.
async fn force_gone(e: &Estate, object: &Value) {
    objects::patch(&e.client, object, &json!({"metadata": {"finalizers": null}})).await;
    if e.get(object).await.is_some() {
        e.delete(object).await;
    }
    gone(e, object).await;
}

/// Passes until none of the objects has our finalizer any more: the collector writes to them too, and a pass that met it
/// leaves an object to the next.
async fn let_go(e: &Estate, objects: &[&Value]) {
    let mut held = Vec::new();
    for _ in 0..5 {
        daemon::once(&e.config).await;
        held.clear();
        for object in objects {
            let finalizers = objects::finalizers(&e.client, object).await;
            let ours = finalizers.iter().any(|f| [ZONE, SET].contains(&f.as_str()));
            held.extend(ours.then(|| object["metadata"]["name"].clone()));
        }
        if held.is_empty() {
            return;
        }
    }
    panic!("one waits for another: {held:?}");
}

/// The same, until they are gone.
async fn ended(e: &Estate, objects: &[&Value]) {
    let_go(e, objects).await;
    for object in objects {
        gone(e, object).await;
    }
}

/// The DNSZone is let go past our finalizer, so that nobody but the collector ends its set.
#[tokio::test(flavor = "multi_thread")]
async fn a_set_whose_zone_was_let_go_is_collected_and_leaves_nothing() {
    let e = estate("collected").await;
    let zone = e.zone("z", "collected.example").await;
    let set = e.a("www", "z", &[("www", "192.0.2.1")]).await;
    e.once().await;
    let reference = e.get(&set).await.unwrap()["metadata"]["ownerReferences"][0].clone();
    assert_eq!(reference["name"], "z");
    assert_eq!((reference.get("controller"), reference.get("blockOwnerDeletion")), (None, None));
    force_gone(&e, &zone).await;
    collected(&e, &set).await;
    assert_eq!(served(&e, "www.collected.example").await, ["192.0.2.1"], "until the next pass");
    daemon::once(&e.config).await;
    assert!(e.get(&set).await.is_none());
    assert!(query(e.pdns.dns_addr(), "www.collected.example", "A").await.is_nxdomain());
}

/// An anchor is an owner of somebody else's beside the DNSZone, as every replicated set has one.
#[tokio::test(flavor = "multi_thread")]
async fn an_anchored_set_outlives_a_zone_that_was_let_go_and_not_one_that_is_deleted() {
    let e = estate("anchored").await;
    let anchor = config_map(&e, "anchor", None).await;
    let zone = e.zone("z", "anchored.example").await;
    let records = json!([{"name": "www", "a": {"content": "192.0.2.1"}}]);
    let mut set = objects::record_set(&e.namespace, "www", "z", "A", &records);
    set["metadata"]["ownerReferences"] = json!([reference(&anchor)]);
    let set = objects::create(&e.client, &set).await;
    e.once().await;
    assert_eq!(owners(&e, &set).await, ["anchor", "z"]);

    force_gone(&e, &zone).await;
    owned_by(&e, &set, &["anchor"]).await;
    daemon::once(&e.config).await;
    assert!(lives(&e, &set).await);
    assert_eq!(served(&e, "www.anchored.example").await, ["192.0.2.1"], "it may come back");
    let said = objects::condition(&e.get(&set).await.unwrap(), "Accepted").unwrap();
    assert_eq!((said.0.as_str(), said.1.as_str()), ("False", "Pending"), "{said:?}");

    let zone = e.zone("z", "anchored.example").await;
    e.once().await;
    assert_eq!(owners(&e, &set).await, ["anchor", "z"]);
    assert_eq!(e.programmed(&set).await.0, "True");

    // The collector would leave it for its anchor; the daemon deletes what names the zone.
    e.delete(&zone).await;
    ended(&e, &[&set, &zone]).await;
    assert!(lives(&e, &anchor).await && !e.pdns.has_zone("anchored.example").await);
}

#[tokio::test(flavor = "multi_thread")]
async fn sets_that_left_a_zone_survive_its_end() {
    let e = estate("left").await;
    let old = e.zone("old", "left-old.example").await;
    let new = e.zone("new", "left-new.example").await;
    let before = e.a("before", "old", &[("before", "192.0.2.1")]).await;
    let late = e.a("late", "old", &[("late", "192.0.2.2")]).await;
    let astray = e.a("astray", "old", &[("astray", "192.0.2.3")]).await;
    let bait = config_map(&e, "bait", Some(&old)).await;
    e.once().await;
    e.edit(&before, json!({"dnsZoneRef": {"name": "new"}})).await;
    e.once().await;
    assert_eq!(owners(&e, &before).await, ["new"]);
    // No pass comes between these and the zone's end, and one of them has no zone to go to.
    e.edit(&late, json!({"dnsZoneRef": {"name": "new"}})).await;
    e.edit(&astray, json!({"dnsZoneRef": {"name": "nowhere"}})).await;
    e.delete(&old).await;
    ended(&e, &[&old]).await;
    gone(&e, &bait).await;
    for (set, owner) in [(&before, vec!["new"]), (&late, vec!["new"]), (&astray, vec![])] {
        assert!(lives(&e, set).await, "{}", set["metadata"]["name"]);
        assert_eq!(owners(&e, set).await, owner, "{}", set["metadata"]["name"]);
    }
    assert_eq!(served(&e, "before.left-new.example").await, ["192.0.2.1"]);
    assert_eq!(served(&e, "late.left-new.example").await, ["192.0.2.2"]);
    // What they refer to now, they follow.
    force_gone(&e, &new).await;
    collected(&e, &before).await;
    collected(&e, &late).await;
    assert!(lives(&e, &astray).await);
}

/// A class of another controller, a missing one, none: the daemon never wrote anything for the zone or its set.
#[tokio::test(flavor = "multi_thread")]
async fn sets_of_a_zone_that_was_never_served_stay_as_they_are() {
    let e = estate("unserved").await;
    let foreign = format!("foreign-{}", e.class);
    let mut class = objects::class(&foreign, &["ns1.example.net."]);
    class["spec"]["controllerName"] = json!("another");
    objects::create(&e.client, &class).await;
    let mut all = Vec::new();
    for (name, class) in [("foreign", foreign.as_str()), ("missing", "no-such-class"), ("none", "")]
    {
        let zone = objects::zone(&e.namespace, name, &format!("unserved-{name}.example"), class);
        let zone = objects::create(&e.client, &zone).await;
        let set = e.a(name, name, &[("www", "192.0.2.1")]).await;
        let bait = config_map(&e, &format!("bait-{name}"), Some(&zone)).await;
        all.push((zone, set, bait));
    }
    daemon::once(&e.config).await;
    for (zone, set, _) in &all {
        assert_eq!(objects::finalizers(&e.client, zone).await, [""; 0]);
        assert_eq!(objects::finalizers(&e.client, set).await, [""; 0]);
        e.delete(zone).await;
        assert!(e.get(zone).await.is_none(), "nobody has to see to its end");
    }
    for (_, set, bait) in &all {
        gone(&e, bait).await;
        assert!(lives(&e, set).await && owners(&e, set).await.is_empty());
    }
    daemon::once(&e.config).await;
    for (zone, set, _) in &all {
        let said = objects::condition(&e.get(set).await.unwrap(), "Accepted").unwrap();
        let name = zone["metadata"]["name"].as_str().unwrap();
        assert_eq!(said.2, format!("waiting for DNSZone \"{name}\""));
        e.delete(set).await;
        assert!(e.get(set).await.is_none());
    }
}

/// Its references make the DNSZone the controller and block the zone's end in the foreground; ours does neither.
#[tokio::test(flavor = "multi_thread")]
async fn the_incumbents_references_are_collected_and_a_foreground_deletion_ends() {
    let e = estate("foreground").await;
    let lost = e.zone("lost", "foreground-lost.example").await;
    let taken = e.a("taken", "lost", &[("www", "192.0.2.1")]).await;
    let zone = e.zone("z", "foreground.example").await;
    let theirs = e.a("theirs", "z", &[("theirs", "192.0.2.2")]).await;
    let anchor = config_map(&e, "anchor", None).await;
    let records = json!([{"name": "anchored", "a": {"content": "192.0.2.3"}}]);
    let mut anchored = objects::record_set(&e.namespace, "anchored", "z", "A", &records);
    anchored["metadata"]["ownerReferences"] = json!([reference(&anchor)]);
    let anchored = objects::create(&e.client, &anchored).await;
    Incumbent::start(&e).pass(Watch::Kept).await;
    let reference = |set: &Value| set["metadata"]["ownerReferences"].clone();
    let before = e.get(&theirs).await.unwrap();
    assert_eq!(reference(&before)[0]["blockOwnerDeletion"], true);
    let ours = e.a("ours", "z", &[("ours", "192.0.2.4")]).await;
    e.once().await;
    assert_eq!(reference(&e.get(&theirs).await.unwrap()), reference(&before), "kept as it was");

    force_gone(&e, &lost).await;
    collected(&e, &taken).await;
    ended(&e, &[&taken]).await;
    assert!(served(&e, "www.foreground-lost.example").await.is_empty());

    // Somebody else waits for the zone's end too, and for longer.
    let finalizers = json!({"metadata": {"finalizers": [ZONE, "example.org/theirs"]}});
    objects::patch(&e.client, &zone, &finalizers).await;
    objects::delete_with(&e.client, &zone, &DeleteParams::foreground()).await;
    // The collector has begun, and waits for sets that wait for us.
    collected(&e, &theirs).await;
    collected(&e, &ours).await;
    owned_by(&e, &anchored, &["anchor"]).await;
    let waits = objects::finalizers(&e.client, &zone).await;
    assert!(waits.contains(&"foregroundDeletion".to_owned()), "{waits:?}");
    let_go(&e, &[&theirs, &ours, &anchored, &zone]).await;
    assert!(!e.pdns.has_zone("foreground.example").await);
    for set in [&theirs, &ours, &anchored] {
        gone(&e, set).await;
    }
    wait_for("the collector lets the zone go", PATIENCE, || async {
        let left = objects::finalizers(&e.client, &zone).await;
        (left == ["example.org/theirs"]).then_some(())
    })
    .await;
}

/// The collector takes the references off and leaves the sets; it is their naming the zone that ends them.
#[tokio::test(flavor = "multi_thread")]
async fn a_zone_deleted_with_orphan_takes_along_what_names_it_and_nothing_else() {
    let e = estate("orphaned").await;
    let zone = e.zone("z", "orphaned.example").await;
    let set = e.a("www", "z", &[("www", "192.0.2.1")]).await;
    e.once().await;
    objects::delete_with(&e.client, &zone, &DeleteParams::orphan()).await;
    owned_by(&e, &set, &[]).await;
    // Let go meanwhile: the set stays, its RRset too, and both are taken up again.
    force_gone(&e, &zone).await;
    daemon::once(&e.config).await;
    assert!(lives(&e, &set).await);
    assert_eq!(served(&e, "www.orphaned.example").await, ["192.0.2.1"]);
    let zone = e.zone("z", "orphaned.example").await;
    e.once().await;
    assert_eq!(owners(&e, &set).await, ["z"]);
    assert_eq!(e.programmed(&set).await.0, "True");

    objects::delete_with(&e.client, &zone, &DeleteParams::orphan()).await;
    owned_by(&e, &set, &[]).await;
    ended(&e, &[&set, &zone]).await;
    assert!(!e.pdns.has_zone("orphaned.example").await);
}

/// Nothing was written for the DNSZone yet when it was listed; then another of its name takes its place.
#[tokio::test(flavor = "multi_thread")]
async fn a_set_is_not_given_to_a_zone_that_went_before_it_was_secured() {
    let e = estate("replaced").await;
    let zone = e.zone("z", "replaced.example").await;
    let set = e.a("www", "z", &[("www", "192.0.2.1")]).await;
    let bait = config_map(&e, "bait", Some(&zone)).await;
    let read = |r: &Request| r.server == Server::PowerDns;
    e.recorder.next(read, Action::Delay(Duration::from_millis(800)));
    let meanwhile = async {
        wait_for("the objects are listed", PATIENCE, || async {
            e.recorder.requests().iter().any(read).then_some(())
        })
        .await;
        e.delete(&zone).await;
        e.zone("z", "replaced.example").await;
    };
    let (output, ()) = tokio::join!(daemon::once(&e.config), meanwhile);
    assert_eq!(output.code, Some(1), "{output:#?}");
    gone(&e, &bait).await;
    assert!(lives(&e, &set).await && owners(&e, &set).await.is_empty());
    e.once().await;
    assert_eq!(owners(&e, &set).await, ["z"]);
    assert_eq!(served(&e, "www.replaced.example").await, ["192.0.2.1"]);
}

/// Its reference and its RRset are to stay as they are, and would go with the zone.
#[tokio::test(flavor = "multi_thread")]
async fn a_zone_does_not_end_while_a_paused_set_that_left_it_refers_to_it() {
    let e = estate("pausing").await;
    let old = e.zone("old", "pausing-old.example").await;
    e.zone("new", "pausing-new.example").await;
    let sets = [("moved", "new"), ("astray", "nowhere")];
    let mut paused = Vec::new();
    for (name, _) in sets {
        paused.push(e.a(name, "old", &[(name, "192.0.2.1")]).await);
    }
    e.once().await;
    let pause = |value: Value| json!({"metadata": {"annotations": {"dns-syncd/pause": value}}});
    for (set, (_, zone)) in paused.iter().zip(sets) {
        objects::patch(&e.client, set, &pause(json!("true"))).await;
        e.edit(set, json!({"dnsZoneRef": {"name": zone}})).await;
    }
    e.delete(&old).await;
    for (set, name) in paused.iter().zip(["moved", "astray"]) {
        daemon::once(&e.config).await;
        assert!(e.get(&old).await.is_some(), "{name} holds it");
        assert!(e.programmed(&old).await.2.contains("is paused by"));
        assert_eq!(owners(&e, set).await, ["old"]);
        assert_eq!(served(&e, &format!("{name}.pausing-old.example")).await, ["192.0.2.1"]);
        objects::patch(&e.client, set, &pause(Value::Null)).await;
    }
    ended(&e, &[&old]).await;
    assert!(lives(&e, &paused[0]).await && lives(&e, &paused[1]).await);
    assert_eq!(served(&e, "moved.pausing-new.example").await, ["192.0.2.1"]);
}

/// The namespace controller deletes all at once and lets nothing new in.
#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_namespace_goes() {
    let e = estate("nsgoes").await;
    let domain = format!("nsgoes-{}.example", random());
    let zone = e.zone("z", &domain).await;
    let mut all = vec![zone];
    for n in 0..5 {
        all.push(e.a(&format!("s{n}"), "z", &[(&format!("n{n}"), "192.0.2.1")]).await);
    }
    e.once().await;
    let namespace =
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": e.namespace}});
    e.delete(&namespace).await;
    for object in &all {
        collected(&e, object).await;
    }
    e.once().await;
    for object in &all {
        assert!(e.get(object).await.is_none(), "{}", object["metadata"]["name"]);
    }
    assert!(!e.pdns.has_zone(&domain).await);
    gone(&e, &namespace).await;
}
