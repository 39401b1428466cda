//! `dns-syncd import`: a zone that PowerDNS has, as manifests.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "printing is what the command is for"
)]

use std::collections::BTreeSet;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::progress::progress;
use super::{FAILED, StartError, server};
use crate::config::Config;
use crate::dns::name::Name;
use crate::metrics::Metrics;
use crate::plan::import::{Imported, Naming, import as manifests, usual_name};
use crate::plan::snapshot::ZoneContents;
use crate::powerdns::{Client, wire};

/// What is to be imported, and as what.
#[derive(Clone, Debug, clap::Args)]
pub struct Asked {
    /// Name of the zone.
    pub zone: String,
    /// Name of the DNSZoneClass that the DNSZone is to have.
    #[arg(long, value_name = "NAME")]
    pub class: String,
    /// Namespace of the objects.
    #[arg(long, value_name = "NS", default_value = "default")]
    pub namespace: String,
    /// Name of the DNSZone, with which those of its record sets begin; else the zone's, with hyphens for dots.
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// Fail if the zone holds anything that the manifests do not say.
    #[arg(long)]
    pub strict: bool,
}

/// Prints a DNSZone and its DNSRecordSets as one YAML stream, and on standard error what they do not say. Kubernetes is
/// not asked.
///
/// # Errors
/// If the client cannot be set up.
pub async fn import(
    config: &Config,
    asked: &Asked,
    stop: &CancellationToken,
) -> Result<u8, StartError> {
    let failed = |what, why: String| StartError::Setup { what, why };
    let domain = Name::parse(&asked.zone).map_err(|e| failed("ZONE", e.to_string()))?;
    let metrics = Arc::new(Metrics::new().map_err(|e| failed("metrics", e.to_string()))?);
    let client = server(config, metrics.clone(), stop)?;
    let naming = Naming {
        namespace: asked.namespace.clone(),
        class: asked.class.clone(),
        zone: asked.name.clone().unwrap_or_else(|| usual_name(&domain)),
    };
    let shown = progress("reading", &metrics);
    let read = read(&client, &domain).await;
    drop(shown);
    let made = read.and_then(|(contents, below)| manifests(&domain, &contents, &below, &naming));
    let imported = match made {
        Ok(imported) => imported,
        Err(why) => {
            eprintln!("nothing is imported: {why}");
            return Ok(FAILED);
        }
    };
    match yaml(&imported) {
        Ok(text) => print!("{text}"),
        Err(error) => {
            eprintln!("nothing is imported: {error}");
            return Ok(FAILED);
        }
    }
    for left in &imported.left {
        eprintln!("left out: {left}");
    }
    Ok(if asked.strict && !imported.left.is_empty() { FAILED } else { 0 })
}

/// The zone's contents, and the zones below it.
async fn read(client: &Client, domain: &Name) -> Result<(ZoneContents, BTreeSet<Name>), String> {
    client.refresh_key().await.map_err(|e| e.to_string())?;
    let listed = client.list().await.map_err(|e| e.to_string())?;
    let named = listed.into_iter().filter_map(|z| Some((Name::parse(&z.name).ok()?, z.id)));
    let mut below: Vec<(Name, String)> =
        named.filter(|(name, _)| name.is_at_or_below(domain)).collect();
    let at = below.iter().position(|(name, _)| name == domain);
    let (_, id) = below.swap_remove(at.ok_or(format!("PowerDNS has no zone {domain}"))?);
    let body = client.zone(&id).await.map_err(|e| e.to_string())?;
    Ok((wire::contents(body.rrsets), below.into_iter().map(|(name, _)| name).collect()))
}

/// One document an object. Long texts stay on one line: folded, nobody sees how many blanks they have.
fn yaml(imported: &Imported) -> Result<String, serde_saphyr::ser::Error> {
    let options = || serde_saphyr::ser_options! { prefer_block_scalars: false };
    let mut documents = vec![serde_saphyr::to_string_with_options(&imported.zone, options())?];
    for set in &imported.sets {
        documents.push(serde_saphyr::to_string_with_options(set, options())?);
    }
    Ok(documents.join("---\n"))
}
