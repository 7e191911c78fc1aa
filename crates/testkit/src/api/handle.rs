//! What each request does to the store.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use bytes::Bytes;
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::discovery;
use super::patch;
use super::request::{Incoming, Query, Route, Selector, Target, route};
use super::rules;
use super::status::{NO_PATH, Outcome, Refusal};
use super::store::{Key, Store, Watcher, typed};
use crate::json;

/// What is sent back.
#[derive(Debug)]
pub(crate) enum Answer {
    Json(u16, Value),
    Text(u16, String),
    /// Lines as they come, for so long.
    Stream(UnboundedReceiver<Bytes>, Option<Duration>),
}

impl Answer {
    pub(crate) fn code(&self) -> u16 {
        match self {
            Answer::Json(code, _) | Answer::Text(code, _) => *code,
            Answer::Stream(..) => 200,
        }
    }
}

/// Answers one request.
pub(crate) fn handle(store: &mut Store, request: &Incoming<'_>) -> Answer {
    match answer(store, request) {
        Ok(answer) => answer,
        Err(refusal) if refusal.reason == NO_PATH => Answer::Text(refusal.code, refusal.message),
        Err(refusal) => Answer::Json(refusal.code, refusal.to_value()),
    }
}

fn answer(store: &mut Store, request: &Incoming<'_>) -> Outcome<Answer> {
    let route = route(&store.kinds, request.path)?;
    let target = match route {
        Route::Version => return Ok(Answer::Json(200, discovery::version())),
        Route::Healthy => return Ok(Answer::Text(200, "ok".to_owned())),
        Route::CoreVersions if wants_all(request) => {
            return Ok(Answer::Json(200, discovery::aggregated(&store.kinds, true)));
        }
        Route::Groups if wants_all(request) => {
            return Ok(Answer::Json(
                200,
                discovery::aggregated(&store.kinds, false),
            ));
        }
        Route::CoreVersions => return Ok(Answer::Json(200, discovery::core_versions())),
        Route::Groups => return Ok(Answer::Json(200, discovery::groups(&store.kinds))),
        Route::Group(group) => {
            return discovery::group(&store.kinds, &group).map(|found| Answer::Json(200, found));
        }
        Route::Resources(group, version) => {
            return discovery::resources(&store.kinds, &group, &version)
                .map(|found| Answer::Json(200, found));
        }
        Route::Review => return review(store, request),
        Route::Object(target) => target,
    };
    authorize(store, request, &target)?;
    if !target.sub.is_empty() {
        return subresource(store, request, &target);
    }
    match (request.method, target.name.is_empty()) {
        ("GET", true) if request.query.is_true("watch") => watch(store, request, &target),
        ("GET", true) => list(store, request, &target),
        ("GET", false) => {
            let (_, object) = find(store, &target)?;
            Ok(Answer::Json(
                200,
                typed(&store.kinds[target.kind], Value::clone(&object)),
            ))
        }
        ("POST", true) => create(store, request, &target),
        ("PUT", false) => replace(store, request, &target),
        ("PATCH", false) => change(store, request, &target),
        ("DELETE", false) => delete(store, request, &target),
        ("DELETE", true) => delete_all(store, request, &target),
        _ => Err(Refusal::method()),
    }
}

// --- who may ------------------------------------------------------------------

