//! Which APIs Kubernetes is done with.

use crate::render::KubeVersion;

/// Version, kind, since when it is deprecated, since when it is gone, version and kind instead; a dash where there is
/// nothing to tell. Of Kubernetes 1.37, which Helm 3.22 is built with.
const TABLE: &str = include_str!("deprecated.txt");

/// Whether the APIs of a version of Kubernetes hold this kind without a warning.
pub(super) fn check(
    api_version: &str,
    kind: &str,
    kube_version: &KubeVersion,
) -> Result<(), String> {
    let Some(row) = row(api_version, kind) else {
        return Ok(());
    };
    let [_, _, since, gone, instead, instead_kind] = row;
    let since = number(since.split_once('.').unwrap_or_default())?;
    let now = number((&kube_version.major, &kube_version.minor))?;
    if since > now {
        return Ok(());
    }
    let mut text = format!(
        "{api_version} {kind} is deprecated in v{}.{}+",
        since.0, since.1
    );
    if gone != "-" {
        text.push_str(&format!(", unavailable in v{gone}+"));
    }
    if instead != "-" {
        text.push_str(&format!("; use {instead} {instead_kind}"));
    }
    Err(text)
}

fn row<'t>(api_version: &str, kind: &str) -> Option<[&'t str; 6]> {
    TABLE.lines().find_map(|line| {
        let mut words = line.split(' ');
        let row: [&str; 6] = std::array::from_fn(|_| words.next().unwrap_or("-"));
        (row[0] == api_version && row[1] == kind).then_some(row)
    })
}

fn number(version: (&str, &str)) -> Result<(u64, u64), String> {
    let part = |text: &str| {
        text.parse()
            .map_err(|_| format!("strconv.Atoi: parsing {text:?}: invalid syntax"))
    };
    Ok((part(version.0)?, part(version.1)?))
}
