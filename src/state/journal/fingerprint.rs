//! What a run depends on, as hashes: whether a profile is still the one that a run began with (S-11.21).

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use kzero_chart::{Chart, load};
use kzero_gotmpl::Ambient;
use kzero_profile::{OptionValue, Profile, StepSpec};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::ambient::System;
use crate::event::Phase;

/// Hashes of all that a run depends on, in the order in which it is told what changed.
///
/// Short texts can be guessed from a plain hash; so each fingerprint has a salt of its own, and two are compared by taking the
/// second with the salt of the first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fingerprint {
    salt: String,
    parts: Vec<Part>,
}

/// One thing that a run depends on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// What: `hooks.pre-down`, `down[2] exec.app/db-0`, `file ./hooks/x.sh`.
    pub name: String,
    /// Its hash in hexadecimal digits.
    pub hash: String,
}

impl Fingerprint {
    /// Takes the fingerprint of phases of a profile and of the files that their steps use.
    #[must_use]
    pub fn take(
        profile: &Profile,
        phases: &[Phase],
        sources: &[(String, PathBuf)],
        salt: &str,
    ) -> Self {
        let mut parts = Vec::new();
        let mut add = |name: String, hash: String| parts.push(Part { name, hash });
        for (name, hook) in hooks(profile, phases) {
            add(format!("hooks.{name}"), text(salt, &format!("{hook:?}")));
        }
        add("helm".to_owned(), text(salt, &helm(profile)));
        for phase in phases {
            let steps = match phase {
                Phase::Down => &profile.pipelines.down,
                Phase::Up => &profile.pipelines.up,
            };
            for (index, step) in steps.iter().flatten().enumerate() {
                let name = format!("{phase}[{index}] {}", step.body);
                add(name, text(salt, &step_text(step)));
            }
        }
        for (name, path) in sources {
            add(format!("file {name}"), source(salt, path));
        }
        Self {
            salt: salt.to_owned(),
            parts,
        }
    }

    /// A salt for a new fingerprint.
    #[must_use]
    pub fn new_salt() -> String {
        let mut bytes = [0; 16];
        System::default().random(&mut bytes);
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// The salt, to take another with.
    #[must_use]
    pub fn salt(&self) -> &str {
        &self.salt
    }

    /// What differs first, in words; `None` where nothing does.
    #[must_use]
    pub fn first_difference(&self, now: &Self) -> Option<String> {
        for (before, now) in self.parts.iter().zip(&now.parts) {
            if before.name != now.name {
                return Some(format!("{} was {} then", now.name, before.name));
            }
            if before.hash != now.hash {
                return Some(format!("{} has changed", now.name));
            }
        }
        let more = now.parts.get(self.parts.len());
        let fewer = self.parts.get(now.parts.len());
        more.map(|part| format!("{} is new", part.name))
            .or_else(|| fewer.map(|part| format!("{} is gone", part.name)))
    }
}

fn hooks<'a>(profile: &'a Profile, phases: &[Phase]) -> Vec<(&'static str, &'a Option<String>)> {
    let hooks = &profile.hooks;
    let mut all = Vec::new();
    for phase in phases {
        all.extend(match phase {
            Phase::Down => [
                ("pre-down", &hooks.pre_down),
                ("post-down", &hooks.post_down),
            ],
            Phase::Up => [("pre-up", &hooks.pre_up), ("post-up", &hooks.post_up)],
        });
    }
    all.push(("on-error", &hooks.on_error));
    all
}

/// `helm.*` but passwords, which may be renewed at any time.
fn helm(profile: &Profile) -> String {
    let registries = profile.helm.registries.iter();
    let registries: Vec<_> = registries
        .map(|entry| (&entry.host, &entry.username, &entry.password_env))
        .collect();
    format!("{:?} {registries:?}", profile.helm.workspace)
}

/// A step with all that says what it does, but for how long it may take.
fn step_text(step: &StepSpec) -> String {
    let options: Vec<_> = step
        .options
        .iter()
        .filter(|(_, value)| !matches!(value, OptionValue::Duration(_)))
        .collect();
    format!("{} {:?} {:?} {options:?}", step.body, step.pre, step.post)
}

struct Hash(Sha256);

impl Hash {
    fn new(salt: &str) -> Self {
        let mut hash = Sha256::new();
        hash.update(salt);
        Self(hash)
    }

    /// Adds a piece; its length keeps two pieces from being taken for others.
    fn add(&mut self, piece: &[u8]) {
        self.0.update((piece.len() as u64).to_le_bytes());
        self.0.update(piece);
    }

    fn hex(self) -> String {
        let digest = self.0.finalize();
        digest.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

fn text(salt: &str, text: &str) -> String {
    let mut hash = Hash::new(salt);
    hash.add(text.as_bytes());
    hash.hex()
}

/// The content of a file, or of the chart that a folder has. What cannot be read is as good as anything else that cannot.
fn source(salt: &str, path: &Path) -> String {
    let mut hash = Hash::new(salt);
    let read = if path.is_dir() {
        load::dir(path)
            .map(|chart| add_chart(&mut hash, &chart))
            .map_err(|error| error.to_string())
    } else {
        add_file(&mut hash, path).map_err(|error| error.to_string())
    };
    if let Err(error) = read {
        hash.add(error.as_bytes());
    }
    hash.hex()
}

fn add_file(hash: &mut Hash, path: &Path) -> io::Result<()> {
    // A pipe or device never ends.
    if !path.metadata()?.is_file() {
        return Err(io::Error::other("it is no regular file"));
    }
    let mut file = File::open(path)?;
    let mut buffer = vec![0; 64 << 10];
    loop {
        let count = file.read(&mut buffer)?;
        if count == 0 {
            return Ok(());
        }
        hash.0.update(buffer.get(..count).unwrap_or_default());
    }
}

fn add_chart(hash: &mut Hash, chart: &Chart) {
    hash.add(format!("{:?} {:?}", chart.metadata, chart.lock).as_bytes());
    for text in [&chart.raw_values, &chart.schema].into_iter().flatten() {
        hash.add(text.as_bytes());
    }
    for file in chart.templates.iter().chain(&chart.files) {
        hash.add(file.name.as_bytes());
        hash.add(file.data.as_bytes());
    }
    for dependency in &chart.dependencies {
        add_chart(hash, dependency);
    }
}
