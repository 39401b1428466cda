//! `--manifests DIR`: what a command declares instead of a cluster, from the files of a folder.

use std::path::Path;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use walkdir::{DirEntry, WalkDir};

use super::{StartError, limits, policy, server};
use crate::api::manifest::{Manifests, read};
use crate::api::object::Meta;
use crate::config::Config;
use crate::metrics::Metrics;
use crate::offline::Offline;

/// Reads the folder and sets up the client of PowerDNS. Nothing is sent yet, and Kubernetes is not asked.
///
/// # Errors
/// If a file cannot be read or anything in it is wrong, if there is nothing of ours in the folder, or if the client cannot
/// be built.
pub fn offline(
    config: &Config,
    folder: &Path,
    stop: &CancellationToken,
) -> Result<Offline, StartError> {
    let manifests = objects(config, folder)?;
    let failed = |what, why: String| StartError::Setup { what, why };
    let metrics = Arc::new(Metrics::new().map_err(|e| failed("metrics", e.to_string()))?);
    let powerdns = server(config, metrics.clone(), stop)?;
    let bounds = (limits(config), config.powerdns.concurrency);
    Ok(Offline::new(manifests, powerdns, policy(config), bounds, metrics))
}

fn objects(config: &Config, folder: &Path) -> Result<Manifests, StartError> {
    let manifests = read(&texts(folder)?, &config.owner_id)?;
    let Manifests { classes, zones, sets, ignored } = &manifests;
    let metas = zones.iter().map(|z| &z.meta).chain(sets.iter().map(|s| &s.meta));
    let inside =
        |meta: &&Meta| config.namespaces.is_empty() || config.namespaces.contains(&meta.namespace);
    let outside = metas.clone().filter(|meta| !inside(meta)).count();
    if metas.count() == outside {
        // A wrong folder must not read as "everything was taken away".
        let of = if config.namespaces.is_empty() { "" } else { " in namespaces" };
        let why = format!("{} holds no object of ours{of}", folder.display());
        return Err(StartError::Setup { what: "--manifests", why });
    }
    let (zones, record_sets) = (zones.len(), sets.len());
    tracing::info!(classes = classes.len(), zones, record_sets, outside, ?ignored, "manifests");
    Ok(manifests)
}

/// The YAML files in a folder and in those below, in the order of their names. What is hidden is left out: a mounted
/// `ConfigMap` has each file a second time that way.
fn texts(folder: &Path) -> Result<Vec<(String, String)>, StartError> {
    let shown = |entry: &DirEntry| {
        entry.depth() == 0 || !entry.file_name().to_string_lossy().starts_with('.')
    };
    let yaml = |path: &Path| path.extension().is_some_and(|e| e == "yaml" || e == "yml");
    let failed =
        |path: &Path, source| StartError::File { path: path.display().to_string(), source };
    let mut out = Vec::new();
    let walk = WalkDir::new(folder).follow_links(true).sort_by_file_name();
    for entry in walk.into_iter().filter_entry(shown) {
        let entry = entry.map_err(|e| StartError::File {
            path: e.path().unwrap_or(folder).display().to_string(),
            source: e.into(),
        })?;
        if entry.file_type().is_file() && yaml(entry.path()) {
            let text = std::fs::read_to_string(entry.path())
                .map_err(|source| failed(entry.path(), source))?;
            out.push((entry.path().display().to_string(), text));
        }
    }
    Ok(out)
}
