//! A plan as Markdown for a comment on a change: a table a zone, what goes first. Whatever was written by anybody is shown as
//! it is and does nothing; the whole has a bound, and says what it leaves out.

use std::fmt::{self, Display, Write};

use super::document::{Document, RrsetChange, Wait, Zone};
use crate::dns::name::Name;

/// Characters of the whole: a comment on GitHub has 65,536.
const MAX_LENGTH: usize = 60_000;
/// Characters of one text as it is spelt here: a TXT RRset may have thousands.
const MAX_TEXT: usize = 300;
/// Rows of what waits, orphans and holds, each.
const MAX_LISTED: usize = 20;

/// Prints a plan's data as Markdown.
#[derive(Debug)]
pub struct Markdown<'a>(pub &'a Document);

impl Display for Markdown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Document { differs, unread, zones, holds, orphans, waits } = self.0;
        let mut head = format!("### DNS: {}\n\n", headline(zones, *differs));
        if let Some(why) = unread {
            writeln!(head, "**PowerDNS could not be read, so nothing is known:** {}\n", code(why))?;
        }
        let holds = holds.iter().map(|h| format!("- **held by a brake**: {}", code(&h.message())));
        listed(&mut head, holds, "holds")?;
        let ours =
            |zone: &Name| format!("- zone {} has our mark and no DNSZone", code(zone.as_str()));
        listed(&mut head, orphans.iter().map(ours), "orphans")?;
        let mut tail = String::new();
        wait_table(&mut tail, waits)?;
        f.write_str(&head)?;
        zone_tables(f, zones, MAX_LENGTH.saturating_sub(head.len() + tail.len()))?;
        f.write_str(&tail)
    }
}

/// How many changes of which kind.
fn headline(zones: &[Zone], differs: bool) -> String {
    let count = |action: &str| changes(zones).filter(|c| c.action == action).count();
    let steps = |step: &str| zones.iter().filter(|z| z.step == step).count();
    let parts = [
        (steps("delete"), "zones to delete"),
        (count("delete"), "to delete"),
        (count("replace"), "to replace"),
        (steps("create"), "zones to create"),
        (count("create"), "to create"),
        (count("adopt"), "to note as ours"),
    ];
    let said = parts.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}"));
    let said = said.collect::<Vec<_>>().join(", ");
    match (differs, said.is_empty()) {
        (false, true) => "nothing to change".to_owned(),
        (false, false) => format!("nothing to change; {said}"),
        (true, _) => said,
    }
}

fn changes(zones: &[Zone]) -> impl Iterator<Item = &RrsetChange> {
    zones.iter().flat_map(|zone| &zone.changes)
}

/// At most some lines, and how many more there are.
fn listed(
    out: &mut String,
    lines: impl ExactSizeIterator<Item = String>,
    what: &str,
) -> fmt::Result {
    let count = lines.len();
    for line in lines.take(MAX_LISTED) {
        writeln!(out, "{line}")?;
    }
    if count > MAX_LISTED {
        writeln!(out, "- and {} more {what}", count - MAX_LISTED)?;
    }
    if count > 0 { writeln!(out) } else { Ok(()) }
}

/// Zones in which something goes come first, and in each what goes: a bound must not hide it.
fn zone_tables(f: &mut fmt::Formatter<'_>, zones: &[Zone], room: usize) -> fmt::Result {
    let goes = |zone: &Zone| zone.step == "delete" || zone.changes.iter().any(|c| rank(c) == 0);
    let mut sorted: Vec<&Zone> = zones.iter().filter(|zone| says_something(zone)).collect();
    sorted.sort_by_key(|zone| !goes(zone));
    let (mut used, mut hidden) = (0, Vec::new());
    for zone in sorted {
        let mut out = String::new();
        zone_table(&mut out, zone, room.saturating_sub(used), &mut hidden)?;
        used += out.len();
        f.write_str(&out)?;
    }
    if !hidden.is_empty() {
        let gone = hidden.iter().filter(|action| **action == "delete").count();
        let among = if gone > 0 { format!(", {gone} of them deletes") } else { String::new() };
        writeln!(f, "**{} more changes are not shown{among}.**\n", hidden.len())?;
    }
    Ok(())
}

