//! The configuration: defaults, layers and their precedence, secrets. What is refused and how is in
//! `config/refusals.rs`; that example file, reference and code agree is in `config/drift.rs`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may panic")]

#[path = "config/drift.rs"]
mod drift;
#[path = "docs/generated.rs"]
mod generated;
#[path = "config/refusals.rs"]
mod refusals;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use dns_syncd::config::{
    ApiKey, BrakeOptions, Config, Errors, Http, Interval, KEYS, Kubernetes, LeaderElection, Level,
    Log, LogFormat, Pod, PolicyOptions, PowerDns, Secret, Sources,
};

/// What every configuration needs, as environment.
const NEEDED: [(&str, &str); 2] = [("DNS_SYNCD_OWNER_ID", "east"), ("PDNS_API_KEY", "k3y")];

fn load(file: &str, env: &[(&str, &str)], flags: &[&str]) -> Result<Config, Errors> {
    let env: BTreeMap<String, String> =
        env.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
    let flags: Vec<String> = flags.iter().map(|flag| (*flag).to_owned()).collect();
    Config::load(&Sources { file: Some(("f.yaml", file)), env: &env, flags: &flags })
}

/// Loads with what is needed besides.
fn with_needed(file: &str, env: &[(&str, &str)], flags: &[&str]) -> Result<Config, Errors> {
    load(file, &[&NEEDED, env].concat(), flags)
}

/// The lines that a configuration is refused with.
#[track_caller]
fn refusal(outcome: Result<Config, Errors>) -> Vec<String> {
    let errors = outcome.expect_err("it must be refused");
    let lines: Vec<String> = errors.to_string().lines().map(str::to_owned).collect();
    assert_eq!(lines.len(), errors.iter().count(), "one line per error:\n{errors}");
    lines
}

fn defaults() -> Config {
    Config {
        owner_id: "east".into(),
        previous_owner_ids: vec![],
        interval: Interval::Every(Duration::from_secs(15)),
        verify_interval: Duration::from_mins(5),
        controller_names: vec!["powerdns".into()],
        namespaces: vec![],
        dry_run: false,
        release_upstream_finalizers: false,
        powerdns: PowerDns {
            url: "http://127.0.0.1:8081".into(),
            server_id: "localhost".into(),
            api_key: ApiKey::Inline(Secret::new("k3y".into())),
            ca_file: None,
            request_timeout: Duration::from_secs(10),
            requests_per_second: 50.try_into().unwrap(),
            burst: 50.try_into().unwrap(),
            concurrency: 4,
            max_batch_rrsets: 500,
            max_batch_bytes: 1_500_000,
        },
        kubernetes: Kubernetes {
            writes_per_second: 400.try_into().unwrap(),
            burst: 400.try_into().unwrap(),
            concurrency: 16,
        },
        policy: PolicyOptions {
            deletes: true,
            delete_undeclared: false,
            protect: false,
            delete_orphan_zones: false,
            ignore: vec!["_acme-challenge.*".into()],
        },
        brakes: BrakeOptions {
            implicit_percent: 30,
            implicit_total: 20,
            explicit_percent: Some(50),
        },
        http: Http {
            listen: "0.0.0.0:8080".parse().unwrap(),
            token_file: None,
            hmac_secret_file: None,
            admin_token_file: None,
            allow_anonymous_nudge: false,
            advertise: None,
        },
        leader_election: LeaderElection {
            enabled: true,
            lease_name: "dns-syncd".into(),
            lease_namespace: None,
            lease_duration: Duration::from_secs(15),
            renew_deadline: Duration::from_secs(10),
            retry_period: Duration::from_secs(2),
        },
        metrics_per_zone: false,
        log: Log { level: Level::Info, format: LogFormat::Text },
        pod: Pod::default(),
        notices: vec![],
    }
}

#[test]
fn defaults_are_what_they_are_said_to_be() {
    assert_eq!(with_needed("", &[], &[]), Ok(defaults()));
}

