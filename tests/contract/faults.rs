//! What becomes of each request of each step when something goes wrong on its way to a real API
//! server: a table, and what every cell must keep.
//!
//! Whatever the fault, a run ends within its budget with exit code 0 or 3, and with 0 only when
//! the cluster is as the step wants it.

use std::fmt::Write as _;
use std::sync::Mutex;
use std::time::Duration;

use kzero_testkit::objects::{self, Object};
use kzero_testkit::{ControlPlane, Fault, FaultProxy, Kzero, Namespace, Outcome, Rule};

use crate::{SOON, live, through, until};

/// The outcomes as they are: without retry and with `retry.attempts: 3`, `+` for exit 0 and `-`
/// for exit 3. The fault happens to the first request of its kind, but for `away`, where the
/// server never comes back.
///
/// * `delay`: 2 s later. `reset`: the connection is reset, nothing was done. `lose`: done, but the
///   answer is lost. `cut`: done, and the answer breaks off. `429`: with Retry-After. `back`: the
///   server goes and comes back. `hole`: no answer, the step's timeout is 2 s.
/// * A read in a wait is repeated until the step's time is over, whatever the retries.
/// * Outside of waits 500 and 410 are no errors that pass (S-3.17).
/// * The Job that `jobup.read` asks for is not there, and of a refusal no body is needed; `cut`
///   finds nothing to cut in the answer that opens a connection for `exec.open`.
/// * Preflight is no step and not retried.
const TABLE: &str = "
request        delay reset lose cut  429  409  500  503  410  back away hole
preflight      ++    --    --   --   ++   --   --   --   --   --   --   --
down.read      ++    -+    -+   -+   ++   -+   --   -+   --   -+   --   -+
down.write     ++    -+    -+   -+   ++   ++   --   -+   --   -+   --   -+
down.owner     ++    -+    -+   -+   ++   -+   --   -+   --   -+   --   -+
down.list      ++    ++    ++   ++   ++   ++   ++   ++   ++   ++   --   -+
down.watch     ++    ++    ++   ++   ++   ++   ++   ++   ++   ++   --   -+
up.write       ++    -+    -+   -+   ++   ++   --   -+   --   -+   --   -+
up.list        ++    ++    ++   ++   ++   ++   ++   ++   ++   ++   --   -+
up.watch       ++    ++    ++   ++   ++   ++   ++   ++   ++   ++   --   -+
cronjob.read   ++    -+    -+   -+   ++   -+   --   -+   --   -+   --   -+
cronjob.write  ++    -+    -+   -+   ++   ++   --   -+   --   -+   --   -+
pvc.write      ++    -+    -+   -+   ++   -+   --   -+   --   -+   --   -+
jobup.read     ++    -+    -+   ++   ++   -+   --   -+   --   -+   --   -+
jobup.write    ++    -+    -+   -+   ++   -+   --   -+   --   -+   --   -+
jobup.list     ++    ++    ++   ++   ++   ++   ++   ++   ++   ++   --   -+
jobup.watch    ++    ++    ++   ++   ++   ++   ++   ++   ++   ++   --   -+
jobdown.write  ++    -+    -+   -+   ++   -+   --   -+   --   -+   --   -+
exec.open      ++    -+    -+   ++   ++   -+   --   -+   --   -+   --   -+
";

/// What the fast run does of it: columns, and the tries of a step. The others differ from these
/// only in the words of the error, or in how long they take.
const FAST: &[(&str, u32)] = &[
    ("reset", 3),
    ("lose", 3),
    ("429", 1),
    ("409", 3),
    ("500", 1),
    ("410", 3),
    ("back", 3),
];

/// A request: how it is known, and a step that sends it.
struct Request {
    name: &'static str,
    method: &'static str,
    /// Of path and query.
    pattern: &'static str,
}

const fn request(name: &'static str, method: &'static str, pattern: &'static str) -> Request {
    Request {
        name,
        method,
        pattern,
    }
}

