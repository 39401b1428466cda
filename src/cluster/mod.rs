//! Kubernetes: the lists, and the few patches that a pass makes. It knows nothing of PowerDNS.

mod client;
mod events;
mod lease;
mod page;
mod record;
mod secure;
mod snapshot;

pub use client::{Client, Error};
pub use events::{Reporter, tell, tell_orphans};
pub use record::{let_go, record};
pub use secure::{ask, secure};
pub use snapshot::{remains, snapshot};

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// The newest `resourceVersion` that this pass knows of each object, by uid: every patch gives one, so that
/// the next patch of the same object is not refused for our own write.
#[derive(Debug, Default)]
pub struct Versions(Mutex<BTreeMap<String, String>>);

impl Versions {
    /// The version to send for an object that was listed at `listed`.
    #[must_use]
    pub fn of(&self, uid: &str, listed: &str) -> String {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(uid).cloned().unwrap_or_else(|| listed.to_owned())
    }

    /// Notes what an answer shows.
    pub fn learn(&self, object: &serde_json::Value) {
        let meta = object.get("metadata");
        let text = |field: &str| meta.and_then(|m| m.get(field)).and_then(|v| v.as_str());
        if let (Some(uid), Some(version)) = (text("uid"), text("resourceVersion")) {
            let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            known.insert(uid.to_owned(), version.to_owned());
        }
    }
}
