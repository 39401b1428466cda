//! What a resolver sees while names change hands and spelling: it asks all the time, and always gets an answer.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::json;
use tokio::task::JoinHandle;

use crate::support::estate::{Estate, a_records};
use crate::support::objects;
use crate::support::query::query;
use crate::support::recorder::Server;

/// A resolver that asks for one name every 10 ms until it is told to stop.
struct Asker {
    stop: Arc<AtomicBool>,
    task: JoinHandle<Vec<Vec<String>>>,
}

impl Asker {
    fn start(dns: SocketAddr, name: &'static str) -> Asker {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let task = tokio::spawn(async move {
            let mut answers = Vec::new();
            while !stopped.load(Ordering::Relaxed) {
                let answer = query(dns, name, "A").await;
                // Silence says nothing about the zone; it is how a busy machine looks.
                if !answer.is_timeout() {
                    answers.push(answer.answers);
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            answers
        });
        Asker { stop, task }
    }

    /// The answers in the order in which they came.
    async fn stop(self) -> Vec<Vec<String>> {
        self.stop.store(true, Ordering::Relaxed);
        self.task.await.unwrap()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_is_respelled_is_served_all_the_time() {
    let estate = Estate::new("spelt").await;
    estate.zone("z", "spelt.example").await;
    let set = estate.a("s", "z", &[("www", "192.0.2.1")]).await;
    estate.once().await;
    estate.recorder.clear();
    let asker = Asker::start(estate.pdns.dns_addr(), "www.spelt.example");
    for spelling in ["www.spelt.example.", "WWW", "WWW.Spelt.Example.", "www"] {
        estate.edit(&set, json!({"records": a_records(&[(spelling, "192.0.2.1")])})).await;
        estate.once().await;
    }
    // The new spelling gives no usable record, or one beside the usable one is not: nothing is taken away for it.
    let bad = json!({"name": "WWW", "cname": {"content": "target.example.net."}});
    let good = json!({"name": "www.spelt.example.", "a": {"content": "192.0.2.1"}});
    for records in [json!([bad]), json!([good, bad])] {
        estate.edit(&set, json!({ "records": records })).await;
        estate.once_failing().await;
        assert_eq!(estate.programmed(&set).await.0, "False");
    }
    let answers: BTreeSet<Vec<String>> = asker.stop().await.into_iter().collect();
    assert_eq!(answers, [vec!["192.0.2.1".to_owned()]].into());
    assert!(estate.writes_to(Server::PowerDns).is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_is_handed_over_is_served_all_the_time() {
    let estate = Estate::new("handover").await;
    estate.zone("z", "handover.example").await;
    // Creation times have whole seconds; in the same one the name decides.
    let holder = estate.a("a", "z", &[("www", "192.0.2.1")]).await;
    let heir = estate.a("b", "z", &[("www", "192.0.2.2")]).await;
    let third = estate.a("c", "z", &[("www", "192.0.2.3")]).await;
    estate.once_failing().await;
    let asker = Asker::start(estate.pdns.dns_addr(), "www.handover.example");
    // Deleted, and edited to another name.
    estate.delete(&holder).await;
    estate.once_failing().await;
    estate.edit(&heir, json!({"records": a_records(&[("elsewhere", "192.0.2.2")])})).await;
    estate.once().await;
    let mut answers = asker.stop().await;
    answers.dedup();
    let each = ["192.0.2.1", "192.0.2.2", "192.0.2.3"].map(|ip| vec![ip.to_owned()]);
    assert_eq!(answers, each, "each holder's address, and nothing between");
    let status = estate.get(&third).await.unwrap();
    assert_eq!(objects::condition(&status, "Programmed").unwrap().0, "True");
}
