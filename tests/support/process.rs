//! Child processes that never outlive the test: killed on drop, and by the kernel when the test process dies.
//!
//! It does not know what it runs.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{OnceLock, mpsc};
use std::time::{Duration, Instant};

type Order = (Command, mpsc::Sender<io::Result<Child>>);

/// A command for [`Process::spawn`]: the kernel sends it SIGKILL when its parent dies.
pub fn command(program: impl AsRef<Path>) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL"]).arg(program.as_ref()).stdin(Stdio::null());
    command
}

/// The death signal comes when the *thread* that spawned dies (prctl(2)), and the threads of tests end early:
/// one thread that lives as long as the process spawns for all.
fn spawn(command: Command) -> io::Result<Child> {
    static SPAWNER: OnceLock<mpsc::Sender<Order>> = OnceLock::new();
    let spawner = SPAWNER.get_or_init(|| {
        let (sender, orders) = mpsc::channel::<Order>();
        std::thread::spawn(move || {
            for (mut command, answer) in orders {
                let _ = answer.send(command.spawn());
            }
        });
        sender
    });
    let (sender, child) = mpsc::channel();
    spawner.send((command, sender)).expect("the spawning thread lives as long as the process");
    child.recv().expect("the spawning thread answers every order")
}

/// A running child with its output in files.
pub struct Process {
    name: String,
    child: Child,
    out: PathBuf,
    err: PathBuf,
}

impl Process {
    /// Starts `command`; its output goes to `<folder>/<name>.out` and `.err`, which a second start overwrites.
    pub fn spawn(name: &str, mut command: Command, folder: &Path) -> Self {
        let (out, err) = (folder.join(format!("{name}.out")), folder.join(format!("{name}.err")));
        command.stdout(File::create(&out).unwrap()).stderr(File::create(&err).unwrap());
        let child =
            spawn(command).unwrap_or_else(|error| panic!("failed to start {name}: {error}"));
        Self { name: name.to_owned(), child, out, err }
    }

    /// The process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// How it ended, if it did.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().unwrap()
    }

    /// What it wrote to standard output so far.
    pub fn stdout(&self) -> String {
        String::from_utf8_lossy(&std::fs::read(&self.out).unwrap_or_default()).into_owned()
    }

    /// What it wrote to standard error so far.
    pub fn stderr(&self) -> String {
        String::from_utf8_lossy(&std::fs::read(&self.err).unwrap_or_default()).into_owned()
    }

    /// SIGKILL, and waits until it is gone.
    pub fn kill9(&mut self) {
        let _ = self.child.kill();
        self.child.wait().unwrap();
    }

    /// SIGTERM, without waiting.
    pub fn terminate(&self) {
        self.signal("TERM");
    }

    /// A signal by its name, without `SIG`.
    pub fn signal(&self, name: &str) {
        // The shell's own `kill` is there on every machine; a program of that name is not.
        let kill = format!("kill -{name} {}", self.child.id());
        Command::new("sh").args(["-c", &kill]).status().unwrap();
    }

    /// Waits until it ends by itself; kills it and panics with its log after `timeout`.
    pub async fn wait(&mut self, timeout: Duration) -> ExitStatus {
        let start = Instant::now();
        loop {
            if let Some(status) = self.ended() {
                return status;
            }
            if start.elapsed() > timeout {
                self.kill9();
                panic!("{} did not end within {timeout:?}", self.name);
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            let log = self.stderr();
            let from = log.char_indices().rev().nth(8_000).map_or(0, |(at, _)| at);
            eprintln!("---- {} wrote to standard error ----\n{}", self.name, &log[from..]);
        }
    }
}
