//! Writing and reading of kubeconfigs.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

/// Writes a kubeconfig for a server without TLS; context, cluster and user have one name.
pub(crate) fn write_plain(dir: &Path, name: &str, url: &str, token: Option<&str>) -> PathBuf {
    let user = token.map_or_else(|| json!({}), |token| json!({"token": token}));
    write(dir, name, &json!({"server": url}), &user)
}

/// Writes a kubeconfig of one cluster and one user into `dir`, named `<name>.kubeconfig`.
pub(crate) fn write(dir: &Path, name: &str, cluster: &Value, user: &Value) -> PathBuf {
    let config = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": name,
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "clusters": [{"name": name, "cluster": cluster}],
        "users": [{"name": name, "user": user}],
    });
    let path = dir.join(format!("{name}.kubeconfig"));
    // JSON is YAML too.
    let text = serde_json::to_string_pretty(&config).expect("a kubeconfig as JSON");
    fs::write(&path, text).unwrap_or_else(|err| panic!("{}: {err}", path.display()));
    path
}
