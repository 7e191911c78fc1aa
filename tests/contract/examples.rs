//! What the repository shows to users does what it says: examples/ and hooks/ against a real
//! control plane, and the commands and links of the documents.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use kzero_testkit::{ControlPlane, Kzero, Outcome};
use serde_json::{Value, json};

/// How long simulated pods may take to come or go.
const SOON: Duration = Duration::from_secs(60);

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The folder of the cluster's kubectl, which need not be on the PATH of the tests.
fn kubectl_folder() -> PathBuf {
    #[expect(
        clippy::disallowed_methods,
        reason = "the script that builds the cluster knows where its programs are"
    )]
    let mut script = std::process::Command::new(root().join("tests/cluster/cluster.sh"));
    let output = script.arg("build").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let kubectl = text.lines().find(|line| line.ends_with("/kubectl"));
    let kubectl = Path::new(kubectl.expect("cluster.sh build names kubectl"));
    kubectl.parent().unwrap().to_owned()
}

fn with_kubectl(kzero: Kzero) -> Kzero {
    let own = kzero.path("bin");
    let path = format!(
        "{}:{}:/usr/local/bin:/usr/bin:/bin",
        own.display(),
        kubectl_folder().display()
    );
    kzero.env("PATH", path)
}

/// An example with its objects in place, which go when this is dropped.
struct Example<'a> {
    plane: &'a ControlPlane,
    namespace: &'static str,
    kzero: Kzero,
}

/// A workload: plural, name, size when awake.
type Size = (&'static str, &'static str, u64);

impl<'a> Example<'a> {
    fn new(plane: &'a ControlPlane, folder: &str, namespace: &'static str) -> Self {
        let folder = root().join("examples").join(folder);
        let space = format!("/api/v1/namespaces/{namespace}");
        // A run that was killed may have left it.
        plane.delete(&space);
        plane.wait_until(&space, SOON, Value::is_null);
        let objects = fs::read_to_string(folder.join("objects.yaml")).unwrap();
        plane.apply_yaml(&objects);
        let kzero = with_kubectl(Kzero::new(env!("CARGO_BIN_EXE_kzero")))
            .kubeconfig(plane.own_kubeconfig())
            .args([
                "-C".into(),
                folder.into_os_string(),
                "--log-level=debug".into(),
            ])
            .limit(Duration::from_secs(120));
        Self {
            plane,
            namespace,
            kzero,
        }
    }

    /// The same example, its command changed.
    fn with(mut self, change: impl FnOnce(Kzero) -> Kzero) -> Self {
        let placeholder = Kzero::new("/bin/false");
        self.kzero = change(std::mem::replace(&mut self.kzero, placeholder));
        self
    }

    fn path(&self, plural: &str, name: &str) -> String {
        format!(
            "/apis/apps/v1/namespaces/{}/{plural}/{name}",
            self.namespace
        )
    }

    fn wait_awake(&self, sizes: &[Size]) {
        for (plural, name, size) in sizes {
            self.plane
                .wait_until(&self.path(plural, name), SOON, |found| {
                    found["spec"]["replicas"] == *size && found["status"]["readyReplicas"] == *size
                });
        }
    }

    /// Sizes are 0 now; pods of steps that do not wait may take a moment.
    fn check_parked(&self, sizes: &[Size]) {
        for (plural, name, _) in sizes {
            let object = self.plane.get(&self.path(plural, name)).unwrap();
            assert_eq!(object["spec"]["replicas"], 0, "{name}");
        }
        let pods = format!("/api/v1/namespaces/{}/pods", self.namespace);
        self.plane
            .wait_until(&pods, SOON, |found| found["items"] == json!([]));
    }

    /// Analyze, down, up; returns what down and up said.
    fn play(&self, sizes: &[Size]) -> (Outcome, Outcome) {
        self.wait_awake(sizes);
        let plan = self.kzero.run_with(["analyze"]);
        plan.assert_code(0);
        assert!(!plan.stderr.contains("warning:"), "{}", plan.stderr);
        let down = self.kzero.run_with(["down"]);
        down.assert_code(0);
        self.check_parked(sizes);
        let up = self.kzero.run_with(["up"]);
        up.assert_code(0);
        self.wait_awake(sizes);
        (down, up)
    }
}

