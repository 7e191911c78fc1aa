//! A namespace of its own for each test, and a look at the cluster that does not pass through the
//! code under test.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::Duration,
};

use kube::api::{Api, DynamicObject, PostParams};
use kzero_cluster::{
    Budget, Cluster, ConnectOptions, Environment, Notice, ScaleKind, WorkloadRef, resolve,
};
use serde_json::{Value, json};

/// The notices of one test.
#[derive(Clone, Default)]
pub(crate) struct Notices(Arc<Mutex<Vec<Notice>>>);

impl Notices {
    pub(crate) fn texts(&self) -> Vec<String> {
        self.0
            .lock()
            .unwrap()
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    pub(crate) fn any(&self, wanted: impl Fn(&Notice) -> bool) -> bool {
        self.0.lock().unwrap().iter().any(wanted)
    }
}

/// One test's place in the cluster.
pub(crate) struct Place {
    pub(crate) cluster: Cluster,
    pub(crate) notices: Notices,
    pub(crate) namespace: String,
    client: kube::Client,
}

pub(crate) fn budget(seconds: u64) -> Budget {
    Budget::new(format!("test {seconds}s"), Duration::from_secs(seconds))
}

#[expect(
    clippy::disallowed_methods,
    reason = "the cluster under test is named by the environment"
)]
pub(crate) fn environment() -> Environment {
    Environment::capture(|name| std::env::var_os(name))
}

pub(crate) async fn connect(options: &ConnectOptions) -> (Cluster, Notices) {
    let notices = Notices::default();
    let sink = notices.clone();
    let cluster = resolve(options)
        .expect("KUBECONFIG names the cluster to test against")
        .connect(Arc::new(move |notice| sink.0.lock().unwrap().push(notice)))
        .await
        .unwrap();
    (cluster, notices)
}

impl Place {
    /// Connects and makes a namespace that no other run uses.
    pub(crate) async fn new(test: &str) -> Self {
        let options = ConnectOptions {
            env: environment(),
            ..ConnectOptions::default()
        };
        let (cluster, notices) = connect(&options).await;
        let client = kube::Client::try_default().await.unwrap();
        let namespace = format!("{test}-{:x}", jiff::Timestamp::now().as_microsecond());
        let place = Self {
            cluster,
            notices,
            namespace,
            client,
        };
        place
            .create(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": place.namespace}}))
            .await;
        place
    }

    fn api(&self, object: &Value) -> Api<DynamicObject> {
        let text = |key: &str| object[key].as_str().unwrap().to_owned();
        let (group, version) = match text("apiVersion").split_once('/') {
            Some((group, version)) => (group.to_owned(), version.to_owned()),
            None => (String::new(), text("apiVersion")),
        };
        let kind = kube::core::GroupVersionKind::gvk(&group, &version, &text("kind"));
        let resource = kube::core::ApiResource::from_gvk(&kind);
        if text("kind") == "Namespace" {
            Api::all_with(self.client.clone(), &resource)
        } else {
            Api::namespaced_with(self.client.clone(), &self.namespace, &resource)
        }
    }

    pub(crate) async fn create(&self, object: Value) -> Value {
        let parsed: DynamicObject = serde_json::from_value(object.clone()).unwrap();
        let created = self
            .api(&object)
            .create(&PostParams::default(), &parsed)
            .await
            .unwrap();
        serde_json::to_value(created).unwrap()
    }

    pub(crate) async fn read(&self, api: &str, kind: &str, name: &str) -> Option<Value> {
        let found = self
            .api(&json!({"apiVersion": api, "kind": kind}))
            .get_opt(name)
            .await
            .unwrap();
        found.map(|found| serde_json::to_value(found).unwrap())
    }

    pub(crate) async fn merge(&self, api: &str, kind: &str, name: &str, patch: Value) {
        self.api(&json!({"apiVersion": api, "kind": kind}))
            .patch(
                name,
                &kube::api::PatchParams::default(),
                &kube::api::Patch::Merge(patch),
            )
            .await
            .unwrap();
    }

    /// Names of the pods.
    pub(crate) async fn pods(&self) -> Vec<String> {
        let pods = self
            .api(&json!({"apiVersion": "v1", "kind": "Pod"}))
            .list(&kube::api::ListParams::default())
            .await
            .unwrap();
        pods.items
            .into_iter()
            .filter_map(|pod| pod.metadata.name)
            .collect()
    }

    pub(crate) async fn workload(
        &self,
        kind: ScaleKind,
        name: &str,
        replicas: u32,
        annotations: Value,
    ) -> WorkloadRef {
        let mut object = workload(kind, name, replicas);
        object["spec"]["template"]["metadata"]["annotations"] = annotations;
        self.create(object).await;
        WorkloadRef::new(kind, &self.namespace, name)
    }

    /// A client whose credential is a service account with these rules.
    pub(crate) async fn restricted(&self, rules: Value) -> (Cluster, Notices) {
        let rbac = "rbac.authorization.k8s.io/v1";
        self.create(
            json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "limited"}}),
        )
        .await;
        self.create(json!({"apiVersion": rbac, "kind": "Role", "metadata": {"name": "limited"}, "rules": rules})).await;
        self.create(json!({
            "apiVersion": rbac, "kind": "RoleBinding", "metadata": {"name": "limited"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "limited"},
            "subjects": [{"kind": "ServiceAccount", "name": "limited", "namespace": self.namespace}],
        })).await;
        let path = format!(
            "/api/v1/namespaces/{}/serviceaccounts/limited/token",
            self.namespace
        );
        let body =
            json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}});
        let request = http::Request::post(path)
            .header("content-type", "application/json")
            .body(body.to_string().into_bytes())
            .unwrap();
        let answer: Value = self.client.request(request).await.unwrap();
        let token = answer["status"]["token"].as_str().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let original = kube::config::Kubeconfig::read().unwrap();
        let mut limited = original.clone();
        let user = json!({"name": "limited", "user": {"token": token}});
        limited.auth_infos = vec![serde_json::from_value(user).unwrap()];
        for context in &mut limited.contexts {
            context.context.as_mut().unwrap().user = Some("limited".to_owned());
        }
        let path = place_for(folder.path(), &limited);
        connect(&ConnectOptions {
            kubeconfig: Some(path),
            ..ConnectOptions::default()
        })
        .await
    }
}

/// Writes a kubeconfig into a folder.
pub(crate) fn place_for(folder: &Path, file: &kube::config::Kubeconfig) -> PathBuf {
    let path = folder.join("config");
    std::fs::write(&path, serde_json::to_string(file).unwrap()).unwrap();
    path
}

pub(crate) fn workload(kind: ScaleKind, name: &str, replicas: u32) -> Value {
    let mut object = json!({
        "apiVersion": "apps/v1",
        "kind": kind.kind(),
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [{"name": "main", "image": "example.com/app:1"}]},
            },
        },
    });
    if kind == ScaleKind::StatefulSet {
        object["spec"]["serviceName"] = json!(name);
    }
    object
}

pub(crate) fn job(name: &str, annotations: &Value) -> Value {
    json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {
            "backoffLimit": 0,
            "template": {
                "metadata": {"annotations": annotations},
                "spec": {
                    "restartPolicy": "Never",
                    "containers": [{"name": "main", "image": "example.com/app:1"}],
                },
            },
        },
    })
}
