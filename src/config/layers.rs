//! Which text each option has, and from where: file, environment and flags laid over each other.
//!
//! It finds what names no option and what has the wrong shape. Whether a text is a good value is
//! decided later, and only of the text in effect: what a higher layer covers is not judged.

use std::collections::{BTreeMap, BTreeSet};

use super::Sources;
use super::document::{self, Entry, Fault, Node};
use super::incumbent;
use super::keys::{self, KEYS, Key, PREFIX};
use super::problem::{Error, Origin, nearest};

/// The incumbent's names for options.
const ALIASES: [(&str, &Key); 2] =
    [("PDNS_API_URL", &keys::POWERDNS_URL), ("PDNS_API_KEY_FILE", &keys::POWERDNS_API_KEY_FILE)];

/// The incumbent's variable for the API key itself.
pub(super) const API_KEY_VARIABLE: &str = "PDNS_API_KEY";

/// The variable that names the configuration file, which is read before anything is here.
const CONFIG_VARIABLE: &str = "DNS_SYNCD_CONFIG";

/// A text and where it came from.
#[derive(Debug, Clone)]
pub(super) struct Setting {
    /// The text; the elements of a list are parted by commas.
    pub(super) text: String,
    /// Where it came from.
    pub(super) origin: Origin,
}

/// The texts in effect.
#[derive(Debug, Default)]
pub(super) struct Layers {
    /// By path; an option that nothing sets is absent.
    set: BTreeMap<&'static str, Setting>,
    /// What has no effect, or another name.
    pub(super) notices: Vec<String>,
    /// What was wrong so far.
    pub(super) problems: Vec<Error>,
}

impl Layers {
    /// Lays the sources over each other, the lowest first.
    ///
    /// # Errors
    ///
    /// The file is no YAML mapping. What it was meant to set is then unknown, and to judge the
    /// rest would report as missing what stands in it; names are still looked at.
    pub(super) fn gather(sources: &Sources<'_>) -> Result<Layers, Vec<Error>> {
        let mut layers = Layers::default();
        let mut readable = true;
        if let Some((path, text)) = sources.file {
            match document::parse(text) {
                Ok(entries) if incumbent::is_its_file(&entries) => {
                    let found = incumbent::read(path, entries);
                    layers.set.extend(found.set.into_iter().map(|(key, s)| (key.path, s)));
                    layers.notices = found.notices;
                    layers.problems.extend(found.problems);
                }
                Ok(entries) => {
                    let seen = BTreeSet::new();
                    FileLayer { layers: &mut layers, path, seen }.section("", entries);
                }
                Err(Fault { line, problem }) => {
                    readable = false;
                    let origin = Origin::File { path: path.to_owned(), line };
                    layers.problems.push(Error::new(origin, None, problem));
                }
            }
        }
        layers.environment(sources.env);
        layers.flags(sources.flags);
        if readable { Ok(layers) } else { Err(layers.problems) }
    }

    /// Whether what a lower layer gives for the option was already refused for its shape, so that
    /// the option is not missing as well.
    pub(super) fn refused(&self, key: &Key) -> bool {
        self.problems.iter().any(|error| error.key.as_deref() == Some(key.path))
    }

    /// The text in effect, which is the default when nothing sets it.
    pub(super) fn get(&self, key: &Key) -> Setting {
        let default = || Setting { text: key.default.to_owned(), origin: Origin::Default };
        self.set.get(key.path).cloned().unwrap_or_else(default)
    }

    fn environment(&mut self, env: &BTreeMap<String, String>) {
        for (name, text) in env {
            let key = if name.starts_with(PREFIX) {
                KEYS.into_iter().find(|key| key.variable() == *name)
            } else {
                // The incumbent takes an empty variable for an absent one.
                let same = |(alias, _): &(&str, _)| alias == name && !text.is_empty();
                ALIASES.into_iter().find(same).map(|(_, key)| key)
            };
            let origin = Origin::Variable(name.clone());
            if let Some(key) = key {
                self.set_variable(key, Setting { text: text.clone(), origin });
            } else if let Some(rest) = name.strip_prefix(PREFIX)
                && name != CONFIG_VARIABLE
                && !is_service_link(name, env)
            {
                let path = rest.replace("__", ".").replace('_', "");
                let near = nearest(&path, KEYS.iter().map(|key| key.path)).and_then(keys::find);
                let problem = unknown(near.map(Key::variable).as_deref());
                self.problems.push(Error::new(origin, None, problem));
            }
        }
    }

