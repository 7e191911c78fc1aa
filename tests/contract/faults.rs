//! What becomes of each request of each step when something goes wrong on its way to a real API
//! server: a table, and what every cell must keep.
//!
//! Whatever the fault, a run ends within its budget with exit code 0 or 3, and with 0 only when
//! the cluster is as the step wants it.

use std::fmt::Write as _;
use std::sync::Mutex;
use std::time::Duration;

use kzero_testkit::objects::{self, Object};
use kzero_testkit::{ControlPlane, Fault, FaultProxy, Kzero, Namespace, Outcome, Rule, Signal};
use serde_json::{Value, json};

use crate::{SOON, bare, live, said, through, until};

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
            "state: {{name: {name}}}\nretry: {{attempts: {attempts}, delay: {delay}}}\npipelines:\n  {command}:\n    - {step}\n"
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

// --- connections that break off later ---------------------------------------------

#[test]
fn a_command_whose_connection_is_cut_is_tried_again_as_its_end_is_unknown() {
    // S-2.16, S-3.17
    let plane = ControlPlane::attach();
    let space = plane.namespace("execcut");
    plane.apply(&objects::pod(space.name(), "p"));
    plane.wait_until(&space.path("api/v1", "pods/p"), SOON, |found| {
        found["status"]["phase"] == "Running"
    });
    for (attempts, code) in [(1, 3), (12, 0)] {
        let proxy = FaultProxy::for_kubeconfig(plane.own_kubeconfig());
        let place = through(&proxy, &space);
        let seen = place.path("seen");
        let script = format!(
            "if [ -e {0} ]; then echo again; else touch {0}; echo running; sleep 100; fi",
            seen.display()
        );
        let place = place.profile(&live(
            &space,
            &format!(
                "retry: {{attempts: {attempts}, delay: 2s}}\npipelines:\n  down:\n    - exec.NS/p: {{container: main, command: [sh, -c, '{script}']}}\n"
            ),
        ));
        let running = place.spawn_with(["down"]);
        running.wait_for_output("- running\n");
        proxy.go_away();
        proxy.resume();
        let outcome = running.wait();
        outcome.assert_code(code);
        let told = format!("{}{}", outcome.stdout, outcome.stderr);
        assert!(
            told.contains("connection lost before the exit code came"),
            "{told}"
        );
        let again = outcome.stdout_texts().iter().any(|line| line == "again");
        assert_eq!(again, code == 0, "{told}");
    }
}

#[test]
fn a_wait_outlasts_a_server_that_goes_and_comes_back() {
    // S-D.9
    let plane = ControlPlane::attach();
    let space = plane.namespace("outage");
    plane.apply(&objects::deployment(space.name(), "b", 0).annotated("sim.kzero/ready", "never"));
    let proxy = FaultProxy::for_kubeconfig(plane.own_kubeconfig());
    let place = through(&proxy, &space).profile(&live(
        &space,
        "pipelines:\n  up:\n    - deployment.NS/b: {replicas: 1, wait_for_ready: true}\n",
    ));
    let running = place.spawn_with(["up"]);
    until("it watches", || {
        let asked = proxy.requests();
        asked
            .iter()
            .any(|request| request.query.contains("watch=true"))
    });
    proxy.go_away();
    // What happens while nobody can look is seen later.
    let pods = space.path("api/v1", "pods");
    plane.wait_until(&pods, SOON, |found| found["items"][0].is_object());
    let pod = plane.list(&pods)[0]["metadata"]["name"]
        .as_str()
        .unwrap()
        .to_owned();
    plane.patch(
        &format!("{pods}/{pod}"),
        &json!({"metadata": {"annotations": {"sim.kzero/ready": "0"}}}),
    );
    running.wait_for_output("still waiting after an interruption: ");
    proxy.resume();
    running.wait().assert_code(0);
}

// --- credentials ------------------------------------------------------------------

/// A place whose kubeconfig has a plugin that counts its calls in `calls`; `token` is what it
/// prints, in shell, with `$n` for the number of the call.
fn with_plugin(
    plane: &ControlPlane,
    space: &Namespace<'_>,
    proxy: Option<&FaultProxy>,
    token: &str,
    expires: &str,
) -> Kzero {
    let place = bare();
    let file = match proxy {
        None => plane.kubeconfig_for(place.dir(), space.name()),
        Some(proxy) => proxy.kubeconfig_for(place.dir(), space.name()),
    };
    let mut config: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    let calls = place.path("calls");
    let plugin = place.path("plugin.sh");
    config["users"][0]["user"] = json!({"exec": {
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": plugin,
        "interactiveMode": "Never",
    }});
    std::fs::write(&file, config.to_string()).unwrap();
    place.kubeconfig(file).script(
        "plugin.sh",
        &format!(
            "echo call >>{calls}\nn=$(wc -l <{calls})\n{token}\nprintf '{{\"apiVersion\": \"client.authentication.k8s.io/v1\", \
             \"kind\": \"ExecCredential\", \"status\": {{\"token\": \"%s\"{expires}}}}}' \"$token\"",
            calls = calls.display()
        ),
    )
}

