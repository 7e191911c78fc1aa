//! A PostgreSQL server on loopback with its files in a folder of its own.

use std::net::TcpListener;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// The user that the server runs as where the tests are run by root, as whom it refuses to run.
const NOBODY: u32 = 65534;

pub(super) struct Postgres {
    server: Child,
    port: u16,
    dir: TempDir,
}

fn program(name: &str) -> PathBuf {
    #[expect(
        clippy::disallowed_methods,
        reason = "the environment names the programs"
    )]
    match std::env::var_os("KZERO_TEST_POSTGRES") {
        Some(dir) => Path::new(&dir).join(name),
        None => {
            panic!("KZERO_TEST_POSTGRES is not set; it names the folder of initdb and postgres")
        }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the server is a program of its own"
)]
fn command(name: &str, dir: &Path) -> Command {
    let mut command = Command::new(program(name));
    command
        .current_dir(dir)
        .env_clear()
        .env("LC_ALL", "C")
        .env("TZ", "UTC")
        .stdin(Stdio::null());
    if is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    command
}

fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata("/proc/self").unwrap().uid() == 0
}

/// Gives a file to the user that the server runs as.
fn own(path: &Path) {
    if is_root() {
        std::os::unix::fs::chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
    }
}

impl Postgres {
    /// A server with the user `me`, whose password is `p@ss`, and the database `postgres`. With a certificate and its
    /// key it is encrypted.
    pub(super) fn start(tls: Option<(&str, &str)>) -> Self {
        let dir = tempfile::Builder::new()
            .prefix("pg")
            .tempdir_in("/tmp")
            .unwrap();
        own(dir.path());
        let write = |name: &str, text: &str| {
            use std::os::unix::fs::PermissionsExt;
            let path = dir.path().join(name);
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
            own(&path);
        };
        write("password", "p@ss");
        let made = command("initdb", dir.path())
            .args([
                "-D",
                "data",
                "-U",
                "me",
                "--pwfile=password",
                "-A",
                "scram-sha-256",
                "-E",
                "UTF8",
                "-N",
            ])
            .output()
            .unwrap();
        assert!(
            made.status.success(),
            "{}",
            String::from_utf8_lossy(&made.stderr)
        );
        let port = TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap()
            .port();
        let mut start = command("postgres", dir.path());
        start
            .args(["-D", "data", "-h", "127.0.0.1", "-k", "", "-F", "-p"])
            .arg(port.to_string())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        if let Some((certificate, key)) = tls {
            write("data/server.crt", certificate);
            write("data/server.key", key);
            start.args(["-c", "ssl=on"]);
        }
        let server = start.spawn().unwrap();
        let postgres = Self { server, port, dir };
        postgres.wait();
        postgres
    }

    fn wait(&self) {
        let end = Instant::now() + Duration::from_secs(60);
        let ready = || {
            let asked = command("pg_isready", self.dir.path())
                .args(["-h", "127.0.0.1", "-p", &self.port.to_string()])
                .stdout(Stdio::null())
                .status();
            asked.unwrap().success()
        };
        while !ready() {
            assert!(Instant::now() < end, "PostgreSQL does not start");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// A connection string for one of its databases, with more settings.
    pub(super) fn address(&self, database: &str, settings: &str) -> String {
        let port = self.port;
        format!("postgres://me:p%40ss@127.0.0.1:{port}/{database}?{settings}")
    }

    /// What the superuser's `psql` prints for a statement.
    pub(super) fn run(&self, database: &str, statement: &str) -> String {
        self.tool("psql", database, &["-Atqc", statement])
    }

    /// The definitions of a database.
    pub(super) fn schema(&self, database: &str) -> String {
        let dump = self.tool("pg_dump", database, &["--schema-only"]);
        // Newer releases guard each dump with a word of its own.
        let lines = dump.lines().filter(|line| !line.contains("restrict"));
        lines.collect::<Vec<_>>().join("\n")
    }

    fn tool(&self, name: &str, database: &str, args: &[&str]) -> String {
        let output = command(name, self.dir.path())
            .env("PGPASSWORD", "p@ss")
            .args([
                "-h",
                "127.0.0.1",
                "-p",
                &self.port.to_string(),
                "-U",
                "me",
                "-d",
                database,
            ])
            .args(args)
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// An empty database.
    pub(super) fn database(&self, name: &str) {
        self.run("postgres", &format!("CREATE DATABASE {name}"));
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // A server that is only killed leaves shared memory behind.
        let stopped = command("pg_ctl", self.dir.path())
            .args(["stop", "-s", "-D", "data", "-m", "immediate"])
            .status();
        if !stopped.is_ok_and(|status| status.success()) {
            let _ = self.server.kill();
        }
        let _ = self.server.wait();
    }
}