/// For each option a good value that is not its default.
const OTHERS: [(&str, &str); 44] = [
    ("ownerId", "west-1.example"),
    ("previousOwnerIds", "old,older"),
    ("interval", "1m"),
    ("verifyInterval", "0s"),
    ("controllerNames", "powerdns,other"),
    ("namespaces", "a,b"),
    ("dryRun", "true"),
    ("releaseUpstreamFinalizers", "true"),
    ("powerdns.url", "https://dns.example:8443/pdns"),
    ("powerdns.serverId", "ns1"),
    ("powerdns.apiKeyFile", "/run/key"),
    ("powerdns.caFile", "/run/ca.pem"),
    ("powerdns.requestTimeout", "250ms"),
    ("powerdns.requestsPerSecond", "1"),
    ("powerdns.burst", "1"),
    ("powerdns.concurrency", "1"),
    ("powerdns.maxBatchRrsets", "1"),
    ("powerdns.maxBatchBytes", "1000"),
    ("kubernetes.writesPerSecond", "1"),
    ("kubernetes.burst", "1"),
    ("kubernetes.concurrency", "1"),
    ("policy.deletes", "never"),
    ("policy.undeclared", "delete"),
    ("policy.takeover", "protect"),
    ("policy.orphanZones", "delete"),
    ("policy.ignore", "x.example.,a*.example."),
    ("brakes.implicitPercent", "0"),
    ("brakes.implicitTotal", "0"),
    ("brakes.explicitPercent", "none"),
    ("http.listen", "[::1]:0"),
    ("http.tokenFile", "/run/token"),
    ("http.hmacSecretFile", "/run/hmac"),
    ("http.adminTokenFile", "/run/admin"),
    ("http.allowAnonymousNudge", "true"),
    ("http.advertise", "[fd00::1]:8080"),
    ("leaderElection.enabled", "false"),
    ("leaderElection.leaseName", "other"),
    ("leaderElection.leaseNamespace", "dns"),
    ("leaderElection.leaseDuration", "1m"),
    ("leaderElection.renewDeadline", "9s"),
    ("leaderElection.retryPeriod", "500ms"),
    ("metrics.perZone", "true"),
    ("log.level", "trace"),
    ("log.format", "json"),
];

#[test]
fn every_option_has_an_effect_from_every_layer() {
    let base_file = "ownerId: east\npowerdns: {apiKeyFile: /key}\n";
    let base = load(base_file, &[], &[]).unwrap();
    assert_eq!(OTHERS.map(|(path, _)| path), KEYS.map(|key| key.path));
    for (key, (path, text)) in KEYS.iter().zip(OTHERS) {
        let flag = load(base_file, &[], &[&format!("{path}={text}")]).unwrap();
        assert_ne!(flag, base, "{path} has no effect");
        let variable = load(base_file, &[(&key.variable(), text)], &[]).unwrap();
        assert_eq!(variable, flag, "{path} from the environment");

        let in_yaml = if key.list { format!("[{text}]") } else { format!("{text:?}") };
        let in_yaml = match path.split_once('.') {
            Some((section, name)) => format!("{section}: {{{name}: {in_yaml}}}\n"),
            None => format!("{path}: {in_yaml}\n"),
        };
        let mut needed = vec![];
        if *path != *"ownerId" {
            needed.push(("DNS_SYNCD_OWNER_ID", "east"));
        }
        if *path != *"powerdns.apiKeyFile" {
            needed.push(("PDNS_API_KEY_FILE", "/key"));
        }
        assert_eq!(load(&in_yaml, &needed, &[]).unwrap(), flag, "{path} from the file");
    }
}

#[test]
fn flag_outranks_environment_outranks_file_outranks_default() {
    let file = "powerdns: {burst: 2}\nlog: {level: warn}\nkubernetes: {burst: 2}";
    let env = [("DNS_SYNCD_POWERDNS__BURST", "3"), ("DNS_SYNCD_LOG__LEVEL", "debug")];
    let config = with_needed(file, &env, &["powerdns.burst=4", "powerdns.burst=5"]).unwrap();
    assert_eq!(config.powerdns.burst.get(), 5, "the later flag");
    assert_eq!(config.log.level, Level::Debug, "the environment");
    assert_eq!(config.kubernetes.burst.get(), 2, "the file");
    assert_eq!(config.log.format, LogFormat::Text, "the default");
}

