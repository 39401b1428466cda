//! `dns-syncd plan`.
#![expect(clippy::print_stdout, reason = "printing is what the command is for")]

use tokio_util::sync::CancellationToken;

use super::{DIFFERS, FAILED, StartError, syncer};
use crate::config::Config;
use crate::dns::rdata::{Dialect, Version};
use crate::plan::print::Printed;

/// Prints what a pass would do, and writes nothing.
///
/// # Errors
/// If the clients cannot be set up.
pub async fn plan(config: &Config, stop: &CancellationToken) -> Result<u8, StartError> {
    let syncer = syncer(config, stop).await?;
    let (snapshot, plan) = match syncer.plan().await {
        Ok(planned) => planned,
        Err(error) => {
            tracing::error!(%error, "no plan: the cluster's state could not be read");
            return Ok(FAILED);
        }
    };
    let oldest = Version { major: 4, minor: 7, patch: 0 };
    let version = snapshot.server.capabilities.map_or(oldest, |c| c.version);
    print!("{}", Printed { plan: &plan, dialect: Dialect::of(version) });
    Ok(if plan.holds() {
        FAILED
    } else if plan.differs() {
        DIFFERS
    } else {
        0
    })
}
