//! Truthful under every fault: one table for each kind of request to PowerDNS, with a row for each way in which it
//! can fail and what must be said then.

use std::ops::RangeInclusive;

use serde_json::{Value, json};

use crate::rows::{self, Before, LIST, OLD, Row, Said, Says, hosts, said, secret};
use crate::support::recorder::Action;

const INTERNAL: &str =
    "An internal error occurred while applying the record. It will be retried automatically.";
const GONE: &str = "The DNS zone could not be found. It may still be provisioning.";
const REFUSED: &str = "The DNS record was rejected as invalid. Check the record type and value.";
const LATER: &str = "Record not yet programmed: an earlier request for the zone failed";

fn failed(why: &str) -> String {
    format!("Failed to apply DNS record. It will be retried automatically: {why}")
}

fn served() -> Said {
    said("True", "Programmed", "Record successfully applied to PDNS")
}

fn zone_served() -> Said {
    said("True", "Programmed", "Default records ensured")
}

fn zone_waits(message: &str) -> Said {
    said("False", "PDNSError", &format!("Waiting for default records: {message}"))
}

/// Every new host says the same, and the zone says why its NS are not there.
fn all(message: &str) -> Says {
    let one = said("False", "PDNSError", message);
    let names = hosts().into_iter().map(|host| (host, one.clone())).chain([(OLD.into(), served())]);
    Says { zone: zone_waits(message), names: names.collect() }
}

/// Nothing is served where there is no zone.
fn gone() -> Says {
    let mut says = all(GONE);
    let before = format!("{GONE}; it was programmed before");
    says.names.insert(OLD.into(), said("False", "PDNSError", &before));
    says
}

/// One host alone says it.
fn one(reason: &str, message: &str) -> Says {
    let mut says = everything();
    says.names.insert("n03".to_owned(), said("False", reason, message));
    says
}

fn everything() -> Says {
    let names = hosts().into_iter().chain([OLD.to_owned()]).map(|host| (host, served()));
    Says { zone: zone_served(), names: names.collect() }
}

/// The server fails whatever it is sent: the NS and the first host tell, the others are spared.
fn two(message: &str) -> Says {
    let mut says = all(message);
    for host in hosts().into_iter().skip(1) {
        says.names.insert(host, said("False", "Pending", LATER));
    }
    says
}

/// Nothing is known of the zone, nor of what it served.
fn unread(why: &str) -> Says {
    let mut says = all(&failed(why));
    says.zone = zone_waits(why);
    let old = format!("{}; it was programmed before", failed(why));
    says.names.insert(OLD.to_owned(), said("False", "PDNSError", &old));
    says
}

/// An error as PowerDNS gives it.
fn error(label: &str, status: u16) -> Action {
    Action::Answer(status, json!({ "error": secret(label) }))
}

/// An error as something else gives it.
fn page(label: &str, status: u16) -> Action {
    Action::Text(status, format!("<html>{}</html>", secret(label)))
}

fn write(label: &'static str, action: Action, says: Says, writes: RangeInclusive<usize>) -> Row {
    let requests = 1 + 2 * writes.end();
    let (before, method) = (Before::Served, "PATCH");
    Row { label, before, method, query: "", about: None, action, says, writes, requests }
}

/// The same where one host alone makes it fail.
fn bad(label: &'static str, action: Action, says: Says, writes: RangeInclusive<usize>) -> Row {
    Row { about: Some("n03"), ..write(label, action, says, writes) }
}