fn says_something(zone: &Zone) -> bool {
    let shown = zone.changes.iter().any(|c| c.action != "adopt");
    shown || zone.withheld.is_some() || matches!(zone.step, "create" | "delete")
}

fn rank(change: &RrsetChange) -> usize {
    ["delete", "replace", "create"].iter().position(|a| *a == change.action).unwrap_or(3)
}

/// One zone with its rows as far as there is room; `hidden` gets the actions of the others.
fn zone_table(
    out: &mut String,
    zone: &Zone,
    room: usize,
    hidden: &mut Vec<&'static str>,
) -> fmt::Result {
    let step = match zone.step {
        "create" => ": the zone is created",
        "delete" => ": **the zone is deleted with all that it holds**",
        _ => "",
    };
    let mut rows: Vec<&RrsetChange> = zone.changes.iter().filter(|c| c.action != "adopt").collect();
    if room == 0 {
        hidden.extend(rows.iter().map(|c| c.action));
        hidden.extend(["create", "delete"].into_iter().filter(|step| *step == zone.step));
        return Ok(());
    }
    writeln!(out, "#### {}{step}\n", code(zone.zone.as_str()))?;
    if let Some(why) = &zone.withheld {
        writeln!(out, "waits: {}\n", code(why))?;
    }
    if zone.step == "delete" && !zone.leftovers.is_empty() {
        writeln!(out, "{} RRsets that nobody declares go with it.\n", zone.leftovers.len())?;
    }
    if rows.is_empty() {
        return Ok(());
    }
    rows.sort_by_key(|change| rank(change));
    writeln!(out, "| | Name | Type | Now | Then | Of |\n|---|---|---|---|---|---|")?;
    for change in rows {
        if out.len() >= room {
            hidden.push(change.action);
            continue;
        }
        let RrsetChange { name, rtype, action, from, to, by, why } = change;
        let action = if *action == "delete" { "**delete**" } else { action };
        let text = |value: &Option<String>| value.as_deref().map(code).unwrap_or_default();
        let by = by.as_deref().map_or("the class".to_owned(), code);
        let why = why.as_deref().map(|why| format!(": {why}")).unwrap_or_default();
        let (name, from, to) = (code(name.as_str()), text(from), text(to));
        writeln!(out, "| {action} | {name} | {rtype} | {from} | {to} | {by}{why} |")?;
    }
    writeln!(out)
}

fn wait_table(out: &mut String, waits: &[Wait]) -> fmt::Result {
    if waits.is_empty() {
        return Ok(());
    }
    writeln!(out, "#### What waits\n\n| Object | Name | Why |\n|---|---|---|")?;
    for Wait { kind, object, name, why } in waits.iter().take(MAX_LISTED) {
        let name = name.as_deref().map(code).unwrap_or_default();
        writeln!(out, "| {kind} {} | {name} | {} |", code(object), code(why))?;
    }
    if waits.len() > MAX_LISTED {
        writeln!(out, "| and {} more | | |", waits.len() - MAX_LISTED)?;
    }
    writeln!(out)
}

/// A text that others wrote, so that it reads as it is: no mark-up, no mention, no link, no end of a cell.
fn code(text: &str) -> String {
    let mut out = String::from("<code>");
    let mut rest = text.chars();
    while out.len() < MAX_TEXT
        && let Some(c) = rest.next()
    {
        // Writing to a String cannot fail.
        let _ = match c {
            ' ' | '.' | ',' | ':' | ';' | '=' | '/' | '-' | '+' => write!(out, "{c}"),
            _ if c.is_ascii_alphanumeric() => write!(out, "{c}"),
            _ if c.is_ascii() && !c.is_ascii_control() => write!(out, "&#{};", u32::from(c)),
            // What is not seen, or turns the text around, is told by its number.
            _ => write!(out, "&#92;u{:04x}", u32::from(c)),
        };
    }
    out += "</code>";
    let more = rest.count();
    if more > 0 {
        let _ = write!(out, "… and {more} more characters");
    }
    out
}
