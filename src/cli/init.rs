//! `kzero init`: a profile from what runs in namespaces.
//!
//! The order is a guess by simple hints, which the profile states as comments: CronJobs stop
//! first, then Deployments, then StatefulSets, then what looks like a database; `up` goes the
//! other way. Releases are named in comments: their workloads are parked by size, which loses
//! nothing, while an uninstall would.

use std::fmt::Write as _;
use std::io::Write as _;
use std::time::Duration;

use kzero_cluster::{Budget, NamespaceInventory, Observer, ScaleKind, WorkloadEntry};

use super::app::{App, runtime};
use super::args::InitArgs;
use crate::exit::Failure;

/// How long reading may take; nobody waits longer for a sketch.
const READING: Duration = Duration::from_secs(2 * 60);

/// Words in a name or image that make a workload look like one that keeps data.
const DATA_WORDS: [&str; 33] = [
    "postgres",
    "pgsql",
    "mysql",
    "mariadb",
    "percona",
    "mongo",
    "redis",
    "valkey",
    "keydb",
    "memcached",
    "cassandra",
    "scylla",
    "couchdb",
    "couchbase",
    "cockroach",
    "clickhouse",
    "elasticsearch",
    "opensearch",
    "solr",
    "influxdb",
    "timescale",
    "victoriametrics",
    "neo4j",
    "etcd",
    "zookeeper",
    "kafka",
    "redpanda",
    "rabbitmq",
    "nats",
    "pulsar",
    "minio",
    "mssql",
    "oracle-db",
];

/// Rank on `down`: lower stops earlier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Deployment,
    StatefulSet,
    /// The word that gave it away.
    Data(&'static str),
}

fn rank(entry: &WorkloadEntry) -> Rank {
    let name = entry.workload.name.to_ascii_lowercase();
    // The last part of an image is what it is; registries and folders only say whose.
    let images = entry.images.iter().map(|image| {
        let last = image.rsplit('/').next().unwrap_or(image);
        last.split([':', '@'])
            .next()
            .unwrap_or(last)
            .to_ascii_lowercase()
    });
    let texts: Vec<String> = std::iter::once(name).chain(images).collect();
    // Exporters, operators and consoles of a database keep no data themselves.
    let beside = [
        "exporter",
        "operator",
        "admin",
        "backup",
        "proxy",
        "pgbouncer",
        "commander",
    ];
    let is_beside = texts
        .iter()
        .any(|text| beside.iter().any(|word| text.contains(word)));
    if !is_beside {
        for word in DATA_WORDS {
            if texts.iter().any(|text| text.contains(word)) {
                return Rank::Data(word);
            }
        }
    }
    match entry.workload.kind {
        ScaleKind::Deployment => Rank::Deployment,
        ScaleKind::StatefulSet => Rank::StatefulSet,
    }
}