    /// One option can have two variables. Neither outranks the other, so they must agree.
    fn set_variable(&mut self, key: &'static Key, setting: Setting) {
        match self.set.get(key.path) {
            Some(Setting { text, origin: other @ Origin::Variable(_) })
                if *text != setting.text =>
            {
                let problem = format!("differs from {other}, which sets the same option; set one");
                self.problems.push(Error::new(setting.origin, Some(key.path), problem));
            }
            Some(_) | None => {
                self.set.insert(key.path, setting);
            }
        }
    }

    fn flags(&mut self, flags: &[String]) {
        for (index, flag) in flags.iter().enumerate() {
            let origin = Origin::Flag(index + 1);
            if let Some((path, text)) = flag.split_once('=') {
                if let Some(key) = keys::find(path) {
                    self.set.insert(key.path, Setting { text: text.to_owned(), origin });
                } else {
                    let problem = unknown(nearest(path, KEYS.iter().map(|key| key.path)));
                    self.problems.push(Error::new(origin, Some(path), problem));
                }
            } else {
                // The flag is not repeated: a key could stand in it.
                let problem = "must be path=value, as in powerdns.burst=20";
                self.problems.push(Error::new(origin, None, problem));
            }
        }
    }
}

fn unknown(nearest: Option<&str>) -> String {
    match nearest {
        Some(name) => format!("is no known option; the nearest one is {name}"),
        None => "is no known option, nor close to one".into(),
    }
}

/// Whether Kubernetes made this variable: for each Service of the namespace it puts
/// `X_SERVICE_HOST`, `X_SERVICE_PORT[_NAME]` and `X_PORT[_…]` into every pod (`enableServiceLinks`),
/// and our own Service is called `dns-syncd`. The pair of host and port is always complete, which
/// tells these from a misspelt option.
fn is_service_link(name: &str, env: &BTreeMap<String, String>) -> bool {
    let with = |service: &str, suffix: &str| env.contains_key(&format!("{service}{suffix}"));
    ["_SERVICE_HOST", "_SERVICE_PORT", "_PORT"].into_iter().any(|mark| {
        name.match_indices(mark).any(|(at, _)| {
            let (service, rest) = (&name[..at], &name[at + mark.len()..]);
            (rest.is_empty() || rest.starts_with('_'))
                && with(service, "_SERVICE_HOST")
                && with(service, "_SERVICE_PORT")
        })
    })
}

/// The walk through the file's tree.
struct FileLayer<'a> {
    layers: &'a mut Layers,
    path: &'a str,
    seen: BTreeSet<String>,
}

impl FileLayer<'_> {
    fn section(&mut self, prefix: &str, entries: Vec<Entry>) {
        for Entry { key, line, node } in entries {
            let path = format!("{prefix}{key}");
            let origin = Origin::File { path: self.path.to_owned(), line };
            if !self.seen.insert(path.clone()) {
                self.refuse(origin, &path, "is given twice");
            } else if let Some(key) = keys::find(&path) {
                self.option(key, node, origin);
            } else if keys::sections().any(|section| section == path) {
                match node {
                    Node::Map(entries) => self.section(&format!("{path}."), entries),
                    Node::Null => {}
                    Node::Scalar(_) | Node::List(_) => {
                        self.refuse(origin, &path, "must be a mapping of options");
                    }
                }
            } else {
                // Only the topmost unknown name is reported, not all that is below it.
                let known = KEYS.iter().map(|key| key.path).chain(keys::sections());
                self.refuse(origin, &path, unknown(nearest(&path, known)));
            }
        }
    }

    fn option(&mut self, key: &'static Key, node: Node, origin: Origin) {
        let (text, value) = match node {
            // As everywhere in Kubernetes, null is the same as a key left out.
            Node::Null => return,
            Node::Scalar(text) if key.list => (None, Some(text)),
            Node::Scalar(text) => (Some(text), None),
            Node::List(items) if key.list => (joined(items), None),
            Node::List(_) | Node::Map(_) => (None, None),
        };
        if let Some(text) = text {
            self.layers.set.insert(key.path, Setting { text, origin });
        } else {
            let problem = format!("must be {}", key.allowed);
            let error = Error::new(origin, Some(key.path), problem);
            self.layers.problems.push(Error { value, ..error });
        }
    }

    fn refuse(&mut self, origin: Origin, path: &str, problem: impl Into<String>) {
        self.layers.problems.push(Error::new(origin, Some(path), problem));
    }
}

/// The elements with commas between them; `None` when one of them is no scalar, or empty, or holds
/// a comma and would read as two.
fn joined(items: Vec<Node>) -> Option<String> {
    let mut texts = Vec::new();
    for item in items {
        match item {
            Node::Scalar(text) if !text.trim().is_empty() && !text.contains(',') => {
                texts.push(text);
            }
            Node::Scalar(_) | Node::Null | Node::List(_) | Node::Map(_) => return None,
        }
    }
    Some(texts.join(","))
}