#[test]
fn a_covered_value_is_not_judged() {
    assert!(with_needed("interval: nonsense", &[], &["interval=30s"]).is_ok());
}

#[test]
fn an_empty_variable_empties_a_list_and_a_path() {
    let env = [("DNS_SYNCD_NAMESPACES", ""), ("DNS_SYNCD_HTTP__TOKEN_FILE", "")];
    let config = with_needed("namespaces: [a]\nhttp: {tokenFile: /t}", &env, &[]).unwrap();
    assert_eq!((config.namespaces, config.http.token_file), (vec![], None));
}

#[test]
fn null_and_empty_sections_leave_the_default() {
    let file = "---\ninterval:\npowerdns: ~\nlog: {level: null}\nnamespaces:\n";
    assert_eq!(with_needed(file, &[], &[]), Ok(defaults()));
}

#[test]
fn a_path_can_be_written_whole_in_the_file() {
    assert_eq!(with_needed("powerdns.burst: 7", &[], &[]).unwrap().powerdns.burst.get(), 7);
}

fn api_key(file: &str, env: &[(&str, &str)], flags: &[&str]) -> ApiKey {
    let env = [&[("DNS_SYNCD_OWNER_ID", "east")], env].concat();
    load(file, &env, flags).unwrap().powerdns.api_key
}

#[test]
fn the_api_key_is_found_as_the_incumbent_finds_it() {
    let inline = |key: &str| ApiKey::Inline(Secret::new(key.into()));
    let path = |path: &str| ApiKey::File(PathBuf::from(path));
    let file = "powerdns: {apiKeyFile: /file}";
    let (key, key_file) = (("PDNS_API_KEY", "k3y"), ("PDNS_API_KEY_FILE", "/env"));
    assert_eq!(api_key(file, &[], &[]), path("/file"));
    assert_eq!(api_key(file, &[key_file], &[]), path("/env"));
    assert_eq!(api_key(file, &[key_file, key], &[]), inline("k3y"));
    assert_eq!(api_key("", &[key], &["powerdns.apiKeyFile=/flag"]), path("/flag"));
    assert_eq!(api_key("", &[key], &["powerdns.apiKeyFile="]), inline("k3y"));
    assert_eq!(api_key(file, &[("PDNS_API_KEY", "")], &[]), path("/file"), "empty is absent");
    assert_eq!(api_key("", &[("PDNS_API_KEY", " k3y\n")], &[]), inline("k3y"), "trimmed");
}

#[test]
fn the_url_is_found_under_both_names_which_must_agree() {
    let (ours, theirs) = ("DNS_SYNCD_POWERDNS__URL", "PDNS_API_URL");
    let url = |env: &[(&str, &str)]| with_needed("", env, &[]).map(|config| config.powerdns.url);
    assert_eq!(url(&[(theirs, "http://a:1///")]).unwrap(), "http://a:1", "no trailing slash");
    assert_eq!(url(&[(theirs, "http://a"), (ours, "http://a")]).unwrap(), "http://a");
    let outcome = with_needed("", &[(theirs, "http://a"), (ours, "http://b")], &[]);
    let [line] = refusal(outcome).try_into().unwrap();
    assert!(line.contains(ours) && line.contains(theirs), "{line}");
}

#[test]
fn intervals() {
    let second = Duration::from_secs(1);
    let read =
        |text: &str| with_needed("", &[], &[&format!("interval={text}")]).map(|c| c.interval);
    for (text, seconds) in
        [("1s", 1), ("1m30s", 90), ("24h", 86400), ("1 hour 2 minutes 3 s", 3723)]
    {
        assert_eq!(read(text).unwrap(), Interval::Every(second * seconds), "{text}");
    }
    for cron in ["0 */5 * * * *", "*/15 * * * * *", "0 0 6 * * MON-FRI 2030", "0 30 2 1,15 JAN ?"] {
        assert_eq!(read(cron).unwrap(), Interval::Cron(cron.into()), "{cron}");
    }
    assert_eq!(read(" 0  0 * * * * ").unwrap(), Interval::Cron("0 0 * * * *".into()));
    for bad in [
        "",
        "15",
        "0s",
        "999ms",
        "-15s",
        "25h",
        "15x",
        "soon",
        "999999999999h",
        "*/5 * * * *",
        "@daily",
        "60 * * * * *",
        "0 0 0 32 * *",
        "0 0 0 1 13 *",
        "a b c d e f",
        "* * * * * * * *",
        "@ @ @ @ @ @",
    ] {
        assert!(read(bad).is_err(), "{bad:?} must be refused");
    }
}

