//! Where things are kept between runs: a folder of this machine, and objects of a namespace.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use kzero_cluster::Target;
use kzero_profile::Profile;

use crate::environment::{Environment, host_name};

/// The places of one profile on one cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Namespace of ConfigMap and Lease: `state.namespace`, else that of the context.
    pub namespace: String,
    /// `state.name`.
    pub name: String,
    /// Who runs this process, and where: `user@host`.
    pub by: String,
    folder: PathBuf,
}

impl Place {
    /// Reads profile and environment; makes nothing.
    #[must_use]
    pub fn new(profile: &Profile, environment: &Environment, target: &Target) -> Self {
        let name = profile.state.name.clone();
        let user = environment.user.clone();
        let user = user.or_else(|| environment.uid.map(|uid| uid.to_string()));
        Self {
            namespace: profile
                .state
                .namespace
                .clone()
                .unwrap_or_else(|| target.namespace.clone()),
            by: format!("{}@{}", user.unwrap_or_default(), host_name()),
            folder: state_folder(environment)
                .join(kzero_profile::slug(&target.cluster))
                .join(&name),
            name,
        }
    }

    /// The name of ConfigMap and Lease.
    #[must_use]
    pub fn object(&self) -> String {
        format!("kzero-{}", self.name)
    }

    /// `<state dir>/<cluster slug>/<state.name>`, which need not be there yet.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }
}

/// `KZERO_STATE_DIR`, else `$XDG_STATE_HOME/kzero`, else `~/.local/state/kzero`.
fn state_folder(environment: &Environment) -> PathBuf {
    let set = |name: &str| {
        let value = environment.raw(name).filter(|value| !value.is_empty());
        value.map(PathBuf::from)
    };
    let folder = set("KZERO_STATE_DIR")
        // By the XDG specification a relative path is to be ignored.
        .or_else(|| {
            set("XDG_STATE_HOME")
                .filter(|path| path.is_absolute())
                .map(|path| path.join("kzero"))
        })
        .unwrap_or_else(|| environment.home.join(".local/state/kzero"));
    environment.absolute(folder)
}

/// Makes a folder and those above it, for this user alone.
///
/// # Errors
///
/// It cannot be made.
pub fn make_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// Makes a new file for this user alone.
///
/// # Errors
///
/// It is there already, or cannot be made.
pub fn create_new(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .append(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
}

/// Opens a file to read and write, and makes it for this user alone if need be.
///
/// # Errors
///
/// It cannot be opened.
pub fn open_private(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path)
}

/// Waits until the disk has the entries of a folder.
///
/// # Errors
///
/// It cannot be opened, or the disk fails.
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Puts a file in the place of another: whoever reads sees the old content or the new, whatever kills this process.
///
/// # Errors
///
/// It cannot be written; the old one is as it was.
pub fn replace_file(path: &Path, content: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    make_folder(folder)?;
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}", std::process::id()));
    let beside = folder.join(name);
    let write = || {
        let _ = std::fs::remove_file(&beside);
        let mut file = create_new(&beside)?;
        file.write_all(content)?;
        file.sync_all()?;
        std::fs::rename(&beside, path)?;
        sync_folder(folder)
    };
    write().inspect_err(|_| {
        let _ = std::fs::remove_file(&beside);
    })
}
