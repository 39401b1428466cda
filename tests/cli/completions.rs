//! `dns-syncd completions`: each shell gets a script that knows every command.

use std::process::Command;

use clap::CommandFactory;
use dns_syncd::cli::Cli;

#[test]
fn every_shell_learns_every_command() {
    for shell in ["bash", "zsh", "fish"] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_dns-syncd"));
        let output = command.args(["completions", shell]).env_clear().output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let script = String::from_utf8(output.stdout).unwrap();
        for known in Cli::command().get_subcommands() {
            assert!(script.contains(known.get_name()), "{shell}: {}", known.get_name());
        }
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_dns-syncd"));
    let refused = command.args(["completions", "sh"]).env_clear().output().unwrap();
    assert_eq!(refused.status.code(), Some(64));
}
