//! `dns-syncd plan`.
#![expect(clippy::print_stdout, reason = "printing is what the command is for")]

use tokio_util::sync::CancellationToken;

use super::{DIFFERS, FAILED, Output, StartError, syncer};
use crate::config::Config;
use crate::fence::Fence;
use crate::plan::document::Document;
use crate::plan::print::Printed;

/// Prints what a pass would do, and writes nothing.
///
/// # Errors
/// If the clients cannot be set up.
pub async fn plan(
    config: &Config,
    output: Output,
    stop: &CancellationToken,
) -> Result<u8, StartError> {
    let syncer = syncer(config, &Fence::default(), stop).await?;
    let (snapshot, plan) = match syncer.plan().await {
        Ok(planned) => planned,
        Err(error) => {
            tracing::error!(%error, "no plan: the cluster's state could not be read");
            return Ok(FAILED);
        }
    };
    let dialect = snapshot.dialect();
    match output {
        Output::Text => print!("{}", Printed { plan: &plan, dialect }),
        Output::Json => {
            println!(
                "{}",
                serde_json::to_string(&Document::of(&plan, dialect)).unwrap_or_default()
            );
        }
    }
    Ok(if plan.holds() {
        FAILED
    } else if plan.differs() {
        DIFFERS
    } else {
        0
    })
}