fn verb(request: &Incoming<'_>, named: bool) -> &'static str {
    match (request.method, named) {
        ("GET", true) => "get",
        ("GET", false) if request.query.is_true("watch") => "watch",
        ("GET", false) => "list",
        ("POST", _) => "create",
        ("PUT", _) => "update",
        ("PATCH", _) => "patch",
        ("DELETE", false) => "deletecollection",
        _ => "delete",
    }
}

fn authorize(store: &Store, request: &Incoming<'_>, target: &Target) -> Outcome<()> {
    let kind = &store.kinds[target.kind];
    let verb = verb(request, !target.name.is_empty());
    let resource = if target.sub.is_empty() {
        kind.plural.clone()
    } else {
        format!("{}/{}", kind.plural, target.sub)
    };
    if store.allowed(verb, &resource) {
        return Ok(());
    }
    let name = if target.name.is_empty() {
        String::new()
    } else {
        format!(" {:?}", target.name)
    };
    let place = if target.namespace.is_empty() {
        "at the cluster scope".to_owned()
    } else {
        format!("in the namespace {:?}", target.namespace)
    };
    Err(Refusal::new(
        403,
        "Forbidden",
        format!(
            "{}{name} is forbidden: User \"mini\" cannot {verb} resource {resource:?} in API group {:?} {place}",
            kind.resource(),
            kind.group
        ),
    ))
}

fn review(store: &Store, request: &Incoming<'_>) -> Outcome<Answer> {
    if request.method != "POST" {
        return Err(Refusal::method());
    }
    let mut review = read(request)?;
    let asked = |field: &str| json::text(&review, &format!("/spec/resourceAttributes/{field}"));
    let (verb, mut resource) = (asked("verb").to_owned(), asked("resource").to_owned());
    if !asked("subresource").is_empty() {
        resource = format!("{resource}/{}", asked("subresource"));
    }
    review["status"] = json!({"allowed": store.allowed(&verb, &resource)});
    review["kind"] = "SelfSubjectAccessReview".into();
    review["apiVersion"] = "authorization.k8s.io/v1".into();
    Ok(Answer::Json(201, review))
}

// --- reading ------------------------------------------------------------------

/// Whether groups are asked for with all that is in them.
fn wants_all(request: &Incoming<'_>) -> bool {
    request.accept.contains("as=APIGroupDiscoveryList")
}

fn read(request: &Incoming<'_>) -> Outcome<Value> {
    let value: Value = serde_json::from_slice(request.body)
        .map_err(|err| Refusal::bad_request(format!("couldn't get version/kind; {err}")))?;
    if value.is_object() {
        Ok(value)
    } else {
        Err(Refusal::bad_request("the body is no object"))
    }
}

fn key(target: &Target) -> Key {
    (target.kind, target.namespace.clone(), target.name.clone())
}

fn find(store: &Store, target: &Target) -> Outcome<(Key, Arc<Value>)> {
    let key = key(target);
    match store.get(&key) {
        Some(object) => Ok((key, Arc::clone(object))),
        None => Err(Refusal::not_found(
            &store.kinds[target.kind].resource(),
            &target.name,
        )),
    }
}

fn list(store: &Store, request: &Incoming<'_>, target: &Target) -> Outcome<Answer> {
    let kind = &store.kinds[target.kind];
    let selector = Selector::parse(&request.query, kind)?;
    if request.query.get("resourceVersionMatch") == "Exact" {
        return Err(Refusal::unsupported("lists of an exact past version"));
    }
    let limit: usize = request.query.get("limit").parse().unwrap_or(0);
    let (version, after) = match request.query.get("continue") {
        "" => (store.revision(), None),
        token => {
            let (version, after) = open_token(token)?;
            store.check_version(version)?;
            (version, Some(after))
        }
    };
    let mut items = Vec::new();
    let mut last = None;
    let mut left = 0_usize;
    for (key, object) in store.of_kind(target.kind, &target.namespace) {
        let place = (key.1.clone(), key.2.clone());
        if after.as_ref().is_some_and(|after| place <= *after) || !selector.matches(object) {
            continue;
        }
        if limit > 0 && items.len() == limit {
            left += 1;
            continue;
        }
        // A list names kind and version once, not in its items.
        let mut item = Value::clone(object);
        json::remove(&mut item, "/kind");
        json::remove(&mut item, "/apiVersion");
        items.push(item);
        last = Some(place);
    }
    let mut meta = json!({"resourceVersion": version.to_string()});
    if let (true, Some((namespace, name))) = (left > 0, last) {
        let token = json!({"v": version, "namespace": namespace, "name": name}).to_string();
        meta["continue"] = base64::engine::general_purpose::URL_SAFE_NO_PAD
            .encode(token)
            .into();
        if selector.is_empty() {
            meta["remainingItemCount"] = left.into();
        }
    }
    Ok(Answer::Json(
        200,
        json!({
            "kind": format!("{}List", kind.kind),
            "apiVersion": kind.api_version(),
            "metadata": meta,
            "items": items,
        }),
    ))
}

/// A token of a list that goes on: its version, and the last namespace and name given.
fn open_token(token: &str) -> Outcome<(u64, (String, String))> {
    let bad = || Refusal::bad_request("continue key is not valid");
    let bytes = base64::engine::general_purpose::URL_SAFE_NO_PAD
        .decode(token)
        .map_err(|_| bad())?;
    let token: Value = serde_json::from_slice(&bytes).map_err(|_| bad())?;
    let version = token["v"].as_u64().ok_or_else(bad)?;
    let place = (
        json::text(&token, "/namespace").to_owned(),
        json::text(&token, "/name").to_owned(),
    );
    Ok((version, place))
}

fn watch(store: &mut Store, request: &Incoming<'_>, target: &Target) -> Outcome<Answer> {
    let kind = store.kinds[target.kind].clone();
    let selector = Selector::parse(&request.query, &kind)?;
    let (lines, stream) = unbounded_channel();
    let watcher = Watcher {
        kind: target.kind,
        namespace: target.namespace.clone(),
        selector,
        lines,
    };
    let initial = request.query.is_true("sendInitialEvents");
    let mut since =
        match request.query.get("resourceVersion") {
            "" | "0" => None,
            version => Some(version.parse::<u64>().map_err(|_| {
                Refusal::bad_request(format!("invalid resource version {version:?}"))
            })?),
        };
    if initial {
        since = None;
    }
    let end = request.query.get("timeoutSeconds").parse().ok();
    let end = end.filter(|seconds| *seconds > 0).map(Duration::from_secs);
    let Some(since) = since else {
        for (_, object) in store.of_kind(target.kind, &target.namespace) {
            if watcher.selector.matches(object) {
                watcher.send("ADDED", &typed(&kind, Value::clone(object)));
            }
        }
        if initial {
            let mark = json!({"metadata": {
                "resourceVersion": store.revision().to_string(),
                "annotations": {"k8s.io/initial-events-end": "true"},
            }});
            watcher.send("BOOKMARK", &typed(&kind, mark));
        }
        let now = store.revision();
        store.watch(watcher, now);
        return Ok(Answer::Stream(stream, end));
    };
    match store.check_version(since) {
        Ok(()) => store.watch(watcher, since),
        // As a real server does: the stream begins well and says in it that the version is gone.
        Err(refusal) => {
            watcher.send("ERROR", &refusal.to_value());
        }
    }
    Ok(Answer::Stream(stream, end))
}

// --- writing ------------------------------------------------------------------

fn create(store: &mut Store, request: &Incoming<'_>, target: &Target) -> Outcome<Answer> {
    let dry = request.query.dry_run()?;
    let object = read(request)?;
    let created = create_object(store, target, object, dry)?;
    Ok(Answer::Json(201, typed(&store.kinds[target.kind], created)))
}

fn create_object(
    store: &mut Store,
    target: &Target,
    mut object: Value,
    dry: bool,
) -> Outcome<Value> {
    let kind = store.kinds[target.kind].clone();
    check_identity(&kind, target, &mut object)?;
    json::remove(&mut object, "/kind");
    json::remove(&mut object, "/apiVersion");
    if !json::has(&object, "/metadata/name") {
        let prefix = json::text(&object, "/metadata/generateName").to_owned();
        if prefix.is_empty() {
            return Err(Refusal::invalid(
                &kind.dotted(),
                "",
                "metadata.name",
                "Required value: name or generateName is required",
            ));
        }
        let serial = store.next_serial();
        json::set(
            &mut object,
            "/metadata/name",
            format!("{prefix}{serial:05x}"),
        );
    }
    let name = json::text(&object, "/metadata/name").to_owned();
    if kind.namespaced {
        check_namespace(store, target, &name)?;
    }
    for field in [
        "resourceVersion",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
    ] {
        json::remove(&mut object, &format!("/metadata/{field}"));
    }
    if kind.status {
        json::remove(&mut object, "/status");
    }
    rules::fill_in(&kind, &mut object);
    rules::check(&kind, &object)?;
    rules::check_supported(&kind, &object)?;
    let key = (target.kind, target.namespace.clone(), name.clone());
    if store.get(&key).is_some() {
        return Err(Refusal::exists(&kind.resource(), &name));
    }
    check_quota(store, &kind, target, &name)?;
    let mut object = store.born(target.kind, object);
    finish_new(&kind, &mut object);
    if dry {
        return Ok(object);
    }
    Ok(Value::clone(&store.put(&key, object)))
}

/// Objects cannot be put into a namespace that is missing or going.
fn check_namespace(store: &Store, target: &Target, name: &str) -> Outcome<()> {
    let namespace = &target.namespace;
    if namespace.is_empty() {
        return Err(Refusal::method());
    }
    let key = store
        .kind("", "namespaces")
        .map(|kind| (kind, String::new(), namespace.clone()));
    let Some(found) = key.and_then(|key| store.get(&key)) else {
        return Err(Refusal::not_found("namespaces", namespace));
    };
    if json::has(found, "/metadata/deletionTimestamp") {
        let resource = store.kinds[target.kind].resource();
        return Err(Refusal::new(
            403,
            "Forbidden",
            format!(
                "{resource} {name:?} is forbidden: unable to create new content in namespace {namespace} because it is being terminated"
            ),
        ));
    }
    Ok(())
}

/// Keeps to the number of pods that the quotas of a namespace allow.
fn check_quota(
    store: &Store,
    kind: &super::kinds::Kind,
    target: &Target,
    name: &str,
) -> Outcome<()> {
    let Some(quotas) = store.kind("", "resourcequotas") else {
        return Ok(());
    };
    if !kind.is("", "pods") {
        return Ok(());
    }
    let used = store.of_kind(target.kind, &target.namespace).count();
    for (key, quota) in store.of_kind(quotas, &target.namespace) {
        let hard = &quota["spec"]["hard"]["pods"];
        let limit = hard.as_u64().or_else(|| hard.as_str()?.parse().ok());
        if let Some(limit) =
            limit.filter(|limit| u64::try_from(used).is_ok_and(|used| used >= *limit))
        {
            return Err(Refusal::new(
                403,
                "Forbidden",
                format!(
                    "pods {name:?} is forbidden: exceeded quota: {}, requested: pods=1, used: pods={used}, limited: pods={limit}",
                    key.2
                ),
            ));
        }
    }
    Ok(())
}

/// The first state of kinds whose status does not come from a controller.
fn finish_new(kind: &super::kinds::Kind, object: &mut Value) {
    match (kind.group.as_str(), kind.kind.as_str()) {
        ("", "Namespace") => json::set(object, "/status/phase", "Active"),
        ("", "Pod") => json::set(object, "/status/phase", "Pending"),
        ("", "PersistentVolumeClaim") => {
            json::set(object, "/status/phase", "Pending");
            let mut finalizers = json::list(object, "/metadata/finalizers").to_vec();
            let protection = Value::from("kubernetes.io/pvc-protection");
            if !finalizers.contains(&protection) {
                finalizers.push(protection);
            }
            json::set(object, "/metadata/finalizers", finalizers);
        }
        ("batch", "Job") if !json::has(object, "/spec/selector") => {
            let uid = json::text(object, "/metadata/uid").to_owned();
            let name = json::text(object, "/metadata/name").to_owned();
            let mut labels = object["spec"]["template"]["metadata"]["labels"].take();
            if !labels.is_object() {
                labels = json!({});
            }
            labels["batch.kubernetes.io/controller-uid"] = uid.clone().into();
            labels["batch.kubernetes.io/job-name"] = name.into();
            json::set(object, "/spec/template/metadata/labels", labels);
            json::set(
                object,
                "/spec/selector",
                json!({"matchLabels": {"batch.kubernetes.io/controller-uid": uid}}),
            );
        }
        _ => {}
    }
}

/// Kind, version, name and namespace in the body must be those of the path.
fn check_identity(kind: &super::kinds::Kind, target: &Target, object: &mut Value) -> Outcome<()> {
    for (field, wanted) in [
        ("kind", kind.kind.clone()),
        ("apiVersion", kind.api_version()),
    ] {
        let found = json::text(object, &format!("/{field}"));
        if !found.is_empty() && found != wanted {
            return Err(Refusal::bad_request(format!(
                "the {field} in the data ({found}) does not match the expected {field} ({wanted})"
            )));
        }
    }
    if kind.namespaced {
        let found = json::text(object, "/metadata/namespace");
        if !found.is_empty() && found != target.namespace {
            return Err(Refusal::bad_request(
                "the namespace of the provided object does not match the namespace sent on the request",
            ));
        }
        json::set(object, "/metadata/namespace", target.namespace.clone());
    } else {
        json::remove(object, "/metadata/namespace");
    }
    let found = json::text(object, "/metadata/name");
    if !target.name.is_empty() && !found.is_empty() && found != target.name {
        return Err(Refusal::bad_request(format!(
            "the name of the object ({found}) does not match the name on the URL ({})",
            target.name
        )));
    }
    Ok(())
}

fn replace(store: &mut Store, request: &Incoming<'_>, target: &Target) -> Outcome<Answer> {
    let object = read(request)?;
    let kind = store.kinds[target.kind].clone();
    let lease = kind.is("coordination.k8s.io", "leases");
    let version = json::text(&object, "/metadata/resourceVersion");
    if store.get(&key(target)).is_none() && lease && version.is_empty() {
        let dry = request.query.dry_run()?;
        let created = create_object(store, target, object, dry)?;
        return Ok(Answer::Json(201, typed(&kind, created)));
    }
    if lease && version.is_empty() {
        return Err(Refusal::invalid(
            &kind.dotted(),
            &target.name,
            "metadata.resourceVersion",
            "Invalid value: 0: must be specified for an update",
        ));
    }
    update(store, request, target, |_| Ok(object))
}

fn change(store: &mut Store, request: &Incoming<'_>, target: &Target) -> Outcome<Answer> {
    let kind = store.kinds[target.kind].clone();
    update(store, request, target, |old| {
        let old = typed(&kind, old.clone());
        patch::apply(request.content_type, request.body, &old)
    })
}

/// Makes a new object of the old one and keeps it if nothing stands against it.
fn update(
    store: &mut Store,
    request: &Incoming<'_>,
    target: &Target,
    make: impl FnOnce(&Value) -> Outcome<Value>,
) -> Outcome<Answer> {
    let dry = request.query.dry_run()?;
    let kind = store.kinds[target.kind].clone();
    let (key, old) = find(store, target)?;
    let mut new = make(&old)?;
    check_identity(&kind, target, &mut new)?;
    check_version(&kind, &old, &new)?;
    json::remove(&mut new, "/kind");
    json::remove(&mut new, "/apiVersion");
    let status = target.sub == "status";
    if status {
        let status = new["status"].take();
        let version = old["metadata"]["resourceVersion"].clone();
        new = Value::clone(&old);
        new["status"] = status;
        new["metadata"]["resourceVersion"] = version;
    } else if kind.status {
        match old.get("status") {
            Some(status) => new["status"] = status.clone(),
            None => {
                json::remove(&mut new, "/status");
            }
        }
    }
    keep_identity(&old, &mut new);
    rules::fill_in(&kind, &mut new);
    if !status {
        rules::check(&kind, &new)?;
        rules::check_supported(&kind, &new)?;
        rules::check_change(&kind, &old, &new)?;
    }
    store.count_generation(target.kind, &old, &mut new);
    let code = 200;
    if new == *old || dry {
        return Ok(Answer::Json(code, typed(&kind, new)));
    }
    let going = json::has(&new, "/metadata/deletionTimestamp");
    if going && json::list(&new, "/metadata/finalizers").is_empty() && !is_graceful(&kind, &new) {
        store.put(&key, new.clone());
        store.take(&key);
        return Ok(Answer::Json(code, typed(&kind, new)));
    }
    let new = store.put(&key, new);
    Ok(Answer::Json(code, typed(&kind, Value::clone(&new))))
}

/// A pod that still has time to end, and a namespace with content, are not gone at once.
fn is_graceful(kind: &super::kinds::Kind, object: &Value) -> bool {
    match kind.kind.as_str() {
        "Pod" => json::number(object, "/metadata/deletionGracePeriodSeconds") > 0,
        "Namespace" => kind.group.is_empty(),
        _ => false,
    }
}

fn check_version(kind: &super::kinds::Kind, old: &Value, new: &Value) -> Outcome<()> {
    let name = json::text(old, "/metadata/name");
    let version = json::text(new, "/metadata/resourceVersion");
    if !version.is_empty() && version != json::text(old, "/metadata/resourceVersion") {
        return Err(Refusal::conflict(
            &kind.resource(),
            name,
            "the object has been modified; please apply your changes to the latest version and try again",
        ));
    }
    let uid = json::text(new, "/metadata/uid");
    if !uid.is_empty() && uid != json::text(old, "/metadata/uid") {
        return Err(Refusal::conflict(
            &kind.resource(),
            name,
            &format!(
                "Precondition failed: UID in precondition: {uid}, UID in object meta: {}",
                json::text(old, "/metadata/uid")
            ),
        ));
    }
    Ok(())
}

/// What only the server sets stays as it was.
fn keep_identity(old: &Value, new: &mut Value) {
    for field in [
        "name",
        "namespace",
        "uid",
        "creationTimestamp",
        "generation",
        "resourceVersion",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
    ] {
        match old["metadata"].get(field) {
            Some(value) => new["metadata"][field] = value.clone(),
            None => {
                json::remove(new, &format!("/metadata/{field}"));
            }
        }
    }
    // Empty maps and lists are not kept, so that an edit that leaves nothing equals no edit.
    for field in ["annotations", "labels", "finalizers", "ownerReferences"] {
        let empty = match new["metadata"].get(field) {
            Some(Value::Object(fields)) => fields.is_empty(),
            Some(Value::Array(items)) => items.is_empty(),
            Some(Value::Null) => true,
            _ => false,
        };
        if empty && old["metadata"].get(field) != new["metadata"].get(field) {
            json::remove(new, &format!("/metadata/{field}"));
        }
    }
}

// --- deleting -----------------------------------------------------------------

/// Where a deletion leaves what the object owns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Propagation {
    Background,
    Foreground,
    Orphan,
}

