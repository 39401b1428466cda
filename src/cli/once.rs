//! `dns-syncd once`: one pass, and further ones only while a new mark has to last.
#![expect(clippy::disallowed_methods, reason = "a new mark has to last one request time-out")]
#![expect(clippy::print_stdout, reason = "printing is what the command is for")]

use std::collections::BTreeSet;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::{FAILED, StartError, syncer};
use crate::config::Config;

/// Makes one pass and prints its summary as JSON. After marking a zone that existed before, it waits until the mark
/// has lasted and makes the pass that writes into it.
///
/// # Errors
/// If the clients cannot be set up.
pub async fn once(
    config: &Config,
    released: &BTreeSet<String>,
    stop: &CancellationToken,
) -> Result<u8, StartError> {
    let syncer = syncer(config, stop).await?;
    for round in [Round::First, Round::AfterMarks] {
        let summary = match syncer.pass(released).await {
            Ok(summary) => summary,
            Err(error) => {
                tracing::error!(%error, "no pass: the cluster's state could not be read");
                return Ok(FAILED);
            }
        };
        println!("{}", serde_json::to_string(&summary).unwrap_or_default());
        // A mark that a backend does not keep would make rounds for ever.
        if summary.marking == 0 || round == Round::AfterMarks || stop.is_cancelled() {
            return Ok(if summary.clean() { 0 } else { FAILED });
        }
        let lasts = config.powerdns.request_timeout + Duration::from_millis(50);
        tokio::select! {
            () = stop.cancelled() => return Ok(FAILED),
            () = tokio::time::sleep(lasts) => {}
        }
    }
    Ok(FAILED)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Round {
    First,
    AfterMarks,
}
