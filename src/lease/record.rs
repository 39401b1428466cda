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
    Create {
        /// It was another's when it was deleted.
        unclean: bool,
    },
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

impl Step {
    /// Whether who had it did not let it go.
    #[must_use]
    pub fn is_unclean(&self) -> bool {
        matches!(self, Step::Create { unclean: true } | Step::Take { unclean: true })
    }
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
            Step::Create { unclean: others }
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
