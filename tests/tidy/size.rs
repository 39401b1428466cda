//! Rules of size: what does not fit on a few screens is two things.

use super::Finding;
use super::scan::{code, is_word};

/// Lines of a file.
const FILE: usize = 450;
/// Lines of a function, from its name to its last brace.
const FUNCTION: usize = 60;

pub(crate) fn long_file(text: &str) -> Vec<Finding> {
    let lines = text.lines().count();
    let long = lines > FILE;
    long.then(|| (lines, format!("{lines} lines, more than {FILE}"))).into_iter().collect()
}

pub(crate) fn long_functions(text: &str) -> Vec<Finding> {
    let code = code(text);
    let bytes = code.as_bytes();
    let mut out = Vec::new();
    for (at, _) in code.match_indices("fn ") {
        if at > 0 && is_word(bytes[at - 1]) {
            continue;
        }
        let Some(end) = end_of_body(bytes, at) else { continue };
        let first = line(bytes, at);
        let lines = line(bytes, end) - first + 1;
        if lines > FUNCTION {
            out.push((first, format!("a function of {lines} lines, more than {FUNCTION}")));
        }
    }
    out
}

fn line(bytes: &[u8], at: usize) -> usize {
    bytes[..at].split(|byte| *byte == b'\n').count()
}

/// Where the body of the function at `at` ends; `None` if it has none, as in a trait or a function type.
fn end_of_body(bytes: &[u8], at: usize) -> Option<usize> {
    let (mut braces, mut brackets) = (0, 0);
    for (offset, byte) in bytes[at..].iter().enumerate() {
        match byte {
            b'(' | b'[' => brackets += 1,
            b')' | b']' => brackets -= 1,
            b'{' => braces += 1,
            b'}' if braces == 1 => return Some(at + offset),
            b'}' => braces -= 1,
            b';' if braces == 0 && brackets == 0 => return None,
            _ => {}
        }
        if braces < 0 || brackets < 0 {
            return None;
        }
    }
    None
}

#[test]
fn length_is_counted() {
    assert_eq!(long_file(&"\n".repeat(450)), Vec::new());
    assert_eq!(long_file(&"\n".repeat(451))[0].0, 451);
    let body =
        |lines: usize| format!("\n\npub fn f(a: [u8; 2]) {{\n{}}}\n", "x(\"}\");\n".repeat(lines));
    assert_eq!(long_functions(&body(58)), Vec::new());
    let found = long_functions(&format!("{}{}", body(58), body(59)));
    assert_eq!(found, [(65, "a function of 61 lines, more than 60".to_owned())]);
    let declared = format!("trait T {{ fn f(&self);\n{} }}", "\n".repeat(99));
    assert_eq!(long_functions(&declared), Vec::new());
}
