//! Steps on the API server in memory: sizes, requests, presence, rights.

use kzero_testkit::objects::Object;
use kzero_testkit::{Fault, FaultProxy, LoggedRequest, MiniApi, Rule, objects};
use serde_json::json;

use crate::{kzero, live};

/// Whether a request is about the Lease of the run.
fn is_of_lock(request: &LoggedRequest) -> bool {
    request.path.contains("/leases")
}

#[test]
fn a_scale_step_takes_two_requests() {
    // S-D.13
    let api = MiniApi::start_blocking();
    api.apply(objects::deployment("a", "b", 3));
    api.apply(objects::statefulset("a", "s", 2));
    // A status that changes in between would be a conflict, and two requests more.
    let settled = |path: &str, size: u32| {
        api.wait_until_blocking(path, std::time::Duration::from_secs(10), |object| {
            object["status"]["readyReplicas"] == size
        })
        .unwrap();
    };
    settled("/apis/apps/v1/namespaces/a/deployments/b", 3);
    settled("/apis/apps/v1/namespaces/a/statefulsets/s", 2);
    for (command, profile) in [
        (
            "down",
            "pipelines:\n  down:\n    - deployment.a/b: {wait_for_termination: true}\n    - statefulset.a/s: {wait_for_termination: true}\n",
        ),
        (
            "up",
            "pipelines:\n  up:\n    - deployment.a/b: {replicas: 3}\n    - statefulset.a/s\n",
        ),
    ] {
        api.clear_requests();
        kzero()
            .cluster(&api)
            .profile(&live(profile))
            .args([command])
            .run()
            .assert_code(0);
        let asked: Vec<String> = api
            .requests()
            .iter()
            .filter(|request| request.path.contains("/scale"))
            .map(|request| request.method.clone())
            .collect();
        assert_eq!(asked, ["GET", "PATCH", "GET", "PATCH"], "{command}");
        // Others are preflight, waits, and what lock, journal and memory ask for, once a run.
        let requests = api.requests();
        let others = requests
            .iter()
            .filter(|request| !request.path.contains("/scale") && !is_of_lock(request))
            .filter(|request| {
                !request.path.contains("/pods")
                    && !request.path.contains("/replicasets")
                    && !request.path.ends_with("/deployments/b")
                    && !request.path.ends_with("/statefulsets/s")
            })
            .map(|request| format!("{} {}", request.method, request.path));
        let mut others: Vec<String> = others.collect();
        others.sort();
        let map = "/api/v1/namespaces/default/configmaps";
        let lists = [
            "GET /apis/apps/v1/namespaces/a/deployments".to_owned(),
            "GET /apis/apps/v1/namespaces/a/statefulsets".to_owned(),
        ];
        let mut expected = vec![
            "GET /version".to_owned(),
            "GET /api/v1/namespaces/kube-system".to_owned(),
            format!("GET {map}/kzero-kzero"),
        ];
        match command {
            "down" => {
                expected.extend(lists);
                expected.push(format!("POST {map}"));
            }
            _ => expected.push(format!("DELETE {map}/kzero-kzero")),
        }
        expected.sort();
        assert_eq!(others, expected, "{command}");
        assert_eq!(requests.iter().filter(|it| is_of_lock(it)).count(), 3);
    }
}

#[test]
fn the_size_of_an_up_is_the_steps_the_live_one_or_1() {
    // S-D.12 without memory
    let api = MiniApi::start_blocking();
    api.apply(objects::deployment("a", "given", 1));
    api.apply(objects::deployment("a", "live", 4));
    api.apply(objects::deployment("a", "zero", 0));
    api.apply(objects::deployment("a", "stays", 2));
    let outcome = kzero()
        .cluster(&api)
        .profile(&live(
            "pipelines:\n  up:\n    - deployment.a/given: {replicas: 3}\n    - deployment.a/live\n    \
             - deployment.a/zero\n    - deployment.a/stays: {replicas: 0}\n",
        ))
        .args(["up"])
        .run();
    outcome.assert_code(0);
    outcome.assert_stdout("[live] scale deployment.a/given -> 3 replicas\n");
    outcome.assert_stdout(
        "[live] scale deployment.a/zero -> 1 replicas (default, nothing remembered)\n",
    );
    let size = |name: &str| {
        let path = format!("/apis/apps/v1/namespaces/a/deployments/{name}");
        api.get(&path).unwrap()["spec"]["replicas"]
            .as_u64()
            .unwrap()
    };
    assert_eq!(
        [size("given"), size("live"), size("zero"), size("stays")],
        [3, 4, 1, 0]
    );
}

