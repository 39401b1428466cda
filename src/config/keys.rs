//! The table of every option: its path, its default and what it may hold.
//!
//! Whatever names an option (the reader, the environment, the messages, the example file, the
//! reference in `docs/`) takes it from here, or a test holds it against this table. What a value
//! means is not here but in the types of the parent module.

/// One option.
#[derive(Debug)]
pub struct Key {
    /// The path in the file, with a dot between section and name: `powerdns.requestTimeout`.
    pub path: &'static str,
    /// The value when nothing sets it, as text; the elements of a list are parted by commas.
    pub default: &'static str,
    /// Whether the file wants a YAML list. Environment and flags part the elements by commas.
    pub list: bool,
    /// What the value may be; completes the sentence "must be …".
    pub allowed: &'static str,
}

/// What the environment variables of all options begin with.
pub(super) const PREFIX: &str = "DNS_SYNCD_";

impl Key {
    const fn text(path: &'static str, default: &'static str, allowed: &'static str) -> Key {
        Key { path, default, list: false, allowed }
    }

    const fn list(path: &'static str, default: &'static str, allowed: &'static str) -> Key {
        Key { path, default, list: true, allowed }
    }

    /// The environment variable: `DNS_SYNCD_`, then the path in upper snake case with `__` for
    /// each dot, as in `DNS_SYNCD_POWERDNS__REQUEST_TIMEOUT`.
    #[must_use]
    pub fn variable(&self) -> String {
        let mut name = String::from(PREFIX);
        for letter in self.path.chars() {
            if letter == '.' {
                name.push_str("__");
                continue;
            }
            if letter.is_ascii_uppercase() {
                name.push('_');
            }
            name.push(letter.to_ascii_uppercase());
        }
        name
    }
}

const RATE: &str = "a whole number from 1 to 1000000";
const BOOL: &str = "`true` or `false`";
const CONCURRENCY: &str = "a whole number from 1 to 1000";

pub(super) static OWNER_ID: Key = Key::text(
    "ownerId",
    "",
    "1 to 63 characters of `a-z`, `0-9`, `.` and `-` that begin and end with a letter or digit; it has no default, \
     because two clusters with one id on the same PowerDNS would delete each other's records",
);
pub(super) static PREVIOUS_OWNER_IDS: Key = Key::list(
    "previousOwnerIds",
    "",
    "a list of owner ids (see `ownerId`), none twice and none of them `ownerId` itself",
);
pub(super) static INTERVAL: Key = Key::text(
    "interval",
    "15s",
    "a duration from 1s to 24h with its unit, or a cron expression of 6 or 7 fields that begins with the seconds",
);
pub(super) static VERIFY_INTERVAL: Key = Key::text(
    "verifyInterval",
    "5m",
    "a duration up to 24h with its unit; 0s to read every zone in each pass",
);
pub(super) static CONTROLLER_NAMES: Key = Key::list(
    "controllerNames",
    "powerdns",
    "a list of at least one name, each 1 to 253 characters without spaces or commas, none twice",
);
pub(super) static NAMESPACES: Key = Key::list(
    "namespaces",
    "",
    "a list of namespace names (1 to 63 characters of `a-z`, `0-9` and `-`), none twice; empty for all namespaces",
);
pub(super) static DRY_RUN: Key = Key::text("dryRun", "false", BOOL);
pub(super) static RELEASE_UPSTREAM_FINALIZERS: Key =
    Key::text("releaseUpstreamFinalizers", "false", BOOL);
pub(super) static POWERDNS_URL: Key = Key::text(
    "powerdns.url",
    "http://127.0.0.1:8081",
    "an `http://` or `https://` URL of a host, with port and path where needed, without user name, query and fragment",
);
pub(super) static POWERDNS_SERVER_ID: Key = Key::text(
    "powerdns.serverId",
    "localhost",
    "1 to 63 characters of `a-z`, `A-Z`, `0-9`, `.`, `_` and `-` that begin with a letter or digit",
);
pub(super) static POWERDNS_API_KEY_FILE: Key = Key::text(
    "powerdns.apiKeyFile",
    "",
    "the path of a file that holds the API key, unless `PDNS_API_KEY` gives the key itself",
);
pub(super) static POWERDNS_CA_FILE: Key =
    Key::text("powerdns.caFile", "", "the path of a file with PEM certificates, or empty");
