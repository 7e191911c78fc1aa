//! The rule for names of releases.

/// The longest name, in bytes: with what is put before and after it, it stays a name of an object.
const MAX_NAME: usize = 53;
/// The rule as Helm shows it.
const PATTERN: &str = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$";

/// A name that no release can have. Helm shows it after `release name "X": `.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidName {
    /// There is none.
    #[error("no name provided")]
    Missing,
    /// It is too long or has other characters.
    #[error(
        "invalid release name, must match regex {PATTERN} and the length must not be longer than {MAX_NAME}"
    )]
    Malformed,
}

/// Checks a name: lower-case letters, digits, dashes and dots, 53 characters at most.
///
/// # Errors
///
/// [`InvalidName`], which displays as Helm's text.
pub fn check_name(name: &str) -> Result<(), InvalidName> {
    if name.is_empty() {
        return Err(InvalidName::Missing);
    }
    let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let is_label = |label: &str| {
        !label.is_empty()
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label.bytes().all(allowed)
    };
    if name.len() <= MAX_NAME && name.split('.').all(is_label) {
        Ok(())
    } else {
        Err(InvalidName::Malformed)
    }
}

#[cfg(test)]
mod tests {
    use super::{InvalidName, MAX_NAME, PATTERN, check_name};

    #[test]
    fn names_follow_helms_pattern() {
        let pattern = regex::Regex::new(PATTERN).unwrap();
        let parts = ["a", "-", ".", "Z", "0", "_", "ä", "\n", "web"];
        for first in parts {
            for second in parts {
                for third in parts {
                    let name = format!("{first}{second}{third}");
                    assert_eq!(check_name(&name).is_ok(), pattern.is_match(&name), "{name}");
                }
            }
        }
        assert_eq!(check_name(&"a".repeat(MAX_NAME)), Ok(()));
        assert_eq!(
            check_name(&"a".repeat(MAX_NAME + 1)),
            Err(InvalidName::Malformed)
        );
        assert_eq!(check_name("").unwrap_err().to_string(), "no name provided");
        assert_eq!(
            check_name("A").unwrap_err().to_string(),
            "invalid release name, must match regex ^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$ \
             and the length must not be longer than 53"
        );
    }
}