/// Writes the profile to stdout or to a new file.
pub(super) fn run(app: &App, arguments: &InitArgs) -> Result<(), Failure> {
    let resolved = app
        .resolve(None)
        .map_err(|error| Failure::Cluster(format!("kubernetes target: {error}")))?;
    let mut namespaces = arguments.namespaces.clone();
    let mut seen = std::collections::BTreeSet::new();
    namespaces.retain(|name| seen.insert(name.clone()));
    let observer: Observer = std::sync::Arc::new(|_| {});
    let runtime = runtime()?;
    let inventory = runtime.block_on(async {
        let cluster = resolved.connect(observer).await?;
        let budget = Budget::new("init limit 2m0s", READING);
        cluster.inventory(&namespaces, &budget).await
    });
    runtime.shutdown_background();
    let inventory = inventory.map_err(|error| Failure::Cluster(error.to_string()))?;
    for space in &inventory {
        if space.exists == Some(false) {
            return Err(Failure::Cluster(format!(
                "namespace {}: not found\nhint: kubectl get namespaces",
                space.name
            )));
        }
        for problem in &space.unreadable {
            app.warn(&format!(
                "warning: not in this profile, could not be read: {problem}"
            ));
        }
    }
    let found = inventory
        .iter()
        .any(|s| !s.workloads.is_empty() || !s.cron_jobs.is_empty());
    if !found {
        return Err(Failure::Cluster(format!(
            "no Deployment, StatefulSet or CronJob in {}",
            namespaces.join(", ")
        )));
    }
    let text = profile(&resolved.target().cluster, &namespaces, &inventory);
    match &arguments.output {
        None => app.output.result(&text),
        Some(path) => {
            let path = app.environment.absolute(path);
            let create = std::fs::OpenOptions::new()
                .write(true)
                .create_new(true)
                .open(&path);
            create
                .and_then(|mut file| file.write_all(text.as_bytes()))
                .map_err(|error| {
                    let hint = if error.kind() == std::io::ErrorKind::AlreadyExists {
                        "\nhint: an existing file is never replaced; choose another name"
                    } else {
                        ""
                    };
                    Failure::Config(format!("cannot write {}: {error}{hint}", path.display()))
                })?;
            app.warn(&format!("wrote {}", path.display()));
        }
    }
    Ok(())
}

/// A text as a double-quoted scalar; JSON's form is one.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// The profile's text.
fn profile(cluster: &str, namespaces: &[String], inventory: &[NamespaceInventory]) -> String {
    let mut workloads: Vec<(Rank, &WorkloadEntry)> = inventory
        .iter()
        .flat_map(|s| &s.workloads)
        .map(|entry| (rank(entry), entry))
        .collect();
    // Within a rank by namespace and name, so that two calls give the same text.
    workloads.sort_by(|(a, one), (b, two)| {
        let class = |rank: &Rank| match rank {
            Rank::Deployment => 0,
            Rank::StatefulSet => 1,
            Rank::Data(_) => 2,
        };
        class(a).cmp(&class(b)).then_with(|| {
            (&one.workload.namespace, &one.workload.name)
                .cmp(&(&two.workload.namespace, &two.workload.name))
        })
    });
    let mut out = String::new();
    // Writing to a String cannot fail.
    let _ = write!(
        out,
        "# A profile for kzero, written by `kzero init` from what ran in: {}.\n\
         # Read it, put the steps in the order your applications need, then try\n\
         # `kzero analyze` and `kzero down --dry-run`. For real runs set run.mode: live.\n\
         schema_version: \"1.0\"\n\
         cluster:\n  name: {}\n\
         run:\n  mode: dry-run\n  operation_timeout: 10m\n\
         pipelines:\n",
        namespaces.join(", "),
        quoted(cluster)
    );
    down(&mut out, inventory, &workloads);
    up(&mut out, inventory, &workloads);
    releases(&mut out, inventory);
    out
}

fn down(out: &mut String, inventory: &[NamespaceInventory], workloads: &[(Rank, &WorkloadEntry)]) {
    out.push_str("  down:\n");
    let jobs: Vec<String> = cron_jobs(inventory, false).collect();
    let active = workloads.iter().any(|(_, entry)| entry.replicas > 0) || !jobs.is_empty();
    if !active {
        out.truncate(out.len() - 1);
        out.push_str(" []\n");
    }
    if !jobs.is_empty() {
        out.push_str("    # CronJobs first, so that none starts while things stop.\n");
    }
    for reference in jobs {
        let _ = writeln!(out, "    - {reference}");
    }
    for reference in cron_jobs(inventory, true) {
        let _ = writeln!(out, "    # left out: {reference} is suspended already");
    }
    let mut last = None;
    for (rank, entry) in workloads {
        let reference = reference_of(entry);
        if entry.replicas == 0 {
            let _ = writeln!(out, "    # left out: {reference} is at 0 already");
            continue;
        }
        heading(out, *rank, &mut last, true);
        match rank {
            Rank::Data(word) => {
                let _ = writeln!(out, "    - {reference}: # looks like a database: {word}");
                out.push_str("        wait_for_termination: true\n");
            }
            Rank::StatefulSet | Rank::Deployment => {
                let _ = writeln!(
                    out,
                    "    - {reference}:\n        wait_for_termination: true"
                );
            }
        }
    }
}

