//! Plans of charts, from the text of their manifests.

use kzero_chart::manifest::{self, HookEvent};
use kzero_cluster::{ApiResource, Discovery};

use super::{Deletion, Deployment, Item, Plan, PlanError, Purpose, Removal, Task, Waits};
use crate::decide::Decision;
use crate::directives::Directives;
use crate::resource::{Document, Kinds, Lookup, Resource, build};

fn kinds() -> Kinds {
    let kinds = [
        ("v1", "ConfigMap", "configmaps"),
        ("v1", "Secret", "secrets"),
        ("v1", "Service", "services"),
        ("apps/v1", "Deployment", "deployments"),
        ("apps/v1", "StatefulSet", "statefulsets"),
        ("batch/v1", "Job", "jobs"),
        ("networking.k8s.io/v1", "Ingress", "ingresses"),
        ("coordination.k8s.io/v1", "Lease", "leases"),
        ("example.org/v1", "CronTab", "crontabs"),
    ];
    let served = kinds.map(|(group_version, kind, plural)| ApiResource {
        group_version: group_version.into(),
        kind: kind.into(),
        plural: plural.into(),
        namespaced: true,
    });
    let mut resources = served.to_vec();
    resources.push(ApiResource {
        group_version: "apiextensions.k8s.io/v1".into(),
        kind: "CustomResourceDefinition".into(),
        plural: "customresourcedefinitions".into(),
        namespaced: false,
    });
    Kinds::new(Discovery {
        resources,
        ..Discovery::default()
    })
}

/// Each line is `Kind name`, with annotations behind it as `key: value` separated by ` | `.
fn manifests(lines: &str) -> String {
    let mut text = String::new();
    for line in lines.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let mut parts = line.split(" | ");
        let (kind, name) = parts.next().unwrap().split_once(' ').unwrap();
        let api_version = kinds()
            .all()
            .find(|api| api.kind == kind)
            .map(|api| api.group_version.clone())
            .unwrap();
        text.push_str(&format!("---\napiVersion: {api_version}\nkind: {kind}\nmetadata:\n  name: {name}\n  annotations:\n    a: b\n"));
        for annotation in parts {
            let (key, value) = annotation.split_once(": ").unwrap();
            text.push_str(&format!("    {key}: \"{value}\"\n"));
        }
    }
    text
}

fn resources(text: &str) -> (Vec<Resource>, Vec<Vec<HookEvent>>) {
    let files = [(
        "web/templates/all.yaml".to_owned(),
        text.as_bytes().to_vec(),
    )];
    let sorted = manifest::sort(&files.into()).unwrap();
    let documents: Vec<Document<'_>> = sorted
        .manifests
        .iter()
        .map(Document::from)
        .chain(
            sorted
                .hooks
                .iter()
                .enumerate()
                .map(|(number, hook)| Document::hook(number, hook)),
        )
        .collect();
    let built = build(&documents, "shop", &kinds(), Lookup::Exact).unwrap();
    let events = sorted
        .hooks
        .iter()
        .map(|hook| hook.events.clone())
        .collect();
    (built.resources, events)
}

fn items(resources: Vec<Resource>) -> Vec<Item> {
    resources
        .into_iter()
        .map(|resource| Item {
            directives: Directives::read(&resource).unwrap(),
            decision: Decision::Create(resource.object.clone()),
            ready: false,
            restarts: None,
            resource,
        })
        .collect()
}

fn deploy(lines: &str, purpose: Purpose, waits: Waits) -> Result<Plan, PlanError> {
    let (resources, events) = resources(&manifests(lines));
    Plan::deployment(Deployment {
        purpose,
        items: items(resources),
        removals: Vec::new(),
        hooks: &events,
        waits,
        kinds: &kinds(),
        namespace: "shop",
    })
}

fn install(lines: &str) -> Plan {
    deploy(lines, Purpose::Install, Waits::default()).unwrap()
}

