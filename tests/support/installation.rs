//! Which PowerDNS the tests run: the machine's own, or that of another Debian in a folder, entered by chroot.
//!
//! `TEST_PDNS=<folder>:<sqlite|lmdb>` chooses both the folder (empty: the machine itself) and the backend of all tests
//! that do not ask for one; `tests/env/pdns-roots` makes such folders. It does not know how a server is set up.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use super::{Folder, process};

/// Where a server keeps its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// `gsqlite3`: has comments.
    Sqlite,
    /// `lmdb`: has comments from PowerDNS 5.1 on.
    Lmdb,
}

impl Backend {
    /// That of tests which hold on any: sqlite, unless `TEST_PDNS` says otherwise.
    pub fn of_this_run() -> Self {
        chosen().1
    }
}

/// An installation of PowerDNS.
pub struct Installation {
    /// The folder that the server takes for `/`; `None` is the machine's own.
    root: Option<PathBuf>,
}

impl Installation {
    /// That of this run, for all tests.
    pub fn of_this_run() -> &'static Self {
        &chosen().0
    }

    /// A new folder that the server can see, removed when dropped.
    pub fn folder(&self) -> Folder {
        match &self.root {
            None => Folder::new("pdns"),
            // No mount is needed where the folder lies inside.
            Some(root) => Folder::below(&root.join("tmp"), "pdns"),
        }
    }

    /// A path of ours as the server sees it.
    pub fn inside(&self, path: &Path) -> PathBuf {
        match &self.root {
            None => path.to_owned(),
            Some(root) => Path::new("/").join(path.strip_prefix(root).expect("it lies inside")),
        }
    }

    /// Runs its `pdns_server`, as a child that never outlives the test.
    pub fn server(&self) -> Command {
        const PROGRAM: &str = "/usr/sbin/pdns_server";
        let Some(root) = &self.root else {
            return process::command(PROGRAM);
        };
        // chroot becomes the server: one process, and a signal to it reaches the server.
        let mut command = process::command("chroot");
        command.arg(root).arg(PROGRAM);
        command
    }

    /// Makes an empty sqlite database, with the schema of this very version.
    ///
    /// It comes with the package: in its documentation, or (where that is not installed) in its shared data.
    pub fn create_database(&self, database: &Path) {
        let root = self.root.as_deref().unwrap_or(Path::new("/"));
        let places = [
            "usr/share/doc/pdns-backend-sqlite3/schema.sqlite3.sql",
            "usr/share/pdns-backend-sqlite3/schema/schema.sqlite3.sql",
        ];
        let schema = places
            .into_iter()
            .map(|place| root.join(place))
            .find(|place| place.is_file())
            .expect("the package pdns-backend-sqlite3 is installed");
        let output = Command::new("sqlite3")
            .arg(database)
            .arg(format!(".read {}", schema.display()))
            .output()
            .expect("the package sqlite3 is installed");
        assert!(
            output.status.success() && output.stderr.is_empty(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
}

/// What `TEST_PDNS` says. A value that is no choice must not pass for the default.
fn chosen() -> &'static (Installation, Backend) {
    static CHOSEN: OnceLock<(Installation, Backend)> = OnceLock::new();
    CHOSEN.get_or_init(|| {
        let choice = std::env::var("TEST_PDNS").unwrap_or_else(|_| ":sqlite".to_owned());
        let (root, backend) = choice.rsplit_once(':').unwrap_or((&choice, ""));
        let backend = match backend {
            "sqlite" => Backend::Sqlite,
            "lmdb" => Backend::Lmdb,
            _ => panic!("TEST_PDNS={choice}: want <folder>:sqlite or <folder>:lmdb"),
        };
        let root = (!root.is_empty()).then(|| {
            let found = std::fs::canonicalize(root).ok();
            let found = found.filter(|root| root.join("usr/sbin/pdns_server").is_file());
            found.unwrap_or_else(|| panic!("TEST_PDNS={choice}: no pdns_server in that folder"))
        });
        (Installation { root }, backend)
    })
}
