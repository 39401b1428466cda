//! A YAML text as a tree of nodes that know their lines.
//!
//! It knows nothing of options. It reads the parser's events instead of a serde type because the
//! errors name lines, because a scalar must keep its letters (`1.10` is no number here), and
//! because the events carry no excerpt of the text, which may hold a misplaced secret.

use serde_saphyr::granit_parser::{Event, Parser, ScalarStyle, ScanError, StrInput, options};

/// A value of the file.
#[derive(Debug)]
pub(super) enum Node {
    /// Nothing: `key:`, `~` or `null`, unquoted.
    Null,
    /// A scalar, its text without quotes.
    Scalar(String),
    /// A list.
    List(Vec<Node>),
    /// A mapping in the file's order. A key that comes twice is here twice.
    Map(Vec<Entry>),
}

/// One `key: value` of a mapping.
#[derive(Debug)]
pub(super) struct Entry {
    /// The key's text.
    pub(super) key: String,
    /// The line of the key, counted from 1.
    pub(super) line: usize,
    /// The value.
    pub(super) node: Node,
}

/// Why a text is no usable YAML document.
#[derive(Debug)]
pub(super) struct Fault {
    /// The line, counted from 1.
    pub(super) line: usize,
    /// What is wrong there.
    pub(super) problem: String,
}

impl From<ScanError> for Fault {
    fn from(error: ScanError) -> Fault {
        Fault { line: error.marker().line(), problem: format!("not YAML: {}", error.info()) }
    }
}

/// Reads a text of at most one document, which must be a mapping; an empty one is an empty
/// mapping. Depth is bounded by the parser's own limit on nesting.
///
/// # Errors
///
/// The first fault: later ones would only follow from it.
pub(super) fn parse(text: &str) -> Result<Vec<Entry>, Fault> {
    let mut events =
        Events(Parser::new_from_str_with_options(text, options! { emit_comments: false }));
    let mut root = Vec::new();
    let mut documents = 0;
    loop {
        let (event, line) = events.next()?;
        if let Event::StreamEnd = event {
            return Ok(root);
        }
        if let Event::DocumentStart(..) = event {
            documents += 1;
            if documents > 1 {
                return Err(Fault {
                    line,
                    problem: "a second document: the file must be one mapping".into(),
                });
            }
        } else if event.is_node() {
            root = match events.node(event, line)? {
                Node::Map(entries) => entries,
                Node::Null => Vec::new(),
                Node::Scalar(_) | Node::List(_) => {
                    return Err(Fault {
                        line,
                        problem: "the file must be a mapping of options".into(),
                    });
                }
            };
        }
    }
}

/// The parser's events, each with its line.
struct Events<'a>(Parser<'a, StrInput<'a>>);

impl<'a> Events<'a> {
    fn next(&mut self) -> Result<(Event<'a>, usize), Fault> {
        // The parser ends with StreamEnd, after which nobody asks; an end without it reads as one.
        match self.0.next_event() {
            Some(next) => next.map(|(event, span)| (event, span.start.line())).map_err(Fault::from),
            None => Ok((Event::StreamEnd, 0)),
        }
    }

    /// The node that begins with that event. Tags and aliases are refused: they would give a value
    /// a meaning that its letters and its place do not show.
    fn node(&mut self, event: Event<'a>, line: usize) -> Result<Node, Fault> {
        if let Event::Scalar(text, style, _, None) = event {
            let null = style == ScalarStyle::Plain
                && matches!(&*text, "" | "~" | "null" | "Null" | "NULL");
            return Ok(if null { Node::Null } else { Node::Scalar(text.into_owned()) });
        }
        if let Event::SequenceStart(_, _, None) = event {
            return self.list();
        }
        if let Event::MappingStart(_, _, None) = event {
            return self.map();
        }
        Err(Fault { line, problem: "tags and aliases are not supported".into() })
    }

    fn list(&mut self) -> Result<Node, Fault> {
        let mut items = Vec::new();
        loop {
            let (event, line) = self.next()?;
            if let Event::SequenceEnd = event {
                return Ok(Node::List(items));
            }
            items.push(self.node(event, line)?);
        }
    }

    fn map(&mut self) -> Result<Node, Fault> {
        let mut entries = Vec::new();
        loop {
            let (event, line) = self.next()?;
            if let Event::MappingEnd = event {
                return Ok(Node::Map(entries));
            }
            let Event::Scalar(key, _, _, None) = event else {
                return Err(Fault { line, problem: "a key must be plain text".into() });
            };
            let (event, value_line) = self.next()?;
            let node = self.node(event, value_line)?;
            entries.push(Entry { key: key.into_owned(), line, node });
        }
    }
}
