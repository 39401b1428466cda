# The image: the daemon, the libraries that it is linked with, and the certificates of public authorities; no shell.
# docker build -t dns-syncd . (without a container daemon: make image)
FROM rust:1.95.0-slim-bookworm AS build
RUN apt-get update && apt-get install --yes --no-install-recommends ca-certificates
WORKDIR /src
COPY Cargo.toml Cargo.lock rust-toolchain.toml ./
COPY src src
RUN cargo build --release --locked
COPY tests/env/rootfs tests/env/rootfs
RUN tests/env/rootfs target/release/dns-syncd /rootfs

FROM scratch
COPY --from=build /rootfs/ /
USER 65532:65532
EXPOSE 8080
ENTRYPOINT ["/usr/bin/dns-syncd"]
CMD ["run", "--config", "/etc/dns-syncd/config/dns-syncd.yaml"]
