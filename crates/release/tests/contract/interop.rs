//! What one program installs the other goes on with: kzero, Helm 3 and Helm 4.

use std::path::Path;
use std::process::{Command, Stdio};

use kzero_release::engine::{Options, Uninstall};
use kzero_testkit::ControlPlane;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::storage::Helm;
use crate::world::World;

const MAP: (&str, &str) = (
    "templates/map.yaml",
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {color: {{ .Values.color }}{{ if eq .Values.color \"red\" }}, only: red{{ end }}}\n",
);
const WEB: (&str, &str) = (
    "templates/web.yaml",
    "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  replicas: 2\n  selector: {matchLabels: {app: web}}\n  template:\n    metadata: {labels: {app: web}}\n    spec:\n      containers:\n      - name: app\n        image: example/app\n        env: [{name: COLOR, value: {{ .Values.color }}}]\n",
);
const HOOK: (&str, &str) = (
    "templates/hook.yaml",
    "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: hook\n  annotations: {helm.sh/hook: \"post-install,post-upgrade\"}\ndata: {color: {{ .Values.color }}}\n",
);
const FILES: [(&str, &str); 3] = [MAP, WEB, HOOK];

/// A program that deploys releases.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Program {
    Kzero,
    Helm(Helm),
}

const PROGRAMS: [Program; 3] = [
    Program::Kzero,
    Program::Helm(Helm::Three),
    Program::Helm(Helm::Four),
];

/// A namespace with a chart on the disk as well.
struct Place<'a> {
    world: World<'a>,
    dir: TempDir,
}

impl<'a> Place<'a> {
    async fn new(plane: &'a ControlPlane) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let chart = dir.path().join("web");
        for (name, text) in crate::world::files(&FILES) {
            let path = chart.join(name);
            std::fs::create_dir_all(path.parent().unwrap_or(Path::new("/"))).unwrap();
            std::fs::write(path, text).unwrap();
        }
        Self {
            world: World::new(plane, "interop").await,
            dir,
        }
    }

    #[expect(clippy::disallowed_methods, reason = "Helm is a program of its own")]
    fn helm(&self, helm: Helm, args: &str) -> String {
        let output = Command::new(helm.program())
            .args(args.split_whitespace())
            .args(["--namespace", self.world.storage.namespace()])
            .current_dir(self.dir.path())
            .env_clear()
            .env("HOME", self.dir.path())
            .env("KUBECONFIG", self.world.plane.own_kubeconfig())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{helm:?} {args}: {errors}");
        String::from_utf8(output.stdout).unwrap()
    }

    async fn deploy(&self, program: Program, color: &str) {
        match program {
            Program::Kzero => {
                let options = Options {
                    wait: true,
                    history_max: 10,
                    ..Options::default()
                };
                self.world
                    .deploy(&FILES, json!({ "color": color }), options)
                    .await
                    .unwrap();
            }
            Program::Helm(helm) => {
                self.helm(
                    helm,
                    &format!("upgrade --install web web --set color={color} --wait"),
                );
            }
        }
    }

    async fn rollback(&self, program: Program, revision: i64) {
        match program {
            Program::Kzero => {
                self.world.rollback(revision).await.unwrap();
            }
            Program::Helm(helm) => {
                self.helm(helm, &format!("rollback web {revision} --wait"));
            }
        }
    }

    async fn uninstall(&self, program: Program) {
        match program {
            Program::Kzero => {
                let uninstall = Uninstall {
                    wait: true,
                    ..Uninstall::default()
                };
                assert!(self.world.uninstall(uninstall).await.unwrap().found);
            }
            Program::Helm(helm) => {
                self.helm(helm, "uninstall web --wait");
            }
        }
    }

    /// What both kinds of program say of the release: statuses, and the values of the newest revision.
    async fn seen_by(&self, program: Program) -> (Vec<String>, Value) {
        match program {
            Program::Kzero => {
                let statuses = self.world.statuses().await;
                let newest = *statuses.keys().next_back().unwrap();
                let values = self.world.revision(newest).await.config;
                (statuses.into_values().collect(), values.into())
            }
            Program::Helm(helm) => {
                let history: Vec<Value> =
                    serde_json::from_str(&self.helm(helm, "history web -o json")).unwrap();
                let statuses = history
                    .iter()
                    .map(|revision| revision["status"].as_str().unwrap().to_owned())
                    .collect();
                (
                    statuses,
                    serde_json::from_str(&self.helm(helm, "get values web -o json")).unwrap(),
                )
            }
        }
    }

    /// The live colours: of the ConfigMap, of the Deployment, and whether what only the red chart has is there.
    fn colors(&self) -> Value {
        let map = self
            .world
            .get("v1", "configmaps/settings")
            .unwrap_or_default();
        let web = self
            .world
            .get("apps/v1", "deployments/web")
            .unwrap_or_default();
        json!([
            map["data"]["color"],
            web["spec"]["template"]["spec"]["containers"][0]["env"][0]["value"],
            map["data"]["only"],
        ])
    }
}

async fn cell(installer: Program, other: Program) {
    let plane = ControlPlane::attach();
    let place = Place::new(&plane).await;
    let what = format!("{installer:?} installs, {other:?} goes on");
    place.deploy(installer, "red").await;
    assert_eq!(place.colors(), json!(["red", "red", "red"]), "{what}");
    assert_eq!(
        place.seen_by(other).await,
        (vec!["deployed".to_owned()], json!({"color": "red"})),
        "{what}"
    );
    place.deploy(other, "blue").await;
    assert_eq!(place.colors(), json!(["blue", "blue", null]), "{what}");
    let two = vec!["superseded".to_owned(), "deployed".to_owned()];
    for program in [installer, other] {
        assert_eq!(
            place.seen_by(program).await,
            (two.clone(), json!({"color": "blue"})),
            "{what}"
        );
    }
    place.rollback(other, 1).await;
    assert_eq!(place.colors(), json!(["red", "red", "red"]), "{what}");
    // And back: the one that installed it goes on from what the other left.
    place.deploy(installer, "green").await;
    assert_eq!(place.colors(), json!(["green", "green", null]), "{what}");
    place.rollback(installer, 2).await;
    assert_eq!(place.colors(), json!(["blue", "blue", null]), "{what}");
    let (statuses, _) = place.seen_by(other).await;
    assert_eq!(statuses.len(), 5, "{what}: {statuses:?}");
    assert_eq!(
        statuses
            .iter()
            .filter(|status| *status == "deployed")
            .count(),
        1,
        "{what}"
    );
    place.uninstall(other).await;
    assert_eq!(place.colors(), json!([null, null, null]), "{what}");
    assert!(place.world.statuses().await.is_empty(), "{what}");
}

#[tokio::test]
async fn what_kzero_installs_helm_3_goes_on_with_and_the_other_way_round() {
    let [kzero, three, _] = PROGRAMS;
    cell(kzero, three).await;
    cell(three, kzero).await;
}

#[tokio::test]
async fn what_kzero_installs_helm_4_goes_on_with_and_the_other_way_round() {
    let [kzero, _, four] = PROGRAMS;
    cell(kzero, four).await;
    cell(four, kzero).await;
}
