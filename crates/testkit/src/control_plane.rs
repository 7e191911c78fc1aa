//! The real control plane that contract tests run against.
//!
//! Calls block, and may be used in asynchronous tests too: the work is done on a thread of
//! its own.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::client::BareClient;
use crate::json;
use crate::kubeconfig;

/// The variable that names the kubeconfig of the cluster that tests may use. `KUBECONFIG` is
/// never looked at: it may lead to a real cluster.
const VARIABLE: &str = "KZERO_TEST_KUBECONFIG";

/// A connection to the cluster of `tests/cluster/cluster.sh`, with all rights.
#[derive(Debug)]
pub struct ControlPlane {
    kubeconfig: PathBuf,
    worker: Mutex<Option<Sender<Job>>>,
    thread: Option<thread::JoinHandle<()>>,
}

type Answer = std::io::Result<(u16, Value)>;

#[derive(Debug)]
struct Job {
    method: String,
    path: String,
    content_type: String,
    body: String,
    answer: Sender<Answer>,
}

impl ControlPlane {
    /// Attaches to the cluster that `KZERO_TEST_KUBECONFIG` names.
    ///
    /// # Panics
    ///
    /// When the variable is not set or the cluster does not answer: contract tests fail then,
    /// they are not skipped.
    #[must_use]
    pub fn attach() -> ControlPlane {
        let Some(path) = std::env::var_os(VARIABLE) else {
            panic!(
                "{VARIABLE} is not set; run the contract tests with `cargo xtask test --contract`, or\n  \
                 tests/cluster/cluster.sh run DIR cargo test --features contract --test contract"
            );
        };
        ControlPlane::open(Path::new(&path))
    }