pub(super) static POWERDNS_REQUEST_TIMEOUT: Key =
    Key::text("powerdns.requestTimeout", "10s", "a duration from 100ms to 10m with its unit");
pub(super) static POWERDNS_REQUESTS_PER_SECOND: Key =
    Key::text("powerdns.requestsPerSecond", "50", RATE);
pub(super) static POWERDNS_BURST: Key = Key::text("powerdns.burst", "50", RATE);
pub(super) static POWERDNS_CONCURRENCY: Key = Key::text("powerdns.concurrency", "4", CONCURRENCY);
pub(super) static POWERDNS_MAX_BATCH_RRSETS: Key =
    Key::text("powerdns.maxBatchRrsets", "500", "a whole number from 1 to 100000");
pub(super) static POWERDNS_MAX_BATCH_BYTES: Key =
    Key::text("powerdns.maxBatchBytes", "1500000", "a whole number from 1000 to 100000000");
pub(super) static KUBERNETES_WRITES_PER_SECOND: Key =
    Key::text("kubernetes.writesPerSecond", "400", RATE);
pub(super) static KUBERNETES_BURST: Key = Key::text("kubernetes.burst", "400", RATE);
pub(super) static KUBERNETES_CONCURRENCY: Key =
    Key::text("kubernetes.concurrency", "16", CONCURRENCY);
pub(super) static POLICY_DELETES: Key =
    Key::text("policy.deletes", "allow", "`allow`, or `never` to hold every delete in an incident");
pub(super) static POLICY_UNDECLARED: Key = Key::text(
    "policy.undeclared",
    "keep",
    "`keep`, or `delete` to make our zones hold nothing but what is declared",
);
pub(super) static POLICY_TAKEOVER: Key = Key::text(
    "policy.takeover",
    "overwrite",
    "`overwrite`, or `protect` to leave RRsets that others wrote as they are",
);
pub(super) static POLICY_ORPHAN_ZONES: Key = Key::text(
    "policy.orphanZones",
    "report",
    "`report`, or `delete`, which needs an empty `namespaces`: a zone of a namespace that is not read looks like an \
     orphan",
);
pub(super) static POLICY_IGNORE: Key = Key::list(
    "policy.ignore",
    "_acme-challenge.*",
    "a list of patterns (`*`, `?`, `[ab]`) for absolute names in lower case with a final dot, none twice",
);
pub(super) static BRAKES_IMPLICIT_PERCENT: Key =
    Key::text("brakes.implicitPercent", "30", "a whole number from 0 to 100");
pub(super) static BRAKES_IMPLICIT_TOTAL: Key =
    Key::text("brakes.implicitTotal", "20", "a whole number from 0 to 1000000");
pub(super) static BRAKES_EXPLICIT_PERCENT: Key = Key::text(
    "brakes.explicitPercent",
    "50",
    "a whole number from 0 to 100, or `none` for no limit",
);
pub(super) static HTTP_LISTEN: Key = Key::text(
    "http.listen",
    "0.0.0.0:8080",
    "an IP address and a port, as in `0.0.0.0:8080` or `[::]:8080`",
);
pub(super) static HTTP_TOKEN_FILE: Key =
    Key::text("http.tokenFile", "", "the path of a file that holds the bearer token, or empty");
pub(super) static HTTP_HMAC_SECRET_FILE: Key = Key::text(
    "http.hmacSecretFile",
    "",
    "the path of a file that holds the secret by which callers sign their bodies, or empty",
);
pub(super) static HTTP_ADMIN_TOKEN_FILE: Key = Key::text(
    "http.adminTokenFile",
    "",
    "the path of a file that holds the bearer token of administrators, or empty",
);
pub(super) static HTTP_ALLOW_ANONYMOUS_NUDGE: Key =
    Key::text("http.allowAnonymousNudge", "false", BOOL);
