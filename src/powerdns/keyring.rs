//! The API key of one server, which may be changed while the daemon runs: in the file first, or at the server first.
//!
//! A key that the server refuses (401) was not used for anything, so that the same request may be sent with another.

use std::path::PathBuf;

use tokio::sync::RwLock;

use super::client::Error;
use crate::config::Secret;

/// Where the API key comes from.
#[derive(Clone, Debug)]
pub enum Key {
    /// Given.
    Inline(Secret),
    /// In a file, read anew for every pass and when the server refuses what it held.
    File(PathBuf),
}

impl Key {
    fn read(&self) -> Result<Secret, Error> {
        let path = match self {
            Key::Inline(secret) => return Ok(secret.clone()),
            Key::File(path) => path,
        };
        let failed = |why: String| Error::Key { path: path.display().to_string(), why };
        let text = std::fs::read_to_string(path).map_err(|e| failed(e.to_string()))?;
        let text = text.trim();
        if text.is_empty() {
            return Err(failed("the file is empty".to_owned()));
        }
        let key = Secret::new(text.to_owned());
        // Sent all the same, it would look like a server that resets connections.
        if key.fits_a_header() {
            Ok(key)
        } else {
            Err(failed("it is not printable ASCII".to_owned()))
        }
    }
}

/// The key that is sent, and those that may take its place.
#[derive(Debug)]
pub(super) struct Keyring {
    source: Key,
    keys: RwLock<Keys>,
}

#[derive(Debug, Default)]
struct Keys {
    current: Option<Secret>,
    /// The newest that the server took.
    accepted: Option<Secret>,
}

impl Keyring {
    pub(super) fn new(source: Key) -> Keyring {
        Keyring { source, keys: RwLock::default() }
    }

    /// Reads the key anew. While that fails, as in the middle of a change, the one that the server took last is kept.
    ///
    /// # Errors
    /// If it cannot be read or is empty, and none was taken yet.
    pub(super) async fn refresh(&self) -> Result<(), Error> {
        let mut keys = self.keys.write().await;
        match self.source.read() {
            Ok(key) => keys.current = Some(key),
            Err(error) if keys.accepted.is_none() => return Err(error),
            Err(error) => tracing::warn!(%error, "the API key that was accepted last is used"),
        }
        Ok(())
    }

    pub(super) async fn current(&self) -> Option<Secret> {
        self.keys.read().await.current.clone()
    }

    /// A text without the keys that are sent.
    pub(super) async fn hide_in(&self, text: &str) -> String {
        let keys = self.keys.read().await;
        let known = keys.current.iter().chain(&keys.accepted);
        known.fold(text.to_owned(), |text, key| key.hide_in(&text))
    }

    /// The server took it.
    pub(super) async fn accept(&self, key: &Secret) {
        if self.keys.read().await.accepted.as_ref() != Some(key) {
            self.keys.write().await.accepted = Some(key.clone());
        }
    }

    /// A key that is worth a try after these, which becomes the current one: what another request has found meanwhile, what
    /// the file holds by now, or what the server took last and may still take.
    pub(super) async fn after(&self, refused: &[Secret]) -> Option<Secret> {
        let mut keys = self.keys.write().await;
        let Keys { current, accepted } = &*keys;
        let candidates = [current.clone(), self.source.read().ok(), accepted.clone()];
        let next = candidates.into_iter().flatten().find(|key| !refused.contains(key))?;
        tracing::warn!("PowerDNS refused the API key; another one that is known is tried");
        keys.current = Some(next.clone());
        Some(next)
    }
}