const REQUESTS: &[Request] = &[
    request("preflight", "GET", "^/version"),
    request("down.read", "GET", "/scale$"),
    request("down.write", "PATCH", "/scale"),
    request("down.owner", "GET", "/deployments/[^/]+$"),
    request("down.list", "GET", r"/pods\?limit"),
    request("down.watch", "GET", r"/pods\?watch"),
    request("up.write", "PATCH", "/scale"),
    request("up.list", "GET", r"/deployments\?limit"),
    request("up.watch", "GET", r"/deployments\?watch"),
    request("cronjob.read", "GET", "/cronjobs/"),
    request("cronjob.write", "PATCH", "/cronjobs/"),
    request("pvc.write", "DELETE", "/persistentvolumeclaims/"),
    request("jobup.read", "GET", "/jobs/"),
    request("jobup.write", "POST", "/jobs"),
    request("jobup.list", "GET", r"/jobs\?limit"),
    request("jobup.watch", "GET", r"/jobs\?watch"),
    request("jobdown.write", "DELETE", "/jobs/"),
    request("exec.open", "GET", "/exec"),
];

const COLUMNS: &[&str] = &[
    "delay", "reset", "lose", "cut", "429", "409", "500", "503", "410", "back", "away", "hole",
];

fn fault(column: &str) -> Fault {
    match column {
        "delay" => Fault::Delay(Duration::from_secs(2)),
        "reset" => Fault::Reset,
        "lose" => Fault::LoseAnswer,
        "cut" => Fault::CutBody(20),
        "429" => Fault::retry_after(429, 1),
        "410" => Fault::Gone,
        "back" | "away" => Fault::GoAway,
        "hole" => Fault::BlackHole,
        status => Fault::status(status.parse().unwrap()),
    }
}

/// One cell: a step on objects of its own, its fault, and how often it is tried.
struct Cell {
    row: usize,
    column: usize,
    attempts: u32,
    name: String,
}

