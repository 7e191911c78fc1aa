//! CronJobs: `spec.suspend` and no other field (S-11.8).

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::{
    budget::Budget,
    client::{Call, Cluster},
    error::{ClusterError, ErrorClass, Operation},
    notice::Notice,
    object::{ApplyMode, namespaced},
    scale::{CONFLICTS, text},
};

/// What setting `spec.suspend` found and did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suspended {
    /// The value before, read in the same exchange as the write.
    pub before: bool,
    /// The value now; in a dry run the value it would have.
    pub after: bool,
    /// The CronJob's uid.
    pub uid: String,
    /// Whether a write was sent.
    pub patched: bool,
}

/// A CronJob's live state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CronJobState {
    /// `spec.suspend`; absent counts as false.
    pub suspend: bool,
    /// Its uid.
    pub uid: String,
}

fn object(namespace: &str, name: &str) -> String {
    format!("cronjob {namespace}/{name}")
}

fn operation(verb: &'static str, namespace: &str, name: &str) -> Operation {
    Operation::new(verb, "cronjobs", Some(namespace), object(namespace, name))
}

fn path(namespace: &str, name: &str) -> String {
    namespaced("batch/v1", namespace, "cronjobs", Some(name))
}

fn state(item: &Value) -> CronJobState {
    CronJobState {
        suspend: item
            .pointer("/spec/suspend")
            .and_then(Value::as_bool)
            .unwrap_or(false),
        uid: text(item, "/metadata/uid"),
    }
}

impl Cluster {
    /// Sets `spec.suspend` of a CronJob and returns what it was before.
    ///
    /// One GET and one merge patch of this field, bound to the version that was read. Live, a
    /// CronJob that has the value already is left alone; a dry run always sends the patch.
    ///
    /// # Errors
    ///
    /// * [`ErrorClass::NotFound`] – no such CronJob or namespace.
    /// * [`ErrorClass::Forbidden`] – `get` or `patch` on `cronjobs` is not granted.
    /// * [`ErrorClass::Conflict`] – changed by others five times in a row.
    /// * [`ErrorClass::TimedOut`] – the time ran out; the patch may or may not have been applied.
    ///
    /// # Cancel safety
    ///
    /// Not cancel-safe: if dropped after sending, the effect is unknown. The call may be repeated.
    pub async fn set_suspend(
        &self,
        namespace: &str,
        name: &str,
        suspend: bool,
        mode: ApplyMode,
        budget: &Budget,
    ) -> Result<Suspended, ClusterError> {
        let choose = async |_| Ok::<_, ClusterError>(suspend);
        self.set_suspend_by(namespace, name, choose, mode, budget)
            .await
    }

    /// Sets `spec.suspend` to what `choose` makes of the live state. It is asked between reading
    /// and writing, as in [`Cluster::set_replicas_by`].
    ///
    /// # Errors
    ///
    /// As [`Cluster::set_suspend`], and those of `choose`.
    ///
    /// # Cancel safety
    ///
    /// As [`Cluster::set_suspend`].
    pub async fn set_suspend_by<E: From<ClusterError>>(
        &self,
        namespace: &str,
        name: &str,
        mut choose: impl AsyncFnMut(CronJobState) -> Result<bool, E>,
        mode: ApplyMode,
        budget: &Budget,
    ) -> Result<Suspended, E> {
        let path = path(namespace, name);
        let get = Call::get(operation("get", namespace, name), path.as_str());
        let mut attempt = 1;
        loop {
            let found: Value = self.call_json(&get, budget).await?;
            let live = state(&found);
            let CronJobState {
                suspend: before,
                uid,
            } = live.clone();
            let suspend = choose(live).await?;
            if before == suspend && mode == ApplyMode::Live {
                return Ok(Suspended {
                    before,
                    after: suspend,
                    uid,
                    patched: false,
                });
            }
            let patch = json!({
                "metadata": {"resourceVersion": text(&found, "/metadata/resourceVersion")},
                "spec": {"suspend": suspend},
            });
            let call = Call::merge_patch(
                operation("patch", namespace, name),
                path.as_str(),
                &patch,
                mode,
            );
            match self.call_json::<Value>(&call, budget).await {
                Ok(answer) => {
                    return Ok(Suspended {
                        before,
                        after: state(&answer).suspend,
                        uid,
                        patched: true,
                    });
                }
                Err(error) if error.class() == ErrorClass::Conflict && attempt < CONFLICTS => {
                    self.notify(Notice::Conflict {
                        what: object(namespace, name),
                        attempt,
                    });
                    attempt += 1;
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Reads a CronJob's state, `None` if it is absent.
    ///
    /// # Errors
    ///
    /// Any [`ClusterError`] but not found.
    ///
    /// # Cancel safety
    ///
    /// Safe to drop.
    pub async fn cron_job(
        &self,
        namespace: &str,
        name: &str,
        budget: &Budget,
    ) -> Result<Option<CronJobState>, ClusterError> {
        let call = Call::get(operation("get", namespace, name), path(namespace, name));
        let found: Option<Value> = self.call_optional(&call, budget).await?;
        Ok(found.as_ref().map(state))
    }

    /// Reads many CronJobs, given as namespace and name, with one list for each namespace
    /// (S-D.13). Those that do not exist are absent from the result; where listing is forbidden,
    /// each is read by itself.
    ///
    /// # Errors
    ///
    /// The first [`ClusterError`] that is not "not found".
    ///
    /// # Cancel safety
    ///
    /// Safe to drop.
    pub async fn cron_jobs(
        &self,
        wanted: &[(String, String)],
        budget: &Budget,
    ) -> Result<BTreeMap<(String, String), CronJobState>, ClusterError> {
        let mut namespaces: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (namespace, name) in wanted {
            namespaces.entry(namespace).or_default().push(name);
        }
        let mut states = BTreeMap::new();
        for (namespace, names) in namespaces {
            let operation = Operation::new(
                "list",
                "cronjobs",
                Some(namespace),
                format!("cronjobs in {namespace}"),
            );
            let path = namespaced("batch/v1", namespace, "cronjobs", None);
            match self.list::<Value>(&operation, &path, &[], budget).await {
                Ok(listed) => {
                    for item in &listed.items {
                        let name = text(item, "/metadata/name");
                        if names.contains(&name.as_str()) {
                            states.insert((namespace.to_owned(), name), state(item));
                        }
                    }
                }
                Err(error) if error.class() == ErrorClass::Forbidden => {
                    for name in names {
                        if let Some(state) = self.cron_job(namespace, name, budget).await? {
                            states.insert((namespace.to_owned(), name.to_owned()), state);
                        }
                    }
                }
                Err(error) => return Err(error),
            }
        }
        Ok(states)
    }
}
