//! References that need no server.

use super::*;

fn settings(folder: &Path) -> Settings {
    Settings::from_env(|_| None, folder)
}

#[test]
fn what_is_there_is_a_chart_of_this_machine() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(folder.path().join("repo/web")).unwrap();
    let settings = settings(folder.path());
    let found = |reference: &str| local(reference, &settings).map_err(|error| error.to_string());
    let web = Some(folder.path().join("repo/web"));
    for reference in ["repo/web", " ./repo/../repo/web\n", "repo/web/"] {
        assert_eq!(found(reference).unwrap(), web, "{reference}");
    }
    assert_eq!(found("repo/db").unwrap(), None);
    assert_eq!(found("oci://h/x").unwrap(), None);
    assert_eq!(found("").unwrap(), None);
    assert_eq!(
        found("./repo/db").unwrap_err(),
        "path \"./repo/db\" not found"
    );
    assert_eq!(
        found("/nowhere").unwrap_err(),
        "path \"/nowhere\" not found"
    );
}

#[test]
fn devel_counts_only_without_a_version() {
    assert_eq!(Wanted::new("", true, "").version, ">0.0.0-0");
    assert_eq!(Wanted::new("1.0.0", true, "").version, "1.0.0");
    assert_eq!(Wanted::new("", false, "").version, "");
}