#[test]
fn w13_rights_to_the_scale_subresource_are_enough() {
    let api = MiniApi::start_blocking();
    api.apply(objects::deployment("a", "b", 2));
    api.deny("patch", "deployments");
    api.deny("update", "deployments");
    api.deny("list", "deployments");
    api.deny("watch", "deployments");
    kzero()
        .cluster(&api)
        .profile(&live("pipelines:\n  down:\n    - deployment.a/b\n  up:\n    - deployment.a/b: {replicas: 2, wait_for_ready: true}\n"))
        .args(["reset"])
        .run()
        .assert_code(0);
}

#[test]
fn a_missing_right_is_named_and_not_repeated() {
    // S-2.18
    let api = MiniApi::start_blocking();
    api.apply(objects::deployment("a", "b", 2));
    api.deny("patch", "deployments/scale");
    let outcome = kzero()
        .cluster(&api)
        .profile(&live(
            "retry: {attempts: 3, delay: 1ms}\npipelines:\n  down:\n    - deployment.a/b\n",
        ))
        .args(["down"])
        .run();
    outcome
        .assert_code(3)
        .assert_stderr("patch")
        .assert_stderr("deployments/scale")
        .assert_stderr("deployment.a/b");
    assert!(!outcome.stdout.contains("[retry]"));
}

#[test]
fn a_missing_object_fails_the_step_and_is_not_repeated() {
    let api = MiniApi::start_blocking();
    let outcome = kzero()
        .cluster(&api)
        .profile(&live(
            "retry: {attempts: 3, delay: 1ms}\npipelines:\n  down:\n    - deployment.a/b\n",
        ))
        .args(["down"])
        .run();
    outcome
        .assert_code(3)
        .assert_stderr("step deployment.a/b (down[0]): deployment a/b: not found");
    assert!(!outcome.stdout.contains("[retry]"));
}

#[test]
fn w05_a_workload_without_annotations_is_handled() {
    let api = MiniApi::start_blocking();
    let mut object = objects::statefulset("a", "s", 2);
    object["metadata"]
        .as_object_mut()
        .unwrap()
        .remove("annotations");
    object["spec"].as_object_mut().unwrap().remove("replicas");
    api.apply(object);
    let place = kzero().cluster(&api).profile(&live(
        "pipelines:\n  down:\n    - statefulset.a/s: {wait_for_termination: true}\n  up:\n    - statefulset.a/s: {replicas: 1, wait_for_ready: true}\n",
    ));
    place.run_with(["reset"]).assert_code(0);
    let object = api
        .get("/apis/apps/v1/namespaces/a/statefulsets/s")
        .unwrap();
    assert!(
        object["metadata"]["annotations"].is_null(),
        "{}",
        object["metadata"]
    );
}

#[test]
fn w19_throttling_is_obeyed_and_told() {
    let api = MiniApi::start_blocking();
    api.apply(objects::deployment("a", "b", 1));
    let proxy = FaultProxy::for_mini(&api);
    proxy.add(
        Rule::new(Fault::retry_after(429, 1))
            .method("PATCH")
            .path("/scale")
            .first(2),
    );
    let folder = tempfile::tempdir().unwrap();
    let outcome = kzero()
        .kubeconfig(proxy.kubeconfig(folder.path()))
        .profile(&live("pipelines:\n  down:\n    - deployment.a/b\n"))
        .args(["down"])
        .run();
    outcome.assert_code(0);
    assert!(outcome.elapsed.as_millis() >= 2000, "{:?}", outcome.elapsed);
    let lines = outcome.stdout_lines();
    let told = lines
        .iter()
        .filter(|line| line.level == "WRN" && line.text.contains("429"))
        .count();
    assert_eq!(told, 2, "{}", outcome.stdout);
}

