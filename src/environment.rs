//! The process environment, read once. Nothing else in the program asks for a variable.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// The variables of the process, its directory, and who runs it.
#[derive(Debug, Clone)]
pub struct Environment {
    variables: BTreeMap<OsString, OsString>,
    /// The process directory; relative paths of a profile start here (S-1.3).
    pub directory: PathBuf,
    /// `HOME`, else that of the user's account; `/` where neither is known.
    pub home: PathBuf,
    /// Name of the user that runs kzero, if known.
    pub user: Option<String>,
    /// Numeric id of that user.
    pub uid: Option<u32>,
}

impl Environment {
    /// Reads the environment of this process. Where the process directory is gone, paths stay
    /// relative, and what needs one says so when it is used.
    pub fn capture() -> Self {
        #[expect(
            clippy::disallowed_methods,
            reason = "this is the one place that reads them"
        )]
        let variables: BTreeMap<_, _> = std::env::vars_os().collect();
        let directory = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("."));
        let uid = rustix::process::getuid().as_raw();
        let user = user_name(uid).or_else(|| {
            let text = |name: &str| variables.get(OsStr::new(name))?.clone().into_string().ok();
            text("USER")
                .or_else(|| text("LOGNAME"))
                .filter(|name| !name.is_empty())
        });
        Self {
            variables,
            directory,
            home: std::env::home_dir().unwrap_or_else(|| PathBuf::from("/")),
            user,
            uid: Some(uid),
        }
    }

    /// The variables as they are.
    pub fn variables(&self) -> &BTreeMap<OsString, OsString> {
        &self.variables
    }

    /// Puts a value in place of a variable's, for flags that are stronger than it. Children of this process do not see it.
    pub fn replace(&mut self, name: &str, value: &OsStr) {
        self.variables.insert(name.into(), value.into());
    }

    /// A variable as it is.
    pub fn raw(&self, name: &str) -> Option<OsString> {
        self.variables.get(OsStr::new(name)).cloned()
    }

    /// A variable as text; `None` when it is unset, empty or no Unicode (S-1.18).
    pub fn text(&self, name: &str) -> Option<String> {
        let value = self.variables.get(OsStr::new(name))?.to_str()?;
        (!value.is_empty()).then(|| value.to_owned())
    }

    /// A path of the profile, made absolute against the process directory. Nothing in it
    /// is expanded.
    pub fn absolute(&self, path: impl AsRef<Path>) -> PathBuf {
        // `.` in the middle says nothing and reads badly; `..` may cross a link and stays.
        let joined = self.directory.join(path);
        joined
            .components()
            .filter(|part| *part != std::path::Component::CurDir)
            .collect()
    }

    /// Finds a program as a shell would: a name with a slash is a path against the process
    /// directory, any other is looked up in kzero's own PATH (S-4.2).
    pub fn find_program(&self, name: &str) -> Option<PathBuf> {
        if name.contains('/') {
            let path = self.absolute(name);
            return is_executable(&path).then_some(path);
        }
        let path = self.variables.get(OsStr::new("PATH"))?;
        std::env::split_paths(path)
            .map(|folder| self.absolute(folder).join(name))
            .find(|path| is_executable(path))
    }
}

fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata()
        .is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

/// The name of a user id by /etc/passwd: a static binary has no other way to look.
fn user_name(uid: u32) -> Option<String> {
    let table = std::fs::read_to_string("/etc/passwd").ok()?;
    let uid = uid.to_string();
    table.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)? == uid).then(|| name.to_owned())
    })
}

/// The name of this machine, as its kernel knows it.
#[must_use]
pub fn host_name() -> String {
    rustix::system::uname()
        .nodename()
        .to_string_lossy()
        .into_owned()
}

/// What tells this machine, this start of it and these numbers of processes from all others: names of machines need not be unique, and containers count
/// their processes anew. Empty where the system does not say.
#[must_use]
pub fn machine() -> String {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id");
    let space = std::fs::read_link("/proc/self/ns/pid");
    match (boot, space) {
        (Ok(boot), Ok(space)) => format!("{} {}", boot.trim(), space.display()),
        _ => String::new(),
    }
}

/// Whether a process of this machine is a kzero that runs.
#[must_use]
pub fn is_running(pid: u32) -> bool {
    let stat = |pid: &str| std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let own = stat("self");
    lives(&stat(&pid.to_string()), name_of(&own).unwrap_or_default())
}

/// Whether a line of `/proc/PID/stat` is of a kzero, or of a program that is called as this one. The number may be another program's by
/// now, and one that ended may not have been reaped yet.
fn lives(stat: &str, own_name: &str) -> bool {
    let Some((_, after)) = stat.rsplit_once(')') else {
        return false;
    };
    let name = name_of(stat).unwrap_or_default();
    // It is installed as kubectl-kzero too.
    (name.contains("kzero") || name == own_name)
        && !matches!(after.trim_start().chars().next(), None | Some('Z' | 'X'))
}

/// The name of the program in a line of `/proc/PID/stat`.
fn name_of(stat: &str) -> Option<&str> {
    let (before, _) = stat.rsplit_once(')')?;
    before.split_once('(').map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::lives;

    #[test]
    fn a_holder_lives_while_its_process_runs() {
        assert!(lives("12 (kzero) S 1 12 12 0", "kzero"));
        assert!(lives("12 (kubectl-kzero) R 1 12 12 0", "kzero"));
        assert!(lives("12 (parker) S 1 12 12 0", "parker"));
        for dead in [
            "",
            "12 (kzero) Z 1 12",
            "12 (bash) S 1 12",
            "12 (kzero) X",
            "12 (kzero",
        ] {
            assert!(!lives(dead, "kzero"), "{dead}");
        }
    }
}