impl Drop for Example<'_> {
    fn drop(&mut self) {
        // A failed test's objects may be wanted, and a second panic would hide the first.
        if !std::thread::panicking() {
            self.plane
                .delete(&format!("/api/v1/namespaces/{}", self.namespace));
        }
    }
}

/// The texts in the order in which they are to appear.
fn assert_order(outcome: &Outcome, texts: &[&str]) {
    let mut rest = outcome.stdout.as_str();
    for text in texts {
        let Some(at) = rest.find(text) else {
            panic!("{text:?} is missing or too early:\n{}", outcome.stdout);
        };
        rest = &rest[at + text.len()..];
    }
}

#[test]
fn example_consumer_producer_stops_the_producer_after_the_last_consumer_pod() {
    // S-2.14, S-3.1, S-10.12
    let plane = ControlPlane::attach();
    let example = Example::new(&plane, "consumer-producer", "app");
    let sizes = [
        ("deployments", "producer", 1),
        ("deployments", "consumer", 1),
    ];
    let (down, up) = example.play(&sizes);
    assert_order(
        &down,
        &[
            "scale deployment.app/consumer -> 0 replicas",
            "hook pipeline-down-0-post: ../../hooks/wait-deployment-scale-down.sh",
            "wait: 1 of deployment app/consumer left",
            "wait: no pod of deployment app/consumer is left",
            "hook pipeline-down-1-pre: ./hooks/producer-after-consumer.sh",
            "guard: deployment app/consumer is down",
            "scale deployment.app/producer -> 0 replicas",
        ],
    );
    assert_order(
        &up,
        &[
            "step up[0] deployment.app/producer done",
            "scale deployment.app/consumer -> 1",
        ],
    );
}

#[test]
fn example_consumer_producer_never_touches_the_producer_while_a_consumer_pod_stays() {
    // S-3.5
    let plane = ControlPlane::attach();
    let space = plane.namespace("stays");
    let mut consumer = kzero_testkit::objects::deployment(space.name(), "consumer", 1);
    consumer["spec"]["template"]["metadata"]["finalizers"] = json!(["kzero.test/stays"]);
    plane.apply(&consumer);
    plane.apply(&kzero_testkit::objects::deployment(
        space.name(),
        "producer",
        1,
    ));
    let ready = |name: &str| {
        let path = space.path("apis/apps/v1", &format!("deployments/{name}"));
        plane.wait_until(&path, SOON, |found| found["status"]["readyReplicas"] == 1)
    };
    ready("consumer");
    ready("producer");
    let hook = root().join("hooks/wait-deployment-scale-down.sh");
    let profile = format!(
        "schema_version: \"1.0\"\nrun: {{mode: live}}\npipelines:\n  down:\n    \
         - deployment.{space}/consumer: {{post: {}}}\n    - deployment.{space}/producer\n",
        hook.display()
    );
    let outcome = with_kubectl(Kzero::new(env!("CARGO_BIN_EXE_kzero")))
        .profile(&profile)
        .kubeconfig(plane.own_kubeconfig())
        .env("WAIT_TIMEOUT", "1")
        .args(["down"])
        .run();
    outcome.assert_code(3);
    outcome.assert_stdout("after 1 s these are left of deployment");
    outcome.assert_stdout("finalizers [kzero.test/stays]");
    let producer = plane.get(&space.path("apis/apps/v1", "deployments/producer"));
    assert_eq!(producer.unwrap()["spec"]["replicas"], 1);
    for pod in plane.list(&space.path("api/v1", "pods")) {
        let path = space.path(
            "api/v1",
            &format!("pods/{}", pod["metadata"]["name"].as_str().unwrap()),
        );
        plane.patch(&path, &json!({"metadata": {"finalizers": null}}));
    }
}

