//! Start-up, a scale step, and 200 Deployments: kzero against Helm, kubectl and the floor, in
//! one run, as ratios. `cargo xtask bench` starts the control plane and runs it.
//!
//! Machines are noisy, so nothing here passes or fails: medians of alternating runs are printed
//! beside the targets. `KZERO_BENCH_HELM` and `KZERO_BENCH_KUBECTL` name the peers (default:
//! `helm` and `kubectl` on PATH; an absent one is said and left out).
//! `KZERO_BENCH_ROUNDS` is the number of rounds (default 5 for start-up, 3 for 200 Deployments).
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark drives processes and prints what it saw"
)]

mod measure;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use kzero_testkit::{BareClient, ControlPlane, objects};
use measure::{measure, median, peer, ratio, rounds};

/// How many Deployments the long comparison has.
const MANY: usize = 200;

fn main() {
    if measure::is_measurer() {
        return;
    }
    let kzero = PathBuf::from(env!("CARGO_BIN_EXE_kzero"));
    let plane = ControlPlane::attach();
    let folder = tempfile::tempdir().unwrap();
    let peers = Peers::find();
    println!("kzero: {} ({:.1} MiB)", kzero.display(), size(&kzero));
    start_up(&kzero, &peers, &plane, folder.path());
    let namespace = plane.namespace("bench");
    one_step(&kzero, &peers, &plane, namespace.name(), folder.path());
    many(&kzero, &peers, &plane, namespace.name(), folder.path());
}

#[expect(clippy::cast_precision_loss, reason = "for people to read")]
fn size(path: &Path) -> f64 {
    path.metadata().unwrap().len() as f64 / f64::from(1 << 20)
}

struct Peers {
    helm: Option<PathBuf>,
    kubectl: Option<PathBuf>,
}

impl Peers {
    fn find() -> Self {
        Self {
            helm: peer("KZERO_BENCH_HELM", "helm"),
            kubectl: peer("KZERO_BENCH_KUBECTL", "kubectl"),
        }
    }
}

/// Rows of name, wall and memory; the runs of all commands alternate.
fn start_up(kzero: &Path, peers: &Peers, plane: &ControlPlane, folder: &Path) {
    std::fs::write(
        folder.join("kzero.yaml"),
        "schema_version: \"1.0\"\nrun: {mode: dry-run}\npipelines:\n  down:\n    - custom: ./x.sh\n",
    )
    .unwrap();
    std::fs::write(folder.join("x.sh"), "true\n").unwrap();
    let kubeconfig = plane.kubeconfig(folder);
    let mut rows: Vec<(&str, Command)> = Vec::new();
    let mut add = |name, program: &Path, arguments: &[&str], cluster: bool| {
        let mut command = Command::new(program);
        command.args(arguments).current_dir(folder);
        command.env(
            "KUBECONFIG",
            if cluster {
                kubeconfig.as_path()
            } else {
                Path::new("/none")
            },
        );
        rows.push((name, command));
    };
    add("kzero version", kzero, &["version"], false);
    add("kzero analyze (no cluster)", kzero, &["analyze"], false);
    add("kzero analyze (cluster)", kzero, &["analyze"], true);
    if let Some(helm) = &peers.helm {
        add("helm version", helm, &["version"], false);
    }
    if let Some(kubectl) = &peers.kubectl {
        add(
            "kubectl version --client",
            kubectl,
            &["version", "--client"],
            false,
        );
        add("kubectl version (cluster)", kubectl, &["version"], true);
    }
    let mut seen: Vec<(Vec<Duration>, Vec<u64>)> = vec![Default::default(); rows.len()];
    for round in 0..=rounds(15) {
        for ((_, command), seen) in rows.iter().zip(&mut seen) {
            let (wall, memory) = measure(command);
            // The first round only warms the caches.
            if round > 0 {
                seen.0.push(wall);
                seen.1.push(memory);
            }
        }
    }
    println!("\nstart-up, medians (targets: wall <= 1/8 of helm's, memory <= 1/4)");
    let figures: Vec<(Duration, u64)> = seen
        .iter_mut()
        .map(|(wall, memory)| (median(wall), median(memory)))
        .collect();
    let helm = rows.iter().position(|(name, _)| *name == "helm version");
    for ((name, _), (wall, memory)) in rows.iter().zip(&figures) {
        let against = helm.map(|helm| {
            let (helm_wall, helm_memory) = figures[helm];
            format!(
                "   1/{:.1} of helm's wall, 1/{:.1} of its memory",
                helm_wall.as_secs_f64() / wall.as_secs_f64(),
                ratio(helm_memory, *memory)
            )
        });
        println!(
            "  {name:<28} {:>8.1} ms {:>7.1} MiB{}",
            wall.as_secs_f64() * 1e3,
            ratio(*memory, 1024),
            against.unwrap_or_default()
        );
    }
}

fn scale_path(namespace: &str, name: &str) -> String {
    format!("/apis/apps/v1/namespaces/{namespace}/deployments/{name}/scale")
}

/// Sends the GET and the PATCH of each scale, one after another, on one connection.
fn floor(kubeconfig: &Path, paths: &[String], replicas: u32) -> Duration {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let begin = Instant::now();
    runtime.block_on(async {
        let mut client = BareClient::new(kubeconfig);
        for path in paths {
            // A controller may write between reading and writing; whoever scales then reads
            // again, the floor too.
            let mut code = 409;
            while code == 409 {
                code = client.scale(path, replicas).await.unwrap();
            }
            assert_eq!(code, 200, "{path}");
        }
    });
    begin.elapsed()
}

