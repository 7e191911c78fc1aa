//! `dependency update`, `build` and `list`. What they print was compared with Helm 3.22.0.

use std::path::Path;
use std::time::SystemTime;

use kzero_registry::dependency::{Options, build, list, update};
use kzero_registry::{Access, Client};

use crate::common::server::{Reply, Server, Tls};
use crate::common::{Home, Said, chart, index};

/// A repository with versions of alpha and beta.
fn repository() -> Server {
    Server::new(Tls::Off, |seen| {
        if seen.target == "/index.yaml" {
            let entry = |name: &str| {
                let versions = ["0.1.0", "0.2.0", "1.0.0"];
                let urls = versions.map(|version| format!("{name}-{version}.tgz"));
                let pairs: Vec<_> = versions
                    .into_iter()
                    .zip(urls.iter().map(String::as_str))
                    .collect();
                index(name, &pairs)
            };
            let beta = entry("beta");
            let beta = beta.split_once("entries:\n").unwrap().1;
            return Reply::ok(format!("{}{beta}", entry("alpha")));
        }
        let name = seen.target.trim_start_matches('/').trim_end_matches(".tgz");
        match name.split_once('-') {
            Some((name, version)) => Reply::ok(chart(name, version)),
            None => Reply::status(404),
        }
    })
}

fn options(skip_refresh: bool) -> Options {
    Options {
        skip_refresh,
        now: SystemTime::UNIX_EPOCH,
    }
}

/// Writes Chart.yaml of a chart with these dependencies.
fn parent(home: &Home, dependencies: &str) {
    let text =
        format!("apiVersion: v2\nname: parent\nversion: 1.0.0\ndependencies:\n{dependencies}");
    home.write("parent/Chart.yaml", text);
}

/// Runs an update or a build, and gives what was printed, with the error at its end.
async fn run(home: &Home, is_update: bool, skip_refresh: bool) -> String {
    let (access, said) = (Access::default(), Said::default());
    let client = Client::new(&home.settings, &access, &said);
    let path = home.path("parent");
    let done = if is_update {
        update(&client, &path, options(skip_refresh)).await
    } else {
        build(&client, &path, options(skip_refresh)).await
    };
    let end = done
        .err()
        .map(|error| format!("Error: {error}\n"))
        .unwrap_or_default();
    format!("{}{end}", said.out()).replace(
        &format!("{}/", home.path("").display()).replace("//", "/"),
        "",
    )
}

fn listed(home: &Home, path: &str) -> String {
    let said = Said::default();
    let done = list(&home.path(path), 80, &said);
    let end = done
        .err()
        .map(|error| format!("Error: {error}\n"))
        .unwrap_or_default();
    format!("{}{end}", said.out()).replace(
        &format!("{}/", home.path("").display()).replace("//", "/"),
        "",
    )
}

#[tokio::test]
async fn an_update_fetches_the_newest_and_locks_them() {
    let home = Home::new();
    let server = repository();
    let url = server.url("");
    home.write(
        "local/Chart.yaml",
        "apiVersion: v2\nname: local\nversion: 3.0.0\n",
    );
    parent(
        &home,
        &format!(
            "- {{name: alpha, version: \">=0.1.0 <1\", repository: \"{url}\"}}\n- {{name: local, version: \"*\", repository: \"file://../local\"}}\n"
        ),
    );
    home.write("parent/charts/alpha-0.1.0.tgz", chart("alpha", "0.1.0"));
    home.write("parent/charts/_README", "text");
    assert_eq!(
        run(&home, true, false).await,
        format!(
            "Getting updates for unmanaged Helm repositories...\n\
             ...Successfully got an update from the \"{url}\" chart repository\n\
             Saving 2 charts\n\
             Downloading alpha from repo {url}\n\
             Deleting outdated charts\n\
             Could not verify parent/charts/_README for deletion: file 'parent/charts/_README' does not appear to be a gzipped archive; got 'application/octet-stream' (Skipping)\n"
        )
    );
    assert_eq!(home.names("parent"), ["Chart.lock", "Chart.yaml", "charts"]);
    assert_eq!(
        home.names("parent/charts"),
        ["_README", "alpha-0.2.0.tgz", "local-3.0.0.tgz"]
    );
    let lock = home.read("parent/Chart.lock");
    let (start, digest) = lock.split_once("digest: ").unwrap();
    assert_eq!(
        start,
        format!(
            "dependencies:\n- name: alpha\n  repository: {url}\n  version: 0.2.0\n- name: local\n  repository: file://../local\n  version: 3.0.0\n"
        )
    );
    assert!(
        digest.starts_with("sha256:") && digest.contains("\ngenerated: \"1970-01-01T"),
        "{digest}"
    );
    assert_eq!(server.targets(), ["/index.yaml", "/alpha-0.2.0.tgz"]);
    // Nothing has changed: the lock stays.
    home.write(
        "parent/Chart.lock",
        lock.replace("generated: \"1970", "generated: \"1999"),
    );
    run(&home, true, false).await;
    assert!(home.read("parent/Chart.lock").contains("\"1999"));
}

