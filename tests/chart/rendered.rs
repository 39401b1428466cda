//! What the chart renders: accepted by a real API server, read by the daemon, and as safe as it is said to be.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::helm::{NEEDED, chart, examples, of_kind, only, run, template};
use crate::support::apiserver::ApiServer;
use crate::support::{Folder, objects, root, wait_for};
use crate::values;

/// Values that use everything that the chart has.
fn everything() -> String {
    root().join("tests/chart/everything.yaml").to_str().unwrap().to_owned()
}

#[test]
fn helm_finds_nothing_to_complain_of() {
    let chart = chart();
    let mut arguments = vec!["lint", "--strict", chart.to_str().unwrap()];
    let all = examples();
    for example in &all {
        arguments.truncate(3);
        arguments.extend(["--values", example.to_str().unwrap()]);
        run(&arguments, None).unwrap_or_else(|error| panic!("{}: {error}", example.display()));
    }
    arguments.truncate(3);
    let everything = everything();
    run(&[&arguments[..], &["--values", &everything]].concat(), None).unwrap();
}

/// The Prometheus Operator's kinds on the shared API server; `false` where its CRDs cannot be had.
async fn monitoring_kinds(client: &kube::Client) -> bool {
    let mut script = Command::new(root().join("tests/env/monitoring-crds"));
    let output = script.stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let folder = String::from_utf8(output.stdout).unwrap();
    if folder.is_empty() {
        return false;
    }
    for kind in ["servicemonitors", "prometheusrules"] {
        let file = PathBuf::from(folder.trim()).join(format!("monitoring.coreos.com_{kind}.yaml"));
        let crd: Value = serde_saphyr::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
        objects::apply(client, &crd).await;
        wait_for("the CRD is established", Duration::from_secs(30), || async {
            let crd = objects::get(client, &crd).await?;
            (objects::condition(&crd, "Established")?.0 == "True").then_some(())
        })
        .await;
    }
    true
}

#[tokio::test(flavor = "multi_thread")]
async fn the_api_server_accepts_every_example() {
    let api = ApiServer::shared();
    let client = api.client().await;
    let namespace = api.namespace("chart").await;
    let monitoring = monitoring_kinds(&client).await;
    if !monitoring {
        println!("skipped: ServiceMonitor and PrometheusRule: their CRDs need Go");
    }
    let folder = Folder::new("chart");
    let files: Vec<PathBuf> = examples().into_iter().chain([everything().into()]).collect();
    for values in files {
        let mut documents = template(&namespace, &["--values", values.to_str().unwrap()]);
        documents.retain(|d| {
            monitoring || d["apiVersion"].as_str().unwrap() != "monitoring.coreos.com/v1"
        });
        let name = |document: &Value| document["metadata"]["namespace"].as_str().map(str::to_owned);
        for namespace in documents.iter().filter_map(name).collect::<BTreeSet<String>>() {
            let object =
                json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
            objects::apply(&client, &object).await;
        }
        let list = json!({"apiVersion": "v1", "kind": "List", "items": documents});
        let file = folder.write("list.json", &list.to_string());
        let said = api.kubectl(&[
            "apply",
            "--server-side",
            "--force-conflicts",
            "--validate=strict",
            "--dry-run=server",
            "--filename",
            file.to_str().unwrap(),
        ]);
        let accepted = said.lines().filter(|line| line.ends_with("(server dry run)")).count();
        assert_eq!(accepted, documents.len(), "{}: {said}", values.display());
    }
}

/// The configuration file of a rendering.
fn configuration(documents: &[Value]) -> &str {
    let maps = of_kind(documents, "ConfigMap").into_iter();
    let texts: BTreeSet<&str> = maps.filter_map(|m| m["data"]["dns-syncd.yaml"].as_str()).collect();
    assert_eq!(texts.len(), 1, "one configuration, which the hook has too");
    texts.into_iter().next().unwrap()
}

