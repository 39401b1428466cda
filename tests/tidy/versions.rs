//! Rules about versions: every file that names one names the same.

/// The value of `key = "…"` in a part of a TOML text.
fn value<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let line = text.lines().find_map(|line| line.strip_prefix(key)?.trim_start().strip_prefix('='));
    line?.trim().strip_prefix('"')?.strip_suffix('"')
}

/// What does not agree, as sentences.
pub(crate) fn disagreements(cargo: &str, lock: &str, log: &str, toolchain: &str) -> Vec<String> {
    let mut out = Vec::new();
    let version = value(cargo, "version").unwrap_or_default();
    let locked = lock.split("[[package]]").find(|p| value(p, "name") == Some("dns-syncd"));
    if locked.and_then(|package| value(package, "version")) != Some(version) {
        out.push(format!("Cargo.lock does not hold dns-syncd {version}"));
    }
    // The newest entry is the released version, or what is to be released next.
    let top = log.lines().find_map(|line| line.strip_prefix("## ")).unwrap_or_default();
    let released = top.split_whitespace().next().unwrap_or_default();
    if released != "Unreleased" && released.trim_matches(['[', ']']) != version {
        out.push(format!("CHANGELOG.md begins with {top:?}, Cargo.toml says {version}"));
    }
    let rust = value(cargo, "rust-version").unwrap_or("none");
    let channel = value(toolchain, "channel").unwrap_or_default();
    if channel != rust && !channel.starts_with(&format!("{rust}.")) {
        out.push(format!("rust-toolchain.toml has {channel:?}, Cargo.toml wants {rust}"));
    }
    out
}

#[test]
fn a_version_that_differs_is_found() {
    let cargo = "[package]\nname = \"dns-syncd\"\nversion = \"1.2.3\"\nrust-version = \"1.95\"\n";
    let lock = "[[package]]\nname = \"a\"\nversion = \"9.9.9\"\n[[package]]\nname = \"dns-syncd\"\nversion = \"1.2.3\"\n";
    let toolchain = "[toolchain]\nchannel = \"1.95.0\"\n";
    let count = |cargo: &str, lock: &str, log: &str, toolchain: &str| {
        disagreements(cargo, lock, log, toolchain).len()
    };
    for log in ["# Log\n\n## 1.2.3 - 2026-01-01\n## 1.0.0", "## [1.2.3]", "## Unreleased\n## 1.0.0"]
    {
        assert_eq!(count(cargo, lock, log, toolchain), 0, "{log}");
    }
    assert_eq!(count(cargo, lock, "## 1.2.2\n## 1.2.3", toolchain), 1);
    assert_eq!(count(cargo, lock, "", toolchain), 1);
    assert_eq!(count(cargo, &lock.replace("1.2.3", "1.2.4"), "## 1.2.3", toolchain), 1);
    assert_eq!(count(cargo, lock, "## 1.2.3", "[toolchain]\nchannel = \"1.950.0\"\n"), 1);
}
