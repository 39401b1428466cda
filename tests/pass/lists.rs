//! Lists that come in more than one page: what one page loses would read as deleted.

use std::sync::atomic::{AtomicUsize, Ordering};

use futures::stream::{self, StreamExt};
use serde_json::json;

use crate::support::estate::Estate;
use crate::support::recorder::{Action, Request, Server};

/// Record sets: three pages of 500.
const SETS: usize = 1_001;

fn page(r: &Request) -> bool {
    r.server == Server::Kubernetes && r.method == "GET" && r.path.contains("/dnsrecordsets?")
}

#[tokio::test(flavor = "multi_thread")]
async fn every_page_counts_and_a_list_that_expires_is_begun_anew() {
    let estate = Estate::new("pages").await;
    let estate =
        estate.reconfigured("kubernetes", json!({"writesPerSecond": 10_000, "burst": 10_000}));
    // None of them has a zone: what counts is that each is heard.
    let made = (0..SETS).map(|n| {
        let estate = &estate;
        async move { estate.a(&format!("s{n}"), "nowhere", &[("www", "192.0.2.1")]).await }
    });
    let sets: Vec<_> = stream::iter(made).buffered(8).collect().await;
    let summary = estate.once_failing().await;
    assert_eq!(summary["recordSets"], json!(SETS), "{summary}");
    for set in [0, 499, 500, 999, 1_000] {
        assert_eq!(estate.programmed(&sets[set]).await.0, "False", "s{set} is heard");
    }

    let expired = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "code": 410,
        "status": "Failure", "reason": "Expired", "message": "The provided continue parameter is too old"});
    let further = AtomicUsize::new(0);
    let third = move |r: &Request| {
        page(r) && r.path.contains("continue=") && further.fetch_add(1, Ordering::Relaxed) == 1
    };
    estate.recorder.always(third, Action::Answer(410, expired));
    estate.recorder.clear();
    let summary = estate.once_failing().await;
    assert_eq!(summary["recordSets"], json!(SETS), "each is counted once: {summary}");
    assert!(estate.recorder.writes().is_empty(), "{:#?}", estate.recorder.writes());
    let requests = estate.recorder.requests();
    let first = requests.iter().filter(|r| page(r) && !r.path.contains("continue="));
    assert_eq!(first.count(), 2);
}
