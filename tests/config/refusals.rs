//! What is refused, in which words, and that all of it comes at once.

use std::collections::BTreeSet;

use dns_syncd::config::{KEYS, Origin};

use super::{defaults, load, refusal, with_needed};

/// Options and values that they refuse, parted by ` | `.
const VALUES: &str = "
ownerId: | East | -a | a- | .a | a_b | a b | é | aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
previousOwnerIds: East | a,a | a,, | a_b | east
interval: | 15 | * * * * *
verifyInterval: | 0 | 300 | -1s | 25h
controllerNames: | a,,b | a b | a,a
namespaces: A | a.b | -a | a- | a, | a,a | aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
dryRun: | yes | True | 1
releaseUpstreamFinalizers: | yes
powerdns.url: | 127.0.0.1:8081 | ftp://a | http:// | http:///x | http://a b | http://a:0 | http://a:65536
powerdns.url: http://a: | http://[::1 | http://[::g] | http://[::1]x | http://u:p@a | http://a?x=y | http://a#x
powerdns.url: http://-a | http://é | http://a:1:2 | http://a\\b
powerdns.serverId: | . | .. | a/b | a b | aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
powerdns.requestTimeout: 10 | 0s | 99ms | 11m | -1s
powerdns.requestsPerSecond: | 0 | -1 | 1.5 | 1000001 | 99999999999 | many
powerdns.burst: | 0 | 1000001
powerdns.concurrency: | 0 | 1001 | 4.0
powerdns.maxBatchRrsets: 0 | 100001
powerdns.maxBatchBytes: 999 | 100000001 | 1MB
kubernetes.writesPerSecond: 0 | 1000001
kubernetes.burst: 0 | 1000001
kubernetes.concurrency: 0 | 1001
policy.deletes: ask | true
policy.undeclared: | Keep | purge
policy.takeover: | true
policy.orphanZones: | keep
policy.ignore: A.* | a b | [a | a,a | é
brakes.implicitPercent: -1 | 101 | none
brakes.implicitTotal: -1 | 1000001
brakes.explicitPercent: 101 | off
http.allowAnonymousNudge: | yes | True | 1
http.advertise: /x | a:b | a/b | u@h | h?x
leaderElection.enabled: | yes | 1
leaderElection.leaseName: | A | -a | a_b | a/b
leaderElection.leaseNamespace: A | a.b | a,b | -a
leaderElection.leaseDuration: | 15 | 1s | 2500ms | 2h
leaderElection.renewDeadline: | 10 | 50ms | 2h
leaderElection.retryPeriod: | 2 | 50ms | 2h
http.listen: | :8080 | 8080 | localhost:8080 | 0.0.0.0 | 0.0.0.0:65536
metrics.perZone: | yes | 1
log.level: | Info | warning | off
log.format: | JSON | logfmt
";

#[test]
fn refused_values_are_named_with_path_origin_and_what_is_allowed() {
    let base = "ownerId: east\npowerdns: {apiKeyFile: /key}\n";
    // Any text is a path, so the two files refuse nothing.
    let mut untried: BTreeSet<&str> = KEYS.iter().map(|key| key.path).collect();
    for (path, texts) in VALUES.lines().filter_map(|line| line.split_once(": ")) {
        let key = KEYS.iter().find(|key| key.path == path).unwrap();
        for text in texts.split('|').map(str::trim) {
            let errors = load(base, &[(&key.variable(), text)], &[]).expect_err(text);
            let [error] = errors.iter().collect::<Vec<_>>().try_into().unwrap();
            assert_eq!(error.key.as_deref(), Some(path));
            assert_eq!(error.origin, Origin::Variable(key.variable()));
            assert_eq!(error.problem, format!("must be {}", key.allowed));
            // Only what may hold a secret is not shown.
            let shown = !text.contains(['@', '?']);
            assert_eq!(error.value.as_deref(), shown.then_some(text));
            untried.remove(path);
        }
    }
    assert_eq!(
        Vec::from_iter(untried),
        [
            "http.adminTokenFile",
            "http.hmacSecretFile",
            "http.tokenFile",
            "powerdns.apiKeyFile",
            "powerdns.caFile"
        ]
    );
}

/// Files, ` => `, and the line that each is refused with; `\n` is a line break of the file.
const FILES: &str = r#"
ownerid: a => f.yaml:1: ownerid: is no known option; the nearest one is ownerId
powerdns:\n  brust: 1 => f.yaml:2: powerdns.brust: is no known option; the nearest one is powerdns.burst
powerDNS: {url: x, y: z} => f.yaml:1: powerDNS: is no known option; the nearest one is powerdns
powerdns: {apiKey: x} => f.yaml:1: powerdns.apiKey: is no known option; the nearest one is powerdns.apiKeyFile
url: x => f.yaml:1: url: is no known option; the nearest one is powerdns.url
requestTimout: 1s => f.yaml:1: requestTimout: is no known option; the nearest one is powerdns.requestTimeout
dryrun: true => f.yaml:1: dryrun: is no known option; the nearest one is dryRun
orphans: {report: 1} => f.yaml:1: orphans: is no known option, nor close to one
foo: => f.yaml:1: foo: is no known option, nor close to one
"a\tb": c => f.yaml:1: a\tb: is no known option, nor close to one
<<: {interval: 1s} => f.yaml:1: <<: is no known option, nor close to one
log: {}\nlog: {level: warn} => f.yaml:2: log: is given twice
log:\n  level: warn\n  level: info => f.yaml:3: log.level: is given twice
log.level: warn\nlog: {level: info} => f.yaml:2: log.level: is given twice
log: text => f.yaml:1: log: must be a mapping of options
log: [a] => f.yaml:1: log: must be a mapping of options
log: {format: {a: b}} => f.yaml:1: log.format: must be `text` or `json`
log: {format: [text]} => f.yaml:1: log.format: must be `text` or `json`
- a => f.yaml:1: the file must be a mapping of options
a => f.yaml:1: the file must be a mapping of options
interval: 1s\n---\ninterval: 2s => f.yaml:2: a second document: the file must be one mapping
interval: &a 1s\nlog: {level: *a} => f.yaml:2: tags and aliases are not supported
interval: !!str 1s => f.yaml:1: tags and aliases are not supported
? [a]\n: b => f.yaml:1: a key must be plain text
"#;

#[test]
fn wrong_names_and_shapes_in_the_file() {
    for (file, line) in FILES.lines().filter_map(|case| case.split_once(" => ")) {
        let file = file.replace("\\n", "\n");
        assert_eq!(refusal(with_needed(&file, &[], &[])), [line], "{file}");
    }
    for list in ["a", "[[a]]", "[~]", "['']", "[' ']", "['a,b']", "{a: b}"] {
        let file = format!("namespaces: {list}");
        let [line] = refusal(with_needed(&file, &[], &[])).try_into().unwrap();
        assert!(line.starts_with("f.yaml:1: namespaces"), "{line}");
        assert!(line.contains(": must be a list of "), "{line}");
    }
}

#[test]
fn a_required_option_of_a_wrong_shape_is_not_missing_as_well() {
    let [line] = refusal(load("ownerId: [a]", &[("PDNS_API_KEY", "k3y")], &[])).try_into().unwrap();
    assert!(line.starts_with("f.yaml:1: ownerId: must be "), "{line}");
    let file = "ownerId: a\npowerdns: {apiKeyFile: [a]}";
    let [line] = refusal(load(file, &[], &[])).try_into().unwrap();
    assert!(line.starts_with("f.yaml:2: powerdns.apiKeyFile: must be "), "{line}");
}

#[test]
fn unknown_variables_and_flags() {
    let near = "is no known option; the nearest one is";
    for (name, nearest) in [
        ("DNS_SYNCD_OWNERID", "DNS_SYNCD_OWNER_ID"),
        ("DNS_SYNCD_POWERDNS_BURST", "DNS_SYNCD_POWERDNS__BURST"),
        ("DNS_SYNCD_POWERDNS__API_KEY", "DNS_SYNCD_POWERDNS__API_KEY_FILE"),
    ] {
        let lines = refusal(with_needed("", &[(name, "s3cret")], &[]));
        assert_eq!(lines, [format!("environment variable {name}: {near} {nearest}")]);
    }
    let lines = refusal(with_needed("", &[], &["log.level=warn", "pdns.burst=1", "s3cret"]));
    assert_eq!(
        lines,
        [
            format!("--set number 2: pdns.burst: {near} powerdns.burst"),
            "--set number 3: must be path=value, as in powerdns.burst=20".to_owned(),
        ]
    );
}

#[test]
fn other_variables_are_left_alone() {
    let env = [
        ("DNS_SYNCD_CONFIG", "/etc/f.yaml"),
        ("POD_NAME", ""),
        ("DNS_SYNC", "x"),
        ("PDNS_API_URL", ""),
    ];
    assert_eq!(with_needed("", &env, &[]), Ok(defaults()));
    let named = with_needed("", &[("POD_NAME", "x")], &[]).unwrap();
    assert_eq!(named.pod.name.as_deref(), Some("x"));
}

#[test]
fn variables_that_kubernetes_makes_of_our_service_are_left_alone() {
    let links = [
        ("DNS_SYNCD_SERVICE_HOST", "10.0.0.1"),
        ("DNS_SYNCD_SERVICE_PORT", "8080"),
        ("DNS_SYNCD_SERVICE_PORT_HTTP", "8080"),
        ("DNS_SYNCD_PORT", "tcp://10.0.0.1:8080"),
        ("DNS_SYNCD_PORT_8080_TCP", "tcp://10.0.0.1:8080"),
        ("DNS_SYNCD_PORT_8080_TCP_ADDR", "10.0.0.1"),
        ("DNS_SYNCD_METRICS_SERVICE_HOST", "10.0.0.2"),
        ("DNS_SYNCD_METRICS_SERVICE_PORT", "9090"),
        ("DNS_SYNCD_METRICS_PORT_9090_TCP_PROTO", "tcp"),
    ];
    assert_eq!(with_needed("", &links, &[]), Ok(defaults()));
    // Without the pair of host and port it is a mistake of ours.
    assert_eq!(refusal(with_needed("", &[("DNS_SYNCD_PORT", "8080")], &[])).len(), 1);
    let mistakes =
        [&links[..], &[("DNS_SYNCD_HTTP__PORT", "8080"), ("DNS_SYNCD_PORTS", "1")]].concat();
    assert_eq!(refusal(with_needed("", &mistakes, &[])).len(), 2);
}

#[test]
fn a_lease_that_no_request_fits_into_is_refused() {
    let flags = |text: &str| -> Vec<String> {
        let paths = ["leaderElection.leaseDuration", "powerdns.requestTimeout"];
        let paths =
            [paths[0], paths[1], "leaderElection.retryPeriod", "leaderElection.renewDeadline"];
        paths.iter().zip(text.split(' ')).map(|(path, text)| format!("{path}={text}")).collect()
    };
    let load = |text: &str, more: &[&str]| {
        let flags = flags(text);
        let flags: Vec<&str> =
            flags.iter().map(String::as_str).chain(more.iter().copied()).collect();
        with_needed("", &[], &flags)
    };
    for good in ["13s 10s 2s 10s", "4s 1s 500ms 3s", "2s 500ms 500ms 1s"] {
        assert!(load(good, &[]).is_ok(), "{good}");
    }
    for (bad, names) in [
        ("13s 10001ms 2s 10s", ["leaseDuration (13s)", "powerdns.requestTimeout (10.001s)"]),
        ("15s 10s 5s 10s", ["retryPeriod (5s)", "powerdns.requestTimeout (10s)"]),
        ("13s 10s 2s 13s", ["renewDeadline (13s)", "leaseDuration (13s)"]),
        ("13s 10s 2s 2s", ["renewDeadline (2s)", "retryPeriod (2s)"]),
    ] {
        let [line] = refusal(load(bad, &[])).try_into().unwrap();
        assert!(names.iter().all(|name| line.contains(name)), "{line}");
        // Who elects nobody may have any.
        assert!(load(bad, &["leaderElection.enabled=false"]).is_ok(), "{bad}");
    }
    // It is told where somebody wrote something.
    let [line] =
        refusal(with_needed("powerdns: {requestTimeout: 20s}", &[], &[])).try_into().unwrap();
    assert_eq!(
        line,
        "f.yaml:1: powerdns.requestTimeout: leaderElection.leaseDuration (15s) must be at least \
         powerdns.requestTimeout (20s) and leaderElection.retryPeriod (2s) together, and 1s more"
    );
}

#[test]
fn every_error_at_once() {
    let file = "intervall: 1s\npowerdns:\n  burst: 0\n  url: 8081\n";
    let lines = refusal(load(
        file,
        &[("DNS_SYNCD_LOG__FORMAT", "xml"), ("DNS_SYNCD_X", "1")],
        &["log.level=loud", "nonsense", "kubernetes.burst=none"],
    ));
    let begins = [
        "f.yaml:1: intervall: ",
        "environment variable DNS_SYNCD_X: ",
        "--set number 2: ",
        "not set: ownerId: must be 1 to 63 characters",
        "f.yaml:4: powerdns.url = \"8081\": must be ",
        "not set: powerdns.apiKeyFile: there is no API key: ",
        "f.yaml:3: powerdns.burst = \"0\": must be ",
        "--set number 3: kubernetes.burst = \"none\": must be ",
        "--set number 1: log.level = \"loud\": must be ",
        "environment variable DNS_SYNCD_LOG__FORMAT: log.format = \"xml\": must be ",
    ];
    assert_eq!(lines.len(), begins.len(), "{lines:#?}");
    for (line, begin) in lines.iter().zip(begins) {
        assert!(line.starts_with(begin), "{line}\ndoes not begin with\n{begin}");
    }
}

#[test]
fn a_file_that_is_not_yaml_hides_no_wrong_name_and_makes_nothing_missing() {
    let outcome = load("ownerId: [", &[("DNS_SYNCD_X", "1")], &["x=1", "log.level=loud"]);
    let [file, variable, flag] = refusal(outcome).try_into().unwrap();
    assert!(file.starts_with("f.yaml:1: not YAML"), "{file}");
    assert!(variable.contains("DNS_SYNCD_X") && flag.contains("x:"), "{variable} {flag}");
}