fn delete(store: &mut Store, request: &Incoming<'_>, target: &Target) -> Outcome<Answer> {
    let options = delete_options(request)?;
    let dry = delete_dry_run(request, &options)?;
    let kind = store.kinds[target.kind].clone();
    let (key, old) = find(store, target)?;
    check_preconditions(&kind, &options, &old)?;
    let propagation = propagation(request, &options, &kind)?;
    let grace = grace(request, &options);
    if dry {
        return Ok(Answer::Json(200, deleted_status(&kind, &old)));
    }
    match delete_object(store, &key, propagation, grace) {
        Some(left) => Ok(Answer::Json(200, typed(&kind, left))),
        None => Ok(Answer::Json(200, deleted_status(&kind, &old))),
    }
}

fn delete_options(request: &Incoming<'_>) -> Outcome<Value> {
    if request.body.is_empty() {
        Ok(json!({}))
    } else {
        read(request)
    }
}

fn delete_dry_run(request: &Incoming<'_>, options: &Value) -> Outcome<bool> {
    let listed = json::list(options, "/dryRun")
        .iter()
        .any(|mode| mode == "All");
    Ok(request.query.dry_run()? || listed)
}

fn grace(request: &Incoming<'_>, options: &Value) -> Option<i64> {
    options["gracePeriodSeconds"]
        .as_i64()
        .or_else(|| request.query.get("gracePeriodSeconds").parse().ok())
}

