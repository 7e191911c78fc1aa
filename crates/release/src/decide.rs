//! What is done to each object: created, changed, created anew, or left alone, and why.
//!
//! Duty: from an object as it is wanted, as it was wanted, and as it lives to a [`Decision`]. Nothing is asked or changed here.

use kzero_cluster::ObjectPatch;
use serde_json::Value;

use crate::directives::{Directives, Ownership};
use crate::merge::{self, FieldChange, Merge, MergeError, Patch, Schema};
use crate::resource::{Resource, Role, mark, owner, ownership_faults, text};

/// How changes are written (S-D.18).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Strategy {
    /// What did not change between revisions is left as it lives.
    #[default]
    ThreeWay,
    /// Every field of the manifest is set, as Helm 3.22 does it.
    Overwrite,
    /// The API server merges.
    ServerSide,
}

/// What becomes of the definitions in `crds/` (S-D.20).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum CrdPolicy {
    /// Those that are not there are created.
    #[default]
    Create,
    /// Those that are there are changed as well.
    Upgrade,
    /// Nothing.
    Skip,
}

/// Why an object is left alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kept {
    /// It is as it is wanted.
    Unchanged,
    /// Definitions of kinds are left alone once they are there.
    Exists,
    /// Its annotation says that it is not created.
    SkipCreate,
    /// Its annotation says that it is not changed.
    SkipUpdate,
}

impl Kept {
    /// The reason in words.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Unchanged => "unchanged",
            Self::Exists => "exists already",
            Self::SkipCreate => "its policy is skip-create",
            Self::SkipUpdate => "its policy is skip-update",
        }
    }
}

/// What is done to an object.
///
/// Objects in it may hold secrets; `Debug` does not show them.
#[derive(Clone, PartialEq)]
pub enum Decision {
    /// It is created; that it is there already is an error.
    Create(Value),
    /// It is being deleted by somebody else: it is created once it is gone.
    CreateWhenGone(Value),
    /// It is changed.
    Patch {
        /// The change.
        patch: ObjectPatch,
        /// The same, field by field.
        changes: Vec<FieldChange>,
        /// The whole object, for one that vanishes meanwhile.
        object: Value,
    },
    /// It is replaced as a whole (`--force`).
    Replace {
        /// The object.
        object: Value,
        /// What that changes, field by field.
        changes: Vec<FieldChange>,
    },
    /// The API server merges it; it need not be there.
    Apply {
        /// The object.
        object: Value,
        /// Whether fields of others are taken.
        force: bool,
        /// A change of its field managers to be made before.
        migration: Option<Value>,
        /// What that changes as far as it can be foretold, field by field.
        changes: Vec<FieldChange>,
    },
    /// It is deleted if it is there, and created.
    Recreate(Value),
    /// Nothing.
    Keep(Kept),
}

impl std::fmt::Debug for Decision {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.verb())
    }
}

impl Decision {
    /// The verb for messages.
    #[must_use]
    pub const fn verb(&self) -> &'static str {
        match self {
            Self::Create(_) | Self::CreateWhenGone(_) => "create",
            Self::Patch { .. } => "update",
            Self::Replace { .. } => "replace",
            Self::Apply { .. } => "apply",
            Self::Recreate(_) => "recreate",
            Self::Keep(_) => "keep",
        }
    }

    /// Whether anything is done.
    #[must_use]
    pub const fn changes(&self) -> bool {
        !matches!(self, Self::Keep(_))
    }

    /// The fields that change, as far as there are any before.
    #[must_use]
    pub fn fields(&self) -> &[FieldChange] {
        match self {
            Self::Patch { changes, .. }
            | Self::Replace { changes, .. }
            | Self::Apply { changes, .. } => changes,
            Self::Create(_) | Self::CreateWhenGone(_) | Self::Recreate(_) | Self::Keep(_) => &[],
        }
    }
}

