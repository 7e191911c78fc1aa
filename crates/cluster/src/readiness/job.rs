//! Jobs.

use k8s_openapi::api::batch::v1::Job;

use crate::error::one_line;

/// How a Job ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobOutcome {
    /// `Complete=True`.
    Complete,
    /// `Failed=True`, with reason and message.
    Failed(String),
}

/// The end of a Job, if it has ended. `SuccessCriteriaMet` and `FailureTarget` are not ends: pods
/// may still run.
pub(crate) fn outcome(job: &Job) -> Option<JobOutcome> {
    let conditions = job.status.as_ref()?.conditions.as_deref()?;
    let holds = |kind: &str| {
        conditions
            .iter()
            .find(|condition| condition.type_ == kind && condition.status == "True")
    };
    if let Some(failed) = holds("Failed") {
        let reason = failed.reason.as_deref().unwrap_or("Failed");
        return Some(JobOutcome::Failed(match failed.message.as_deref() {
            Some(message) if !message.is_empty() => format!("{reason}: {}", one_line(message, 400)),
            _ => reason.to_owned(),
        }));
    }
    holds("Complete").map(|_| JobOutcome::Complete)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn found(conditions: &Value) -> Option<JobOutcome> {
        let job: Job =
            serde_json::from_value(json!({"status": {"conditions": conditions}})).unwrap();
        outcome(&job)
    }

    #[test]
    fn s_2_17_only_final_conditions_end_a_job() {
        assert_eq!(found(&Value::Null), None);
        assert_eq!(
            found(&json!([{"type": "SuccessCriteriaMet", "status": "True"}])),
            None
        );
        assert_eq!(
            found(&json!([{"type": "Complete", "status": "False"}])),
            None
        );
        assert_eq!(
            found(&json!([{"type": "Complete", "status": "True"}])),
            Some(JobOutcome::Complete)
        );
        assert_eq!(
            found(
                &json!([{"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded", "message": "Job has reached the specified backoff limit"}])
            ),
            Some(JobOutcome::Failed(
                "BackoffLimitExceeded: Job has reached the specified backoff limit".to_owned()
            ))
        );
    }
}
