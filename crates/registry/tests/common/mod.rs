//! What tests against servers share.

pub(crate) mod certs;
pub(crate) mod server;

use std::path::{Path, PathBuf};
use std::sync::Mutex;

use kzero_registry::{Access, Archive, Client, Console, Error, Settings, Wanted};

/// What was said to people.
#[derive(Debug, Default)]
pub(crate) struct Said {
    out: Mutex<String>,
    notes: Mutex<Vec<String>>,
}

impl Said {
    /// Everything for standard output.
    pub(crate) fn out(&self) -> String {
        self.out.lock().unwrap().clone()
    }

    /// The lines for standard error.
    pub(crate) fn notes(&self) -> Vec<String> {
        self.notes.lock().unwrap().clone()
    }
}

impl Console for Said {
    fn print(&self, text: &str) {
        self.out.lock().unwrap().push_str(text);
    }

    fn note(&self, line: &str) {
        self.notes.lock().unwrap().push(line.to_owned());
    }
}

/// A home of its own.
pub(crate) struct Home {
    folder: tempfile::TempDir,
    /// Helm's settings in it.
    pub(crate) settings: Settings,
}

impl Home {
    /// An empty one.
    pub(crate) fn new() -> Self {
        certs::provider();
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().as_os_str().to_owned();
        let env = |name: &str| (name == "HOME").then(|| home.clone());
        let settings = Settings::from_env(env, folder.path());
        Self { folder, settings }
    }

    /// A path in it.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file, with the folders it is in.
    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        path
    }

    /// Reads a file.
    pub(crate) fn read(&self, name: impl AsRef<Path>) -> String {
        std::fs::read_to_string(self.folder.path().join(name)).unwrap()
    }

    /// The names in a folder, in order.
    pub(crate) fn names(&self, folder: &str) -> Vec<String> {
        let entries = std::fs::read_dir(self.path(folder)).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<_> = names.collect();
        names.sort();
        names
    }

    /// Trust in the authority of the tests.
    pub(crate) fn trusting(&self) -> Access {
        Access {
            ca_file: Some(self.write("ca.pem", &certs::CERTS.ca)),
            ..Access::default()
        }
    }

    /// Fetches a chart.
    pub(crate) async fn download(
        &self,
        access: &Access,
        reference: &str,
        wanted: &Wanted,
    ) -> Result<Archive, Error> {
        let said = Said::default();
        Client::new(&self.settings, access, &said)
            .download(reference, wanted)
            .await
    }
}

/// Flags with a user name and password.
pub(crate) fn login(access: Access, username: &str, password: &str) -> Access {
    Access {
        username: username.to_owned(),
        password: password.into(),
        ..access
    }
}

/// A version of a chart in a repository.
pub(crate) fn in_repo(repo: &str, version: &str) -> Wanted {
    Wanted::new(version, false, repo)
}

/// The archive of a chart that has nothing but a name, a version and some text.
pub(crate) fn chart(name: &str, version: &str) -> Vec<u8> {
    let yaml = format!("apiVersion: v2\nname: {name}\nversion: {version}\n");
    let files = vec![
        kzero_chart::load::File {
            name: "Chart.yaml".to_owned(),
            data: yaml.into_bytes().into(),
        },
        kzero_chart::load::File {
            name: "values.yaml".to_owned(),
            data: b"a: 1\n".to_vec().into(),
        },
    ];
    let chart = kzero_chart::load::files(files).unwrap();
    kzero_chart::pack::archive(&chart, std::time::SystemTime::UNIX_EPOCH).unwrap()
}

/// An index with one chart.
pub(crate) fn index(name: &str, versions: &[(&str, &str)]) -> String {
    let entries = versions.iter().map(|(version, url)| {
        format!("  - {{apiVersion: v2, name: {name}, version: {version}, urls: [\"{url}\"]}}\n")
    });
    format!(
        "apiVersion: v1\nentries:\n  {name}:\n{}",
        entries.collect::<String>()
    )
}
