//! The options of `leaderElection`, and what they must be to each other; what the pod says about itself.

use std::collections::BTreeMap;
use std::time::Duration;

use super::{Error, Key, Origin, PowerDns, Reader, keys, value};

/// What must be left of the lease once a request's time-out has passed: for the way from the check to the wire, and for
/// clocks that do not run equally fast.
pub const MARGIN: Duration = Duration::from_secs(1);

/// How one of several replicas is chosen to run passes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaderElection {
    /// Whether there may be several at all.
    pub enabled: bool,
    /// The name of the Lease.
    pub lease_name: String,
    /// Its namespace; `None`: that of the pod.
    pub lease_namespace: Option<String>,
    /// How long it counts after a renewal, in whole seconds.
    pub lease_duration: Duration,
    /// The holder gives up after so long without one.
    pub renew_deadline: Duration,
    /// Between two renewals.
    pub retry_period: Duration,
}

/// What the pod says about itself, each if its variable is there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pod {
    /// `POD_NAME`: who reports an event, and who holds the lease.
    pub name: Option<String>,
    /// `POD_IP`: where other replicas reach this one.
    pub ip: Option<String>,
    /// `POD_NAMESPACE`: where the lease is.
    pub namespace: Option<String>,
}

impl Pod {
    pub(super) fn of(env: &BTreeMap<String, String>) -> Pod {
        let variable = |name| env.get(name).filter(|text| !text.is_empty()).cloned();
        Pod {
            name: variable("POD_NAME"),
            ip: variable("POD_IP"),
            namespace: variable("POD_NAMESPACE"),
        }
    }
}

impl LeaderElection {
    /// The longest time-out of a request that a holder can begin although the next renewal is a retry away.
    #[must_use]
    pub fn longest_request(&self) -> Duration {
        self.lease_duration.saturating_sub(self.retry_period + MARGIN)
    }

    /// The time-out of writes to the API server: such that they go on although one renewal fails.
    #[must_use]
    pub fn write_timeout(&self) -> Duration {
        let longest = self.longest_request();
        longest.saturating_sub(self.retry_period).max(longest / 2)
    }
}

impl Reader {
    pub(super) fn election(&mut self, powerdns: Option<&PowerDns>) -> Option<LeaderElection> {
        let (short, long) = (Duration::from_millis(100), Duration::from_hours(1));
        let enabled = self.read(&keys::ELECTION_ENABLED, |text| text.parse().ok());
        let lease_name = self.read(&keys::ELECTION_LEASE_NAME, value::object_name);
        let lease_namespace = self.read(&keys::ELECTION_LEASE_NAMESPACE, |text| {
            value::namespaces(text).filter(|names| names.len() < 2)
        });
        let lease_duration = self.read(&keys::ELECTION_LEASE_DURATION, |text| {
            let whole = |d: &Duration| d.subsec_nanos() == 0;
            value::duration(text, Duration::from_secs(2)..=long).filter(whole)
        });
        let renew_deadline =
            self.read(&keys::ELECTION_RENEW_DEADLINE, |text| value::duration(text, short..=long));
        let retry_period =
            self.read(&keys::ELECTION_RETRY_PERIOD, |text| value::duration(text, short..=long));
        let election = LeaderElection {
            enabled: enabled?,
            lease_name: lease_name?,
            lease_namespace: lease_namespace?.into_iter().next(),
            lease_duration: lease_duration?,
            renew_deadline: renew_deadline?,
            retry_period: retry_period?,
        };
        if election.enabled {
            self.judge(&election, powerdns?);
        }
        Some(election)
    }

    /// A holder begins a request only if the lease outlives it, so that one which is too short would never begin any.
    fn judge(&mut self, election: &LeaderElection, powerdns: &PowerDns) {
        let (lease, timeout) = (&keys::ELECTION_LEASE_DURATION, &keys::POWERDNS_REQUEST_TIMEOUT);
        let (deadline, retry) = (&keys::ELECTION_RENEW_DEADLINE, &keys::ELECTION_RETRY_PERIOD);
        if election.longest_request() < powerdns.request_timeout {
            let problem = format!(
                "{} ({:?}) must be at least {} ({:?}) and {} ({:?}) together, and {MARGIN:?} more",
                lease.path,
                election.lease_duration,
                timeout.path,
                powerdns.request_timeout,
                retry.path,
                election.retry_period,
            );
            self.complain(&[lease, timeout, retry], problem);
        }
        if election.renew_deadline >= election.lease_duration
            || election.renew_deadline <= election.retry_period
        {
            let problem = format!(
                "{} ({:?}) must be longer than {} ({:?}) and shorter than {} ({:?})",
                deadline.path,
                election.renew_deadline,
                retry.path,
                election.retry_period,
                lease.path,
                election.lease_duration,
            );
            self.complain(&[deadline, lease, retry], problem);
        }
    }

    /// Reports what several options are wrong in together, at the first of them that is set at all.
    fn complain(&mut self, keys: &[&'static Key], problem: String) {
        let set = keys.iter().find(|key| self.layers.get(key).origin != Origin::Default);
        let key = set.unwrap_or(&keys[0]);
        let origin = self.layers.get(key).origin;
        self.layers.problems.push(Error::new(origin, Some(key.path), problem));
    }
}
