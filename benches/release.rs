//! Releases of many objects: kzero against Helm 3, Helm 4 and the floor, on one cluster in one run.
//! `cargo xtask bench release` starts the control plane and runs it.
//!
//! The floor is a bare client on sixteen connections that sends the requests for the objects and nothing else; `same` sends the requests for
//! server, Lease and records as well, as kzero has to. Machines are noisy, so
//! nothing here passes or fails: medians of alternating runs are printed beside the targets. The peers are named by
//! `KZERO_TEST_HELM3` and `KZERO_TEST_HELM4`, as for the tests. `KZERO_BENCH_ROUNDS` is the number of rounds (default 3);
//! `KZERO_BENCH_OBJECTS` the numbers of objects (default `30,300,2000`).
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark drives processes and prints what it saw"
)]

mod measure;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use futures::StreamExt;
use kzero_testkit::{BareClient, ControlPlane, Namespace};
use measure::{measure, median, peer, ratio, rounds};
use serde_json::{Value, json};

/// Connections of the floor, as many as kzero has requests under way.
const CONNECTIONS: usize = 16;
/// Helm 3.22 opens a request for each object at once and fails at this many.
const TOO_MANY: usize = 2000;

const STEPS: [&str; 5] = [
    "install",
    "no change",
    "one change",
    "all change",
    "uninstall",
];

/// Times and memory by step and program.
type Seen = BTreeMap<(usize, String), (Vec<Duration>, Vec<u64>)>;

fn main() {
    if measure::is_measurer() {
        return;
    }
    let kzero = PathBuf::from(env!("CARGO_BIN_EXE_kzero"));
    let plane = ControlPlane::attach();
    let folder = tempfile::tempdir().unwrap();
    let helms = [
        ("helm 3", peer("KZERO_TEST_HELM3", "helm3")),
        ("helm 4", peer("KZERO_TEST_HELM4", "helm4")),
    ];
    let objects = std::env::var("KZERO_BENCH_OBJECTS").unwrap_or_else(|_| "30,300,2000".to_owned());
    for count in objects.split(',').map(|count| count.parse().unwrap()) {
        compare(&kzero, &helms, &plane, folder.path(), count);
    }
}

/// A chart of so many ConfigMaps; `first` is the colour of the first one.
fn write_chart(folder: &Path, namespace: &str) {
    let chart = folder.join("charts/many");
    std::fs::create_dir_all(chart.join("templates")).unwrap();
    std::fs::write(
        chart.join("Chart.yaml"),
        "apiVersion: v2\nname: many\nversion: 0.1.0\n",
    )
    .unwrap();
    let template = "{{- range until (int .Values.count) }}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: map-{{ . }}}\ndata: {color: {{ if eq . 0 }}{{ $.Values.first }}{{ else }}{{ $.Values.color }}{{ end }}, padding: {{ repeat 200 \"x\" }}}\n{{- end }}\n";
    std::fs::write(chart.join("templates/maps.yaml"), template).unwrap();
    std::fs::write(
        folder.join("kzero.yaml"),
        format!("schema_version: \"1.0\"\nrun: {{mode: live}}\nhelm: {{workspace: charts}}\npipelines:\n  down: [release.{namespace}/many]\n  up: [release.{namespace}/many]\n"),
    )
    .unwrap();
}

/// Colours of all objects but the first, and of the first, at each step.
fn colors(step: &str) -> (&'static str, &'static str) {
    match step {
        "install" | "no change" => ("red", "red"),
        "one change" => ("red", "blue"),
        _ => ("green", "green"),
    }
}