#[test]
fn example_database_keeps_its_claim_and_runs_its_job_each_time() {
    // S-2.16, S-2.17
    let plane = ControlPlane::attach();
    let example = Example::new(&plane, "database", "orders");
    let sizes = [("statefulsets", "postgresql", 1), ("deployments", "api", 2)];
    let (down, up) = example.play(&sizes);
    assert_order(
        &down,
        &[
            "step down[0] deployment.orders/api done",
            "before-pg-scale: orders/postgresql is ready to be parked",
            "scale statefulset.orders/postgresql -> 0 replicas",
            "after-pg-scale: claim data-postgresql-0 is still Bound",
        ],
    );
    assert_order(
        &up,
        &[
            "before-pg-scale: claim data-postgresql-0 is Bound",
            "after-pg-scale: orders/postgresql has 1 of 1 pods ready",
            "a shell beside the database says: Linux",
            "step up[2] job.orders/migrate done",
            "step up[3] deployment.orders/api done",
        ],
    );
    let job = plane
        .get("/apis/batch/v1/namespaces/orders/jobs/migrate")
        .unwrap();
    let mode = &job["spec"]["template"]["spec"]["volumes"][0]["configMap"]["defaultMode"];
    assert_eq!(*mode, 0o444);
    // Again: what is up stays up, and the finished Job makes room.
    example.kzero.run_with(["up"]).assert_code(0);
    let again = plane
        .get("/apis/batch/v1/namespaces/orders/jobs/migrate")
        .unwrap();
    assert_ne!(job["metadata"]["uid"], again["metadata"]["uid"]);
}

#[test]
fn example_nightly_needs_no_more_rights_than_its_role_grants() {
    let plane = ControlPlane::attach();
    let example = Example::new(&plane, "nightly", "nightly");
    // The account of in-cluster.yaml, with the role it has there.
    let space = "/api/v1/namespaces/kzero";
    plane.delete(space);
    plane.wait_until(space, SOON, Value::is_null);
    let text = fs::read_to_string(root().join("examples/nightly/in-cluster.yaml")).unwrap();
    plane.apply_yaml(&text);
    let (code, token) = plane.request(
        "POST",
        &format!("{space}/serviceaccounts/nightly/token"),
        &json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}),
    );
    assert_eq!(code, 201, "{token}");
    let path = plane.kubeconfig(example.kzero.dir());
    let mut config: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    config["users"][0]["user"] = json!({"token": token["status"]["token"]});
    fs::write(&path, config.to_string()).unwrap();

    let record = example.kzero.path("record");
    let example = example.with(|kzero| kzero.kubeconfig(&path).env("RECORD_FILE", &record));
    let sizes = [("deployments", "web", 2), ("deployments", "worker", 1)];
    let suspended = |wanted: bool| {
        for job in plane.list("/apis/batch/v1/namespaces/nightly/cronjobs") {
            assert_eq!(
                job["spec"]["suspend"], wanted,
                "{}",
                job["metadata"]["name"]
            );
        }
    };
    example.wait_awake(&sizes);
    example.kzero.run_with(["analyze"]).assert_code(0);
    example.kzero.run_with(["down"]).assert_code(0);
    example.check_parked(&sizes);
    suspended(true);
    example.kzero.run_with(["up"]).assert_code(0);
    example.wait_awake(&sizes);
    suspended(false);
    let record = example.kzero.read("record");
    let lines: Vec<&str> = record.lines().collect();
    assert_eq!(lines.len(), 3, "{record}");
    for (line, said) in lines
        .iter()
        .zip(["parking begins", "all is parked", "all is awake"])
    {
        assert!(line.contains(said), "{record}");
    }
    plane.delete(space);

    // While frozen nothing is parked, and on-error says why. In this test, for the profile is one.
    let freeze = example.kzero.path("freeze");
    fs::write(&freeze, "release in progress\n").unwrap();
    let example = example.with(|kzero| {
        kzero
            .kubeconfig(plane.own_kubeconfig())
            .env("FREEZE_FILE", &freeze)
    });
    let frozen = example.kzero.run_with(["down"]);
    frozen
        .assert_code(3)
        .assert_stdout("release in progress")
        .assert_stdout("on-error: hook pre-down: ");
    example.wait_awake(&sizes);
    suspended(false);
    let record = example.kzero.read("record");
    assert!(record.contains("down failed"), "{record}");
    assert!(record.contains("step hook:pre-down"), "{record}");
}

