//! The ends of a command and their exit codes (S-9): the only place that maps one to the other.

use std::process::ExitCode;

/// Why a command failed. The class is decided by *when* it happened (S-9.1).
#[derive(Debug, Clone)]
pub enum Failure {
    /// Profile, flag, argument, variable, or a file missing before step 0: exit 1.
    Config(String),
    /// Kubeconfig or target not resolved, or cluster validation failed: exit 2.
    Cluster(String),
    /// A run had begun and did not end well, or a dry-run was refused: exit 3.
    Aborted {
        /// The final error.
        text: String,
        /// The failed step for machines.
        failed_step: Option<String>,
    },
    /// A run failed, and somebody who had to be told of it was not: exit 4 (S-9.2).
    Undelivered(String),
    /// Another run has the lock of the profile; nothing was done: exit 5.
    Locked(String),
    /// A panic: a bug of kzero, exit 101 (S-9.4).
    Bug(String),
}

impl Failure {
    /// The exit code.
    pub fn code(&self) -> u8 {
        match self {
            Self::Config(_) => 1,
            Self::Cluster(_) => 2,
            Self::Aborted { .. } => 3,
            Self::Undelivered(_) => 4,
            Self::Locked(_) => 5,
            Self::Bug(_) => 101,
        }
    }

    /// As the process returns it.
    pub fn exit_code(&self) -> ExitCode {
        ExitCode::from(self.code())
    }

    /// The final error as it is shown.
    pub fn text(&self) -> &str {
        match self {
            Self::Config(text)
            | Self::Cluster(text)
            | Self::Aborted { text, .. }
            | Self::Undelivered(text)
            | Self::Locked(text)
            | Self::Bug(text) => text,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Failure;

    #[test]
    fn each_class_has_its_code() {
        let aborted = Failure::Aborted {
            text: String::new(),
            failed_step: None,
        };
        let all = [
            Failure::Config(String::new()),
            Failure::Cluster(String::new()),
            aborted,
            Failure::Undelivered(String::new()),
            Failure::Locked(String::new()),
            Failure::Bug(String::new()),
        ];
        assert_eq!(all.map(|failure| failure.code()), [1, 2, 3, 4, 5, 101]);
    }
}