fn text(label: &'static str, text: &str) -> Action {
    let text =
        text.replace("NAME", &format!("n03.{label}.example.")).replace("TEXT", &secret(label));
    Action::Answer(422, json!({ "error": text }))
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_befalls_a_write_is_said_and_never_called_programmed() {
    let status = |n: u16| failed(&format!("status {n}"));
    let foreign = |n: u16| all(&failed(&format!("what answered {n} is not PowerDNS")));
    let lost = |how: &str| failed(&format!("no answer from PowerDNS ({how})"));
    let rows = vec![
        write("w-401", error("w-401", 401), all(&failed("PowerDNS refused the API key")), 1..=1),
        write("w-404", error("w-404", 404), gone(), 1..=1),
        write("w-404-page", page("w-404-page", 404), foreign(404), 1..=1),
        write("w-404-empty", Action::Text(404, String::new()), foreign(404), 1..=1),
        write("w-302", Action::Redirect, foreign(302), 1..=1),
        write("w-500", error("w-500", 500), two(INTERNAL), 6..=7),
        write("w-502", page("w-502", 502), two(INTERNAL), 6..=7),
        write("w-503", error("w-503", 503), two(INTERNAL), 6..=7),
        write("w-reset", Action::Reset, two(&lost("the connection was reset")), 6..=7),
        write("w-hang", Action::Hang, all(&lost("time-out")), 1..=1),
        write("w-swallowed", Action::ForwardThenDrop, everything(), 1..=1),
        write(
            "w-200",
            Action::Answer(200, json!({})),
            all(&failed("unreadable answer from PowerDNS")),
            1..=1,
        ),
        bad("w-422", text("w-422", "RRset NAME IN A: TEXT"), one("PDNSError", REFUSED), 2..=2),
        bad("w-422-mute", text("w-422-mute", "TEXT"), one("PDNSError", REFUSED), 2..=9),
        bad(
            "w-422-conflict",
            text("w-422-conflict", "RRset NAME IN A: Conflicts with pre-existing RRset TEXT"),
            one(
                "Conflict",
                "A conflicting record already exists for this name. Remove the existing record and try again: \
                 of a type that excludes it",
            ),
            2..=2,
        ),
        bad("w-400", error("w-400", 400), one("PDNSError", &status(400)), 2..=9),
        bad("w-413", error("w-413", 413), one("PDNSError", &status(413)), 2..=9),
        bad("w-500-one", error("w-500-one", 500), one("PDNSError", INTERNAL), 2..=9),
    ];
    rows::run("honestwrite", rows).await;
}

fn read(label: &'static str, action: Action, says: Says) -> Row {
    let (before, method) = (Before::Served, "GET");
    let (writes, requests) = (0..=0, 1);
    Row { label, before, method, query: "", about: None, action, says, writes, requests }
}

/// The zone as a server would show it that has two RRsets where there can be one.
fn twice(zone: &mut Value, of: impl Fn(&Value) -> bool) {
    let rrsets = zone["rrsets"].as_array_mut().unwrap();
    let again = rrsets.iter().find(|rrset| of(rrset)).unwrap().clone();
    rrsets.push(again);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_zone_that_could_not_be_read_says_why_and_nothing_in_it_is_programmed() {
    let lost = |how: &str| unread(&format!("no answer from PowerDNS ({how})"));
    let foreign = |n: u16| unread(&format!("what answered {n} is not PowerDNS"));
    let status = |n: u16| unread(&format!("PowerDNS answered {n}"));
    let strange = || unread("PowerDNS gave an unreadable answer");
    let half = r#"{"account": "", "rrsets": [{"name": "old.r-half.example.", "ty"#;
    let shape = json!({"account": "", "rrsets": secret("r-shape")});
    let rows = vec![
        read("r-401", error("r-401", 401), unread("PowerDNS refused the API key")),
        read("r-404", error("r-404", 404), status(404)),
        read("r-404-page", page("r-404-page", 404), foreign(404)),
        read("r-404-empty", Action::Text(404, String::new()), foreign(404)),
        read("r-302", Action::Redirect, foreign(302)),
        read("r-422", error("r-422", 422), status(422)),
        read("r-500", error("r-500", 500), status(500)),
        read("r-502", page("r-502", 502), status(502)),
        read("r-503", page("r-503", 503), status(503)),
        read("r-reset", Action::Reset, lost("the connection was reset")),
        read("r-hang", Action::Hang, lost("time-out")),
        read("r-swallowed", Action::ForwardThenDrop, lost("the connection was reset")),
        read("r-cut", Action::Truncate(9), lost("the answer was cut off")),
        read("r-page", page("r-page", 200), strange()),
        read("r-empty", Action::Text(200, String::new()), strange()),
        read("r-half", Action::Text(200, half.to_owned()), strange()),
        read("r-shape", Action::Answer(200, shape), strange()),
        read("r-nothing", Action::Answer(200, json!({"result": secret("r-nothing")})), strange()),
        read(
            "r-bare",
            Action::Edit(|zone| drop(zone.as_object_mut().unwrap().remove("rrsets"))),
            strange(),
        ),
        read("r-list", Action::Answer(200, json!([])), strange()),
    ];
    rows::run("honestread", rows).await;
}

fn odd(
    label: &'static str,
    edit: fn(&mut Value),
    says: Says,
    writes: RangeInclusive<usize>,
) -> Row {
    Row { writes, requests: 2, ..read(label, Action::Edit(edit), says) }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_reads_oddly_is_not_called_programmed() {
    let more = failed("PowerDNS shows more than one RRset of one type at this name");
    let mut old = everything();
    old.names.insert(
        OLD.to_owned(),
        said("False", "PDNSError", &format!("{more}; it was programmed before")),
    );
    let zone = said("False", "Pending", "Waiting for default records");
    let apex = Says { zone, ..everything() };
    let slave = "a zone of kind Slave takes its contents from elsewhere";
    let rows = vec![
        odd("o-twice", |zone| twice(zone, |r| r["name"] == "old.o-twice.example."), old, 1..=1),
        odd("o-twice-ns", |zone| twice(zone, |r| r["type"] == "NS"), apex, 1..=1),
        Row {
            query: LIST,
            ..odd(
                "o-slave",
                |list| {
                    let zones = list.as_array_mut().unwrap().iter_mut();
                    zones
                        .filter(|zone| zone["name"] == "o-slave.example.")
                        .for_each(|zone| zone["kind"] = json!("Slave"));
                },
                unread(slave),
                0..=0,
            )
        },
    ];
    rows::run("honestodd", rows).await;
}

const UNREADABLE: &str = "unreadable answer from PowerDNS";

/// A zone that is to be created; `writes` POSTs, each perhaps with a look at the list.
fn create(label: &'static str, action: Action, message: &str, writes: usize) -> Row {
    let mut says = all(message);
    says.names.insert(OLD.to_owned(), said("False", "PDNSError", message));
    let (before, method) = (Before::Missing, "POST");
    let (writes, requests) = (writes..=writes, 2 * writes);
    Row { label, before, method, query: "", about: None, action, says, writes, requests }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_zone_that_was_not_created_says_why_and_so_do_its_names() {
    let foreign = |n: u16| failed(&format!("what answered {n} is not PowerDNS"));
    let lost = |how: &str| failed(&format!("no answer from PowerDNS ({how})"));
    let status = |n: u16| failed(&format!("status {n}"));
    let rows = vec![
        create("c-401", error("c-401", 401), &failed("PowerDNS refused the API key"), 1),
        create("c-404-page", page("c-404-page", 404), &foreign(404), 1),
        create("c-302", Action::Redirect, &foreign(302), 1),
        create("c-409", error("c-409", 409), &status(409), 1),
        create("c-400", error("c-400", 400), &status(400), 2),
        create("c-413", error("c-413", 413), &status(413), 2),
        create("c-422", error("c-422", 422), REFUSED, 2),
        create("c-500", error("c-500", 500), INTERNAL, 2),
        create("c-502", page("c-502", 502), INTERNAL, 2),
        create("c-503", error("c-503", 503), INTERNAL, 2),
        create("c-reset", Action::Reset, &lost("the connection was reset"), 2),
        create("c-hang", Action::Hang, &lost("time-out"), 1),
        create("c-200", Action::Answer(200, json!({})), &failed(UNREADABLE), 1),
    ];
    rows::run("honestcreate", rows).await;
}

/// A zone that is to go.
fn delete(label: &'static str, action: Action, message: &str) -> Row {
    let zone = said("False", "Pending", &format!("deletion is waiting: {message}"));
    let old = format!(
        "Record not yet programmed: its deletion is not proved: {message}; it was programmed before"
    );
    let says = Says { zone, names: [(OLD.to_owned(), said("False", "Pending", &old))].into() };
    let (before, method) = (Before::Leaving, "DELETE");
    let (writes, requests) = (1..=1, 3);
    Row { label, before, method, query: "", about: None, action, says, writes, requests }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_zone_that_was_not_deleted_holds_its_objects_and_says_why() {
    let foreign = |n: u16| failed(&format!("what answered {n} is not PowerDNS"));
    let lost = |how: &str| failed(&format!("no answer from PowerDNS ({how})"));
    let rows = vec![
        delete("d-401", error("d-401", 401), &failed("PowerDNS refused the API key")),
        delete("d-404", error("d-404", 404), GONE),
        delete("d-404-page", page("d-404-page", 404), &foreign(404)),
        delete("d-302", Action::Redirect, &foreign(302)),
        delete("d-422", error("d-422", 422), REFUSED),
        delete("d-500", error("d-500", 500), INTERNAL),
        delete("d-502", page("d-502", 502), INTERNAL),
        delete("d-503", error("d-503", 503), INTERNAL),
        delete("d-reset", Action::Reset, &lost("the connection was reset")),
        delete("d-hang", Action::Hang, &lost("time-out")),
        delete("d-200", Action::Answer(200, json!({})), &failed(UNREADABLE)),
    ];
    rows::run("honestdelete", rows).await;
}

/// A zone that somebody made by hand and that is to be marked as ours.
fn mark(
    label: &'static str,
    (method, query): (&'static str, &'static str),
    action: Action,
    why: &str,
) -> Row {
    let waits = format!("the zone is being marked as ours first: {why}");
    let message = format!("Record not yet programmed: {waits}");
    let names = hosts().into_iter().chain([OLD.to_owned()]);
    let names = names.map(|host| (host, said("False", "Pending", &message))).collect();
    let zone = format!("Waiting for default records: {waits}");
    let says = Says { zone: said("False", "Pending", &zone), names };
    let writes = if method == "PUT" { 2..=2 } else { 0..=0 };
    let before = Before::Stranger;
    Row { label, before, method, query, about: None, action, says, writes, requests: 8 }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_zone_that_could_not_be_marked_is_not_written_and_says_why() {
    let foreign = |n: u16| failed(&format!("what answered {n} is not PowerDNS"));
    let lost = |how: &str| failed(&format!("no answer from PowerDNS ({how})"));
    let put = |label: &'static str, action, why: &str| mark(label, ("PUT", ""), action, why);
    let head =
        |label: &'static str, action, why: &str| mark(label, ("GET", "?rrsets=false"), action, why);
    let rows = vec![
        put("m-401", error("m-401", 401), &failed("PowerDNS refused the API key")),
        put("m-404", error("m-404", 404), GONE),
        put("m-404-page", page("m-404-page", 404), &foreign(404)),
        put("m-302", Action::Redirect, &foreign(302)),
        put("m-422", error("m-422", 422), REFUSED),
        put("m-500", error("m-500", 500), INTERNAL),
        put("m-reset", Action::Reset, &lost("the connection was reset")),
        put("m-hang", Action::Hang, &lost("time-out")),
        put("m-200", Action::Answer(200, json!({})), &failed(UNREADABLE)),
        head("m-head-500", error("m-head-500", 500), INTERNAL),
        head("m-head-page", page("m-head-page", 200), &failed(UNREADABLE)),
        head("m-head-shape", Action::Answer(200, json!({})), &failed(UNREADABLE)),
    ];
    rows::run("honestmark", rows).await;
}