#[test]
fn example_release_is_installed_beside_a_parked_database() {
    let plane = ControlPlane::attach();
    let example = Example::new(&plane, "release", "shop");
    let run = |command: &str| {
        let outcome = example.kzero.run_with([command]);
        outcome.assert_code(0);
        outcome
    };
    let up = run("up");
    assert_order(
        &up,
        &[
            "scale statefulset.shop/postgresql -> 1 replicas",
            "wait for Deployment shop/cache to be ready: done",
            "create Job shop/migrate-1",
            "wait for Job shop/migrate-1 to be ready: done",
            "create Deployment shop/web",
            "release.shop/shop: revision 1 is deployed",
        ],
    );
    run("analyze").assert_stdout("create Job shop/migrate-2");
    run("down");
    assert!(plane.get(&example.path("deployments", "web")).is_none());
    example.check_parked(&[("statefulsets", "postgresql", 1)]);
}

#[test]
fn example_shell_release_starts_kubectl_helm_and_the_release_script() {
    // S-2.8, S-5.16
    let plane = ControlPlane::attach();
    let example = Example::new(&plane, "shell-release", "platform");
    let calls = example.kzero.path("calls");
    let example = example.with(|kzero| {
        let fake = format!("echo \"$PWD: $*\" >>'{}'", calls.display());
        kzero.script("bin/helm", &fake)
    });
    let (down, up) = example.play(&[("deployments", "api", 2)]);
    assert_order(
        &down,
        &[
            "scale deployment.platform/api -> 0 replicas",
            "wait termination deployment.platform/api",
            "helm uninstall platform/cache (--wait --ignore-not-found)",
        ],
    );
    assert_order(
        &up,
        &[
            "release script helm-assets/cache.sh (up)",
            "scale deployment.platform/api -> 2 replicas",
            "wait rollout deployment.platform/api",
        ],
    );
    let folder = root().join("examples/shell-release");
    let folder = folder.display();
    assert_eq!(
        example.kzero.read("calls"),
        format!(
            "{folder}: uninstall cache -n platform --wait --ignore-not-found\n\
             {folder}/helm-assets: upgrade --install cache ./cache -n platform --wait --timeout 5m\n"
        )
    );
}

/// A hook by itself, as kzero would start it for a step.
fn hook(plane: &ControlPlane, file: &str, namespace: &str, name: &str) -> Kzero {
    with_kubectl(Kzero::new("/bin/sh"))
        .arg(root().join("hooks").join(file))
        .kubeconfig(plane.own_kubeconfig())
        .env("KZERO_STEP_TYPE", "deployment")
        .env("KZERO_STEP_NAMESPACE", namespace)
        .env("KZERO_STEP_NAME", name)
        .env("UPSTREAM_DEPLOYMENT", name)
        .env("WAIT_INTERVAL", "1")
}