#[test]
fn good_urls() {
    for url in ["http://a", "https://pdns.dns.svc:8081", "http://[::1]:8081/p/q", "http://10.0.0.1"]
    {
        assert_eq!(with_needed("", &[("PDNS_API_URL", url)], &[]).unwrap().powerdns.url, url);
    }
}

#[test]
fn no_message_and_no_debug_shows_a_secret() {
    let config =
        load("", &[("DNS_SYNCD_OWNER_ID", "east"), ("PDNS_API_KEY", "s3cret")], &[]).unwrap();
    assert!(!format!("{config:?} {config:#?}").contains("s3cret"));
    let secret = Secret::new("s3cret".into());
    assert_eq!(
        (secret.expose(), format!("{secret} {secret:?}")),
        ("s3cret", "(secret) (secret)".into())
    );

    for (file, env, flag) in [
        ("apiKey: s3cret", ("A", ""), "log.level=info"),
        ("powerdns: {apiKey: s3cret}", ("A", ""), "log.level=info"),
        ("powerdns:\n  apiKey: \"s3cret\n", ("A", ""), "log.level=info"),
        ("powerdns: {apiKey: s3cret, [", ("A", ""), "log.level=info"),
        ("s3cret", ("A", ""), "log.level=info"),
        ("", ("PDNS_API_KEY", "s3cret\u{7}x"), "log.level=info"),
        ("", ("PDNS_API_URL", "http://user:s3cret@host"), "log.level=info"),
        ("", ("PDNS_API_URL", "http://host/?token=s3cret"), "log.level=info"),
        ("", ("DNS_SYNCD_POWERDNS__API_KEY", "s3cret"), "log.level=info"),
        ("", ("A", ""), "powerdns.apiKey=s3cret"),
        ("", ("A", ""), "s3cret"),
    ] {
        let errors = load(file, &[env], &[flag]).unwrap_err();
        assert!(!format!("{errors} {errors:?}").contains("s3cret"), "{errors}");
    }
}

/// Who moves over from dns-operator keeps its file: each of its keys is taken, said to mean nothing here, or refused.
#[test]
fn the_incumbents_file_is_understood() {
    let file = "apiVersion: dns.networking.miloapis.com/v1alpha1\nkind: DNSOperator\n\
        discovery: {mode: single}\n\
        controllers:\n  dnsRecordSetPowerDNS:\n    maxConcurrentReconciles: 7\n    rateLimiterBaseDelay: 1s\n";
    let config = with_needed(file, &[], &[]).unwrap();
    assert_eq!(config.powerdns.concurrency, 7);
    assert_eq!(
        config.notices,
        [
            "f.yaml:3: discovery has no effect here: it is the replicator's, which goes on with its own file",
            "f.yaml:6: controllers.dnsRecordSetPowerDNS.maxConcurrentReconciles is powerdns.concurrency here",
            "f.yaml:7: controllers.dnsRecordSetPowerDNS.rateLimiterBaseDelay has no effect here: waits after failures \
             are doubled from 1 s, up to 5 min a zone and 1 h a name",
        ]
    );
    // A value is judged as ours, and a key that it never had is no typing error of ours to guess at.
    let many = file.replace('7', "0");
    assert!(with_needed(&many, &[], &[]).is_err());
    for wrong in ["ownerId: a\n", "controllers: {other: 1}\n", "controllers: [1]\n"] {
        let text = format!("kind: DNSOperator\n{wrong}");
        let error = with_needed(&text, &[], &[]).unwrap_err().to_string();
        assert!(error.contains("is nothing that a DNSOperator file has"), "{wrong}: {error}");
    }
}
