//! Markdown as far as the checks need it: prose, code spans, fences, links, headings, tables. It owns no rule.

/// One fenced block.
pub(crate) struct Fence {
    /// Its language.
    pub(crate) language: String,
    /// Its lines.
    pub(crate) text: String,
}

/// A text's prose, without fences, and the fences.
pub(crate) fn split(text: &str) -> (String, Vec<Fence>) {
    let (mut prose, mut fences) = (String::new(), Vec::new());
    let mut open: Option<Fence> = None;
    for line in text.lines() {
        let mark = line.trim_start().strip_prefix("```");
        match (&mut open, mark) {
            (Some(_), Some(_)) => fences.extend(open.take()),
            (Some(fence), None) => {
                fence.text.push_str(line);
                fence.text.push('\n');
            }
            (None, Some(language)) => {
                open = Some(Fence { language: language.trim().to_owned(), text: String::new() });
            }
            (None, None) => {
                prose.push_str(line);
                prose.push('\n');
            }
        }
    }
    fences.extend(open);
    (prose, fences)
}

/// The code spans of prose, in order; a span may go on in the next line.
pub(crate) fn spans(prose: &str) -> Vec<String> {
    let paragraphs = prose.split("\n\n").flat_map(|p| {
        let table = p.starts_with('|');
        // A row of a table ends what it began.
        let parts: Vec<&str> = if table { p.lines().collect() } else { vec![p] };
        parts
    });
    let odd = |part: &str| {
        let inside = part.split('`').skip(1).step_by(2);
        inside.map(|s| s.split_whitespace().collect::<Vec<_>>().join(" ")).collect::<Vec<_>>()
    };
    paragraphs.flat_map(odd).collect()
}

/// Code of every kind: spans, and the lines of fences.
pub(crate) fn code(text: &str) -> Vec<String> {
    let (prose, fences) = split(text);
    let mut out = spans(&prose);
    out.extend(fences.iter().flat_map(|f| f.text.lines().map(str::to_owned)));
    out
}

/// The targets of links in prose that lead to no other site.
pub(crate) fn relative_links(text: &str) -> Vec<String> {
    let (prose, _) = split(text);
    let targets = prose.match_indices("](").filter_map(|(at, _)| {
        let rest = prose.get(at + 2..)?;
        rest.split_once(')').map(|(target, _)| target.to_owned())
    });
    targets.filter(|t| !t.contains("://") && !t.starts_with("mailto:")).collect()
}

/// The anchors of a text's headings, as common hosts make them.
pub(crate) fn anchors(text: &str) -> Vec<String> {
    let (prose, _) = split(text);
    let headings =
        prose.lines().filter_map(|l| l.strip_prefix('#').map(|l| l.trim_start_matches('#')));
    let slug = |heading: &str| {
        let kept =
            heading.trim().chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        kept.collect::<String>().to_lowercase().replace(' ', "-")
    };
    headings.map(slug).collect()
}

/// The section under a heading of the second level.
pub(crate) fn section<'a>(text: &'a str, heading: &str) -> &'a str {
    let start = text.find(&format!("\n## {heading}\n")).map_or(text.len(), |at| at + 1);
    let rest = &text[start..];
    let end = rest.get(3..).and_then(|r| r.find("\n## ")).map_or(rest.len(), |at| at + 3);
    &rest[..end]
}

/// The cells of a section's table rows, without the two lines of its head.
pub(crate) fn rows(section: &str) -> Vec<Vec<String>> {
    let lines = section.lines().filter(|l| l.starts_with('|')).skip(2);
    let cells = |l: &str| l.trim_matches('|').split('|').map(|c| c.trim().to_owned()).collect();
    lines.map(cells).collect()
}