#[test]
fn hooks_tell_pods_by_owner_and_by_any_selector() {
    let plane = ControlPlane::attach();
    let space = plane.namespace("owner");
    let mut object = kzero_testkit::objects::deployment(space.name(), "a", 1);
    object["spec"]["selector"] = json!({
        "matchLabels": {"app": "a"},
        "matchExpressions": [
            {"key": "tier", "operator": "In", "values": ["x", "y"]},
            {"key": "tier", "operator": "NotIn", "values": ["z"]},
            {"key": "app", "operator": "Exists"},
            {"key": "none", "operator": "DoesNotExist"},
        ],
    });
    object["spec"]["template"]["metadata"]["labels"] = json!({"app": "a", "tier": "x"});
    plane.apply(&object);
    // Labelled like the others, but nobody's.
    let mut stray = kzero_testkit::objects::pod(space.name(), "stray");
    stray["metadata"]["labels"] = json!({"app": "a", "tier": "x", "mine": "yes"});
    plane.apply(&stray);
    let path = space.path("apis/apps/v1", "deployments/a");
    plane.wait_until(&path, SOON, |found| found["status"]["readyReplicas"] == 1);

    let wait = hook(&plane, "wait-deployment-scale-down.sh", space.name(), "a");
    let guard = hook(
        &plane,
        "assert-deployment-replicas-zero.sh",
        space.name(),
        "a",
    );
    let waited = wait.env("WAIT_TIMEOUT", "0").run();
    waited.assert_code(1).assert_stderr("(wanted size 1):");
    assert!(!waited.stderr.contains("stray"), "{}", waited.stderr);
    guard
        .run()
        .assert_code(1)
        .assert_stderr("is not down: 1 wanted");

    plane.patch(&path, &json!({"spec": {"replicas": 0}}));
    hook(&plane, "wait-deployment-scale-down.sh", space.name(), "a")
        .env("WAIT_TIMEOUT", "50")
        .run()
        .assert_code(0);
    plane.wait_until(&path, SOON, |found| {
        found["status"]["replicas"].is_null() || found["status"]["replicas"] == 0
    });
    guard.run().assert_code(0).assert_stdout("is down");
}

#[test]
fn hooks_take_no_answer_for_no_proof() {
    let plane = ControlPlane::attach();
    let space = plane.namespace("proof");
    let hooks = [
        "wait-deployment-scale-down.sh",
        "assert-deployment-replicas-zero.sh",
    ];
    for file in hooks {
        // The API server itself says that there is none.
        hook(&plane, file, space.name(), "gone")
            .run()
            .assert_code(0)
            .assert_stdout("does not exist");
        // It may not be asked.
        hook(&plane, file, space.name(), "gone")
            .kubeconfig(plane.restricted_kubeconfig())
            .env("WAIT_TIMEOUT", "0")
            .run()
            .assert_code(1)
            .assert_stderr("forbidden");
        // Nobody answers.
        let silent = hook(&plane, file, space.name(), "gone").env("WAIT_TIMEOUT", "0");
        let config = plane.kubeconfig(silent.dir());
        let mut dead: Value = serde_json::from_str(&fs::read_to_string(&config).unwrap()).unwrap();
        // A port that nothing listens on.
        dead["clusters"][0]["cluster"]["server"] = json!("https://127.0.0.1:1");
        fs::write(&config, dead.to_string()).unwrap();
        silent.kubeconfig(&config).run().assert_code(1);
    }
}

fn files_below(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files_below(&path, found);
        } else {
            found.push(path);
        }
    }
}

fn files_with(folders: &[&str], extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for folder in folders {
        files_below(&root().join(folder), &mut found);
    }
    found.retain(|path| path.extension().is_some_and(|it| it == extension));
    assert!(!found.is_empty());
    found
}

#[test]
fn every_shipped_script_is_posix_for_dash() {
    // S-10.34
    for script in files_with(&["hooks", "examples"], "sh") {
        Kzero::new("/bin/dash")
            .arg("-n")
            .arg(&script)
            .run()
            .assert_code(0);
        let text = fs::read_to_string(&script).unwrap();
        assert!(text.starts_with("#!/bin/sh\n"), "{}", script.display());
        assert!(!text.contains("pipefail"), "{}", script.display());
    }
}

#[test]
fn every_shipped_profile_loads_without_a_warning() {
    let profiles = [
        "consumer-producer",
        "database",
        "nightly",
        "release",
        "shell-release",
    ];
    let profiles = profiles.map(|name| (format!("examples/{name}"), "kzero.yaml"));
    let sample = (".".to_owned(), "configs/kzero.sample.yml");
    for (folder, file) in profiles.into_iter().chain([sample]) {
        let outcome = Kzero::new(env!("CARGO_BIN_EXE_kzero"))
            .args(["-C".into(), root().join(folder).into_os_string()])
            .args(["-c", file, "analyze"])
            // Whether they are installed is not the question here.
            .env("KZERO_COMMAND_HELM", "/bin/true")
            .env("KZERO_COMMAND_KUBECTL", "/bin/true")
            .run();
        // No kubeconfig: the plan and nothing else.
        outcome.assert_code(0).assert_stdout("Pipeline steps: ");
        let warnings = outcome.stderr.matches("warning:").count();
        let preflight = outcome
            .stderr
            .matches("warning: preflight would fail")
            .count();
        assert_eq!(warnings, preflight, "{file}: {}", outcome.stderr);
    }
}

