//! `Chart.lock`, and the digest that ties it to `Chart.yaml`.

use std::fs;
use std::path::Path;
use std::time::SystemTime;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use kzero_chart::metadata::Dependency;
use kzero_chart::yaml;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::cache::sha256;
use crate::error::{Error, words};
use crate::quote::quoted;

/// The digest of what is asked for and what was chosen.
pub(super) fn digest(
    wanted: Option<&[Dependency]>,
    locked: Option<&[Dependency]>,
) -> Result<String, Error> {
    Ok(format!(
        "sha256:{}",
        sha256(&go_json(&[normal(wanted), normal(locked)])?)
    ))
}

/// The digest that Helm 2 had, of what is asked for.
pub(super) fn legacy_digest(wanted: Option<&[Dependency]>) -> Result<String, Error> {
    #[derive(Serialize)]
    struct Legacy {
        dependencies: Option<Vec<Dependency>>,
    }
    Ok(sha256(&go_json(&Legacy {
        dependencies: normal(wanted),
    })?))
}

/// Dependencies whose numbers are written as Go writes them.
fn normal(list: Option<&[Dependency]>) -> Option<Vec<Dependency>> {
    let mut list = list?.to_vec();
    for entry in &mut list {
        entry.import_values.iter_mut().flatten().for_each(integers);
    }
    Some(list)
}

/// Makes integers of doubles that are some.
fn integers(value: &mut Value) {
    match value {
        Value::Number(number) => {
            if let Ok(whole) = yaml::json_number(number).parse::<i64>() {
                *value = whole.into();
            }
        }
        Value::Array(list) => list.iter_mut().for_each(integers),
        Value::Object(map) => map.values_mut().for_each(integers),
        _ => {}
    }
}

/// JSON with the characters escaped that Go escapes for HTML; in JSON they stand in texts alone.
fn go_json(value: &impl Serialize) -> Result<Vec<u8>, Error> {
    let text = serde_json::to_string(value).map_err(|error| Error::invalid(error.to_string()))?;
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => out.push_str("\\u003c"),
            '>' => out.push_str("\\u003e"),
            '&' => out.push_str("\\u0026"),
            '\u{2028}' => out.push_str("\\u2028"),
            '\u{2029}' => out.push_str("\\u2029"),
            c => out.push(c),
        }
    }
    Ok(out.into_bytes())
}

/// Writes the lock.
///
/// # Errors
///
/// The file is a link, or cannot be written.
pub(super) fn write(
    chart: &Path,
    locked: &[Dependency],
    digest: &str,
    now: SystemTime,
    legacy: bool,
) -> Result<(), Error> {
    let name = if legacy {
        "requirements.lock"
    } else {
        "Chart.lock"
    };
    let path = chart.join(name);
    if let Ok(found) = fs::symlink_metadata(&path)
        && found.is_symlink()
    {
        let target = fs::read_link(&path).map_err(|error| {
            Error::local(format!(
                "error reading symlink for {}: {}",
                quoted(&path.display().to_string()),
                words(&error)
            ))
        })?;
        return Err(Error::local(format!(
            "the {name} file is a symlink to {}",
            quoted(&target.display().to_string())
        )));
    }
    let text = document(locked, digest, &rfc3339(now)?)?;
    fs::write(&path, text).map_err(|error| Error::path("open", &path, &error))
}

fn document(locked: &[Dependency], digest: &str, generated: &str) -> Result<String, Error> {
    let entries = locked.iter().map(|entry| {
        let mut map = Map::new();
        map.insert("name".to_owned(), json!(entry.name));
        map.insert("repository".to_owned(), json!(entry.repository));
        if !entry.version.is_empty() {
            map.insert("version".to_owned(), json!(entry.version));
        }
        Value::Object(map)
    });
    let lock = json!({
        "dependencies": entries.collect::<Vec<_>>(),
        "digest": digest,
        "generated": generated,
    });
    let mut text = yaml::encode(&lock).map_err(|error| Error::invalid(error.to_string()))?;
    text.push('\n');
    Ok(text)
}

/// A time of the local zone as Go writes it into JSON.
fn rfc3339(time: SystemTime) -> Result<String, Error> {
    let time = Timestamp::try_from(time).map_err(|error| Error::invalid(error.to_string()))?;
    Ok(in_zone(time, TimeZone::system()))
}