fn compare(
    kzero: &Path,
    helms: &[(&str, Option<PathBuf>)],
    plane: &ControlPlane,
    folder: &Path,
    count: usize,
) {
    let mut seen = Seen::new();
    for _ in 0..rounds(3) {
        for (number, step, wall) in floors(plane, count) {
            let row = seen.entry((number, step)).or_default();
            row.0.push(wall);
            row.1.push(0);
        }
        let space = plane.namespace("bench");
        let kubeconfig = plane.kubeconfig_for(folder, space.name());
        write_chart(folder, space.name());
        for (number, step) in STEPS.iter().enumerate() {
            let (color, first) = colors(step);
            std::fs::write(
                folder.join("charts/many.yaml"),
                format!("chart: ./many\nwait: false\nvalues: {{count: {count}, color: {color}, first: {first}}}\n"),
            )
            .unwrap();
            let mut command = Command::new(kzero);
            command.arg(if *step == "uninstall" { "down" } else { "up" });
            command.current_dir(folder).env("KUBECONFIG", &kubeconfig);
            let (wall, memory) = measure(&command);
            let row = seen.entry((number, "kzero".to_owned())).or_default();
            row.0.push(wall);
            row.1.push(memory);
        }
        for (name, helm) in helms {
            let Some(helm) = helm
                .as_ref()
                .filter(|_| *name != "helm 3" || count < TOO_MANY)
            else {
                continue;
            };
            let space = plane.namespace("bench");
            let kubeconfig = plane.kubeconfig_for(folder, space.name());
            for (number, step) in STEPS.iter().enumerate() {
                let (color, first) = colors(step);
                let mut command = Command::new(helm);
                match *step {
                    "install" => command.args(["install", "many", "charts/many"]),
                    "uninstall" => command.args(["uninstall", "many", "--wait"]),
                    _ => command.args(["upgrade", "many", "charts/many"]),
                };
                if *step != "uninstall" {
                    command
                        .arg("--set")
                        .arg(format!("count={count},color={color},first={first}"));
                }
                command
                    .args(["-n", space.name()])
                    .current_dir(folder)
                    .env("KUBECONFIG", &kubeconfig);
                let (wall, memory) = measure(&command);
                let row = seen.entry((number, (*name).to_owned())).or_default();
                row.0.push(wall);
                row.1.push(memory);
            }
        }
    }
    print_table(count, &mut seen);
}

fn print_table(count: usize, seen: &mut Seen) {
    println!("\n{count} ConfigMaps, medians (targets: <= 1.3 x the floor, <= 60 MiB at 2000)");
    for (number, step) in STEPS.iter().enumerate() {
        let mut figures: BTreeMap<String, (Duration, u64)> = BTreeMap::new();
        for ((at, name), (walls, memories)) in seen.iter_mut() {
            if *at == number {
                figures.insert(name.clone(), (median(walls), median(memories)));
            }
        }
        let nanos = |wall: Duration| u64::try_from(wall.as_nanos()).unwrap();
        let floor = figures["floor"].0;
        for (name, (wall, memory)) in &figures {
            let against = if ["floor", "same"].contains(&name.as_str()) {
                String::new()
            } else {
                format!(
                    "{:6.2} x the floor, {:6.2} x the same requests, {:3} MiB",
                    ratio(nanos(*wall), nanos(floor)),
                    ratio(nanos(*wall), nanos(figures["same"].0)),
                    memory / 1024
                )
            };
            println!(
                "  {step:<11} {name:<7} {:8.1} ms  {against}",
                wall.as_secs_f64() * 1000.0
            );
        }
    }
}

/// A request: method, path, body.
type Request = (&'static str, String, String);

/// Bare clients that know what to send: `floor` sends the requests for the objects, a list and the writes; `same` sends all that kzero does,
/// what is to know of the server, the Lease and the records around them, each when the one that it depends on was answered.
fn floors(plane: &ControlPlane, count: usize) -> Vec<(usize, String, Duration)> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let mut found = Vec::new();
    for name in ["floor", "same"] {
        let space = plane.namespace("floor");
        for (number, step) in STEPS.iter().enumerate() {
            let mut stages = objects(&space, step, count);
            if name == "same" {
                stages = with_records(&space, number, step, stages, count);
            }
            let begin = Instant::now();
            runtime.block_on(async {
                let connect = || BareClient::new(plane.own_kubeconfig());
                let mut clients: Vec<_> = (0..CONNECTIONS).map(|_| connect()).collect();
                for stage in stages {
                    send(&mut clients, stage).await;
                }
            });
            found.push((number, name.to_owned(), begin.elapsed()));
        }
    }
    found
}

