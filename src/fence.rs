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

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn a_request_begins_only_if_the_lease_outlives_it_by_a_second() {
        let fence = Fence::shut();
        assert_eq!(fence.pass(SECOND).await, Err(Shut));
        fence.set(Some(Instant::now() + 10 * SECOND));
        assert_eq!(fence.pass(9 * SECOND).await, Ok(()));
        let late = fence.pass(9 * SECOND + Duration::from_millis(1));
        assert!(futures::poll!(Box::pin(late)).is_pending());
        tokio::time::advance(7 * SECOND).await;
        assert_eq!(fence.pass(2 * SECOND).await, Ok(()));
        assert!(futures::poll!(Box::pin(fence.pass(3 * SECOND))).is_pending());
        assert_eq!(fence.held(), Ok(()));
    }

    #[tokio::test(start_paused = true)]
    async fn who_waits_goes_on_with_the_renewal_and_ends_with_the_loss() {
        let fence = Fence::shut();
        fence.set(Some(Instant::now() + SECOND));
        let mut first = Box::pin(fence.pass(SECOND));
        assert!(futures::poll!(&mut first).is_pending());
        fence.set(Some(Instant::now() + 2 * SECOND));
        assert_eq!(first.await, Ok(()));
        let mut second = Box::pin(fence.pass(2 * SECOND));
        assert!(futures::poll!(&mut second).is_pending());
        fence.set(None);
        assert_eq!((second.await, fence.held()), (Err(Shut), Err(Shut)));
    }

    #[tokio::test]
    async fn without_an_election_everything_passes() {
        let open = Fence::default();
        open.set(None);
        assert_eq!((open.held(), open.pass(Duration::MAX / 4).await), (Ok(()), Ok(())));
    }
}
