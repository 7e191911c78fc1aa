//! `cronjob`: suspend on `down`, resume on `up`; no other field is touched.

use futures::FutureExt;
use futures::future::LocalBoxFuture;
use kzero_cluster::ErrorClass;
use kzero_profile::{KindSpec, NameRule};

use super::context::StepContext;
use super::error::StepError;
use super::kind::{Action, Kind, Subject, View};
use crate::event::{Effect, Level, Phase};

/// The row of CronJobs.
pub(super) const KIND: Kind = Kind {
    spec: KindSpec {
        name: "cronjob",
        summary: "suspends a CronJob on down, resumes it on up",
        name_rule: NameRule::CronJobName,
        options: &[],
    },
    build: |cx| {
        Box::new(CronJob {
            phase: cx.phase,
            namespace: cx.reference.namespace.clone(),
            name: cx.reference.name.clone(),
            reference: cx.reference.to_string(),
        })
    },
};

#[derive(Debug)]
struct CronJob {
    phase: Phase,
    namespace: String,
    name: String,
    reference: String,
}

impl Action for CronJob {
    fn detail(&self, _view: &View) -> Option<String> {
        Some(format!(
            "patch cronjob spec.suspend={}",
            self.phase == Phase::Down
        ))
    }

    fn subject(&self) -> Subject {
        Subject::CronJob(self.namespace.clone(), self.name.clone())
    }

    fn run<'a>(&'a self, cx: &'a StepContext<'a>) -> LocalBoxFuture<'a, Result<(), StepError>> {
        async move {
            let suspend = self.phase == Phase::Down;
            let effect = Effect::Suspend {
                reference: self.reference.clone(),
                suspend,
            };
            if !cx.dry() || cx.plan_only {
                cx.act(effect.clone(), false);
            }
            if cx.plan_only {
                return Ok(());
            }
            let client = cx.client().await?;
            let patch = client.set_suspend(
                &self.namespace,
                &self.name,
                suspend,
                cx.apply_mode(),
                &cx.budget,
            );
            match cx.stop.race_call(patch).await? {
                Ok(suspended) => {
                    if !suspend && suspended.before && !cx.dry() {
                        cx.note(
                            Level::Warn,
                            format!(
                                "{}: nothing says whether it was suspended before, resumed it",
                                self.reference
                            ),
                        );
                    }
                    if cx.dry() {
                        cx.act(effect, true);
                    }
                    Ok(())
                }
                Err(error) if error.class() == ErrorClass::NotFound => cx
                    .excuse_absence(&self.reference, &self.namespace)
                    .ok_or_else(|| error.into()),
                Err(error) => Err(error.into()),
            }
        }
        .boxed_local()
    }
}
