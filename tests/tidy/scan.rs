//! As much of Rust's grammar as the rules need: code without its comments and literals, and the paths that it names.
//!
//! It knows no rule.

/// The text with comments, strings and characters blanked; lines and columns stay where they are.
pub(crate) fn code(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = bytes.to_vec();
    let mut at = 0;
    while at < bytes.len() {
        let end = literal(bytes, at);
        for byte in out.get_mut(at..end).into_iter().flatten().filter(|b| **b != b'\n') {
            *byte = b' ';
        }
        at = end.max(at + 1);
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// Where the comment or literal that begins at `at` ends; `at` itself if none does.
fn literal(bytes: &[u8], at: usize) -> usize {
    let rest = &bytes[at..];
    let find = |needle: &[u8], from: usize| {
        let found =
            rest.get(from..).and_then(|r| r.windows(needle.len()).position(|w| w == needle));
        found.map_or(bytes.len(), |position| at + from + position + needle.len())
    };
    if rest.starts_with(b"//") {
        return find(b"\n", 2);
    }
    if rest.starts_with(b"/*") {
        return find(b"*/", 2);
    }
    let word = at > 0 && is_word(bytes[at - 1]);
    let raw = if rest.starts_with(b"br") { 2 } else { usize::from(rest.starts_with(b"r")) };
    let hashes = rest.iter().skip(raw).take_while(|b| **b == b'#').count();
    if raw > 0 && !word && rest.get(raw + hashes) == Some(&b'"') {
        let end = [b"\"".as_slice(), &b"#".repeat(hashes)].concat();
        return find(&end, raw + hashes + 1);
    }
    match rest {
        [b'"', ..] => quoted(bytes, at, b'"'),
        // A lifetime has no second quote within two characters; a character has, or an escape.
        [b'\'', b'\\', ..] => quoted(bytes, at, b'\''),
        [b'\'', tail @ ..] => {
            let width = std::str::from_utf8(&tail[..tail.len().min(4)])
                .or_else(|e| std::str::from_utf8(&tail[..e.valid_up_to()]))
                .ok()
                .and_then(|t| t.chars().next())
                .map_or(1, char::len_utf8);
            if tail.get(width) == Some(&b'\'') { at + width + 2 } else { at }
        }
        _ => at,
    }
}

/// The end of a literal with escapes.
fn quoted(bytes: &[u8], at: usize, quote: u8) -> usize {
    let mut end = at + 1;
    while let Some(byte) = bytes.get(end) {
        match byte {
            b'\\' => end += 2,
            b if *b == quote => return end + 1,
            _ => end += 1,
        }
    }
    bytes.len()
}

pub(crate) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Every path of at least two segments in blanked code, the trees of `use` spread out: `std::fs`, `crate::dns::name`.
/// Also every single word, so that a rule can look for one.
pub(crate) fn paths(code: &str) -> Vec<(usize, String)> {
    let mut out = Vec::new();
    let mut prefixes: Vec<String> = vec![String::new()];
    let mut current = String::new();
    let mut line = 1;
    let mut in_use = false;
    let bytes = code.as_bytes();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let word = bytes[at..].iter().take_while(|b| is_word(**b)).count();
        if word > 0 {
            let text = &code[at..at + word];
            at += word;
            if text == "use" && current.is_empty() {
                in_use = true;
                continue;
            }
            if current.is_empty() || current.ends_with("::") {
                current.push_str(text);
                continue;
            }
            // Two words side by side: `as name`, a keyword; a new path begins.
            flush(&mut out, line, &prefixes, &mut current);
            text.clone_into(&mut current);
            continue;
        }
        at += 1;
        match byte {
            b':' if bytes.get(at) == Some(&b':') => {
                at += 1;
                current.push_str("::");
            }
            b'{' if in_use => {
                let prefix = format!("{}{current}", prefixes.last().unwrap());
                prefixes.push(prefix);
                current.clear();
            }
            b'}' if in_use => {
                flush(&mut out, line, &prefixes, &mut current);
                prefixes.pop();
            }
            b'\n' => {
                if !current.ends_with("::") {
                    flush(&mut out, line, &prefixes, &mut current);
                }
                line += 1;
            }
            b' ' | b'\t' => {}
            _ => {
                flush(&mut out, line, &prefixes, &mut current);
                if *byte == b';' {
                    in_use = false;
                    prefixes.truncate(1);
                }
            }
        }
    }
    flush(&mut out, line, &prefixes, &mut current);
    out
}

fn flush(out: &mut Vec<(usize, String)>, line: usize, prefixes: &[String], current: &mut String) {
    let path = std::mem::take(current);
    if !path.is_empty() {
        out.push((line, format!("{}{path}", prefixes.last().unwrap())));
    }
}

#[test]
fn comments_and_literals_are_no_code() {
    let text = concat!(
        "let a = \"std::fs \\\" {\"; // async\n",
        "let b = r#\"x \" {\"#; /* { */ let c = '{'; let d: &'a str = b'\\''; f('é', '\\\\')\n",
    );
    let blank = code(text);
    assert_eq!(blank.len(), text.len());
    assert_eq!(blank.lines().count(), 2);
    for word in ["std", "async", "{", "x", "é"] {
        assert!(!blank.contains(word), "{word}: {blank}");
    }
    for word in ["let a =", "let b =", "let c =", "&'a str", "f("] {
        assert!(blank.contains(word), "{word}: {blank}");
    }
}

#[test]
fn paths_are_spread_out() {
    let found = paths("use std::{env, fs::{self, File}};\nlet x = crate::a::B::new(tokio::spawn);");
    for (line, path) in
        [(1, "std::env"), (1, "std::fs::File"), (2, "crate::a::B::new"), (2, "tokio::spawn")]
    {
        assert!(found.contains(&(line, path.to_owned())), "{path}: {found:?}");
    }
}
