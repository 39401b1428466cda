//! `dns-syncd crds`.
#![expect(clippy::print_stdout, reason = "printing is what the command is for")]

/// Prints the CustomResourceDefinitions as one YAML stream.
pub fn crds() {
    print!("{}", crate::api::crds_yaml());
}
