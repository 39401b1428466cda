//! The hook that cleans up after the release: its command, with the token of its own `ServiceAccount`, does what it is for,
//! and its rights are those that it uses, verb for verb.

use serde_json::Value;

use crate::helm::{NEEDED, of_kind, only, template, try_template};
use crate::rights::{World, end, granted};
use crate::support::apiserver::ApiServer;
use crate::support::{daemon, objects};

/// The documents of the release, and those of the hook.
fn rendered(namespace: &str, values: &[&str]) -> (Vec<Value>, Vec<Value>) {
    let hook = ["--set", "cleanupHook.enabled=true"];
    let all = template(namespace, &[&NEEDED[..], &hook, values].concat());
    all.into_iter().partition(|d| d["metadata"]["annotations"]["helm.sh/hook"].is_null())
}

/// The arguments of the Job, without its configuration file, which a test has elsewhere.
fn arguments(hook: &[Value]) -> Vec<&str> {
    let container = &only(hook, "Job")["spec"]["template"]["spec"]["containers"][0];
    let arguments = container["args"].as_array().unwrap().iter();
    let file = ["--config", "/etc/dns-syncd/config/dns-syncd.yaml"];
    arguments.map(|a| a.as_str().unwrap()).filter(|a| !file.contains(a)).collect()
}

async fn cleans(purge: bool, everywhere: bool) {
    let namespace = ApiServer::shared().namespace("hook").await;
    let purges = format!("cleanupHook.purge={purge}");
    let mut values = vec!["--set", &purges];
    let within = format!("config.namespaces={{{namespace}}}");
    if !everywhere {
        values.extend(["--set", &within]);
    }
    let (release, hook) = rendered(&namespace, &values);
    let mut world = World::new(&namespace, &release).await;
    world.grant(&release).await;
    let zone = world.zone().await;
    let www = world.set("www", &[("www", "192.0.2.1")]).await;
    world.pass("created").await;

    world.change(&hook).await;
    let arguments = arguments(&hook);
    // What it may do later comes from its own bindings.
    assert_eq!(daemon::command(&world.config, &arguments).await.code, Some(1));
    assert!(!world.forbidden().is_empty());
    let look = [&arguments[..], &["--dry-run"]].concat();
    world.grant_for(&hook, &look).await;
    world.recorder.clear();
    let output = daemon::command(&world.config, &arguments).await;
    assert_eq!(output.code, Some(0), "{output:#?}");
    assert_eq!(world.forbidden(), Vec::new());
    assert_eq!(world.used(), granted(&hook), "left: used; right: granted");
    for object in [&zone, &www] {
        assert_eq!(objects::finalizers(&world.client, object).await, Vec::<String>::new());
    }
    assert_eq!(world.pdns.has_zone("shop.example").await, !purge);
    end(&world.client, &release).await;
    end(&world.client, &hook).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_hook_cleans_up_with_no_more_rights_than_it_uses() {
    cleans(false, true).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_hook_purges_in_some_namespaces() {
    cleans(true, false).await;
}

/// After the release nothing of the release is there.
#[test]
fn the_hook_needs_nothing_of_the_release() {
    let key = "secrets.apiKey.existingSecret=,secrets.apiKey.value=k,cleanupHook.purge=true";
    let (release, hook) = rendered("dns", &["--set", key]);
    let names = |documents: &[Value]| -> Vec<String> {
        let each = documents.iter().map(|d| (&d["kind"], &d["metadata"]["name"]));
        each.map(|(kind, name)| format!("{kind} {name}")).collect()
    };
    let own = names(&hook);
    assert!(names(&release).iter().all(|name| !own.contains(name)));
    let pod = &only(&hook, "Job")["spec"]["template"]["spec"];
    let account = pod["serviceAccountName"].as_str().unwrap();
    assert_eq!(only(&hook, "ServiceAccount")["metadata"]["name"], account);
    for volume in pod["volumes"].as_array().unwrap() {
        let (kind, name) = match volume["configMap"]["name"].as_str() {
            Some(name) => ("ConfigMap", name),
            None => ("Secret", volume["secret"]["secretName"].as_str().unwrap()),
        };
        assert_eq!(only(&hook, kind)["metadata"]["name"], name);
    }
    for binding in ["ClusterRoleBinding", "RoleBinding"] {
        let bindings = of_kind(&hook, binding);
        assert!(!bindings.is_empty());
        assert!(bindings.iter().all(|b| b["subjects"][0]["name"] == account));
    }
    for document in &hook {
        let annotations = &document["metadata"]["annotations"];
        assert_eq!(annotations["helm.sh/hook"], "post-delete");
        let weight = annotations["helm.sh/hook-weight"].as_str();
        let first = if document["kind"] == "Job" { None } else { Some("-1") };
        assert_eq!(weight, first, "what it needs is there before it runs");
        let policy = annotations["helm.sh/hook-delete-policy"].as_str().unwrap();
        assert_eq!(policy, "before-hook-creation,hook-succeeded", "nothing of it stays");
    }
}

#[test]
fn the_hook_is_asked_for_and_purges_nothing_that_may_not_go() {
    assert!(of_kind(&template("dns", &NEEDED), "Job").is_empty());
    let never = "config.policy.deletes=never,cleanupHook.enabled=true,cleanupHook.purge=true";
    let said = try_template("dns", &[&NEEDED[..], &["--set", never]].concat()).unwrap_err();
    assert!(said.contains("cleanupHook.purge: config.policy.deletes is never"), "{said}");
}