    /// Attaches to the cluster of that kubeconfig.
    ///
    /// # Panics
    ///
    /// When the cluster does not answer.
    #[must_use]
    pub fn open(kubeconfig: &Path) -> ControlPlane {
        let (sender, jobs) = channel::<Job>();
        let path = kubeconfig.to_owned();
        let thread = thread::Builder::new()
            .name("control-plane".to_owned())
            .spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread()
                    .enable_all()
                    .build()
                    .expect("a runtime");
                let mut client = BareClient::new(&path);
                for job in jobs {
                    let sent = client.send(&job.method, &job.path, &job.content_type, job.body);
                    let limit = Duration::from_secs(30);
                    let answer = runtime.block_on(async {
                        tokio::time::timeout(limit, sent).await.unwrap_or_else(|_| {
                            Err(std::io::Error::other(format!("no answer in {limit:?}")))
                        })
                    });
                    // Who asked may have given up.
                    let _ = job.answer.send(answer);
                }
            })
            .expect("a thread");
        let plane = ControlPlane {
            kubeconfig: kubeconfig.to_owned(),
            worker: Mutex::new(Some(sender)),
            thread: Some(thread),
        };
        let (code, version) = plane.request("GET", "/version", &Value::Null);
        assert_eq!(code, 200, "{}: {version}", kubeconfig.display());
        plane
    }

    /// Sends a request with a JSON body (null: none) and gives status and answer. A `PATCH` is a
    /// merge patch.
    ///
    /// # Panics
    ///
    /// When no answer came within 30 s.
    #[must_use]
    pub fn request(&self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let kind = if method == "PATCH" {
            "application/merge-patch+json"
        } else {
            "application/json"
        };
        let body = if body.is_null() {
            String::new()
        } else {
            body.to_string()
        };
        self.request_as(method, path, kind, body)
    }

    /// Sends a request whose body has another content type.
    ///
    /// # Panics
    ///
    /// When no answer came within 30 s.
    #[must_use]
    pub fn request_as(
        &self,
        method: &str,
        path: &str,
        content_type: &str,
        body: String,
    ) -> (u16, Value) {
        let (answer, answered) = channel();
        let job = Job {
            method: method.to_owned(),
            path: path.to_owned(),
            content_type: content_type.to_owned(),
            body,
            answer,
        };
        let worker = self.worker.lock().unwrap_or_else(PoisonError::into_inner);
        worker
            .as_ref()
            .expect("a worker until the end")
            .send(job)
            .expect("a worker that lives");
        drop(worker);
        match answered.recv() {
            Ok(Ok(answer)) => answer,
            Ok(Err(err)) => panic!("{method} {path}: {err}"),
            Err(err) => panic!("{method} {path}: the worker has ended: {err}"),
        }
    }

    /// The object at that API path.
    ///
    /// # Panics
    ///
    /// When the answer is neither the object nor 404.
    #[must_use]
    pub fn get(&self, path: &str) -> Option<Value> {
        match self.request("GET", path, &Value::Null) {
            (200, object) => Some(object),
            (404, _) => None,
            (code, answer) => panic!("GET {path}: {code} {answer}"),
        }
    }

    /// The objects of the collection at that API path.
    ///
    /// # Panics
    ///
    /// When the answer is no list.
    #[must_use]
    pub fn list(&self, path: &str) -> Vec<Value> {
        let found = self.get(path).unwrap_or_default();
        json::list(&found, "/items").to_vec()
    }

    /// Changes an object by a merge patch.
    ///
    /// # Panics
    ///
    /// When the server refuses.
    pub fn patch(&self, path: &str, patch: &Value) -> Value {
        let (code, object) = self.request("PATCH", path, patch);
        assert_eq!(code, 200, "patch of {path}: {object}");
        object
    }

    /// Deletes an object, what it owns in the background; absence is no failure.
    ///
    /// # Panics
    ///
    /// When the server refuses.
    pub fn delete(&self, path: &str) {
        let options = json!({"propagationPolicy": "Background"});
        let (code, answer) = self.request("DELETE", path, &options);
        assert!(
            matches!(code, 200 | 202 | 404),
            "deletion of {path}: {code} {answer}"
        );
    }

    /// Creates an object, or makes an existing one like it by a merge patch. An object without
    /// a namespace goes to `default`.
    ///
    /// # Panics
    ///
    /// When the server knows no such kind or refuses.
    pub fn apply(&self, object: &Value) -> Value {
        let collection = self.collection_of(object);
        let (code, answer) = self.request("POST", &collection, object);
        if code != 409 {
            assert!(
                matches!(code, 200 | 201),
                "apply to {collection}: {code} {answer}"
            );
            return answer;
        }
        let name = json::text(object, "/metadata/name");
        self.patch(&format!("{collection}/{name}"), object)
    }

    /// Applies every document of a YAML text; gives the objects in their order.
    ///
    /// # Panics
    ///
    /// When the text is no YAML, or as [`ControlPlane::apply`].
    pub fn apply_yaml(&self, text: &str) -> Vec<Value> {
        let documents: Vec<Value> =
            serde_saphyr::from_multiple(text).unwrap_or_else(|err| panic!("{err}"));
        documents
            .iter()
            .filter(|document| !document.is_null())
            .map(|object| self.apply(object))
            .collect()
    }

    /// The API path of the collection that an object belongs to, as the server has it.
    fn collection_of(&self, object: &Value) -> String {
        let version = json::text(object, "/apiVersion");
        let kind = json::text(object, "/kind");
        let root = if version.contains('/') {
            "/apis"
        } else {
            "/api"
        };
        let resources = self.get(&format!("{root}/{version}")).unwrap_or_default();
        let resource = json::list(&resources, "/resources")
            .iter()
            .find(|resource| {
                json::text(resource, "/kind") == kind
                    && !json::text(resource, "/name").contains('/')
            })
            .unwrap_or_else(|| panic!("the server has no {kind:?} in {version:?}"));
        let plural = json::text(resource, "/name");
        if resource["namespaced"] != true {
            return format!("{root}/{version}/{plural}");
        }
        let namespace = match json::text(object, "/metadata/namespace") {
            "" => "default",
            namespace => namespace,
        };
        format!("{root}/{version}/namespaces/{namespace}/{plural}")
    }

    /// Asks every 50 ms until the object at `path` (null while there is none) is as wanted.
    ///
    /// # Panics
    ///
    /// When it is not within `limit`; shows the last state.
    pub fn wait_until(
        &self,
        path: &str,
        limit: Duration,
        wanted: impl Fn(&Value) -> bool,
    ) -> Value {
        let end = Instant::now() + limit;
        loop {
            let found = self.get(path).unwrap_or_default();
            if wanted(&found) {
                return found;
            }
            assert!(
                Instant::now() < end,
                "{path} is not as wanted after {limit:?}: {found:#}"
            );
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// Makes a namespace that no other test has; it is deleted when the value is dropped.
    ///
    /// Returns when its service account is there, without which pods are refused.
    ///
    /// # Panics
    ///
    /// When it cannot be made.
    #[must_use]
    pub fn namespace(&self, prefix: &str) -> Namespace<'_> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let moment = jiff::Timestamp::now().as_millisecond() % 1_000_000;
        let name = format!("{prefix}-{}-{count}-{moment}", std::process::id());
        self.apply(&crate::objects::namespace(&name));
        let account = format!("/api/v1/namespaces/{name}/serviceaccounts/default");
        self.wait_until(&account, Duration::from_secs(30), |found| !found.is_null());
        Namespace { plane: self, name }
    }

    /// Writes a kubeconfig with all rights into `dir` and gives its path.
    ///
    /// # Panics
    ///
    /// When it cannot be written.
    #[must_use]
    pub fn kubeconfig(&self, dir: &Path) -> PathBuf {
        kubeconfig::write(
            &dir.join("admin.kubeconfig"),
            &kubeconfig::read(&self.kubeconfig),
        )
    }

    /// The same with a namespace in the context.
    ///
    /// # Panics
    ///
    /// When it cannot be written.
    #[must_use]
    pub fn kubeconfig_for(&self, dir: &Path, namespace: &str) -> PathBuf {
        let mut config = kubeconfig::read(&self.kubeconfig);
        config["contexts"][0]["context"]["namespace"] = namespace.into();
        kubeconfig::write(&dir.join("admin.kubeconfig"), &config)
    }

    /// The kubeconfig that the cluster itself has, with all rights.
    #[must_use]
    pub fn own_kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// The kubeconfig of the group `restricted`, which may do nothing but what a test grants.
    #[must_use]
    pub fn restricted_kubeconfig(&self) -> PathBuf {
        self.kubeconfig
            .with_file_name("token-restricted.kubeconfig")
    }

    /// Grants rules to the group `restricted` in a namespace, e.g.
    /// `[{"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["get"]}]`.
    ///
    /// # Panics
    ///
    /// When the server refuses.
    pub fn grant_restricted(&self, namespace: &str, rules: &Value) {
        let group = "rbac.authorization.k8s.io";
        let meta = json!({"namespace": namespace, "name": "restricted"});
        self.apply(&json!({
            "apiVersion": format!("{group}/v1"),
            "kind": "Role",
            "metadata": meta,
            "rules": rules,
        }));
        self.apply(&json!({
            "apiVersion": format!("{group}/v1"),
            "kind": "RoleBinding",
            "metadata": meta,
            "roleRef": {"apiGroup": group, "kind": "Role", "name": "restricted"},
            "subjects": [{"apiGroup": group, "kind": "Group", "name": "restricted"}],
        }));
    }
}

impl Drop for ControlPlane {
    fn drop(&mut self) {
        // Without a sender the worker ends.
        self.worker
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(thread) = self.thread.take() {
            // If it has panicked, a test has said so.
            let _ = thread.join();
        }
    }
}

/// A namespace for one test, deleted when this is dropped.
#[derive(Debug)]
pub struct Namespace<'a> {
    plane: &'a ControlPlane,
    name: String,
}

impl Namespace<'_> {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The API path of something in it, e.g. `path("apis/apps/v1", "deployments/api")`.
    #[must_use]
    pub fn path(&self, group: &str, rest: &str) -> String {
        format!("/{group}/namespaces/{}/{rest}", self.name)
    }
}

impl std::fmt::Display for Namespace<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.name)
    }
}

impl Drop for Namespace<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            // A second panic would hide the first, and a failed test's objects may be wanted.
            return;
        }
        let _ = self.plane.request(
            "DELETE",
            &format!("/api/v1/namespaces/{}", self.name),
            &Value::Null,
        );
    }
}
