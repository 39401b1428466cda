//! On a terminal long work shows that it goes on; anywhere else nothing of it is seen.

use std::time::Duration;

use crate::support::daemon;
use crate::support::estate::Estate;
use crate::support::recorder::{Action, Server};

/// Erases the line that the cursor is on.
const ERASE: &str = "\u{1b}[2K";

#[tokio::test(flavor = "multi_thread")]
async fn long_work_shows_progress_on_a_terminal_alone() {
    let estate = Estate::new("progress").await;
    estate.zone("z", "progress.example").await;
    // A server that takes its time.
    let slow = Action::Delay(Duration::from_millis(400));
    estate.recorder.always(|r| r.server == Server::PowerDns, slow);
    for (arguments, what, last) in [
        (&["plan"][..], "planning: ", "create    zone progress.example."),
        (&["once"], "a pass: ", "\"zonesCreated\":1"),
        (&["explain", "www.progress.example"], "looking: ", "zone      progress.example."),
        (&["cleanup", "--purge", "--dry-run"], "looking for what is left: ", "progress.example."),
        (&["import", "progress.example", "--class", "c"], "reading: ", "kind: DNSZone"),
    ] {
        let shown = daemon::on_terminal(&estate.config, arguments).await;
        let text = &shown.stdout;
        let drawn: Vec<&str> = text.split(what).skip(1).collect();
        assert!(drawn.len() > 3, "{arguments:?}: {text:?}");
        assert!(drawn.iter().all(|d| d.contains("requests to PowerDNS, ")), "{text:?}");
        let counts = |d: &&str| !d.contains(" 0 requests to PowerDNS");
        assert!(drawn.iter().any(counts), "they are counted: {text:?}");
        // The answer stands alone: the line was taken away before.
        let after = text.rsplit(ERASE).next().unwrap();
        assert!(after.contains(last) && !after.contains(what), "{arguments:?}: {text:?}");
        for line in text.lines().filter(|l| l.contains("DEBUG")) {
            let log = line.rsplit(ERASE).next().unwrap();
            assert!(!log.contains(what), "a log line has a line of its own: {line:?}");
        }
        let piped = daemon::command(&estate.config, arguments).await;
        let seen = format!("{}{}", piped.stdout, piped.stderr);
        assert!(!seen.contains(what) && !seen.contains('\u{1b}'), "{arguments:?}: {seen:?}");
    }
}
