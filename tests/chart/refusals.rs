//! What the chart refuses, and that it says why in words that help.

use crate::helm::{NEEDED, template, try_template};
use crate::support::root;

/// Values and what the refusal must say.
#[rustfmt::skip]
const WRONG: [(&str, &[&str]); 15] = [
    ("replica=2", &["additional properties 'replica' not allowed"]),
    ("replicas=two", &["at '/replicas'", "want integer"]),
    ("config.intervall=15s", &["at '/config'", "'intervall' not allowed"]),
    ("config.interval=15", &["at '/config/interval'", "want string"]),
    ("config.powerdns.url=powerdns:8081", &["at '/config/powerdns/url'", "does not match pattern"]),
    ("config.powerdns.burst=0", &["at '/config/powerdns/burst'", "minimum", "1"]),
    ("config.policy.takeover=always", &["at '/config/policy/takeover'", "'overwrite', 'protect'"]),
    ("config.dryRun=yes", &["at '/config/dryRun'", "want boolean"]),
    ("config.namespaces=team-a", &["at '/config/namespaces'", "want array"]),
    ("config.policy=null", &["at '/config'", "missing property 'policy'"]),
    ("image.pullPolicy=Sometimes", &["at '/image/pullPolicy'", "'Always', 'IfNotPresent', 'Never'"]),
    ("image.digest=abc", &["at '/image/digest'", "does not match pattern"]),
    ("service.port=http", &["at '/service/port'", "want integer"]),
    ("secrets.apiKey.existingSecrets=x", &["at '/secrets/apiKey'", "'existingSecrets' not allowed"]),
    ("prometheusRule.passWithin=10", &["at '/prometheusRule/passWithin'"]),
];

/// What helm says when it refuses.
#[track_caller]
fn refusal(values: &[&str]) -> String {
    try_template("dns", values).map(drop).expect_err("it must be refused")
}

#[test]
fn the_schema_refuses_wrong_values_and_names_them() {
    for (wrong, words) in WRONG {
        let said = refusal(&[&NEEDED[..], &["--set", wrong]].concat());
        for word in words {
            assert!(said.contains(word), "{wrong} is refused without {word:?}:\n{said}");
        }
    }
}

/// Values without the two that are needed, and what the refusal must say.
#[rustfmt::skip]
const TOGETHER: [(&str, &[&str]); 8] = [
    ("", &["config.ownerId is required", "two clusters with one id", "--set config.ownerId=prod-eu"]),
    ("config.ownerId=a", &["there is no PowerDNS API key", "secrets.apiKey.existingSecret"]),
    ("config.ownerId=a,secrets.apiKey.existingSecret=x,secrets.apiKey.value=y", &["secrets.apiKey", "not both"]),
    ("config.ownerId=a,secrets.apiKey.existingSecret=x,config.powerdns.apiKeyFile=/y", &["both give the PowerDNS API key"]),
    ("config.ownerId=a,secrets.apiKey.value=x,secrets.nudgeToken.value=x,config.http.tokenFile=/y", &["both give the token"]),
    ("config.ownerId=a,secrets.apiKey.value=x,config.policy.orphanZones=delete,config.namespaces={b}", &["orphanZones", "an empty config.namespaces"]),
    ("config.ownerId=a,secrets.apiKey.value=x,replicas=2,config.leaderElection.enabled=false", &["replicas", "config.leaderElection.enabled", "would write"]),
    ("config.ownerId=a,env[0].name=OTHER", &["there is no PowerDNS API key"]),
];

#[test]
fn values_that_need_or_exclude_each_other_are_refused_with_the_reason() {
    for (wrong, words) in TOGETHER {
        let said = refusal(&["--set", wrong]);
        for word in words {
            assert!(said.contains(word), "{wrong:?} is refused without {word:?}:\n{said}");
        }
    }
}

#[test]
fn the_key_may_come_from_any_of_its_places() {
    for good in [
        "secrets.apiKey.existingSecret=x",
        "secrets.apiKey.value=x",
        "config.powerdns.apiKeyFile=/run/key",
        "env[0].name=PDNS_API_KEY",
        "env[0].name=PDNS_API_KEY_FILE",
    ] {
        template("dns", &["--set", "config.ownerId=a", "--set", good]);
    }
}

/// The first fence of a language that shows an installation.
fn fenced<'a>(text: &'a str, language: &str) -> &'a str {
    let begin = format!("```{language}\n");
    let fences = text.split(begin.as_str()).skip(1);
    let mut shown = fences.filter_map(|rest| Some(rest.split_once("```")?.0));
    shown.find(|shown| shown.contains("helm install")).expect(language)
}

/// The arguments of a shown command that set values.
fn settings(shown: &str) -> Vec<&str> {
    let words: Vec<&str> = shown.split_whitespace().collect();
    let pairs = words.windows(2).filter(|pair| pair[0] == "--set");
    pairs.flatten().copied().collect()
}

#[test]
fn shown_commands_do_what_is_shown() {
    let install = std::fs::read_to_string(root().join("docs/install.md")).unwrap();
    for page in ["docs/install.md", "docs/quickstart.md", "README.md", "charts/dns-syncd/README.md"]
    {
        let text = std::fs::read_to_string(root().join(page)).unwrap();
        let settings = settings(fenced(&text, "sh"));
        assert!(settings.len() > 4, "{settings:?}");
        template("dns", &settings);
    }
    let shown = fenced(&install, "console");
    let said = refusal(&settings(shown.lines().next().unwrap()));
    // `helm install` begins with words of its own, and asks the cluster first.
    let tail = |text: &str| {
        text.lines().filter(|l| l.starts_with("- ")).map(str::to_owned).collect::<Vec<_>>()
    };
    assert!(!tail(shown).is_empty());
    assert_eq!(tail(&said), tail(shown), "docs/install.md shows another message");
}
