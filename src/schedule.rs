//! The ticks of `interval`: a scheduler that only pokes the loop, and a look at it, since its tasks are its own: one that
//! dies takes no process along and would leave a daemon that makes passes only when it is nudged.
#![expect(clippy::disallowed_methods, reason = "it waits, and looks at the scheduler's clock")]

use std::time::Duration;

use tokio_cron_scheduler::{Job, JobScheduler, JobSchedulerError};
use uuid::Uuid;

use crate::config::Interval;
use crate::trigger::Trigger;

/// A running scheduler.
pub struct Schedule {
    scheduler: JobScheduler,
    job: Uuid,
}

impl Schedule {
    /// Starts to poke at every tick.
    ///
    /// # Errors
    /// If the schedule cannot be set up.
    pub async fn start(
        interval: &Interval,
        trigger: &Trigger,
    ) -> Result<Schedule, JobSchedulerError> {
        let scheduler = JobScheduler::new().await?;
        let poke = trigger.clone();
        let job = match interval {
            Interval::Every(every) => Job::new_repeated(*every, move |_, _| poke.poke())?,
            Interval::Cron(expression) => Job::new(expression.as_str(), move |_, _| poke.poke())?,
        };
        let job = scheduler.add(job).await?;
        scheduler.start().await?;
        Ok(Schedule { scheduler, job })
    }

    /// Ends once the next tick lay more than `late` back at two looks with `late` between them; one alone is a process
    /// that was stopped for a while. A schedule that is over, such as one of a past year, is no dead one.
    pub async fn died(&mut self, late: Duration) {
        let mut before = false;
        loop {
            tokio::time::sleep(late).await;
            let missed = self.missed(late).await;
            if missed && before {
                return;
            }
            before = missed;
        }
    }

    async fn missed(&mut self, late: Duration) -> bool {
        let next = self.scheduler.next_tick_for_job(self.job).await.ok().flatten();
        let late = i64::try_from(late.as_secs()).unwrap_or(i64::MAX);
        next.is_some_and(|tick| tick.timestamp().saturating_add(late) < now())
    }

    /// Stops it.
    ///
    /// # Errors
    /// If it did not stop.
    pub async fn stop(&mut self) -> Result<(), JobSchedulerError> {
        self.scheduler.shutdown().await
    }
}

fn now() -> i64 {
    jiff::Timestamp::now().as_second()
}