fn propagation(
    request: &Incoming<'_>,
    options: &Value,
    kind: &super::kinds::Kind,
) -> Outcome<Propagation> {
    let asked = match json::text(options, "/propagationPolicy") {
        "" => request.query.get("propagationPolicy"),
        policy => policy,
    };
    match asked {
        // A Job deleted without a word leaves its pods, for the sake of old clients.
        "" if kind.is("batch", "jobs") => Ok(Propagation::Orphan),
        "" | "Background" => Ok(Propagation::Background),
        "Foreground" => Ok(Propagation::Foreground),
        "Orphan" => Ok(Propagation::Orphan),
        other => Err(Refusal::invalid(
            "DeleteOptions.meta.k8s.io",
            "",
            "propagationPolicy",
            &format!("Unsupported value: {other:?}"),
        )),
    }
}

fn check_preconditions(kind: &super::kinds::Kind, options: &Value, old: &Value) -> Outcome<()> {
    for (field, word) in [("uid", "UID"), ("resourceVersion", "ResourceVersion")] {
        let wanted = json::text(options, &format!("/preconditions/{field}"));
        let found = json::text(old, &format!("/metadata/{field}"));
        if !wanted.is_empty() && wanted != found {
            return Err(Refusal::conflict(
                &kind.resource(),
                json::text(old, "/metadata/name"),
                &format!(
                    "Precondition failed: {word} in precondition: {wanted}, {word} in object meta: {found}"
                ),
            ));
        }
    }
    Ok(())
}