fn up(out: &mut String, inventory: &[NamespaceInventory], workloads: &[(Rank, &WorkloadEntry)]) {
    out.push_str("  up:\n");
    let jobs: Vec<String> = cron_jobs(inventory, false).collect();
    let active = workloads.iter().any(|(_, entry)| entry.replicas > 0) || !jobs.is_empty();
    if !active {
        out.truncate(out.len() - 1);
        out.push_str(" []\n");
    }
    let mut last = None;
    for (rank, entry) in workloads
        .iter()
        .rev()
        .filter(|(_, entry)| entry.replicas > 0)
    {
        heading(out, *rank, &mut last, false);
        let _ = writeln!(
            out,
            "    - {}:\n        replicas: {}\n        wait_for_ready: true",
            reference_of(entry),
            entry.replicas
        );
    }
    if !jobs.is_empty() {
        out.push_str("    # CronJobs last, when what they need is there.\n");
    }
    for reference in jobs {
        let _ = writeln!(out, "    - {reference}");
    }
}

/// `kind.namespace/name`.
fn reference_of(entry: &WorkloadEntry) -> String {
    let workload = &entry.workload;
    format!(
        "{}.{}/{}",
        workload.kind.word(),
        workload.namespace,
        workload.name
    )
}

/// A comment where a new group begins.
fn heading(out: &mut String, rank: Rank, last: &mut Option<u8>, down: bool) {
    let (class, text) = match (rank, down) {
        (Rank::Deployment, true) => (0, "Deployments, which usually use what comes after them."),
        (Rank::StatefulSet, true) => (1, "StatefulSets without a sign of a database."),
        (Rank::Data(_), true) => (
            2,
            "Last, what looks like a database or queue by its name or image.",
        ),
        (Rank::Data(_), false) => (
            2,
            "First, what looks like a database or queue by its name or image.",
        ),
        (Rank::StatefulSet, false) => (1, "StatefulSets without a sign of a database."),
        (Rank::Deployment, false) => (0, "Deployments, when what they use is ready."),
    };
    if *last != Some(class) {
        let _ = writeln!(out, "    # {text}");
        *last = Some(class);
    }
}

fn cron_jobs(
    inventory: &[NamespaceInventory],
    suspended: bool,
) -> impl Iterator<Item = String> + '_ {
    inventory.iter().flat_map(move |space| {
        space
            .cron_jobs
            .iter()
            .filter(move |job| job.suspend == suspended)
            .map(move |job| format!("cronjob.{}/{}", space.name, job.name))
    })
}

