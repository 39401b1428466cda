//! `dns-syncd crds`.
#![expect(clippy::print_stdout, reason = "printing is what the command is for")]

use crate::api;
use crate::api::immutable::immutable;

/// Prints the CustomResourceDefinitions as one YAML stream, on demand with the rules that make identity immutable.
pub fn crds(frozen: bool) {
    let crds = if frozen { immutable(api::crds()) } else { api::crds() };
    print!("{}", api::crds_yaml(&crds));
}