fn deleted_status(kind: &super::kinds::Kind, old: &Value) -> Value {
    let mut details = json!({
        "name": old["metadata"]["name"],
        "kind": kind.plural,
        "uid": old["metadata"]["uid"],
    });
    if !kind.group.is_empty() {
        details["group"] = kind.group.clone().into();
    }
    json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details})
}

/// Deletes an object; gives back what is left of it for now.
fn delete_object(
    store: &mut Store,
    key: &Key,
    propagation: Propagation,
    grace: Option<i64>,
) -> Option<Value> {
    let kind = store.kinds[key.0].clone();
    let mut object = Value::clone(store.get(key)?);
    let mut finalizers = json::list(&object, "/metadata/finalizers").to_vec();
    match propagation {
        Propagation::Foreground if !finalizers.iter().any(|one| one == "foregroundDeletion") => {
            finalizers.push("foregroundDeletion".into());
        }
        Propagation::Orphan => disown(store, json::text(&object, "/metadata/uid")),
        _ => {}
    }
    let seconds = if kind.kind == "Pod" && kind.group.is_empty() {
        let own = json::number(&object, "/spec/terminationGracePeriodSeconds");
        // A pod that never got a node has nothing to wait for.
        if json::has(&object, "/spec/nodeName") {
            grace.unwrap_or(own)
        } else {
            0
        }
    } else {
        0
    };
    let stays = !finalizers.is_empty() || seconds > 0 || is_graceful(&kind, &object);
    if !stays {
        store.take(key);
        return None;
    }
    if !finalizers.is_empty() {
        json::set(&mut object, "/metadata/finalizers", finalizers);
    }
    let before = json::has(&object, "/metadata/deletionTimestamp")
        .then(|| json::number(&object, "/metadata/deletionGracePeriodSeconds"));
    // A second deletion may only shorten the time.
    if before.is_none_or(|before| seconds < before) {
        let now = store.now();
        json::set(&mut object, "/metadata/deletionTimestamp", now);
        json::set(&mut object, "/metadata/deletionGracePeriodSeconds", seconds);
        if before.is_none() && kind.generation {
            let generation = json::number(&object, "/metadata/generation");
            json::set(&mut object, "/metadata/generation", generation + 1);
        }
    }
    if kind.is("", "namespaces") {
        json::set(&mut object, "/status/phase", "Terminating");
    }
    if store.get(key).is_some_and(|old| **old != object) {
        return Some(Value::clone(&store.put(key, object)));
    }
    Some(object)
}