pub(super) static HTTP_ADVERTISE: Key = Key::text(
    "http.advertise",
    "",
    "a host or an IP address, with a port where it is not that of `http.listen`; empty for `POD_IP`",
);
pub(super) static ELECTION_ENABLED: Key = Key::text("leaderElection.enabled", "true", BOOL);
pub(super) static ELECTION_LEASE_NAME: Key = Key::text(
    "leaderElection.leaseName",
    "dns-syncd",
    "1 to 253 characters of `a-z`, `0-9`, `.` and `-` that begin and end with a letter or digit",
);
pub(super) static ELECTION_LEASE_NAMESPACE: Key = Key::text(
    "leaderElection.leaseNamespace",
    "",
    "the name of a namespace (1 to 63 characters of `a-z`, `0-9` and `-`); empty for that of the pod",
);
pub(super) static ELECTION_LEASE_DURATION: Key = Key::text(
    "leaderElection.leaseDuration",
    "15s",
    "a duration of whole seconds from 2s to 1h with its unit",
);
pub(super) static ELECTION_RENEW_DEADLINE: Key =
    Key::text("leaderElection.renewDeadline", "10s", "a duration from 100ms to 1h with its unit");
pub(super) static ELECTION_RETRY_PERIOD: Key =
    Key::text("leaderElection.retryPeriod", "2s", "a duration from 100ms to 1h with its unit");
pub(super) static METRICS_PER_ZONE: Key = Key::text("metrics.perZone", "false", BOOL);
pub(super) static LOG_LEVEL: Key =
    Key::text("log.level", "info", "`error`, `warn`, `info`, `debug` or `trace`");
pub(super) static LOG_FORMAT: Key = Key::text("log.format", "text", "`text` or `json`");

/// Every option, in the order of the documentation.
pub static KEYS: [&Key; 44] = [
    &OWNER_ID,
    &PREVIOUS_OWNER_IDS,
    &INTERVAL,
    &VERIFY_INTERVAL,
    &CONTROLLER_NAMES,
    &NAMESPACES,
    &DRY_RUN,
    &RELEASE_UPSTREAM_FINALIZERS,
    &POWERDNS_URL,
    &POWERDNS_SERVER_ID,
    &POWERDNS_API_KEY_FILE,
    &POWERDNS_CA_FILE,
    &POWERDNS_REQUEST_TIMEOUT,
    &POWERDNS_REQUESTS_PER_SECOND,
    &POWERDNS_BURST,
    &POWERDNS_CONCURRENCY,
    &POWERDNS_MAX_BATCH_RRSETS,
    &POWERDNS_MAX_BATCH_BYTES,
    &KUBERNETES_WRITES_PER_SECOND,
    &KUBERNETES_BURST,
    &KUBERNETES_CONCURRENCY,
    &POLICY_DELETES,
    &POLICY_UNDECLARED,
    &POLICY_TAKEOVER,
    &POLICY_ORPHAN_ZONES,
    &POLICY_IGNORE,
    &BRAKES_IMPLICIT_PERCENT,
    &BRAKES_IMPLICIT_TOTAL,
    &BRAKES_EXPLICIT_PERCENT,
    &HTTP_LISTEN,
    &HTTP_TOKEN_FILE,
    &HTTP_HMAC_SECRET_FILE,
    &HTTP_ADMIN_TOKEN_FILE,
    &HTTP_ALLOW_ANONYMOUS_NUDGE,
    &HTTP_ADVERTISE,
    &ELECTION_ENABLED,
    &ELECTION_LEASE_NAME,
    &ELECTION_LEASE_NAMESPACE,
    &ELECTION_LEASE_DURATION,
    &ELECTION_RENEW_DEADLINE,
    &ELECTION_RETRY_PERIOD,
    &METRICS_PER_ZONE,
    &LOG_LEVEL,
    &LOG_FORMAT,
];

/// The option of that path.
pub(super) fn find(path: &str) -> Option<&'static Key> {
    KEYS.into_iter().find(|key| key.path == path)
}

/// The names of the sections: `powerdns`, `kubernetes`, …; a name may come more than once.
pub(super) fn sections() -> impl Iterator<Item = &'static str> {
    KEYS.into_iter().filter_map(|key| key.path.split_once('.')).map(|(section, _)| section)
}
