//! `dns-syncd explain` on a real estate: winner, loser and reason, what is stored and by whom, what DNS answers, and what
//! comes next; and nothing is written.

use serde_json::{Value, json};

use crate::support::daemon::{self, Output};
use crate::support::estate::{Estate, rr};

async fn explain(estate: &Estate, arguments: &[&str]) -> Output {
    let output = daemon::command(&estate.config, &[&["explain"], arguments].concat()).await;
    Output { stdout: output.stdout.replace(&estate.namespace, "NS"), ..output }
}

fn assert_lines(output: &Output, lines: &[&str]) {
    for line in lines {
        let found = output.stdout.lines().any(|l| l.starts_with(line));
        assert!(found, "{line}:\n{}", output.stdout);
    }
}

fn created(object: &Value) -> &str {
    object["metadata"]["creationTimestamp"].as_str().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn winner_loser_and_reason_are_named() {
    let estate = Estate::noted("explain").await;
    estate.zone("z", "explain.example").await;
    let first = estate.a("first", "z", &[("www", "192.0.2.1")]).await;
    let late = estate.a("late", "z", &[("www", "192.0.2.2"), ("other", "192.0.2.3")]).await;
    let before = explain(&estate, &["www.explain.example", "a"]).await;
    assert_eq!(before.code, Some(0), "{before:?}");
    assert_lines(
        &before,
        &[
            "zone      explain.example. of DNSZone NS/z, not in PowerDNS",
            "stored    nothing",
            "next      create 300 192.0.2.1 for NS/first",
        ],
    );
    estate.once_failing().await;

    estate.recorder.clear();
    let dns = estate.pdns.dns_addr().to_string();
    let output = explain(&estate, &["www.explain.example.", "--dns", &dns]).await;
    assert_eq!(output.code, Some(0), "{output:?}");
    assert!(estate.recorder.writes().is_empty());
    let why = if created(&first) < created(&late) {
        "it is the oldest"
    } else {
        "none is older, and the RRset has its note"
    };
    assert_lines(
        &output,
        &[
            "name      www.explain.example.",
            "zone      explain.example. of DNSZone NS/z, our mark",
            "type      A",
            &format!("claim     NS/first, created {}: served as declared", created(&first)),
            &format!("claim     NS/late, created {}: NotOwner: ", created(&late)),
            &format!("winner    NS/first: {why}"),
            "stored    300 192.0.2.1, noted by us for NS/first",
            "dns       300 A 192.0.2.1 (No Error)",
            "next      nothing",
        ],
    );

    // Foreign contents, and an edit by hand.
    let rrsets = json!({"rrsets": [rr("www.explain.example.", "192.0.2.9"), rr("hand.explain.example.", "192.0.2.8")]});
    assert_eq!(estate.pdns.patch("explain.example", &rrsets).await.0, 204);
    assert_lines(
        &explain(&estate, &["www.explain.example"]).await,
        &["next      replace 300 192.0.2.9 -> 300 192.0.2.1 for NS/first"],
    );
    assert_lines(
        &explain(&estate, &["hand.explain.example"]).await,
        &[
            "claim     of no DNSRecordSet",
            "stored    300 192.0.2.8, without a note",
            "next      it stays: ",
        ],
    );
    estate.delete(&first).await;
    assert_lines(
        &explain(&estate, &["www.explain.example"]).await,
        &[
            &format!("claim     NS/first, created {}: it is being deleted", created(&first)),
            "winner    NS/late: those before it are not served or are being deleted",
            "next      replace 300 192.0.2.9 -> 300 192.0.2.2 for NS/late",
        ],
    );
    let nothing = explain(&estate, &["no.explain.example"]).await;
    assert_lines(&nothing, &["nobody declares it, and PowerDNS holds nothing there"]);
    let elsewhere = explain(&estate, &["www.example.org"]).await;
    assert_lines(&elsewhere, &["zone      none that is declared here or in PowerDNS"]);

    let data = explain(&estate, &["www.explain.example", "-o", "json"]).await;
    let data: Value = serde_json::from_str(&data.stdout).unwrap();
    assert_eq!(data["types"][0]["claims"][1]["object"], "NS/late");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_powerdns_it_is_not_known_what_is_stored() {
    let estate = Estate::new("dark").await;
    estate.zone("z", "dark.example").await;
    estate.a("www", "z", &[("www", "192.0.2.1")]).await;
    estate.pdns.stop().await;
    let dns = estate.pdns.dns_addr().to_string();
    let output = explain(&estate, &["www.dark.example", "--dns", &dns]).await;
    assert_eq!(output.code, Some(1), "{output:?}");
    assert_lines(
        &output,
        &["stored    not known: no answer from PowerDNS", "dns       no answer: "],
    );
}
