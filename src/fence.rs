//! The fence between one writer and the next: a request may begin only while the lease outlives its time-out.
//!
//! It knows nothing of leases, which `lease` does; the clients of both servers ask it before each request. Time is that
//! of the monotonic clock of this process, so that a process that was stopped for a while finds the fence shut.
#![expect(clippy::disallowed_methods, reason = "a fence is about the time that is left")]

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

use crate::config::MARGIN;

/// Whether requests may begin. Clones are the same fence; the default one is always open.
#[derive(Clone, Debug, Default)]
pub struct Fence(Option<Arc<watch::Sender<Option<Instant>>>>);

/// The lease is not held: nothing may begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shut;

impl Fence {
    /// A fence that is shut until somebody holds the lease.
    #[must_use]
    pub fn shut() -> Fence {
        Fence(Some(Arc::new(watch::Sender::new(None))))
    }

    /// The lease is held until then, or held no more.
    pub fn set(&self, until: Option<Instant>) {
        if let Some(fence) = &self.0 {
            fence.send_replace(until);
        }
    }

    /// Whether nobody took the lease away yet, though it may have run out.
    ///
    /// # Errors
    /// If it is not held.
    pub fn held(&self) -> Result<(), Shut> {
        match &self.0 {
            Some(fence) if fence.borrow().is_none() => Err(Shut),
            Some(_) | None => Ok(()),
        }
    }

    /// Waits until a request of this time-out may begin. While the lease is held but has too little left, that is until
    /// it is renewed: a slow renewal delays a pass and does not fail it.
    ///
    /// # Errors
    /// If the lease is not held, or is lost meanwhile.
    pub async fn pass(&self, timeout: Duration) -> Result<(), Shut> {
        let Some(fence) = &self.0 else { return Ok(()) };
        let mut fence = fence.subscribe();
        loop {
            let until = fence.borrow_and_update().ok_or(Shut)?;
            if Instant::now() + timeout + MARGIN <= until {
                return Ok(());
            }
            fence.changed().await.map_err(|_| Shut)?;
        }
    }
}
