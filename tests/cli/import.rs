//! `dns-syncd import`: a zone made by hand becomes manifests that, applied, plan to no difference; what they cannot say is
//! told.

use dns_syncd::dns::rdata::{Dialect, Rdata, Version};
use dns_syncd::dns::rrset::RecordType;
use serde_json::{Value, json};

use crate::support::daemon;
use crate::support::estate::{Estate, native};
use crate::support::objects;
use crate::support::recorder::Server;

fn rrset(name: &str, rtype: &str, ttl: u32, contents: &[&str]) -> Value {
    let name = if name == "@" { "hand.example.".into() } else { format!("{name}.hand.example.") };
    let records: Vec<Value> =
        contents.iter().map(|c| json!({"content": c, "disabled": false})).collect();
    json!({"name": name, "type": rtype, "ttl": ttl, "changetype": "REPLACE", "records": records})
}

/// All fourteen types, and what is awkward to write in YAML or to quote.
fn by_hand() -> Vec<Value> {
    let blanks = format!("\"{}\"", "five  words   and  some    blanks ".repeat(6));
    let long = format!("\"{}\" \"{}\"", "x".repeat(255), "y".repeat(40));
    let soa = "ns.hand.example. hostmaster.hand.example. 2026010101 7200 900 1209600 300";
    vec![
        rrset("@", "SOA", 3600, &[soa]),
        rrset("@", "NS", 86400, &["a.ns.example.net.", "b.ns.example.net."]),
        rrset("@", "A", 60, &["192.0.2.1", "192.0.2.2"]),
        rrset("@", "MX", 300, &["10 mail.hand.example.", "20 mail2.example.org."]),
        rrset(
            "@",
            "CAA",
            300,
            &[
                "0 issue \"ca.example; account=7\"",
                "128 iodef \"mailto:x@hand.example\"",
                "0 issuewild \";\"",
            ],
        ),
        rrset("*.wild", "A", 120, &["192.0.2.3"]),
        rrset("6", "AAAA", 300, &["2001:db8::1", "::ffff:c000:201"]),
        rrset("flat", "ALIAS", 300, &["target.example.org."]),
        rrset("www", "CNAME", 0, &["hand.example."]),
        rrset("null", "TXT", 300, &["\"null\"", "\"~\"", "\"1e3\"", "\"yes\"", "\": #\""]),
        rrset(
            "quoted",
            "TXT",
            300,
            &[r#""a\"b\\c;d""#, r#"" blanks ""#, r#""\195\169""#, r#""\000\010""#, "\"\""],
        ),
        rrset("long", "TXT", 300, &[&long, &blanks]),
        rrset("dkim._domainkey", "TXT", 300, &["\"v=DKIM1; k=rsa; p=MIGf\""]),
        rrset("_sip._tcp", "SRV", 300, &["1 2 5060 sip.hand.example.", "0 0 0 ."]),
        rrset("sub", "NS", 300, &["ns.sub.hand.example."]),
        rrset("ns.sub", "A", 300, &["192.0.2.53"]),
        rrset("ptr", "PTR", 300, &["host.example.org."]),
        rrset("_443._tcp", "TLSA", 300, &["3 1 1 0123456789abcdef"]),
        rrset(
            "svc",
            "HTTPS",
            300,
            &["1 . alpn=h2,h3 port=8443 ipv4hint=192.0.2.1,192.0.2.2", "0 other.example.org."],
        ),
        rrset(
            "svcb",
            "SVCB",
            300,
            &["1 svc.example.org. mandatory=alpn alpn=h2 no-default-alpn key65333=\"a b\""],
        ),
    ]
}

/// The same as this server wants to be sent it.
fn spelt(mut rrsets: Vec<Value>, (major, minor, patch): (u16, u16, u16)) -> Vec<Value> {
    let dialect = Dialect::of(Version { major, minor, patch });
    for rrset in &mut rrsets {
        let rtype: RecordType = rrset["type"].as_str().unwrap().parse().unwrap();
        for record in rrset["records"].as_array_mut().unwrap() {
            let value = Rdata::parse(rtype, record["content"].as_str().unwrap()).unwrap();
            record["content"] = json!(value.print(dialect));
        }
    }
    rrsets
}

async fn import(estate: &Estate, flags: &[&str]) -> daemon::Output {
    let names = ["--class", &estate.class, "--namespace", &estate.namespace];
    daemon::command(&estate.config, &[&["import", "hand.example"], &names[..], flags].concat())
        .await
}

/// What is told of, beside the log.
fn told(output: &daemon::Output) -> Vec<&str> {
    output.stderr.lines().filter(|l| l.starts_with("left out: ")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_imported_zone_plans_to_no_difference() {
    let estate = Estate::new("import").await;
    estate.pdns.create_zone(&native("hand.example.", json!([]))).await;
    let rrsets = spelt(by_hand(), estate.pdns.version());
    let (status, body) = estate.pdns.patch("hand.example", &json!({ "rrsets": rrsets })).await;
    assert_eq!(status, 204, "{body}");
    let (before, serial) =
        (estate.pdns.all("hand.example").await, estate.pdns.serial("hand.example").await);

    let output = import(&estate, &["--strict"]).await;
    assert_eq!((output.code, told(&output)), (Some(0), vec![]), "{output:?}");
    assert_eq!(import(&estate, &[]).await.stdout, output.stdout, "always the same bytes");
    assert!(estate.recorder.requests().iter().all(|r| r.server == Server::PowerDns));
    assert!(estate.recorder.writes().is_empty());
    let manifests: Vec<Value> = serde_saphyr::from_multiple(&output.stdout).unwrap();
    assert_eq!(manifests[0]["kind"], "DNSZone");
    let named = json!({"name": "hand-example", "namespace": estate.namespace});
    assert_eq!(manifests[0]["metadata"], named);
    let mut types: Vec<&str> =
        manifests[1..].iter().map(|m| m["spec"]["recordType"].as_str().unwrap()).collect();
    types.sort_unstable();
    types.dedup();
    assert_eq!((types.len(), manifests.len()), (14, 15), "one a type: {types:?}");
    for manifest in &manifests {
        objects::apply(&estate.client, manifest).await;
    }

    let plan = daemon::plan(&estate.config).await;
    assert_eq!(plan.code, Some(0), "{plan:#?}");
    let quiet = ["mark ", "withheld ", "adopt "];
    let noisy: Vec<&str> = plan
        .stdout
        .lines()
        .filter(|l| !quiet.iter().any(|q| l.starts_with(q)) && *l != "nothing to change")
        .collect();
    assert!(noisy.is_empty(), "{noisy:#?}");
    estate.recorder.clear();
    estate.once().await;
    let writes = estate.writes_to(Server::PowerDns);
    for write in &writes {
        assert!(!write.body.clone().unwrap().to_string().contains("\"records\""), "{write:?}");
    }
    assert_eq!(estate.pdns.all("hand.example").await, before);
    let notes = writes.iter().filter(|w| w.method == "PATCH").count() as u64;
    assert!(estate.pdns.serial("hand.example").await <= serial + notes);
    assert_eq!(daemon::plan(&estate.config).await.stdout, "nothing to change\n");
    let again = import(&estate, &[]).await;
    assert_eq!(again.stdout, output.stdout, "what we have adopted is imported as before");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_declared_is_told_and_left_out() {
    let estate = Estate::new("left").await;
    estate.pdns.create_zone(&native("hand.example.", json!([]))).await;
    estate.pdns.create_zone(&native("deep.hand.example.", json!([]))).await;
    let mut disabled = rrset("off", "A", 300, &["192.0.2.1"]);
    disabled["records"][0]["disabled"] = json!(true);
    // A declared timer of zero stands for the usual one.
    let soa = "ns.hand.example. hostmaster.hand.example. 1 7200 0 1209600 300";
    let rrsets = vec![
        rrset("@", "SOA", 3600, &[soa]),
        rrset("www", "A", 300, &["192.0.2.1"]),
        rrset("key", "SSHFP", 300, &["1 1 0123456789abcdef0123456789abcdef01234567"]),
        rrset("0/25", "PTR", 300, &["a.example.org."]),
        rrset("both", "A", 300, &["192.0.2.1"]),
        rrset("both", "ALIAS", 300, &["a.example.org."]),
        rrset("a.deep", "A", 300, &["192.0.2.1"]),
        rrset("deep", "NS", 300, &["ns.example.org."]),
        rrset("odd", "CNAME", 300, &["a/b.example.org."]),
        disabled,
    ];
    let (status, body) = estate.pdns.patch("hand.example", &json!({"rrsets": rrsets})).await;
    assert_eq!(status, 204, "{body}");
    let output = import(&estate, &[]).await;
    assert_eq!(output.code, Some(0), "{output:?}");
    let expected = [
        "left out: 0/25.hand.example. PTR: a DNSRecordSet cannot spell its name",
        "left out: a.deep.hand.example. A: zone deep.hand.example. of the same server answers for it",
        "left out: both.hand.example. A: it cannot be declared beside ALIAS",
        "left out: both.hand.example. ALIAS: it cannot be declared beside A",
        "left out: hand.example. SOA: it would not be declared as it is",
        "left out: key.hand.example. SSHFP: a DNSRecordSet has no such type",
        "left out: odd.hand.example. CNAME: the definition of DNSRecordSet refuses a value of it",
        "left out: off.hand.example. A: it has a disabled record",
    ];
    assert_eq!(told(&output), expected);
    let names: Vec<String> = serde_saphyr::from_multiple::<Value>(&output.stdout).unwrap()[1..]
        .iter()
        .flat_map(|m| m["spec"]["records"].as_array().unwrap())
        .map(|entry| entry["name"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(names, ["www", "@", "deep"], "{}", output.stdout);
    assert_eq!(import(&estate, &["--strict"]).await.code, Some(1));
    let missing = daemon::command(&estate.config, &["import", "no.example", "--class", "c"]).await;
    assert_eq!((missing.code, missing.stdout.as_str()), (Some(1), ""));
    assert!(missing.stderr.contains("PowerDNS has no zone no.example."), "{missing:?}");
}
