//! What the metrics say of names and objects: in which state they are, and how long it took.

use serde_json::json;

use crate::support::daemon;
use crate::support::estate::Estate;
use crate::support::objects;
use crate::support::recorder::{Action, Server};
use crate::watch::metric;

#[tokio::test(flavor = "multi_thread")]
async fn zones_have_series_only_where_that_is_asked_for() {
    let estate = Estate::new("perzone").await;
    estate.zone("first", "perzone.example").await;
    estate.a("www", "first", &[("www", "192.0.2.1"), ("two", "192.0.2.2")]).await;
    let second = estate.zone("second", "perzone.example").await;
    let daemon = daemon::run(&estate.config).await;
    assert_eq!(daemon.nudge("60s").await.0, 200);
    let text = daemon.metrics().await;
    assert!(!text.contains("zone=") && !text.contains("perzone.example"), "{text}");
    drop(daemon);

    let estate = estate.reconfigured("metrics", json!({"perZone": true}));
    let daemon = daemon::run(&estate.config).await;
    assert_eq!(daemon.nudge("60s").await.0, 200);
    let zone = |name: &str| format!("{{zone=\"{}/{name}\"}}", estate.namespace);
    for (series, name, value) in [
        ("rrsets", "first", "2"),
        ("waiting", "first", "0"),
        ("rrsets", "second", "0"),
        // The domain is another's.
        ("waiting", "second", "1"),
    ] {
        let found = metric(&daemon, &format!("dns_syncd_zone_{series}{}", zone(name))).await;
        assert_eq!(found.to_string(), value, "{series} {name}");
    }
    estate.delete(&second).await;
    assert_eq!(daemon.nudge("60s").await.0, 200);
    let text = daemon.metrics().await;
    assert!(text.contains(&zone("first")) && !text.contains(&zone("second")), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn states_are_counted_by_reason_and_age() {
    let estate = Estate::new("states").await;
    estate.zone("z", "states.example").await;
    estate.a("www", "z", &[("www", "192.0.2.1"), ("two", "192.0.2.1")]).await;
    estate.a("late", "z", &[("www", "192.0.2.2")]).await;
    estate.a("homeless", "nowhere", &[("a", "192.0.2.3"), ("b", "192.0.2.3")]).await;
    let foreign = objects::zone(&estate.namespace, "foreign", "foreign.example", "no-such-class");
    objects::create(&estate.client, &foreign).await;
    let going = estate.a("going", "z", &[("going", "192.0.2.4")]).await;
    let daemon = daemon::run(&estate.config).await;
    daemon.nudge("60s").await;
    let value = |series: &'static str| {
        let daemon = &daemon;
        async move { metric(daemon, &format!("dns_syncd_{series}")).await.to_string() }
    };
    for (series, count) in [
        ("unprogrammed_names{reason=\"NotOwner\"}", "1"),
        ("unprogrammed_names{reason=\"Pending\"}", "2"),
        ("unprogrammed_names{reason=\"Conflict\"}", "0"),
        ("unprogrammed_names{reason=\"PDNSError\"}", "0"),
        ("terminating_objects", "0"),
        ("oldest_deletion_timestamp_seconds", "0"),
        // Two sets came to be programmed; the first pass may have been before the nudge's.
        ("time_from_generation_to_programmed_seconds_count", "2"),
    ] {
        assert_eq!(value(series).await, count, "{series}");
    }
    // A status is not counted again, and an edit is.
    daemon.nudge("60s").await;
    assert_eq!(value("time_from_generation_to_programmed_seconds_count").await, "2");

    // Its delete is not acknowledged: it waits, and since when is told.
    let patch =
        |r: &crate::support::recorder::Request| r.server == Server::PowerDns && r.method == "PATCH";
    estate.recorder.always(patch, Action::Answer(500, json!({"error": "x"})));
    estate.delete(&going).await;
    daemon.nudge("60s").await;
    assert_eq!(value("terminating_objects").await, "1");
    let since = estate.get(&going).await.unwrap()["metadata"]["deletionTimestamp"].clone();
    let since: jiff::Timestamp = since.as_str().unwrap().parse().unwrap();
    assert_eq!(value("oldest_deletion_timestamp_seconds").await, since.as_second().to_string());
    estate.recorder.heal();
    daemon.nudge("60s").await;
    assert_eq!(value("terminating_objects").await, "0");
    assert_eq!(value("oldest_deletion_timestamp_seconds").await, "0");
}