/// Takes the owner of that uid off everything it owns.
fn disown(store: &mut Store, uid: &str) {
    let owned: Vec<Key> = store
        .all()
        .filter(|(_, object)| {
            json::list(object, "/metadata/ownerReferences")
                .iter()
                .any(|owner| json::text(owner, "/uid") == uid)
        })
        .map(|(key, _)| key.clone())
        .collect();
    for key in owned {
        store.edit(&key, |object| {
            let mut owners = json::list(object, "/metadata/ownerReferences").to_vec();
            owners.retain(|owner| json::text(owner, "/uid") != uid);
            json::set(object, "/metadata/ownerReferences", owners);
        });
    }
}

fn delete_all(store: &mut Store, request: &Incoming<'_>, target: &Target) -> Outcome<Answer> {
    let kind = store.kinds[target.kind].clone();
    let selector = Selector::parse(&request.query, &kind)?;
    let options = delete_options(request)?;
    let dry = delete_dry_run(request, &options)?;
    let propagation = propagation(request, &options, &kind)?;
    let grace = grace(request, &options);
    let mut items = Vec::new();
    for (key, object) in store.copies(target.kind, &target.namespace) {
        if selector.matches(&object) {
            items.push(Value::clone(&object));
            if !dry {
                delete_object(store, &key, propagation, grace);
            }
        }
    }
    Ok(Answer::Json(
        200,
        json!({
            "kind": format!("{}List", kind.kind),
            "apiVersion": kind.api_version(),
            "metadata": {"resourceVersion": store.revision().to_string()},
            "items": items,
        }),
    ))
}

