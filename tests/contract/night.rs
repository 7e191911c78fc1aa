//! Nights that go wrong: a profile of twelve steps, killed at every write and at every line of its journal, is gone on with by `resume` or by
//! a plain second run, and sizes come back (S-11.1 to S-11.26).

use std::path::Path;

use kzero_testkit::objects::Object;
use kzero_testkit::{ControlPlane, Fault, FaultProxy, Kzero, Namespace, Outcome, Rule, objects};
use serde_json::{Value, json};

use crate::{SOON, is_long, kzero, live, through, until};

const STEPS: &str = "helm: {workspace: charts}
hooks: {pre-down: ./note.sh, post-up: ./note.sh}
pipelines:
  down:
    - cronjob.NS/nightly
    - cronjob.NS/paused
    - deployment.NS/api
    - deployment.NS/web: {post: ./note.sh}
    - deployment.NS/idle
    - statefulset.NS/db: {wait_for_termination: true}
    - exec.NS/tool: {container: main, command: ['true']}
    - job.NS/warm
    - pvc.NS/scratch
    - release.NS/shop
    - custom: ./note.sh
    - deployment.NS/last
  up:
    - deployment.NS/last
    - custom: ./note.sh
    - release.NS/shop
    - job.NS/warm: {manifest: warm.yaml, wait_for_complete: true}
    - exec.NS/tool: {container: main, command: ['true']}
    - statefulset.NS/db: {wait_for_ready: true}
    - deployment.NS/idle
    - deployment.NS/web
    - deployment.NS/api: {wait_for_ready: true}
    - cronjob.NS/paused
    - cronjob.NS/nightly
    - custom: ./note.sh
";

/// Workloads and the sizes they have before the night.
const SIZES: [(&str, &str, u32); 5] = [
    ("deployments", "api", 3),
    ("deployments", "web", 2),
    ("deployments", "idle", 0),
    ("statefulsets", "db", 2),
    ("deployments", "last", 4),
];

fn furnished(place: Kzero, space: &Namespace<'_>) -> Kzero {
    let job = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: warm}\nspec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: example/a}]}}}\n";
    let map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: shop}\ndata: {a: b}\n";
    place
        .profile(&live(space, STEPS))
        .script("note.sh", "true\n")
        .file("warm.yaml", job)
        .file("charts/shop.yaml", "chart: ./shop\n")
        .file(
            "charts/shop/Chart.yaml",
            "apiVersion: v2\nname: shop\nversion: 0.1.0\n",
        )
        .file("charts/shop/templates/map.yaml", map)
}

/// The environment as it is before a night.
fn evening<'a>(plane: &'a ControlPlane, prefix: &str) -> Namespace<'a> {
    let space = plane.namespace(prefix);
    let name = space.name();
    for (plural, workload, size) in SIZES {
        plane.apply(&match plural {
            "statefulsets" => objects::statefulset(name, workload, size),
            _ => objects::deployment(name, workload, size),
        });
    }
    plane.apply(&objects::cronjob(name, "nightly"));
    plane.apply(&objects::cronjob(name, "paused").with("/spec/suspend", json!(true)));
    plane.apply(&objects::pvc(name, "scratch"));
    plane.apply(&objects::pod(name, "tool"));
    plane.wait_until(&space.path("api/v1", "pods/tool"), SOON, |pod| {
        pod["status"]["phase"] == "Running"
    });
    kzero_at(plane, &space).run_with(["up"]).assert_code(0);
    // Nothing remembered, an `up` had to take it for parked.
    let idle = space.path("apis/apps/v1", "deployments/idle");
    plane.patch(&idle, &json!({"spec": {"replicas": 0}}));
    space
}

fn kzero_at(plane: &ControlPlane, space: &Namespace<'_>) -> Kzero {
    furnished(kzero(plane, space), space)
}

