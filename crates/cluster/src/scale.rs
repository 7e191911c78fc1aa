//! Sizes: the `scale` subresource, and nothing else of a workload is ever written (S-2.9).

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    budget::Budget,
    client::{Call, Cluster},
    error::{ClusterError, ErrorClass, Operation},
    notice::Notice,
    object::{ApplyMode, ScaleKind, WorkloadRef},
    wait::workload_operation,
};

/// How often a write that met a newer version is repeated (S-2.9).
pub(crate) const CONFLICTS: u32 = 5;

/// What setting a size found and did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scaled {
    /// The size before, read in the same exchange as the write: an edit in between makes the write
    /// fail and be repeated.
    pub before: i32,
    /// The size now; in a dry run the size it would have.
    pub after: i32,
    /// The workload's uid.
    pub uid: String,
    /// The server's clock at the last answer; the start of a wait (S-2.12).
    pub at: Option<Timestamp>,
    /// Whether a write was sent. A live call that finds the size as wanted sends none.
    pub patched: bool,
}

/// A workload's live size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Size {
    /// `spec.replicas`; absent counts as 1, as the server has it.
    pub replicas: i32,
    /// The workload's uid.
    pub uid: String,
}

/// The parts of `autoscaling/v1` Scale that matter. `spec.replicas` is left out when it is 0.
#[derive(Deserialize)]
struct Scale {
    #[serde(default)]
    metadata: ScaleMeta,
    #[serde(default)]
    spec: ScaleSpec,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ScaleMeta {
    uid: String,
    resource_version: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ScaleSpec {
    replicas: i32,
}

impl Cluster {
    /// Sets the replica count of a workload and returns the count it had before.
    ///
    /// Sends one GET and one merge patch to the `scale` subresource, the patch under the resource
    /// version that was read; the pods may still be running when this returns, see
    /// [`Cluster::wait_ready`] and [`Cluster::wait_terminated`]. Setting the present size again is
    /// a success: live it sends no patch, as a dry run it always sends one, so that the server
    /// checks the right to do so.
    ///
    /// # Arguments
    ///
    /// * `replicas` – pods wanted, 0 to 2^31 - 1; larger counts are refused here.
    /// * `budget` – time for the whole call, with all repetitions after conflicts (at most 5).
    ///
    /// # Errors
    ///
    /// * [`ErrorClass::NotFound`] – no such workload or namespace.
    /// * [`ErrorClass::Forbidden`] – `get` or `patch` on `<plural>/scale` is not granted.
    /// * [`ErrorClass::Conflict`] – changed by others five times in a row.
    /// * [`ErrorClass::TimedOut`] – the time ran out; the patch may or may not have been applied.
    ///
    /// # Cancel safety
    ///
    /// Not cancel-safe: if dropped after sending, the effect is unknown. The call may be repeated.
    ///
    /// Source: Kubernetes API conventions, and the autoscaling/v1 `Scale` type.
    pub async fn set_replicas(
        &self,
        workload: &WorkloadRef,
        replicas: u32,
        mode: ApplyMode,
        budget: &Budget,
    ) -> Result<Scaled, ClusterError> {
        let choose = async |_| Ok::<_, ClusterError>(replicas);
        self.set_replicas_by(workload, choose, mode, budget).await
    }

    /// Sets the size that `choose` makes of the live one. It is asked between reading and writing,
    /// and again after each conflict: what it was told last is what was there when the write took
    /// effect, and it may put that on record first. Its error ends the call with nothing written.
    ///
    /// # Errors
    ///
    /// As [`Cluster::set_replicas`], and those of `choose`.
    ///
    /// # Cancel safety
    ///
    /// As [`Cluster::set_replicas`].
    pub async fn set_replicas_by<E: From<ClusterError>>(
        &self,
        workload: &WorkloadRef,
        mut choose: impl AsyncFnMut(Size) -> Result<u32, E>,
        mode: ApplyMode,
        budget: &Budget,
    ) -> Result<Scaled, E> {
        let path = format!("{}/scale", workload.path());
        let operation = scale_operation(workload, "get");
        let get = Call::get(operation.clone(), path.as_str());
        let mut attempt = 1;
        loop {
            let reply = self.call(&get, budget).await?;
            let scale: Scale = reply.json(&operation)?;
            let before = scale.spec.replicas;
            let uid = scale.metadata.uid;
            let found = Size {
                replicas: before,
                uid: uid.clone(),
            };
            let replicas = choose(found).await?;
            let wanted = i32::try_from(replicas).map_err(|_| {
                ClusterError::new(
                    ErrorClass::Invalid,
                    format!("{workload}: {replicas} replicas are more than the API can express"),
                )
            })?;
            if before == wanted && mode == ApplyMode::Live {
                return Ok(Scaled {
                    before,
                    after: wanted,
                    uid,
                    at: reply.date.or_else(local_clock),
                    patched: false,
                });
            }
            let patch = json!({
                "metadata": {"resourceVersion": scale.metadata.resource_version},
                "spec": {"replicas": wanted},
            });
            let call = Call::merge_patch(operation.with_verb("patch"), path.as_str(), &patch, mode);
            match self.call(&call, budget).await {
                Ok(reply) => {
                    let answer: Scale = reply.json(&call.operation)?;
                    return Ok(Scaled {
                        before,
                        after: answer.spec.replicas,
                        uid,
                        at: reply.date.or_else(local_clock),
                        patched: true,
                    });
                }
                Err(error) if error.class() == ErrorClass::Conflict && attempt < CONFLICTS => {
                    self.notify(Notice::Conflict {
                        what: workload.to_string(),
                        attempt,
                    });
                    attempt += 1;
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Reads the live size of a workload from its `scale` subresource.
    ///
    /// # Errors
    ///
    /// As [`Cluster::set_replicas`], of the reading part.
    ///
    /// # Cancel safety
    ///
    /// Safe to drop.
    pub async fn replicas(
        &self,
        workload: &WorkloadRef,
        budget: &Budget,
    ) -> Result<i32, ClusterError> {
        self.size(workload, budget).await.map(|size| size.replicas)
    }

    /// Reads the live size and the uid of a workload from its `scale` subresource.
    ///
    /// # Errors
    ///
    /// As [`Cluster::replicas`].
    ///
    /// # Cancel safety
    ///
    /// Safe to drop.
    pub async fn size(
        &self,
        workload: &WorkloadRef,
        budget: &Budget,
    ) -> Result<Size, ClusterError> {
        let call = Call::get(
            scale_operation(workload, "get"),
            format!("{}/scale", workload.path()),
        );
        let scale: Scale = self.call_json(&call, budget).await?;
        Ok(Size {
            replicas: scale.spec.replicas,
            uid: scale.metadata.uid,
        })
    }

    /// Reads the sizes of many workloads with one list for each namespace and kind (S-D.13).
    ///
    /// Workloads that do not exist are absent from the result. Where listing is forbidden, each
    /// workload's `scale` is read by itself.
    ///
    /// # Errors
    ///
    /// The first [`ClusterError`] that is not "not found".
    ///
    /// # Cancel safety
    ///
    /// Safe to drop.
    pub async fn sizes(
        &self,
        workloads: &[WorkloadRef],
        budget: &Budget,
    ) -> Result<BTreeMap<WorkloadRef, Size>, ClusterError> {
        let mut groups: BTreeMap<(ScaleKind, &str), Vec<&WorkloadRef>> = BTreeMap::new();
        for workload in workloads {
            groups
                .entry((workload.kind, &workload.namespace))
                .or_default()
                .push(workload);
        }
        let mut sizes = BTreeMap::new();
        for wanted in groups.values() {
            let Some(first) = wanted.first() else {
                continue;
            };
            let operation = workload_operation(first, "list");
            match self
                .list::<Value>(&operation, &first.collection(), &[], budget)
                .await
            {
                Ok(listed) => {
                    let found: BTreeMap<&str, &Value> = listed
                        .items
                        .iter()
                        .filter_map(|item| Some((item.pointer("/metadata/name")?.as_str()?, item)))
                        .collect();
                    for workload in wanted {
                        if let Some(item) = found.get(workload.name.as_str()) {
                            sizes.insert((*workload).clone(), size_of(item));
                        }
                    }
                }
                Err(error) if error.class() == ErrorClass::Forbidden => {
                    for workload in wanted {
                        match self.size(workload, budget).await {
                            Ok(size) => {
                                sizes.insert((*workload).clone(), size);
                            }
                            Err(error) if error.class() == ErrorClass::NotFound => {}
                            Err(error) => return Err(error),
                        }
                    }
                }
                Err(error) => return Err(error),
            }
        }
        Ok(sizes)
    }
}

fn size_of(item: &Value) -> Size {
    let replicas = item.pointer("/spec/replicas").and_then(Value::as_i64);
    Size {
        replicas: replicas
            .and_then(|count| i32::try_from(count).ok())
            .unwrap_or(1),
        uid: text(item, "/metadata/uid"),
    }
}

/// The text at a JSON pointer, or nothing.
pub(crate) fn text(value: &Value, pointer: &str) -> String {
    value
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned()
}

fn scale_operation(workload: &WorkloadRef, verb: &'static str) -> Operation {
    Operation::new(
        verb,
        format!("{}/scale", workload.kind.plural()),
        Some(&workload.namespace),
        workload.to_string(),
    )
}

#[expect(
    clippy::unnecessary_wraps,
    reason = "stands in for a Date header that the server did not send"
)]
fn local_clock() -> Option<Timestamp> {
    Some(Timestamp::now())
}
