//! TERM and kill -9 in each stage of S-3.2 on the real cluster.

use std::time::Duration;

use kzero_testkit::objects::{self, Object};
use kzero_testkit::{
    ControlPlane, Fault, FaultProxy, Fifo, Kzero, Namespace, Rule, Running, Signal,
};
use serde_json::{Value, json};

use crate::{SOON, live, through, until};

/// Says its stage in `log`; in the stage that `hang` names it says so to the test and stays, in a
/// child of its own.
const STAGE: &str = "stage=\"$KZERO_HOOK$KZERO_STEP_HOOK\"\necho \"$stage\" >>log\n\
    if [ \"$stage\" = \"$(cat hang)\" ]; then echo \"$stage\" >there; sleep 100; fi\n";

/// A step that fails while the test hangs in clean-up.
const LAST: &str = "if [ \"$(cat hang)\" = on-error ]; then exit 1; fi\n";

/// How a stage is made to last.
#[derive(Clone, Copy)]
enum Held {
    /// A script of that name stays.
    Script,
    /// The first request of that method and pattern gets no answer.
    Request(&'static str, &'static str),
    /// The cluster does not do what is waited for.
    Wait,
}

const STAGES: &[(&str, Held)] = &[
    ("preflight", Held::Request("GET", "^/version")),
    ("pre-COMMAND", Held::Script),
    ("pre", Held::Script),
    ("read", Held::Request("GET", "/deployments/one.*/scale")),
    ("main", Held::Request("PATCH", "/deployments/one.*/scale")),
    ("wait", Held::Wait),
    ("post", Held::Script),
    ("last", Held::Request("PATCH", "/cronjobs/")),
    ("post-COMMAND", Held::Script),
    ("on-error", Held::Script),
];

/// One command, to be ended in one stage, on objects of its own.
struct Case<'a> {
    plane: &'a ControlPlane,
    space: &'a Namespace<'a>,
    command: &'static str,
    stage: String,
    held: Held,
    suffix: String,
}

