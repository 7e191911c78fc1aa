//! Live objects of a release, read with few requests.
//!
//! Many objects of one kind in one namespace are read as a list, others one by one. Requests under way at once are
//! bounded.

use std::collections::{BTreeMap, HashMap};

use futures::stream::{self, StreamExt, TryStreamExt};
use kzero_cluster::{ApiResource, Budget, Cluster, ClusterError, ErrorClass};
use serde_json::Value;

use crate::resource::{Kinds, Resource, ResourceId, text};

/// How many requests are under way at once.
pub const CONCURRENCY: usize = 16;
/// So many objects of one kind in one namespace are read as a list. A list may hold much that is of no interest, and
/// objects that are read one by one take a round trip each, sixteen at once.
const LISTED: usize = 24;

/// How much of objects is of interest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// All of them, but for who manages which field, which is as large as the rest.
    Whole,
    /// All of them.
    Managed,
    /// Their metadata; more may come.
    Head,
}

/// Reads the live objects of resources. What is not there is not in the answer; a kind that is not served has no objects.
///
/// # Errors
///
/// Any [`ClusterError`] but not found.
///
/// # Cancel safety
///
/// Safe to drop.
pub async fn read<'a>(
    cluster: &Cluster,
    resources: impl IntoIterator<Item = &'a Resource>,
    kinds: &Kinds,
    detail: Detail,
    budget: &Budget,
) -> Result<HashMap<ResourceId, Value>, ClusterError> {
    let mut groups: BTreeMap<(&str, &str, &str), (&ApiResource, Vec<&ResourceId>)> =
        BTreeMap::new();
    for resource in resources {
        if !kinds.is_served(&resource.api) {
            continue;
        }
        let key = (
            resource.api.group_version.as_str(),
            resource.api.plural.as_str(),
            resource.id.namespace.as_str(),
        );
        let group = groups
            .entry(key)
            .or_insert_with(|| (&resource.api, Vec::new()));
        group.1.push(&resource.id);
    }
    let mut requests = Vec::new();
    for (api, mut ids) in groups.into_values() {
        ids.sort_unstable();
        ids.dedup();
        if ids.len() >= LISTED {
            requests.push((api, ids));
        } else {
            requests.extend(ids.into_iter().map(|id| (api, vec![id])));
        }
    }
    let found: Vec<Vec<(ResourceId, Value)>> = stream::iter(requests)
        .map(|(api, ids)| request(cluster, api, ids, detail, budget))
        .buffer_unordered(CONCURRENCY)
        .try_collect()
        .await?;
    Ok(found.into_iter().flatten().collect())
}

async fn request(
    cluster: &Cluster,
    api: &ApiResource,
    ids: Vec<&ResourceId>,
    detail: Detail,
    budget: &Budget,
) -> Result<Vec<(ResourceId, Value)>, ClusterError> {
    if let [id] = ids.as_slice() {
        let object = cluster.object(api, &id.namespace, &id.name, budget).await?;
        return Ok(object
            .map(|object| ((*id).clone(), stripped(object, detail)))
            .into_iter()
            .collect());
    }
    let namespace = ids
        .first()
        .map(|id| id.namespace.as_str())
        .unwrap_or_default();
    let listed = match detail {
        Detail::Whole => cluster.objects_unmanaged(api, namespace, budget).await,
        Detail::Managed => cluster.objects(api, namespace, budget).await.map(items),
        Detail::Head => cluster.object_heads(api, namespace, budget).await,
    };
    let items = match listed {
        Ok(items) => items,
        // Whoever may read objects by name need not have the right to list them.
        Err(error) if error.class() == ErrorClass::Forbidden => {
            return one_by_one(cluster, api, ids, detail, budget).await;
        }
        Err(error) if error.class() == ErrorClass::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut wanted: HashMap<&str, &ResourceId> =
        ids.iter().map(|id| (id.name.as_str(), *id)).collect();
    Ok(items
        .into_iter()
        .filter_map(|item| {
            let id = wanted.remove(text(&item, "/metadata/name"))?;
            Some((id.clone(), stripped(item, detail)))
        })
        .collect())
}

/// An object without what is of no interest.
fn stripped(mut object: Value, detail: Detail) -> Value {
    if detail != Detail::Managed
        && let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut)
    {
        metadata.remove("managedFields");
    }
    object
}

fn items(mut listed: Value) -> Vec<Value> {
    match listed.get_mut("items").map(Value::take) {
        Some(Value::Array(items)) => items,
        _ => Vec::new(),
    }
}

async fn one_by_one(
    cluster: &Cluster,
    api: &ApiResource,
    ids: Vec<&ResourceId>,
    detail: Detail,
    budget: &Budget,
) -> Result<Vec<(ResourceId, Value)>, ClusterError> {
    let mut reads = stream::iter(ids)
        .map(|id| async move {
            let object = cluster.object(api, &id.namespace, &id.name, budget).await?;
            Ok::<_, ClusterError>(object.map(|object| (id.clone(), stripped(object, detail))))
        })
        .buffer_unordered(CONCURRENCY);
    let mut found = Vec::new();
    while let Some(read) = reads.next().await {
        found.extend(read?);
    }
    Ok(found)
}
