//! The patch kinds.

use serde_json::Value;

use super::status::{Outcome, Refusal};

/// Applies a patch of the kind that its content type names.
///
/// A strategic merge patch is taken only where it means the same as a merge patch: without
/// lists and without directives. Anything else is refused, for the rules of merging lists
/// belong to each kind's schema, which this server does not have.
pub(crate) fn apply(content_type: &str, body: &[u8], object: &Value) -> Outcome<Value> {
    let kind = content_type.split(';').next().unwrap_or_default().trim();
    if kind == "application/apply-patch+yaml" {
        return Err(Refusal::unsupported("server-side apply"));
    }
    let patch: Value = serde_json::from_slice(body)
        .map_err(|err| Refusal::bad_request(format!("error decoding patch: {err}")))?;
    let mut object = object.clone();
    match kind {
        "application/merge-patch+json" => json_patch::merge(&mut object, &patch),
        "application/strategic-merge-patch+json" => {
            if let Some(what) = beyond_merge(&patch) {
                return Err(Refusal::unsupported(format!(
                    "a strategic merge patch with {what}"
                )));
            }
            json_patch::merge(&mut object, &patch);
        }
        "application/json-patch+json" => {
            let operations: json_patch::Patch = serde_json::from_value(patch)
                .map_err(|err| Refusal::bad_request(format!("error decoding patch: {err}")))?;
            json_patch::patch(&mut object, &operations).map_err(|err| {
                Refusal::new(
                    422,
                    "Invalid",
                    format!(
                        "the server rejected our request due to an error in our request: {err}"
                    ),
                )
            })?;
        }
        other => {
            return Err(Refusal::new(
                415,
                "UnsupportedMediaType",
                format!("the body of the request was in an unknown format: {other:?}"),
            ));
        }
    }
    Ok(object)
}

/// What makes a strategic patch more than a merge patch.
fn beyond_merge(patch: &Value) -> Option<&'static str> {
    match patch {
        Value::Array(_) => Some("a list"),
        Value::Object(fields) => fields.iter().find_map(|(name, value)| {
            if name.starts_with('$') {
                Some("a directive")
            } else {
                beyond_merge(value)
            }
        }),
        _ => None,
    }
}
