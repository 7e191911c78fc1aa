//! Jobs, CronJobs, claims and commands.

use kzero_cluster::{ApplyMode, Deleted, ErrorClass, JobOutcome, ScaleKind, Stream, WaitError};
use serde_json::json;

use crate::support::{Place, budget, job};

#[tokio::test]
async fn s_2_17_a_job_is_created_awaited_and_deleted() {
    let place = Place::new("job").await;
    let (cluster, ns) = (&place.cluster, place.namespace.as_str());
    let manifest = job("other-name", &json!({}));
    cluster
        .create_job(ns, "migrate", &manifest, ApplyMode::DryRun, &budget(10))
        .await
        .unwrap();
    assert_eq!(cluster.job(ns, "migrate", &budget(10)).await.unwrap(), None);
    let made = cluster
        .create_job(ns, "migrate", &manifest, ApplyMode::Live, &budget(10))
        .await
        .unwrap();
    assert_eq!(made.finished, None);
    let exists = cluster
        .create_job(ns, "migrate", &manifest, ApplyMode::Live, &budget(10))
        .await
        .unwrap_err();
    assert_eq!(exists.class(), ErrorClass::Exists);
    cluster
        .wait_job(ns, "migrate", Some(&made.uid), &budget(30))
        .await
        .unwrap();
    let done = cluster
        .job(ns, "migrate", &budget(10))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(done.finished, Some(JobOutcome::Complete));

    // A manifest taken from the live Job works for another one.
    let live = place.read("batch/v1", "Job", "migrate").await.unwrap();
    cluster
        .create_job(ns, "again", &live, ApplyMode::Live, &budget(10))
        .await
        .unwrap();

    let refused = cluster
        .delete_job(ns, "migrate", Some("other"), ApplyMode::Live, &budget(10))
        .await
        .unwrap_err();
    assert_eq!(refused.class(), ErrorClass::Conflict);
    let deleted = cluster
        .delete_job(ns, "migrate", None, ApplyMode::DryRun, &budget(10))
        .await
        .unwrap();
    assert!(matches!(deleted, Deleted::Accepted { .. }));
    assert!(
        cluster
            .job(ns, "migrate", &budget(10))
            .await
            .unwrap()
            .is_some_and(|job| !job.deleting)
    );
    cluster
        .delete_job(ns, "migrate", Some(&made.uid), ApplyMode::Live, &budget(10))
        .await
        .unwrap();
    cluster
        .wait_job_gone(ns, "migrate", Some(&made.uid), &budget(20))
        .await
        .unwrap();
    let absent = cluster
        .delete_job(ns, "migrate", None, ApplyMode::Live, &budget(10))
        .await
        .unwrap();
    assert_eq!(absent, Deleted::Absent);
}

#[tokio::test]
async fn s_2_17_a_failed_and_a_suspended_job_are_told_apart() {
    let place = Place::new("jobfail").await;
    let (cluster, ns) = (&place.cluster, place.namespace.as_str());
    let manifest = job("bad", &json!({"sim.kzero/exit": "3"}));
    cluster
        .create_job(ns, "bad", &manifest, ApplyMode::Live, &budget(10))
        .await
        .unwrap();
    let error = cluster
        .wait_job(ns, "bad", None, &budget(30))
        .await
        .unwrap_err();
    assert!(
        matches!(&error, WaitError::Failed(text) if text.contains("BackoffLimitExceeded")),
        "{error}"
    );

    let mut manifest = job("idle", &json!({}));
    manifest["spec"]["suspend"] = json!(true);
    cluster
        .create_job(ns, "idle", &manifest, ApplyMode::Live, &budget(10))
        .await
        .unwrap();
    let error = cluster
        .wait_job(ns, "idle", None, &budget(2))
        .await
        .unwrap_err();
    assert!(
        error.to_string().contains("the Job is suspended"),
        "{error}"
    );
}

#[tokio::test]
async fn s_11_8_a_cronjob_keeps_all_but_its_suspension() {
    let place = Place::new("cron").await;
    let (cluster, ns) = (&place.cluster, place.namespace.as_str());
    let template = job("x", &json!({}))["spec"].clone();
    let before = place
        .create(json!({
            "apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "nightly"},
            "spec": {"schedule": "0 3 1 1 *", "startingDeadlineSeconds": 60, "jobTemplate": {"spec": template}},
        }))
        .await;
    let dry = cluster
        .set_suspend(ns, "nightly", true, ApplyMode::DryRun, &budget(10))
        .await
        .unwrap();
    assert_eq!((dry.before, dry.after), (false, true));
    let set = cluster
        .set_suspend(ns, "nightly", true, ApplyMode::Live, &budget(10))
        .await
        .unwrap();
    assert_eq!((set.before, set.after, set.patched), (false, true, true));
    let again = cluster
        .set_suspend(ns, "nightly", true, ApplyMode::Live, &budget(10))
        .await
        .unwrap();
    assert_eq!((again.before, again.patched), (true, false));
    let after = place.read("batch/v1", "CronJob", "nightly").await.unwrap();
    let mut expected = before["spec"].clone();
    expected["suspend"] = json!(true);
    assert_eq!(after["spec"], expected);
    let wanted = [
        (ns.to_owned(), "nightly".to_owned()),
        (ns.to_owned(), "gone".to_owned()),
    ];
    let states = cluster.cron_jobs(&wanted, &budget(10)).await.unwrap();
    assert_eq!(states.len(), 1);
    assert!(states[&wanted[0]].suspend);
}

