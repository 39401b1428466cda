//! The checks: each takes a text and what is true, and gives what the text says wrongly.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::markdown::{Fence, anchors, code, relative_links, rows, section, spans, split};

/// Everything of a folder with an ending, sorted.
pub(crate) fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let mut out = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().map(Result::unwrap) {
        let path = entry.path();
        if path.is_dir() {
            out.extend(files(&path, ending));
        } else if path.to_string_lossy().ends_with(ending) {
            out.push(path);
        }
    }
    out.sort();
    out
}

/// Links that lead nowhere, from a text that lies in `folder`.
pub(crate) fn dead_links(text: &str, folder: &Path) -> Vec<String> {
    let dead = |target: &String| {
        let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
        let file = folder.join(path);
        if !path.is_empty() && !file.exists() {
            return true;
        }
        let other = (!path.is_empty()).then(|| fs::read_to_string(&file).unwrap_or_default());
        let there = anchors(other.as_deref().unwrap_or(text));
        !anchor.is_empty() && !there.contains(&anchor.to_owned())
    };
    relative_links(text).into_iter().filter(dead).collect()
}

/// Whether `a::b::name` is a function: in `roots/a/b.rs`, `roots/a/b/mod.rs` or, where it is shown to others by
/// a `pub use`, in `roots/a/mod.rs`.
pub(crate) fn is_function(path: &str, roots: &[PathBuf]) -> bool {
    let Some((module, name)) = path.rsplit_once("::") else {
        return false;
    };
    let module = module.replace("::", "/");
    let declares = |text: &str| {
        text.contains(&format!("fn {name}("))
            || text.contains(&format!("fn {name}<"))
            || text.lines().filter(|l| l.starts_with("pub use")).any(|l| {
                l.split(|c: char| !(c.is_alphanumeric() || c == '_')).any(|word| word == name)
            })
    };
    roots.iter().any(|root| {
        let candidates = [format!("{module}.rs"), format!("{module}/mod.rs")];
        candidates.iter().any(|c| fs::read_to_string(root.join(c)).is_ok_and(|t| declares(&t)))
    })
}

/// Code spans that look like a function's path and are none.
pub(crate) fn unknown_functions(text: &str, roots: &[PathBuf]) -> Vec<String> {
    let word = |w: &str| {
        !w.is_empty() && w.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
    };
    let paths = spans(&split(text).0);
    let paths = paths.into_iter().filter(|s| s.contains("::") && s.split("::").all(word));
    paths.filter(|p| !is_function(p, roots)).collect()
}

/// Faults of the table of invariants: tests and patches that do not exist, a patch that turns another test red,
/// a patch without a row. `patches` are file names with their contents.
pub(crate) fn invariants(
    architecture: &str,
    tests: &[PathBuf],
    patches: &[(String, String)],
) -> Vec<String> {
    let rows = rows(section(architecture, "Invariants"));
    let mut out: Vec<String> = Vec::new();
    let mut named = BTreeSet::new();
    if rows.is_empty() {
        out.push("there is no table".to_owned());
    }
    for row in rows {
        let cell = |i: usize| row.get(i).map(|c| spans(c)).unwrap_or_default();
        let (tests_named, patch) = (cell(1), cell(2).into_iter().next());
        let missing = tests_named.iter().filter(|test| !is_function(test, tests));
        out.extend(missing.map(|test| format!("no such test: {test}")));
        if tests_named.is_empty() {
            out.push(format!("no test: {}", row.concat()));
        }
        let Some(patch) = patch else {
            continue;
        };
        match patches.iter().find(|(name, _)| *name == patch) {
            None => out.push(format!("no such patch: {patch}")),
            Some((_, body)) if !red_of(body).is_some_and(|red| tests_named.contains(&red)) => {
                out.push(format!("{patch} turns another test red than {}", tests_named.concat()));
            }
            Some(_) => {}
        }
        named.insert(patch);
    }
    let unnamed = patches.iter().filter(|(name, _)| !named.contains(name));
    out.extend(unnamed.map(|(name, _)| format!("{name} has no row")));
    out
}

/// The test in a patch's `# red: --test pass faults::name`, as a path.
fn red_of(patch: &str) -> Option<String> {
    let red = patch.lines().find_map(|l| l.strip_prefix("# red: --test "))?;
    Some(red.split_whitespace().collect::<Vec<_>>().join("::"))
}

