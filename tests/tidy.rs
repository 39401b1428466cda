//! The rules of this repository that no compiler knows: which modules are pure, who may name whom, how long a file
//! may be, which words and addresses do not belong here.
//!
//! Each rule is a function from a file's text to findings, so that the tests beside it can feed it a bad text: a rule
//! that never bites is none. Here the rules meet the files.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]
#![allow(clippy::print_stderr, reason = "a check that could not be made says so")]

#[path = "tidy/arrows.rs"]
mod arrows;
#[path = "tidy/pure.rs"]
mod pure;
#[path = "tidy/scan.rs"]
mod scan;
#[path = "tidy/size.rs"]
mod size;
#[path = "tidy/surroundings.rs"]
mod surroundings;
#[path = "tidy/versions.rs"]
mod versions;
#[path = "tidy/words.rs"]
mod words;

use std::path::{Path, PathBuf};
use std::process::Command;

/// What a rule found: a line, counted from 1, and what is wrong there.
type Finding = (usize, String);

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Every file that is, or with the next commit will be, part of the repository; without git, the sources alone.
fn files() -> Vec<String> {
    let list = ["ls-files", "--cached", "--others", "--exclude-standard"];
    let git = Command::new("git").arg("-C").arg(root()).args(list).output();
    let listed = git.ok().filter(|output| output.status.success()).map(|output| output.stdout);
    let mut files: Vec<String> = if let Some(listed) = listed {
        String::from_utf8(listed).unwrap().lines().map(str::to_owned).collect()
    } else {
        eprintln!("NOT CHECKED, because git lists no files here: all but src and tests/*.rs");
        let mut found = Vec::new();
        for folder in ["src", "tests"] {
            walk(&root().join(folder), &mut found);
        }
        let relative = |p: PathBuf| p.strip_prefix(root()).unwrap().to_str().unwrap().to_owned();
        found.into_iter().map(relative).filter(|f| is_rust(f)).collect()
    };
    // A file that was deleted and not yet committed is still listed.
    files.retain(|file| root().join(file).is_file());
    files.sort();
    assert!(files.len() > 50, "{files:?}");
    files
}

fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { walk(&path, found) } else { found.push(path) }
    }
}

fn is_rust(file: &str) -> bool {
    Path::new(file).extension().is_some_and(|extension| extension == "rs")
}

fn read(file: &str) -> String {
    String::from_utf8_lossy(&std::fs::read(root().join(file)).unwrap()).into_owned()
}

/// Runs a rule over all files that it is for, and fails with file and line.
fn check(wanted: impl Fn(&str) -> bool, rule: impl Fn(&str, &str) -> Vec<Finding>) {
    let mut bad = Vec::new();
    let mut read_files = 0;
    for file in files().into_iter().filter(|file| wanted(file)) {
        read_files += 1;
        let findings = rule(&file, &read(&file));
        bad.extend(findings.into_iter().map(|(line, what)| format!("{file}:{line}: {what}")));
    }
    assert!(read_files > 0, "the rule is for no file");
    assert!(bad.is_empty(), "\n{}", bad.join("\n"));
}

fn in_src(file: &str) -> bool {
    file.starts_with("src/") && is_rust(file)
}

#[test]
fn pure_modules_touch_no_world() {
    check(|file| in_src(file) && pure::is_pure(file), pure::impurities);
}

#[test]
fn arrows_point_down_only() {
    check(in_src, arrows::upward);
    // The table is the map in lib.rs: a module that is new there has to find its place here.
    let declared: Vec<String> = read("src/lib.rs")
        .lines()
        .filter_map(|l| l.strip_prefix("pub mod ")?.strip_suffix(';').map(str::to_owned))
        .collect();
    let table: Vec<&str> = arrows::MODULES.iter().map(|(module, _)| *module).collect();
    assert_eq!(declared, table);
}

#[test]
fn impure_modules_say_so_and_are_these() {
    check(in_src, pure::undeclared_impurity);
    for file in pure::IMPURE {
        assert!(read(file).contains(pure::DECLARATION), "{file} is on the list for nothing");
    }
}

#[test]
fn files_and_functions_are_short() {
    check(is_rust, |_, text| size::long_file(text));
    check(in_src, |_, text| size::long_functions(text));
}

#[test]
fn every_file_says_what_it_is() {
    check(is_rust, |_, text| words::no_opening(text));
}

#[test]
fn nothing_is_left_for_later() {
    check(|_| true, |_, text| words::left_for_later(text));
}

#[test]
fn the_repository_names_no_machine_and_no_registry() {
    check(|file| file != "LICENSE", |_, text| surroundings::places(text));
    check(|file| file == "Cargo.lock", |_, text| surroundings::other_registries(text));
}

#[test]
fn versions_agree() {
    let [cargo, lock, log, toolchain] =
        ["Cargo.toml", "Cargo.lock", "CHANGELOG.md", "rust-toolchain.toml"].map(read);
    assert_eq!(versions::disagreements(&cargo, &lock, &log, &toolchain), Vec::<String>::new());
}
