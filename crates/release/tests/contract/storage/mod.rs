//! Records that Helm wrote are read, and records written here are read by Helm: 3 and 4, as Secrets and as ConfigMaps.
//!
//! `KZERO_TEST_HELM3` and `KZERO_TEST_HELM4` name the programs, `KZERO_TEST_POSTGRES` the folder with PostgreSQL's.

mod read;
mod show;
mod sql;
mod write;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use kzero_cluster::{Budget, Cluster, ConnectOptions, resolve};
use kzero_release::storage::Storage;
use kzero_testkit::{ControlPlane, Namespace};
use serde_json::Value;
use tempfile::TempDir;

/// Which Helm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Helm {
    Three,
    Four,
}

pub(crate) const HELMS: [Helm; 2] = [Helm::Three, Helm::Four];
const DRIVERS: [&str; 2] = ["secret", "configmap"];

impl Helm {
    #[expect(
        clippy::disallowed_methods,
        reason = "the environment names the programs"
    )]
    pub(crate) fn program(self) -> PathBuf {
        let variable = match self {
            Self::Three => "KZERO_TEST_HELM3",
            Self::Four => "KZERO_TEST_HELM4",
        };
        match std::env::var_os(variable) {
            Some(program) => program.into(),
            None => panic!("{variable} is not set; it names a helm of that line"),
        }
    }
}

/// A namespace with a client of its own, and a folder with a chart.
struct Place<'a> {
    plane: &'a ControlPlane,
    namespace: Namespace<'a>,
    cluster: Cluster,
    dir: TempDir,
    driver: &'static str,
    /// The connection string of the driver `sql`.
    database: String,
}

impl<'a> Place<'a> {
    async fn new(plane: &'a ControlPlane, driver: &'static str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let namespace = plane.namespace("storage");
        let options = ConnectOptions {
            kubeconfig: Some(plane.kubeconfig_for(dir.path(), namespace.name())),
            ..ConnectOptions::default()
        };
        let target = resolve(&options).unwrap();
        let cluster = target.connect(Arc::new(|_| {})).await.unwrap();
        chart(&dir.path().join("web"));
        Self {
            plane,
            namespace,
            cluster,
            dir,
            driver,
            database: String::new(),
        }
    }

    fn storage(&self) -> Storage {
        let namespace = self.namespace.name();
        match self.driver {
            "secret" => Storage::secrets(self.cluster.clone(), namespace),
            _ => Storage::config_maps(self.cluster.clone(), namespace),
        }
    }

    fn chart(&self) -> PathBuf {
        self.dir.path().join("web")
    }

    /// What Helm prints, which must succeed.
    #[expect(clippy::disallowed_methods, reason = "Helm is a program of its own")]
    fn helm(&self, helm: Helm, args: &str) -> String {
        let home = self.dir.path();
        let output = Command::new(helm.program())
            .args(args.split_whitespace())
            .current_dir(home)
            .env_clear()
            .env("HOME", home)
            .env("TZ", "UTC")
            .env("HELM_DRIVER", self.driver)
            .env("HELM_DRIVER_SQL_CONNECTION_STRING", &self.database)
            .env("KUBECONFIG", home.join("admin.kubeconfig"))
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{helm:?} {args}: {errors}");
        String::from_utf8(output.stdout).unwrap()
    }

    fn helm_json(&self, helm: Helm, args: &str) -> Value {
        serde_json::from_str(&self.helm(helm, &format!("{args} -o json"))).unwrap()
    }
}

fn budget() -> Budget {
    Budget::new("test 30s", Duration::from_secs(30))
}

/// A chart with something of everything that records keep.
fn chart(dir: &Path) {
    let files = [
        (
            "Chart.yaml",
            "name: web\nversion: 1.2.3\nappVersion: '4.5'\napiVersion: v2\ndescription: <web> & more\n\
             annotations: {team: a, zone: b}\ndependencies: [{name: db, version: 0.2.0, repository: ''}]\n",
        ),
        (
            "Chart.lock",
            "generated: '2024-01-01T00:00:00Z'\ndigest: sha256:0\ndependencies: [{name: db, version: 0.2.0, repository: ''}]\n",
        ),
        ("values.yaml", "a: 1\nb: {c: <x>, d: null}\nf: 0.5\n"),
        ("values.schema.json", "{\"type\": \"object\"}\n"),
        ("README.md", "# web\n"),
        (
            "templates/NOTES.txt",
            "Hello {{ .Release.Name }}: {{ .Values.a }}\n",
        ),
        (
            "templates/a.yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: '{{ .Release.Name }}-a'}\ndata: {a: '{{ .Values.a }}'}\n",
        ),
        (
            "templates/hook.yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: '{{ .Release.Name }}-hook'\n  annotations:\n    \
             helm.sh/hook: pre-install,post-upgrade\n    helm.sh/hook-weight: '-2'\n",
        ),
        (
            "templates/test.yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: '{{ .Release.Name }}-test'\n  annotations: {helm.sh/hook: test}\n",
        ),
        (
            "charts/db/Chart.yaml",
            "name: db\nversion: 0.2.0\napiVersion: v2\n",
        ),
        ("charts/db/values.yaml", "port: 5432\n"),
        (
            "charts/db/templates/a.yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: '{{ .Release.Name }}-db'}\n",
        ),
    ];
    for (name, text) in files {
        let path = dir.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
}
