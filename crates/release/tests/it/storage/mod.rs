//! Records of releases: their bytes, and the stores they lie in.

mod records;
mod selection;
mod show;
mod stores;

use std::sync::Arc;
use std::time::Duration;

use kzero_cluster::{Budget, Cluster, ConnectOptions, resolve};
use kzero_release::storage::Storage;
use kzero_testkit::MiniApi;
use tempfile::TempDir;

/// An API server in memory and a client of it.
struct Server {
    api: MiniApi,
    cluster: Cluster,
    _dir: TempDir,
}

impl Server {
    async fn start() -> Self {
        let api = MiniApi::start().await;
        api.apply(kzero_testkit::objects::namespace("shop"));
        let dir = tempfile::tempdir().unwrap();
        let options = ConnectOptions {
            kubeconfig: Some(api.kubeconfig(dir.path())),
            ..ConnectOptions::default()
        };
        let cluster = resolve(&options)
            .unwrap()
            .connect(Arc::new(|_| {}))
            .await
            .unwrap();
        Self {
            api,
            cluster,
            _dir: dir,
        }
    }

    /// One store of each kind, each empty.
    fn stores(&self) -> [(&'static str, Storage); 3] {
        [
            ("secret", Storage::secrets(self.cluster.clone(), "shop")),
            (
                "configmap",
                Storage::config_maps(self.cluster.clone(), "shop"),
            ),
            ("memory", Storage::memory("shop")),
        ]
    }
}

fn budget() -> Budget {
    Budget::new("test 30s", Duration::from_secs(30))
}
