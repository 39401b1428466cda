# Every command for working on dns-syncd. Files go to target/ and to the caches of cargo and Go.

.DEFAULT_GOAL := help
.PHONY: help demo test test-matrix soak soak-lease served bench mutants evidence image env fmt

help: ## list the commands
	@sed -n 's/^\([a-z-]*\):.*## /  make \1|/p' $(MAKEFILE_LIST) | awk -F'|' '{ printf "%-20s%s\n", $$1, $$2 }'

demo: ## see it work: real servers, real answers (KEEP=1 stays up)
	@tests/env/demo

test: ## the gate: format, lints, docs, dependencies, every test on real servers
	@tests/env/gate

test-matrix: ## the tests that speak to PowerDNS, on other versions and on LMDB (root, debootstrap)
	@tests/env/matrix

soak: ## random sequences with faults for MINUTES=10, on models and on real servers; a failure prints how to see it again
	@tests/env/build >/dev/null
	@SOAK_MINUTES=$(or $(MINUTES),10) tests/env/with-apiserver \
		cargo test --locked --quiet --profile soak --test soak -- --nocapture --test-threads=3

soak-lease: ## ROUNDS=50 of two replicas whose slow writes cross the expiry of a lease
	@tests/env/build >/dev/null
	@LEASE_ROUNDS=$(or $(ROUNDS),50) tests/env/with-apiserver \
		cargo test --locked --quiet --test lease slow_writes -- --nocapture

served: ## how soon EDITS=20 are served on an estate of production's size; fails if the median is not below a second (RATE=10000 requests a second)
	@tests/env/build >/dev/null
	@SERVED_EDITS=$(or $(EDITS),20) SERVED_RATE=$(or $(RATE),10000) tests/env/with-apiserver \
		cargo test --locked --quiet --release --test served -- --nocapture

bench: ## what deciding costs, and whole estates on real servers beside a bare client; GOAL=edit for a part of the latter
	@tests/env/build >/dev/null
	@$(if $(GOAL),,cargo bench --locked --quiet --bench deciding)
	@tests/env/with-apiserver cargo bench --locked --quiet --bench estates -- $(GOAL)

mutants: ## how many changes of src/dns and src/plan the tests notice, of SAMPLE=400 by SEED=1, in shards: SHARD=1/4
	@tests/env/mutants

evidence: ## show that each patch of tests/breaks turns its test red
	@tests/env/evidence

image: ## build the container image without a container daemon, and run it (root, buildah)
	@tests/env/image

env: ## install the system packages and build the servers that the tests start, and helm
	@tests/env/packages
	@tests/env/build >/dev/null
	@tests/env/build kube-controller-manager >/dev/null
	@tests/env/build helm >/dev/null

fmt: ## format the code
	@cargo fmt