impl Cell {
    fn request(&self) -> &'static Request {
        &REQUESTS[self.row]
    }

    fn fault(&self) -> &'static str {
        COLUMNS[self.column]
    }

    fn step(&self) -> &'static str {
        let name = self.request().name;
        name.split_once('.').map_or(name, |(step, _)| step)
    }

    /// Makes what the step acts on.
    fn prepare(&self, plane: &ControlPlane, space: &Namespace<'_>) {
        let (space, name) = (space.name(), self.name.as_str());
        let object = match self.step() {
            // Slow enough that the wait has to watch.
            "down" => objects::deployment(space, name, 1).annotated("sim.kzero/stop", "0.7"),
            "up" => objects::deployment(space, name, 0).annotated("sim.kzero/start", "0.7"),
            "cronjob" => objects::cronjob(space, name),
            "pvc" => objects::pvc(space, name),
            "jobdown" => objects::job(space, name).annotated("sim.kzero/run", "never"),
            "exec" => objects::pod(space, name),
            _ => return,
        };
        plane.apply(&object);
    }

    fn wait_prepared(&self, plane: &ControlPlane, space: &Namespace<'_>) {
        let path = self.path(space);
        match self.step() {
            "down" => {
                plane.wait_until(&path, SOON, |found| found["status"]["readyReplicas"] == 1);
            }
            "up" => {
                plane.wait_until(&path, SOON, |found| {
                    found["status"]["observedGeneration"] == 1
                });
            }
            "exec" => {
                plane.wait_until(&path, SOON, |found| found["status"]["phase"] == "Running");
            }
            _ => {}
        }
    }

    fn path(&self, space: &Namespace<'_>) -> String {
        let (group, plural) = match self.step() {
            "down" | "up" => ("apis/apps/v1", "deployments"),
            "cronjob" => ("apis/batch/v1", "cronjobs"),
            "jobup" | "jobdown" => ("apis/batch/v1", "jobs"),
            "pvc" => ("api/v1", "persistentvolumeclaims"),
            _ => ("api/v1", "pods"),
        };
        space.path(group, &format!("{plural}/{}", self.name))
    }

    /// Whether the cluster is as the step wants it.
    fn is_done(&self, plane: &ControlPlane, space: &Namespace<'_>, place: &Kzero) -> bool {
        let found = plane.get(&self.path(space)).unwrap_or_default();
        let leaving = found.is_null() || found["metadata"]["deletionTimestamp"].is_string();
        match self.step() {
            "down" => {
                let pods = space.path("api/v1", &format!("pods?labelSelector=app%3D{}", self.name));
                found["spec"]["replicas"] == 0 && plane.list(&pods).is_empty()
            }
            "up" => found["spec"]["replicas"] == 1 && found["status"]["readyReplicas"] == 1,
            "cronjob" => found["spec"]["suspend"] == true,
            "pvc" | "jobdown" => leaving,
            "jobup" => found["status"]["succeeded"] == 1,
            _ => place.path("ran").exists(),
        }
    }

    fn profile(&self, space: &Namespace<'_>, place: &Kzero) -> (&'static str, String) {
        let name = &self.name;
        let timeout = match self.fault() {
            "hole" | "away" => "2s",
            _ => "40s",
        };
        let ran = place.path("ran");
        let (command, step) = match self.step() {
            "down" => (
                "down",
                format!("deployment.NS/{name}: {{wait_for_termination: true, timeout: {timeout}}}"),
            ),
            "up" => (
                "up",
                format!(
                    "deployment.NS/{name}: {{replicas: 1, wait_for_ready: true, timeout: {timeout}}}"
                ),
            ),
            "cronjob" => ("down", format!("cronjob.NS/{name}: {{timeout: {timeout}}}")),
            "pvc" => ("down", format!("pvc.NS/{name}: {{timeout: {timeout}}}")),
            "jobup" => (
                "up",
                format!("job.NS/{name}: {{manifest: ./j.yaml, timeout: {timeout}}}"),
            ),
            "jobdown" => ("down", format!("job.NS/{name}: {{timeout: {timeout}}}")),
            "exec" => (
                "down",
                format!(
                    "exec.NS/{name}: {{container: main, command: [touch, {}], timeout: {timeout}}}",
                    ran.display()
                ),
            ),
            _ => ("down", "custom: ./ran.sh".to_owned()),
        };
        // Time enough for a server that comes back.
        let delay = if self.fault() == "back" {
            "2s"
        } else {
            "100ms"
        };
        let attempts = match (self.attempts, self.fault()) {
            (1, _) => 1,
            (_, "back") => 12,
            (attempts, _) => attempts,
        };
        let operation = if self.step() == "preflight" {
            timeout
        } else {
            "0"
        };
        let rest = format!(
            "retry: {{attempts: {attempts}, delay: {delay}}}\npipelines:\n  {command}:\n    - {step}\n"
        );
        let text = live(space, &rest).replace(
            "{mode: live}",
            &format!("{{mode: live, operation_timeout: {operation}}}"),
        );
        (command, text)
    }

    /// Runs it and holds what every cell must keep. Gives `+` or `-`.
    fn run(&self, plane: &ControlPlane, space: &Namespace<'_>) -> char {
        let what = format!(
            "{} {} x{}",
            self.request().name,
            self.fault(),
            self.attempts
        );
        self.wait_prepared(plane, space);
        let proxy = FaultProxy::for_kubeconfig(plane.own_kubeconfig());
        let place = through(&proxy, space).script("ran.sh", "touch ran").file(
            "j.yaml",
            &objects::job("x", "y")
                .annotated("sim.kzero/run", "0.7")
                .to_string(),
        );
        let (command, text) = self.profile(space, &place);
        let place = place.profile(&text);
        let rule = Rule::new(fault(self.fault()))
            .method(self.request().method)
            .pattern(self.request().pattern);
        let count = proxy.add(rule.first(1));
        let running = place.spawn_with([command]);
        if self.fault() == "back" {
            until(&what, || count.hit() == 1);
            proxy.resume();
        }
        let outcome = running.wait();
        assert_eq!(
            count.hit(),
            1,
            "{what}: the fault never happened\n{}",
            outcome.stdout
        );
        self.check(plane, space, &place, &what, &outcome)
    }

    fn check(
        &self,
        plane: &ControlPlane,
        space: &Namespace<'_>,
        place: &Kzero,
        what: &str,
        outcome: &Outcome,
    ) -> char {
        let said = format!(
            "{what}\n--- stdout\n{}--- stderr\n{}",
            outcome.stdout, outcome.stderr
        );
        let timeouts = if matches!(self.fault(), "hole" | "away") {
            2 * self.attempts
        } else {
            10
        };
        // Beside the timeouts: the cause report, pauses, and a machine that has much to do.
        let limit = Duration::from_secs(u64::from(timeouts) + 25);
        assert!(outcome.elapsed < limit, "{:?}: {said}", outcome.elapsed);
        match outcome.code {
            0 => {
                assert!(self.is_done(plane, space, place), "it lies: {said}");
                '+'
            }
            3 => {
                let subject = if self.step() == "preflight" {
                    "preflight: "
                } else {
                    "step "
                };
                assert!(outcome.stderr.contains(subject), "{said}");
                assert!(!outcome.stdout.contains("phase down finished"), "{said}");
                '-'
            }
            code => panic!("exit code {code}: {said}"),
        }
    }
}