/// What people care about in the namespace.
fn state(plane: &ControlPlane, space: &Namespace<'_>) -> Value {
    let at = |group: &str, rest: &str| plane.get(&space.path(group, rest)).unwrap_or_default();
    let sizes: Vec<Value> = SIZES
        .iter()
        .map(|(plural, name, _)| {
            let found = at("apis/apps/v1", &format!("{plural}/{name}"));
            json!([name, found["spec"]["replicas"]])
        })
        .collect();
    let suspended =
        |name: &str| at("apis/batch/v1", &format!("cronjobs/{name}"))["spec"]["suspend"].clone();
    json!({
        "sizes": sizes,
        "suspended": [suspended("nightly"), suspended("paused")],
        "job": at("apis/batch/v1", "jobs/warm")["metadata"]["name"],
        "claim": at("api/v1", "persistentvolumeclaims/scratch")["metadata"]["name"],
        "release": at("api/v1", "configmaps/shop")["data"],
        "leases": plane.list(&space.path("apis/coordination.k8s.io/v1", "leases")).len(),
    })
}

/// Whether the memory of the profile holds anything.
fn remembers(plane: &ControlPlane, space: &Namespace<'_>) -> bool {
    plane
        .get(&space.path("api/v1", "configmaps/kzero-kzero"))
        .is_some()
}

/// How a run ends too early.
#[derive(Clone, Copy, Debug)]
enum Death {
    /// When its n-th write has had its effect.
    Write(usize),
    /// When its journal has so many bytes: in the midst of a line.
    Byte(usize),
}

/// How it is gone on with.
#[derive(Clone, Copy, Debug)]
enum After {
    Resume,
    Again,
}

/// Kills a run and goes on. Whether it died, and whether it had forgotten by then what it woke.
fn dies(
    plane: &ControlPlane,
    space: &Namespace<'_>,
    command: &str,
    death: Death,
    after: After,
) -> (bool, bool) {
    let next = match after {
        After::Resume => "resume",
        After::Again => command,
    };
    match death {
        Death::Write(n) => {
            let proxy = FaultProxy::for_kubeconfig(plane.own_kubeconfig());
            proxy.add(Rule::new(Fault::HoldAnswer).writes().nth(n));
            let place = furnished(through(&proxy, space), space);
            let running = place.spawn_with([command]);
            until("the write or the end", || {
                running.has_ended() || proxy.held() > 0
            });
            let died = proxy.held() > 0;
            if died {
                running.kill9();
            }
            drop(running.wait());
            proxy.clear();
            let forgotten = died && !remembers(plane, space);
            if died {
                goes_on(|word| place.run_with([word]), next, command);
            }
            (died, forgotten)
        }
        Death::Byte(bytes) => {
            let limited = Kzero::new("/usr/bin/prlimit")
                .args([&format!("--fsize={bytes}"), "--core=0", "--"])
                .arg(env!("CARGO_BIN_EXE_kzero"));
            let path = plane.kubeconfig_for(limited.dir(), space.name());
            let limited = furnished(limited.kubeconfig(path), space);
            let outcome = limited.run_with([command]);
            assert!(outcome.signal.is_some(), "{bytes} bytes: {outcome:?}");
            let forgotten = !remembers(plane, space);
            let again = kzero(plane, space)
                .env("KZERO_STATE_DIR", limited.path(".local/state/kzero"))
                .arg("-C")
                .arg(limited.dir());
            goes_on(|word| again.run_with([word]), next, command);
            (true, forgotten)
        }
    }
}

/// What died before its journal was begun had done nothing, and is begun anew.
fn goes_on(run: impl Fn(&str) -> Outcome, next: &str, command: &str) {
    let outcome = run(next);
    outcome.assert_code(0);
    if outcome.stdout.contains("nothing to resume: no run") {
        run(command).assert_code(0);
    }
}

fn newest_journal(state: &Path) -> String {
    let mut found = Vec::new();
    for cluster in std::fs::read_dir(state).unwrap() {
        for profile in std::fs::read_dir(cluster.unwrap().path()).unwrap() {
            for file in std::fs::read_dir(profile.unwrap().path()).unwrap() {
                let path = file.unwrap().path();
                if path.extension().is_some_and(|it| it == "jsonl") {
                    found.push(path);
                }
            }
        }
    }
    found.sort();
    std::fs::read_to_string(found.last().unwrap()).unwrap()
}

