//! The fence: which request may begin, on a clock that the tests move.

use std::time::Duration;

use dns_syncd::fence::{Fence, Shut};
use tokio::time::Instant;

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
