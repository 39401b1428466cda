//! `dns-syncd check-config`.
#![expect(clippy::print_stdout, reason = "printing is what the command is for")]

use crate::config::Config;

/// Says that a configuration, which was loaded without error, is right, and whose it is.
pub fn check_config(config: &Config) {
    for notice in &config.notices {
        println!("{notice}");
    }
    println!("the configuration is right; ownerId is {}", config.owner_id);
}