#[test]
fn throttling_counts_against_the_steps_timeout() {
    // S-2.19
    let api = MiniApi::start_blocking();
    api.apply(objects::deployment("a", "b", 1));
    let proxy = FaultProxy::for_mini(&api);
    proxy.add(
        Rule::new(Fault::retry_after(429, 30))
            .method("PATCH")
            .path("/scale"),
    );
    let folder = tempfile::tempdir().unwrap();
    let outcome = kzero()
        .kubeconfig(proxy.kubeconfig(folder.path()))
        .profile(&live(
            "pipelines:\n  down:\n    - deployment.a/b: {timeout: 500ms}\n",
        ))
        .args(["down"])
        .run();
    outcome.assert_code(3).assert_stderr("step timeout 500ms");
    assert!(outcome.elapsed.as_secs() < 10);
}

#[test]
fn w09_a_paused_deployment_is_ready_with_a_warning() {
    let api = MiniApi::start_blocking();
    // A Deployment that is paused before it ever had pods gets none; this one had.
    let path = "/apis/apps/v1/namespaces/a/deployments/b";
    api.apply(objects::deployment("a", "b", 1));
    api.wait_until_blocking(path, std::time::Duration::from_secs(10), |object| {
        object["status"]["readyReplicas"] == 1
    })
    .unwrap();
    api.patch(path, &json!({"spec": {"paused": true, "replicas": 0}}));
    let outcome = kzero()
        .cluster(&api)
        .profile(&live(
            "pipelines:\n  up:\n    - deployment.a/b: {replicas: 2, wait_for_ready: true}\n",
        ))
        .args(["up"])
        .run();
    outcome.assert_code(0);
    assert!(
        outcome
            .stdout_lines()
            .iter()
            .any(|line| line.level == "WRN" && line.text.contains("paused"))
    );
}

#[test]
fn a_wait_that_times_out_says_what_is_missing_and_why() {
    // S-2.11, S-11.31
    let api = MiniApi::start_blocking();
    api.apply(objects::deployment("a", "b", 0).annotated("sim.kzero/fail", "image"));
    let outcome = kzero()
        .cluster(&api)
        .profile(&live("pipelines:\n  up:\n    - deployment.a/b: {replicas: 1, wait_for_ready: true, timeout: 2s}\n"))
        .args(["up"])
        .run();
    outcome
        .assert_code(3)
        .assert_stderr("step timeout 2s")
        .assert_stderr("0 of 1");
    outcome.assert_stdout("cause of deployment.a/b (up[0]):");
    outcome.assert_stdout("ImagePull");
}

#[test]
fn termination_waits_for_pods_that_are_still_terminating() {
    // S-2.14
    let api = MiniApi::start_blocking();
    api.apply(objects::deployment("a", "b", 2).annotated("sim.kzero/stop", "1"));
    api.wait_until_blocking(
        "/apis/apps/v1/namespaces/a/deployments/b",
        std::time::Duration::from_secs(10),
        |object| object["status"]["readyReplicas"] == 2,
    )
    .unwrap();
    let outcome = kzero()
        .cluster(&api)
        .profile(&live(
            "pipelines:\n  down:\n    - deployment.a/b: {wait_for_termination: true}\n",
        ))
        .args(["down"])
        .run();
    outcome.assert_code(0);
    assert!(api.list("/api/v1/namespaces/a/pods").is_empty());
}

