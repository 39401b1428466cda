//! What a Lease means, without a server: whose it is, how long it counts, what is written over it.

use std::time::Duration;

use dns_syncd::lease::record::{Claim, Observed, Step};
use proptest::prelude::*;
use serde_json::{Value, json};

const SECOND: Duration = Duration::from_secs(1);

fn claim(identity: &str) -> Claim {
    Claim { identity: identity.to_owned(), duration: 15 * SECOND }
}

fn lease(holder: &str, seconds: u64, renewed: &str) -> Value {
    json!({"metadata": {"resourceVersion": "1"}, "spec": {
        "holderIdentity": holder, "leaseDurationSeconds": seconds, "renewTime": renewed,
        "acquireTime": "then", "leaseTransitions": 3}})
}

fn seen(lease: Value, at: Duration) -> Observed {
    let mut out = Observed::default();
    out.see(Some(lease), at);
    out
}

#[test]
fn what_is_nobodys_is_taken_at_once() {
    let me = claim("me");
    assert_eq!(Observed::default().step(&me, SECOND), Step::Create { unclean: false });
    let free = seen(lease("", 1, "x"), SECOND);
    assert_eq!(free.step(&me, SECOND), Step::Take { unclean: false });
    let mut without = lease("", 1, "x");
    without["spec"] = Value::Null;
    assert_eq!(seen(without, SECOND).step(&me, SECOND), Step::Take { unclean: false });
    assert_eq!(seen(lease("me", 15, "x"), SECOND).step(&me, 99 * SECOND), Step::Renew);
}

#[test]
fn anothers_counts_from_when_we_saw_it_change_and_as_long_as_it_says() {
    let me = claim("me");
    let mut observed = seen(lease("you", 4, "x"), 10 * SECOND);
    // Seen again unchanged, whatever others write on the object.
    let mut touched = lease("you", 4, "x");
    touched["metadata"] = json!({"resourceVersion": "2", "annotations": {"a": "b"}});
    observed.see(Some(touched), 13 * SECOND);
    assert!(!observed.changed_after(10 * SECOND));
    let wait = |until| Step::Wait { holder: "you".to_owned(), until };
    assert_eq!(observed.step(&me, 13 * SECOND), wait(14 * SECOND));
    assert_eq!(observed.step(&me, 14 * SECOND), Step::Take { unclean: true });
    observed.see(Some(lease("you", 4, "y")), 14 * SECOND);
    assert!(observed.changed_after(10 * SECOND));
    assert_eq!(observed.step(&me, 17 * SECOND), wait(18 * SECOND));
}

#[test]
fn one_that_was_deleted_under_its_holder_still_runs_its_time() {
    let mut observed = seen(lease("you", 4, "x"), SECOND);
    observed.see(None, 2 * SECOND);
    let wait = Step::Wait { holder: "you".to_owned(), until: 5 * SECOND };
    assert_eq!(observed.step(&claim("me"), 2 * SECOND), wait);
    assert_eq!(observed.step(&claim("me"), 5 * SECOND), Step::Create { unclean: true });
    assert_eq!(observed.claimed(&claim("me"), "now")["metadata"], Value::Null);
    assert_eq!(seen(lease("me", 4, "x"), SECOND).step(&claim("me"), SECOND), Step::Renew);
}

#[test]
fn a_claim_keeps_what_others_put_on_the_object_and_counts_the_transitions() {
    let first = Observed::default().claimed(&claim("me"), "now");
    assert_eq!(
        first["spec"],
        json!({"holderIdentity": "me", "leaseDurationSeconds": 15,
        "acquireTime": "now", "renewTime": "now", "leaseTransitions": 0})
    );
    let mut theirs = lease("you", 4, "x");
    theirs["metadata"]["labels"] = json!({"a": "b"});
    let taken = seen(theirs, SECOND).claimed(&claim("me"), "now");
    assert_eq!(taken["metadata"], json!({"resourceVersion": "1", "labels": {"a": "b"}}));
    assert_eq!(
        taken["spec"],
        json!({"holderIdentity": "me", "leaseDurationSeconds": 15,
        "acquireTime": "now", "renewTime": "now", "leaseTransitions": 4})
    );
    let renewed = seen(taken, SECOND).claimed(&claim("me"), "later");
    assert_eq!(
        renewed["spec"],
        json!({"holderIdentity": "me", "leaseDurationSeconds": 15,
        "acquireTime": "now", "renewTime": "later", "leaseTransitions": 4})
    );
    let released = seen(renewed, SECOND).released("end");
    assert_eq!(
        released["spec"],
        json!({"holderIdentity": "", "leaseDurationSeconds": 1,
        "acquireTime": "now", "renewTime": "end", "leaseTransitions": 4})
    );
}

proptest! {
    /// One holder renews at some times, and dies; another process looks at some times, on a clock that began
    /// elsewhere. Whatever both clocks show, it never takes the lease while the holder may count on it, and always
    /// within the lease's time of having seen its last renewal.
    #[test]
    fn no_two_hold_it_at_a_time(
        renewals in prop::collection::vec(1u64..3000, 1..20),
        looks in prop::collection::vec(1u64..3000, 1..60),
        offset in 0u64..1_000_000,
    ) {
        let me = Claim { identity: "me".to_owned(), duration: 4 * SECOND };
        let mut renewed = vec![0];
        for pause in renewals {
            renewed.push(renewed.last().unwrap() + pause);
        }
        let (mut observed, mut at) = (Observed::default(), 0);
        for pause in looks {
            at += pause;
            let n = renewed.iter().rposition(|r| *r <= at).unwrap();
            let now = Duration::from_millis(at + offset);
            observed.see(Some(lease("you", 4, &n.to_string())), now);
            let (valid, step) = (at < renewed[n] + 4000, observed.step(&me, now));
            match step {
                Step::Take { unclean } => prop_assert!(unclean && !valid),
                Step::Wait { until, .. } => prop_assert!(until <= now + 4 * SECOND),
                Step::Create { .. } | Step::Renew => prop_assert!(false, "{step:?}"),
            }
        }
    }
}
