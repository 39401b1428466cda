//! No fault becomes a success: a time-out, a broken answer, a wrong key, a connection that ends after the write.

use std::time::{Duration, Instant};

use dns_syncd::dns::rrset::RecordType;
use dns_syncd::plan::{Failure, Outcome};
use dns_syncd::powerdns::{Client, Error, Lost};
use serde_json::json;

use crate::support::pdns::Backend;
use crate::support::recorder::{Action, Request};
use crate::world::{SHORT, Tuning, World, a, apply_with, creates, many, outcomes, read, writes};

const ZONE: &str = "faults.example.";

async fn world() -> World {
    let world =
        World::new(Backend::of_this_run(), Tuning { timeout: SHORT, ..Tuning::default() }).await;
    world.zone(ZONE).await;
    world
}

#[tokio::test(flavor = "multi_thread")]
async fn no_answer_is_an_error_after_the_time_out() {
    let world = world().await;
    world.recorder.always(|_| true, Action::Hang);
    let began = Instant::now();
    assert_eq!(world.client.list().await.unwrap_err(), Error::Transport(Lost::TimeOut));
    let (done, failed) = outcomes(&world.apply(ZONE, &writes(ZONE, many(ZONE, 3))).await);
    assert_eq!(done, 0);
    assert!(failed.values().all(|f| matches!(f, Failure::Unknown(_))), "{failed:?}");
    assert!(began.elapsed() < 2 * (SHORT + Duration::from_secs(1)), "{:?}", began.elapsed());
    // Zones that could not be read are unread, which is not absent.
    assert!(world.read().await.zones.is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_fault_that_strikes_all_the_rest_of_the_zone_is_not_tried() {
    let world = world().await;
    world.recorder.always(Request::is_write, Action::Answer(500, json!({"error": "x"})));
    let (done, failed) = outcomes(&world.apply(ZONE, &writes(ZONE, many(ZONE, 1200))).await);
    assert_eq!(done, 0);
    let count = |wanted: fn(&Failure) -> bool| failed.values().filter(|f| wanted(f)).count();
    // Down to one name and its neighbour, and one from the other end: it is not the names that fail.
    assert_eq!(count(|f| matches!(f, Failure::Status(500))), 2);
    assert_eq!(count(|f| matches!(f, Failure::NotSent(_))), 1198);
    assert_eq!(world.patches().len(), 9 + 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_key_is_said_as_such() {
    let world = world().await;
    let client = world.client_with("wrong", Tuning::default());
    let server = read(&client).await;
    assert_eq!(server.zones.unwrap_err(), "PowerDNS refused the API key");
    assert_eq!(server.capabilities, None);
    let (done, failed) = outcomes(&apply_with(&client, ZONE, &writes(ZONE, many(ZONE, 3))).await);
    assert_eq!(done, 0);
    assert!(failed.values().all(|f| *f == Failure::Unauthorized), "{failed:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_is_cut_short_is_no_answer() {
    let world = world().await;
    let broken = |error: &Error| matches!(error, Error::Transport(_) | Error::Malformed(_));
    for bytes in [0, 1, 40] {
        world.recorder.heal();
        world.recorder.always(|_| true, Action::Truncate(bytes));
        assert!(broken(&world.client.list().await.unwrap_err()), "{bytes}");
        assert!(broken(&world.client.zone(ZONE).await.unwrap_err()), "{bytes}");
        assert!(broken(&world.client.capabilities().await.unwrap_err()), "{bytes}");
        assert!(world.read().await.zones.is_err());
        let new = format!("new{bytes}.example.");
        let applied = world.apply(&new, &creates(many(&new, 2))).await;
        let (done, failed) = outcomes(&applied);
        assert_eq!(done, 0);
        assert!(failed.values().all(|f| matches!(f, Failure::Unknown(_))), "{failed:?}");
        assert!(matches!(applied.zone, Some(Outcome::Failed(Failure::Unknown(_)))));
    }
    // One zone alone: it is unread, and its neighbours are not.
    world.zone("other.example.").await;
    world.recorder.heal();
    world.recorder.always(|r| r.path.ends_with("/zones/faults.example."), Action::Truncate(9));
    let zones = world.read().await.zones.unwrap();
    let unread: Vec<&str> =
        zones.iter().filter(|(_, z)| z.contents.is_err()).map(|(name, _)| name.as_str()).collect();
    assert_eq!(unread, [ZONE]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_whose_answer_is_lost_is_read_again_and_not_sent_again() {
    let world = world().await;
    world.recorder.next(Request::is_write, Action::ForwardThenDrop);
    assert_eq!(outcomes(&world.apply(ZONE, &writes(ZONE, many(ZONE, 2))).await), (2, [].into()));
    assert_eq!(world.patches().len(), 1);
    // What cannot be read again is unknown.
    world.recorder.next(Request::is_write, Action::ForwardThenDrop);
    world.recorder.next(|r| r.method == "GET", Action::Reset);
    let (done, failed) = outcomes(&world.apply(ZONE, &writes(ZONE, many(ZONE, 2))).await);
    assert_eq!(done, 0);
    assert!(failed.values().all(|f| matches!(f, Failure::Unknown(_))), "{failed:?}");
    assert_eq!(world.stored(ZONE, "n0.faults.example.", RecordType::A).await, Some(a("192.0.2.1")));
    assert_eq!(outcomes(&world.apply(ZONE, &writes(ZONE, many(ZONE, 2))).await), (2, [].into()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_creation_whose_answer_is_lost_claims_nothing_and_is_not_repeated() {
    let world = world().await;
    let new = "new.example.";
    for action in [Action::ForwardThenDrop, Action::Answer(500, json!({"error": "x"}))] {
        world.recorder.clear();
        world.recorder.next(|r| r.method == "POST", action);
        let applied = world.apply(new, &creates(many(new, 2))).await;
        assert!(matches!(applied.zone, Some(Outcome::Failed(_))), "{:?}", applied.zone);
        assert_eq!(outcomes(&applied).0, 0);
        // Whether the zone exists now is the next read's to say.
        assert_eq!(world.recorder.writes().len(), 1);
    }
    assert!(world.pdns.has_zone(new).await);
    let stored = world.stored(new, "n1.new.example.", RecordType::A).await;
    assert_eq!(stored, Some(a("192.0.2.1")), "the next pass reads what the lost answer meant");
    assert_eq!(outcomes(&world.apply(new, &writes(new, many(new, 3))).await), (3, [].into()));
    // A zone that exists is not made a second time.
    let applied = world.apply(new, &creates(many(new, 2))).await;
    assert_eq!(applied.zone, Some(Outcome::Failed(Failure::Status(409))));
}

/// The mark goes on only where the account is still what the plan saw.
#[tokio::test(flavor = "multi_thread")]
async fn an_account_that_changed_meanwhile_is_left_alone() {
    let world = world().await;
    let client: &Client = &world.client;
    client.set_account(ZONE, "somebody").await.unwrap();
    let mark = |expected: &str| dns_syncd::plan::ZoneStep::Mark {
        account: "mark".to_owned(),
        expected: expected.to_owned(),
        by: "uid".to_owned(),
    };
    let mut plan = writes(ZONE, []);
    plan.step = mark("");
    let applied = world.apply(ZONE, &plan).await;
    assert!(matches!(applied.zone, Some(Outcome::Failed(Failure::NotSent(_)))), "{applied:?}");
    assert_eq!(applied.marked_at, None);
    assert_eq!(world.pdns.get_zone(ZONE).await["account"], "somebody");
    plan.step = mark("somebody");
    let applied = world.apply(ZONE, &plan).await;
    assert_eq!(applied.marked_at, Some(7));
    assert_eq!(world.pdns.get_zone(ZONE).await["account"], "mark");
}
