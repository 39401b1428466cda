//! The scheduler's ticks, and what if there are none any more.

use std::time::Duration;

use dns_syncd::config::Interval;
use dns_syncd::schedule::Schedule;
use dns_syncd::trigger::Trigger;

#[tokio::test(flavor = "multi_thread")]
async fn a_scheduler_that_is_gone_is_noticed_and_a_living_one_is_not() {
    let (second, trigger) = (Duration::from_secs(1), Trigger::default());
    let mut schedule = Schedule::start(&Interval::Every(second), &trigger).await.unwrap();
    let living = tokio::time::timeout(6 * second, schedule.died(2 * second)).await;
    assert!(living.is_err(), "a living scheduler was called dead");
    assert!(trigger.state().due, "it poked");
    schedule.stop().await.unwrap();
    let gone = tokio::time::timeout(30 * second, schedule.died(second)).await;
    assert!(gone.is_ok(), "nobody noticed");
}