/// Deletes as a controller does: in the background, with the object's own grace.
pub(crate) fn delete_quietly(store: &mut Store, key: &Key) {
    let going = store
        .get(key)
        .is_some_and(|object| json::has(object, "/metadata/deletionTimestamp"));
    if !going {
        delete_object(store, key, Propagation::Background, None);
    }
}

/// Creates as a controller does.
pub(crate) fn create_quietly(
    store: &mut Store,
    kind: usize,
    namespace: &str,
    object: Value,
) -> Outcome<Value> {
    let target = Target {
        kind,
        namespace: namespace.to_owned(),
        name: String::new(),
        sub: String::new(),
    };
    create_object(store, &target, object, false)
}

// --- subresources -------------------------------------------------------------

fn subresource(store: &mut Store, request: &Incoming<'_>, target: &Target) -> Outcome<Answer> {
    let kind = store.kinds[target.kind].clone();
    match (target.sub.as_str(), request.method) {
        ("status", "GET") if kind.status => {
            let (_, object) = find(store, target)?;
            Ok(Answer::Json(200, typed(&kind, Value::clone(&object))))
        }
        ("status", "PUT") if kind.status => {
            let object = read(request)?;
            update(store, request, target, |_| Ok(object))
        }
        ("status", "PATCH") if kind.status => change(store, request, target),
        ("scale", method) if kind.scale => scale(store, request, target, method),
        ("log", "GET") if kind.is("", "pods") => log(store, &request.query, target),
        (
            "exec"
            | "attach"
            | "portforward"
            | "eviction"
            | "binding"
            | "ephemeralcontainers"
            | "finalize"
            | "proxy"
            | "token"
            | "resize",
            _,
        ) => Err(Refusal::unsupported(format!(
            "{} of {}",
            target.sub, kind.plural
        ))),
        ("status" | "scale", _) => Err(Refusal::method()),
        _ => Err(Refusal::no_path()),
    }
}

