//! kzero at work, for people to look at: park an environment and wake it again.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};
use clap::Args;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::shell::{self, cargo, cluster_script, command, root, target_dir};

/// How to show it.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Keep the folder with the profile, and say where it is.
    #[arg(long)]
    keep: bool,
}

/// A cluster that is taken down when this is dropped, come what may.
struct Cluster {
    dir: PathBuf,
}

impl Drop for Cluster {
    fn drop(&mut self) {
        shell::clean_up(command(cluster_script()).arg("down").arg(&self.dir));
    }
}

/// Shows analyze, down, analyze and up on the sample profile, and checks what they leave.
pub(crate) fn run(options: &Options) -> Result<()> {
    say("building kzero");
    shell::run(cargo().args(["build", "--quiet", "-p", "kzero"]))?;
    say("the programs of the control plane (built from source the first time, about 10 minutes)");
    let programs = shell::read(command(cluster_script()).arg("build"))?;
    let kubectl = programs
        .lines()
        .find(|line| line.ends_with("/kubectl"))
        .context("cluster.sh build names no kubectl")?
        .to_owned();

    let temporary = TempDir::with_prefix("kzero-demo-")?;
    let work = temporary.path().join("work");
    write_profile(&work)?;
    let bin = temporary.path().join("bin");
    fs::create_dir(&bin)?;
    let kzero = target_dir().join("debug/kzero");
    for (program, name) in [(kzero.as_path(), "kzero"), (Path::new(&kubectl), "kubectl")] {
        let program = std::path::absolute(program)?;
        std::os::unix::fs::symlink(&program, bin.join(name))
            .with_context(|| program.display().to_string())?;
    }

    say("starting a cluster that is thrown away afterwards");
    let cluster = Cluster {
        dir: temporary.path().join("cluster"),
    };
    // Only the address of the kubeconfig comes from this; the rest is told by the script itself.
    shell::read(command(cluster_script()).arg("up").arg(&cluster.dir))?;
    let scene = Scene {
        work: work.clone(),
        bin,
        kubeconfig: cluster.dir.join("kubeconfig"),
    };
    let played = scene.play();
    drop(cluster);
    if options.keep {
        println!("kept: {}", temporary.keep().join("work").display());
    }
    played?;
    say("done; the cluster is gone");
    Ok(())
}

fn say(text: &str) {
    println!("\n== {text}");
}

/// Where the commands run.
struct Scene {
    work: PathBuf,
    bin: PathBuf,
    kubeconfig: PathBuf,
}

/// What the demo parks, and how many pods each has when it is awake.
const WORKLOADS: &[(&str, &str, &str, u32)] = &[
    ("Deployment", "app", "consumer", 2),
    ("Deployment", "app", "producer", 1),
    ("Deployment", "app", "api", 2),
    ("StatefulSet", "database", "postgresql", 1),
];

impl Scene {
    fn play(&self) -> Result<()> {
        say("an application (namespace app) and its database (namespace database)");
        shell::feed(
            self.command("kubectl").args(["apply", "-f", "-"]),
            &objects().to_string(),
        )?;
        for (kind, namespace, name, _) in WORKLOADS {
            let workload = format!("{kind}/{name}");
            let mut wait = self.command("kubectl");
            wait.args([
                "-n",
                namespace,
                "rollout",
                "status",
                "--timeout=60s",
                &workload,
            ]);
            shell::read(&mut wait)?;
        }
        self.look()?;
        self.kzero("analyze")?;
        self.kzero("down")?;
        self.look()?;
        self.check("down", |_| 0, true)?;
        self.kzero("analyze")?;
        self.kzero("up")?;
        self.look()?;
        self.check("up", |awake| awake, false)
    }

