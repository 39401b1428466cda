//! Requests about the `Lease`. They ask no fence, since they are what opens it, and no limit on writes: a renewal must
//! not wait for a pass.

use std::time::Duration;

use kube::core::Request;
use kube::core::params::{GetParams, PostParams};
use serde_json::{Value, json};

use super::client::{Client, Error};

pub(super) const API_VERSION: &str = "coordination.k8s.io/v1";

impl Client {
    /// The Lease as it is now, if there is one.
    ///
    /// # Errors
    /// As for every request.
    pub async fn lease(
        &self,
        namespace: &str,
        name: &str,
        limit: Duration,
    ) -> Result<Option<Value>, Error> {
        let request = Request::new(collection(namespace)).get(name, &GetParams::default())?;
        match self.answer(request, limit).await {
            Err(error) if error.code() == Some(404) => Ok(None),
            other => other.map(Some),
        }
    }

    /// Writes the Lease: over the version that the object has, or anew if it has none.
    ///
    /// # Errors
    /// As for every request; 409 if somebody else was first.
    pub async fn put_lease(
        &self,
        namespace: &str,
        name: &str,
        lease: &Value,
        limit: Duration,
    ) -> Result<Value, Error> {
        let request = Request::new(collection(namespace));
        let known = lease["metadata"]["resourceVersion"].is_string();
        let mut lease = lease.clone();
        lease["apiVersion"] = json!(API_VERSION);
        lease["kind"] = json!("Lease");
        lease["metadata"]["name"] = json!(name);
        let body = lease.to_string().into_bytes();
        let request = if known {
            request.replace(name, &PostParams::default(), body)?
        } else {
            request.create(&PostParams::default(), body)?
        };
        // Not counted among the writes: what passes write would be lost in it.
        self.answer(request, limit).await
    }
}

/// The URL path of the Leases of a namespace.
fn collection(namespace: &str) -> String {
    format!("/apis/{API_VERSION}/namespaces/{namespace}/leases")
}