/// Runs cells, many at a time since they mostly wait, and gives the table with a dot in the place of
/// what was not run.
fn observe(plane: &ControlPlane, space: &Namespace<'_>, runs: &[(&str, u32)]) -> String {
    let mut cells = Vec::new();
    for row in 0..REQUESTS.len() {
        for (column, attempts) in runs {
            cells.push(Cell {
                row,
                column: COLUMNS.iter().position(|name| name == column).unwrap(),
                attempts: *attempts,
                name: format!("c{}", cells.len()),
            });
        }
    }
    let table = Mutex::new(vec![vec!['.'; 2 * COLUMNS.len()]; REQUESTS.len()]);
    let next = Mutex::new(0..cells.len());
    std::thread::scope(|scope| {
        for _ in 0..12 {
            scope.spawn(|| {
                loop {
                    let index = next.lock().unwrap().next();
                    let Some(cell) = index.map(|index| &cells[index]) else {
                        return;
                    };
                    cell.prepare(plane, space);
                    let outcome = cell.run(plane, space);
                    let tried = usize::from(cell.attempts > 1);
                    table.lock().unwrap()[cell.row][2 * cell.column + tried] = outcome;
                }
            });
        }
    });
    let mut text = format!("request {}", COLUMNS.join(" "));
    for (row, outcomes) in REQUESTS.iter().zip(table.into_inner().unwrap()) {
        let _ = write!(text, "\n{}", row.name);
        for pair in outcomes.chunks(2) {
            let _ = write!(text, " {}", pair.iter().collect::<String>());
        }
    }
    text
}

/// The table above, with a dot for what is not in `runs`.
fn wanted(runs: &[(&str, u32)]) -> String {
    let cell = |(index, word): (usize, &str)| {
        let Some(column) = index.checked_sub(1).map(|column| COLUMNS[column]) else {
            return word.to_owned();
        };
        let run = |attempts| runs.contains(&(column, attempts));
        let pair = word.chars().zip([run(1), run(3)]);
        pair.map(|(outcome, run)| if run { outcome } else { '.' })
            .collect()
    };
    let mut rows = TABLE.lines().filter(|row| !row.is_empty());
    let words = |row: &str| {
        row.split_whitespace()
            .map(ToOwned::to_owned)
            .collect::<Vec<_>>()
    };
    let head = words(rows.next().unwrap()).join(" ");
    let rest = rows.map(|row| {
        row.split_whitespace()
            .enumerate()
            .map(cell)
            .collect::<Vec<_>>()
            .join(" ")
    });
    std::iter::once(head)
        .chain(rest)
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn faults_times_requests() {
    let plane = ControlPlane::attach();
    let space = plane.namespace("faults");
    let all: Vec<(&str, u32)> = COLUMNS
        .iter()
        .flat_map(|column| [(*column, 1), (*column, 3)])
        .collect();
    let runs = if crate::is_long() { &all } else { FAST };
    let (observed, wanted) = (observe(&plane, &space, runs), wanted(runs));
    assert!(observed == wanted, "observed\n{observed}\nwanted\n{wanted}");
}
