//! What the configuration says about deciding.

use std::collections::BTreeSet;

use super::brakes::Brakes;
use crate::api::object::Meta;
use crate::api::{
    FINALIZER_RECORD_SET, FINALIZER_ZONE, UPSTREAM_FINALIZER_RECORD_SET, UPSTREAM_FINALIZER_ZONE,
};
use crate::dns::name::Name;

/// What the configuration says about deciding.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own")]
pub struct Policy {
    /// Tells this daemon's notes and marks from another's.
    pub owner_id: String,
    /// What this daemon was called before: such notes and marks are ours too.
    pub previous_owner_ids: BTreeSet<String>,
    /// The `controllerName`s of classes that are ours.
    pub controller_names: BTreeSet<String>,
    /// Namespaces that are ours; empty means all.
    pub namespaces: BTreeSet<String>,
    /// Longest time that a request to PowerDNS may take, in milliseconds: until then a foreign mark
    /// that was sent before ours may still land.
    pub request_timeout: u64,
    /// In how many milliseconds every zone is read at least once, whether or not anything seems to have changed; 0: in
    /// each pass.
    pub verify_interval: u64,
    /// Where the brakes bite.
    pub brakes: Brakes,
    /// Nothing is written anywhere.
    pub dry_run: bool,
    /// The replicator is retired: its finalizers are ours to take off.
    pub release_upstream_finalizers: bool,
    /// Our zones hold nothing but what is declared.
    pub delete_undeclared: bool,
    /// RRsets that others wrote stay as they are.
    pub protect: bool,
    /// Zones with our mark go when their DNSZone does not exist.
    pub delete_orphan_zones: bool,
    /// Patterns of absolute names that stay although they are undeclared.
    pub ignore: Vec<glob::Pattern>,
}

/// Finalizers that are ours to take off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Finalizers {
    upstream: bool,
}

impl Finalizers {
    /// What stays on a record set that is let go.
    #[must_use]
    pub fn staying_on_set(self, meta: &Meta) -> Vec<String> {
        self.staying(meta, FINALIZER_RECORD_SET, UPSTREAM_FINALIZER_RECORD_SET)
    }

    /// What stays on a DNSZone that is let go.
    #[must_use]
    pub fn staying_on_zone(self, meta: &Meta) -> Vec<String> {
        self.staying(meta, FINALIZER_ZONE, UPSTREAM_FINALIZER_ZONE)
    }

    fn staying(self, meta: &Meta, ours: &str, upstream: &str) -> Vec<String> {
        let stays = |f: &&String| *f != ours && !(self.upstream && *f == upstream);
        meta.finalizers.iter().filter(stays).cloned().collect()
    }
}

impl Policy {
    /// The policy of a daemon that leaves every other option as it is by default.
    #[must_use]
    pub fn new(owner_id: &str, brakes: Brakes) -> Policy {
        Policy {
            owner_id: owner_id.to_owned(),
            previous_owner_ids: BTreeSet::new(),
            controller_names: BTreeSet::from(["powerdns".to_owned()]),
            namespaces: BTreeSet::new(),
            request_timeout: 10_000,
            verify_interval: 0,
            brakes,
            dry_run: false,
            release_upstream_finalizers: false,
            delete_undeclared: false,
            protect: false,
            delete_orphan_zones: false,
            ignore: Vec::new(),
        }
    }

    /// Whether an owner id is this daemon's, now or before.
    #[must_use]
    pub fn is_ours(&self, owner: &str) -> bool {
        owner == self.owner_id || self.previous_owner_ids.contains(owner)
    }

    /// Finalizers that are ours to take off.
    #[must_use]
    pub fn finalizers(&self) -> Finalizers {
        Finalizers { upstream: self.release_upstream_finalizers }
    }

    /// Whether a Terminating record set waits for us.
    #[must_use]
    pub fn holds_set(&self, meta: &Meta) -> bool {
        self.finalizers().staying_on_set(meta).len() < meta.finalizers.len()
    }

    /// Whether a Terminating DNSZone waits for us.
    #[must_use]
    pub fn holds_zone(&self, meta: &Meta) -> bool {
        self.finalizers().staying_on_zone(meta).len() < meta.finalizers.len()
    }

    /// Whether an undeclared name stays under `delete_undeclared`.
    #[must_use]
    pub fn ignores(&self, name: &Name) -> bool {
        self.ignore.iter().any(|pattern| pattern.matches(name.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::api::object::Zone;

    fn policy() -> Policy {
        let brakes = Brakes {
            deletes: true,
            implicit_percent: 0,
            implicit_total: 0,
            explicit_percent: None,
        };
        Policy::new("east", brakes)
    }

    fn meta(finalizers: &[&str]) -> Meta {
        let object = json!({"metadata": {"name": "a", "uid": "u", "finalizers": finalizers}});
        Zone::decode(&object).unwrap().meta
    }

    /// An original that the replicator holds waits for us only once the replicator is retired.
    #[test]
    fn only_finalizers_of_ours_are_taken_off() {
        let sets = [FINALIZER_RECORD_SET, UPSTREAM_FINALIZER_RECORD_SET];
        let zones = [FINALIZER_ZONE, UPSTREAM_FINALIZER_ZONE];
        let mut policy = policy();
        for retired in [false, true] {
            policy.release_upstream_finalizers = retired;
            let ours = |of: [&str; 2]| {
                let mut stays = vec!["theirs".to_owned()];
                stays.extend((!retired).then(|| of[1].to_owned()));
                stays
            };
            let finalizers = policy.finalizers();
            let set = meta(&["theirs", sets[0], sets[1]]);
            assert_eq!(finalizers.staying_on_set(&set), ours(sets));
            let zone = meta(&["theirs", zones[0], zones[1]]);
            assert_eq!(finalizers.staying_on_zone(&zone), ours(zones));
            for (held, on) in [
                (true, &[sets[0]][..]),
                (retired, &[sets[1]]),
                (false, &zones),
                (false, &["theirs"]),
                (false, &[]),
            ] {
                assert_eq!(policy.holds_set(&meta(on)), held, "{on:?}");
            }
            for (held, on) in
                [(true, &[zones[0]][..]), (retired, &[zones[1]]), (false, &sets), (false, &[])]
            {
                assert_eq!(policy.holds_zone(&meta(on)), held, "{on:?}");
            }
        }
    }

    #[test]
    fn owner_ids_of_before_are_ours_too() {
        let mut policy = policy();
        policy.previous_owner_ids.insert("north".to_owned());
        let ours = ["east", "north", "west", ""].map(|owner| policy.is_ours(owner));
        assert_eq!(ours, [true, true, false, false]);
    }

    #[test]
    fn ignored_names_are_patterns_of_absolute_names() {
        let mut policy = policy();
        let name = Name::parse("_acme.a.test").unwrap();
        assert!(!policy.ignores(&name));
        policy.ignore = ["x.test.", "_acme.*"].map(|p| glob::Pattern::new(p).unwrap()).into();
        assert!(policy.ignores(&name) && !policy.ignores(&Name::parse("a.test").unwrap()));
    }
}