/// What holds for all objects of a run.
#[derive(Debug, Clone, Default)]
pub struct Rules {
    /// The release.
    pub release: String,
    /// Its namespace.
    pub namespace: String,
    /// How changes are written.
    pub strategy: Strategy,
    /// Whether objects are replaced as a whole.
    pub replace: bool,
    /// Whether fields of others are taken when the API server merges.
    pub force_conflicts: bool,
    /// Whether objects that are there and belong to nobody, or to somebody else, are taken.
    pub take_ownership: bool,
    /// What becomes of `crds/`.
    pub crds: CrdPolicy,
}

/// Why an object cannot be deployed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// It is there and belongs to somebody else. The text is Helm's.
    #[error("{kind} {name:?} in namespace {namespace:?} exists and cannot be imported into the current release: invalid ownership metadata; {}", .faults.join("; "))]
    Foreign {
        /// Its kind.
        kind: String,
        /// Its name.
        name: String,
        /// Its namespace.
        namespace: String,
        /// What marks are missing or other.
        faults: Vec<String>,
    },
    /// The change cannot be worked out.
    #[error("cannot patch {name:?} with kind {kind}: {error}")]
    Unmergeable {
        /// Its kind.
        kind: String,
        /// Its name.
        name: String,
        /// Why.
        error: MergeError,
    },
}

/// What was wanted of an object before, and how it lives.
#[derive(Debug, Clone, Copy, Default)]
pub struct Past<'a> {
    /// Its manifests in every revision since the last deployed one, that one included, oldest first.
    pub previous: &'a [Value],
    /// Its manifest in the revision that Helm compares with; absent if it has none.
    pub original: Option<&'a Value>,
    /// The live object.
    pub live: Option<&'a Value>,
}

impl Rules {
    /// Decides over one object.
    ///
    /// # Errors
    ///
    /// The object belongs to somebody else, or the change cannot be worked out.
    pub fn decide(
        &self,
        resource: &Resource,
        directives: &Directives,
        past: Past<'_>,
    ) -> Result<Decision, Refusal> {
        match resource.role {
            Role::Hook(_) => return Ok(self.hook(resource, directives)),
            Role::Crd => return Ok(self.crd(resource, past.live)),
            Role::Manifest => {}
        }
        let mut object = resource.object.clone();
        if directives.ownership == Ownership::Release {
            mark(&mut object, &self.release, &self.namespace);
        }
        let Some(live) = past.live else {
            if directives.resource_policy.skip_create {
                return Ok(Decision::Keep(Kept::SkipCreate));
            }
            return Ok(Decision::Create(as_created(object, directives)));
        };
        if directives.ownership == Ownership::Release {
            self.check_owner(resource, live, past.previous.is_empty())?;
        }
        if live.pointer("/metadata/deletionTimestamp").is_some() {
            return Ok(Decision::CreateWhenGone(as_created(object, directives)));
        }
        if directives.delete_policy.before_creation && !directives.resource_policy.skip_recreate {
            return Ok(Decision::Recreate(as_created(object, directives)));
        }
        if directives.resource_policy.skip_update {
            return Ok(Decision::Keep(Kept::SkipUpdate));
        }
        self.change(resource, object, live, past)
    }

    fn change(
        &self,
        resource: &Resource,
        object: Value,
        live: &Value,
        past: Past<'_>,
    ) -> Result<Decision, Refusal> {
        let schema = Schema::of(&resource.api.group_version, &resource.id.kind);
        let failed = |error| Refusal::Unmergeable {
            kind: resource.id.kind.clone(),
            name: resource.id.name.clone(),
            error,
        };
        if self.replace {
            let changes = merge::diff(live, &object, schema);
            return Ok(Decision::Replace { object, changes });
        }
        let merged: Merge = match self.strategy {
            Strategy::ThreeWay => merge::three_way(past.previous, &object, live, schema),
            Strategy::Overwrite if self.take_ownership => {
                merge::take_over(past.original, &object, live, schema).map_err(failed)?
            }
            Strategy::Overwrite => {
                // Of an object that is adopted Helm takes the new manifest for the old one.
                let original = past.original.unwrap_or(&object);
                merge::overwrite(Some(original), &object, live, schema).map_err(failed)?
            }
            Strategy::ServerSide => return Ok(self.server_side(object, live, past, schema)),
        };
        Ok(match merged.patch {
            None => Decision::Keep(Kept::Unchanged),
            Some(patch) => Decision::Patch {
                patch: match patch {
                    Patch::Strategic(body) => ObjectPatch::Strategic(body),
                    Patch::JsonMerge(body) => ObjectPatch::Merge(body),
                },
                changes: merged.changes,
                object,
            },
        })
    }