    fn command(&self, program: &str) -> Command {
        let mut command = command(self.bin.join(program));
        let path = std::env::var_os("PATH").unwrap_or_default();
        let mut path: Vec<PathBuf> = std::env::split_paths(&path).collect();
        path.insert(0, self.bin.clone());
        if let Ok(path) = std::env::join_paths(path) {
            command.env("PATH", path);
        }
        // What a developer has set for kzero is not meant for the demo.
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("KZERO_") {
                command.env_remove(name);
            }
        }
        command
            .current_dir(&self.work)
            .env("KUBECONFIG", &self.kubeconfig);
        command
    }

    fn kzero(&self, task: &str) -> Result<()> {
        say(&format!("$ kzero {task}"));
        shell::run(self.command("kzero").arg(task))
    }

    fn look(&self) -> Result<()> {
        say("$ kubectl get deployments,statefulsets,cronjobs -A");
        shell::run(
            self.command("kubectl")
                .args(["get", "deployments,statefulsets,cronjobs", "-A"]),
        )
    }

    /// Compares the cluster with what a command should have made of it.
    fn check(&self, task: &str, size: impl Fn(u32) -> u32, suspended: bool) -> Result<()> {
        for (kind, namespace, name, awake) in WORKLOADS {
            let object = self.get(namespace, kind, name)?;
            let found = object["spec"]["replicas"].as_u64();
            if found != Some(u64::from(size(*awake))) {
                bail!("after {task}: {kind} {namespace}/{name} has {found:?} replicas");
            }
        }
        let object = self.get("app", "CronJob", "nightly-report")?;
        if object["spec"]["suspend"] != suspended {
            bail!(
                "after {task}: the CronJob app/nightly-report has suspend {}",
                object["spec"]["suspend"]
            );
        }
        Ok(())
    }

    fn get(&self, namespace: &str, kind: &str, name: &str) -> Result<Value> {
        let mut get = self.command("kubectl");
        get.args(["-n", namespace, "get", kind, name, "-o", "json"]);
        let text = shell::read(&mut get)?;
        serde_json::from_str(&text).with_context(|| format!("{kind} {namespace}/{name}"))
    }
}

/// Puts the sample profile and the hooks into `work`, in live mode.
fn write_profile(work: &Path) -> Result<()> {
    let sample = root().join("configs/kzero.sample.yml");
    let text = fs::read_to_string(&sample).with_context(|| sample.display().to_string())?;
    let live = text.replacen("mode: dry-run", "mode: live", 1);
    if live == text {
        bail!("{}: no `mode: dry-run` to make live", sample.display());
    }
    fs::create_dir_all(work.join("hooks"))?;
    fs::write(work.join("kzero.yaml"), live)?;
    let hooks = root().join("hooks");
    for entry in fs::read_dir(&hooks).with_context(|| hooks.display().to_string())? {
        let entry = entry?;
        if entry.path().is_file() {
            // Keeps the right to be run.
            fs::copy(entry.path(), work.join("hooks").join(entry.file_name()))?;
        }
    }
    Ok(())
}

fn objects() -> Value {
    let namespace =
        |name: &str| json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
    let template = |name: &str, restart: &str| {
        json!({
            "metadata": {"labels": {"app": name}},
            "spec": {
                "restartPolicy": restart,
                "containers": [{"name": "main", "image": format!("registry.example/{name}:1")}],
            },
        })
    };
    let mut items = vec![namespace("app"), namespace("database")];
    for (kind, namespace, name, replicas) in WORKLOADS {
        let mut item = json!({
            "apiVersion": "apps/v1",
            "kind": kind,
            "metadata": {"namespace": namespace, "name": name},
            "spec": {
                "replicas": replicas,
                "selector": {"matchLabels": {"app": name}},
                "template": template(name, "Always"),
            },
        });
        if *kind == "StatefulSet" {
            item["spec"]["serviceName"] = (*name).into();
        }
        items.push(item);
    }
    items.push(json!({
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"namespace": "app", "name": "nightly-report"},
        "spec": {
            "schedule": "0 3 * * *",
            "jobTemplate": {"spec": {"template": template("nightly-report", "Never")}},
        },
    }));
    json!({"apiVersion": "v1", "kind": "List", "items": items})
}
