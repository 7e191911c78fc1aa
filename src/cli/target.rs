//! `kzero target`: which cluster a run would act on, by the kubeconfig alone.

use std::process::ExitCode;
use std::time::Instant;

use serde_json::json;

use super::app::{App, target_block};
use super::args::{TargetArgs, TargetFormat};
use crate::event::Level;
use crate::exit::Failure;
use crate::report::Kind;

/// Prints the target as block, slug or JSON (S-6.27 to S-6.31).
pub(super) fn run(app: &App, arguments: &TargetArgs) -> ExitCode {
    let begin = Instant::now();
    let result = show(app, arguments);
    // S-6.1: only the block form has a summary line.
    if arguments.output == TargetFormat::Block {
        app.output.write(&crate::report::summary(
            "target",
            begin.elapsed(),
            result.is_ok(),
        ));
    }
    super::finish(result, &app.output)
}

fn show(app: &App, arguments: &TargetArgs) -> Result<(), Failure> {
    let profile = app.load(false)?;
    let resolved = app
        .resolve(Some(&profile))
        .map_err(|error| Failure::Cluster(format!("kubernetes target: {error}")))?;
    let target = resolved.target();
    match arguments.output {
        TargetFormat::Slug => {
            app.output
                .result(&format!("{}\n", kzero_profile::slug(&target.cluster)));
        }
        TargetFormat::Json => {
            let mut document = json!({
                "client_id": profile.client_id,
                "os_user": app.environment.user,
                "os_uid": app.environment.uid,
                "context": target.context,
                "cluster": target.cluster,
                "namespace": target.namespace,
                "api_server": target.api_server,
                "kubeconfig": target.kubeconfig,
                "in_cluster": target.in_cluster,
                "config_metadata": {
                    "name": profile.cluster.name,
                    "environment": profile.cluster.environment,
                },
            });
            app.output.masker().mask_json(&mut document);
            app.output.result(&format!("{document:#}\n"));
        }
        TargetFormat::Block => {
            app.lines(
                Level::Info,
                Kind::Target,
                &target_block(target, &profile, app),
            );
            app.output.blank();
        }
    }
    Ok(())
}