    fn server_side(
        &self,
        mut object: Value,
        live: &Value,
        past: Past<'_>,
        schema: Schema,
    ) -> Decision {
        let foretold = merge::overwrite(
            Some(past.original.unwrap_or(&object)),
            &object,
            live,
            schema,
        );
        let changes = foretold.map(|merge| merge.changes).unwrap_or_default();
        if is_parked(live) {
            // The size that a parked workload will get again is not to be written now (S-D.23).
            if let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) {
                spec.remove("replicas");
            }
        }
        Decision::Apply {
            migration: merge::managed_fields::migration(live, crate::actor::MANAGER),
            object,
            force: self.force_conflicts,
            changes,
        }
    }

    fn hook(&self, resource: &Resource, directives: &Directives) -> Decision {
        let mut object = resource.object.clone();
        if directives.ownership == Ownership::Release {
            mark(&mut object, &self.release, &self.namespace);
        }
        // A definition takes all its objects along; Helm never deletes one either.
        if directives.delete_policy.before_creation
            && resource.id.kind != "CustomResourceDefinition"
        {
            Decision::Recreate(object)
        } else {
            Decision::Create(object)
        }
    }

    fn crd(&self, resource: &Resource, live: Option<&Value>) -> Decision {
        match (live, self.crds) {
            (_, CrdPolicy::Skip) | (Some(_), CrdPolicy::Create) => Decision::Keep(Kept::Exists),
            (None, _) => Decision::Create(resource.object.clone()),
            (Some(live), CrdPolicy::Upgrade) => {
                let schema = Schema::of(&resource.api.group_version, &resource.id.kind);
                let changes: Vec<FieldChange> =
                    merge::three_way(&[], &resource.object, live, schema).changes;
                if changes.is_empty() {
                    return Decision::Keep(Kept::Unchanged);
                }
                Decision::Apply {
                    object: resource.object.clone(),
                    // Whoever wrote the older definition has no say in the newer one.
                    force: true,
                    migration: None,
                    changes,
                }
            }
        }
    }

    /// Whether the object may be changed at all. One that was the release's own before need not carry the marks, but
    /// none of another release.
    fn check_owner(&self, resource: &Resource, live: &Value, is_new: bool) -> Result<(), Refusal> {
        if self.take_ownership {
            return Ok(());
        }
        let of_other = owner(live)
            .is_some_and(|(name, namespace)| name != self.release || namespace != self.namespace);
        if !is_new && !of_other {
            return Ok(());
        }
        let faults = ownership_faults(live, &self.release, &self.namespace);
        if faults.is_empty() {
            return Ok(());
        }
        Err(Refusal::Foreign {
            kind: resource.id.kind.clone(),
            name: resource.id.name.clone(),
            namespace: resource.id.namespace.clone(),
            faults,
        })
    }
}

/// An object as it is created.
fn as_created(mut object: Value, directives: &Directives) -> Value {
    if let Some(replicas) = directives.replicas_on_creation
        && object.get("spec").is_some_and(Value::is_object)
    {
        object["spec"]["replicas"] = replicas.into();
    }
    object
}

/// Whether a workload was scaled to nothing by a run of `down`: its size is zero and belongs to that manager.
fn is_parked(live: &Value) -> bool {
    let managers = live
        .pointer("/metadata/managedFields")
        .and_then(Value::as_array);
    let owns = |entry: &Value| {
        text(entry, "/manager") == "kzero" && entry.pointer("/fieldsV1/f:spec/f:replicas").is_some()
    };
    live.pointer("/spec/replicas").and_then(Value::as_i64) == Some(0)
        && managers.into_iter().flatten().any(owns)
}

#[cfg(test)]
mod tests;