fn uninstall(lines: &str) -> Result<Plan, PlanError> {
    let (resources, _) = resources(&manifests(lines));
    let removals = resources
        .into_iter()
        .map(|resource| Removal {
            directives: Directives::read_stored(&resource),
            resource,
            uid: None,
        })
        .collect();
    Plan::deletion(Deletion {
        hooks: Vec::new(),
        events: &[],
        removals,
        wait: false,
        kinds: &kinds(),
        namespace: "shop",
    })
}

/// Whether one operation always ends before the other begins; both by what they do.
fn before(plan: &Plan, first: &str, then: &str) -> bool {
    let find = |wanted: &str| {
        (0..plan.operations.len())
            .find(|vertex| plan.describe(*vertex) == wanted)
            .unwrap_or_else(|| panic!("no {wanted:?} in {:#?}", operations(plan)))
    };
    let (first, then) = (find(first), find(then));
    first != then && plan.graph.reaches(first, then)
}

fn operations(plan: &Plan) -> Vec<String> {
    (0..plan.operations.len())
        .filter(|vertex| plan.operations[*vertex].task != Task::Barrier)
        .map(|vertex| plan.describe(vertex))
        .collect()
}

const DB_READY: &str = "wait for StatefulSet shop/database to be ready";
const MIGRATED: &str = "wait for Job shop/database-migrations to be ready";

#[test]
fn m2_weights_order_groups_that_wait_for_each_other() {
    let plan = install(
        "StatefulSet database | werf.io/weight: -1
         Job database-migrations
         Deployment app1 | werf.io/weight: 1
         Deployment app2 | werf.io/weight: 1",
    );
    assert!(before(&plan, "create StatefulSet shop/database", DB_READY));
    assert!(before(
        &plan,
        DB_READY,
        "create Job shop/database-migrations"
    ));
    assert!(before(&plan, MIGRATED, "create Deployment shop/app1"));
    assert!(before(&plan, MIGRATED, "create Deployment shop/app2"));
    assert!(!before(
        &plan,
        "create Deployment shop/app1",
        "create Deployment shop/app2"
    ));
    assert!(!before(
        &plan,
        "create Deployment shop/app2",
        "create Deployment shop/app1"
    ));
    // Nobody waits for the last group without --wait.
    assert!(!operations(&plan).contains(&"wait for Deployment shop/app1 to be ready".to_owned()));
    let waits = Waits {
        ready: true,
        jobs: true,
    };
    let plan = deploy("Deployment app1\nConfigMap a", Purpose::Install, waits).unwrap();
    assert!(operations(&plan).contains(&"wait for Deployment shop/app1 to be ready".to_owned()));
}

#[test]
fn m3_dependencies_start_an_object_the_moment_they_are_met() {
    let plan = install(
        "StatefulSet database
         Job database-migrations | werf.io/deploy-dependency-db: state=ready,kind=StatefulSet,name=database
         Deployment app1 | werf.io/deploy-dependency-migrations: state=ready,kind=Job,name=database-migrations | werf.io/weight: -7
         Deployment app2 | werf.io/deploy-dependency-migrations: state=ready,kind=Job,name=database-migrations
         ConfigMap other | werf.io/weight: 9",
    );
    assert!(before(
        &plan,
        DB_READY,
        "create Job shop/database-migrations"
    ));
    assert!(before(&plan, MIGRATED, "create Deployment shop/app1"));
    assert!(before(&plan, MIGRATED, "create Deployment shop/app2"));
    // Its weight is ignored: it neither waits for other groups nor do they wait for it.
    assert!(!before(
        &plan,
        "create Deployment shop/app1",
        "create ConfigMap shop/other"
    ));
    assert!(!before(
        &plan,
        "create ConfigMap shop/other",
        "create Deployment shop/app1"
    ));
    let present = install(
        "Secret token | werf.io/weight: 3
         Deployment app | werf.io/deploy-dependency-token: state=present,kind=Secret",
    );
    assert!(before(
        &present,
        "create Secret shop/token",
        "create Deployment shop/app"
    ));
    assert!(
        !operations(&present)
            .iter()
            .any(|what| what.starts_with("wait"))
    );
}