#[tokio::test]
async fn a_build_takes_what_is_locked() {
    let home = Home::new();
    let server = repository();
    let url = server.url("");
    parent(
        &home,
        &format!("- {{name: alpha, version: \"0.x\", repository: \"{url}\"}}\n"),
    );
    run(&home, true, false).await;
    let lock = home.read("parent/Chart.lock");
    std::fs::remove_dir_all(home.path("parent/charts")).unwrap();
    assert!(
        run(&home, false, false)
            .await
            .ends_with("Deleting outdated charts\n")
    );
    assert_eq!(home.names("parent/charts"), ["alpha-0.2.0.tgz"]);
    assert_eq!(home.read("parent/Chart.lock"), lock);
    parent(
        &home,
        &format!("- {{name: alpha, version: \"0.2\", repository: \"{url}\"}}\n"),
    );
    assert_eq!(
        run(&home, false, false).await,
        "Error: the lock file (Chart.lock) is out of sync with the dependencies file (Chart.yaml). Please update the dependencies\n"
    );
}

#[tokio::test]
async fn aliases_are_those_of_repositories_that_were_added() {
    let home = Home::new();
    let server = repository();
    let url = server.url("");
    home.write(
        ".config/helm/repositories.yaml",
        format!("repositories:\n- {{name: mine, url: \"{url}\", username: me, password: hush}}\n- {{name: other, url: \"http://127.0.0.1:1\"}}\n"),
    );
    parent(
        &home,
        "- {name: alpha, version: \"1.x\", repository: \"@mine\"}\n- {name: beta, version: \"1.x\", repository: \"alias:mine\", alias: b}\n",
    );
    assert_eq!(
        run(&home, true, false).await,
        format!(
            "Hang tight while we grab the latest from your chart repositories...\n\
             ...Successfully got an update from the \"mine\" chart repository\n\
             Update Complete. ⎈Happy Helming!⎈\n\
             Saving 2 charts\n\
             Downloading alpha from repo {url}\n\
             Downloading beta from repo {url}\n\
             Deleting outdated charts\n"
        )
    );
    assert!(
        home.read("parent/Chart.lock")
            .contains(&format!("repository: {url}\n"))
    );
    assert!(
        server
            .seen()
            .iter()
            .all(|seen| seen.header("authorization").starts_with("Basic "))
    );
    assert!(
        !home.path(".cache/helm").exists(),
        "Helm's cache is only read"
    );
    assert_eq!(
        run(&home, true, true).await,
        format!(
            "Error: no cached repository for mine found. (try 'helm repo update'): open .cache/helm/repository/mine-index.yaml: no such file or directory\n"
        )
    );
}

#[tokio::test]
async fn what_cannot_be_resolved_is_told_in_helms_words_and_changes_nothing() {
    let home = Home::new();
    let server = repository();
    let url = server.url("");
    let text = async |dependencies: &str| {
        parent(&home, dependencies);
        let text = run(&home, true, false).await;
        assert_eq!(home.names("parent"), ["Chart.yaml"], "{text}");
        text.split_once("Error: ").unwrap().1.to_owned()
    };
    assert_eq!(
        text(&format!(
            "- {{name: alpha, version: \"9\", repository: \"{url}\"}}\n"
        ))
        .await,
        format!(
            "can't get a valid version for 1 subchart(s): \"alpha\" (repository \"{url}\", version \"9\"). Make sure a matching chart version exists in the repo, or change the version constraint in Chart.yaml\n"
        )
    );
    assert_eq!(
        text(&format!(
            "- {{name: gamma, version: \"1\", repository: \"{url}\"}}\n"
        ))
        .await,
        format!("gamma chart not found in repo {url}\n")
    );
    assert_eq!(
        text(&format!(
            "- {{name: alpha, version: \"x y\", repository: \"{url}\"}}\n"
        ))
        .await,
        "dependency \"alpha\" has an invalid version/constraint format: improper constraint: \"x y\"\n"
    );
    assert_eq!(
        text("- {name: alpha, version: \"1\", repository: \"@none\"}\n").await,
        "no repository definition for @none. Please add them via 'helm repo add'\n"
    );
    assert_eq!(
        text("- {name: alpha, version: \"1\", repository: stable}\n").await,
        "no repository definition for stable. Please add them via 'helm repo add'\nNote that repositories must be URLs or aliases. For example, to refer to the \"example\"\nrepository, use \"https://charts.example.com/\" or \"@example\" instead of\n\"example\". Don't forget to add the repo, too ('helm repo add').\n"
    );
    assert_eq!(
        text("- {name: alpha, version: \"1\", repository: \"file://../none\"}\n").await,
        "directory none not found\n"
    );
    assert_eq!(
        text("- {name: alpha, version: \"1\"}\n").await,
        "directory parent/charts/alpha not found\n"
    );
}

