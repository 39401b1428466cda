//! The configuration: file, environment and flags → [`Config`], or every error at once.
//!
//! Pure: `main` reads the file and the environment and hands both in. A [`Config`] is checked once,
//! here; nothing that gets one checks it again. What the files behind `powerdns.apiKeyFile` and
//! `http.tokenFile` and its like hold is not read here.
//!
//! ```text
//! document  YAML text → nodes with lines        layers  file, environment, flags → text per option
//! keys      the table of all options            value   text → value
//! problem   what is wrong, and how it is said   election  the options of the lease, together
//! ```

mod document;
mod election;
mod incumbent;
mod keys;
mod layers;
mod problem;
mod secret;
mod value;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

pub use election::{LeaderElection, MARGIN, Pod};
pub use keys::{KEYS, Key};
pub use problem::{Error, Errors, Origin};
pub use secret::Secret;
pub use value::is_authority;

use layers::{API_KEY_VARIABLE, Layers, Setting};

/// What a configuration is made of. A flag outranks the environment, which outranks the file,
/// which outranks the default. No `Debug`: the environment holds secrets.
pub struct Sources<'a> {
    /// The configuration file: its path, for messages, and its text.
    pub file: Option<(&'a str, &'a str)>,
    /// The whole environment; what is none of ours is left alone.
    pub env: &'a BTreeMap<String, String>,
    /// `path=value` each; of two with one path the later counts.
    pub flags: &'a [String],
}

/// The configuration, checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Tells this daemon from others on the same server.
    pub owner_id: String,
    /// Owner ids that this daemon had before: what carries one of them is ours.
    pub previous_owner_ids: Vec<String>,
    /// When passes start.
    pub interval: Interval,
    /// In which time every zone is read at least once, changed or not; zero: in each pass.
    pub verify_interval: Duration,
    /// The `spec.controllerName` of the classes that are ours; at least one.
    pub controller_names: Vec<String>,
    /// The namespaces that are read; empty for all.
    pub namespaces: Vec<String>,
    /// Nothing is written anywhere.
    pub dry_run: bool,
    /// The finalizers of dns-operator's replicator are taken off with ours.
    pub release_upstream_finalizers: bool,
    /// The DNS server.
    pub powerdns: PowerDns,
    /// The cluster.
    pub kubernetes: Kubernetes,
    /// What may be done at all.
    pub policy: PolicyOptions,
    /// How much may be deleted in one pass.
    pub brakes: BrakeOptions,
    /// The HTTP server of the daemon.
    pub http: Http,
    /// Which of several replicas runs passes.
    pub leader_election: LeaderElection,
    /// Whether there are series of each zone.
    pub metrics_per_zone: bool,
    /// The log.
    pub log: Log,
    /// The pod that this process runs in.
    pub pod: Pod,
    /// What the file says without effect, or under another name, one line each.
    pub notices: Vec<String>,
}

/// When passes start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Interval {
    /// With this much time between them, 1 s to 24 h.
    Every(Duration),
    /// At the times of a cron expression of 6 or 7 fields that begins with the seconds, in UTC.
    Cron(String),
}

/// How the DNS server is reached and how much of it may be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PowerDns {
    /// The base URL, `http` or `https`, without trailing slash and without `/api/v1`.
    pub url: String,
    /// The server's name in the API's paths; needs no escaping there.
    pub server_id: String,
    /// The API key.
    pub api_key: ApiKey,
    /// The authorities that are trusted, and no others, where the URL is `https`; else those of the machine.
    pub ca_file: Option<PathBuf>,
    /// The time one request may take.
    pub request_timeout: Duration,
    /// The rate of all requests together.
    pub requests_per_second: NonZeroU32,
    /// How many requests may go out at once after a quiet time.
    pub burst: NonZeroU32,
    /// How many requests may be under way at once.
    pub concurrency: usize,
    /// The most RRsets of one request.
    pub max_batch_rrsets: usize,
    /// The most bytes of one request's body.
    pub max_batch_bytes: usize,
}

