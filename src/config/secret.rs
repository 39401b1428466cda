//! Texts that are never shown.

use std::fmt;

/// A text that neither `Debug` nor `Display` shows.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Hides a text.
    #[must_use]
    pub fn new(text: String) -> Secret {
        Secret(text)
    }

    /// The text, for the one place that sends or compares it.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Whether an HTTP header can carry it: printable ASCII.
    #[must_use]
    pub fn fits_a_header(&self) -> bool {
        self.0.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic())
    }

    /// A text in which it is not shown, neither as it is nor as JSON writes it.
    #[must_use]
    pub fn hide_in(&self, text: &str) -> String {
        if self.0.is_empty() {
            return text.to_owned();
        }
        let (hidden, quoted) = (self.to_string(), serde_json::json!(self.0).to_string());
        text.replace(&self.0, &hidden)
            .replace(quoted.get(1..quoted.len() - 1).unwrap_or(&quoted), &hidden)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(secret)")
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(secret)")
    }
}
