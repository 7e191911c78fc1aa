//! Names of releases.

use kzero_gotmpl::{Ambient, Value};

/// The longest name: room is left for what charts put behind it.
const MAX_LENGTH: usize = 53;
/// The form of a name, as Helm shows it.
const FORM: &str = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$";

/// Refuses what cannot be the name of a release.
///
/// # Errors
///
/// Helm's words.
pub(in crate::cli) fn check(name: &str) -> Result<(), String> {
    if name.is_empty() {
        return Err("release name \"\": no name provided".to_owned());
    }
    if name.len() <= MAX_LENGTH && name.split('.').all(is_label) {
        return Ok(());
    }
    Err(format!(
        "release name {name:?}: invalid release name, must match regex {FORM} and the length must not be longer than {MAX_LENGTH}"
    ))
}

fn is_label(text: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = text.as_bytes();
    let ends = bytes.first().zip(bytes.last());
    ends.is_some_and(|(first, last)| inner(*first) && inner(*last))
        && bytes.iter().all(|&byte| inner(byte) || byte == b'-')
}

/// The name a template gives.
///
/// # Errors
///
/// The template's.
pub(in crate::cli) fn from_template(
    template: &str,
    ambient: &dyn Ambient,
) -> Result<String, String> {
    kzero_gotmpl::render("name-template", template, &Value::Nil, ambient)
        .map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn names_of_releases_are_those_of_helm() {
        for good in ["a", "web", "web-1", "a.b", "0", &"x".repeat(53)] {
            assert_eq!(check(good), Ok(()), "{good}");
        }
        for bad in [
            "",
            "Web",
            "-a",
            "a-",
            "a..b",
            "a_b",
            ".a",
            &"x".repeat(54),
            "ä",
        ] {
            assert!(check(bad).is_err(), "{bad}");
        }
    }
}