/// The documents that people read.
fn documents() -> BTreeMap<PathBuf, String> {
    let mut found = files_with(&["docs", "examples", "hooks"], "md");
    let top = fs::read_dir(root())
        .unwrap()
        .map(|entry| entry.unwrap().path());
    found.extend(top.filter(|path| path.extension().is_some_and(|it| it == "md")));
    let read = |path: PathBuf| {
        let text = fs::read_to_string(&path).unwrap();
        (path, text)
    };
    found.into_iter().map(read).collect()
}

#[test]
fn every_kzero_command_in_the_documents_exists() {
    let mut seen = 0;
    for (path, text) in documents() {
        let mut shell = false;
        for line in text.lines() {
            if let Some(language) = line.trim_start().strip_prefix("```") {
                shell = language == "sh";
                continue;
            }
            if !shell {
                continue;
            }
            let line = line.split(" #").next().unwrap();
            for part in line
                .split(['|', ';', '>'])
                .flat_map(|part| part.split("&&"))
            {
                // What stands before the program are variables.
                let words: Vec<&str> = part.split_whitespace().collect();
                let first = words.iter().position(|word| !word.contains('='));
                let Some(first) = first.filter(|at| words[*at] == "kzero") else {
                    continue;
                };
                let arguments = &words[first + 1..];
                let outcome = Kzero::new(env!("CARGO_BIN_EXE_kzero"))
                    .args(arguments.iter().map(|word| match *word {
                        // Where a folder is named the example has to be there.
                        folder if folder.starts_with("examples/") => root().join(folder),
                        other => other.into(),
                    }))
                    .arg("--help")
                    .run();
                assert_eq!(
                    outcome.code,
                    0,
                    "{}: {line}\n{}",
                    path.display(),
                    outcome.stderr
                );
                let folders = arguments
                    .iter()
                    .filter(|word| word.starts_with("examples/"));
                for folder in folders {
                    assert!(root().join(folder).is_dir(), "{}: {line}", path.display());
                }
                seen += 1;
            }
        }
    }
    assert!(seen > 15, "{seen}");
}

#[test]
fn every_link_between_the_documents_leads_somewhere() {
    for (path, text) in documents() {
        for (at, _) in text.match_indices("](") {
            let target = text[at + 2..].split(')').next().unwrap();
            if target.contains("://") || target.starts_with('#') {
                continue;
            }
            let file = target.split('#').next().unwrap();
            let there = path.parent().unwrap().join(file);
            assert!(there.exists(), "{}: {target}", path.display());
        }
    }
}

#[test]
fn every_profile_variable_in_the_documents_is_one() {
    // S-1.17: docs/env.md is written by hand from the schema.
    let schema = fs::read_to_string(root().join("configs/kzero.schema.json")).unwrap();
    let schema: Value = serde_json::from_str(&schema).unwrap();
    let mut wanted = Vec::new();
    let mut open = vec![(String::from("KZERO"), &schema)];
    while let Some((name, node)) = open.pop() {
        match node["properties"].as_object() {
            Some(keys) => open.extend(keys.iter().map(|(key, below)| {
                let key = key.to_uppercase().replace('-', "_");
                (format!("{name}_{key}"), below)
            })),
            None if node["type"] == "array" || node["type"] == json!(["object", "null"]) => {}
            None => wanted.push(name),
        }
    }
    wanted.sort();
    let text = fs::read_to_string(root().join("docs/env.md")).unwrap();
    let section = text.split("\n## ").nth(1).unwrap();
    let mut found: Vec<&str> = section
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split('`').next())
        .collect();
    found.sort_unstable();
    assert_eq!(found, wanted);
}
