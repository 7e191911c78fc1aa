//! Releases of many objects: kzero against Helm 3, Helm 4 and the floor, on one cluster in one run.
//! `cargo xtask bench release` starts the control plane and runs it.
//!
//! The floor is a bare client on sixteen connections that sends the same writes and nothing else. Machines are noisy, so
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
use kzero_testkit::{BareClient, ControlPlane};
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
        for (number, step, wall) in floor(plane, count) {
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
            let against = if name == "floor" {
                String::new()
            } else {
                format!(
                    "{:6.2} x the floor, {:3} MiB",
                    ratio(nanos(*wall), nanos(floor)),
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

/// The same writes, and the reads that they cannot be without, by clients that know what to send.
fn floor(plane: &ControlPlane, count: usize) -> Vec<(usize, String, Duration)> {
    let space = plane.namespace("floor");
    let base = space.path("api/v1", "configmaps");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let kubeconfig = plane.own_kubeconfig();
    let map = |n: usize, color: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": format!("map-{n}")}, "data": {"color": color, "padding": "x".repeat(200)}});
    let patch = |color: &str| json!({"data": {"color": color}}).to_string();
    let mut found = Vec::new();
    for (number, step) in STEPS.iter().enumerate() {
        let one = |n: usize, method: &'static str, body: String| {
            (method, format!("{base}/map-{n}"), body)
        };
        let list = vec![("GET", format!("{base}?limit=500"), String::new())];
        let (reads, writes): (Vec<_>, Vec<_>) = match *step {
            "install" => (
                list,
                (0..count)
                    .map(|n| ("POST", base.clone(), map(n, "red").to_string()))
                    .collect(),
            ),
            "no change" => (list, Vec::new()),
            "one change" => (list, vec![one(0, "PATCH", patch("blue"))]),
            "all change" => (
                list,
                (0..count)
                    .map(|n| one(n, "PATCH", patch("green")))
                    .collect(),
            ),
            _ => (
                list,
                (0..count)
                    .map(|n| one(n, "DELETE", String::new()))
                    .collect(),
            ),
        };
        let begin = Instant::now();
        runtime.block_on(async {
            send(kubeconfig, reads).await;
            send(kubeconfig, writes).await;
        });
        found.push((number, "floor".to_owned(), begin.elapsed()));
    }
    found
}

async fn send(kubeconfig: &Path, requests: Vec<(&'static str, String, String)>) {
    let queue = std::cell::RefCell::new(requests.into_iter());
    futures::stream::iter(0..CONNECTIONS)
        .for_each_concurrent(None, |_| async {
            let mut client = BareClient::new(kubeconfig);
            loop {
                let next = queue.borrow_mut().next();
                let Some((method, path, body)) = next else {
                    return;
                };
                let kind = if method == "PATCH" {
                    "application/merge-patch+json"
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