#[test]
fn a_claim_in_use_names_its_pods() {
    // S-2.15
    let api = MiniApi::start_blocking();
    api.apply(objects::pvc("a", "data"));
    api.apply(objects::pod("a", "user").with(
        "/spec/volumes",
        json!([{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]),
    ));
    let outcome = kzero()
        .cluster(&api)
        .profile(&live(
            "pipelines:\n  down:\n    - pvc.a/data\n    - pvc.a/absent\n",
        ))
        .args(["down"])
        .run();
    outcome
        .assert_code(0)
        .assert_stdout("pvc a/data stays until these pods let go of it: a/user");
    outcome.assert_stdout("pvc a/absent is absent, nothing to do");
}

const JOB: &str = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: other}\nspec:\n  template:\n    spec:\n      \
                   restartPolicy: Never\n      containers: [{name: c, image: x}]\n";

#[test]
fn a_job_is_created_awaited_and_replaced_by_the_next_run() {
    // S-2.17, S-D.14
    let api = MiniApi::start_blocking();
    api.apply(objects::namespace("a"));
    let place = kzero()
        .cluster(&api)
        .profile(&live("pipelines:\n  up:\n    - job.a/migrate: {manifest: ./j.yaml}\n  down:\n    - job.a/migrate\n"))
        .file("j.yaml", JOB);
    place
        .run_with(["up"])
        .assert_code(0)
        .assert_stdout("wait job complete job.a/migrate (timeout 5m0s)");
    let path = "/apis/batch/v1/namespaces/a/jobs/migrate";
    let first = api.get(path).unwrap();
    assert!(first["metadata"]["annotations"]["kzero.io/manifest-hash"].is_string());
    place
        .run_with(["up"])
        .assert_code(0)
        .assert_stdout("replacing the one of an earlier run");
    assert_ne!(
        api.get(path).unwrap()["metadata"]["uid"],
        first["metadata"]["uid"]
    );
    place.run_with(["down"]).assert_code(0);
    api.wait_until_blocking(
        path,
        std::time::Duration::from_secs(10),
        serde_json::Value::is_null,
    )
    .unwrap();
    place
        .run_with(["down"])
        .assert_code(0)
        .assert_stdout("job a/migrate is absent, nothing to do");
}

#[test]
fn a_job_of_somebody_else_fails_the_step_and_is_named() {
    let api = MiniApi::start_blocking();
    api.apply(objects::job("a", "migrate").annotated("sim.kzero/run", "never"));
    let place = kzero()
        .cluster(&api)
        .profile(&live(
            "pipelines:\n  up:\n    - job.a/migrate: {manifest: ./j.yaml}\n",
        ))
        .file("j.yaml", JOB);
    place
        .run_with(["up"])
        .assert_code(3)
        .assert_stderr("job a/migrate: already exists, it was not made by kzero");
}

#[test]
fn a_failed_job_fails_at_once_with_its_message() {
    let api = MiniApi::start_blocking();
    api.apply(objects::namespace("a"));
    let job = JOB.replace(
        "  template:\n",
        "  backoffLimit: 0\n  template:\n    metadata: {annotations: {sim.kzero/exit: \"3\"}}\n",
    );
    let place = kzero()
        .cluster(&api)
        .profile(&live(
            "pipelines:\n  up:\n    - job.a/migrate: {manifest: ./j.yaml}\n",
        ))
        .file("j.yaml", &job);
    let outcome = place.run_with(["up"]);
    outcome
        .assert_code(3)
        .assert_stderr("step job.a/migrate (up[0]): ")
        .assert_stderr("BackoffLimitExceeded");
    assert!(outcome.elapsed.as_secs() < 30);
}

#[test]
fn a_cronjob_is_suspended_and_resumed_and_nothing_else_of_it_is_touched() {
    // S-11.8; W15's startingDeadlineSeconds
    let api = MiniApi::start_blocking();
    api.apply(objects::cronjob("a", "nightly").with("/spec/startingDeadlineSeconds", 100));
    let path = "/apis/batch/v1/namespaces/a/cronjobs/nightly";
    let before = api.get(path).unwrap();
    let place = kzero().cluster(&api).profile(&live(
        "pipelines:\n  down:\n    - cronjob.a/nightly\n  up:\n    - cronjob.a/nightly\n",
    ));
    place.run_with(["down"]).assert_code(0);
    assert_eq!(api.get(path).unwrap()["spec"]["suspend"], true);
    place.run_with(["up"]).assert_code(0);
    let after = api.get(path).unwrap();
    assert_eq!(after["spec"]["suspend"], false);
    assert_eq!(
        after["spec"]["startingDeadlineSeconds"],
        before["spec"]["startingDeadlineSeconds"]
    );
    assert_eq!(after["spec"]["schedule"], before["spec"]["schedule"]);
}