const PARK: &str = "pipelines:\n  down:\n    - deployment.NS/b\n";

#[test]
fn a_plugins_credential_is_fetched_once_and_again_after_a_401() {
    // S-1.30
    let plane = ControlPlane::attach();
    let space = plane.namespace("plugin");
    plane.apply(&objects::deployment(space.name(), "b", 1));
    let path = space.path("apis/apps/v1", "deployments/b");
    let right = "token=admin-token";
    let calls = |place: &Kzero| place.read("calls").lines().count();

    let place = with_plugin(&plane, &space, None, right, "").profile(&live(&space, PARK));
    place.run_with(["down"]).assert_code(0);
    assert_eq!(calls(&place), 1);
    assert_eq!(plane.get(&path).unwrap()["spec"]["replicas"], 0);

    // The server itself refuses the first one.
    let first_wrong = "token=admin-token; [ \"$n\" -gt 1 ] || token=wrong";
    let place = with_plugin(&plane, &space, None, first_wrong, "").profile(&live(&space, PARK));
    let outcome = place.run_with(["down"]);
    outcome.assert_code(0);
    assert_eq!(calls(&place), 2);
    assert_eq!(
        said(&outcome, "WRN", "refused the credential, fetched a new one"),
        1
    );
    assert!(!outcome.stdout.contains("admin-token"));

    // Refused for good: asked again once, no more.
    let place = with_plugin(&plane, &space, None, "token=wrong", "").profile(&live(&space, PARK));
    let outcome = place.run_with(["down"]);
    outcome.assert_code(3).assert_stderr("401 Unauthorized");
    assert_eq!(calls(&place), 2);

    // In the middle of a run, on a write.
    plane.patch(&format!("{path}/scale"), &json!({"spec": {"replicas": 1}}));
    let proxy = FaultProxy::for_kubeconfig(plane.own_kubeconfig());
    proxy.add(
        Rule::new(fault("401"))
            .method("PATCH")
            .path("/scale")
            .first(1),
    );
    let place = with_plugin(&plane, &space, Some(&proxy), right, "").profile(&live(&space, PARK));
    place.run_with(["down"]).assert_code(0);
    assert_eq!(calls(&place), 2);
    assert_eq!(plane.get(&path).unwrap()["spec"]["replicas"], 0);
}

#[test]
fn a_plugin_runs_again_when_its_credential_has_expired() {
    // S-1.30
    let plane = ControlPlane::attach();
    let space = plane.namespace("expiry");
    plane.apply(&objects::deployment(space.name(), "b", 1));
    let token =
        "token=admin-token; end=$(date -u -d '+2 seconds' +%Y-%m-%dT%H:%M:%SZ)\nset -- \"$end\"";
    let expires = ", \"expirationTimestamp\": \"'\"$1\"'\"";
    let place = with_plugin(&plane, &space, None, token, expires)
        .script("later.sh", "sleep 3")
        .profile(&live(
            &space,
            "pipelines:\n  down:\n    - custom: ./later.sh\n    - deployment.NS/b\n",
        ));
    place.run_with(["down"]).assert_code(0);
    assert_eq!(place.read("calls").lines().count(), 2);
}

#[test]
fn a_plugin_that_hangs_or_fails_ends_the_run() {
    let plane = ControlPlane::attach();
    let space = plane.namespace("badplugin");
    plane.apply(&objects::deployment(space.name(), "b", 1));
    for (token, text) in [
        ("echo no session >&2; exit 4", "no session"),
        ("echo nonsense; exit 0", "plugin.sh"),
    ] {
        let place = with_plugin(&plane, &space, None, token, "").profile(&live(&space, PARK));
        let outcome = place.run_with(["down"]);
        outcome
            .assert_code(3)
            .assert_stderr("preflight: ")
            .assert_stderr(text);
    }
    let place = with_plugin(&plane, &space, None, "sleep 100", "").profile(
        &live(&space, PARK).replace("{mode: live}", "{mode: live, operation_timeout: 2s}"),
    );
    let outcome = place.run_with(["down"]);
    outcome
        .assert_code(3)
        .assert_stderr("run.operation_timeout 2s");
    assert!(place.left_behind().is_empty(), "{:?}", place.left_behind());
    let place = with_plugin(&plane, &space, None, "sleep 100", "").profile(&live(&space, PARK));
    let running = place.spawn_with(["down"]);
    until("the plugin runs", || place.path("calls").exists());
    running.signal(Signal::TERM);
    let outcome = running.wait();
    outcome
        .assert_code(3)
        .assert_stderr("interrupted (signal received)");
    assert!(
        outcome.elapsed < Duration::from_secs(15),
        "{:?}",
        outcome.elapsed
    );
    assert!(place.left_behind().is_empty(), "{:?}", place.left_behind());
    assert_eq!(
        plane
            .get(&space.path("apis/apps/v1", "deployments/b"))
            .unwrap()["spec"]["replicas"],
        1
    );
}