#[tokio::test]
async fn a_download_that_fails_leaves_charts_as_they_were() {
    let home = Home::new();
    let server = Server::new(Tls::Off, |seen| match seen.target.as_str() {
        "/index.yaml" => Reply::ok(index("alpha", &[("1.0.0", "alpha-1.0.0.tgz")])),
        _ => Reply::status(404),
    });
    let url = server.url("");
    home.write("parent/charts/alpha-0.1.0.tgz", chart("alpha", "0.1.0"));
    parent(
        &home,
        &format!("- {{name: alpha, version: \"1\", repository: \"{url}\"}}\n"),
    );
    let text = run(&home, true, false).await;
    let cause = format!(
        "could not download {url}/alpha-1.0.0.tgz: failed to fetch {url}/alpha-1.0.0.tgz : 404 Not Found"
    );
    assert!(
        text.ends_with(&format!("Save error occurred:  {cause}\nError: {cause}\n")),
        "{text}"
    );
    assert_eq!(home.names("parent"), ["Chart.yaml", "charts"]);
    assert_eq!(home.names("parent/charts"), ["alpha-0.1.0.tgz"]);
}

#[tokio::test]
async fn an_archive_that_is_no_chart_does_not_take_the_place_of_one() {
    let home = Home::new();
    let server = Server::new(Tls::Off, |seen| match seen.target.as_str() {
        "/index.yaml" => Reply::ok(index("alpha", &[("1.0.0", "alpha-1.0.0.tgz")])),
        _ => Reply::ok("<html>"),
    });
    home.write("parent/charts/alpha-1.0.0.tgz", chart("alpha", "1.0.0"));
    parent(
        &home,
        &format!(
            "- {{name: alpha, version: \"1\", repository: \"{}\"}}\n",
            server.url("")
        ),
    );
    let text = run(&home, true, false).await;
    assert!(
        text.contains("for moving: ") && text.contains("does not appear to be a gzipped archive"),
        "{text}"
    );
    assert_eq!(
        std::fs::read(home.path("parent/charts/alpha-1.0.0.tgz")).unwrap(),
        chart("alpha", "1.0.0")
    );
}

#[test]
fn every_state_of_a_dependency_is_listed() {
    let home = Home::new();
    let names = [
        "ok", "folder", "gone", "wrong", "misnamed", "corrupt", "many", "odd",
    ];
    let entries: String = names
        .iter()
        .map(|name| {
            let version = if *name == "odd" { "x y" } else { "^1" };
            format!("- {{name: {name}, version: \"{version}\", repository: \"@mine\"}}\n")
        })
        .collect();
    parent(&home, &entries);
    let archive = |file: &str, name: &str, version: &str| {
        home.write(&format!("parent/charts/{file}.tgz"), chart(name, version));
    };
    archive("ok-1.0.0", "ok", "1.0.0");
    archive("ok-more-stuff", "ok", "1.0.0");
    archive("wrong-2.0.0", "wrong", "2.0.0");
    archive("misnamed-1.0.0", "other", "1.0.0");
    archive("many-1.0.0", "many", "1.0.0");
    archive("many-1.1.0", "many", "1.1.0");
    archive("odd-1.0.0", "odd", "1.0.0");
    home.write(
        "parent/charts/folder/Chart.yaml",
        "apiVersion: v2\nname: folder\nversion: 1.0.0\n",
    );
    assert_eq!(
        listed(&home, "parent"),
        "NAME    \tVERSION\tREPOSITORY\tSTATUS          \n\
         ok      \t^1     \t@mine     \tok              \n\
         folder  \t^1     \t@mine     \tunpacked        \n\
         gone    \t^1     \t@mine     \tmissing         \n\
         wrong   \t^1     \t@mine     \twrong version   \n\
         misnamed\t^1     \t@mine     \tmisnamed        \n\
         corrupt \t^1     \t@mine     \tmissing         \n\
         many    \t^1     \t@mine     \ttoo many matches\n\
         odd     \tx y    \t@mine     \tinvalid version \n\
         \n\
         WARNING: \"parent/charts/misnamed-1.0.0.tgz\" is not in Chart.yaml.\n"
    );
}

#[test]
fn a_list_of_nothing_and_of_no_chart() {
    let home = Home::new();
    home.write(
        "bare/Chart.yaml",
        "apiVersion: v2\nname: bare\nversion: 1.0.0\n",
    );
    assert_eq!(
        listed(&home, "bare"),
        "WARNING: no dependencies at bare/charts\n"
    );
    home.write(
        "none/Chart.yaml",
        "apiVersion: v2\nname: none\nversion: 1.0.0\ndependencies: []\n",
    );
    assert_eq!(
        listed(&home, "none"),
        "NAME\tVERSION\tREPOSITORY\tSTATUS\n\n"
    );
    assert_eq!(
        listed(&home, "gone"),
        "Error: stat gone: no such file or directory\n"
    );
}

#[tokio::test]
async fn only_folders_are_updated() {
    let home = Home::new();
    let (access, said) = (Access::default(), Said::default());
    let client = Client::new(&home.settings, &access, &said);
    let file = home.write("web.tgz", chart("web", "1.0.0"));
    let text = async |path: &Path| {
        update(&client, path, options(false))
            .await
            .unwrap_err()
            .to_string()
    };
    assert_eq!(text(&file).await, "only unpacked charts can be updated");
    assert_eq!(
        text(Path::new("/nope")).await,
        "could not find /nope: stat /nope: no such file or directory"
    );
}