/// The API key of the DNS server, or where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApiKey {
    /// The key itself.
    Inline(Secret),
    /// A file that holds it, read anew when it changes.
    File(PathBuf),
    /// Neither was given. [`Config::load`] refuses that, so it hands out no such configuration.
    Missing,
}

/// How much of the API server may be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kubernetes {
    /// The rate of all writes together.
    pub writes_per_second: NonZeroU32,
    /// How many writes may go out at once after a quiet time.
    pub burst: NonZeroU32,
    /// How many requests may be under way at once.
    pub concurrency: usize,
}

/// What may be done at all.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own")]
pub struct PolicyOptions {
    /// Whether anything may be deleted in PowerDNS.
    pub deletes: bool,
    /// Whether RRsets that nobody declares go from our zones.
    pub delete_undeclared: bool,
    /// Whether RRsets that others wrote stay as they are although they are declared otherwise.
    pub protect: bool,
    /// Whether zones go that carry our mark for a DNSZone that does not exist.
    pub delete_orphan_zones: bool,
    /// Undeclared names that stay under `delete_undeclared`.
    pub ignore: Vec<String>,
}

/// How much may be deleted in one pass before a person is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrakeOptions {
    /// Percent of a zone's RRsets that may go because their objects are gone.
    pub implicit_percent: usize,
    /// RRsets that may go because their objects are gone, over all zones.
    pub implicit_total: usize,
    /// Percent of a zone's RRsets that may go because their objects ask for it; `None`: any.
    pub explicit_percent: Option<usize>,
}

/// The HTTP server of the daemon.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Http {
    /// Where it listens; port 0 takes a free one.
    pub listen: SocketAddr,
    /// A file that holds the bearer token of those who may nudge.
    pub token_file: Option<PathBuf>,
    /// A file that holds the secret by which those sign their bodies who have no bearer token.
    pub hmac_secret_file: Option<PathBuf>,
    /// A file that holds the bearer token of those who may also release holds and see status and plan.
    pub admin_token_file: Option<PathBuf>,
    /// Anybody who reaches the listener may nudge.
    pub allow_anonymous_nudge: bool,
    /// Where other replicas reach the listener; `None`: at the pod's address.
    pub advertise: Option<String>,
}

/// The log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Log {
    /// What is logged.
    pub level: Level,
    /// How it looks.
    pub format: LogFormat,
}

/// How much is logged; each level includes those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// What needs somebody.
    Error,
    /// What somebody should know.
    Warn,
    /// What changed.
    Info,
    /// What was decided.
    Debug,
    /// What was sent and received.
    Trace,
}

/// How a log line looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
}

impl Config {
    /// Reads and checks a configuration.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with it: names that are no option, values that an option does not
    /// allow, a missing owner id or API key. Of a file that is not YAML only the first fault, and
    /// then no values are judged.
    pub fn load(sources: &Sources<'_>) -> Result<Config, Errors> {
        let layers = Layers::gather(sources).map_err(Errors)?;
        let mut reader = Reader { layers };
        let pod = Pod::of(sources.env);
        let config = reader.config(sources.env.get(API_KEY_VARIABLE));
        let config = config.map(|config| Config { pod, ..config });
        match config {
            Some(config) if reader.layers.problems.is_empty() => Ok(config),
            Some(_) | None => Err(Errors(reader.layers.problems)),
        }
    }
}

/// Turns texts into values and collects what is wrong with them. Each section reads all of its
/// options before the first `?`, so that no error hides another.
struct Reader {
    layers: Layers,
}

