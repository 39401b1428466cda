//! How fast and how many requests may go to PowerDNS at once. Everything that reaches the server goes
//! through here.

use std::num::NonZeroU32;
use std::sync::atomic::{AtomicBool, Ordering};

use governor::{DefaultDirectRateLimiter, Quota, RateLimiter};
use tokio::sync::{Mutex, MutexGuard, Semaphore, SemaphorePermit};

/// A token bucket for requests, a bound on requests in flight, and one writer where the server bears
/// no more.
#[derive(Debug)]
pub struct Limiter {
    bucket: DefaultDirectRateLimiter,
    in_flight: Semaphore,
    single_writer: AtomicBool,
    writer: Mutex<()>,
}

/// Leave to have one request in flight.
#[derive(Debug)]
pub struct Permit<'a> {
    _slot: Option<SemaphorePermit<'a>>,
    _writer: Option<MutexGuard<'a, ()>>,
}

impl Limiter {
    /// At most `per_second` requests after a burst of `burst`, at most `concurrency` in flight.
    #[must_use]
    pub fn new(per_second: NonZeroU32, burst: NonZeroU32, concurrency: usize) -> Limiter {
        Limiter {
            bucket: RateLimiter::direct(Quota::per_second(per_second).allow_burst(burst)),
            in_flight: Semaphore::new(concurrency.max(1)),
            single_writer: AtomicBool::new(true),
            writer: Mutex::new(()),
        }
    }

    /// Whether writes go one at a time over all zones; so it is until the server is known.
    pub fn set_single_writer(&self, single: bool) {
        self.single_writer.store(single, Ordering::Relaxed);
    }

    /// Waits for leave to send one request.
    pub async fn acquire(&self, write: bool) -> Permit<'_> {
        let writer = if write && self.single_writer.load(Ordering::Relaxed) {
            Some(self.writer.lock().await)
        } else {
            None
        };
        // The semaphore is never closed.
        let slot = self.in_flight.acquire().await.ok();
        self.bucket.until_ready().await;
        Permit { _slot: slot, _writer: writer }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limiter(burst: u32, concurrency: usize) -> Limiter {
        let burst = NonZeroU32::new(burst).unwrap();
        Limiter::new(NonZeroU32::new(1).unwrap(), burst, concurrency)
    }

    #[tokio::test]
    async fn no_more_requests_in_flight_than_allowed() {
        let limiter = limiter(100, 2);
        let (a, _b) = (limiter.acquire(false).await, limiter.acquire(false).await);
        assert!(futures::poll!(Box::pin(limiter.acquire(false))).is_pending());
        drop(a);
        assert!(futures::poll!(Box::pin(limiter.acquire(false))).is_ready());
    }

    #[tokio::test]
    async fn the_burst_is_the_one_configured() {
        let limiter = limiter(3, 10);
        for _ in 0..3 {
            assert!(futures::poll!(Box::pin(limiter.acquire(false))).is_ready());
        }
        assert!(futures::poll!(Box::pin(limiter.acquire(false))).is_pending());
    }

    #[tokio::test]
    async fn one_writer_at_a_time_where_the_server_bears_no_more() {
        let limiter = limiter(100, 10);
        let first = limiter.acquire(true).await;
        assert!(futures::poll!(Box::pin(limiter.acquire(true))).is_pending());
        assert!(futures::poll!(Box::pin(limiter.acquire(false))).is_ready());
        drop(first);
        limiter.set_single_writer(false);
        let _two = limiter.acquire(true).await;
        assert!(futures::poll!(Box::pin(limiter.acquire(true))).is_ready());
    }
}
