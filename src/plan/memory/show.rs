//! What is remembered, for a person who asks.

use serde::Serialize;

use super::{Backoff, Memory};
use crate::dns::name::Name;
use crate::dns::rrset::RecordType;

/// Something that failed and waits for its next try.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Trouble {
    /// The zone; absent for the server itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zone: Option<Name>,
    /// The owner name; absent where the zone as a whole failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<Name>,
    /// The type at fault, where it is known.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub rtype: Option<RecordType>,
    /// `read`, or `write`.
    pub what: &'static str,
    /// Why, in the words of the condition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// How often in a row.
    pub failures: u32,
    /// Milliseconds until the next try; 0: with the next pass.
    pub next_try_milliseconds: u64,
}

impl Memory {
    /// What failed, sorted: the server, its zones, their names.
    #[must_use]
    pub fn troubles(&self, now: u64) -> Vec<Trouble> {
        let trouble = |backoff: &Backoff, what| Trouble {
            zone: None,
            name: None,
            rtype: None,
            what,
            why: None,
            failures: backoff.failures,
            next_try_milliseconds: backoff.next.saturating_sub(now),
        };
        let server = self.server.iter().map(|backoff| trouble(backoff, "read"));
        let reads = self.reads.iter().map(|(zone, (backoff, why))| Trouble {
            zone: Some(zone.clone()),
            why: Some(why.clone()),
            ..trouble(backoff, "read")
        });
        let writes = self.writes.iter().map(|(zone, row)| Trouble {
            zone: Some(zone.clone()),
            ..trouble(&row.backoff, "write")
        });
        let names = self.names.iter().map(|((zone, name), row)| Trouble {
            zone: Some(zone.clone()),
            name: Some(name.clone()),
            rtype: row.rtype,
            why: Some(row.failure.condition().1),
            ..trouble(&row.backoff, "write")
        });
        server.chain(reads).chain(writes).chain(names).collect()
    }
}
