//! A release on a real API server: installed, upgraded, uninstalled; and its pod under the strictest security standard.

use serde_json::{Value, json};

use crate::helm::{NEEDED, chart, examples, only, run, template};
use crate::support::apiserver::ApiServer;
use crate::support::{objects, root};

#[tokio::test(flavor = "multi_thread")]
async fn a_release_is_installed_upgraded_and_leaves_nothing() {
    let api = ApiServer::shared();
    let client = api.client().await;
    let namespace = api.namespace("release").await;
    let chart = chart();
    let place = ["--namespace", &namespace];
    // All tests share the CRDs of this server.
    let values = |interval: &str| {
        format!(
            "crds.enabled=false,secrets.nudgeToken.value=token,networkPolicy.enabled=true,\
             config.namespaces={{{namespace}}},config.interval={interval}"
        )
    };
    let release = |verb: &str, interval: &str| {
        let arguments = [verb, "dns-syncd", chart.to_str().unwrap(), "--set"];
        let values = values(interval);
        let arguments = [&arguments[..], &[values.as_str()], &NEEDED, &place].concat();
        run(&arguments, Some(api.kubeconfig())).unwrap_or_else(|error| panic!("{verb}: {error}"));
    };
    let documents = template(&namespace, &[&NEEDED[..], &["--set", &values("1m")]].concat());
    let present = || async {
        let mut count = 0;
        for document in &documents {
            count += usize::from(objects::get(&client, document).await.is_some());
        }
        count
    };

    release("install", "1m");
    assert_eq!(present().await, documents.len());
    let deployment = only(&documents, "Deployment");
    let generation = |object: &Value| object["metadata"]["generation"].as_u64().unwrap();
    let before = generation(&objects::get(&client, deployment).await.unwrap());
    release("upgrade", "1m");
    assert_eq!(generation(&objects::get(&client, deployment).await.unwrap()), before);
    release("upgrade", "2m");
    assert!(generation(&objects::get(&client, deployment).await.unwrap()) > before);
    // docs/install.md has a command that makes the pod run one pass that releases a hold.
    let shown = std::fs::read_to_string(root().join("docs/install.md")).unwrap();
    let (_, patch) = shown.split_once("patch deploy/dns-syncd --type=json -p '").unwrap();
    let (patch, _) = patch.split_once('\'').unwrap();
    let patching = ["patch", "deploy/dns-syncd", "--type=json", "-p", patch];
    api.kubectl(&[&patching[..], &place].concat());
    let patched = objects::get(&client, deployment).await.unwrap();
    let arguments = &patched["spec"]["template"]["spec"]["containers"][0]["args"];
    let file = "/etc/dns-syncd/config/dns-syncd.yaml";
    assert_eq!(*arguments, json!(["once", "--config", file, "--release=DIGEST"]));

    let uninstall = ["uninstall", "dns-syncd"];
    run(&[&uninstall[..], &place].concat(), Some(api.kubeconfig())).unwrap();
    assert_eq!(present().await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_pod_fits_the_restricted_security_standard() {
    let client = ApiServer::shared().client().await;
    let namespace = ApiServer::shared().namespace("restricted").await;
    let label = json!({"pod-security.kubernetes.io/enforce": "restricted"});
    let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
    objects::patch(&client, &object, &json!({"metadata": {"labels": label}})).await;
    let mut pods = vec![template(&namespace, &NEEDED)];
    for example in examples() {
        pods.push(template(&namespace, &["--values", example.to_str().unwrap()]));
    }
    for (at, documents) in pods.iter().enumerate() {
        let spec = &only(documents, "Deployment")["spec"]["template"]["spec"];
        let metadata = json!({"name": format!("pod-{at}"), "namespace": namespace});
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec});
        objects::create(&client, &pod).await;
    }
    // The standard is really asked.
    let privileged =
        template(&namespace, &[&NEEDED[..], &["--set", "securityContext=null"]].concat());
    let spec = &only(&privileged, "Deployment")["spec"]["template"]["spec"];
    let metadata = json!({"name": "other", "namespace": namespace});
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec});
    let said = objects::try_create(&client, &pod).await.unwrap_err().to_string();
    assert!(said.contains("violates PodSecurity"), "{said}");
}