#[test]
fn a_finished_step_run_again_changes_nothing() {
    // S-2.20
    let api = MiniApi::start_blocking();
    api.apply(objects::deployment("a", "b", 1));
    api.apply(objects::cronjob("a", "n"));
    let place = kzero().cluster(&api).profile(&live(
        "pipelines:\n  down:\n    - deployment.a/b\n    - cronjob.a/n\n",
    ));
    place.run_with(["down"]).assert_code(0);
    let version = |path: &str| api.get(path).unwrap()["metadata"]["resourceVersion"].clone();
    let cron = version("/apis/batch/v1/namespaces/a/cronjobs/n");
    api.clear_requests();
    place.run_with(["down"]).assert_code(0);
    assert_eq!(version("/apis/batch/v1/namespaces/a/cronjobs/n"), cron);
    let writes = api.writes();
    assert!(writes.iter().all(is_of_lock), "{writes:?}");
}

#[test]
fn absence_is_fine_for_objects_of_a_release_on_down() {
    // S-D.15
    let api = MiniApi::start_blocking();
    api.apply(objects::namespace("a"));
    let helm = "#!/bin/sh\necho \"helm $*\"\n";
    let place = kzero()
        .cluster(&api)
        .profile(
            "schema_version: \"1.0\"\nrun: {mode: live, execution: auto}\nhelm: {workspace: h}\npipelines:\n  \
             down:\n    - cronjob.a/n\n",
        )
        .script("bin/helm", helm);
    place
        .run_with(["down"])
        .assert_code(3)
        .assert_stderr("cronjob a/n: not found");
}

#[test]
fn shell_execution_runs_the_configured_programs() {
    // Table 2.3, C-2.9's literal commands
    let api = MiniApi::start_blocking();
    api.apply(objects::deployment("a", "b", 2));
    let place = kzero()
        .cluster(&api)
        .profile(
            "schema_version: \"1.0\"\nrun: {mode: live, execution: shell}\ncommand: {kubectl: ./kubectl, helm: ./helm}\n\
             helm: {workspace: ws}\npipelines:\n  down:\n    - deployment.a/b\n    - release.a/r\n  up:\n    \
             - release.a/r\n    - deployment.a/b: {replicas: 2, wait_for_ready: true, timeout: 90s}\n",
        )
        .script("kubectl", "echo \"kubectl $*\" >>calls\n")
        .script("helm", "echo \"helm $*\" >>calls\n")
        .script("ws/r.sh", "echo \"script $*\" >>../calls\n");
    place
        .run_with(["reset"])
        .assert_code(0)
        .assert_stdout("[live] helm uninstall a/r (--wait --ignore-not-found)");
    assert_eq!(
        place.read("calls"),
        "kubectl scale deployment/b -n a --replicas 0\n\
         helm uninstall r -n a --wait --ignore-not-found\n\
         script up\n\
         kubectl scale deployment/b -n a --replicas 2\n\
         kubectl rollout status deployment/b -n a --timeout 1m30s\n"
    );
    let broken = kzero()
        .cluster(&api)
        .profile(
            "schema_version: \"1.0\"\nrun: {mode: live, execution: shell}\ncommand: {kubectl: no-such-kubectl}\n\
             pipelines:\n  down:\n    - deployment.a/b\n",
        )
        .args(["down"])
        .run();
    broken
        .assert_code(1)
        .assert_stderr("no-such-kubectl not found on PATH")
        .assert_stderr("command.kubectl");
}