#[tokio::test]
async fn s_2_15_a_claim_that_a_pod_uses_is_deleted_and_the_pod_named() {
    let place = Place::new("claim").await;
    let (cluster, ns) = (&place.cluster, place.namespace.as_str());
    let claim = |name: &str| {
        json!({
            "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name},
            "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
        })
    };
    place.create(claim("used")).await;
    place.create(claim("free")).await;
    place
        .create(json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "user"},
            "spec": {
                "containers": [{"name": "main", "image": "example.com/app:1"}],
                "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "used"}}],
            },
        }))
        .await;
    let bound = async {
        while !cluster
            .claim(ns, "used", &budget(10))
            .await
            .unwrap()
            .unwrap()
            .bound()
        {
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    };
    budget(20).run(bound).await.unwrap();
    let held = cluster
        .delete_claim(ns, "used", ApplyMode::Live, &budget(10))
        .await
        .unwrap();
    assert_eq!(
        held,
        Deleted::Accepted {
            held_by: vec![format!("{ns}/user")]
        }
    );
    assert!(
        cluster
            .claim(ns, "used", &budget(10))
            .await
            .unwrap()
            .unwrap()
            .deleting
    );
    let free = cluster
        .delete_claim(ns, "free", ApplyMode::Live, &budget(10))
        .await
        .unwrap();
    assert_eq!(
        free,
        Deleted::Accepted {
            held_by: Vec::new()
        }
    );
    let absent = cluster
        .delete_claim(ns, "never", ApplyMode::Live, &budget(10))
        .await
        .unwrap();
    assert_eq!(absent, Deleted::Absent);
}

#[tokio::test]
async fn s_2_16_a_command_gets_its_input_and_gives_output_and_code() {
    let place = Place::new("exec").await;
    let (cluster, ns) = (&place.cluster, place.namespace.as_str());
    let api = place
        .workload(ScaleKind::StatefulSet, "pg", 1, json!({}))
        .await;
    cluster.wait_ready(&api, None, &budget(30)).await.unwrap();
    let containers = cluster
        .pod_containers(ns, "pg-0", &budget(10))
        .await
        .unwrap();
    assert_eq!(containers, Some(vec!["main".to_owned()]));
    assert_eq!(
        cluster
            .pod_containers(ns, "pg-9", &budget(10))
            .await
            .unwrap(),
        None
    );

    let command = |script: &str| ["sh", "-c", script].map(str::to_owned);
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let mut collect = |stream: Stream, data: &[u8]| match stream {
        Stream::Stdout => out.extend_from_slice(data),
        Stream::Stderr => err.extend_from_slice(data),
    };
    let input = "line\n".repeat(50_000);
    let code = cluster
        .exec(
            ns,
            "pg-0",
            "main",
            &command("cat; echo bad >&2; exit 3"),
            Some(&input),
            &mut collect,
            &budget(30),
        )
        .await
        .unwrap();
    assert_eq!(code, 3);
    assert_eq!(String::from_utf8(err).unwrap(), "bad\n");
    assert_eq!(out.len(), input.len());
    assert_eq!(out, input.as_bytes());

    let mut ignore = |_: Stream, _: &[u8]| {};
    let code = cluster
        .exec(
            ns,
            "pg-0",
            "main",
            &command("exit 0"),
            None,
            &mut ignore,
            &budget(30),
        )
        .await
        .unwrap();
    assert_eq!(code, 0);
    // A command that does not read what it is given.
    let code = cluster
        .exec(
            ns,
            "pg-0",
            "main",
            &command("exit 4"),
            Some(&input),
            &mut ignore,
            &budget(30),
        )
        .await
        .unwrap();
    assert_eq!(code, 4);
    for (pod, container) in [("pg-9", "main"), ("pg-0", "sidecar")] {
        let error = cluster
            .exec(
                ns,
                pod,
                container,
                &command("true"),
                None,
                &mut ignore,
                &budget(30),
            )
            .await
            .unwrap_err();
        assert_eq!(error.class(), ErrorClass::NotFound, "{error}");
        assert!(!error.is_transient());
    }
    let error = cluster
        .exec(
            ns,
            "pg-0",
            "main",
            &["no-such-program".to_owned()],
            None,
            &mut ignore,
            &budget(30),
        )
        .await
        .unwrap_err();
    assert!(error.to_string().contains("no-such-program"), "{error}");
    assert!(!error.is_transient());
    let slow = cluster
        .exec(
            ns,
            "pg-0",
            "main",
            &command("sleep 60"),
            None,
            &mut ignore,
            &budget(1),
        )
        .await
        .unwrap_err();
    assert_eq!(slow.class(), ErrorClass::TimedOut);
    assert!(slow.to_string().contains("test 1s"), "{slow}");
}
