//! Rules about words: every file opens with what it is, and nothing says that it is unfinished.

use super::Finding;

pub(crate) fn no_opening(text: &str) -> Vec<Finding> {
    let says = text.lines().next().is_some_and(|line| {
        line.strip_prefix("//! ").is_some_and(|said| said.chars().any(char::is_alphabetic))
    });
    (!says).then(|| (1, "the first line is no `//!` sentence".to_owned())).into_iter().collect()
}

/// In two pieces each, because this file is read too.
const LATER: [&str; 5] = [
    concat!("TO", "DO"),
    concat!("FIX", "ME"),
    concat!("to", "do!("),
    concat!("unimple", "mented!("),
    concat!("#[", "ignore"),
];

pub(crate) fn left_for_later(text: &str) -> Vec<Finding> {
    let mut out = Vec::new();
    for (at, line) in text.lines().enumerate() {
        for word in LATER.into_iter().filter(|word| line.contains(word)) {
            out.push((at + 1, format!("`{word}`: an issue, not a word in a file")));
        }
    }
    out
}

#[test]
fn a_file_without_a_sentence_on_top_is_found() {
    for bad in ["", "use std::fmt;\n//! Late.", "//!\n", "// Half.\n", "\n//! Late.\n"] {
        assert_eq!(no_opening(bad).len(), 1, "{bad:?}");
    }
    assert_eq!(no_opening("//! Names.\n"), Vec::new());
}

#[test]
fn unfinished_work_is_found() {
    for word in LATER {
        assert_eq!(left_for_later(&format!("fine\n// {word} x"))[0].0, 2, "{word}");
    }
    assert_eq!(left_for_later("all is done"), Vec::new());
}