impl Case<'_> {
    fn path(&self, group: &str, plural: &str, name: &str) -> String {
        self.space
            .path(group, &format!("{plural}/{name}{}", self.suffix))
    }

    fn one(&self) -> String {
        self.path("apis/apps/v1", "deployments", "one")
    }

    fn pods(&self) -> String {
        let query = format!("pods?labelSelector=app%3Done{}", self.suffix);
        self.space.path("api/v1", &query)
    }

    fn prepare(&self) {
        let down = self.command == "down";
        let size = u32::from(down);
        let name = |name: &str| format!("{name}{}", self.suffix);
        let space = self.space.name();
        let mut one = objects::deployment(space, &name("one"), size);
        if let Held::Wait = self.held {
            one = if down {
                one.with(
                    "/spec/template/metadata/finalizers",
                    json!(["test.kzero/hold"]),
                )
            } else {
                one.annotated("sim.kzero/ready", "never")
            };
        }
        self.plane.apply(&one);
        self.plane
            .apply(&objects::statefulset(space, &name("two"), 2 * size));
        self.plane
            .apply(&objects::cronjob(space, &name("c")).with("/spec/suspend", !down));
        self.plane.wait_until(&self.one(), SOON, |found| {
            found["status"]["observedGeneration"] == 1
                && found["status"]["readyReplicas"].as_u64().unwrap_or(0) == u64::from(size)
        });
    }

    /// The wait gets what it waits for.
    fn let_go(&self) {
        if let Held::Wait = self.held {
            for pod in self.plane.list(&self.pods()) {
                let name = pod["metadata"]["name"].as_str().unwrap();
                let patch = json!({"metadata": {
                    "finalizers": null, "annotations": {"sim.kzero/ready": "0"},
                }});
                let path = self.space.path("api/v1", &format!("pods/{name}"));
                // One that goes meanwhile needs no help.
                let _ = self.plane.request("PATCH", &path, &patch);
            }
        }
    }

    fn place(&self, proxy: &FaultProxy) -> Kzero {
        let suffix = &self.suffix;
        let steps = if self.command == "down" {
            format!(
                "    - statefulset.NS/two{suffix}\n    - deployment.NS/one{suffix}: {{pre: ./stage.sh, post: ./stage.sh, wait_for_termination: true}}\n"
            )
        } else {
            format!(
                "    - statefulset.NS/two{suffix}: {{replicas: 2}}\n    - deployment.NS/one{suffix}: {{replicas: 1, pre: ./stage.sh, post: ./stage.sh, wait_for_ready: true}}\n    - job.NS/j{suffix}: {{manifest: ./j.yaml}}\n"
            )
        };
        let command = self.command;
        through(proxy, self.space)
            .script("stage.sh", STAGE)
            .script("last.sh", LAST)
            .file("hang", &self.stage)
            .file("j.yaml", &objects::job("x", "y").to_string())
            .profile(
                &live(
                    self.space,
                    &format!(
                        "state: {{name: of{suffix}}}\nhooks: {{pre-{command}: ./stage.sh, post-{command}: ./stage.sh, on-error: ./stage.sh}}\n\
                         pipelines:\n  {command}:\n{steps}    - cronjob.NS/c{suffix}\n    - custom: ./last.sh\n"
                    ),
                )
                .replace("{mode: live}", "{mode: live, cleanup_timeout: 3s}"),
            )
    }

    /// Starts it and returns when it is in its stage.
    fn reach(&self, proxy: &FaultProxy, place: &Kzero, there: &Fifo) -> Running {
        let count = match self.held {
            Held::Request(method, pattern) => {
                let rule = Rule::new(Fault::BlackHole).method(method).pattern(pattern);
                Some(proxy.add(rule.first(1)))
            }
            Held::Script | Held::Wait => None,
        };
        let running = place.spawn_with([self.command]);
        match self.held {
            Held::Request(..) => until(&self.stage, || {
                count.as_ref().is_some_and(|count| count.hit() == 1)
            }),
            Held::Script => assert_eq!(there.wait(), self.stage),
            Held::Wait => {
                let what = if self.command == "down" {
                    "wait termination"
                } else {
                    "wait rollout"
                };
                running.wait_for_output(what);
            }
        }
        running
    }

    /// The state that an undisturbed run ends in.
    fn check_done(&self) {
        let down = self.command == "down";
        let size = u64::from(!down);
        let one = self.plane.get(&self.one()).unwrap();
        assert_eq!(one["spec"]["replicas"], size, "{}", self.stage);
        assert_eq!(
            one["status"]["readyReplicas"].as_u64().unwrap_or(0),
            size,
            "{}",
            self.stage
        );
        let two = self
            .plane
            .get(&self.path("apis/apps/v1", "statefulsets", "two"))
            .unwrap();
        assert_eq!(two["spec"]["replicas"], 2 * size, "{}", self.stage);
        let cron = self
            .plane
            .get(&self.path("apis/batch/v1", "cronjobs", "c"))
            .unwrap();
        assert_eq!(cron["spec"]["suspend"], down, "{}", self.stage);
        if down {
            assert_eq!(
                self.plane.list(&self.pods()),
                Vec::<Value>::new(),
                "{}",
                self.stage
            );
        } else {
            let job = self
                .plane
                .get(&self.path("apis/batch/v1", "jobs", "j"))
                .unwrap();
            assert_eq!(job["status"]["succeeded"], 1, "{}", self.stage);
        }
    }

    fn term(&self) {
        let proxy = FaultProxy::for_kubeconfig(self.plane.own_kubeconfig());
        let place = self.place(&proxy);
        let there = place.fifo("there");
        let running = self.reach(&proxy, &place, &there);
        running.signal(Signal::TERM);
        let begin = std::time::Instant::now();
        let outcome = running.wait();
        outcome.assert_code(3);
        // Five seconds for a call, three for clean-up, and a machine that has much to do.
        assert!(
            begin.elapsed() < Duration::from_secs(20),
            "{}: {:?}",
            self.stage,
            begin.elapsed()
        );
        let log = place.read("log");
        let stages: Vec<&str> = log.lines().collect();
        let times = stages.iter().filter(|stage| **stage == "on-error").count();
        assert_eq!(times, 1, "{}: {stages:?}", self.stage);
        assert_eq!(
            stages.last(),
            Some(&"on-error"),
            "{}: {stages:?}",
            self.stage
        );
        if self.stage != "on-error" {
            outcome.assert_stdout("pipeline interrupted (signal received)");
        }
        assert!(
            place.left_behind().is_empty(),
            "{}: {:?}",
            self.stage,
            place.left_behind()
        );
    }

    fn kill9(&self) {
        let proxy = FaultProxy::for_kubeconfig(self.plane.own_kubeconfig());
        let place = self.place(&proxy);
        let there = place.fifo("there");
        let running = self.reach(&proxy, &place, &there);
        running.kill9();
        assert_eq!(running.wait().signal, Some(9));
        for process in place.left_behind() {
            let pid = rustix::process::Pid::from_raw(process.pid).unwrap();
            // It may end by itself.
            let _ = rustix::process::kill_process(pid, Signal::KILL);
        }
        self.let_go();
        let place = place.file("hang", "nowhere");
        let running = place.spawn_with([self.command]);
        if let (Held::Wait, "up") = (self.held, self.command) {
            running.wait_for_output("wait rollout");
            self.plane
                .wait_until(&self.pods(), SOON, |found| found["items"][0].is_object());
            self.let_go();
        }
        running.wait().assert_code(0);
        self.check_done();
        assert!(
            place.left_behind().is_empty(),
            "{}: {:?}",
            self.stage,
            place.left_behind()
        );
    }
}

/// Every stage of a command, several at a time.
fn each_stage(prefix: &str, command: &'static str, signal: Signal) {
    let plane = ControlPlane::attach();
    let space = plane.namespace(prefix);
    let cases: Vec<Case<'_>> = STAGES
        .iter()
        .enumerate()
        .map(|(index, (stage, held))| Case {
            plane: &plane,
            space: &space,
            command,
            stage: stage.replace("COMMAND", command),
            held: *held,
            suffix: format!("-{index}"),
        })
        .collect();
    std::thread::scope(|scope| {
        for case in &cases {
            scope.spawn(move || {
                case.prepare();
                if signal == Signal::TERM {
                    case.term();
                } else {
                    case.kill9();
                }
                // What a finalizer keeps would keep the namespace.
                case.let_go();
            });
        }
    });
}

#[test]
fn term_in_each_stage_of_down() {
    each_stage("termdown", "down", Signal::TERM);
}

#[test]
fn term_in_each_stage_of_up() {
    each_stage("termup", "up", Signal::TERM);
}

#[test]
fn after_kill_9_in_each_stage_of_down_the_next_run_does_the_rest() {
    // S-2.20
    each_stage("killdown", "down", Signal::KILL);
}

#[test]
fn after_kill_9_in_each_stage_of_up_the_next_run_does_the_rest() {
    // S-2.20
    each_stage("killup", "up", Signal::KILL);
}