impl Reader {
    fn config(&mut self, api_key: Option<&String>) -> Option<Config> {
        let owner_id = self.read(&keys::OWNER_ID, value::owner_id);
        let previous_owner_ids = self.read(&keys::PREVIOUS_OWNER_IDS, |text| {
            let ids = value::list(text, |id| value::owner_id(id).is_some())?;
            ids.iter().all(|id| Some(id) != owner_id.as_ref()).then_some(ids)
        });
        let interval = self.read(&keys::INTERVAL, value::interval);
        let verify_interval = self.read(&keys::VERIFY_INTERVAL, value::verify_interval);
        let controller_names = self.read(&keys::CONTROLLER_NAMES, value::controller_names);
        let namespaces = self.read(&keys::NAMESPACES, value::namespaces);
        let dry_run = self.read(&keys::DRY_RUN, |text| text.parse().ok());
        let release = self.read(&keys::RELEASE_UPSTREAM_FINALIZERS, |text| text.parse().ok());
        let powerdns = self.powerdns(api_key);
        let kubernetes = self.kubernetes();
        let policy = self.policy(namespaces.as_ref().is_some_and(|all| !all.is_empty()));
        let brakes = self.brakes();
        let http = self.http();
        let election = self.election(powerdns.as_ref());
        let per_zone = self.read(&keys::METRICS_PER_ZONE, |text| text.parse().ok());
        let level = self.read(&keys::LOG_LEVEL, value::level);
        let format = self.read(&keys::LOG_FORMAT, value::format);
        Some(Config {
            owner_id: owner_id?,
            previous_owner_ids: previous_owner_ids?,
            interval: interval?,
            verify_interval: verify_interval?,
            controller_names: controller_names?,
            namespaces: namespaces?,
            dry_run: dry_run?,
            release_upstream_finalizers: release?,
            powerdns: powerdns?,
            kubernetes: kubernetes?,
            policy: policy?,
            brakes: brakes?,
            http: http?,
            leader_election: election?,
            metrics_per_zone: per_zone?,
            log: Log { level: level?, format: format? },
            pod: Pod::default(),
            notices: std::mem::take(&mut self.layers.notices),
        })
    }

    fn path(&self, key: &'static Key) -> Option<PathBuf> {
        Some(self.layers.get(key).text).filter(|text| !text.is_empty()).map(PathBuf::from)
    }

    fn http(&mut self) -> Option<Http> {
        let listen = self.read(&keys::HTTP_LISTEN, |text| text.parse().ok());
        let anonymous = self.read(&keys::HTTP_ALLOW_ANONYMOUS_NUDGE, |text| text.parse().ok());
        let advertise = self.read(&keys::HTTP_ADVERTISE, value::advertise);
        Some(Http {
            token_file: self.path(&keys::HTTP_TOKEN_FILE),
            hmac_secret_file: self.path(&keys::HTTP_HMAC_SECRET_FILE),
            admin_token_file: self.path(&keys::HTTP_ADMIN_TOKEN_FILE),
            listen: listen?,
            allow_anonymous_nudge: anonymous?,
            advertise: advertise.map(|text| Some(text).filter(|text| !text.is_empty()))?,
        })
    }

    fn powerdns(&mut self, api_key: Option<&String>) -> Option<PowerDns> {
        let timeouts = Duration::from_millis(100)..=Duration::from_mins(10);
        let url = self.read(&keys::POWERDNS_URL, value::base_url);
        let server_id = self.read(&keys::POWERDNS_SERVER_ID, value::server_id);
        let api_key = self.api_key(api_key);
        let ca_file = self.path(&keys::POWERDNS_CA_FILE);
        let request_timeout =
            self.read(&keys::POWERDNS_REQUEST_TIMEOUT, |text| value::duration(text, timeouts));
        let requests_per_second = self.read(&keys::POWERDNS_REQUESTS_PER_SECOND, value::rate);
        let burst = self.read(&keys::POWERDNS_BURST, value::rate);
        let concurrency =
            self.read(&keys::POWERDNS_CONCURRENCY, |text| value::number(text, 1..=1000));
        let rrsets =
            self.read(&keys::POWERDNS_MAX_BATCH_RRSETS, |text| value::number(text, 1..=100_000));
        let bytes = self
            .read(&keys::POWERDNS_MAX_BATCH_BYTES, |text| value::number(text, 1000..=100_000_000));
        Some(PowerDns {
            url: url?,
            server_id: server_id?,
            api_key,
            ca_file,
            request_timeout: request_timeout?,
            requests_per_second: requests_per_second?,
            burst: burst?,
            concurrency: concurrency?,
            max_batch_rrsets: rrsets?,
            max_batch_bytes: bytes?,
        })
    }