fn releases(out: &mut String, inventory: &[NamespaceInventory]) {
    let mut first = true;
    for space in inventory {
        for release in &space.releases {
            if first {
                out.push_str(
                    "\n# Helm releases found here. Their workloads are steps above and are parked by \
                     size, which\n# keeps everything else of a release in place. To uninstall and \
                     install one instead, set\n# helm.workspace and use these references:\n",
                );
                first = false;
            }
            let _ = writeln!(
                out,
                "#   release.{}/{}  (revision {}, {})",
                space.name, release.name, release.revision, release.status
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use kzero_cluster::{
        CronJobEntry, HelmRelease, NamespaceInventory, ScaleKind, WorkloadEntry, WorkloadRef,
    };
    use kzero_profile::{LoadRequest, Overrides, Source};

    use super::{Rank, profile, rank};

    fn workload(kind: ScaleKind, name: &str, image: &str, replicas: i32) -> WorkloadEntry {
        WorkloadEntry {
            workload: WorkloadRef::new(kind, "app", name),
            labels: BTreeMap::new(),
            annotations: BTreeMap::new(),
            images: vec![image.to_owned()],
            replicas,
        }
    }

    fn cron_job(name: &str, suspend: bool) -> CronJobEntry {
        CronJobEntry {
            name: name.to_owned(),
            labels: BTreeMap::new(),
            annotations: BTreeMap::new(),
            images: vec![],
            schedule: "0 1 * * *".into(),
            suspend,
        }
    }

    #[test]
    fn databases_are_told_by_name_or_image() {
        let deployment = ScaleKind::Deployment;
        assert_eq!(
            rank(&workload(deployment, "x", "r.io/team/postgres:16", 1)),
            Rank::Data("postgres")
        );
        assert_eq!(
            rank(&workload(deployment, "my-redis", "x", 1)),
            Rank::Data("redis")
        );
        assert_eq!(
            rank(&workload(deployment, "redis-exporter", "x", 1)),
            Rank::Deployment
        );
        assert_eq!(
            rank(&workload(deployment, "x", "postgres.example.com/web:1", 1)),
            Rank::Deployment
        );
        assert_eq!(
            rank(&workload(ScaleKind::StatefulSet, "x", "y", 1)),
            Rank::StatefulSet
        );
    }

    #[test]
    fn the_profile_loads_and_orders_databases_last_down_first_up() {
        let inventory = [NamespaceInventory {
            name: "app".into(),
            exists: Some(true),
            workloads: vec![
                workload(ScaleKind::StatefulSet, "db", "postgres:16", 1),
                workload(ScaleKind::Deployment, "web", "web:1", 3),
                workload(ScaleKind::Deployment, "off", "off:1", 0),
                workload(ScaleKind::StatefulSet, "queue", "worker:1", 2),
            ],
            cron_jobs: vec![cron_job("nightly", false), cron_job("old", true)],
            releases: vec![HelmRelease {
                name: "web".into(),
                revision: 3,
                status: "deployed".into(),
            }],
            unreadable: vec![],
        }];
        let text = profile("a \"b\"", &["app".into()], &inventory);
        let kinds = crate::steps::kind_specs();
        let request = LoadRequest {
            path: std::path::Path::new("kzero.yaml"),
            explicit: false,
            env: &|_| None,
            kinds: &kinds,
            flags: Overrides::default(),
        };
        let loaded = kzero_profile::parse(Source::new("kzero.yaml", text.clone()), &request)
            .unwrap_or_else(|error| panic!("{error}\n{text}"));
        assert!(loaded.warnings.is_empty(), "{text}");
        assert_eq!(loaded.cluster.name, "a \"b\"");
        let names = |phase| -> Vec<String> {
            let steps = loaded.pipelines.steps(phase).iter();
            steps
                .map(|step| match &step.body {
                    kzero_profile::StepBody::Reference(reference) => reference.name.clone(),
                    kzero_profile::StepBody::Custom { path } => path.clone(),
                })
                .collect()
        };
        assert_eq!(
            names(kzero_profile::Phase::Down),
            ["nightly", "web", "queue", "db"]
        );
        assert_eq!(
            names(kzero_profile::Phase::Up),
            ["db", "queue", "web", "nightly"]
        );
        assert!(text.contains("left out: deployment.app/off"));
        assert!(text.contains("left out: cronjob.app/old"));
        assert!(text.contains("release.app/web  (revision 3, deployed)"));
    }

    #[test]
    fn an_environment_that_sleeps_gives_empty_lists() {
        let inventory = [NamespaceInventory {
            name: "app".into(),
            exists: Some(true),
            workloads: vec![workload(ScaleKind::Deployment, "off", "off:1", 0)],
            cron_jobs: vec![],
            releases: vec![],
            unreadable: vec![],
        }];
        let text = profile("c", &["app".into()], &inventory);
        assert!(text.contains("down: []"), "{text}");
        assert!(text.contains("up: []"), "{text}");
    }
}
