//! `dns-syncd plan` on a real estate: one line for everything that would happen or does not, with the reason, and no
//! write anywhere.

use serde_json::{Value, json};

use crate::support::daemon;
use crate::support::estate::{Estate, a_records};

fn rrset(name: &str, rtype: &str, content: &str) -> Value {
    json!({
        "name": format!("{name}.plan.example."), "type": rtype, "ttl": 300, "changetype": "REPLACE",
        "records": [{"content": content, "disabled": false}],
    })
}

/// Plans twice: the same bytes, the same code, and not one write.
async fn plan(estate: &Estate) -> (Option<i32>, String) {
    estate.recorder.clear();
    let (first, second) = (daemon::plan(&estate.config).await, daemon::plan(&estate.config).await);
    assert_eq!((first.code, &first.stdout), (second.code, &second.stdout));
    assert!(!estate.recorder.requests().is_empty());
    let writes = estate.recorder.writes();
    assert!(writes.is_empty(), "{writes:#?}");
    let data = daemon::command(&estate.config, &["plan", "-o", "json"]).await;
    assert_eq!(data.code, first.code);
    assert_same(&serde_json::from_str(&data.stdout).unwrap(), &first.stdout);
    let comment = daemon::command(&estate.config, &["plan", "-o", "markdown"]).await;
    assert_eq!(comment.code, first.code);
    let rows = comment.stdout.lines().filter(|l| l.starts_with("| **delete** |")).count();
    let gone = first.stdout.lines().filter(|l| l.starts_with("delete ")).count();
    assert!(comment.stdout.starts_with("### DNS: "), "{}", comment.stdout);
    let zones = comment.stdout.matches("the zone is deleted").count();
    assert_eq!(rows + zones, gone, "{}", comment.stdout);
    let text = first.stdout.replace(&estate.namespace, "NS");
    (first.code, text)
}