fn in_zone(time: Timestamp, zone: TimeZone) -> String {
    let time = time.to_zoned(zone);
    let whole = time.strftime("%Y-%m-%dT%H:%M:%S");
    let fraction = match time.subsec_nanosecond() {
        0 => String::new(),
        nanos => format!(".{nanos:09}").trim_end_matches('0').to_owned(),
    };
    if time.offset().is_zero() {
        format!("{whole}{fraction}Z")
    } else {
        format!("{whole}{fraction}{}", time.strftime("%:z"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(name: &str, version: &str, repository: &str) -> Dependency {
        Dependency {
            name: name.to_owned(),
            version: version.to_owned(),
            repository: repository.to_owned(),
            ..Dependency::default()
        }
    }

    /// Digests that Helm 3.22.0 has written.
    #[test]
    fn digests_are_helms() {
        let repository = "http://127.0.0.1:5520";
        let wanted = [entry("alpha", "0.1.0", repository)];
        assert_eq!(
            digest(Some(&wanted), Some(&wanted)).unwrap(),
            "sha256:cf84303f33b1d0cd68e6c716aca9504c1329d90405f42e7d7a4cfec1120c37b3"
        );
        let mut wanted = vec![
            entry("alpha", ">=0.1.0 <1", repository),
            entry("beta", "0.x", "http://127.0.0.1:5520/"),
            entry("web", "^0.1", "oci://127.0.0.1:5511/charts"),
            entry("local", "*", "file://../local"),
        ];
        wanted[1].alias = "bb".to_owned();
        wanted[1].condition = "b.enabled".to_owned();
        let locked = [
            entry("alpha", "0.2.0", repository),
            entry("beta", "0.2.0", "http://127.0.0.1:5520/"),
            entry("web", "0.1.0", "oci://127.0.0.1:5511/charts"),
            entry("local", "1.0.0", "file://../local"),
        ];
        assert_eq!(
            digest(Some(&wanted), Some(&locked)).unwrap(),
            "sha256:e1a2c9cd91d4fe9a6f34aa9ea47b3efea4ccd4077cf6db587af960c39840f429"
        );
    }

    #[test]
    fn json_is_written_as_go_writes_it() {
        let mut one = entry("a", "", "");
        one.import_values = Some(vec![json!("x<&>"), json!({"child": "c", "n": 1.0})]);
        let list = normal(Some(&[one]));
        assert_eq!(
            String::from_utf8(go_json(&[list, None]).unwrap()).unwrap(),
            r#"[[{"name":"a","repository":"","import-values":["x\u003c\u0026\u003e",{"child":"c","n":1}]}],null]"#
        );
    }

    #[test]
    fn the_lock_is_written_as_helm_writes_it() {
        let text = document(
            &[entry("alpha", "0.1.0", ""), entry("beta", "", "@x")],
            "sha256:00",
            "2026-11-30T21:01:46.379147302Z",
        );
        assert_eq!(
            text.unwrap(),
            "dependencies:\n- name: alpha\n  repository: \"\"\n  version: 0.1.0\n- name: beta\n  repository: '@x'\ndigest: sha256:00\ngenerated: \"2026-11-30T21:01:46.379147302Z\"\n"
        );
    }

    #[test]
    fn times_have_their_zone_and_no_zeros_at_the_end() {
        let time = Timestamp::new(1_796_000_000, 120_000_000).unwrap();
        let zone = TimeZone::fixed(jiff::tz::offset(-5));
        assert_eq!(in_zone(time, zone), "2026-11-29T19:53:20.12-05:00");
        assert_eq!(
            in_zone(Timestamp::UNIX_EPOCH, TimeZone::UTC),
            "1970-01-01T00:00:00Z"
        );
    }

    #[test]
    fn a_lock_that_is_a_link_is_not_written_through() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("target");
        fs::write(&target, "kept").unwrap();
        std::os::unix::fs::symlink(&target, folder.path().join("Chart.lock")).unwrap();
        let error = write(folder.path(), &[], "", SystemTime::UNIX_EPOCH, false).unwrap_err();
        let wanted = format!(
            "the Chart.lock file is a symlink to {:?}",
            target.display().to_string()
        );
        assert_eq!(error.to_string(), wanted);
        assert_eq!(fs::read_to_string(&target).unwrap(), "kept");
    }
}
