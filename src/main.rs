//! Arguments and exit codes; nothing else.

use std::process::ExitCode;

use clap::Parser;
use dns_syncd::cli::{
    Cli, Command, Settings, StartError, USAGE, check_config, cleanup, completions, crds, explain,
    import, once, plan, run,
};
use dns_syncd::config::Config;
use dns_syncd::telemetry;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

#[tokio::main]
async fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            let wrong = error.use_stderr();
            // There is nobody left to tell if this does not print.
            error.print().ok();
            return if wrong { ExitCode::from(USAGE) } else { ExitCode::SUCCESS };
        }
    };
    match execute(cli.command).await {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            say(&error);
            ExitCode::from(USAGE)
        }
    }
}

async fn execute(command: Command) -> Result<u8, StartError> {
    let (settings, go): (&Settings, Go) = match &command {
        Command::Crds { immutable } => {
            crds::crds(*immutable);
            return Ok(0);
        }
        Command::Completions { shell } => {
            completions::completions(*shell);
            return Ok(0);
        }
        Command::CheckConfig(settings) => {
            check_config::check_config(&load(settings)?);
            return Ok(0);
        }
        Command::Run(settings) => (settings, Go::Run),
        Command::Once { asked, settings } => (settings, Go::Once(asked.clone())),
        Command::Plan { asked, settings } => (settings, Go::Plan(asked.clone())),
        Command::Explain { asked, settings } => (settings, Go::Explain(asked.clone())),
        Command::Import { asked, settings } => (settings, Go::Import(asked.clone())),
        Command::Cleanup { asked, settings } => (settings, Go::Cleanup(*asked)),
    };
    let config = load(settings)?;
    telemetry::init(&config.log);
    for notice in &config.notices {
        tracing::warn!("{notice}");
    }
    // Fails only if one is installed already, which is as good.
    rustls::crypto::ring::default_provider().install_default().ok();
    let stop = CancellationToken::new();
    let signals = tokio::spawn(signals(stop.clone()));
    let code = match go {
        Go::Run => run::run(&config, &stop).await,
        Go::Once(asked) => once::once(&config, &asked, &stop).await,
        Go::Plan(asked) => plan::plan(&config, &asked, &stop).await,
        Go::Explain(asked) => explain::explain(&config, &asked, &stop).await,
        Go::Import(asked) => import::import(&config, &asked, &stop).await,
        Go::Cleanup(asked) => cleanup::cleanup(&config, asked, &stop).await,
    };
    signals.abort();
    // It ends with this, or has.
    signals.await.ok();
    code
}

enum Go {
    Run,
    Once(once::Asked),
    Plan(plan::Asked),
    Explain(explain::Asked),
    Import(import::Asked),
    Cleanup(cleanup::Asked),
}

fn load(settings: &Settings) -> Result<Config, StartError> {
    settings.load(&std::env::vars().collect())
}

/// The first signal drains, the second aborts.
async fn signals(stop: CancellationToken) {
    let (Ok(mut term), Ok(mut int)) =
        (signal(SignalKind::terminate()), signal(SignalKind::interrupt()))
    else {
        return;
    };
    for first in [true, false] {
        tokio::select! {
            _ = term.recv() => {}
            _ = int.recv() => {}
        }
        if first {
            tracing::info!("stopping: the request in flight gets its answer");
            stop.cancel();
        }
    }
    std::process::exit(1);
}

#[expect(clippy::print_stderr, reason = "there may be no log yet")]
fn say(error: &StartError) {
    eprintln!("{error}");
}