/// Words that stand after `command` in code and are not among `known`.
pub(crate) fn unknown_words(text: &str, command: &str, known: &BTreeSet<String>) -> Vec<String> {
    let mut out = Vec::new();
    for line in code(text) {
        let mut words = line.split_whitespace().peekable();
        while let Some(word) = words.next() {
            let program = word == command || word.ends_with(&format!("/{command}"));
            let Some(next) = words.peek().filter(|_| program) else {
                continue;
            };
            let next = next.trim_end_matches([':', ',', ';', '`']);
            let plain = next.chars().all(|c| c.is_ascii_lowercase() || c == '-');
            if plain && !next.starts_with('-') && !known.contains(next) {
                out.push(format!("{command} {next}"));
            }
        }
    }
    out
}

/// Commands in fences of a shell that the program does not take: a flag it has not, an argument that is missing.
pub(crate) fn refused_commands(text: &str, cli: &clap::Command) -> Vec<String> {
    let (_, fences) = split(text);
    let shell = |f: &&Fence| ["sh", "console"].contains(&f.language.as_str());
    let mut out = Vec::new();
    for fence in fences.iter().filter(shell) {
        for line in fence.text.replace("\\\n", " ").lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            // Kubernetes has objects of that name.
            let begins = |pair: &[&str]| {
                pair[0].rsplit('/').next() == Some("dns-syncd")
                    && cli.find_subcommand(pair[1]).is_some()
            };
            let Some(first) = words.windows(2).position(begins) else { continue };
            // What follows is the shell's.
            let shell = |word: &&&str| !["|", "||", "&&", ">", "&", "#"].contains(*word);
            let command: Vec<&str> = words[first..].iter().take_while(shell).copied().collect();
            if let Err(error) = cli.clone().try_get_matches_from(&command) {
                out.push(format!("{}: {error}", command.join(" ")));
            }
        }
    }
    out
}

/// Metrics in a text.
pub(crate) fn metrics_in(text: &str) -> BTreeSet<String> {
    let other = |c: char| !(c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    let words = text.split(other).filter(|w| w.starts_with("dns_syncd_"));
    words.map(str::to_owned).collect()
}

/// Source text without comments, and without the line breaks of its string literals, so that a sentence is found
/// whole.
pub(crate) fn flat(source: &str) -> String {
    let lines = source.lines().filter(|l| !l.trim_start().starts_with("//"));
    let source = lines.collect::<Vec<_>>().join("\n");
    let joined: Vec<&str> = source.split("\\\n").map(str::trim_start).collect();
    joined.concat().replace("\\\"", "\"")
}

/// Values of examples; whatever has a digit, a slash, an inner dot or a quotation mark is one too.
const EXAMPLES: [&str; 5] = ["A", "NS", "CNAME", "Slave", "…"];

/// Programs that a code span can call.
const PROGRAMS: [&str; 6] = ["dns-syncd", "make", "kubectl", "pdnsutil", "POST", "cargo"];

/// Sentences in code spans that the source does not have. A sentence has three words or more; examples in it
/// part it, and each part of two words or more must be there to the letter.
pub(crate) fn unknown_sentences(text: &str, source: &str) -> Vec<String> {
    let mut out = Vec::new();
    for span in spans(&split(text).0) {
        let first = span.split(' ').next().unwrap_or_default();
        if span.split(' ').count() < 3 || PROGRAMS.contains(&first) {
            continue;
        }
        let mut parts: Vec<Vec<&str>> = vec![Vec::new()];
        for word in span.split(' ') {
            let bare = word.trim_matches(['.', ',', ':', '…', '(', ')']);
            let example = EXAMPLES.contains(&word)
                || bare.is_empty()
                || bare.contains(['/', '"', '.'])
                || bare.contains(|c: char| c.is_ascii_digit());
            match word.strip_suffix(':') {
                _ if example => parts.push(Vec::new()),
                // A detail follows its sentence, whose full stop the colon replaces.
                Some(word) => {
                    parts.last_mut().unwrap().push(word);
                    parts.push(Vec::new());
                }
                None => parts.last_mut().unwrap().push(word),
            }
        }
        let known = |p: &Vec<&str>| p.len() < 2 || source.contains(&p.join(" "));
        if !parts.iter().all(known) {
            out.push(span);
        }
    }
    out
}

/// Files of `src` that no row of the code map covers, by their own path or a folder's.
pub(crate) fn unmapped(text: &str, sources: &[String]) -> Vec<String> {
    let rows = rows(section(text, "Code map"));
    let mapped: Vec<String> =
        rows.iter().filter_map(|r| r.first()).map(|c| c.trim_matches('`').to_owned()).collect();
    let covers =
        |file: &str, m: &String| file == m || (m.ends_with('/') && file.starts_with(m.as_str()));
    let mut out: Vec<String> =
        sources.iter().filter(|f| !mapped.iter().any(|m| covers(f, m))).cloned().collect();
    let stale = mapped.iter().filter(|m| !sources.iter().any(|f| covers(f, m)));
    out.extend(stale.map(|m| format!("{m} does not exist")));
    out
}
