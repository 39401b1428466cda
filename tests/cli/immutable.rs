//! What `crds --immutable` prints, on a real API server. The kinds get a group of their own there, because all tests
//! share the server and the plain kinds in it; but for the group it is the same text.

use std::process::Command;
use std::time::Duration;

use dns_syncd::api::GROUP;
use serde_json::{Value, json};

use crate::support::apiserver::ApiServer;
use crate::support::{objects, random, wait_for};

/// The documents that the command prints, for another group.
fn printed(group: &str) -> Vec<Value> {
    let output = Command::new(env!("CARGO_BIN_EXE_dns-syncd"))
        .args(["crds", "--immutable"])
        .env_clear()
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap().replace(GROUP, group);
    serde_saphyr::from_multiple(&text).unwrap()
}

/// Tries a change of an object's spec; what the API server says if it refuses.
async fn change(client: &kube::Client, object: &Value, spec: Value) -> Result<(), String> {
    let change = json!({ "spec": spec });
    objects::try_patch(client, object, &change).await.map(drop).map_err(|error| error.to_string())
}

#[tokio::test(flavor = "multi_thread")]
async fn with_the_rules_the_api_server_refuses_a_change_of_identity_and_says_so() {
    let api = ApiServer::shared();
    let client = api.client().await;
    let namespace = api.namespace("immutable").await;
    let group = format!("immutable-{}.example.test", random());
    let crds = printed(&group);
    for crd in &crds {
        objects::create(&client, crd).await;
    }
    let make = |mut object: Value| {
        object["apiVersion"] = json!(format!("{group}/v1alpha1"));
        let client = client.clone();
        async move {
            wait_for("the kind is served", Duration::from_secs(30), || async {
                objects::try_create(&client, &object).await.ok()
            })
            .await
        }
    };
    let records = json!([{"name": "www", "a": {"content": "192.0.2.1"}}]);
    let set = make(objects::record_set(&namespace, "s", "z", "A", &records)).await;
    let zone = make(objects::zone(&namespace, "z", "immutable.example", "")).await;

    let refused = [
        (&set, json!({"recordType": "CNAME"}), "recordType is immutable"),
        (&set, json!({"dnsZoneRef": {"name": "other"}}), "dnsZoneRef is immutable"),
    ];
    for (object, spec, says) in refused {
        let said = change(&client, object, spec).await.unwrap_err();
        assert!(said.contains(says) && said.contains("create another DNSRecordSet"), "{said}");
    }
    // A class may be given once; a domain never changes; records do.
    change(&client, &zone, json!({"dnsZoneClassName": "first"})).await.unwrap();
    let said = change(&client, &zone, json!({"dnsZoneClassName": "second"})).await.unwrap_err();
    assert!(said.contains("dnsZoneClassName is immutable once it is set"), "{said}");
    let said = change(&client, &zone, json!({"domainName": "other.example"})).await.unwrap_err();
    assert!(said.contains("A domain name is immutable"), "{said}");
    let renamed = json!([{"name": "w3", "ttl": 60, "a": {"content": "192.0.2.2"}}]);
    change(&client, &set, json!({ "records": renamed })).await.unwrap();

    for crd in &crds {
        objects::delete(&client, crd).await;
    }
}
