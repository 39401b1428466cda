//! What is wrong with a configuration, how it is said, and which known name was probably meant.
//!
//! It decides nothing about values. No message holds the value of an unknown option or of a
//! secret: people put keys in wrong places, and messages end up in logs.

use std::fmt;

/// Where a value came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// Nothing set it.
    Default,
    /// A line, counted from 1, of the configuration file.
    File {
        /// The path of the file, as it was given.
        path: String,
        /// The line.
        line: usize,
    },
    /// An environment variable, by its name.
    Variable(String),
    /// A `--set`, by its position among them, counted from 1.
    Flag(usize),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Default => f.write_str("not set"),
            Origin::File { path, line } => write!(f, "{path}:{line}"),
            Origin::Variable(name) => write!(f, "environment variable {name}"),
            Origin::Flag(position) => write!(f, "--set number {position}"),
        }
    }
}

/// One thing that is wrong. It prints as one line: origin, option, value, what is allowed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    /// Where the fault is.
    pub origin: Origin,
    /// The path of the option, also of an unknown one; `None` when the fault has no path.
    pub key: Option<String>,
    /// The refused value; `None` when there is none or when it may hold a secret.
    pub value: Option<String>,
    /// What is wrong and what would be right.
    pub problem: String,
}

impl Error {
    /// An error that shows no value.
    pub(super) fn new(origin: Origin, key: Option<&str>, problem: impl Into<String>) -> Error {
        Error { origin, key: key.map(str::to_owned), value: None, problem: problem.into() }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.origin)?;
        match (&self.key, &self.value) {
            // Debug escapes line breaks: one error stays one line.
            (Some(key), Some(value)) => write!(f, "{} = {value:?}: ", key.escape_debug())?,
            (Some(key), None) => write!(f, "{}: ", key.escape_debug())?,
            (None, _) => {}
        }
        f.write_str(&self.problem)
    }
}

/// Everything that is wrong with a configuration, at least one thing. It prints one line each.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.0.iter().map(Error::to_string).collect::<Vec<_>>().join("\n"))]
pub struct Errors(pub(super) Vec<Error>);

impl Errors {
    /// The errors: the file's shape first, then environment, flags and values.
    pub fn iter(&self) -> std::slice::Iter<'_, Error> {
        self.0.iter()
    }
}

impl<'a> IntoIterator for &'a Errors {
    type Item = &'a Error;
    type IntoIter = std::slice::Iter<'a, Error>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// The known path that `wanted` comes near to, if any does: either the whole path has few wrong
/// letters, or its last part has and stands in the wrong section.
pub(super) fn nearest<'a>(wanted: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = wanted.to_ascii_lowercase();
    known
        .filter_map(|path| {
            let lower = path.to_ascii_lowercase();
            let whole = mistakes(&wanted, &lower);
            // A right name in a wrong place counts as one mistake more than a right path; of two
            // such places the more similar one is named.
            let name = mistakes(last_part(&wanted), last_part(&lower)).map(|count| count + 1);
            let fewest = whole.into_iter().chain(name).min()?;
            Some((fewest, strsim::damerau_levenshtein(&wanted, &lower), path))
        })
        .min()
        .map(|(_, _, path)| path)
}

/// The number of wrong, missing, added or swapped letters, if it is small for a name of that
/// length: a third of the letters, at most four, so that `log` is not taken for `url`.
fn mistakes(wanted: &str, known: &str) -> Option<usize> {
    let count = strsim::damerau_levenshtein(wanted, known);
    (count <= (known.len() / 3).min(4)).then_some(count)
}

fn last_part(path: &str) -> &str {
    path.rsplit('.').next().unwrap_or(path)
}
