//! `dns-syncd completions`.

use clap::{CommandFactory, ValueEnum};
use clap_complete::Shell;

use super::Cli;

/// The shells.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum For {
    /// `source <(dns-syncd completions bash)`.
    Bash,
    /// A file `_dns-syncd` in a folder of `fpath`.
    Zsh,
    /// `dns-syncd completions fish | source`.
    Fish,
}

/// Prints a shell's completions.
pub fn completions(shell: For) {
    let shell = match shell {
        For::Bash => Shell::Bash,
        For::Zsh => Shell::Zsh,
        For::Fish => Shell::Fish,
    };
    clap_complete::generate(shell, &mut Cli::command(), "dns-syncd", &mut std::io::stdout());
}
