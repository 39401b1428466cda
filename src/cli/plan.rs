//! `dns-syncd plan`.
#![expect(clippy::print_stdout, reason = "printing is what the command is for")]

use std::path::PathBuf;

use clap::ValueEnum;
use tokio_util::sync::CancellationToken;

use super::manifests::offline;
use super::progress::progress;
use super::{DIFFERS, FAILED, StartError, syncer};
use crate::config::Config;
use crate::fence::Fence;
use crate::plan::document::Document;
use crate::plan::markdown::Markdown;
use crate::plan::print::Printed;

/// How a plan is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Output {
    /// For people.
    #[default]
    Text,
    /// For programs: one JSON object.
    Json,
    /// For a comment on a change: a table a zone, what goes first; at most 60,000 characters.
    Markdown,
}

/// What is asked of `plan`.
#[derive(Clone, Debug, clap::Args)]
pub struct Asked {
    /// Plan as if the objects in this folder's YAML files, and no others, were applied to the cluster; it is not asked.
    #[arg(long, value_name = "DIR")]
    pub manifests: Option<PathBuf>,
    /// How to print it.
    #[arg(short, long, value_enum, default_value = "text")]
    pub output: Output,
}

/// Prints what a pass would do, and writes nothing.
///
/// # Errors
/// If the clients cannot be set up.
pub async fn plan(
    config: &Config,
    asked: &Asked,
    stop: &CancellationToken,
) -> Result<u8, StartError> {
    let planned = if let Some(folder) = &asked.manifests {
        let offline = offline(config, folder, stop)?;
        let shown = progress("planning", offline.metrics());
        let (snapshot, plan) = offline.plan().await;
        drop(shown);
        if snapshot.server.capabilities.is_some_and(|c| !c.comments) {
            tracing::warn!(
                "this server keeps no comments: what no manifest declares any more is not known as ours"
            );
        }
        Ok((snapshot, plan))
    } else {
        let syncer = syncer(config, &Fence::default(), stop).await?;
        let _shown = progress("planning", &syncer.metrics);
        syncer.plan().await
    };
    let (snapshot, plan) = match planned {
        Ok(planned) => planned,
        Err(error) => {
            tracing::error!(%error, "no plan: the cluster's state could not be read");
            return Ok(FAILED);
        }
    };
    let dialect = snapshot.dialect();
    let document = || Document::of(&plan, dialect);
    match asked.output {
        Output::Text => print!("{}", Printed { plan: &plan, dialect }),
        Output::Json => println!("{}", serde_json::to_string(&document()).unwrap_or_default()),
        Output::Markdown => print!("{}", Markdown(&document())),
    }
    Ok(if plan.holds() {
        FAILED
    } else if plan.differs() {
        DIFFERS
    } else {
        0
    })
}