    fn kubernetes(&mut self) -> Option<Kubernetes> {
        let writes_per_second = self.read(&keys::KUBERNETES_WRITES_PER_SECOND, value::rate);
        let burst = self.read(&keys::KUBERNETES_BURST, value::rate);
        let concurrency =
            self.read(&keys::KUBERNETES_CONCURRENCY, |text| value::number(text, 1..=1000));
        Some(Kubernetes {
            writes_per_second: writes_per_second?,
            burst: burst?,
            concurrency: concurrency?,
        })
    }

    fn policy(&mut self, some_namespaces: bool) -> Option<PolicyOptions> {
        let deletes = self.read(&keys::POLICY_DELETES, |t| value::either(t, ["never", "allow"]));
        let undeclared =
            self.read(&keys::POLICY_UNDECLARED, |t| value::either(t, ["keep", "delete"]));
        let protect =
            self.read(&keys::POLICY_TAKEOVER, |t| value::either(t, ["overwrite", "protect"]));
        let orphans = self.read(&keys::POLICY_ORPHAN_ZONES, |t| {
            value::either(t, ["report", "delete"]).filter(|delete| !(*delete && some_namespaces))
        });
        let ignore = self.read(&keys::POLICY_IGNORE, value::patterns);
        Some(PolicyOptions {
            deletes: deletes?,
            delete_undeclared: undeclared?,
            protect: protect?,
            delete_orphan_zones: orphans?,
            ignore: ignore?,
        })
    }

    fn brakes(&mut self) -> Option<BrakeOptions> {
        let percent = |text: &str| value::number(text, 0..=100);
        let implicit_percent = self.read(&keys::BRAKES_IMPLICIT_PERCENT, percent);
        let implicit_total =
            self.read(&keys::BRAKES_IMPLICIT_TOTAL, |text| value::number(text, 0..=1_000_000));
        let explicit_percent = self.read(&keys::BRAKES_EXPLICIT_PERCENT, |text| {
            if text == "none" { Some(None) } else { percent(text).map(Some) }
        });
        Some(BrakeOptions {
            implicit_percent: implicit_percent?,
            implicit_total: implicit_total?,
            explicit_percent: explicit_percent?,
        })
    }

    /// The incumbent takes `PDNS_API_KEY` before any file; a flag outranks the environment still.
    fn api_key(&mut self, variable: Option<&String>) -> ApiKey {
        let key = &keys::POWERDNS_API_KEY_FILE;
        let file = self.layers.get(key);
        let flag_names_file = matches!(file.origin, Origin::Flag(_)) && !file.text.is_empty();
        // A key out of a Kubernetes Secret often ends in a line break.
        let inline = variable.map(|text| text.trim());
        if let Some(text) = inline.filter(|text| !text.is_empty() && !flag_names_file) {
            let secret = Secret::new(text.to_owned());
            if secret.fits_a_header() {
                return ApiKey::Inline(secret);
            }
            let origin = Origin::Variable(API_KEY_VARIABLE.into());
            let problem = "must be printable ASCII, since the key travels in an HTTP header";
            self.layers.problems.push(Error::new(origin, None, problem));
        } else if !file.text.is_empty() {
            return ApiKey::File(PathBuf::from(file.text));
        } else if !self.layers.refused(key) {
            let problem = "there is no API key: name a file that holds it, here or in \
                PDNS_API_KEY_FILE, or give the key itself in PDNS_API_KEY";
            self.layers.problems.push(Error::new(file.origin, Some(key.path), problem));
        }
        ApiKey::Missing
    }

    /// The value of an option, or a problem that says what it must be.
    fn read<T>(&mut self, key: &Key, parse: impl FnOnce(&str) -> Option<T>) -> Option<T> {
        let Setting { text, origin } = self.layers.get(key);
        let value = parse(&text);
        if value.is_none() && !(origin == Origin::Default && self.layers.refused(key)) {
            // A URL can hold a password before an `@` or a token after a `?`.
            let shown = origin != Origin::Default && !text.contains(['@', '?']);
            let problem = format!("must be {}", key.allowed);
            let error = Error::new(origin, Some(key.path), problem);
            let value = shown.then_some(text);
            self.layers.problems.push(Error { value, ..error });
        }
        value
    }
}
