//! The apex SOA: a request of its own, and a serial that is never lowered.

use super::apply::Task;
use crate::dns::rdata::{Rdata, Soa, serial_lt};
use crate::dns::rrset::{Contents, RecordType};
use crate::plan::batch::{element, replace};
use crate::plan::change::{Change, NameChange};
use crate::plan::{Failure, Proof};

use super::wire::contents;

impl Task<'_> {
    /// Writes the apex SOA, after everything else.
    pub(super) async fn soa(&mut self, change: &Change) {
        let name = NameChange { types: [(RecordType::Soa, change.clone())].into() };
        match self.write_soa(change).await {
            Ok(proof) => self.done(self.zone, &name, proof),
            Err(failure) => {
                self.fail(self.zone, &name, &failure);
                match failure {
                    Failure::Refused(_) | Failure::RefusedAs(_) | Failure::Status(_) => {
                        let why = (Some(RecordType::Soa), failure);
                        self.out.isolated.insert(self.zone.clone(), why);
                    }
                    Failure::Conflict(_)
                    | Failure::NameHeld(_)
                    | Failure::ZoneMissing
                    | Failure::Unauthorized
                    | Failure::Unknown(_)
                    | Failure::NotSent(_)
                    | Failure::NotPowerDns(_)
                    | Failure::InVain(_) => self.out.stopped = true,
                }
            }
        }
    }

    /// New contents go directly after the stored ones were read, with a serial that is not lower (RFC 1982): the server
    /// takes any serial it is sent.
    async fn write_soa(&self, change: &Change) -> Result<Proof, Failure> {
        let dialect = self.applier.dialect;
        let rrset = match change {
            Change::Replace { contents, comments, .. } => {
                let raised = self.not_lowered(contents).await?;
                replace(
                    self.zone,
                    raised.as_ref().unwrap_or(contents),
                    comments.as_deref(),
                    dialect,
                )
            }
            Change::Adopt { .. } | Change::Delete { .. } => {
                element(self.zone, RecordType::Soa, change, dialect)
            }
        };
        self.client().patch(self.id, vec![rrset]).await.map_err(|e| self.failed(&e))
    }

    /// The declared SOA with the stored serial, where its own is lower or not given.
    async fn not_lowered(&self, declared: &Contents) -> Result<Option<Contents>, Failure> {
        let body = self.client().zone(self.id).await.map_err(|e| self.failed(&e))?;
        let stored = contents(body.rrsets);
        let records = stored.get(self.zone, RecordType::Soa).into_iter().flat_map(|r| &r.records);
        // Whatever else is wrong with it: what secondaries have seen is its serial.
        let serial = records
            .filter_map(|r| Rdata::parse(RecordType::Soa, &r.content).ok())
            .find_map(|value| if let Rdata::Soa(soa) = value { Some(soa.serial()) } else { None });
        Ok(match (soa(declared), serial) {
            (Some(soa), Some(serial)) if soa.serial() == 0 || serial_lt(soa.serial(), serial) => {
                Contents::new(declared.ttl(), [Rdata::Soa(soa.with_serial(serial))].into())
            }
            _ => None,
        })
    }
}

/// The SOA in an SOA RRset.
fn soa(contents: &Contents) -> Option<&Soa> {
    contents.values().iter().find_map(
        |value| {
            if let Rdata::Soa(soa) = value { Some(soa) } else { None }
        },
    )
}