#[test]
fn m3_a_dependency_on_another_stage_has_no_effect_and_is_told() {
    let plan = install(
        "Job prepare | helm.sh/hook: pre-install
         Deployment app | werf.io/deploy-dependency-x: state=ready,kind=Job,name=prepare",
    );
    assert_eq!(
        plan.warnings,
        [
            "Deployment shop/app: annotation werf.io/deploy-dependency-x: Job prepare is in another stage, so this has no effect"
        ]
    );
}

#[test]
fn m4_deletions_wait_until_what_they_name_is_gone() {
    let plan = uninstall(
        "Deployment app | werf.io/delete-dependency-service: state=absent,kind=Service,version=v1,name=app
         Service app | werf.io/delete-dependency-ingress: state=absent,kind=Ingress,group=networking.k8s.io,version=v1,name=app
         Ingress app",
    )
    .unwrap();
    assert!(before(
        &plan,
        "wait for Ingress shop/app to be gone",
        "delete Service shop/app"
    ));
    assert!(before(
        &plan,
        "wait for Service shop/app to be gone",
        "delete Deployment shop/app"
    ));
    let external = uninstall(
        "ConfigMap myapp-config | werf.io/delete-dependency-lease: state=absent,kind=Lease,group=coordination.k8s.io,version=v1,name=myapp-leader-election,external=true",
    )
    .unwrap();
    assert!(before(
        &external,
        "wait for Lease myapp-leader-election to be absent",
        "delete ConfigMap shop/myapp-config"
    ));
}

#[test]
fn m5_what_no_object_of_the_release_matches_is_waited_for_outside() {
    let plan = install(
        "Deployment myapp | werf.io/deploy-dependency-secret: state=ready,kind=Secret,version=v1,name=my-dynamic-vault-secret,external=true | werf.io/deploy-dependency-db: state=ready,kind=StatefulSet,group=apps,version=v1,name=my-database,external=true",
    );
    for outside in [
        "wait for Secret my-dynamic-vault-secret to be ready",
        "wait for StatefulSet my-database to be ready",
    ] {
        assert!(before(&plan, outside, "create Deployment shop/myapp"));
    }
    assert_eq!(plan.externals[0].namespace, "shop");
    let line = |external: &str| {
        format!(
            "Secret token\nDeployment app | werf.io/deploy-dependency-x: state=present,kind=Secret,version=v1,name=token{external}"
        )
    };
    assert!(install(&line("")).externals.is_empty());
    assert_eq!(install(&line(",external=true")).externals.len(), 1);
    let absent =
        "Deployment app | werf.io/deploy-dependency-x: state=present,kind=Secret,name=token";
    assert!(
        install(&format!("{absent},external=false"))
            .externals
            .is_empty()
    );
    assert_eq!(
        deploy(absent, Purpose::Install, Waits::default())
            .unwrap_err()
            .to_string(),
        "Deployment shop/app: annotation werf.io/deploy-dependency-x: nothing in the release matches, and outside of it name, kind and version must be given\nhint: give them, or set external=false"
    );
    let unknown = deploy(
        "Deployment app | werf.io/deploy-dependency-x: state=present,kind=Vault,group=v.io,version=v1,name=t",
        Purpose::Install,
        Waits::default(),
    );
    assert!(
        unknown
            .unwrap_err()
            .to_string()
            .contains("the API server has no Vault in v.io/v1")
    );
}

#[test]
fn m6_objects_that_wait_for_each_other_are_refused_by_the_names_of_their_annotations() {
    let circle = uninstall(
        "Deployment app
         Service app | werf.io/delete-dependency-ingress: state=absent,kind=Ingress,group=networking.k8s.io,version=v1,name=app
         Ingress app | werf.io/delete-dependency-service: state=absent,kind=Service,version=v1,name=app",
    )
    .unwrap_err()
    .to_string();
    assert!(
        circle.starts_with("objects wait for each other in a circle:\n"),
        "{circle}"
    );
    for part in [
        "delete Service shop/app comes after wait for Ingress shop/app to be gone (annotation werf.io/delete-dependency-ingress)",
        "delete Ingress shop/app comes after wait for Service shop/app to be gone (annotation werf.io/delete-dependency-service)",
    ] {
        assert!(circle.contains(part), "{circle}");
    }
    let deploys = deploy(
        "Deployment a | werf.io/deploy-dependency-b: state=present,kind=Deployment,name=b
         Deployment b | werf.io/deploy-dependency-a: state=ready,kind=Deployment,name=a",
        Purpose::Install,
        Waits::default(),
    );
    let text = deploys.unwrap_err().to_string();
    assert!(
        text.contains("deploy-dependency-a") && text.contains("deploy-dependency-b"),
        "{text}"
    );
}

