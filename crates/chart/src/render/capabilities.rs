//! What a cluster can do: its version and the APIs it serves.

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
        let unreadable = || format!("could not parse {text:?} as version");
        let trimmed = text.trim_matches(|c: char| " \t\n\u{b}\u{c}\r".contains(c));
        let body = trimmed.strip_prefix('v').unwrap_or(trimmed);
        let end = body
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(body.len());
        let (numbers, suffix) = body.split_at(end);
        // The numbers are the longest run of the form 1.2.3; a dot may not end it.
        let numbers = numbers.strip_suffix('.').map_or(numbers, |_| "");
        let parts: Vec<&str> = numbers.split('.').collect();
        if parts.len() < 2 || parts.iter().any(|part| part.is_empty()) {
            return Err(unreadable());
        }
        if !suffix.is_empty()
            && !suffix.starts_with(|c: char| "-+~_ \t".contains(c) || c.is_alphabetic())
        {
            return Err(unreadable());
        }
        let mut values = Vec::with_capacity(parts.len());
        for part in parts {
            if part.len() > 1 && part.starts_with('0') {
                return Err(format!(
                    "illegal zero-prefixed version component {part:?} in {text:?}"
                ));
            }
            values.push(part.parse::<u64>().map_err(|_| unreadable())?);
        }
        let shown: Vec<String> = values.iter().map(u64::to_string).collect();
        Ok(Self {
            version: format!("v{}", shown.join(".")),
            major: shown[0].clone(),
            minor: shown[1].clone(),
        })
    }
}
