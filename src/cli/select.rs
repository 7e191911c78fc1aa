//! `--from`, `--only`, `--skip`: parts of a pipeline (S-11.27, S-11.28).

use super::args::RunArgs;
use crate::event::Phase;
use crate::exit::Failure;
use crate::pipeline::Plans;

/// Drops the steps that were not asked for and returns their names. Indexes stay.
pub(super) fn select(
    plans: &mut Plans,
    phases: &[Phase],
    arguments: &RunArgs,
) -> Result<Vec<String>, Failure> {
    if arguments.from.is_none() && arguments.only.is_empty() && arguments.skip.is_empty() {
        return Ok(Vec::new());
    }
    let mut left_out = Vec::new();
    for phase in phases {
        let plan = plans.phase_mut(*phase);
        let known: Vec<String> = plan.steps.iter().map(|step| step.label.clone()).collect();
        let unknown = |flag: &str, wanted: &str| {
            let hint = if known.is_empty() {
                "it has none".to_owned()
            } else {
                format!("its steps are {}", known.join(", "))
            };
            Failure::Config(format!(
                "--{flag} {wanted}: no such step in pipelines.{phase}\nhint: {hint}"
            ))
        };
        let first = match &arguments.from {
            None => 0,
            Some(from) => match from.parse::<usize>() {
                Ok(index) if index < known.len() => index,
                Ok(_) => {
                    return Err(Failure::Config(format!(
                        "--from {from}: pipelines.{phase} has {} steps, indexes begin at 0",
                        known.len()
                    )));
                }
                Err(_) => known
                    .iter()
                    .position(|label| label == from)
                    .ok_or_else(|| unknown("from", from))?,
            },
        };
        for (flag, list) in [("only", &arguments.only), ("skip", &arguments.skip)] {
            if let Some(wanted) = list.iter().find(|wanted| !known.contains(wanted)) {
                return Err(unknown(flag, wanted));
            }
        }
        plan.steps.retain(|step| {
            let keep = step.id.index >= first
                && (arguments.only.is_empty() || arguments.only.contains(&step.label))
                && !arguments.skip.contains(&step.label);
            if !keep {
                left_out.push(format!("{phase}[{}] {}", step.id.index, step.label));
            }
            keep
        });
        if plan.steps.is_empty() {
            return Err(Failure::Config(format!(
                "nothing is left of pipelines.{phase} with these --from, --only and --skip"
            )));
        }
    }
    Ok(left_out)
}
