//! What the server can do, and what it is spared: writers, requests in flight, requests a second.

use std::time::{Duration, Instant};

use dns_syncd::dns::rdata::Version;
use dns_syncd::plan::snapshot::Capabilities;
use futures::future::join_all;

use crate::support::pdns::{Backend, Release};
use crate::support::recorder::{Action, Request};
use crate::world::{Tuning, World, many, outcomes, writes};

/// From this version on writers wait for each other in sqlite itself.
const WRITERS_QUEUE: Release = (4, 9, 2);
/// From here on LMDB keeps comments, also those of zones that are gone.
const COMMENTS_OUTLIVE: Release = (5, 1, 0);

#[tokio::test(flavor = "multi_thread")]
async fn what_a_server_can_do_is_read_from_it() {
    for backend in [Backend::Sqlite, Backend::Lmdb] {
        let world = World::new(backend, Tuning::default()).await;
        let release = world.pdns.version();
        let (major, minor, patch) = release;
        let expected = Capabilities {
            version: Version { major, minor, patch },
            comments: world.pdns.keeps_comments(),
            comments_outlive: backend == Backend::Lmdb && release >= COMMENTS_OUTLIVE,
            single_writer: backend == Backend::Sqlite && release < WRITERS_QUEUE,
        };
        assert_eq!(world.client.capabilities().await.unwrap(), expected);
        assert_eq!(world.read().await.capabilities, Some(expected));
    }
}

/// The most requests that were under way at one time.
fn most_at_once(requests: &[Request]) -> usize {
    let under_way = |at: Instant| {
        requests.iter().filter(|r| r.arrived <= at && r.answered.is_none_or(|end| end > at)).count()
    };
    requests.iter().map(|r| under_way(r.arrived)).max().unwrap_or(0)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_old_sqlite_gets_one_writer_at_a_time_over_all_zones() {
    let world = World::new(Backend::Sqlite, Tuning { concurrency: 16, ..Tuning::default() }).await;
    let zones: Vec<String> = (0..20).map(|n| format!("z{n}.example.")).collect();
    for zone in &zones {
        world.zone(zone).await;
    }
    let all = zones.iter().map(|zone| async {
        let plan = writes(zone, many(zone, 20));
        world.apply(zone, &plan).await
    });
    for applied in join_all(all).await {
        assert_eq!(outcomes(&applied), (20, [].into()));
    }
    let patches = world.patches();
    assert_eq!(patches.len(), 20);
    let refused: Vec<_> = patches.iter().filter(|r| r.status != Some(204)).collect();
    assert!(refused.is_empty(), "{refused:#?}");
    if world.pdns.version() < WRITERS_QUEUE {
        assert_eq!(most_at_once(&patches), 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn another_backend_gets_as_many_as_are_allowed() {
    let world = World::new(Backend::Lmdb, Tuning { concurrency: 3, ..Tuning::default() }).await;
    // Long enough that all who may be under way meet at the proxy.
    world.recorder.always(|_| true, Action::Delay(Duration::from_millis(300)));
    let zones: Vec<String> = (0..9).map(|n| format!("z{n}.example.")).collect();
    for zone in &zones {
        world.zone(zone).await;
    }
    let written = zones.iter().map(|zone| async {
        let plan = writes(zone, many(zone, 2));
        assert_eq!(outcomes(&world.apply(zone, &plan).await), (2, [].into()));
    });
    let read = (0..9).map(|_| async { world.client.list().await.unwrap() });
    tokio::join!(join_all(written), join_all(read));
    let requests = world.recorder.requests();
    assert_eq!(requests.len(), 18);
    assert_eq!(most_at_once(&requests), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_more_requests_a_second_than_allowed_after_the_burst() {
    let (rate, burst, count) = (20, 5, 30);
    let tuning = Tuning { per_second: rate, burst, concurrency: 30, ..Tuning::default() };
    let world = World::new(Backend::of_this_run(), tuning).await;
    // A client of its own: the first one has spent some of its burst.
    let client = world.client_with(world.pdns.key(), tuning);
    client.refresh_key().await.unwrap();
    let began = Instant::now();
    for listed in join_all((0..count).map(|_| client.list())).await {
        listed.unwrap();
    }
    let mut requests = world.recorder.requests();
    requests.sort_by_key(|r| r.arrived);
    assert_eq!(requests.len(), count);
    for (sent, request) in requests.iter().enumerate() {
        // Counted from before the first was sent: on its way a request can only get later.
        let seconds = request.arrived.duration_since(began).as_secs_f64();
        let allowed = f64::from(burst) + f64::from(rate) * seconds;
        let sent = f64::from(u32::try_from(sent + 1).unwrap());
        assert!(sent <= allowed + 1e-6, "request {sent} came after {seconds} s");
    }
}