/// How the environment is before, in and after a night, and how long each line of the journals of `down` and `up` is.
struct Calm {
    parked: Value,
    woken: Value,
    ends: [Vec<usize>; 2],
}

fn calm(plane: &ControlPlane) -> Calm {
    let space = evening(plane, "calm");
    let awake = state(plane, &space);
    let run = |command| {
        let place = kzero_at(plane, &space);
        place.run_with([command]).assert_code(0);
        let text = newest_journal(&place.path(".local/state/kzero"));
        let ends: Vec<usize> = text.match_indices('\n').map(|(at, _)| at).collect();
        (state(plane, &space), ends)
    };
    let (parked, down) = run("down");
    assert!(remembers(plane, &space));
    let (woken, up) = run("up");
    assert_eq!(woken["sizes"], awake["sizes"]);
    assert_eq!(woken["suspended"], awake["suspended"]);
    assert!(!remembers(plane, &space));
    Calm {
        parked,
        woken,
        ends: [down, up],
    }
}

/// A night with a death in it, and the morning after; `false` if the command ended before.
fn night(plane: &ControlPlane, calm: &Calm, command: &str, death: Death, after: After) -> bool {
    let space = evening(plane, "night");
    if command == "up" {
        kzero_at(plane, &space).run_with(["down"]).assert_code(0);
    }
    let (died, forgotten) = dies(plane, &space, command, death, after);
    let mut woken = calm.woken.clone();
    if command == "up" && forgotten && matches!(after, After::Again) {
        // All was done: this was a second `up`, to which a size of 0 without memory is a parked one (S-D.12).
        woken["sizes"][2][1] = json!(1);
    }
    if command == "down" {
        assert_eq!(state(plane, &space), calm.parked, "{death:?} {after:?}");
        kzero_at(plane, &space).run_with(["up"]).assert_code(0);
    }
    assert_eq!(state(plane, &space), woken, "{death:?} {after:?}");
    assert!(!remembers(plane, &space), "{death:?} {after:?}");
    died
}

/// The points of death: all of them in the long lane, some otherwise.
fn points() -> impl Iterator<Item = usize> {
    (1..).step_by(if is_long() { 1 } else { 5 })
}

/// Deaths at writes of a command, until it has no more.
fn at_writes(command: &str, after: After) {
    let plane = ControlPlane::attach();
    let calm = calm(&plane);
    for n in points() {
        if !night(&plane, &calm, command, Death::Write(n), after) {
            assert!(n > 10, "only {n} writes");
            return;
        }
    }
}

/// Deaths at lines of the journal of a command, gone on with in turns, and in the long lane in both ways.
fn at_lines(command: &str) {
    let plane = ControlPlane::attach();
    let calm = calm(&plane);
    let ends = &calm.ends[usize::from(command == "up")];
    assert!(ends.len() > 25, "{ends:?}");
    for n in points().take_while(|n| *n < ends.len()) {
        // Names and ids have the same length in all runs but for a digit or two.
        let death = Death::Byte(ends[n] - 10);
        let ways = [After::Resume, After::Again];
        let only = (!is_long()).then_some(n % 2);
        for (way, after) in ways.into_iter().enumerate() {
            if only.is_none_or(|only| only == way) {
                assert!(night(&plane, &calm, command, death, after));
            }
        }
    }
}

#[test]
fn a_down_killed_at_any_write_is_resumed() {
    at_writes("down", After::Resume);
}

#[test]
fn a_down_killed_at_any_write_is_run_again() {
    at_writes("down", After::Again);
}

#[test]
fn an_up_killed_at_any_write_is_resumed() {
    at_writes("up", After::Resume);
}

#[test]
fn an_up_killed_at_any_write_is_run_again() {
    at_writes("up", After::Again);
}

#[test]
fn a_down_killed_at_any_line_of_its_journal_is_gone_on_with() {
    at_lines("down");
}

#[test]
fn an_up_killed_at_any_line_of_its_journal_is_gone_on_with() {
    at_lines("up");
}