/// The lines of `sim.kzero/log`.
fn log(store: &Store, query: &Query, target: &Target) -> Outcome<Answer> {
    let (_, pod) = find(store, target)?;
    if query.is_true("follow") {
        return Err(Refusal::unsupported("logs that are followed"));
    }
    let text = json::annotation(&pod, "sim.kzero/log").unwrap_or_default();
    let mut lines: Vec<&str> = text.lines().collect();
    if let Ok(tail) = query.get("tailLines").parse::<usize>() {
        lines.drain(..lines.len().saturating_sub(tail));
    }
    Ok(Answer::Text(
        200,
        lines.iter().map(|line| format!("{line}\n")).collect(),
    ))
}

fn scale(
    store: &mut Store,
    request: &Incoming<'_>,
    target: &Target,
    method: &str,
) -> Outcome<Answer> {
    let dry = request.query.dry_run()?;
    let (key, object) = find(store, target)?;
    let old = scale_of(&object);
    let new = match method {
        "GET" => return Ok(Answer::Json(200, old)),
        "PUT" => read(request)?,
        "PATCH" => patch::apply(request.content_type, request.body, &old)?,
        _ => return Err(Refusal::method()),
    };
    let kind = store.kinds[target.kind].clone();
    check_version(&kind, &object, &new)?;
    let replicas = match new.pointer("/spec/replicas") {
        None | Some(Value::Null) => 0,
        Some(wanted) => wanted
            .as_i64()
            .filter(|wanted| (0..=i64::from(i32::MAX)).contains(wanted))
            .ok_or_else(|| {
                Refusal::invalid(
                    "Scale.autoscaling",
                    &target.name,
                    "spec.replicas",
                    &format!("Invalid value: {wanted}: must be greater than or equal to 0"),
                )
            })?,
    };
    let mut changed = Value::clone(&object);
    json::set(&mut changed, "/spec/replicas", replicas);
    store.count_generation(target.kind, &object, &mut changed);
    if dry || changed == *object {
        return Ok(Answer::Json(200, scale_of(&changed)));
    }
    let kept = store.put(&key, changed);
    Ok(Answer::Json(200, scale_of(&kept)))
}

/// The `Scale` of a workload. A wanted count of 0 is left out, as real servers do.
fn scale_of(object: &Value) -> Value {
    let meta = &object["metadata"];
    let replicas = json::number(object, "/spec/replicas");
    let labels = json::map(object, "/spec/selector/matchLabels");
    let selector: Vec<String> = labels
        .into_iter()
        .flatten()
        .map(|(name, value)| format!("{name}={}", value.as_str().unwrap_or_default()))
        .collect();
    json!({
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {
            "name": meta["name"],
            "namespace": meta["namespace"],
            "uid": meta["uid"],
            "resourceVersion": meta["resourceVersion"],
            "creationTimestamp": meta["creationTimestamp"],
        },
        "spec": if replicas == 0 { json!({}) } else { json!({"replicas": replicas}) },
        "status": {
            "replicas": json::number(object, "/status/replicas"),
            "selector": selector.join(","),
        },
    })
}

/// Replaces an object as its owner would, without a request.
pub(crate) fn replace_quietly(store: &mut Store, target: &Target, body: &[u8]) -> Outcome<()> {
    let request = Incoming {
        method: "PUT",
        path: "",
        query: Query::default(),
        accept: "application/json",
        content_type: "application/json",
        body,
    };
    let object = read(&request)?;
    update(store, &request, target, |_| Ok(object)).map(|_| ())
}
