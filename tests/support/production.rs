//! Estates of a given size, in the shape of the one in production: one zone has most of the record sets.

use futures::stream::{self, StreamExt};
use serde_json::{Value, json};

use super::estate::Estate;
use super::objects;

/// How large an estate is.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// `DNSZone`s.
    pub zones: usize,
    /// `DNSRecordSet`s of all zones together.
    pub sets: usize,
    /// Those of the first zone.
    pub largest: usize,
    /// Records of all sets together; a set has one name, with one address or two.
    pub entries: usize,
}

/// The figures of production.
pub const PRODUCTION: Shape = Shape { zones: 115, sets: 2707, largest: 2399, entries: 4789 };

/// Objects that are created side by side.
const SIDE_BY_SIDE: usize = 16;

impl Shape {
    /// The zone that a set belongs to: its number.
    fn zone(&self, set: usize) -> usize {
        if set < self.largest { 0 } else { 1 + set % (self.zones - 1) }
    }

    /// The domain of a zone.
    pub fn domain(zone: usize) -> String {
        format!("d{zone}.example")
    }

    /// The name at which a set has its addresses.
    pub fn name(&self, set: usize) -> String {
        format!("n{set}.{}", Shape::domain(self.zone(set)))
    }

    /// The records of a set; `edition` is another number after each edit.
    pub fn records(&self, set: usize, edition: usize) -> Value {
        let two = set < self.entries - self.sets;
        (0..=usize::from(two))
            .map(|n| {
                let address = format!("10.{}.{}.{n}", edition % 256, set % 256);
                json!({"name": format!("n{set}"), "a": {"content": address}})
            })
            .collect()
    }

    /// The first address of these records.
    pub fn address(set: usize, edition: usize) -> String {
        format!("10.{}.{}.0", edition % 256, set % 256)
    }
}

/// Creates the objects of a shape in an estate's namespace: zones `z0`…, record sets `s0`…; returns the sets.
pub async fn build(estate: &Estate, shape: Shape) -> Vec<Value> {
    let zones = (0..shape.zones).map(|zone| async move {
        estate.zone(&format!("z{zone}"), &Shape::domain(zone)).await;
    });
    stream::iter(zones).buffer_unordered(SIDE_BY_SIDE).collect::<()>().await;
    let sets = (0..shape.sets).map(|set| async move {
        let zone = format!("z{}", shape.zone(set));
        let records = shape.records(set, 0);
        let set = objects::record_set(&estate.namespace, &format!("s{set}"), &zone, "A", &records);
        objects::create(&estate.client, &set).await
    });
    stream::iter(sets).buffered(SIDE_BY_SIDE).collect().await
}
