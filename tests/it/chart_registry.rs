//! `chart pull` and `chart dependency`: what they print and leave behind. Servers of all kinds are met in
//! the tests of kzero-registry; here it is one small repository.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::SystemTime;

use kzero_chart::load::{File, files};

/// A repository on 127.0.0.1 until it is dropped.
struct Repository {
    address: SocketAddr,
    stopped: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Repository {
    /// One with versions of web.
    fn new(versions: &[&str]) -> Self {
        let mut content = HashMap::new();
        let mut index = "apiVersion: v1\nentries:\n  web:\n".to_owned();
        for version in versions {
            let name = format!("web-{version}.tgz");
            index.push_str(&format!(
                "  - {{apiVersion: v2, name: web, version: {version}, urls: [{name}]}}\n"
            ));
            content.insert(format!("/{name}"), archive(version));
        }
        content.insert("/index.yaml".to_owned(), index.into_bytes());
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let stopped = Arc::new(AtomicBool::new(false));
        let thread = std::thread::spawn({
            let stopped = Arc::clone(&stopped);
            move || {
                for stream in listener.incoming() {
                    if stopped.load(Ordering::SeqCst) {
                        break;
                    }
                    if let Ok(stream) = stream {
                        // Whoever leaves early has what it wanted.
                        let _ = answer(stream, &content);
                    }
                }
            }
        });
        Self {
            address,
            stopped,
            thread: Some(thread),
        }
    }

    fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

impl Drop for Repository {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::SeqCst);
        // Wakes it up.
        let _ = TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn answer(mut stream: TcpStream, content: &HashMap<String, Vec<u8>>) -> std::io::Result<()> {
    let mut lines = BufReader::new(stream.try_clone()?).lines();
    let first = lines.next().transpose()?.unwrap_or_default();
    while lines
        .next()
        .transpose()?
        .is_some_and(|line| !line.is_empty())
    {}
    let found = first.split(' ').nth(1).and_then(|path| content.get(path));
    let (status, body) = match found {
        Some(body) => ("200 OK", body.as_slice()),
        None => ("404 Not Found", b"".as_slice()),
    };
    let length = body.len();
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    )?;
    stream.write_all(body)
}

fn archive(version: &str) -> Vec<u8> {
    let file = |name: &str, text: String| File {
        name: name.to_owned(),
        data: text.into_bytes().into(),
    };
    let chart = files(vec![
        file(
            "Chart.yaml",
            format!("apiVersion: v2\nname: web\nversion: {version}\n"),
        ),
        file("values.yaml", "# kept\na: 1\n".to_owned()),
    ]);
    kzero_chart::pack::archive(&chart.unwrap(), SystemTime::UNIX_EPOCH).unwrap()
}

#[test]
fn pull_writes_the_archive_and_says_nothing() {
    let repository = Repository::new(&["1.0.0", "1.1.0", "2.0.0-rc.1"]);
    let kzero = super::kzero();
    let url = repository.url();
    let done = kzero.run_with(["chart", "pull", "web", "--repo", &url]);
    assert_eq!(
        (done.code, done.stdout.as_str(), done.stderr.as_str()),
        (0, "", "")
    );
    assert_eq!(
        std::fs::read(kzero.path("web-1.1.0.tgz")).unwrap(),
        archive("1.1.0")
    );
    let done = kzero.run_with(["chart", "pull", "web", "--repo", &url, "--devel"]);
    assert_eq!(done.code, 0);
    assert!(kzero.path("web-2.0.0-rc.1.tgz").exists());
    let done = kzero.run_with([
        "chart",
        "fetch",
        &format!("{url}/web-1.0.0.tgz"),
        "-d",
        "none",
    ]);
    assert_eq!(
        (done.code, done.stderr.as_str()),
        (
            1,
            "Error: open none/web-1.0.0.tgz: no such file or directory\n"
        )
    );
}

#[test]
fn pull_unpacks_where_nothing_is_yet() {
    let repository = Repository::new(&["1.0.0"]);
    let kzero = super::kzero();
    let url = repository.url();
    let pull = ["chart", "pull", "web", "--repo", &url, "--untar"];
    let done = kzero.run_with(pull);
    assert_eq!(
        (done.code, done.stdout.as_str(), done.stderr.as_str()),
        (0, "", "")
    );
    assert_eq!(kzero.read("web/values.yaml"), "# kept\na: 1\n");
    assert!(!kzero.path("web-1.0.0.tgz").exists());
    let done = kzero.run_with(pull);
    assert_eq!(
        (done.code, done.stderr.as_str()),
        (
            1,
            "Error: failed to untar: a file or directory with the name web already exists\n"
        )
    );
    let done = kzero.run_with(pull.into_iter().chain(["-d", "d", "--untardir", "u"]));
    assert_eq!(done.code, 0);
    assert_eq!(kzero.read("d/u/web/values.yaml"), "# kept\na: 1\n");
}

#[test]
fn signatures_are_refused_before_anything_is_fetched() {
    let kzero = super::kzero();
    for flag in ["--verify", "--prov"] {
        let done = kzero.run_with(["chart", "pull", "web", "--repo", "http://127.0.0.1:1", flag]);
        assert_eq!(
            (done.code, done.stderr.as_str()),
            (
                1,
                format!(
                    "Error: {flag} is not supported: kzero does not check signatures of charts\n"
                )
                .as_str()
            )
        );
    }
}

#[test]
fn dependencies_are_updated_built_and_listed() {
    let repository = Repository::new(&["1.0.0", "1.1.0"]);
    let url = repository.url();
    let kzero = super::kzero().file(
        "top/Chart.yaml",
        &format!(
            "apiVersion: v2\nname: top\nversion: 1.0.0\ndependencies:\n- {{name: web, version: ^1, repository: \"{url}\"}}\n"
        ),
    );
    let row = |status: &str| {
        let width = url.len();
        format!(
            "NAME\tVERSION\t{:width$}\tSTATUS{}\nweb \t^1     \t{url}\t{status:6}\n\n",
            "REPOSITORY",
            if status == "missing" { " " } else { "" },
        )
    };
    let listed = kzero.run_with(["chart", "dependency", "list", "top"]);
    assert_eq!(
        (listed.code, listed.stdout.as_str()),
        (0, row("missing").as_str())
    );
    let done = kzero.run_with(["chart", "dep", "up", "top"]);
    let fetched =
        format!("Saving 1 charts\nDownloading web from repo {url}\nDeleting outdated charts\n");
    assert!(
        done.stdout.as_str().ends_with(&fetched),
        "{}",
        done.stdout.as_str()
    );
    assert_eq!((done.code, done.stderr.as_str()), (0, ""));
    let listed = kzero.run_with(["chart", "dependency", "ls", "./top/"]);
    assert_eq!(listed.stdout.as_str(), row("ok"));
    std::fs::remove_file(kzero.path("top/charts/web-1.1.0.tgz")).unwrap();
    let done = kzero.run_with(["chart", "dependency", "build", "top"]);
    assert_eq!(done.code, 0);
    assert_eq!(
        std::fs::read(kzero.path("top/charts/web-1.1.0.tgz")).unwrap(),
        archive("1.1.0")
    );
}

#[test]
fn a_folder_that_is_no_chart_is_told_in_helms_words() {
    let kzero = super::kzero();
    let done = kzero.run_with(["chart", "dependency", "update", "nope"]);
    assert_eq!(
        (done.code, done.stderr.as_str()),
        (
            1,
            "Error: could not find nope: stat nope: no such file or directory\n"
        )
    );
}

#[test]
fn a_profile_is_asked_for_its_registries_only_with_c() {
    let kzero = super::kzero().profile(&super::dry(
        "helm: {registries: [{host: 127.0.0.1:1, username: me, password_env: NOT_SET}]}\npipelines: {down: [custom: ./a.sh]}\n",
    ));
    let kzero = kzero.script("a.sh", "true\n");
    let pull = ["chart", "pull", "oci://127.0.0.1:1/x", "--version", "1.0.0"];
    let done = kzero.run_with(pull);
    assert_eq!(
        (done.code, done.stderr.as_str()),
        (
            1,
            "Error: failed to perform \"FetchReference\" on source: Get \"https://127.0.0.1:1/v2/x/manifests/1.0.0\": dial tcp 127.0.0.1:1: connect: connection refused\n"
        )
    );
    let done = kzero.run_with(["-c", "kzero.yaml"].into_iter().chain(pull));
    assert_eq!(
        (done.code, done.stderr.as_str()),
        (
            1,
            "Error: helm.registries: the password of 127.0.0.1:1 is empty: NOT_SET is not set\n"
        )
    );
}
