//! `cronjob`: suspend on `down`, back to what it was on `up`; no other field is touched.

use futures::FutureExt;
use futures::future::LocalBoxFuture;
use kzero_cluster::CronJobState;
use kzero_profile::{KindSpec, NameRule};

use super::context::StepContext;
use super::error::{Exchange, StepError};
use super::kind::{Action, Kind, Subject, View};
use crate::event::{Effect, Level, Phase, SizeSource};
use crate::state::memory::{Key, Live, Waking, suspend_on_up};

/// The row of CronJobs.
pub(super) const KIND: Kind = Kind {
    spec: KindSpec {
        name: "cronjob",
        summary: "suspends a CronJob on down, gives it back its suspend flag on up",
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

impl CronJob {
    fn effect(&self, suspend: bool) -> Effect {
        Effect::Suspend {
            reference: self.reference.clone(),
            suspend,
        }
    }

    /// The flag to set, given the live object. On `down` what it is has been recorded when this returns (S-11.1).
    async fn decide(&self, cx: &StepContext<'_>, live: &Live) -> Result<Waking<bool>, StepError> {
        let key = Key::cron_job(&self.namespace, &self.name);
        if self.phase == Phase::Down {
            cx.memory.park(&key, live, &cx.budget).await?;
            return Ok(Waking {
                wanted: true,
                source: SizeSource::Step,
                foreign: None,
            });
        }
        let entry = cx.memory.entry(&key, &cx.budget).await?;
        Ok(suspend_on_up(entry.as_ref(), live))
    }

    async fn warn(&self, cx: &StepContext<'_>, waking: &Waking<bool>) {
        cx.warn_foreign(&self.reference, waking.foreign);
        if waking.source == SizeSource::Default {
            let text = format!(
                "{}: nothing says whether it was suspended before, resuming it",
                self.reference
            );
            cx.note(Level::Warn, text);
            cx.memory.tell_others(&cx.budget).await;
        }
    }

    async fn set(&self, cx: &StepContext<'_>) -> Result<(), StepError> {
        if cx.plan_only {
            cx.act(self.effect(self.phase == Phase::Down), false);
            return Ok(());
        }
        let client = cx.client().await?;
        let mut told: Option<Waking<bool>> = None;
        let choose = async |state: CronJobState| -> Result<bool, Exchange> {
            let waking = self.decide(cx, &state.into()).await?;
            // After a conflict it is chosen again, and told again only if it is another.
            if told.replace(waking) != Some(waking) {
                self.warn(cx, &waking).await;
                if !cx.dry() {
                    cx.act(self.effect(waking.wanted), false);
                }
            }
            Ok(waking.wanted)
        };
        let patch = client.set_suspend_by(
            &self.namespace,
            &self.name,
            choose,
            cx.apply_mode(),
            &cx.budget,
        );
        match cx.stop.race_call(patch).await? {
            Ok(_) => {
                if let Some(waking) = told.filter(|_| cx.dry()) {
                    cx.act(self.effect(waking.wanted), true);
                }
                Ok(())
            }
            Err(error) if error.is_absence() => cx
                .excuse_absence(&self.reference, &self.namespace)
                .ok_or_else(|| error.into()),
            Err(error) => Err(error.into()),
        }
    }
}

impl Action for CronJob {
    fn detail(&self, view: &View) -> Option<String> {
        let suspend = match self.phase {
            Phase::Down => true,
            Phase::Up => view.suspend.unwrap_or(false),
        };
        Some(format!("patch cronjob spec.suspend={suspend}"))
    }

    fn subject(&self) -> Subject {
        Subject::CronJob(self.namespace.clone(), self.name.clone())
    }

    fn run<'a>(&'a self, cx: &'a StepContext<'a>) -> LocalBoxFuture<'a, Result<(), StepError>> {
        self.set(cx).boxed_local()
    }
}
