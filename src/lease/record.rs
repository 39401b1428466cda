//! What a `Lease` says, and what to do about it: pure. Whether it still holds is judged by our own clock since we saw it
//! change, never by the times in it, which another machine's clock gave.

use std::time::Duration;

use serde_json::{Value, json};

/// What this process wants the Lease to say.
#[derive(Clone, Debug)]
pub struct Claim {
    /// Who we are.
    pub identity: String,
    /// How long it counts after it was renewed; whole seconds.
    pub duration: Duration,
}

/// The Lease as we know it, and since when.
#[derive(Clone, Debug, Default)]
pub struct Observed {
    /// The object, whole, so that what others put on it stays. `None` before it was ever seen.
    object: Option<Value>,
    /// It was there, and now is not.
    gone: bool,
    /// When its `spec` was first seen as it is, on our clock.
    since: Duration,
}

/// What to do now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// There is none: create it.
    Create,
    /// It is free: take it. `unclean` if who had it did not let it go, and so may still have a request under way.
    Take {
        /// Its last holder vanished.
        unclean: bool,
    },
    /// It is ours: renew it.
    Renew,
    /// Another has it, until then on our clock unless it is renewed.
    Wait {
        /// Who.
        holder: String,
        /// Until when.
        until: Duration,
    },
}

impl Observed {
    /// Takes in what an answer shows; `now` is when the answer had come, not when it was asked for: the Lease may have
    /// been renewed at any time until then.
    pub fn see(&mut self, object: Option<Value>, now: Duration) {
        let Some(object) = object else {
            self.gone = true;
            return;
        };
        let unchanged = self.object.as_ref().is_some_and(|known| known["spec"] == object["spec"]);
        if !unchanged {
            self.since = now;
        }
        self.gone = false;
        self.object = Some(object);
    }

    /// Whether it has changed since it was first seen at `first`: whoever holds it is alive.
    #[must_use]
    pub fn changed_after(&self, first: Duration) -> bool {
        self.since > first
    }

    /// Who has it; empty if nobody.
    #[must_use]
    pub fn holder(&self) -> &str {
        self.spec("holderIdentity").and_then(Value::as_str).unwrap_or_default()
    }

    /// What to do about it.
    #[must_use]
    pub fn step(&self, claim: &Claim, now: Duration) -> Step {
        let holder = self.holder();
        let others = !holder.is_empty() && holder != claim.identity;
        let until = self.since + self.duration(claim);
        if others && now < until {
            // Also if somebody deleted it: its holder may not know yet.
            return Step::Wait { holder: holder.to_owned(), until };
        }
        if self.object.is_none() || self.gone {
            Step::Create
        } else if others || holder.is_empty() {
            Step::Take { unclean: others }
        } else {
            Step::Renew
        }
    }

    /// The Lease that is ours from now on. `wall` is for people alone.
    #[must_use]
    pub fn claimed(&self, claim: &Claim, wall: &str) -> Value {
        let ours = !self.gone && self.holder() == claim.identity;
        let mut object = self.object.clone().filter(|_| !self.gone).unwrap_or_default();
        let transitions = self.spec("leaseTransitions").and_then(Value::as_i64).unwrap_or_default();
        let before = self.spec("acquireTime").cloned().filter(|_| ours);
        let first = self.object.is_none() || ours;
        object["spec"]["holderIdentity"] = json!(claim.identity);
        object["spec"]["leaseDurationSeconds"] = json!(claim.duration.as_secs());
        object["spec"]["acquireTime"] = before.unwrap_or_else(|| json!(wall));
        object["spec"]["renewTime"] = json!(wall);
        object["spec"]["leaseTransitions"] = json!(transitions + i64::from(!first));
        object
    }

    /// The Lease that is nobody's, as client-go leaves it: the next one need not wait.
    #[must_use]
    pub fn released(&self, wall: &str) -> Value {
        let mut object = self.object.clone().unwrap_or_default();
        object["spec"]["holderIdentity"] = json!("");
        object["spec"]["leaseDurationSeconds"] = json!(1);
        object["spec"]["renewTime"] = json!(wall);
        object
    }

    fn spec(&self, field: &str) -> Option<&Value> {
        self.object.as_ref().and_then(|object| object["spec"].get(field))
    }

    /// How long its holder claims it for; as long as we would, if it does not say.
    fn duration(&self, claim: &Claim) -> Duration {
        let seconds = self.spec("leaseDurationSeconds").and_then(Value::as_u64);
        seconds.map_or(claim.duration, Duration::from_secs)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

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
        assert_eq!(Observed::default().step(&me, SECOND), Step::Create);
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
        assert_eq!(observed.step(&claim("me"), 5 * SECOND), Step::Create);
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
                    Step::Create | Step::Renew => prop_assert!(false, "{step:?}"),
                }
            }
        }
    }
}