/// A list of what is there, and the writes.
fn objects(space: &Namespace<'_>, step: &str, count: usize) -> Vec<Vec<Request>> {
    let base = space.path("api/v1", "configmaps");
    let map = |n: usize, color: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": format!("map-{n}")}, "data": {"color": color, "padding": "x".repeat(200)}});
    let patch = |color: &str| json!({"data": {"color": color}}).to_string();
    let one =
        |n: usize, method: &'static str, body: String| (method, format!("{base}/map-{n}"), body);
    let writes = match step {
        "install" => (0..count)
            .map(|n| ("POST", base.clone(), map(n, "red").to_string()))
            .collect(),
        "no change" => Vec::new(),
        "one change" => vec![one(0, "PATCH", patch("blue"))],
        "all change" => (0..count)
            .map(|n| one(n, "PATCH", patch("green")))
            .collect(),
        _ => (0..count)
            .map(|n| one(n, "DELETE", String::new()))
            .collect(),
    };
    vec![
        vec![("GET", format!("{base}?limit=500"), String::new())],
        writes,
    ]
}

/// The same between what kzero asks and writes before and after.
fn with_records(
    space: &Namespace<'_>,
    number: usize,
    step: &str,
    objects: Vec<Vec<Request>>,
    count: usize,
) -> Vec<Vec<Request>> {
    let get = |path: String| ("GET", path, String::new());
    let lease = space.path("apis/coordination.k8s.io/v1", "leases");
    let secrets = space.path("api/v1", "secrets");
    let record = |revision: usize| {
        // What a record of so many of these objects weighs, compressed.
        let payload = "QUJD".repeat(500 + 4 * count);
        let name = format!("sh.helm.release.v1.many.v{revision}");
        let body = json!({"apiVersion": "v1", "kind": "Secret", "type": "helm.sh/release.v1", "metadata": {"name": name}, "data": {"release": payload}});
        (format!("{secrets}/{name}"), body.to_string())
    };
    let put = |revision: usize| {
        let (path, body) = record(revision);
        vec![("PUT", path, body)]
    };
    let mut stages = vec![
        vec![get("/version".into()), get("/api".into()), get("/apis".into())],
        vec![get(format!("/api/v1/namespaces/{space}"))],
        vec![("POST", lease.clone(), json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "kzero-release-many"}, "spec": {"holderIdentity": "a", "leaseDurationSeconds": 30}}).to_string())],
        vec![get(format!("{secrets}?labelSelector=owner%3Dhelm&limit=20"))],
    ];
    let mut objects = objects.into_iter();
    stages.extend(objects.next());
    let revision = number + 1;
    if step == "uninstall" {
        stages.push(put(number));
        stages.extend(objects);
        stages.extend(
            (1..=number).map(|revision| vec![("DELETE", record(revision).0, String::new())]),
        );
    } else {
        stages.push(vec![("POST", secrets.clone(), record(revision).1)]);
        stages.extend(objects);
        stages.push(put(revision));
        if number > 0 {
            stages.push(put(number));
        }
    }
    stages.push(vec![(
        "DELETE",
        format!("{lease}/kzero-release-many"),
        String::new(),
    )]);
    stages
}

async fn send(clients: &mut [BareClient], requests: Vec<Request>) {
    let queue = std::cell::RefCell::new(requests.into_iter());
    futures::stream::iter(clients)
        .for_each_concurrent(None, |client| async {
            loop {
                let next = queue.borrow_mut().next();
                let Some((method, path, body)) = next else {
                    return;
                };
                let kind = if method == "PATCH" {
                    "application/strategic-merge-patch+json"
                } else {
                    "application/json"
                };
                let (code, answer): (u16, Value) =
                    client.send(method, &path, kind, body).await.unwrap();
                assert!(code < 300, "{method} {path}: {code} {answer}");
            }
        })
        .await;
}