#[test]
fn the_daemon_accepts_the_rendered_configuration() {
    let folder = Folder::new("chart");
    let mut all: Vec<Vec<String>> = vec![NEEDED.map(str::to_owned).to_vec()];
    for file in examples().into_iter().map(|f| f.to_str().unwrap().to_owned()).chain([everything()])
    {
        all.push(vec!["--values".to_owned(), file]);
    }
    for values in all {
        let arguments: Vec<&str> = values.iter().map(String::as_str).collect();
        let documents = template("dns", &arguments);
        let file = folder.write("dns-syncd.yaml", configuration(&documents));
        let mut command = Command::new(env!("CARGO_BIN_EXE_dns-syncd"));
        command.args(["check-config", "--config"]).arg(file).env_clear();
        let output = command.output().unwrap();
        assert!(output.status.success(), "{values:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn numbers_reach_the_daemon_as_they_are_written() {
    // YAML libraries like to write 1.5e+06, which is no whole number.
    let given = [&NEEDED[..], &["--set", "config.powerdns.maxBatchBytes=25000000"]].concat();
    for (values, bytes) in [(&NEEDED[..], 1_500_000), (&given[..], 25_000_000)] {
        let documents = template("dns", values);
        let text = configuration(&documents);
        assert!(text.contains(&format!("maxBatchBytes: {bytes}\n")), "{text}");
    }
}

/// The texts and numbers in a value, as text.
fn scalars(value: &Value, into: &mut BTreeSet<String>) {
    match value {
        Value::Object(map) => map.values().for_each(|value| scalars(value, into)),
        Value::Array(items) => items.iter().for_each(|value| scalars(value, into)),
        Value::String(text) => drop(into.insert(text.clone())),
        Value::Number(number) => drop(into.insert(number.to_string())),
        Value::Null | Value::Bool(_) => {}
    }
}

#[test]
fn every_value_is_seen_in_what_is_rendered() {
    let given = std::fs::read_to_string(everything()).unwrap();
    let mut given: Value = serde_saphyr::from_str(&given).unwrap();
    // What turns something off, or is outranked, is not seen.
    let hidden = ["image.tag", "prometheusRule.disabled"];
    // These exclude another that is given, or only say whether: tests of their own turn them.
    let elsewhere = [
        "secrets.apiKey.existingSecret",
        "secrets.nudgeToken.value",
        "secrets.hmacSecret.value",
        "secrets.adminToken.existingSecret",
        "crds.enabled",
        "rbac.create",
        "serviceAccount.create",
    ];
    for path in values::paths() {
        let (first, _) = path.split_once('.').unwrap_or((&path, ""));
        let whole = given.pointer(&format!("/{}", path.replace('.', "/"))).is_some();
        // Mappings that Kubernetes defines are given as they are.
        let kubernetes = [
            "podSecurityContext",
            "securityContext",
            "resources",
            "livenessProbe",
            "readinessProbe",
        ];
        let given = whole || (kubernetes.contains(&first) && given.get(first).is_some());
        let turned = first == "config" || elsewhere.contains(&path.as_str());
        assert!(given || turned, "tests/chart/everything.yaml does not give {path}");
    }
    for path in hidden {
        let pointer = format!("/{}", path.replace('.', "/"));
        *given.pointer_mut(&pointer).unwrap() = Value::Null;
    }
    given["config"].take();
    let documents = template("dns", &["--values", &everything()]);
    let rendered = json!(documents).to_string();
    let (mut wanted, mut seen) = (BTreeSet::new(), BTreeSet::new());
    scalars(&given, &mut wanted);
    scalars(&json!(documents), &mut seen);
    for value in wanted {
        let number = value.parse::<u64>().is_ok();
        let quoted = json!(value).to_string();
        let shown = if number {
            seen.contains(&value)
        } else {
            rendered.contains(quoted.trim_matches('"'))
        };
        assert!(shown, "{value} of tests/chart/everything.yaml is nowhere in what is rendered");
    }
}

fn pod(documents: &[Value]) -> &Value {
    &only(documents, "Deployment")["spec"]["template"]["spec"]
}

#[test]
fn the_pod_has_no_rights_that_it_does_not_need() {
    let documents = template("dns", &NEEDED);
    let pod = pod(&documents);
    assert_eq!(pod["securityContext"]["runAsNonRoot"], true);
    assert_eq!(pod["securityContext"]["seccompProfile"]["type"], "RuntimeDefault");
    let container = &pod["containers"][0]["securityContext"];
    assert_eq!(container["readOnlyRootFilesystem"], true);
    assert_eq!(container["allowPrivilegeEscalation"], false);
    assert_eq!(container["capabilities"]["drop"], json!(["ALL"]));
    // docs/install.md replaces the first of them by `once`.
    let arguments = json!(["run", "--config", "/etc/dns-syncd/config/dns-syncd.yaml"]);
    assert_eq!(pod["containers"][0]["args"], arguments);
}

#[test]
fn secrets_are_files_and_the_configuration_names_them() {
    let token = "secrets.nudgeToken.value=t0ken,secrets.nudgeToken.key=nudge,\
        secrets.hmacSecret.existingSecret=forge,secrets.adminToken.existingSecret=ops,secrets.adminToken.key=root";
    let documents = template("dns", &[&NEEDED[..], &["--set", token]].concat());
    let config: Value = serde_saphyr::from_str(configuration(&documents)).unwrap();
    let pod = pod(&documents);
    for (path, volume, secret, key) in [
        (&config["powerdns"]["apiKeyFile"], "api-key", "powerdns-api", "api-key"),
        (&config["http"]["tokenFile"], "nudge-token", "dns-syncd-nudge-token", "nudge"),
        (&config["http"]["hmacSecretFile"], "hmac-secret", "forge", "secret"),
        (&config["http"]["adminTokenFile"], "admin-token", "ops", "root"),
    ] {
        let named = |list: &'static str| {
            let all = if list == "volumes" { &pod[list] } else { &pod["containers"][0][list] };
            all.as_array().unwrap().iter().find(|v| v["name"] == volume).unwrap().clone()
        };
        let (mounted, source) = (named("volumeMounts"), named("volumes"));
        let item = &source["secret"]["items"][0];
        assert_eq!((&source["secret"]["secretName"], &item["key"]), (&json!(secret), &json!(key)));
        let file = format!(
            "{}/{}",
            mounted["mountPath"].as_str().unwrap(),
            item["path"].as_str().unwrap()
        );
        assert_eq!(*path, file);
        // A mount of a single file would not follow a changed secret.
        assert!(mounted.get("subPath").is_none());
    }
    let secret = only(&documents, "Secret");
    assert_eq!(secret["metadata"]["name"], "dns-syncd-nudge-token");
    assert_eq!(secret["stringData"], json!({"nudge": "t0ken"}));
    assert!(!configuration(&documents).contains("t0ken"));
}

#[test]
fn replicas_take_turns_by_a_lease_or_do_not_overlap() {
    let render = |set: &str| template("dns", &[&NEEDED[..], &["--set", set]].concat());
    let kinds = |documents: &[Value]| {
        let count = |kind| of_kind(documents, kind).len();
        (count("PodDisruptionBudget"), count("Role"), count("RoleBinding"))
    };
    // Two daemons with one ownerId must not write side by side, not even for an update.
    let alone = render("config.leaderElection.enabled=false");
    let spec = &only(&alone, "Deployment")["spec"];
    assert_eq!((&spec["replicas"], &spec["strategy"]["type"]), (&json!(1), &json!("Recreate")));
    assert_eq!(kinds(&alone), (0, 0, 0));
    let one = render("replicas=1");
    assert_eq!(kinds(&one), (0, 1, 1));
    assert_eq!(only(&one, "Deployment")["spec"]["strategy"]["type"], "RollingUpdate");

    let three = render(
        "replicas=3,networkPolicy.enabled=true,networkPolicy.from[0].podSelector.matchLabels.a=b",
    );
    assert_eq!(kinds(&three), (1, 1, 1));
    let spec = &only(&three, "Deployment")["spec"];
    assert_eq!(spec["replicas"], 3);
    let labels = &only(&three, "PodDisruptionBudget")["spec"]["selector"]["matchLabels"];
    assert_eq!(*labels, spec["selector"]["matchLabels"]);
    // They reach each other.
    let from = &only(&three, "NetworkPolicy")["spec"]["ingress"][0]["from"];
    assert_eq!(from[1]["podSelector"]["matchLabels"], *labels);
    let variables = pod(&three)["containers"][0]["env"].as_array().unwrap();
    for (name, field) in [
        ("POD_NAME", "metadata.name"),
        ("POD_NAMESPACE", "metadata.namespace"),
        ("POD_IP", "status.podIP"),
    ] {
        let variable = variables.iter().find(|v| v["name"] == name).expect(name);
        assert_eq!(variable["valueFrom"]["fieldRef"]["fieldPath"], field);
    }
}

#[test]
fn another_configuration_restarts_the_pod() {
    let checksum = |set: &str| {
        let documents = template("dns", &[&NEEDED[..], &["--set", set]].concat());
        let template = &only(&documents, "Deployment")["spec"]["template"];
        template["metadata"]["annotations"]["checksum/config"].clone()
    };
    assert_eq!(checksum("service.port=1"), checksum("service.port=2"));
    assert_ne!(checksum("config.interval=15s"), checksum("config.interval=16s"));
}

#[test]
fn releases_in_two_namespaces_share_no_name() {
    let names = |namespace: &str| -> BTreeSet<String> {
        let set = ["--set", "config.namespaces={team-a},crds.enabled=false"];
        let documents = template(namespace, &[&NEEDED[..], &set].concat());
        let place = |d: &Value| {
            let text = |field: &str| d["metadata"][field].as_str().unwrap_or_default().to_owned();
            format!("{} {}/{}", d["kind"].as_str().unwrap(), text("namespace"), text("name"))
        };
        documents.iter().map(place).collect()
    };
    let (one, other) = (names("dns-a"), names("dns-b"));
    assert!(one.len() > 7 && one.is_disjoint(&other), "{one:#?} {other:#?}");
}

#[test]
fn an_own_service_account_is_bound_and_not_created() {
    let set = ["--set", "serviceAccount.create=false,serviceAccount.name=mine"];
    let documents = template("dns", &[&NEEDED[..], &set].concat());
    assert!(of_kind(&documents, "ServiceAccount").is_empty());
    assert_eq!(pod(&documents)["serviceAccountName"], "mine");
    let binding = only(&documents, "ClusterRoleBinding");
    assert_eq!(binding["subjects"][0]["name"], "mine");
    assert_eq!(binding["subjects"][0]["namespace"], "dns");
}

#[test]
fn rights_are_granted_unless_somebody_else_does() {
    let set = ["--set", "rbac.create=false,config.namespaces={team-a}"];
    let documents = template("dns", &[&NEEDED[..], &set].concat());
    for kind in ["ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"] {
        assert!(of_kind(&documents, kind).is_empty(), "{kind}");
    }
    assert_eq!(of_kind(&documents, "ServiceAccount").len(), 1);
}

#[test]
fn a_digest_outranks_a_tag_and_a_tag_the_version() {
    let image = |set: &str| {
        let documents = template("dns", &[&NEEDED[..], &["--set", set]].concat());
        pod(&documents)["containers"][0]["image"].as_str().unwrap().to_owned()
    };
    assert_eq!(image("image.tag=2.0"), "dns-syncd:2.0");
    let digest = format!("sha256:{}", "0".repeat(64));
    let both = format!("image.tag=v2,image.digest={digest}");
    assert_eq!(image(&both), format!("dns-syncd@{digest}"));
}

#[test]
fn the_notes_say_how_to_nudge_and_what_to_look_at() {
    let api = ApiServer::shared();
    let chart = chart();
    let notes = |set: &str| {
        let arguments = ["install", "x", chart.to_str().unwrap(), "--dry-run=client", "--set", set];
        // The CRDs of the shared server belong to no release, which helm would mind.
        let more = ["--namespace", "dns", "--set", "crds.enabled=false"];
        let text = run(&[&arguments[..], &NEEDED, &more].concat(), Some(api.kubeconfig())).unwrap();
        text.split_once("\nNOTES:\n").unwrap().1.to_owned()
    };
    let said = notes("secrets.nudgeToken.existingSecret=nudge");
    for words in [
        "as the owner \"test\"",
        "kubectl -n dns rollout status deploy/x-dns-syncd",
        "kubectl get dnszones,dnsrecordsets --all-namespaces",
        "A pass starts every 15s",
        "port-forward service/x-dns-syncd 8080:8080",
        "get secret nudge -o go-template='{{index .data \"token\" | base64decode}}'",
        "/v1/sync?wait=30s",
    ] {
        assert!(said.contains(words), "no {words:?} in {said}");
    }
    assert!(!said.contains("dryRun"), "{said}");
    let said = notes("config.dryRun=true");
    assert!(said.contains("dryRun is true") && said.contains("dns-syncd plan"), "{said}");
    assert!(said.contains("nudges are refused: give a token in secrets.nudgeToken"), "{said}");
}
