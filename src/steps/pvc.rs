//! `pvc`: delete a claim, in both phases.

use futures::FutureExt;
use futures::future::LocalBoxFuture;
use kzero_cluster::Deleted;
use kzero_profile::{KindSpec, NameRule};

use super::context::StepContext;
use super::error::StepError;
use super::kind::{Action, Kind, Subject, View};
use crate::event::{Effect, Level};

/// The row of claims.
pub(super) const KIND: Kind = Kind {
    spec: KindSpec {
        name: "pvc",
        summary: "deletes a PersistentVolumeClaim",
        name_rule: NameRule::Subdomain,
        options: &[],
    },
    build: |cx| {
        Box::new(Claim {
            namespace: cx.reference.namespace.clone(),
            name: cx.reference.name.clone(),
        })
    },
};

#[derive(Debug)]
struct Claim {
    namespace: String,
    name: String,
}

impl Action for Claim {
    fn detail(&self, _view: &View) -> Option<String> {
        Some("delete pvc (background propagation, ignore-not-found)".into())
    }

    fn subject(&self) -> Subject {
        Subject::Claim(self.namespace.clone(), self.name.clone())
    }

    fn run<'a>(&'a self, cx: &'a StepContext<'a>) -> LocalBoxFuture<'a, Result<(), StepError>> {
        async move {
            let object = format!("{}/{}", self.namespace, self.name);
            cx.act(
                Effect::DeleteClaim {
                    object: object.clone(),
                },
                false,
            );
            if cx.dry() {
                return Ok(());
            }
            let client = cx.client().await?;
            let delete =
                client.delete_claim(&self.namespace, &self.name, cx.apply_mode(), &cx.budget);
            match cx.call(delete).await? {
                Deleted::Accepted { held_by } if !held_by.is_empty() => cx.note(
                    Level::Warn,
                    format!(
                        "pvc {object} stays until these pods let go of it: {}",
                        held_by.join(", ")
                    ),
                ),
                Deleted::Accepted { .. } => {}
                Deleted::Absent => {
                    cx.note(
                        Level::Info,
                        format!("pvc {object} is absent, nothing to do"),
                    );
                }
            }
            Ok(())
        }
        .boxed_local()
    }
}
