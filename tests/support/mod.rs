//! What integration tests share: real servers, a recording proxy, DNS questions, the daemon as a process, Kubernetes objects.
//!
//! This file owns what all of these need: folders below `target/test-run`, free ports, waiting.
//! It contains no rule of the product: a test that asked the product's own code could not find its faults.

#![allow(dead_code, reason = "each test binary uses a part")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may panic")]
#![allow(
    clippy::missing_panics_doc,
    clippy::must_use_candidate,
    reason = "every function here panics when the world is not as it should be"
)]
#![allow(clippy::disallowed_methods, reason = "tests wait, read the clock and the environment")]
#![allow(clippy::print_stderr, reason = "a failed test shows the logs of its servers")]
#![allow(clippy::print_stdout, reason = "a test says what it had to leave out")]
#![allow(unreachable_pub, reason = "`pub` marks what tests are meant to use")]

pub mod apiserver;
pub mod collector;
pub mod daemon;
pub mod estate;
pub mod http;
pub mod incumbent;
pub mod installation;
pub mod objects;
pub mod pdns;
pub mod process;
pub mod production;
pub mod proxy;
pub mod query;
pub mod recorder;
pub mod tls;

use std::future::Future;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::net::{TcpListener, UdpSocket};
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

/// The root of the repository.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// 16 hexadecimal digits that no other call returns.
pub fn random() -> String {
    // Each `RandomState` has keys of its own, seeded by the operating system once a thread.
    format!("{:016x}", RandomState::new().build_hasher().finish())
}

/// A new folder, removed when dropped, unless the test fails: then its logs are wanted.
pub struct Folder(PathBuf);

impl Folder {
    /// Creates `target/test-run/<prefix>-<random>`.
    pub fn new(prefix: &str) -> Self {
        Self::below(&root().join("target/test-run"), prefix)
    }

    /// Creates `<parent>/<prefix>-<random>`.
    pub fn below(parent: &Path, prefix: &str) -> Self {
        let path = parent.join(format!("{prefix}-{}", random()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// Its absolute path.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Writes `text` to the file `name` in it and returns the path of that file.
    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, text).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("kept: {}", self.0.display());
        } else {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }
}

/// A loopback port that is free for TCP and UDP and that this process never gives out again.
///
/// It lies below the range that the kernel takes for outgoing connections, so a stopped server finds its port free again.
pub fn port() -> u16 {
    const FIRST: u16 = 20_000;
    const COUNT: u16 = 12_000;
    static NEXT: AtomicU16 = AtomicU16::new(0);
    // Test processes that run side by side start far apart; the bind below decides between the rest.
    let start = u16::try_from(std::process::id() * 97 % u32::from(COUNT)).unwrap();
    for _ in 0..COUNT {
        let port = FIRST + (start + NEXT.fetch_add(1, Ordering::Relaxed) % COUNT) % COUNT;
        if TcpListener::bind(("127.0.0.1", port)).is_ok()
            && UdpSocket::bind(("127.0.0.1", port)).is_ok()
        {
            return port;
        }
    }
    panic!("no free port from {FIRST} on");
}

/// Asks `probe` every 20 ms until it returns a value; panics with `what` after `timeout`.
pub async fn wait_for<T, F: Future<Output = Option<T>>>(
    what: &str,
    timeout: Duration,
    mut probe: impl FnMut() -> F,
) -> T {
    let start = Instant::now();
    loop {
        if let Some(value) = probe().await {
            return value;
        }
        assert!(start.elapsed() < timeout, "waited {timeout:?} in vain: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Chooses the TLS implementation, which reqwest is built without, for this process; later calls do nothing.
pub fn install_tls() {
    static ONCE: Once = Once::new();
    // An error says that somebody else installed one, which is as good.
    ONCE.call_once(|| drop(rustls::crypto::ring::default_provider().install_default()));
}

/// An HTTP client that keeps no connections (PowerDNS closes each) and gives up after 30 s.
pub fn http_client() -> reqwest::Client {
    install_tls();
    reqwest::Client::builder()
        .pool_max_idle_per_host(0)
        .no_proxy()
        .timeout(Duration::from_secs(30))
        .build()
        .unwrap()
}