/// Both forms of a plan have the same changes, and the same that waits.
fn assert_same(data: &Value, text: &str) {
    let zones = data["zones"].as_array().unwrap().iter();
    let changes = zones.flat_map(|zone| zone["changes"].as_array().unwrap());
    let word = |value: &Value| value.as_str().unwrap().to_owned();
    let mut told: Vec<String> = changes
        .map(|c| format!("{:<9} {} {} ", word(&c["action"]), word(&c["name"]), word(&c["type"])))
        .collect();
    let mut lines: Vec<&str> = text
        .lines()
        .filter(|l| ["create ", "replace ", "adopt ", "delete "].iter().any(|w| l.starts_with(w)))
        .filter(|l| !l.contains(" zone "))
        .collect();
    told.sort();
    lines.sort_unstable();
    assert_eq!(told.len(), lines.len(), "{data}\n{text}");
    for (told, line) in told.iter().zip(lines) {
        assert!(line.starts_with(told), "{told}: {line}");
    }
    for wait in data["waits"].as_array().unwrap() {
        let (object, why) = (word(&wait["object"]), word(&wait["why"]));
        let found = text.lines().any(|l| {
            l.contains(&object) && l.contains(why.trim_start_matches("it is "))
                || l.contains("release")
        });
        assert!(found, "{wait}\n{text}");
    }
    assert_eq!(
        data["differs"].as_bool(),
        Some(!told.iter().all(|l| l.starts_with("adopt")) || text.contains(" zone "))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_says_what_and_why() {
    let estate = Estate::new("plan").await;
    let zone = estate.zone("z", "plan.example").await;
    let www = estate.a("www", "z", &[("www", "192.0.2.1")]).await;
    let two = estate.a("two", "z", &[("keep", "192.0.2.2"), ("lose", "192.0.2.3")]).await;
    let (code, text) = plan(&estate).await;
    assert_eq!(code, Some(2), "{text}");
    for line in [
        "create    zone plan.example.",
        "create    plan.example. NS 3600 ns1.example.net. | ns2.example.net. for the class",
        "create    www.plan.example. A 300 192.0.2.1 for NS/www",
    ] {
        assert!(text.lines().any(|l| l == line), "{line}:\n{text}");
    }
    estate.once().await;
    assert_eq!(plan(&estate).await, (Some(0), "nothing to change\n".to_owned()));

    let by_hand = json!({"rrsets": [
        rrset("www", "A", "192.0.2.99"), rrset("adopt", "A", "192.0.2.4"), rrset("foreign", "TXT", "\"x\""),
    ]});
    assert_eq!(estate.pdns.patch("plan.example", &by_hand).await.0, 204);
    estate.edit(&two, json!({"records": a_records(&[("keep", "192.0.2.2")])})).await;
    estate.a("new", "z", &[("new", "192.0.2.5")]).await;
    estate.a("adopt", "z", &[("adopt", "192.0.2.4")]).await;
    let late = estate.a("late", "z", &[("www", "192.0.2.6")]).await;
    let rival = json!([{"name": "keep", "cname": {"content": "www.example.net."}}]);
    let rival = estate.set("rival", "z", "CNAME", rival).await;
    let invalid = json!([{"name": "mail", "mx": {"preference": 10, "exchange": "no host"}}]);
    let invalid = estate.set("invalid", "z", "MX", invalid).await;
    let homeless = estate.a("homeless", "nowhere", &[("x", "192.0.2.7")]).await;

    let (code, text) = plan(&estate).await;
    // To adopt is to write a note.
    let adopts = estate.pdns.keeps_comments();
    let adopts = if adopts { "adopt     adopt.plan.example. A for NS/adopt\n" } else { "" };
    let changes = "\
delete    lose.plan.example. A 300 192.0.2.3 of NS/two: its object no longer declares it
create    new.plan.example. A 300 192.0.2.5 for NS/new
replace   www.plan.example. A 300 192.0.2.99 -> 300 192.0.2.1 for NS/www
leave     foreign.plan.example. TXT: that nobody's note claims
";
    let changes = format!("{adopts}{changes}");
    assert_eq!(code, Some(1), "{text}");
    let held = text.strip_prefix(&changes).unwrap_or_else(|| panic!("{text}"));
    let held: Vec<&str> = held.lines().collect();
    let expected = [
        ["held      DNSRecordSet NS/invalid mail: PDNSError: ", "no host"],
        ["held      DNSRecordSet NS/late www: NotOwner: ", "NS/www"],
        ["held      DNSRecordSet NS/rival keep: Conflict: ", "A of DNSRecordSet NS/two"],
        ["refused   DNSRecordSet NS/homeless: ", "nowhere"],
    ];
    assert_eq!(held.len(), expected.len(), "{text}");
    for (line, [begins, contains]) in held.iter().zip(expected) {
        assert!(line.starts_with(begins) && line.contains(contains), "{line}");
    }

    for object in [&late, &rival, &invalid, &homeless] {
        estate.delete(object).await;
    }
    let (code, text) = plan(&estate).await;
    assert_eq!((code, text), (Some(2), changes));
    estate.once().await;
    let left =
        "leave     foreign.plan.example. TXT: that nobody's note claims\nnothing to change\n";
    assert_eq!(plan(&estate).await, (Some(0), left.to_owned()));

    // Both are held by our finalizers, so that a pass can delete first.
    estate.delete(&www).await;
    estate.delete(&zone).await;
    let (code, text) = plan(&estate).await;
    assert_eq!(code, Some(2), "{text}");
    for line in
        ["delete    zone plan.example.", "release   DNSRecordSet NS/www once its RRsets are gone"]
    {
        assert!(text.lines().any(|l| l == line), "{line}:\n{text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_without_the_server_is_no_plan_of_changes() {
    let estate = Estate::new("blind").await;
    estate.zone("z", "blind.example").await;
    estate.pdns.stop().await;
    let (code, text) = plan(&estate).await;
    assert_eq!(code, Some(1), "{text}");
    assert!(text.starts_with("unread    everything: no answer from PowerDNS"), "{text}");
    assert!(!text.contains("create"), "{text}");
}

/// Not even where no record set waits for it.
#[tokio::test(flavor = "multi_thread")]
async fn a_pass_without_the_server_is_no_success() {
    let estate = Estate::new("down").await;
    estate.pdns.stop().await;
    let output = daemon::once(&estate.config).await;
    assert_eq!(output.code, Some(1), "{output:#?}");
    assert!(output.stderr.contains("PowerDNS could not be read"), "{output:#?}");
}