fn timed(command: &mut Command) -> Duration {
    let begin = Instant::now();
    let output = command.stdin(Stdio::null()).output().unwrap();
    assert!(
        output.status.success(),
        "{command:?}\n{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    begin.elapsed()
}

fn profile(folder: &Path, namespace: &str, names: &[String]) {
    use std::fmt::Write as _;
    let mut text = "schema_version: \"1.0\"\nrun: {mode: live}\npipelines:\n  down:\n".to_owned();
    for name in names {
        writeln!(text, "    - deployment.{namespace}/{name}").unwrap();
    }
    text.push_str("  up:\n");
    for name in names {
        writeln!(text, "    - deployment.{namespace}/{name}: {{replicas: 1}}").unwrap();
    }
    std::fs::write(folder.join("kzero.yaml"), text).unwrap();
}

/// One scale: whole processes, and the two requests alone.
fn one_step(kzero: &Path, peers: &Peers, plane: &ControlPlane, namespace: &str, folder: &Path) {
    plane.apply(&objects::deployment(namespace, "one", 1));
    profile(folder, namespace, &["one".to_owned()]);
    let kubeconfig = plane.kubeconfig(folder);
    let paths = [scale_path(namespace, "one")];
    let (mut ours, mut theirs, mut bare) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..=rounds(9) {
        for (replicas, command) in [(0, "down"), (1, "up")] {
            let mut run = Command::new(kzero);
            run.arg(command)
                .current_dir(folder)
                .env("KUBECONFIG", &kubeconfig);
            let one = timed(&mut run);
            let two = peers.kubectl.as_ref().map(|kubectl| {
                let mut run = Command::new(kubectl);
                let count = format!("{}", 1 - replicas);
                run.args([
                    "scale",
                    "deployment/one",
                    "-n",
                    namespace,
                    "--replicas",
                    &count,
                ]);
                timed(run.env("KUBECONFIG", &kubeconfig))
            });
            let three = floor(&kubeconfig, &paths, replicas);
            if round > 0 {
                ours.push(one);
                theirs.extend(two);
                bare.push(three);
            }
        }
    }
    let (ours, bare) = (median(&mut ours), median(&mut bare));
    println!("\na scale step, medians (2 requests a step; whole processes with connection)");
    println!("  kzero down|up   {:>8.1} ms", ours.as_secs_f64() * 1e3);
    println!("  floor           {:>8.1} ms", bare.as_secs_f64() * 1e3);
    if !theirs.is_empty() {
        let theirs = median(&mut theirs);
        println!("  kubectl scale   {:>8.1} ms", theirs.as_secs_f64() * 1e3);
    }
}

/// Down and up of 200 Deployments in one run.
fn many(kzero: &Path, peers: &Peers, plane: &ControlPlane, namespace: &str, folder: &Path) {
    let names: Vec<String> = (0..MANY).map(|number| format!("d{number:03}")).collect();
    for name in &names {
        plane.apply(&objects::deployment(namespace, name, 1));
    }
    profile(folder, namespace, &names);
    let kubeconfig = plane.kubeconfig(folder);
    let paths: Vec<String> = names
        .iter()
        .map(|name| scale_path(namespace, name))
        .collect();
    let settle = |replicas: u32| {
        for name in &names {
            let path = format!("/apis/apps/v1/namespaces/{namespace}/deployments/{name}");
            let settled = plane.wait_until(&path, Duration::from_secs(120), |object| {
                object["status"]["readyReplicas"].as_u64().unwrap_or(0) == u64::from(replicas)
                    && object["status"]["replicas"].as_u64().unwrap_or(0) == u64::from(replicas)
            });
            drop(settled);
        }
    };
    let (mut ours, mut bare, mut theirs) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..rounds(3) {
        for (replicas, command) in [(0, "down"), (1, "up")] {
            settle(1 - replicas);
            let mut run = Command::new(kzero);
            run.arg(command)
                .current_dir(folder)
                .env("KUBECONFIG", &kubeconfig);
            ours.push(timed(&mut run));
            settle(replicas);
            floor(&kubeconfig, &paths, 1 - replicas);
            settle(1 - replicas);
            bare.push(floor(&kubeconfig, &paths, replicas));
            if let Some(kubectl) = &peers.kubectl {
                settle(replicas);
                floor(&kubeconfig, &paths, 1 - replicas);
                settle(1 - replicas);
                let begin = Instant::now();
                for name in &names {
                    let mut run = Command::new(kubectl);
                    let count = replicas.to_string();
                    let object = format!("deployment/{name}");
                    run.args(["scale", &object, "-n", namespace, "--replicas", &count]);
                    timed(run.env("KUBECONFIG", &kubeconfig));
                }
                theirs.push(begin.elapsed());
            }
        }
    }
    let (ours, bare) = (median(&mut ours), median(&mut bare));
    println!(
        "\ndown or up of {MANY} Deployments, medians (targets: <= 1.15 x floor, <= 1/2 of kubectl)"
    );
    println!("  floor (GET and PATCH each) {:>8.2} s", bare.as_secs_f64());
    println!(
        "  kzero                      {:>8.2} s   {:.2} x floor",
        ours.as_secs_f64(),
        ours.as_secs_f64() / bare.as_secs_f64()
    );
    if !theirs.is_empty() {
        let theirs = median(&mut theirs);
        println!(
            "  kubectl scale in a loop    {:>8.2} s   kzero takes {:.2} of it",
            theirs.as_secs_f64(),
            ours.as_secs_f64() / theirs.as_secs_f64()
        );
    }
}
