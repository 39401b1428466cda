//! Reading the server's full state: what it can do, the list, and every writable zone.

use std::collections::{BTreeMap, BTreeSet};

use futures::stream::{self, StreamExt};

use super::client::{Client, Error};
use super::wire::{ListedZone, contents};
use crate::dns::name::Name;
use crate::metrics::Stage;
use crate::plan::snapshot::{Look, Server, ServerZone};

/// How the zones are read.
#[derive(Debug)]
pub struct Reading {
    /// Zones side by side.
    pub concurrency: usize,
    /// How many zones others let go first: each pass begins with another.
    pub turn: usize,
    /// Zones that are not asked for now, with the reason.
    pub resting: BTreeMap<Name, String>,
}

/// Reads everything. A failure makes something unread, never absent: the whole where the list or the server's
/// description cannot be had, else one zone. `unchanged` tells from the list which zones need no look; `now` gives
/// milliseconds on the pass's clock.
pub async fn read(
    client: &Client,
    reading: &Reading,
    unchanged: impl FnOnce(&Server) -> BTreeSet<Name>,
    now: impl Fn() -> u64,
) -> Server {
    let listed = async {
        client.refresh_key().await?;
        Ok((client.capabilities().await?, client.list().await?))
    };
    let (capabilities, listed) = match listed.await {
        Ok((capabilities, listed)) => {
            if client.is_news(None) {
                tracing::info!("PowerDNS can be read again");
            }
            (capabilities, listed)
        }
        Err(error) => {
            // It is waited for, in many passes.
            if client.is_news(Some(&error)) {
                tracing::warn!(%error, "PowerDNS could not be read");
            }
            tracing::debug!(?error, "PowerDNS could not be read");
            return Server { capabilities: None, zones: Err(unread(&error)) };
        }
    };
    // A view's variant has an inner `..`: its name does not parse, and it is no zone to manage here.
    let named = listed.into_iter().filter_map(|z| Some((Name::parse(&z.name).ok()?, unlooked(z))));
    let server = Server { capabilities: Some(capabilities), zones: Ok(named.collect()) };
    let unchanged = unchanged(&server);
    let mut zones: Vec<_> = server.zones.into_iter().flatten().collect();
    for (name, zone) in &mut zones {
        if let Some(why) = reading.resting.get(name) {
            (zone.look, zone.contents) = (Look::Resting, Err(why.clone()));
        } else if unchanged.contains(name) {
            (zone.look, zone.contents) = (Look::Unchanged, Err("it has not changed".to_owned()));
        }
    }
    client.metrics.stage(Stage::Read, zones.iter().filter(|(_, z)| z.look == Look::Asked).count());
    let turn = reading.turn.checked_rem(zones.len()).unwrap_or_default();
    zones.rotate_left(turn);
    let zones: BTreeMap<Name, ServerZone> = stream::iter(zones)
        .map(|(name, zone)| {
            let began = now();
            async move { (name, look(client, zone, began).await) }
        })
        .buffer_unordered(reading.concurrency.max(1))
        .collect()
        .await;
    Server { capabilities: Some(capabilities), zones: Ok(zones) }
}

/// A zone as the list shows it.
fn unlooked(listed: ListedZone) -> ServerZone {
    let ListedZone { id, name: _, kind, account, serial } = listed;
    let mut zone = ServerZone {
        id,
        kind,
        account,
        serial,
        read_began: 0,
        look: Look::Asked,
        serial_moves: false,
        contents: Err(String::new()),
    };
    if !zone.writable() {
        zone.contents = Err(format!("a zone of kind {} is not read", zone.kind));
    }
    zone
}

/// Reads a zone, unless there is a reason not to.
async fn look(client: &Client, mut zone: ServerZone, began: u64) -> ServerZone {
    zone.read_began = began;
    if !zone.writable() || zone.look != Look::Asked {
        return zone;
    }
    let answer = client.zone(&zone.id).await;
    client.metrics.advance(1);
    match answer {
        Ok(body) => {
            zone.serial_moves = body.serial_moves();
            // The zone's own answer is younger than the list's.
            zone.account = body.account;
            zone.contents = Ok(contents(body.rrsets));
        }
        Err(error) => {
            tracing::warn!(zone = zone.id, %error, "zone could not be read");
            tracing::debug!(zone = zone.id, ?error, "zone could not be read");
            zone.contents = Err(unread(&error));
        }
    }
    zone
}

/// Why something is unread, for conditions: the class alone, since the server's text can hold contents.
fn unread(error: &Error) -> String {
    match error {
        Error::Status { status: 401, .. } => "PowerDNS refused the API key".to_owned(),
        Error::Status { status, .. } if error.foreign() => {
            format!("what answered {status} is not PowerDNS")
        }
        Error::Status { status, .. } => format!("PowerDNS answered {status}"),
        Error::Transport(lost) => format!("no answer from PowerDNS ({lost})"),
        Error::Malformed(_) => "PowerDNS gave an unreadable answer".to_owned(),
        Error::Stopping => "the daemon is stopping".to_owned(),
        Error::NotHeld => "the daemon holds the lease no more".to_owned(),
        Error::Key { .. } => "the PowerDNS API key cannot be read".to_owned(),
    }
}
