//! What a cluster can do: its version and the APIs it serves.

use crate::quote::quoted;

/// The versions of Kubernetes and its APIs that templates may ask for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capabilities {
    /// The version of Kubernetes.
    pub kube_version: KubeVersion,
    /// `group/version`, and where a cluster was asked also `group/version/Kind`.
    pub api_versions: Vec<String>,
}

/// The groups and versions that Helm 3.22 knows without a cluster: those of its client library (Kubernetes 1.36), in
/// the order of their names.
const OFFLINE: &str = include_str!("api_versions.txt");

impl Default for Capabilities {
    /// Without a cluster: Kubernetes v1.36.0, and the APIs of that version.
    fn default() -> Self {
        Self {
            kube_version: KubeVersion {
                version: "v1.36.0".to_owned(),
                major: "1".to_owned(),
                minor: "36".to_owned(),
            },
            api_versions: OFFLINE.lines().map(str::to_owned).collect(),
        }
    }
}

/// A version of Kubernetes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KubeVersion {
    /// The whole, as in `v1.36.0`.
    pub version: String,
    /// The major version.
    pub major: String,
    /// The minor version.
    pub minor: String,
}

impl KubeVersion {
    /// Reads `1.33`, `v1.33.4` and the like; what follows the numbers (`-gke.1`, `+k3s1`) is left out.
    ///
    /// # Errors
    ///
    /// The text is no version, in the words of Kubernetes.
    pub fn parse(text: &str) -> Result<Self, String> {
        let trimmed = text.trim_start_matches(['\t', '\n', '\x0c', '\r', ' ']);
        let body = trimmed.strip_prefix('v').unwrap_or(trimmed);
        let (numbers, rest) = body.split_at(numbers_end(body));
        if numbers.is_empty() || rest.contains('\n') {
            return Err(format!("could not parse {} as version", quoted(text)));
        }
        let parts: Vec<&str> = numbers.split('.').collect();
        if parts.len() < 2 {
            return Err(format!("illegal version string {}", quoted(text)));
        }
        if parts[0].starts_with('0') && parts[0] != "0" {
            return Err(format!(
                "illegal zero-prefixed version component {} in {}",
                quoted(parts[0]),
                quoted(text)
            ));
        }
        let mut shown = Vec::with_capacity(parts.len());
        for part in parts {
            let number: u64 = part.parse().map_err(|_| {
                format!(
                    "illegal non-numeric version component {0} in {1}: strconv.ParseUint: parsing {0}: value out of range",
                    quoted(part),
                    quoted(text)
                )
            })?;
            shown.push(number.to_string());
        }
        Ok(Self {
            version: format!("v{}", shown.join(".")),
            major: shown[0].clone(),
            minor: shown[1].clone(),
        })
    }
}

/// Where the longest run of the form `1.2.3` ends.
fn numbers_end(text: &str) -> usize {
    let digits = |from: usize| {
        let rest = text.get(from..).unwrap_or_default();
        let end = rest.find(|c: char| !c.is_ascii_digit());
        from + end.unwrap_or(rest.len())
    };
    let mut end = digits(0);
    while end > 0 && text.get(end..).is_some_and(|rest| rest.starts_with('.')) {
        let next = digits(end + 1);
        if next == end + 1 {
            break;
        }
        end = next;
    }
    end
}

#[cfg(test)]
mod tests {
    use super::KubeVersion;

    #[test]
    fn versions_are_read_as_kubernetes_reads_them() {
        let read = |text: &str| KubeVersion::parse(text).map(|version| version.version);
        for (text, version) in [
            ("1.33", "v1.33"),
            ("v1.33.4-gke.1", "v1.33.4"),
            (" v1.33.4+k3s1", "v1.33.4"),
            ("1.33.", "v1.33"),
            ("1.08.1.2", "v1.8.1.2"),
            ("1.2x", "v1.2"),
        ] {
            assert_eq!(read(text).as_deref(), Ok(version), "{text}");
        }
        for (text, error) in [
            ("x", "could not parse \"x\" as version"),
            ("1", "illegal version string \"1\""),
            (
                "01.2",
                "illegal zero-prefixed version component \"01\" in \"01.2\"",
            ),
        ] {
            assert_eq!(read(text), Err(error.to_owned()), "{text}");
        }
        assert!(read("1.99999999999999999999").is_err());
    }
}