#[test]
fn m14_an_uninstall_goes_the_other_way_round() {
    let plan = uninstall(
        "ConfigMap settings
         Deployment app
         Service app
         StatefulSet database | werf.io/weight: -1
         Ingress late | werf.io/weight: 1",
    )
    .unwrap();
    let order = [
        "Ingress shop/late",
        "Service shop/app",
        "Deployment shop/app",
        "ConfigMap shop/settings",
        "StatefulSet shop/database",
    ];
    for pair in order.windows(2) {
        assert!(
            before(
                &plan,
                &format!("delete {}", pair[0]),
                &format!("delete {}", pair[1])
            ),
            "{pair:?}"
        );
    }
    assert!(before(
        &plan,
        "wait for Ingress shop/late to be gone",
        "delete Service shop/app"
    ));
    assert!(before(
        &plan,
        "wait for Deployment shop/app to be gone",
        "delete StatefulSet shop/database"
    ));
}

#[test]
fn kinds_of_one_group_follow_each_other_in_helms_order() {
    let plan = install("Ingress i\nDeployment d\nConfigMap b\nConfigMap a\nService s\nJob j");
    let order = [
        "ConfigMap shop/a",
        "Service shop/s",
        "Deployment shop/d",
        "Job shop/j",
        "Ingress shop/i",
    ];
    for pair in order.windows(2) {
        assert!(
            before(
                &plan,
                &format!("create {}", pair[0]),
                &format!("create {}", pair[1])
            ),
            "{pair:?}"
        );
    }
    assert!(!before(
        &plan,
        "create ConfigMap shop/a",
        "create ConfigMap shop/b"
    ));
    assert!(!before(
        &plan,
        "create ConfigMap shop/b",
        "create ConfigMap shop/a"
    ));
}

#[test]
fn hooks_are_before_and_after_by_their_weights_and_those_that_succeeded_are_deleted() {
    let plan = install(
        "ConfigMap settings
         Job first | helm.sh/hook: pre-install | helm.sh/hook-weight: -5 | helm.sh/hook-delete-policy: hook-succeeded
         Job second | helm.sh/hook: pre-install
         Job last | helm.sh/hook: post-install
         Job never | helm.sh/hook: pre-upgrade",
    );
    assert!(before(
        &plan,
        "wait for Job shop/first to be ready",
        "create Job shop/second"
    ));
    assert!(before(
        &plan,
        "wait for Job shop/second to be ready",
        "delete Job shop/first"
    ));
    assert!(before(
        &plan,
        "delete Job shop/first",
        "create ConfigMap shop/settings"
    ));
    assert!(before(
        &plan,
        "create ConfigMap shop/settings",
        "create Job shop/last"
    ));
    assert!(!operations(&plan).iter().any(|what| what.contains("never")));
    let upgrade = deploy(
        "Job never | helm.sh/hook: pre-upgrade\nConfigMap a",
        Purpose::Upgrade,
        Waits::default(),
    );
    assert!(operations(&upgrade.unwrap()).contains(&"create Job shop/never".to_owned()));
}

#[test]
fn m1_definitions_of_kinds_come_before_everything() {
    let plan = install(
        "CustomResourceDefinition crontabs.example.org\nJob early | helm.sh/hook: pre-install\nCronTab c",
    );
    let ready = "wait for CustomResourceDefinition crontabs.example.org to be ready";
    assert!(before(&plan, ready, "create Job shop/early"));
    assert!(before(&plan, ready, "create CronTab shop/c"));
}

