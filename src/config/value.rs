//! From the text of an option to its value; `None` is what the option's `allowed` rules out.
//!
//! It knows no option by name, only kinds of values.

use std::collections::BTreeSet;
use std::net::Ipv6Addr;
use std::num::NonZeroU32;
use std::ops::RangeInclusive;
use std::time::Duration;

use tokio_cron_scheduler::JobBuilder;

use super::{Interval, Level, LogFormat};

/// An owner id: it becomes part of what is stored on the server, hence the narrow alphabet.
pub(super) fn owner_id(text: &str) -> Option<String> {
    object_name(text).filter(|text| text.len() <= 63)
}

/// A duration of 1 s to 24 h, or a cron expression that the scheduler itself accepts.
pub(super) fn interval(text: &str) -> Option<Interval> {
    let second = Duration::from_secs(1);
    let day = Duration::from_hours(24);
    // `1 hour 2 minutes 3 seconds` has six words too, hence the duration first: no duration is a
    // cron expression, whose fields hold no units.
    if let Some(every) = duration(text, second..=day) {
        return Some(Interval::Every(every));
    }
    // Names such as @daily are left out: they are easily misread in the scheduler's UTC.
    let fields: Vec<&str> = text.split_whitespace().collect();
    let accepted = matches!(fields.len(), 6 | 7)
        && !text.contains('@')
        && JobBuilder::new().with_schedule(text).is_ok();
    accepted.then(|| Interval::Cron(fields.join(" ")))
}

/// A duration up to 24 h.
pub(super) fn verify_interval(text: &str) -> Option<Duration> {
    duration(text, Duration::ZERO..=Duration::from_hours(24))
}

/// A duration such as `1m30s` within bounds. A bare number is none: its unit would be a guess.
pub(super) fn duration(text: &str, bounds: RangeInclusive<Duration>) -> Option<Duration> {
    let signed: jiff::SignedDuration = text.parse().ok()?;
    Duration::try_from(signed).ok().filter(|duration| bounds.contains(duration))
}

/// Controller names, compared with `spec.controllerName` letter by letter; at least one.
pub(super) fn controller_names(text: &str) -> Option<Vec<String>> {
    let name = |name: &str| {
        name.len() <= 253 && !name.contains(|c: char| c.is_whitespace() || c.is_control())
    };
    list(text, name).filter(|names| !names.is_empty())
}

/// Namespace names: RFC 1123 labels, as the API server demands.
pub(super) fn namespaces(text: &str) -> Option<Vec<String>> {
    let inside = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    list(text, |name| {
        name.len() <= 63
            && name.bytes().all(inside)
            && !name.starts_with('-')
            && !name.ends_with('-')
    })
}

/// The elements between commas, all good and none empty or twice. An empty text is an empty list.
pub(super) fn list(text: &str, good: impl Fn(&str) -> bool) -> Option<Vec<String>> {
    if text.trim().is_empty() {
        return Some(Vec::new());
    }
    let mut seen = BTreeSet::new();
    text.split(',')
        .map(str::trim)
        .map(|item| (!item.is_empty() && good(item) && seen.insert(item)).then(|| item.to_owned()))
        .collect()
}

/// A base URL, returned without trailing slashes.
///
/// Checked here instead of at the first request, so that `check-config` finds it. A user name is
/// refused because PowerDNS knows only its API key, and a password in a URL ends up in logs.
pub(super) fn base_url(text: &str) -> Option<String> {
    let rest = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://"))?;
    let plain =
        rest.bytes().all(|byte| byte.is_ascii_graphic() && !b"@?#\\\"<>^`{|}".contains(&byte));
    let authority = rest.split('/').next().unwrap_or(rest);
    (plain && is_authority(authority)).then(|| text.trim_end_matches('/').to_owned())
}

/// Whether it is `host`, `host:port`, `[v6]` or `[v6]:port`.
#[must_use]
pub fn is_authority(text: &str) -> bool {
    let is_port = |port: &str| port.parse::<u16>().is_ok_and(|number| number > 0);
    if let Some((address, rest)) = text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        return address.parse::<Ipv6Addr>().is_ok()
            && (rest.is_empty() || rest.strip_prefix(':').is_some_and(is_port));
    }
    let (host, port) = text.split_once(':').map_or((text, None), |(host, port)| (host, Some(port)));
    let inside = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
    let begins = host.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric());
    begins && host.bytes().all(inside) && port.is_none_or(is_port)
}

/// Where others reach the listener, which becomes part of a URL; empty is nowhere in particular.
pub(super) fn advertise(text: &str) -> Option<String> {
    let bare = text.parse::<Ipv6Addr>().is_ok();
    (text.is_empty() || bare || is_authority(text)).then(|| text.to_owned())
}

/// The name of an object: an RFC 1123 subdomain, as far as one looks at letters.
pub(super) fn object_name(text: &str) -> Option<String> {
    let inside = |byte: u8| {
        byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'.' || byte == b'-'
    };
    let end = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = text.as_bytes();
    (bytes.len() <= 253
        && bytes.iter().all(|byte| inside(*byte))
        && end(bytes.first())
        && end(bytes.last()))
    .then(|| text.to_owned())
}

/// A server id, which becomes one segment of the API's paths: nothing that would need escapes, and
/// neither `.` nor `..`.
pub(super) fn server_id(text: &str) -> Option<String> {
    let inside = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
    let begins = text.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric());
    (begins && text.len() <= 63 && text.bytes().all(inside)).then(|| text.to_owned())
}

/// A rate or a burst.
pub(super) fn rate(text: &str) -> Option<NonZeroU32> {
    text.parse().ok().filter(|number: &NonZeroU32| number.get() <= 1_000_000)
}

/// A whole number within bounds.
pub(super) fn number(text: &str, bounds: RangeInclusive<usize>) -> Option<usize> {
    text.parse().ok().filter(|number| bounds.contains(number))
}

/// Which of two words it is: `false` for the first.
pub(super) fn either(text: &str, [no, yes]: [&str; 2]) -> Option<bool> {
    (text == no || text == yes).then_some(text == yes)
}

/// Patterns for absolute names.
pub(super) fn patterns(text: &str) -> Option<Vec<String>> {
    list(text, |pattern| {
        let plain = |c: char| c.is_ascii_graphic() && !c.is_ascii_uppercase();
        pattern.chars().all(plain) && glob::Pattern::new(pattern).is_ok()
    })
}

/// A log level.
pub(super) fn level(text: &str) -> Option<Level> {
    match text {
        "error" => Some(Level::Error),
        "warn" => Some(Level::Warn),
        "info" => Some(Level::Info),
        "debug" => Some(Level::Debug),
        "trace" => Some(Level::Trace),
        _ => None,
    }
}

/// A log format.
pub(super) fn format(text: &str) -> Option<LogFormat> {
    match text {
        "text" => Some(LogFormat::Text),
        "json" => Some(LogFormat::Json),
        _ => None,
    }
}