#[test]
fn deploy_on_puts_objects_into_other_stages_and_purposes() {
    let lines = "ConfigMap always\nConfigMap once | werf.io/deploy-on: install\nConfigMap early | werf.io/deploy-on: pre-install,upgrade";
    let plan = install(lines);
    assert!(before(
        &plan,
        "create ConfigMap shop/early",
        "create ConfigMap shop/always"
    ));
    assert!(operations(&plan).contains(&"create ConfigMap shop/once".to_owned()));
    let upgrade = deploy(lines, Purpose::Upgrade, Waits::default()).unwrap();
    assert!(!operations(&upgrade).contains(&"create ConfigMap shop/once".to_owned()));
    assert!(operations(&upgrade).contains(&"create ConfigMap shop/early".to_owned()));
    let twice = install("ConfigMap c | werf.io/deploy-on: pre-install,install,post-install");
    let deployed = operations(&twice)
        .iter()
        .filter(|what| *what == "create ConfigMap shop/c")
        .count();
    assert_eq!(deployed, 3);
}

#[test]
fn what_does_not_block_is_not_waited_for_unless_something_names_it() {
    let waits = Waits {
        ready: true,
        jobs: true,
    };
    let lines = "Deployment slow | werf.io/track-termination-mode: NonBlocking";
    let plan = deploy(lines, Purpose::Install, waits).unwrap();
    assert!(
        !operations(&plan)
            .iter()
            .any(|what| what.starts_with("wait"))
    );
    let named = format!(
        "{lines}\nDeployment app | werf.io/deploy-dependency-x: state=ready,kind=Deployment,name=slow"
    );
    let plan = deploy(&named, Purpose::Install, waits).unwrap();
    assert!(before(
        &plan,
        "wait for Deployment shop/slow to be ready",
        "create Deployment shop/app"
    ));
}

#[test]
fn references_in_fields_order_objects_that_no_group_orders() {
    let mut text = manifests(
        "Secret token | werf.io/deploy-dependency-job: state=ready,kind=Job,name=make
         Job make",
    );
    text.push_str("---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: app}\nspec: {template: {spec: {containers: [{name: a, envFrom: [{secretRef: {name: token}}]}]}}}\n");
    let (resources, events) = resources(&text);
    let plan = Plan::deployment(Deployment {
        purpose: Purpose::Install,
        items: items(resources),
        removals: Vec::new(),
        hooks: &events,
        waits: Waits::default(),
        kinds: &kinds(),
        namespace: "shop",
    })
    .unwrap();
    // The Job comes after the Deployment by its kind, so this reference gives way rather than make a circle.
    assert!(before(
        &plan,
        "create Deployment shop/app",
        "create Job shop/make"
    ));
    assert!(!before(
        &plan,
        "create Secret shop/token",
        "create Deployment shop/app"
    ));
    let dot = plan.dot();
    assert!(
        dot.contains("label=\"annotation werf.io/deploy-dependency-job\""),
        "{dot}"
    );
}

#[test]
fn vanished_objects_go_after_the_new_ones_are_written_and_before_what_follows() {
    let (wanted, events) = resources(&manifests(
        "ConfigMap new\nJob after | helm.sh/hook: post-upgrade",
    ));
    let (gone, _) = resources(&manifests("ConfigMap old"));
    let removals = gone
        .into_iter()
        .map(|resource| Removal {
            directives: Directives::default(),
            resource,
            uid: None,
        })
        .collect();
    let plan = Plan::deployment(Deployment {
        purpose: Purpose::Upgrade,
        items: items(wanted),
        removals,
        hooks: &events,
        waits: Waits::default(),
        kinds: &kinds(),
        namespace: "shop",
    })
    .unwrap();
    assert!(before(
        &plan,
        "create ConfigMap shop/new",
        "delete ConfigMap shop/old"
    ));
    assert!(before(
        &plan,
        "delete ConfigMap shop/old",
        "create Job shop/after"
    ));
}

#[test]
fn a_thousand_objects_make_a_graph_of_linear_size() {
    let size = |objects: usize| {
        let lines: Vec<String> = (0..objects).map(|n| format!("ConfigMap c{n}")).collect();
        let plan = install(&lines.join("\n"));
        plan.graph.edges().len() + plan.operations.len()
    };
    let (small, large) = (size(100), size(1000));
    assert!(large < small * 11, "{small} {large}");
}
